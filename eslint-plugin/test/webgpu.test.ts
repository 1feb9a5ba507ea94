/**
 * The preset for WebGPU objects: each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("webgpu preset");
const R = "require-disposal";
const D = "no-dropped-result";
const O = "no-overwritten-tensor";
const X = "no-use-after-dispose";
const M = "require-member-disposal";
const T = "no-leaked-temporary";
const E = "no-dropped-element";

const webgpu = casesOf(test);
webgpu(
  "buffer never destroyed",
  "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); " +
    "d.queue.writeBuffer(b, 0, {}); }",
  [R],
);
webgpu(
  "buffer destroyed",
  "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); " +
    "d.queue.writeBuffer(b, 0, {}); b.destroy(); }",
  [],
);
webgpu(
  "the canvas keeps its texture",
  "export function f(c: GPUCanvasContext) { const t = c.getCurrentTexture(); return " +
    "t.createView(); }",
  [],
);
webgpu(
  "buffer written after destroy",
  "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); " +
    "b.destroy();\n d.queue.writeBuffer(b, 0, {}); }",
  [X],
);
webgpu(
  "a bind group that is returned uses its buffers from then on",
  "export function f(d: GPUDevice, layout: GPUBindGroupLayout) { const b = " +
    "d.createBuffer({ size: " +
    "4, usage: 8 }); return d.createBindGroup({ layout, entries: [{ binding: 0, resource: { " +
    "buffer: b } }] }); }",
  [],
);
webgpu(
  "a bind group for one pass does not free its buffers",
  "export function f(d: GPUDevice, layout: GPUBindGroupLayout, p: GPUComputePassEncoder) { const " +
    "b = d.createBuffer({ size: 4, usage: 8 }); const g = d.createBindGroup({ layout, entries: " +
    "[{ binding: 0, resource: { buffer: b } }] }); p.setBindGroup(0, g); }",
  [R],
);
webgpu(
  "a view in a list that a later frame draws uses its texture",
  'export function f(d: GPUDevice) { const t = d.createTexture({ size: [4], format: "r8unorm", ' +
    "usage: 16 }); const views = [t.createView()]; const pass = { view: views[0] }; return () => " +
    "pass; }",
  [],
);
webgpu(
  "buffers that come with a bind group are its own",
  "function make(d: GPUDevice, layout: GPUBindGroupLayout) { const buffers = [d.createBuffer({ " +
    "size: 4, usage: 8 })]; const group = d.createBindGroup({ layout, entries: " +
    "buffers.map((b) => " +
    "({ binding: 0, resource: { buffer: b } })) }); return { buffers, group }; }\nexport " +
    "function " +
    "f(d: GPUDevice, l: GPUBindGroupLayout) { const { buffers: [one], group } = make(d, l); " +
    "return () => [group, one?.size]; }",
  [],
);
webgpu(
  "a destroyed buffer is taken out of a set",
  "export function f(pool: Set<GPUBuffer>) { for (const b of [...pool]) { b.destroy(); " +
    "pool.delete(b); } }",
  [],
);
webgpu(
  "a field that a later call of another method destroys",
  "export class Renderer { private readonly b: GPUBuffer; stop = false; constructor(d: " +
    "GPUDevice) " +
    "{ this.b = d.createBuffer({ size: 4, usage: 8 }); } destroy() { this.stop = true; } frame() " +
    "{ if (this.stop) this.b.destroy(); } }",
  [],
);
webgpu(
  "a field that no method destroys",
  "export class Renderer { private readonly b: GPUBuffer; stop = false; constructor(d: " +
    "GPUDevice) " +
    "{ this.b = d.createBuffer({ size: 4, usage: 8 }); } destroy() { this.stop = true; } frame() " +
    "{ return this.b.size; } }",
  ["require-member-disposal"],
);
webgpu(
  "a field of the base class, which destroys it",
  "class Pass { protected out: GPUTexture[] = []; destroy() { for (const t of this.out) " +
    "t.destroy(); } }\nexport class Shadow extends Pass { constructor(d: GPUDevice) { super(); " +
    'this.out.push(d.createTexture({ size: [4], format: "r8unorm", usage: 16 })); } override ' +
    "destroy() { super.destroy(); } }",
  [],
);
webgpu("buffer dropped", `export function f(d: GPUDevice) { d.createBuffer({ size: 4 }); }`, [D]);
webgpu(
  "texture overwritten",
  "export function f(d: GPUDevice) { let t = d.createTexture({}); t = " +
    "d.createTexture({}); t.destroy(); }",
  [O],
);
const models =
  "type Model = { one: GPUBuffer; two: GPUBuffer }; function make(d: GPUDevice): Model { const " +
  "one = d.createBuffer({ size: 4, usage: 8 }); const two = d.createBuffer({ size: 4, usage: 8 " +
  "}); return { one, two }; }\n";
webgpu(
  "a helper picks elements that every frame draws",
  `${models}function pick<T>(list: T[], i: number): T { return list[i]!; }\n` +
    "export function f(d: GPUDevice, data: object) { const all = Object.values(data).map(() => " +
    "make(d)); const shown: { model: Model }[] = []; for (let i = 0; i < 9; i++) shown.push({ " +
    "model: pick(all, i) }); return () => shown; }",
  [],
);
webgpu(
  "a helper names the element that it picks",
  "function pick<T>(list: T[], i: number): T { const found = list[i]!; return found; }\n" +
    "export function f(d: GPUDevice) { const all = [d.createBuffer({ size: 4, usage: 8 })]; " +
    "const one = pick(all, 0); return () => one.size; }",
  [],
);
webgpu(
  "a helper that looks at an element keeps nothing",
  "function has<T>(list: T[], i: number): boolean { return list[i] !== undefined; }\n" +
    "export function f(d: GPUDevice) { const all = [d.createBuffer({ size: 4, usage: 8 })]; " +
    "return has(all, 0); }",
  [R],
);
webgpu(
  "a draw function that a local function returns",
  "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4, usage: 8 }); const " +
    "configure = () => () => b.size; const draw = configure(); return () => draw(); }",
  [],
);
webgpu(
  "a local function that only looks keeps nothing",
  "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4, usage: 8 }); const " +
    "count = () => [1, 2].map((n) => n + b.size).length; return count(); }",
  [R],
);

/** A class that holds a buffer and cannot end it. */
const chunk =
  "class Chunk { readonly data: GPUBuffer;\nconstructor(d: GPUDevice) { this.data = " +
  "d.createBuffer({ size: 4, usage: 8 }); } }\n";
