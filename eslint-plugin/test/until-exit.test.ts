/**
 * What a program makes once and keeps to its end: `recommended` is silent about it, and `strict`,
 * by the setting `untilExit`, asks for an end. Each case says which rules of `recommended` must
 * report with that setting, in order of lines; none reports without it unless the case says so.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";
import { casesOf, lastingOf } from "./webgpu-cases.ts";

const test = suite("what lasts until exit");
const R = "require-disposal";
const M = "require-member-disposal";
const O = "no-overwritten-tensor";
const reported = casesOf(test, { untilExit: "reported" });

const lasting = lastingOf(test);

const make = "const make = (d: GPUDevice) => d.createBuffer({ size: 4 });\n";

lasting(
  "a class without an end",
  "export class Mesh { buffer: GPUBuffer; constructor(d: GPUDevice) {\n" +
    "this.buffer = d.createBuffer({ size: 4 }); } size() { return this.buffer.size; } }",
  [M],
);
lasting(
  "a scratch field that the method which fills it empties",
  "export class Maps { temp?: GPUTexture; bake(d: GPUDevice) {\n" +
    "this.temp = d.createTexture({}); const w = this.temp.width; " +
    "this.temp.destroy(); return w; } }",
  [],
);
reported(
  "a field that is ended only where another takes its place",
  "export class Mesh { buffer: GPUBuffer; constructor(readonly d: GPUDevice) {\n" +
    "this.buffer = d.createBuffer({ size: 4 }); }\n" +
    "grow(n: number) { this.buffer.destroy(); this.buffer = this.d.createBuffer({ size: n }); } }",
  [M],
);
lasting(
  "parts that a private method ends before others are made",
  "class Target { texture?: GPUTexture; constructor(d: GPUDevice) { " +
    "this.texture = d.createTexture({}); } destroy() { this.texture?.destroy(); } }\n" +
    "export class Renderer { a?: Target; make(d: GPUDevice) { this.drop();\n" +
    "this.a = new Target(d); }\nprivate drop() { this.a?.destroy(); } }",
  [],
);
lasting(
  "a table that another method than an end empties",
  "export class Pool { all = new Map<string, GPUBuffer>(); add(d: GPUDevice, k: string) {\n" +
    "if (!this.all.has(k)) this.all.set(k, d.createBuffer({ size: 4 })); }\n" +
    "flush() { for (const b of this.all.values()) b.destroy(); this.all = new Map(); } }",
  [],
);
lasting(
  "an object of functions without an end",
  "export function pass(d: GPUDevice) {\nconst buffer = d.createBuffer({ size: 4 });\n" +
    "return { draw: () => buffer.size }; }",
  [M],
);
lasting(
  "a field that `new` is given by the class itself",
  "export class Typed { constructor(readonly buffer: GPUBuffer) {}\n" +
    "static of(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); return new Typed(b); } }\n" +
    "export const sizeOf = (d: GPUDevice) => Typed.of(d).buffer.size;",
  [M],
);
lasting(
  "a buffer that only a bind group has",
  "export function group(d: GPUDevice) { const buffer = d.createBuffer({ size: 4 });\n" +
    "return d.createBindGroup({ entries: [{ binding: 0, resource: { buffer } }] }); }",
  [R],
);
lasting(
  "a texture that only a view has",
  "export function depth(d: GPUDevice) { const t = d.createTexture({});\nreturn t.createView(); }",
  [R],
);
lasting(
  "a texture given back beside its view",
  "export function depth(d: GPUDevice) { const texture = d.createTexture({});\n" +
    "return { texture, view: texture.createView() }; }",
  [],
);
lasting(
  "a field of the class above that nobody ends",
  "class Base { constructor(readonly buffer: GPUBuffer) {} }\nexport class Points extends Base {" +
    "\nconstructor(d: GPUDevice) { super(d.createBuffer({ size: 4 })); }\n" +
    "size() { return this.buffer.size; } }",
  [M],
);
lasting(
  "a field of the class above that this ends",
  "class Base { constructor(readonly buffer: GPUBuffer) {} destroy() { this.buffer.destroy(); } }" +
    "\nexport class Points extends Base { constructor(d: GPUDevice) { " +
    "super(d.createBuffer({ size: 4 })); } }",
  [],
);
lasting(
  "parts of records that a callback fills and another ends",
  make +
    "interface Item { buffer?: GPUBuffer }\nexport class Store { list: Item[] = [];\n" +
    "fill(d: GPUDevice) { this.list.forEach((item) => { item.buffer ??= make(d); }); }\n" +
    "empty() { this.list.forEach((s) => { s.buffer?.destroy(); }); } }",
  [],
);
lasting(
  "parts of records that a callback fills and nobody ends",
  make +
    "interface Item { buffer?: GPUBuffer }\nexport class Store { list: Item[] = [];\n" +
    "fill(d: GPUDevice) { this.list.forEach((item) => { item.buffer ??= make(d); }); } }",
  [M],
);
const pass = (end: string): string =>
  "export class Pass { #vertices?: GPUBuffer; get vertices() { return this.#vertices; }\n" +
  `set vertices(given) { this.#vertices = given; } destroy() { ${end} } }\n` +
  "export function add(d: GPUDevice, p: Pass) {\nif (p.vertices) return;\n" +
  "p.vertices = d.createBuffer({ size: 4 }); }";
lasting("what a setter takes and the end leaves", pass("return;"), [M]);
lasting("what a setter takes and the end ends", pass("this.#vertices?.destroy();"), []);
lasting(
  "fields that are ended by their names",
  "export class Pair { a: GPUBuffer; b: GPUBuffer; constructor(d: GPUDevice) {\n" +
    "this.a = d.createBuffer({ size: 4 }); this.b = d.createBuffer({ size: 4 }); }\n" +
    'free() { for (const key of ["a", "b"] as const) this[key].destroy(); } }',
  [],
);
lasting(
  "what a function gives to whoever uses the package",
  "export function vertices(d: GPUDevice) { return d.createBuffer({ size: 4 }); }",
  [],
);
lasting(
  "a variable of the module",
  "let buffer: GPUBuffer | undefined;\nexport function start(d: GPUDevice) {\n" +
    "buffer ??= d.createBuffer({ size: 4 }); return buffer.size; }",
  [],
);
lasting(
  "a device that is asked for",
  "export async function start(a: GPUAdapter) { const d = await a.requestDevice();\n" +
    "return { submit: (all: object[]) => { d.queue.submit(all); },\n" +
    "destroy: () => { d.destroy(); } }; }",
  [],
);

lasting(
  "what a device that is destroyed has made",
  "export class Engine { device!: GPUDevice; depth?: GPUTexture;\n" +
    "async init(a: GPUAdapter) { this.device = await a.requestDevice();\n" +
    "this.depth = this.device.createTexture({}); } destroy() { this.device.destroy(); } }\n" +
    "export async function bench(a: GPUAdapter) { const d = await a.requestDevice();\n" +
    "const list: GPUBuffer[] = []; list.push(d.createBuffer({ size: 4 }));\n" +
    "const n = list.map((b) => b.size); d.destroy(); return n; }",
  [],
);
lasting(
  "a device that a class asks for",
  "export class Gpu { device!: GPUDevice; async init(a: GPUAdapter) {\n" +
    "this.device = await a.requestDevice(); } submit() { this.device.queue.submit([]); } }",
  [],
);
const map = (method: string): string =>
  "export class Shadow { map?: GPUTexture; constructor(readonly d: GPUDevice) {}\n" + `${method} }`;
lasting(
  "a field that one branch ends and the other fills",
  map(
    "set(on: boolean) { if (!on) { this.map?.destroy(); this.map = undefined; }\n" +
      "else if (!this.map) this.map = this.d.createTexture({}); }",
  ),
  [],
);
lasting(
  "a field that is emptied before it is filled again",
  map(
    "set(n: number) { this.map?.destroy(); this.map = undefined; if (n === 0) return;\n" +
      "this.map = this.d.createTexture({ n }); }",
  ),
  [],
);
lasting(
  "a field that its class gives away",
  map(
    "bake() { this.map?.destroy(); this.map = this.d.createTexture({}); }\n" +
      "take() { const t = this.map; this.map = undefined; return t; }",
  ),
  [],
);
lasting(
  "a queue of the module that is emptied later",
  "const queue: { destroy(): void }[] = [];\nexport const flush = () => { for (const x of " +
    "queue.splice(0)) x.destroy(); };\nconst defer = (x: { destroy(): void }) => { " +
    "queue.push(x); };\n" +
    map(
      "fill() { if (this.map) return; this.map = this.d.createTexture({}); }\n" +
        "drop() { if (this.map) defer(this.map); this.map = undefined; }",
    ),
  [],
);
lasting(
  "a pool that takes back what it gives out",
  "export class Pool { private all = new Set<GPUBuffer>(); constructor(private d: GPUDevice) {}\n" +
    "acquire(size: number): GPUBuffer { const b = this.d.createBuffer({ size }); " +
    "this.all.add(b); return b; }\n" +
    "release(b: GPUBuffer) { if (this.all.delete(b)) b.destroy(); } }",
  [],
);
lasting(
  "a field that is given to who may end it",
  "declare function onExit(x: { destroy(): void }): void;\nexport class B { t: GPUTexture; " +
    "constructor(d: GPUDevice) { this.t = d.createTexture({}); onExit(this.t); } }",
  [],
);
const handed = (call: string): string =>
  "declare const lib: { own(x: object): void };\nexport class B { t: GPUTexture; " +
  `constructor(d: GPUDevice) { this.t = d.createTexture({}); ${call} } }`;
lasting("an object that is handed whole to who may end it", handed("lib.own(this);"), []);
lasting("an object that is only looked at", handed("Object.isFrozen(1); String(this);"), [M]);
lasting(
  "a static field",
  "export class Masks { static shared?: GPUBuffer; static #all = new Map<string, GPUBuffer>();\n" +
    "static get(d: GPUDevice) { Masks.shared ??= d.createBuffer({ size: 4 }); " +
    "return Masks.shared.size; }\n" +
    "static of(d: GPUDevice, k: string) { let b = Masks.#all.get(k); if (!b) {\n" +
    "b = d.createBuffer({ size: 4 }); Masks.#all.set(k, b); } return b.size; } }",
  [],
);
lasting(
  "fields that a loop over all ends",
  "export class Pair { a: GPUBuffer; constructor(d: GPUDevice) { " +
    "this.a = d.createBuffer({ size: 4 }); }\n" +
    "finish() { for (const x of Object.values(this)) x?.destroy?.(); } }",
  [],
);

test("strict and all ask for an end, recommended does not", () => {
  const { all, recommended, strict } = plugin.configs;
  assert.equal(strict.settings, { tenure: { untilExit: "reported" } });
  assert.equal(all.settings, strict.settings);
  assert.is(recommended.settings, undefined);
});

test("a script whose types say nothing", () => {
  const pair = (end: string): string =>
    "export class Pair { constructor(device, spec) { this.all = this.make(device, spec); }\n" +
    `destroy() { ${end} }\nmake(device, spec) { return spec.map((s) => ({\n` +
    "texture: device.createTexture(s.texture), sampler: device.createSampler(s.sampler) })); } }";
  const ask = (code: string): (string | null)[] =>
    lint(code, {
      file: `${projectDir}script.js`,
      rules: plugin.configs.recommended.rules,
      settings: { presets: ["webgpu"], untilExit: "reported" },
    }).map((m) => m.ruleId);
  assert.equal(ask(pair("for (const one of this.all) one.texture.destroy();")), []);
  assert.equal(ask(pair("return;")), ["tenure/require-member-disposal"]);
});

test("a class that keeps tensors and has no dispose()", () => {
  const code =
    'import { zeros } from "tenure";\nexport class Mean { sum = zeros([2]); n = 0;\n' +
    "get() { return this.n; } }";
  const { rules } = plugin.configs.strict;
  assert.equal(lines(lint(code, { rules })), []);
  const found = lint(code, { rules, settings: { untilExit: "reported" } });
  assert.equal(
    found.map((m) => m.ruleId),
    ["tenure/require-member-disposal"],
  );
});

const resized = (fill: string, end: string): string =>
  `${make}export function start(d: GPUDevice) { let depth${fill};\n` +
  "function resize() { depth?.destroy(); depth = make(d); }\n" +
  `addEventListener("resize", resize); const size = () => depth?.size;\n${end} }`;
lasting(
  "a variable of closures that is ended only where another takes its place",
  resized(" = make(d)", "requestAnimationFrame(size);"),
  [R],
);
lasting(
  "a variable of closures that is ended in the end, too",
  resized(" = make(d)", "requestAnimationFrame(size); return () => { depth.destroy(); };"),
  [],
);
lasting(
  "a variable of closures that is emptied before it may be filled",
  `${make}export function start(d: GPUDevice, n: number) { let depth: GPUBuffer | null = null;\n` +
    "function resize() { depth?.destroy(); depth = null; if (n > 0) depth = make(d); }\n" +
    'addEventListener("resize", resize); requestAnimationFrame(() => depth?.size); }',
  [],
);

lasting(
  "a field whose value its method ends by another name",
  "export class Reader { mapped?: GPUBuffer; constructor(readonly d: GPUDevice) {}\n" +
    "async read() { const b = this.d.createBuffer({ size: 4 }); this.mapped = b;\n" +
    "await b.mapAsync(1); const n = b.getMappedRange().byteLength; b.destroy(); return n; }\n" +
    "isBusy() { return this.mapped !== undefined; } }",
  [],
);

// ---- what others may call again, where nobody in the program does ----

const depth = "if (this.depth) this.depth.destroy(); }";
const sized = (name: string, made = ""): string =>
  "export class Target { private depth: GPUTexture | null = null;\n" +
  `constructor(private d: GPUDevice) { ${made} }\n` +
  `${name}(size: number) { this.depth = this.d.createTexture({ size }); }\n` +
  `width() { return this.depth?.width; } destroy() { ${depth} }`;
lasting("a method that trains", sized("train"), [O]);
lasting("a method that starts an object", sized("init"), []);
lasting("a method that only others of the class call", sized("private train"), []);
lasting(
  "a public resize that the constructor calls",
  `${sized("resize", "this.resize(1);")}\nexport const made = (d: GPUDevice) => new Target(d);`,
  [O],
);
lasting("a private one", sized("private resize", "this.resize(1);"), []);

const filled = (method: string): string =>
  "export class Meshes { private all = new Map<string, GPUBuffer>();\n" +
  `constructor(private d: GPUDevice) {} ${method}\n` +
  "destroy() { for (const b of this.all.values()) b.destroy(); this.all.clear(); } }";
const put = "{ this.all.set(name, this.d.createBuffer({ size: 4 })); }";
lasting("a name that is given again", filled(`upload(name: string) ${put}`), [O]);
lasting(
  "a name that is asked for first",
  filled(`upload(name: string) { if (this.all.has(name)) return; ${put} }`),
  [],
);
lasting("names that are added", filled(`add(name: string) ${put}`), []);

test.run();
