/**
 * Losses of GPU objects that need a program of their own: what functions make for themselves, and
 * classes and objects without an end that a program makes again and again. Each with its nearest
 * valid form. Used by `webgpu-held.test.ts`.
 */

/** A program that loses, and the same mended; each `$` in a name is replaced by a number. */
export interface GpuSingle {
  name: string;
  code: [lost: string, mended: string];
}

const copied = `const e = d.createCommandEncoder({});
  e.copyBufferToBuffer(from, 0, read, 0, 4);
  d.queue.submit([e.finish()]);
  await read.mapAsync(1);
  const out = new Float32Array(read.getMappedRange().slice(0));
  read.unmap();`;
const staging = (between: string, after: string): string => `
export async function read$(d: GPUDevice, from: GPUBuffer, n: number) {
  const read = d.createBuffer({ size: 4, usage: 9 });
  ${between}
  ${copied}
  ${after}
  return out;
}`;
const inMethod = (after: string): string => `
export class Reader$ {
  constructor(device: GPUDevice) { this.device = device; }
  device: GPUDevice;
  async read(from: GPUBuffer) {
    const d = this.device;
    const read = this.device.createBuffer({ size: 4, usage: 9 });
    ${copied}
    ${after}
    return out;
  }
}`;
const drawn = (after: string): string => `
export function draw$(d: GPUDevice, layout: object, n: number) {
  const uniform = d.createBuffer({ size: 64, usage: 72 });
  d.queue.writeBuffer(uniform, 0, {});
  const group = d.createBindGroup({
    layout, entries: [{ binding: 0, resource: { buffer: uniform } }],
  });
  const e = d.createCommandEncoder({});
  const pass = e.beginRenderPass({});
  pass.setBindGroup(0, group);
  pass.draw(n);
  pass.end();
  d.queue.submit([e.finish()]);
  ${after}
}`;
const depth = (after: string): string => `
export function frame$(d: GPUDevice, view: GPUTextureView) {
  const depth = d.createTexture({ size: [4, 4], format: "depth24plus", usage: 16 });
  const e = d.createCommandEncoder({});
  const pass = e.beginRenderPass({
    colorAttachments: [{ view }],
    depthStencilAttachment: { view: depth.createView() },
  });
  pass.end();
  d.queue.submit([e.finish()]);
  ${after}
}`;

/** A class without an end, or with one, and the code that makes its objects. */
const part = (end: boolean): string => `
class Part$ {
  readonly vertices: GPUBuffer;
  constructor(readonly d: GPUDevice, n: number) {
    this.vertices = d.createBuffer({ size: n, usage: 32 });
  }
  draw() { this.d.queue.writeBuffer(this.vertices, 0, {}); }
  ${end ? "destroy() { this.vertices.destroy(); }" : ""}
}`;
const objectPart = (end: boolean): string => `
function makePart$(d: GPUDevice, n: number) {
  const vertices = d.createBuffer({ size: n, usage: 32 });
  const draw = () => { d.queue.writeBuffer(vertices, 0, {}); };
  ${end ? "const destroy = () => { vertices.destroy(); };" : ""}
  return { draw${end ? ", destroy" : ""} };
}`;
const perFrame = (make: string, end: boolean): string => `
export class Scene$ {
  constructor(readonly d: GPUDevice) {}
  update(n: number) {
    const part = ${make}(this.d, n);
    part.draw();
    ${end ? "part.destroy();" : ""}
  }
}`;
const perKey = (make: string, type: string, end: boolean): string => `
export class Scene$ {
  private readonly parts = new Map<string, ${type}>();
  constructor(readonly d: GPUDevice) {}
  onKey(key: string) { this.parts.set(key, ${make}(this.d, 4)); }
  draw() { for (const part of this.parts.values()) part.draw(); }
  remove(key: string) { ${end ? "this.parts.get(key)?.destroy();" : ""} this.parts.delete(key); }
}`;
const replacedOn = (make: string, type: string, end: boolean): string => `
export class View$ {
  private part: ${type} | null = null;
  constructor(readonly d: GPUDevice) {
    addEventListener("click", () => {
      ${end ? "this.part?.destroy();" : ""}
      this.part = ${make}(this.d, 4);
    });
  }
  draw() { this.part?.draw(); }
}`;