webgpu(
  "a class without destroy that is made as the program runs",
  chunk +
    "export class World { chunks = new Map<number, Chunk>(); constructor(readonly d: GPUDevice) " +
    "{}\nmake(id: number) { this.chunks.set(id, new Chunk(this.d)); }\n" +
    "update(id: number) { this.make(id); } }",
  [M],
);
webgpu(
  "one that is made for each event",
  chunk +
    "export function listen(d: GPUDevice, all: Chunk[], at: EventTarget) { " +
    'at.addEventListener("click", () => { all.push(new Chunk(d)); }); }',
  [M],
);
webgpu(
  "one that is made when the page is there, or the first part of it",
  chunk +
    "export function listen(d: GPUDevice, all: Chunk[], at: EventTarget) { const onFirstPart = " +
    "() => { all.push(new Chunk(d)); };\nonFirstPart(); " +
    'at.addEventListener("load", () => { all.push(new Chunk(d)); }); }',
  [],
);
webgpu(
  "one that is made when the program starts, several times over",
  chunk +
    "export class World { chunks: Chunk[] = []; constructor(readonly d: GPUDevice) { " +
    "this.fill(); }\nfill() { for (let i = 0; i < 6; i++) this.chunks.push(new Chunk(this.d)); } }",
  [],
);
webgpu(
  "one that each frame asks for and the first makes",
  chunk +
    "export class World { chunk?: Chunk; constructor(readonly d: GPUDevice) {}\n" +
    "render() { if (!this.chunk) this.chunk = new Chunk(this.d); return this.chunk.data.size; } }",
  [],
);
webgpu(
  "one whose making is named after what it draws",
  chunk +
    "export async function renderSceneToFile(d: GPUDevice) { const c = new Chunk(d); " +
    "await Promise.resolve(); return c.data.size; }",
  [],
);

/** A pass that keeps a buffer for each part of a scene; `rest` is what else it can do. */
const pass = (rest: string): string =>
  "interface Part { id: number }\nclass Pass { buffers = new Map<Part, GPUBuffer>(); " +
  "constructor(readonly d: GPUDevice) {}\nregister(p: Part) { const b = this.d.createBuffer(" +
  "{ size: 4, usage: 8 });\nthis.buffers.set(p, b); }\nsize(p: Part) { return " +
  `this.buffers.get(p)?.size; } ${rest} }\n` +
  "export class World { constructor(readonly pass: Pass) {} update(id: number) { " +
  "this.pass.register({ id }); } }";
