/**
 * Objects whose end forgets a part, where whoever ends them ends the device, too. Each is a program
 * of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("ended beside devices");
const finds = marked(test);

/** A renderer that forgets a buffer, and those that end it. */
const renderer = (callers: string, mark = ""): string => `
export class Renderer {
  private uniforms: GPUBuffer;
  private lights: GPUBuffer;
  constructor(device: GPUDevice) {
    this.uniforms = device.createBuffer({ size: 4, usage: 64 });
    this.lights = device.createBuffer({ size: 4, usage: 64 });${mark}
  }
  size(): number { return this.uniforms.size + this.lights.size; }
  dispose(): void { this.uniforms.destroy(); }
}
${callers}
`;
const player = (end: string): string => `
export class Player {
  private device: GPUDevice | null = null;
  private renderer: Renderer | null = null;
  async init(adapter: GPUAdapter): Promise<void> {
    this.device = await adapter.requestDevice();
    this.renderer = new Renderer(this.device);
  }
  dispose(): void {
    this.renderer?.dispose();
    this.device?.destroy();
  }
  ${end}
}`;
finds("by the object that has the device", renderer(player("")), "webgpu");
const swap = "swap(): void { this.renderer?.dispose(); this.renderer = null; }";
finds("by it, and once without", renderer(player(swap), " // !"), "webgpu");
finds("by nobody", renderer("", " // !"), "webgpu");

/** A class that makes a texture on its device, and lets go of it at the end. */
const emptied = (field: string, place: string, end: string): string => `
export class Screen {
  ${field}
  constructor(private readonly device: GPUDevice) {}
  make(): void {
    ${place}?.destroy();
    ${place} = this.device.createTexture({});
  }
  destroy(): void {
    ${end}
  }
}
`;
const record = "private readonly kept: { image: GPUTexture | null } = { image: null };";
const plain = "private image: GPUTexture | null = null;";
finds(
  "a field that is emptied after its device",
  emptied(plain, "this.image", "this.device.destroy();\n    this.image = null;"),
  "webgpu",
);
finds(
  "a part of a record",
  emptied(record, "this.kept.image", "this.device.destroy();\n    this.kept.image = null;"),
  "webgpu",
);
finds(
  "a field that is only emptied",
  emptied(plain, "this.image", "this.image = null; // !"),
  "webgpu",
);

const restored = (body: string): string => `
export class Layer {
  private image: GPUTexture | null = null;
  constructor(private device: GPUDevice) {}
  draw(): void {
    this.image ??= this.device.createTexture({});
  }
  restore(device: GPUDevice): void {
    ${body}
  }
  destroy(): void {
    this.image?.destroy();
  }
}
`;
finds(
  "a field that is emptied for another device",
  restored("this.device = device;\n    this.image = null;"),
  "webgpu",
);
finds(
  "one that is emptied for the same",
  restored("console.log(device);\n    this.image = null; // !"),
  "webgpu",
);

test.run();
