/**
 * Classes of a program that keep GPU objects and end them: somebody must end their instances. Each
 * case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("classes that keep GPU objects");
const R = "require-disposal";
const O = "no-overwritten-tensor";
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
webgpu(
  "a method with a name of the device's that gives what a field holds",
  "export class Target { t?: GPUTexture; constructor(readonly d: GPUDevice) {}\n" +
    "createTexture(): GPUTexture { return (this.t ??= this.d.createTexture({ size: [4] })); }\n" +
    "width() { const t = this.createTexture(); return t.width; }\n" +
    "destroy() { this.t?.destroy(); } }",
  [],
);
webgpu(
  "a list of textures that others lend",
  "interface Part { texture: GPUTexture; id: number }\nexport class Group { all: Part[] = []; " +
    "use(p: Part) { this.all.push(p); } reset() { this.all.length = 0; } }",
  [],
);
webgpu(
  "a record of a texture that is kept and returned",
  "interface Part { texture: GPUTexture; id: number }\nexport class Group { all = new Map<" +
    "string, Part>(); constructor(readonly d: GPUDevice) {}\nmake(id: number) { const texture = " +
    "this.d.createTexture({ size: [id] }); const p: Part = { texture, id }; " +
    'this.all.set("a", p); return p; }\nid() { const p = this.make(1); return p.id; } ' +
    "destroy() { for (const p of this.all.values()) p.texture.destroy(); } }",
  [],
);

/** A class that keeps a buffer and has no end; `rest` is what else it can do. */
const painter = (rest = ""): string =>
  "class Painter { buffer: GPUBuffer; clear = 0;\nconstructor(d: GPUDevice) { this.buffer = " +
  "d.createBuffer({ size: 4 }); }\nstatic async create(d: GPUDevice): Promise<Painter> { " +
  `return new Painter(d); } draw() { return this.buffer.size; } ${rest} }\n`;
/** A class that keeps one, and what its `destroy()` does. */
const root = (destroy: string): string =>
  "export class Root { p: Painter; b: GPUBuffer;\nconstructor(readonly d: GPUDevice) { " +
  "this.b = d.createBuffer({ size: 4 });\nthis.p = new Painter(d); }\n" +
  `destroy() { this.b.destroy(); ${destroy} } }`;
webgpu("an object without an end in one that ends", painter() + root(""), [M, M]);
webgpu(
  "one that frees what it holds under another name",
  painter("cleanUp() { this.buffer.destroy(); }") + root(""),
  [],
);
webgpu(
  "one that hands what it holds to another",
  painter("share(all: Set<GPUBuffer>) { all.add(this.buffer); }") + root(""),
  [],
);
webgpu("one of which the parts are ended", painter() + root("this.p.buffer.destroy();"), []);
webgpu("one that goes with its device", painter() + root("this.d.destroy();"), []);
webgpu(
  "one in a class that goes on",
  painter() + root("").replace("destroy() { this.b", "private destroy() { this.b"),
  [],
);

/** A function that returns an object with an end, and what that does. */
const closures = (destroy: string, more = ""): string =>
  painter() +
  "export async function open(d: GPUDevice) {\nconst p = await Painter.create(d);\nconst b = " +
  `d.createBuffer({ size: 4 }); ${more}\nconst api = { draw() { d.queue.writeBuffer(b, 0, {}); ` +
  `return p.draw(); }, destroy() { ${destroy} } }; return api; }`;
webgpu("what only closures know of is left", closures("console.log(1);"), [M, M, M]);
webgpu("what closures know of is ended", closures("b.destroy(); p.buffer.destroy();"), []);
webgpu("what closures know of goes with its device", closures("d.destroy();"), []);
webgpu(
  "what closures know of is ended by way of a list",
  closures("for (const x of all) x.destroy(); p.buffer.destroy();", "const all = [b];"),
  [],
);
webgpu(
  "a function that returns an object without an end",
  closures("console.log(1);").replace("destroy()", "log()"),
  [],
);

/** A context that others are given, and what the class that made it does with it in the end. */
const context = (destroy: string): string =>
  mesh +
  "class Pass { mesh?: Mesh; set(m: Mesh) { this.mesh = m; } draw() { " +
  "return this.mesh?.draw(); } }\nexport class Engine { pass = new Pass(); " +
  "mesh?: Mesh; on = true;\nstart(d: GPUDevice) { " +
  "this.mesh = new Mesh(d);\nthis.pass.set(this.mesh); } " +
  `destroy() { this.on = false; ${destroy} } }`;
