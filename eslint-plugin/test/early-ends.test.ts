/**
 * Values that the function which makes them ends only where it leaves early: on the other ways
 * somebody else has to. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("early ends");
const finds = marked(test);

/** A component that starts a renderer, which is ended as the component goes. */
const component = (end: string, mark = ""): string => `
declare function useRef<T>(x: T): { current: T };
declare function useEffect(f: () => () => void, d: unknown[]): void;
interface Ready { device: GPUDevice; size: number }
async function start(adapter: GPUAdapter): Promise<Ready> {
  return { device: await adapter.requestDevice(), size: 4 };
}
class Renderer {
  private readonly device: GPUDevice;
  private readonly depth: GPUTexture;
  constructor(ready: Ready) {
    this.device = ready.device;
    this.depth = ready.device.createTexture({});
  }
  draw(): void {
    this.device.queue.submit([]);
  }
  destroy(): void {
    this.depth.destroy();
    ${end}
  }
}
export function View(adapter: GPUAdapter): void {
  const shown = useRef<Renderer | null>(null);
  useEffect(() => {
    let isGone = false;
    const begin = async (): Promise<void> => {
      const ready = await start(adapter);${mark}
      if (isGone) {
        ready.device.destroy();
        return;
      }
      shown.current = new Renderer(ready);
      shown.current.draw();
    };
    void begin();
    return () => {
      isGone = true;
      shown.current?.destroy();
      shown.current = null;
    };
  }, []);
}
`;
finds("a device that only an early way out destroys", component("", " // !"), "webgpu");
finds("a device that the renderer destroys, too", component("this.device.destroy();"), "webgpu");

/** A component that keeps a device in a ref. */
const kept = (end: string, mark = ""): string => `
declare function useRef<T>(x: T): { current: T };
declare function useEffect(f: () => () => void, d: unknown[]): void;
export function View(adapter: GPUAdapter): void {
  const ref = useRef<GPUDevice | null>(null);
  useEffect(() => {
    let isGone = false;
    void (async () => {
      const device = await adapter.requestDevice();
      if (isGone) return device.destroy();
      ref.current = device;${mark}
    })();
    return () => {
      isGone = true;
      ${end}
    };
  }, []);
}
`;
finds(
  "a device in a ref that the clean-up forgets",
  kept("ref.current = null;", " // !"),
  "webgpu",
);
finds("a device in a ref that the clean-up ends", kept("ref.current?.destroy();"), "webgpu");

/** A class that fills a field with what it may have to give up. */
const loader = (fails: string, end: string, mark = ""): string => `
declare function load(url: string): Promise<ArrayBuffer>;
export class Sky {
  #map: GPUTexture | null = null;
  readonly #all: GPUBuffer;
  constructor(readonly device: GPUDevice) {
    this.#all = device.createBuffer({ size: 4 });
  }
  async begin(url: string): Promise<void> {
    const map = this.device.createTexture({});
    ${fails}
    this.#map = map;${mark}
  }
  width(): number {
    return this.#map?.width ?? this.#all.size;
  }
  destroy(): void {
    this.#all.destroy();
    ${end}
  }
}
`;
const rethrows = "try { await load(url); } catch (e) { map.destroy(); throw e; }";
const refuses = "if (!(await load(url)).byteLength) { map.destroy(); return; }";
const end = "this.#map?.destroy();";
finds("a texture that a failed load ends", loader(rethrows, "", " // !"), "webgpu");
finds("a texture that the end of its class ends", loader(rethrows, end), "webgpu");
finds("the same after an empty load", loader(refuses, end), "webgpu");

finds(
  "a value that may not be there",
  `
async function find(adapter: GPUAdapter | null): Promise<GPUDevice | null> {
  return adapter ? adapter.requestDevice() : null;
}
export async function probe(adapter: GPUAdapter | null): Promise<boolean> {
  const device = await find(adapter);
  if (device) {
    device.queue.submit([]);
    device.destroy();
    return true;
  }
  console.log(device);
  return false;
}
`,
  "webgpu",
  "strict",
);
finds(
  "a value that goes to whoever calls",
  `
export function make(device: GPUDevice, isWanted: boolean): GPUBuffer | null {
  const buffer = device.createBuffer({ size: 4 });
  if (!isWanted) {
    buffer.destroy();
    return null;
  }
  return buffer;
}
`,
  "webgpu",
  "strict",
);
finds(
  "a pool with a limit, which is ended",
  `
class Pool {
  #free: GPUBuffer[] = [];
  constructor(readonly device: GPUDevice) {}
  take(n: number): GPUBuffer {
    return this.#free.pop() ?? this.device.createBuffer({ size: n });
  }
  give(b: GPUBuffer): void {
    if (this.#free.length > 8) {
      b.destroy();
      return;
    }
    this.#free.push(b);
  }
  destroy(): void {
    for (const b of this.#free) b.destroy();
    this.#free = [];
  }
}
export function run(device: GPUDevice): void {
  const pool = new Pool(device);
  const b = pool.take(4);
  device.queue.writeBuffer(b, 0, new Float32Array(1));
  pool.give(b);
  pool.destroy();
}
`,
  "webgpu",
  "strict",
);

/** An object that ends its device, and a way out before there is one. */
const opened = (ask: string, early: string, mark = ""): string => `
export async function open(adapter: GPUAdapter, size: number) {
  const device = await ${ask};${mark}
  if (!device) return null;
  ${early}
  return {
    draw(): void {
      device.queue.submit([]);
    },
    destroy(): void {
      device.destroy();
    },
  };
}
`;
const asked = "adapter.requestDevice()";
const leave = "if (size > 8) return null;";
finds("a device that a way out leaves", opened(asked, leave, " // !"), "webgpu");
finds("one that may not be given", opened(`${asked}.catch(() => null)`, leave, " // !"), "webgpu");
finds(
  "one after which something is logged",
  opened(`${asked}.finally(() => { console.log(size); })`, leave, " // !"),
  "webgpu",
);
finds(
  "one that the way out destroys",
  opened(asked, "if (size > 8) { device.destroy(); return null; }"),
  "webgpu",
);
finds("one that is always given on", opened(`${asked}.catch(() => null)`, ""), "webgpu");
finds(
  "one in whose place another comes",
  opened(`${asked}.catch(() => other)`, leave).replace(
    "size: number",
    "size: number, other: GPUDevice",
  ),
  "webgpu",
);

test.run();
