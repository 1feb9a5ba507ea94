/**
 * What effects of components make and leave behind, where their clean-ups are the place to end it.
 * Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("effects");
const finds = marked(test);

const hooks =
  "declare function useEffect(f: () => void | (() => void), inputs: unknown[]): void;\n";

/** An effect whose frames use a buffer, and what it gives React to clean up. */
const drawing = (cleanUp: string, mark = "", first = ""): string => `${hooks}
export function View({ d, ready }: { d: GPUDevice; ready: (b: GPUBuffer) => void }): void {
  useEffect(() => {
    let frame = 0;
    const buffer = d.createBuffer({ size: 4, usage: 32 });${mark}
    ${first}
    const draw = () => {
      d.queue.writeBuffer(buffer, 0, new Uint8Array(4));
      frame = requestAnimationFrame(draw);
    };
    draw();
    ${cleanUp}
  }, [d]);
}
`;
const stops = "return () => { cancelAnimationFrame(frame); };";
finds("what a clean-up forgets", drawing(stops, " // !"), "webgpu");
finds("what it ends", drawing("return () => { buffer.destroy(); };"), "webgpu");
finds("what has no clean-up may last", drawing("console.log(frame);"), "webgpu");
finds("what is given on", drawing(stops, "", "ready(buffer);"), "webgpu");

/** An effect that makes a buffer once something is there, and its clean-up. */
const late = (place: string, store: string, cleanUp: string): string => `${hooks}
export function View({ d }: { d: GPUDevice }): void {
  useEffect(() => {
    let frame = 0;
    ${place}
    void (async () => {
      await Promise.resolve();
      ${store}
      const draw = () => {
        d.queue.writeBuffer(buffer!, 0, new Uint8Array(4));
        frame = requestAnimationFrame(draw);
      };
      draw();
    })();
    return () => { cancelAnimationFrame(frame); ${cleanUp} };
  }, [d]);
}
`;
const make = "d.createBuffer({ size: 4, usage: 32 });";
finds("what is made later", late("", `const buffer = ${make} // !`, ""), "webgpu");
const place = "let buffer: GPUBuffer | undefined;";
finds("what a variable keeps", late(`${place} // !`, `buffer = ${make}`, ""), "webgpu");
finds(
  "what a variable keeps to be ended",
  late(place, `buffer = ${make} // !`, "buffer?.destroy();"),
  "webgpu",
);
finds(
  "what a clean-up made later ends",
  late(
    "let end: (() => void) | undefined;",
    `const buffer = ${make} end = () => buffer.destroy();`,
    "end?.();",
  ),
  "webgpu",
);

/** An effect that asks for a device of its own. */
const own = (end: string, mark = ""): string => `${hooks}
export function View(): void {
  useEffect(() => {
    let frame = 0, kept: GPUDevice | undefined;
    void (async () => {
      const device = await (await navigator.gpu.requestAdapter())!.requestDevice();${mark}
      ${end && "kept = device;"}
      const draw = () => { device.queue.submit([]); frame = requestAnimationFrame(draw); };
      draw();
    })();
    return () => { cancelAnimationFrame(frame); kept?.label; ${end} };
  }, []);
}
`;
finds("a device, where it may last", own(""), "webgpu");
finds("a device, where all must end", own("", " // !"), "webgpu", "strict");
finds(
  "a device that is destroyed where it came in time",
  own("kept?.destroy();", " // !"),
  "webgpu",
  "strict",
);

/** An effect that makes an object without an end. */
const endless = (make: string, cleanUp: string, mark = ""): string => `${hooks}
class Scene {
  private readonly buffer: GPUBuffer;
  constructor(private readonly device: GPUDevice) {
    this.buffer = device.createBuffer({ size: 4, usage: 32 });${mark}
  }
  draw(): void {
    this.device.queue.writeBuffer(this.buffer, 0, new Uint8Array(4));
  }
}
let shown: Scene | undefined;
export function View({ d }: { d: GPUDevice }): void {
  useEffect(() => {
    ${make}
    ${cleanUp}
  }, [d]);
}
`;
const scene = "shown = new Scene(d);";
finds(
  "objects without an end of an effect with a clean-up",
  endless(scene, "return () => { shown = undefined; };", " // !"),
  "webgpu",
);
finds(
  "one that is made once",
  endless("shown ??= new Scene(d);", "return () => { shown?.draw(); };"),
  "webgpu",
);

test.run();
