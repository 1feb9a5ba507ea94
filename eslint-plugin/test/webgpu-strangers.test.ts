/**
 * The preset for WebGPU objects on what programs of strangers do that is right: each case has the
 * leak next to it, which must be found.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("webgpu, programs of strangers");
const R = "require-disposal";
const O = "no-overwritten-tensor";
const webgpu = casesOf(test);

const grid = (rest: string): string =>
  "export class Grid { private back!: GPUBuffer; constructor(readonly d: GPUDevice) { " +
  "this.prepare(); } private prepare() { this.back = this.d.createBuffer({ size: 4 }); } " +
  `destroy() { this.back.destroy(); } ${rest} }\n` +
  "export function onClick(d: GPUDevice) { for (;;) { const g = new Grid(d); g.destroy(); } }";
webgpu("a method that only the constructor calls fills each object once", grid(""), []);
webgpu("one that is called again and again", grid("run() { for (;;) this.prepare(); }"), [O]);

const view = (loop: string): string =>
  "class View { gpu: GPUBuffer | null = null; upload(d: GPUDevice) { this.gpu = " +
  "d.createBuffer({ size: 4 }); } }\nexport function load(d: GPUDevice, views: View[]) { " +
  `${loop} }`;
webgpu(
  "each object of a list by its place",
  view("for (let i = 0; i < views.length; i++) { views[i]!.upload(d); }"),
  [],
);
webgpu(
  "the same object of a list again and again",
  view("const k = 0; for (let i = 0; i < views.length; i++) { views[k]!.upload(d); }"),
  [O],
);

const bind =
  "interface Group { groups: GPUBindGroup[] }\nfunction describe(parts: { buffer: GPUBuffer }[][]" +
  ", d: GPUDevice): Group { const groups: GPUBindGroup[] = []; for (let i = 0; i < parts.length; " +
  "i++) { const entries: any[] = []; for (let j = 0; j < parts[0]!.length; j++) { const e: any = " +
  "{}; e.resource = parts[i]![j]; entries.push(e); } groups.push(d.createBindGroup({ entries })" +
  "); } return { groups }; }\n";
webgpu(
  "a helper puts a list of buffers into bind groups that a later frame uses",
  bind +
    "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); const g = " +
    "describe([[{ buffer: b }]], d); return () => g.groups[0]; }",
  [],
);
webgpu(
  "a helper whose bind groups nobody uses",
  bind +
    "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); const g = " +
    "describe([[{ buffer: b }]], d); return g === undefined; }",
  [R],
);
webgpu(
  "a helper that only looks at a list of buffers",
  "function total(parts: { buffer: GPUBuffer }[][]) { let n = 0; for (let i = 0; i < " +
    "parts.length; i++) n += parts[i]![0]!.buffer.size; return n; }\nexport function f(d: " +
    "GPUDevice) { const b = d.createBuffer({ size: 4 }); return total([[{ buffer: b }]]); }",
  [R],
);
const timer = (after: string): string =>
  "declare function read(b: GPUBuffer): void;\nexport class Timer { private out?: GPUBuffer; " +
  "private readonly spare: GPUBuffer[] = []; constructor(readonly d: GPUDevice) {} render() { " +
  "this.out = this.d.createBuffer({ size: 8 }); } take() { const spent = this.out; if (!spent) " +
  `return; ${after} } }\nexport const timer = (d: GPUDevice) => new Timer(d);`;
webgpu("a field whose value a list takes under another name", timer("this.spare.push(spent);"), []);
webgpu("one whose value is only looked at under another name", timer("spent.size;"), [O]);

const grown = (test: string): string =>
  "export function pass(d: GPUDevice) { let lights: GPUBuffer | undefined; let " +
  "shadows: GPUBuffer | undefined; let last = 0; return { render(n: number) { " +
  `if (${test}) { lights = d.createBuffer({ size: n }); shadows = d.createBuffer({ size: n }); ` +
  "last = n; } return [last, lights?.size, shadows?.size]; } }; }";
webgpu("variables that are filled while one is empty", grown("!lights"), []);
webgpu("or while both are", grown("!lights || !shadows"), []);
webgpu("variables that are filled when more is needed, too", grown("!lights || n > last"), [O, O]);

const camera = (start: string): string =>
  "abstract class Part { start(d: GPUDevice) { this.ready(d); } abstract ready(d: GPUDevice): " +
  `void; }\nclass Body extends Part { override start(d: GPUDevice) { ${start} } override ` +
  "ready(_d: GPUDevice) {} }\nexport class Camera extends Body { view?: GPUBuffer; override " +
  "ready(d: GPUDevice) { this.view = d.createBuffer({ size: 64 }); } }";
webgpu(
  "a method that calls the one of its base is not called by itself",
  camera("super.start(d);"),
  [],
);
webgpu("a method that calls itself", camera("if (d) this.start(d); super.start(d);"), [O]);

const registered = (fill: string): string =>
  "class Store { readonly all = new Set<Block>(); make(b: Block, d: GPUDevice) { " +
  "this.all.add(b); return d.createBuffer({ size: 4 }); } }\nclass Block { gpu?: GPUBuffer; " +
  `fill(s: Store, d: GPUDevice) { ${fill} } destroy() { this.gpu?.destroy(); } }\n` +
  "export function f(s: Store, d: GPUDevice) { const b = new Block(); b.fill(s, d); " +
  "return d === undefined; }";
webgpu(
  "a method that hands the object itself to who keeps it",
  registered("this.gpu = s.make(this, d);"),
  [],
);
webgpu(
  "one that keeps what it makes to itself",
  registered("s.all.size; this.gpu = d.createBuffer({ size: 4 });"),
  [R],
);
const passes = (use: string): string =>
  "function makeAll(d: GPUDevice) { const color = d.createTexture({}); const depth = " +
  "d.createTexture({}); return { color, depth }; }\nfunction describe(all: any) { const main = { " +
  "view: all.color.createView(), depth: all.depth.createView() }; return { main }; }\n" +
  `export function f(d: GPUDevice) { const all = makeAll(d); ${use} }`;
webgpu(
  "several textures in one object, of which a helper makes views for later frames",
  passes("const p = describe(all); return () => p.main;"),
  [],
);

const demo = (end: string): string =>
  "export class Demo { private parts?: { a: GPUBuffer; b: GPUBuffer }; init(d: GPUDevice) { " +
  "this.parts = { a: d.createBuffer({}), b: d.createBuffer({}) }; } draw(m: object) { return [m, " +
  `this.parts]; } ${end} }\nexport function show(d: GPUDevice, all: Demo[], link: ` +
  "{ addEventListener(k: string, f: () => void): void }) { for (const each of all) link" +
  '.addEventListener("click", () => { all[0]!.init(d); each.draw(d); }); }';
webgpu(
  "an object that is started again after its end",
  demo("dispose() { const old = this.parts; old?.a.destroy(); old?.b.destroy(); }"),
  [],
);
webgpu("one that is started again and has no end", demo(""), [O]);

const defaults = (guard: string): string =>
  "export class Material { static ready = false; static blank: { all: GPUTexture }; static " +
  `setDevice(d: GPUDevice) { ${guard} this.blank = { all: d.createTexture({}) }; ` +
  "this.ready = true; } }";
webgpu("values that a flag says are there", defaults("if (this.ready) return;"), []);
webgpu("values that are made each time", defaults(""), [O]);

const started = (ask: string): string =>
  "class Ground { private readonly v: GPUBuffer; constructor(d: GPUDevice) { this.v = " +
  "d.createBuffer({}); } draw() { return this.v.size; } }\ninterface Button { addEventListener(" +
  "k: string, f: () => void): void }\ndeclare function requestDevice(): GPUDevice;\nexport " +
  "function page(button: Button, had: GPUDevice) { function start() { const d = " +
  `${ask}; const g = new Ground(d); g.draw(); return d; } button.addEventListener("tap", start); }`;
webgpu("objects of a device that is asked for with them", started("requestDevice()"), []);
webgpu("objects that each click makes of one device", started("had"), ["require-member-disposal"]);

const materials = (keep: string): string =>
  "interface Paint { gpu: GPUBuffer } export class Model { readonly paints: Record<string, Paint" +
  "> = {}; load(d: GPUDevice, names: string[]) { const known = new Map<string, Paint>(); for (" +
  "const " +
  "name of names) { const paint: Paint = { gpu: d.createBuffer({}) }; known.set(name, paint); " +
  `${keep} } return known.size; } }`;
webgpu("a table of what a field keeps, too", materials("this.paints[name] = paint;"), []);
webgpu("a table that alone has what is made", materials(""), [R]);

const solver = (use: string): string =>
  "class Solver { constructor(readonly parts: { a: GPUBuffer; rest: GPUBuffer[] }) {} destroy() " +
  "{ this.parts.a.destroy(); for (const b of this.parts.rest) b.destroy(); } }\n" +
  "export async function solver(d: GPUDevice, check: (b: GPUBuffer) => Promise<void>) { const " +
  "all: GPUBuffer[] = []; try { const a = d.createBuffer({}); all.push(a); " +
  `await check(a); ${use} } catch (e) { for (const b of all) b.destroy(); throw e; } }`;
webgpu(
  "a list for the case of failure of what a new object is given",
  solver(
    "const rest = Array.from([1, 2], () => { const b = d.createBuffer({}); all.push(b); return b " +
      "; }); const parts = { a, rest }; return new Solver(parts);",
  ),
  [],
);
webgpu("one of what is done with in the other case, too", solver("return a.size;"), [R]);

const pool = (key: string): string =>
  "export class Pool { private all: Record<string, Block> = {}; add(d: GPUDevice) { const b = " +
  "new Block(d); this.all[b.id] = b; } grow(old: Block, id: string, d: GPUDevice) { " +
  `delete this.all[${key}]; old.destroy(); const b = new Block(d); ` +
  "this.all[b.id] = b; return id; } destroy() { for (const id in this.all) " +
  "this.all[id]!.destroy(); } }\nclass Block { readonly gpu: GPUBuffer; id = String(" +
  "Math.random()); constructor(d: GPUDevice) { this.gpu = d.createBuffer({}); } destroy() { " +
  "this.gpu.destroy(); } }";
webgpu("an entry under the name of an object at hand", pool("old.id"), []);
webgpu("one under another name", pool("id"), ["no-dropped-element"]);

const placed = (test: string): string =>
  "export class Shape { private gpu?: GPUBuffer; private on?: GPUDevice; update(d: GPUDevice, n: " +
  `number) { if (${test}) { this.on = d; this.gpu = d.createBuffer({ size: n }); } ` +
  "return [this.gpu, this.on]; } }";
webgpu("a buffer for another device than the last", placed("!this.gpu || this.on !== d"), []);
webgpu("one for another size", placed("!this.gpu || this.gpu.size !== n"), [O]);

const pass = (name: string, test: string): string =>
  "export class View { pass?: object; constructor(readonly d: GPUDevice) {}\n" +
  `${name}(d: GPUDevice, e: GPUCommandEncoder) { ${test} { const t = d.createTexture({}); ` +
  "this.pass = { colors: [], depth: { view: t.createView(), clear: 1 } }; } " +
  "return e.beginRenderPass(this.pass!); } }";
webgpu("a texture per frame, whose view is in the description of a pass", pass("frame", ""), [R]);
webgpu("one that is made once", pass("prepare", ""), []);
webgpu("one whose description is looked for first", pass("frame", "if (!this.pass)"), []);

const listener = (call: string): string =>
  "export class Page { show(d: GPUDevice, size: number) { const b = d.createBuffer({ size }); " +
  "const draw = () => { d.queue.writeBuffer(b, 0, {}); };\n" +
  `${call} } }`;
webgpu(
  "what a listener draws with",
  listener('globalThis.addEventListener("mousemove", () => { draw(); });'),
  [],
);
webgpu("what is drawn with once more", listener("setTimeout(() => { draw(); }, 100);"), [R]);

const boxes = (asks: string): string =>
  "class Box { constructor(readonly w: number) {} size(all: Boxes): number { " +
  `${asks} } }\nexport class Boxes { back?: GPUBuffer; scale = 2; constructor(readonly d: ` +
  "GPUDevice) {} zoom() { return this.scale * 2; } drop() { this.back?.destroy(); }\n" +
  "render(box: Box) { const size = box.size(this); this.back = this.d.createBuffer({ size }); " +
  "return this.back.size; } }";
webgpu("an object handed to who asks for its size", boxes("return this.w * all.zoom();"), [O]);
webgpu("one handed to who ends the old buffer", boxes("all.drop(); return this.w;"), []);
webgpu("one handed to who may keep it", boxes("(globalThis as any).all = all; return 4;"), []);

const manager = (name: string): string =>
  "export class Manager { private readonly all = new Map<string, GPUBuffer>(); add(k: string, d: " +
  `GPUDevice) { this.all.set(k, d.createBuffer({})); }\n${name}() { this.all.clear(); } }`;
webgpu("a table emptied as the device is lost", manager("loseDevice"), []);
webgpu("a table emptied at will", manager("forgetAll"), ["no-dropped-element"]);
webgpu(
  "a list that a function ends may have the other fields in it",
  "interface Parts { output: GPUBuffer; rows: GPUBuffer; buffers: GPUBuffer[] }\n" +
    "export function makeParts(d: GPUDevice): Parts { const output = d.createBuffer({ " +
    "size: 4 }); " +
    "const rows = d.createBuffer({ size: 4 }); return { output, rows, buffers: [output, " +
    "rows] }; }\n" +
    "export function destroyParts(parts: Parts): void { for (const b of parts.buffers) " +
    "b.destroy(); }\nexport class Holder { parts: Parts | null = null; fill(d: GPUDevice) { " +
    "const old = this.parts; this.parts = makeParts(d); for (const b of old?.buffers ?? []) " +
    "b.destroy(); } }",
  [],
);

const worker = (type: string): string =>
  "declare const device: GPUDevice; let uniforms: GPUBuffer | null = null;\n" +
  "function prepare() {\nuniforms = device.createBuffer({ size: 4 });\n}\n" +
  "declare const self: { onmessage: (e: { data: { type: string } }) => void };\n" +
  `self.onmessage = (e) => { const { type } = e.data; if (type === "${type}") prepare(); };\n` +
  "export const size = () => uniforms!.size;";
webgpu("what a worker makes when it starts", worker("init"), []);
webgpu("what a worker makes for each message", worker("draw"), [O]);

const hdr =
  "class Hdr { t?: GPUTexture; fill(d: GPUDevice) { this.t = d.createTexture({ size: [1] }); } " +
  "async load(d: GPUDevice): Promise<Hdr> { const made = new Hdr(); made.fill(d); return made; } " +
  "destroy() { this.t?.destroy(); } }\nexport async function f(d: GPUDevice) { let h = " +
  "new Hdr();\n";
webgpu("an object that loads itself", hdr + "h = await h.load(d); return h; }", []);

const target = (more: string): string =>
  "export class Target { view: GPUTextureView; constructor(readonly d: GPUDevice) { this.view = " +
  "this.make(1); } private make(w: number) {\nconst t = this.d.createTexture({ size: [w] });\n" +
  `return t.createView(); } ${more} }`;
webgpu("a view of a texture that is made once", target(""), []);
webgpu(
  "a view that another one takes the place of",
  target("resize(w: number) { this.view = this.make(w); }"),
  [R],
);

const painter = (base: string, end: string): string =>
  `${base}\nexport class Painter extends Base { constructor(d: GPUDevice) { super(); ` +
  `this.made = d.createBuffer({ size: 4 }); } destroy() { ${end} } }`;
const M = "require-member-disposal";
const declared =
  "class Base { made: GPUBuffer | null = null; destroy() { this.made?.destroy(); } }";
webgpu("a field that the base ends", painter(declared, "super.destroy();"), []);
webgpu(
  "a field that the base only shows",
  painter("class Base { made: GPUBuffer | null = null; destroy() {} }", "super.destroy();"),
  [M],
);
webgpu("an end that returns first", painter(declared, "return; super.destroy();"), [M]);

const mesh = (end: string): string =>
  "export class Mesh { points: GPUBuffer;\nnormals: GPUBuffer;\nconstructor(d: GPUDevice) { " +
  "this.points = d.createBuffer({ size: 4 }); this.normals = d.createBuffer({ size: 4 }); } }\n" +
  "export class Meshes { all: Mesh[] = []; add(d: GPUDevice) { this.all.push(new Mesh(d)); } " +
  `destroy() { for (const m of this.all) { m.points.destroy(); ${end} } } }`;
webgpu("fields that another class ends", mesh("m.normals.destroy();"), []);
webgpu("of which it leaves one", mesh(""), [M]);
webgpu("or hands one to who may end it", mesh("globalThis.queueMicrotask(m.normals as any);"), []);

const viewer = (makes: string, uses: string): string =>
  "export const views = (d: GPUDevice) => { const size = (n: number) => { const t = " +
  "d.createTexture({ size: [n], format: 'r8unorm', usage: 1 }); return t.createView(); }; " +
  `${makes} };\nexport function show(d: GPUDevice) { ${uses} }`;
webgpu(
  "a view from a function that a pattern takes out of an object, replaced",
  viewer(
    "return { size }",
    "const { size } = views(d); let v = size(1); return { resize(n: number) { v = size(n); }, " +
      "get: () => v };",
  ),
  [R],
);
webgpu(
  "a view from a function of an object, replaced",
  viewer(
    "return { fit: size }",
    "const all = views(d); let v = all.fit(1); return { onResize: (n: number) => { v = " +
      "all.fit(n); }, get: () => v };",
  ),
  [R],
);
webgpu(
  "a view from a function that a pattern takes out of an object, made once",
  viewer("return { size }", "const { size } = views(d); const v = size(1); return () => v;"),
  [],
);
webgpu(
  "views from such a function that all stay",
  viewer(
    "return { size }",
    "const { size } = views(d); const all: GPUTextureView[] = []; return { resize(n: number) { " +
      "all.push(size(n)); }, all };",
  ),
  [],
);

const sized = (render: string, make = ""): string =>
  "export class Screen { private t?: GPUTexture; private w = 0; constructor(private device: " +
  `GPUDevice) {} createDepth(w: number) { ${make}\nthis.t = this.device.createTexture({ size: ` +
  `[w], format: 'r8unorm', usage: 16 }); } ${render} }`;
webgpu(
  "made anew where the size is another",
  sized("render(w: number) { if (w !== this.w) { this.createDepth(w); this.w = w; } }"),
  [O],
);
webgpu(
  "made anew unless the size is the same",
  sized("updateSize(w: number) { if (this.w === w) return; this.w = w; this.createDepth(w); }"),
  [O],
);
webgpu(
  "what was there is freed where the size is another",
  sized(
    "render(w: number) { if (w !== this.w) { this.createDepth(w); this.w = w; } }",
    "this.t?.destroy();",
  ),
  [],
);
webgpu(
  "made where there is none",
  sized("render(w: number) { if (this.t === undefined) this.createDepth(w); }"),
  [],
);
webgpu(
  "made anew where the device is another",
  sized(
    "render(d: GPUDevice) { if (d !== this.device) { this.device = d; this.createDepth(1); } }",
  ),
  [],
);

const fitted = (uses: string): string =>
  "export class Fitted { b?: GPUBuffer; parts: { b?: GPUBuffer } = {}; constructor(private d: " +
  "GPUDevice) {} resize(n: number) {\nthis.b = this.d.createBuffer({ size: n, usage: 16 });\n" +
  "this.parts.b = this.d.createBuffer({ size: n, usage: 16 }); } }\n" +
  uses;
webgpu(
  "fields that who has them made anew has ended",
  fitted("export function fit(f: Fitted) { f.b?.destroy(); f.parts.b?.destroy(); f.resize(2); }"),
  [],
);
webgpu(
  "fields of which only one is ended there",
  fitted("export function fit(f: Fitted) { f.b?.destroy(); f.resize(2); }"),
  [O],
);
webgpu(
  "fields that are ended where nothing is made anew",
  fitted("export function end(f: Fitted) { f.b?.destroy(); f.parts.b?.destroy(); }"),
  [O, O],
);

const kept = (place: string): string =>
  "export class Kept { private t?: GPUTexture; private views: { t?: GPUTextureView; all: " +
  "GPUTextureView[] } = { all: [] }; constructor(private d: GPUDevice) {} resize(n: number) " +
  "{ const t = this.d.createTexture({ size: [n], format: 'r8unorm', usage: 16 }); " +
  `${place} } draw() { return this.views; } }`;
webgpu("a view in the place of the last, in a record", kept("this.views.t = t.createView();"), [R]);
webgpu("views that all stay, in a record", kept("this.views.all.push(t.createView());"), []);

const batches = (frees: string, b = "this.d.createBuffer({ size: 4, usage: 8 })"): string =>
  "interface Batch { a: GPUBuffer; b: GPUBuffer }\nexport class Batches { private all: Batch[] = " +
  "[]; private named = new Map<string, Batch>(); private old: GPUBuffer[] = []; constructor(" +
  "private d: GPUDevice, private given: GPUBuffer) {} private make(): Batch {\nreturn { a: " +
  `this.d.createBuffer({ size: 4, usage: 8 }), b: ${b} }; } reset() { ${frees}\n` +
  `this.all.push({ a: this.d.createBuffer({ size: 4, usage: 8 }), b: ${b} });\nthis.named.set(` +
  `"x", { a: this.d.createBuffer({ size: 4, usage: 8 }), b: ${b} }); } }`;
const table =
  "this.named.forEach(({ a, b }) => { a.destroy(); b.destroy(); }); this.named.clear();";
webgpu(
  "records of a list that is emptied, of which a part is freed",
  batches(`for (const p of this.all) p.a.destroy(); this.all.length = 0; ${table}`),
  [M],
);
webgpu(
  "records of a table that is cleared, of which a part is freed",
  batches(
    "this.named.forEach(({ a }) => a.destroy()); this.named.clear(); for (const { a, b } of " +
      "this.all) { a.destroy(); b.destroy(); } this.all = [];",
  ),
  [M],
);
webgpu(
  "records of which all parts are freed",
  batches(`for (const p of this.all) { p.a.destroy(); p.b.destroy(); } this.all = []; ${table}`),
  [],
);
webgpu(
  "records of which the other part goes on",
  batches(
    `for (const p of this.all) { p.a.destroy(); this.old.push(p.b); } this.all = []; ${table}`,
  ),
  [],
);
webgpu(
  "records whose other part is given",
  batches(
    "for (const p of this.all) p.a.destroy(); this.all = []; " +
      "this.named.forEach(({ a }) => a.destroy()); this.named.clear();",
    "this.given",
  ),
  [],
);

const listed = (more: string): string =>
  "export class Scene { a: GPUBuffer; b: GPUBuffer; #ends: (() => void)[] = [];\n" +
  "constructor(d: GPUDevice) { this.a = d.createBuffer({ size: 4 });\n" +
  `this.#ends.push(() => this.a.destroy()); this.b = d.createBuffer({ size: 4 }); ${more} }\n` +
  "destroy() { for (const end of this.#ends) end(); this.#ends.length = 0; } }";
webgpu(
  "fields that a list of functions ends",
  listed("this.#ends.push(() => this.b.destroy());"),
  [],
);
webgpu("a field that a list of functions leaves", listed(""), [M]);

test.run();