webgpu("a table of buffers that only grows", pass(""), [M]);
webgpu(
  "a table from which somebody takes them",
  pass("drop(p: Part) { this.buffers.get(p)?.destroy(); this.buffers.delete(p); }"),
  [],
);
webgpu(
  "a table of what has one name each, which may be a cache",
  pass("")
    .replaceAll("Part", "Name")
    .replace("interface Name { id: number }", "type Name = string;")
    .replace("{ id }", "String(id)"),
  [],
);

/** A class that keeps an object of buffers, and what its `destroy()` does. */
const set = (destroy: string): string =>
  "interface Both { a: GPUBuffer; b: GPUBuffer }\nexport class Set2 { both: Both | null = null; " +
  "constructor(readonly d: GPUDevice) {}\nmake() { const a = this.d.createBuffer({ size: 4 }); " +
  "const b = this.d.createBuffer({ size: 8 });\nthis.both = { a,\nb }; }\n" +
  `destroy() { if (!this.both) return; ${destroy} this.both = null; } }`;
webgpu("one of an object of buffers is left out", set("this.both.a.destroy();"), [M]);
webgpu("an object of buffers", set("this.both.a.destroy(); this.both.b.destroy();"), []);
webgpu(
  "an object of buffers that is walked",
  set("this.both.a.destroy(); for (const x of Object.values(this.both)) x.destroy();"),
  [],
);

webgpu(
  "a texture that a function puts away and returns has an owner",
  "class Picture { texture: GPUTexture | null = null; destroy() { this.texture?.destroy(); } " +
    "static white(c: Context): Picture { if (c.white) return c.white; const p = new Picture(); " +
    "p.texture = c.device.createTexture({}); c.white = p; return p; } } interface Context { " +
    "device: GPUDevice; white?: Picture }\nexport function f(c: Context, own: Picture | null) { " +
    "const p = own || Picture.white(c); return p.texture!.width; }",
  [],
);
const encoder = "interface GPURenderPassEncoder { drawIndirect(b: GPUBuffer, n: number): void }\n";
webgpu(
  "what outlives its maker keeps what the helpers it calls use",
  encoder +
    "export function f(d: GPUDevice) { const b = d.createBuffer({}); " +
    "d.queue.writeBuffer(b, 0, {});" +
    " function one(p: GPURenderPassEncoder) { p.drawIndirect(b, 0); } const two = (p: " +
    "GPURenderPassEncoder, n: number) => { one(p); if (n > 0) two(p, n - 1); }; return { frame: " +
    "(p: GPURenderPassEncoder) => { two(p, 2); } }; }",
  [],
);
webgpu(
  "helpers that only their maker calls keep nothing",
  encoder +
    "export function f(d: GPUDevice, p: GPURenderPassEncoder) { const b = d.createBuffer({});\n " +
    "function one() { p.drawIndirect(b, 0); } const two = () => { one(); }; two(); " +
    "[1].forEach(() " +
    "=> { two(); }); }",
  [R],
);
webgpu(
  "a decorator may keep what a getter gives",
  "declare function memo(target: unknown, context: unknown): any;\nexport class Scan { " +
    "constructor(private d: GPUDevice) {} @memo get kept() { return this.d.createBuffer({}); }\n" +
    "get fresh() { return this.d.createBuffer({}); }\nrun() { " +
    "this.d.queue.writeBuffer(this.kept, " +
    "0, {});\n this.d.queue.writeBuffer(this.fresh, 0, {}); } }",
  [T],
);
webgpu(
  "a device that may be missing frees all it made",
  "export class View { #depth?: GPUTexture; #device?: GPUDevice; constructor(d: GPUDevice) { " +
    "this.#device = d; } make() { this.#depth?.destroy(); this.#depth = " +
    "this.#device!.createTexture({}); } destroy() { this.#device?.destroy(); } }",
  [],
);
webgpu(
  "what a caller frees by another method before",
  "export class Depth { t: GPUTexture | null; constructor(private d: GPUDevice) { this.t = " +
    "d.createTexture({}); } private again() { this.t = this.d.createTexture({}); } destroy() { " +
    "this.t?.destroy(); this.t = null; } resize() { this.destroy(); this.again(); } }",
  [],
);
webgpu(
  "what stands in a field of a parameter is the caller's",
  "interface Scene { frame?: GPUBuffer }\nexport function f(d: GPUDevice, s: Scene) { s.frame = " +
    "d.createBuffer({}); }\nexport function g(d: GPUDevice, s: Scene) { s.frame = " +
    "d.createBuffer({});\n s.frame = d.createBuffer({}); }",
  [O],
);

/** A field that each frame fills anew, and what the frame does with it then. */
const frame = (then: string): string =>
  "export class View { private b?: GPUBuffer; constructor(private d: GPUDevice) {}\nrender(n: " +
  "number) { this.b = this.d.createBuffer({}); this.d.queue.writeBuffer(this.b, 0, {}); " +
  then;