webgpu("a field that others are given and nobody ends", context(""), [M]);
webgpu(
  "a field that others are given and end",
  context("").replace("draw() { return this.mesh?", "end() { this.mesh?.destroy(); } $&"),
  [],
);
webgpu("a field that others are given and its class ends", context("this.mesh?.destroy();"), []);

/** A table of textures by name, the test before one is made, and how it is called. */
const table = (test: string, call: string): string =>
  "export class Textures { all = new Map<string, GPUTexture>();\nconstructor(readonly d: " +
  `GPUDevice) {}\nmake(name: string) { ${test} const t = this.d.createTexture({ size: [4] });\n` +
  "this.all.set(name, t); }\nwidth(name: string) { return this.all.get(name)?.width; } }\n" +
  `export class View { constructor(readonly textures: Textures) {} ${call} }`;
const resize = 'onResize() { this.textures.make("depth"); }';
webgpu("a value in a table gives way to another", table("", resize), [O]);
webgpu(
  "a value in a table is ended before another comes",
  table("this.all.get(name)?.destroy();", resize),
  [],
);
webgpu(
  "a value in a table that is made at the start",
  table("", 'setUp() { this.textures.make("depth"); }'),
  [],
);
webgpu(
  "a value in a table by the name of what is loaded",
  table("", "onLoad(name: string) { this.textures.make(name); }"),
  [],
);

/** Pipelines that are made ready once, while another's method of that name is called in a loop. */
const pipelines = (call: string): string =>
  "declare const sky: any;\nexport class Pipelines { params!: GPUBuffer; " +
  "constructor(readonly d: GPUDevice) {}\ninitialize() { " +
  "this.params = this.d.createBuffer({ size: 4 }); } }\n" +
  `export function all(n: number) { for (let i = 0; i < n; i++) sky.${call}; }`;

webgpu(
  "a call of no type with more arguments than a method takes",
  pipelines("initialize(n, i)"),
  [],
);
webgpu("a call of no type that may be of the method", pipelines("initialize()"), [O]);

/** A class that keeps a buffer and has no end. */
const patch =
  "class Patch { buffer: GPUBuffer; constructor(readonly d: GPUDevice) {\n" +
  "this.buffer = d.createBuffer({ size: 4 }); } draw() { return this.buffer.size; } }\n";

webgpu(
  "an endless class of which an event makes one, by a method of its own",
  "class Patch { buffer: GPUBuffer; private constructor(readonly d: GPUDevice) {\n" +
    "this.buffer = d.createBuffer({ size: 4 }); }\n" +
    "static create(d: GPUDevice) { return new Patch(d); } draw() { return this.buffer.size; } }\n" +
    "export function f(d: GPUDevice, b: HTMLElement, all: Patch[]) {\n" +
    'b.addEventListener("click", () => { all.push(Patch.create(d)); }); }',
  [M],
);
webgpu(
  "an endless class that is a part of one made for each event",
  patch +
    "class Field { patch: Patch; constructor(d: GPUDevice) { this.patch = new Patch(d); } }\n" +
    "export function f(d: GPUDevice, b: HTMLElement, all: Field[]) {\n" +
    "b.onclick = () => { all.push(new Field(d)); }; }",
  [M],
);
webgpu(
  "an endless class that is a part of one made once",
  patch +
    "class Field { patch: Patch; constructor(d: GPUDevice) { this.patch = new Patch(d); } }\n" +
    "export function start(d: GPUDevice) { const field = new Field(d); return field; }",
  [],
);
webgpu(
  "an endless class of which heirs are made for each event, told by its first field",
  "class Patch { a: GPUBuffer; b: GPUBuffer; constructor(readonly d: GPUDevice) {\n" +
    "this.a = d.createBuffer({ size: 4 });\nthis.b = d.createBuffer({ size: 4 }); } }\n" +
    "class Grass extends Patch { size() { return this.a.size + this.b.size; } }\n" +
    "export function f(d: GPUDevice, b: HTMLElement, all: Patch[]) {\n" +
    "b.onclick = () => { all.push(new Grass(d)); }; }",
  [M],
);
webgpu(
  "a class without an end whose heir has one",
  patch +
    "class Grass extends Patch { release() { this.buffer.destroy(); } }\n" +
    "export function f(d: GPUDevice, b: HTMLElement, all: Patch[]) {\n" +
    "b.onclick = () => { all.push(new Grass(d)); }; }",
  [],
);
webgpu(
  "an endless class with a method that only sounds as if it freed something",
  "class Patch { buffer: GPUBuffer; on = true; constructor(readonly d: GPUDevice) {\n" +
    "this.buffer = d.createBuffer({ size: 4 }); } stop() { this.on = false; } }\n" +
    "export function f(d: GPUDevice, b: HTMLElement, all: Patch[]) {\n" +
    "b.onclick = () => { all.push(new Patch(d)); }; }",
  [M],
);

