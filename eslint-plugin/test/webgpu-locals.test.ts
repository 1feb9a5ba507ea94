/**
 * Objects of classes without an end that one function makes, uses and leaves: what they keep is out
 * of reach then. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("objects that one function leaves");
const M = "require-member-disposal";
const R = "require-disposal";
const webgpu = casesOf(test);

/** A class that keeps a buffer and has no end. */
const reader = (run = "run() { return this.b.size; }", more = ""): string =>
  "declare function requestAnimationFrame(f: () => void): void;\nexport class Reader { " +
  "private b: GPUBuffer; constructor(d: GPUDevice) {\nthis.b = d.createBuffer({ size: 4 }); " +
  `${more} }\n${run} }\n`;
const sync = "export function f(d: GPUDevice) { const r = new Reader(d); ";
const read =
  "async read(): Promise<Float32Array> { await this.b.mapAsync(1); return new Float32Array(4); }";

webgpu("one that is asked for a number", reader() + sync + "return r.run(); }", [M]);
webgpu("one that runs", reader() + sync + "r.run(); r.run(); }", [M]);
webgpu(
  "one that is read from",
  reader(read) +
    "export async function f(d: GPUDevice) { const r = new Reader(d); return await r.read(); }",
  [M],
);
webgpu(
  "one that goes over a list of its own",
  reader("run() { [1].forEach((n) => this.b.size + n); }") + sync + "r.run(); }",
  [M],
);
webgpu("one whose method is a field", reader("run = () => this.b.size;") + sync + "r.run(); }", [
  M,
]);
webgpu(
  "one of a class that extends it",
  reader() +
    "class Quiet extends Reader {}\n" +
    "export function f(d: GPUDevice) { const r = new Quiet(d); return r.run(); }",
  [M],
);
webgpu(
  "one of a class that extends it and goes on for each frame",
  reader() +
    "class Loud extends Reader { go() { requestAnimationFrame(() => this.go()); } }\n" +
    "export function f(d: GPUDevice) { const r = new Loud(d); r.go(); }",
  [],
);
webgpu(
  "one that a list in passing hands on",
  reader() + "const all: Reader[] = [];\n" + sync + "[r].forEach((one) => { all.push(one); }); }",
  [],
);
webgpu(
  "one put into a list",
  reader() + "const all: Reader[] = [];\n" + sync + "all.push(r); return r.run(); }",
  [],
);
webgpu("one that is returned", reader() + sync + "r.run(); return r; }", []);
webgpu("one that a closure runs", reader() + sync + "return () => r.run(); }", []);
webgpu(
  "one that goes on for each frame",
  reader("run() { requestAnimationFrame(() => this.run()); }") + sync + "r.run(); }",
  [],
);
webgpu(
  "one that goes on by name",
  reader("run = () => { requestAnimationFrame(this.run); }") + sync + "r.run(); }",
  [],
);
webgpu(
  "one that puts itself into a table",
  reader("run() { return this.b.size; }", "table.set(4, this);") +
    "const table = new Map<number, Reader>();\n" +
    sync +
    "return r.run(); }",
  [],
);
webgpu(
  "one that gives what uses its buffer",
  reader("group(d: GPUDevice) { return d.createBindGroup({ b: this.b }); }") +
    sync +
    "return r.group(d); }",
  [],
);
webgpu(
  "one of a file",
  reader() + "declare const d: GPUDevice; const r = new Reader(d); r.run();",
  [],
);
webgpu(
  "one that starts with its device",
  reader() +
    "export async function f(a: GPUAdapter) { const d = await a.requestDevice(); " +
    "const r = new Reader(d); r.run(); return d; }",
  [],
);

/** A buffer of a bind group that goes to a method of the program's own. */
const handed = (use: string): string =>
  "class Pass { p: GPURenderPassEncoder | null = null; all: GPUBindGroup[] = []; " +
  `constructor(readonly d: GPUDevice) {} ${use} }\nexport function draw(p: Pass) { const b = ` +
  "p.d.createBuffer({});\np.d.queue.writeBuffer(b, 0, {}); const g = p.d.createBindGroup({ b }); ";
webgpu(
  "a bind group that a method only sets",
  handed("use(g: GPUBindGroup) { this.p?.setBindGroup(0, g); }") + "p.use(g); }",
  [R],
);
webgpu(
  "a bind group that a method keeps",
  handed("use(g: GPUBindGroup) { this.all.push(g); }") + "p.use(g); }",
  [],
);
webgpu(
  "a bind group that a method uses later",
  handed("later(g: GPUBindGroup) { return () => this.p?.setBindGroup(0, g); }") +
    "return p.later(g); }",
  [],
);
webgpu(
  "a bind group that a method uses when it has waited",
  handed("async use(g: GPUBindGroup) { await null; this.p?.setBindGroup(0, g); }") +
    "return p.use(g); }",
  [],
);

/** A bind group that a method of some name puts into a field. */
const stored = (name: string): string =>
  `export class Look { g: GPUBindGroup | null = null; ${name}(d: GPUDevice) { const b = ` +
  "d.createBuffer({});\nd.queue.writeBuffer(b, 0, {}); this.g = d.createBindGroup({ b }); } " +
  "draw(p: GPURenderPassEncoder) { if (this.g) p.setBindGroup(0, this.g); } }";
webgpu("a bind group that takes the place of another", stored("setLook"), [R]);
webgpu("a bind group that is made once", stored("setup"), []);
/** A font whose bind group uses a buffer that has no other name. */
const font = (constructor: string): string =>
  `export class Font { ${constructor} size() { return 1; } }
declare const layout: GPUBindGroupLayout;
export function make(d: GPUDevice): Font {
const chars = d.createBuffer({ size: 4 });
const group = d.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: chars } }] });
return new Font(group); }`;
webgpu(
  "what a bind group in a field uses",
  font("constructor(readonly group: GPUBindGroup) {}"),
  [],
);
webgpu(
  "what a bind group uses that nobody keeps",
  font("constructor(group: GPUBindGroup) { if (group.label) return; }"),
  [R],
);
test.run();
