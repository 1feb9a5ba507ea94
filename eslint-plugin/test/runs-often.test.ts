/**
 * Functions that run again because what calls them does, and comes to the call each time. Each is a
 * program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("runs often");
const finds = marked(test);

/** A cache that is filled anew for another size, and what asks it. */
const cache = (asks: string): string => `let cache: { buffer: GPUBuffer; n: number } | null = null;
function ensure(d: GPUDevice, n: number) {
  if (cache && cache.n === n) return cache;
  cache = { buffer: d.createBuffer({ size: n }), n };${asks.includes("// again") ? " // !" : ""}
  return cache;
}
${asks}
`;
finds(
  "by what a frame declares",
  cache(`export function draw(d: GPUDevice, n: number) { // again
  const { buffer } = ensure(d, n);
  return buffer.size;
}`),
  "webgpu",
);
finds(
  "by what others may call again",
  cache("export function show(d: GPUDevice, n: number) { return ensure(d, n).n; } // again"),
  "webgpu",
);
finds(
  "by what a function in between returns",
  cache(`const size = (d: GPUDevice, n: number) => ensure(d, n).n;
export function show(d: GPUDevice, n: number) { return size(d, n) + 1; } // again`),
  "webgpu",
);
finds(
  "not under a condition",
  cache(`export function show(d: GPUDevice, n: number) {
  if (n > 4) return ensure(d, n).n;
  return 0;
}`),
  "webgpu",
);
finds(
  "not by what starts a program",
  cache("export function init(d: GPUDevice, n: number) { return ensure(d, n).n; }"),
  "webgpu",
);

const video = (name: string, mark = ""): string => `export class Video {
  private texture: GPUTexture | null = null;
  constructor(private d: GPUDevice) {}
  ${name}() {
    this.texture = this.d.createTexture({});${mark}
    return this.texture.width;
  }
}
`;
finds("by the name frame", video("frame", " // !"), "webgpu");
for (const name of ["frameBuffer", "beginFrame", "startLoop"])
  finds(`not by the name ${name}`, video(name), "webgpu");

const paired = (begin: string, end: string): string => `export class Layer {
  private depth: GPUTexture | null = null;
  ${begin}(d: GPUDevice, n: number) { this.depth = d.createTexture({ n }); }
  width() { return this.depth?.width; }
  ${end}() { this.depth?.destroy(); this.depth = null; }
}
`;
finds("not what is added to an object", paired("onAdd", "onRemove"), "webgpu");
finds("not what begins", paired("begin", "end"), "webgpu");

/** A class that keeps its one instance. */
const context = (atEnd: string, more = ""): string => `
export class Context {
  private static instance: Context | null = null;
  private device: GPUDevice | null = null;
  static get(): Context {
    Context.instance ??= new Context();
    return Context.instance;
  }
  async init(adapter: GPUAdapter): Promise<void> {
    this.device = await adapter.requestDevice();
  }
  destroy(): void {
    this.device?.destroy();
    this.device = null;
    ${atEnd}
  }
  ${more}
}`;
finds("not what ends itself", context("Context.instance = null;"), "webgpu");
finds(
  "what lets go of another",
  context("", "static reset(): void { Context.instance = null; } // !"),
  "webgpu",
);

/** What is asked for once, whether it can be had or not. */
const tried = (first: string, mark = ""): string => `
export class Pre {
  static async create(adapter: GPUAdapter): Promise<Pre> {
    return new Pre(await adapter.requestDevice());
  }
  constructor(private device: GPUDevice) {}
  destroy(): void { this.device.destroy(); }
}
let pre: Pre | null = null;
let isTried = false;
export async function get(adapter: GPUAdapter): Promise<Pre | null> {
  ${first}
  try {
    pre = await Pre.create(adapter);${mark}
  } catch {
    pre = null;
  }
  return pre;
}`;
finds("not what is tried once", tried("if (isTried) return pre;\n  isTried = true;"), "webgpu");
finds("what is tried each time", tried("isTried = true;", " // !"), "webgpu");

/** What is loaded once, and again by a method that says so. */
const loaded = (before: string): string => `
import { zeros, type Tensor } from "tenure";
export class Map2d {
  #tile: Tensor | null = null;
  load(n: number): void {
    this.#tile = zeros([n]);${before === "" ? " // !" : ""}
  }
  reload(n: number): void { ${before}this.load(n); }
  dispose(): void { this.#tile?.dispose(); this.#tile = null; }
}`;
finds("by what does it once more", loaded(""));
finds("by what ends the last before", loaded("this.dispose(); "));

const listener = (store: string, mark = ""): string => `
import { zeros, type Tensor } from "tenure";
class Source {
  readonly #listeners = new Set<(x: Tensor) => void>();
  listen(listener: (x: Tensor) => void): void { this.#listeners.add(listener); }
  tell(): void {
    using x = zeros([2]);
    for (const listener of this.#listeners) listener(x);
  }
}
export function run(source: Source): void {
  const shown: Tensor[] = [];
  source.listen((x) => { ${store} });${mark}
  source.tell();
  for (const x of shown) x.dispose();
}`;
finds("a place that a listener fills each time", listener("shown[0] = x.alias();", " // !"));
finds("which ends the last", listener("shown[0]?.dispose(); shown[0] = x.alias();"));
finds("which takes out the last", listener("shown.pop()?.dispose(); shown[0] = x.alias();"));
finds("which fills it once", listener("if (shown.length === 0) shown[0] = x.alias();"));

const delayed = (name: string, end: string): string => `
import { zeros, type Tensor } from "tenure";
export class Preview {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #shown: Tensor | null = null;
  ${name}(n: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      ${end}this.#shown = zeros([n]);${name === "update" && end === "" ? " // !" : ""}
    }, 10);
  }
  dispose(): void { this.#shown?.dispose(); }
}`;
finds("a field that a delayed function fills each time", delayed("update", ""));
finds("which ends the last", delayed("update", "this.#shown?.dispose(); "));
finds("which starts it", delayed("start", ""));

test.run();