webgpu(
  "what a class keeps once for all of its objects",
  "class Patch { static blank: GPUBuffer; constructor(readonly b: GPUBuffer) {}\n" +
    "static prepare(d: GPUDevice) { this.blank = d.createBuffer({ size: 4 }); }\n" +
    "static create() { return new Patch(this.blank); } }\n" +
    "export function f(b: HTMLElement, all: Patch[]) {\n" +
    "b.onclick = () => { all.push(Patch.create()); }; }",
  [],
);

/** A class that keeps two buffers, and another method of it. */
const pair = (method: string): string =>
  "export class Pair { a: GPUBuffer; b: GPUBuffer; constructor(d: GPUDevice) {\n" +
  "this.a = d.createBuffer({ size: 4 });\nthis.b = d.createBuffer({ size: 4 }); }\n" +
  `${method} }`;
webgpu("an end that is called cleanup", pair("cleanup() { this.a.destroy(); }"), [M]);
webgpu("an end written in capitals", pair("Destroy() { this.a.destroy(); }"), [M]);
webgpu("an end of all", pair("destroyAll() { this.a.destroy(); }"), [M]);
webgpu("an end when something happens", pair("onDestroy() { this.a.destroy(); }"), [M]);
webgpu("such an end that is whole", pair("cleanup() { this.a.destroy(); this.b.destroy(); }"), []);
webgpu("an end of one thing", pair("destroyFirst() { this.a.destroy(); }"), []);
webgpu("a method called so that ends nothing", pair("close() { return 1; }"), []);
webgpu(
  "such an end that only the class itself calls",
  pair("private cleanup() { this.a.destroy(); } go() { this.cleanup(); }"),
  [],
);

/** A class without an end, and a place that keeps its instances. */
const spot =
  "class Spot { readonly data: GPUBuffer;\nconstructor(d: GPUDevice) { this.data = " +
  "d.createBuffer({ size: 4 }); } }\n";
const spots = (rest: string): string =>
  spot +
  "export class World { spots: Spot[] = []; constructor(readonly d: GPUDevice) {}\n" +
  `add() { const s = new Spot(this.d); this.spots.push(s); return s; } ${rest} }`;
webgpu(
  "an endless class of which one is taken out of a list",
  spots("drop(i: number) { this.spots.splice(i, 1); }"),
  [M],
);
webgpu("an endless class of which all are thrown away", spots("restart() { this.spots = []; }"), [
  M,
]);
webgpu(
  "an endless class of which a list keeps every one",
  spots("count() { return this.spots.length; }"),
  [],
);
webgpu(
  "an endless class of which one takes the place of another",
  spot +
    "export class World { spot: Spot | null = null; constructor(readonly d: GPUDevice) {}\n" +
    "setSpot() { this.spot = new Spot(this.d); } size() { return this.spot?.data.size; } }",
  [M],
);
webgpu(
  "an endless class of which one is made when the program starts",
  spot +
    "export class World { spot: Spot | null = null; constructor(readonly d: GPUDevice) {}\n" +
    "init() { this.spot = new Spot(this.d); } size() { return this.spot?.data.size; } }",
  [],
);

/** A function that makes an object of functions without an end, or with one. */
const makeSpot = (end = ""): string =>
  "function makeSpot(d: GPUDevice) { const data = d.createBuffer({ size: 4 });\n" +
  `return { size: () => data.size${end} }; }\n`;
const update = "export function update(d: GPUDevice) { return makeSpot(d).size(); }";
webgpu("an object of functions without an end, made for each frame", makeSpot() + update, [M]);
webgpu(
  "one that is made when the program starts",
  makeSpot() + "export function main(d: GPUDevice) { return makeSpot(d).size(); }",
  [],
);
webgpu(
  "one whose functions have a way to free it",
  makeSpot(", release: () => { data.destroy(); }") +
    "export function update(d: GPUDevice) { const s = makeSpot(d); s.release(); }",
  [],
);
webgpu(
  "one that gives the buffer away",
  "function makeSpot(d: GPUDevice) { const data = d.createBuffer({ size: 4 });\n" +
    "return { data, size: () => data.size }; }\n" +
    "export function update(d: GPUDevice) { const s = makeSpot(d); s.data.destroy(); }",
  [],
);

