/**
 * Classes of a program that keep GPU objects and end them: somebody must end their instances. Each
 * case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("classes that keep GPU objects");
const R = "require-disposal";
const E = "no-dropped-element";
const M = "require-member-disposal";
const webgpu = casesOf(test);

/** A class that keeps a buffer and ends it. */
const mesh =
  "class Mesh { buffer: GPUBuffer; age = 0;\nconstructor(readonly d: GPUDevice) { " +
  "this.buffer = d.createBuffer({ size: 4 }); }\ndraw() { return this.buffer.size; }\n" +
  "destroy() { this.buffer.destroy(); } }\n";

webgpu(
  "one that is used and left",
  mesh + "export function f(d: GPUDevice) { const m = new Mesh(d); return m.draw(); }",
  [R],
);
webgpu(
  "one that is used and ended",
  mesh +
    "export function f(d: GPUDevice) { const m = new Mesh(d); const n = m.draw(); " +
    "m.destroy(); return n; }",
  [],
);
webgpu(
  "a field that the end of its class leaves out",
  mesh +
    "export class Scene { a: Mesh; b: Mesh; constructor(d: GPUDevice) { this.a = new Mesh(d);\n" +
    "this.b = new Mesh(d); } destroy() { this.a.destroy(); } }",
  [M],
);
webgpu(
  "a field that only a step of the class itself leaves out",
  mesh +
    "export class Scene { a: Mesh; b: Mesh; constructor(d: GPUDevice) { this.a = new Mesh(d);\n" +
    "this.b = new Mesh(d); this.destroy(); } private destroy() { this.a.destroy(); } }",
  [],
);
webgpu(
  "a field of a class whose end is not written yet",
  mesh +
    "export class Scene { a: Mesh; constructor(d: GPUDevice) { this.a = new Mesh(d); } " +
    'destroy() { throw new Error("not implemented"); } }',
  [],
);
webgpu(
  "a field of a class that can pause",
  mesh +
    "export class Scene { a: Mesh; on = true; constructor(d: GPUDevice) { " +
    "this.a = new Mesh(d); } stop() { this.on = false; } }",
  [],
);
webgpu(
  "a list of them that the class made and drops",
  mesh +
    "export class Scene { all: Mesh[] = []; add(d: GPUDevice) { this.all.push(new Mesh(d)); } " +
    "drop() { this.all.length = 0; } }",
  [E],
);
webgpu(
  "a list of them that others lend",
  mesh +
    "export class Scene { all = new Set<Mesh>(); add(m: Mesh) { this.all.add(m); } " +
    "drop() { this.all.clear(); } }",
  [],
);
webgpu(
  "a list of what a table keeps",
  mesh +
    "export class Scene { all = new Map<object, Mesh>(); constructor(readonly d: GPUDevice) {}\n" +
    "render(parts: object[]) { const now: Mesh[] = []; for (const p of parts) { " +
    "if (!this.all.has(p)) this.all.set(p, new Mesh(this.d)); const m = " +
    "this.all.get(p)!; now.push(m); }\n" +
    "for (const m of now) m.draw(); for (const [p, m] of this.all) if (m.age > 9) { m.destroy(); " +
    "this.all.delete(p); } } }",
  [],
);
webgpu(
  "a list of buffers that a table keeps",
  "export class Pool { all = new Map<object, GPUBuffer>();\nsizes(parts: object[]) { " +
    "const now: GPUBuffer[] = []; for (const p of parts) { const b = this.all.get(p)!; " +
    "now.push(b); }\nlet n = 0; for (const b of now) n += b.size; return n; } }",
  [],
);
webgpu(
  "one that is made ready once, after it is made",
  "export class Model { uniforms?: GPUBuffer; constructor(readonly d: GPUDevice) {}\n" +
    "init() { this.bind(); } private bind() { " +
    "this.uniforms = this.d.createBuffer({ size: 4 }); }\n" +
    "destroy() { this.uniforms?.destroy(); } }\nexport function models(d: GPUDevice, n: number) " +
    "{ const all: Model[] = []; for (let i = 0; i < n; i++) { const m = new Model(d); m.init(); " +
    "all.push(m); } return all; }",
  [],
);

test.run();