/** Every one. */
export const gpuSingles: GpuSingle[] = [
  { name: "staging buffer", code: [staging("", ""), staging("", "read.destroy();")] },
  {
    name: "staging buffer left by an early return",
    code: [
      staging("if (n === 0) return new Float32Array(0);", "read.destroy();"),
      staging("if (n === 0) { read.destroy(); return new Float32Array(0); }", "read.destroy();"),
    ],
  },
  { name: "staging buffer of a method", code: [inMethod(""), inMethod("read.destroy();")] },
  { name: "uniform buffer of a draw", code: [drawn(""), drawn("uniform.destroy();")] },
  { name: "depth texture of a frame", code: [depth(""), depth("depth.destroy();")] },
  {
    name: "query set of a call",
    code: [
      `export function time$(d: GPUDevice) { const set = d.createQuerySet({ ` +
        `type: "timestamp", count: 2 }); const e = d.createCommandEncoder({}); ` +
        `e.resolveQuerySet(set, 0, 2); d.queue.submit([e.finish()]); }`,
      `export function time$(d: GPUDevice) { const set = d.createQuerySet({ ` +
        `type: "timestamp", count: 2 }); const e = d.createCommandEncoder({}); ` +
        `e.resolveQuerySet(set, 0, 2); d.queue.submit([e.finish()]); ` +
        `set.destroy(); }`,
    ],
  },
  {
    name: "class without end, made for each frame",
    code: [part(false) + perFrame("new Part$", false), part(true) + perFrame("new Part$", true)],
  },
  {
    name: "object without end, made for each frame",
    code: [
      objectPart(false) + perFrame("makePart$", false),
      objectPart(true) + perFrame("makePart$", true),
    ],
  },
  {
    name: "object with an end, made for each frame and left",
    code: [
      objectPart(true) + perFrame("makePart$", false),
      objectPart(true) + perFrame("makePart$", true),
    ],
  },
  {
    name: "class without end, kept by key and deleted",
    code: [
      part(false) + perKey("new Part$", "Part$", false),
      part(true) + perKey("new Part$", "Part$", true),
    ],
  },
  {
    name: "object without end, kept by key and deleted",
    code: [
      objectPart(false) + perKey("makePart$", "ReturnType<typeof makePart$>", false),
      objectPart(true) + perKey("makePart$", "ReturnType<typeof makePart$>", true),
    ],
  },
  {
    name: "class without end, replaced",
    code: [
      part(false) + replacedOn("new Part$", "Part$", false),
      part(true) + replacedOn("new Part$", "Part$", true),
    ],
  },
  {
    name: "object without end, replaced",
    code: [
      objectPart(false) + replacedOn("makePart$", "ReturnType<typeof makePart$>", false),
      objectPart(true) + replacedOn("makePart$", "ReturnType<typeof makePart$>", true),
    ],
  },
  {
    name: "device of an object with an end",
    code: [
      "export class Engine$ { device: GPUDevice | null = null; other: " +
        "GPUBuffer | null = null; async start(a: GPUAdapter) { this.device = " +
        "await a.requestDevice(); this.other = this.device.createBuffer({ size: " +
        "4, usage: 8 }); } destroy() { this.other?.destroy(); } }",
      "export class Engine$ { device: GPUDevice | null = null; other: " +
        "GPUBuffer | null = null; async start(a: GPUAdapter) { this.device = " +
        "await a.requestDevice(); this.other = this.device.createBuffer({ size: " +
        "4, usage: 8 }); } destroy() { this.other?.destroy(); " +
        "this.device?.destroy(); } }",
    ],
  },
];