webgpu("a field that is filled and ended for each frame", frame("this.b.destroy(); } }"), []);
webgpu("one that is left before its end", frame("if (n) return; this.b.destroy(); } }"), [O]);
webgpu("one that is ended now and then", frame("if (n) { this.b.destroy(); } } }"), [O]);
webgpu(
  "one that another fills, too",
  frame("this.b.destroy(); } fill() { this.b = this.d.createBuffer({}); } }"),
  [O],
);

/** A list, and how a function takes one of it out by name. */
const listed = (remove: string): string =>
  "export class All { all: GPUBuffer[] = []; add(d: GPUDevice) { const b = d.createBuffer({}); " +
  `this.all.push(b); return b; } remove(b: GPUBuffer) { ${remove} } destroy() { for (const b of ` +
  "this.all) b.destroy(); } }";
webgpu(
  "what is taken out by its place and ended by its name",
  listed("const i = this.all.indexOf(b); if (i < 0) return; this.all.splice(i, 1); b.destroy();"),
  [],
);
webgpu(
  "what is ended by its name and taken out",
  listed("b.destroy(); this.all.splice(this.all.indexOf(b), 1);"),
  [],
);
webgpu("what is taken out and not ended", listed("this.all.splice(this.all.indexOf(b), 1);"), [E]);
webgpu(
  "what goes with its device",
  "export async function f(a: GPUAdapter) { const d = await a.requestDevice(); const b = " +
    "d.createBuffer({}); d.queue.writeBuffer(b, 0, {}); d.destroy(); }",
  [],
);
webgpu(
  "what is made again when the device is lost",
  "export class View { d: GPUDevice | null = null; b: GPUBuffer | null = null; async init(a: " +
    "GPUAdapter) { this.d = await a.requestDevice(); (this.d as any).lost.then(() => " +
    "this.init(a)); this.b = this.d.createBuffer({}); } }",
  [],
);
webgpu(
  "a field that a helper ends and gives as null",
  "const del = <T extends { destroy(): void }>(x: T | null): null => { x?.destroy(); return null" +
    "; };\nexport class View { t: GPUTexture | null = null; constructor(private d: GPUDevice) {} " +
    "resize() { this.t = del(this.t); this.t = this.d.createTexture({}); } }",
  [],
);

/** A field that a method of its own fills, and how another calls that. */
const made = (call: string): string =>
  "export class View { t: GPUTexture | null = null; constructor(private d: GPUDevice) {} " +
  "private make(n: number) { this.t = this.d.createTexture({ n }); } update(n: number) { " +
  `${call} } draw() { this.t?.createView(); } }`;
webgpu("what an update makes by another method", made("this.make(n);"), [O]);
webgpu("what it makes once", made("if (!this.t) this.make(n);"), []);
webgpu("what it makes unless it is there", made("if (this.t) return; this.make(n);"), []);

/** A table whose buffers are made anew where one is too small. */
const pool = (body: string): string =>
  "export class Pool { all = new Map<string, GPUBuffer>(); old: GPUBuffer[] = []; constructor(" +
  `readonly d: GPUDevice) {} take(key: string, size: number): GPUBuffer { ${body} } destroy() { ` +
  "for (const b of [...this.all.values(), ...this.old]) b.destroy(); } }";
const grow = (first: string): string =>
  `let b = this.all.get(key); if (!b || b.size < size) { ${first} b = this.d.createBuffer({ ` +
  "size }); this.all.set(key, b); } return b;";
webgpu("a buffer in a table that is too small", pool(grow("")), [O]);
webgpu("one that is ended", pool(grow("b?.destroy();")), []);
webgpu("one that is kept", pool(grow("if (b) this.old.push(b);")), []);
webgpu("one that is made once", pool(grow("").replace(" || b.size < size", "")), []);
webgpu(
  "one that is left after the way out",
  pool(
    "const b = this.all.get(key); if (b && b.size >= size) return b; const c = " +
      "this.d.createBuffer({ size }); this.all.set(key, c); return c;",
  ),
  [O],
);
webgpu(
  "what a new device takes the place of",
  "export class View { d: GPUDevice | null = null; b: GPUBuffer | null = null; async recover(a: " +
    "GPUAdapter) { this.d = await a.requestDevice(); this.b = null; } fill() { this.b?.destroy();" +
    " this.b = this.d!.createBuffer({}); } destroy() { for (const b of [this.b]) b?.destroy(); " +
    "this.d?.destroy(); } }",
  [],
);
test.run();
