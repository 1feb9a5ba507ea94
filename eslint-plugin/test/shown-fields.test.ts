/**
 * Fields that a class with an end only shows to others, ends that never come to what they end, and
 * what a bind group of an object that comes and goes has to itself. Each is a program of which the
 * marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("shown fields");
const finds = marked(test);

/** A pass that a static method makes, with a texture that others read. */
const pass = (shown: string, more = "", field = "private shadow", mark = ""): string => `
export class Pass {
  private depth: GPUTexture;
  ${field}: GPUTexture;${mark}
  private group: GPUBindGroup;
  private constructor(depth: GPUTexture, shadow: GPUTexture, group: GPUBindGroup) {
    this.depth = depth;
    this.shadow = shadow;
    this.group = group;
  }
  static create(device: GPUDevice): Pass {
    const depth = device.createTexture({ size: 4 });
    const shadow = device.createTexture({ size: 8 });
    const group = device.createBindGroup({ resource: shadow.createView() });
    return new Pass(depth, shadow, group);
  }
  ${shown}
  draw(pass: GPURenderPassEncoder): void {
    pass.setBindGroup(0, this.group);
  }
  destroy(): void {
    this.depth.destroy();
    ${more}
  }
}
`;
const getter = "get map(): GPUTexture { return this.shadow; }";
finds("a texture behind a getter", pass(getter, "", "private shadow", " // !"), "webgpu");
finds("a texture that all may read", pass("", "", "readonly shadow", " // !"), "webgpu");
finds("one that the end frees", pass(getter, "this.shadow.destroy();"), "webgpu");
finds("one that others may put there", pass("", "", "shadow"), "webgpu");
const both = `${getter} set map(other: GPUTexture) { this.shadow = other; }`;
finds("a getter beside a setter", pass(both), "webgpu");
finds(
  "what who reads it ends",
  `${pass(getter)}
export function end(pass: Pass): void {
  pass.map.destroy();
  pass.destroy();
}
`,
  "webgpu",
);

/** A texture of a class whose end is written so. */
const ended = (end: string, mark = ""): string => `
export class Target {
  private readonly texture: GPUTexture;
  constructor(device: GPUDevice) {
    this.texture = device.createTexture({ size: 4 });${mark}
  }
  get width(): number {
    return this.texture.width;
  }
  ${end}
}
`;
const late = "destroy(): void { return; this.texture.destroy(); }";
finds("an end that returns first", ended(late, " // !"), "webgpu");
finds("an end in capitals that is empty", ended("Destroy(): void {}", " // !"), "webgpu");
finds("an end in capitals", ended("Destroy(): void { this.texture.destroy(); }"), "webgpu");
const hoisted =
  "destroy(): void { end(this.texture); return; " +
  "function end(t: GPUTexture): void { t.destroy(); } }";
finds("a function after the return", ended(hoisted), "webgpu");

/** A material with a texture that only its bind group knows. */
const material = (make: string, mark = "", more = ""): string => `
class Material {
  readonly group: GPUBindGroup;
  constructor(device: GPUDevice) {
    const texture = device.createTexture({ size: 4 });${mark}
    this.group = device.createBindGroup({ resource: texture.createView() });
  }
  ${more}
}
const shown: Material[] = [];
export function start(device: GPUDevice, button: HTMLElement, load: () => Promise<void>): void {
  ${make}
}
`;
const click = (body: string): string => `button.addEventListener("click", () => { ${body} });`;
const made = "shown[0] = new Material(device);";
finds("materials made at each click", material(click(made), " // !"), "webgpu");
finds(
  "materials made when something has come",
  material(click(`void load().then(() => { ${made} });`), " // !"),
  "webgpu",
);
finds("a material made once", material(made), "webgpu");
finds(
  "a material made when its page is there",
  material(`void load().then(() => { ${made} });`),
  "webgpu",
);

/** A class whose end has a name of its own. */
const purged = (ends: string, mark = ""): string => `
export class Mux {
  private readonly result: GPUBuffer;
  private readonly state: GPUBuffer;
  private readonly texture: GPUTexture;
  constructor(device: GPUDevice) {
    this.result = device.createBuffer({ size: 4 });
    this.state = device.createBuffer({ size: 4 });
    this.texture = device.createTexture({ size: 4 });${mark}
  }
  get width(): number {
    return this.texture.width + this.result.size + this.state.size;
  }
  unmap(): void {
    ${ends}
  }
}
`;
const two = "this.result.destroy();\n    this.state.destroy();";
finds("what a method leaves that ends the others", purged(two, " // !"), "webgpu");
finds("one that ends all", purged(`${two}\n    this.texture.destroy();`), "webgpu");
finds("one that ends a single one", purged("this.result.destroy();"), "webgpu");

/** A class that makes a result with the help of something that it ends. */
const baking = (use: string, mark = ""): string => `
export class Bake {
  readonly result: GPUBuffer;
  private readonly scratch: GPUBuffer;
  constructor(device: GPUDevice) {
    this.result = device.createBuffer({ size: 4 });${mark}
    this.scratch = device.createBuffer({ size: 4 });
  }
  dispose(): void {
    this.scratch.destroy();
  }
}
export function run(device: GPUDevice): GPUBuffer | number {
  const bake = new Bake(device);
  ${use}
}
`;
finds(
  "a result by a pattern",
  baking("const { result } = bake;\n  bake.dispose();\n  return result;"),
  "webgpu",
);
finds(
  "a result that is returned",
  baking("try { return bake.result; } finally { bake.dispose(); }"),
  "webgpu",
);
finds(
  "a field that is only looked at",
  baking("const n = bake.result.size;\n  bake.dispose();\n  return n;", " // !"),
  "webgpu",
);

/** A field that an effect fills, and its clean-up may end; what it gives stops it. */
const stopped = (cleanUp: string, mark = ""): string => `
declare function effect(run: () => () => void): () => void;
export class Wave {
  private buffer: GPUBuffer | null = null;
  private readonly stop: () => void;
  constructor(device: GPUDevice) {
    this.stop = effect(() => {
      this.buffer = device.createBuffer({ size: 4 });${mark}
      return () => {
        ${cleanUp}
      };
    });
  }
  get size(): number {
    return this.buffer?.size ?? 0;
  }
  dispose(): void {
    this.stop();
  }
}
`;
finds("what the clean-up of an effect ends", stopped("this.buffer?.destroy();"), "webgpu");
finds("what it leaves", stopped("console.log(device);", " // !"), "webgpu");

test.run();
