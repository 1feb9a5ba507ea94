/**
 * What a program makes once and keeps to its end: `recommended` is silent about it, and `strict`,
 * by the setting `untilExit`, asks for an end. Each case says which rules of `recommended` must
 * report with that setting, in order of lines; none reports without it unless the case says so.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("what lasts until exit");
const R = "require-disposal";
const M = "require-member-disposal";
const allowed = casesOf(test);
const reported = casesOf(test, { untilExit: "reported" });

/** A case that only the setting makes a report. */
function lasting(name: string, code: string, expected: string[]): void {
  allowed(`${name}, allowed`, code, []);
  reported(name, code, expected);
}

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
    "export class Renderer { a?: Target; make(d: GPUDevice) { this.drop(); this.a = new Target(d);" +
    " }\nprivate drop() { this.a?.destroy(); } }",
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

test.run();