/** A pass that draws a texture, and one that ends it, too. */
const passOf = (rest = ""): string =>
  "class Pass { group: GPUBindGroup; constructor(d: GPUDevice, private readonly out: GPUTexture) " +
  "{ this.group = d.createBindGroup({ entries: [out.createView()] }); } draw(e: " +
  `GPURenderPassEncoder) { e.setBindGroup(0, this.group); return this.out.width; } ${rest} }\n`;
const ownPass = passOf("destroy() { this.out.destroy(); }");
const view = (end: string): string =>
  "export class View { size: GPUBuffer; out: GPUTexture; pass: Pass;\n" +
  "constructor(d: GPUDevice) { " +
  "this.size = d.createBuffer({ size: 4 });\nthis.out = d.createTexture({ size: [4, 4] });\n" +
  `this.pass = new Pass(d, this.out); } destroy() { this.size.destroy(); ${end} } }`;
webgpu("a texture that a pass only draws is left out", passOf() + view(""), [M]);
webgpu("such a texture that is ended", passOf() + view("this.out.destroy();"), []);
webgpu("a texture that the pass ends", ownPass + view("this.pass.destroy();"), []);
webgpu(
  "a texture that somebody ends in the pass",
  "class Pass { constructor(readonly out: GPUTexture) {} draw() { return this.out.width; } }\n" +
    "export class View { size: GPUBuffer; out: GPUTexture; pass: Pass; constructor(d: GPUDevice) " +
    "{ this.size = d.createBuffer({ size: 4 }); this.out = d.createTexture({ size: [4, 4] }); " +
    "this.pass = new Pass(this.out); } destroy() { this.size.destroy(); } }\n" +
    "export const end = (p: Pass) => { p.out.destroy(); };",
  [],
);

/** A function that gives a pass for the textures in a record. */
const passFor = (draw: string): string =>
  "const passFor = ({ d, out }: { d: GPUDevice; out: GPUTexture }) => { const group = " +
  "d.createBindGroup({ entries: [{ resource: out.createView() }] });\n" +
  `return { draw: (e: GPURenderPassEncoder) => { ${draw} } }; };\n`;
const viewOf = (end: string): string =>
  "export const makeView = (d: GPUDevice) => { const size = d.createBuffer({ size: 4 });\n" +
  "const out = d.createTexture({ size: [4, 4] });\nconst pass = passFor({ d, out });\n" +
  "return { draw: (e: GPURenderPassEncoder) => { pass.draw(e); return size.size; }, " +
  `destroy: () => { size.destroy(); ${end} } }; };`;
const draws = passFor("e.setBindGroup(0, group);");
webgpu("a texture handed on in a record is left out", draws + viewOf(""), [M]);
webgpu("such a texture that the end frees", draws + viewOf("out.destroy();"), []);
webgpu(
  "a texture that ends when it is drawn",
  passFor("e.setBindGroup(0, group); out.destroy();") + viewOf(""),
  [],
);

/** A view that makes a texture and a pass for it; `first` is what it does before. */
const sized = (pass: string, first: string): string =>
  pass +
  "export class View { out: GPUTexture | null = null; pass: Pass | null = null;\n" +
  'constructor(readonly d: GPUDevice) { addEventListener("resize", () => { this.fit(); }); }\n' +
  `fit() { ${first}\nconst out = this.d.createTexture({ size: [4, 4] });\nthis.out = out;\n` +
  "this.pass = new Pass(this.d, this.out); } }";
webgpu("a texture that a pass draws is replaced", sized(passOf(), ""), [O]);
webgpu("one that is ended before", sized(passOf(), "this.out?.destroy();"), []);
webgpu("one that its pass ends before", sized(ownPass, "this.pass?.destroy();"), []);

/** A view that makes its texture in a method of its own; `rest` calls it. */
const made = (rest: string): string =>
  "export class View { out: GPUTexture | null = null; constructor(readonly d: GPUDevice) {\n" +
  "this.make(); } private make() { this.out = this.d.createTexture({ size: [4, 4] }); }\n" +
  `width() { return this.out?.width; } ${rest} }`;
webgpu("a texture made anew in resize()", made("resize() { this.make(); }"), [O]);
webgpu("one that resize() ends before", made("resize() { this.out?.destroy(); this.make(); }"), []);
webgpu(
  "a resize() that only the start of the program calls",
  made("resize() { this.make(); } static start(d: GPUDevice) { new View(d).resize(); }"),
  [],
);

test.run();
