/**
 * The preset for WebGPU objects in plain JavaScript, where nothing says what a device is: each case
 * says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";

const test = suite("webgpu, plain JavaScript");
const R = "require-disposal";
const O = "no-overwritten-tensor";
const M = "require-member-disposal";

function script(name: string, code: string, expected: string[]): void {
  test(name, () => {
    const settings = { presets: ["webgpu"] };
    const rules = plugin.configs.recommended.rules;
    const found = lint(code, { settings, rules, file: `${projectDir}script.js` });
    const reported = found.map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
    assert.equal(reported, expected, lines(found).join("\n"));
  });
}

const local = (make: string): string =>
  `export function f(d, data) { const b = ${make}; d.queue.writeBuffer(b, 0, data); }`;
script("a buffer told by its usage", local("d.createBuffer({ size: 4, usage: 8 })"), [R]);
script("a buffer of another library", local("d.createBuffer({ data, kind: 3 })"), []);
script("a buffer of WebGL", local("d.createBuffer()"), []);
script("a buffer of sound", local("d.createBuffer(2, 22050, 44100)"), []);
script(
  "a description with a name",
  "export function f(d) { const described = { size: 4, usage: 8 }; const b = " +
    "d.createBuffer(described); return b.size; }",
  [R],
);
script(
  "a description that a device is given",
  "export function f(device, spec) { const b = device.createBuffer(spec.buffer); return b.size; }",
  [R],
);
script(
  "a description that another is given",
  "export function f(gl, spec) { const b = gl.createBuffer(spec.buffer); return b.size; }",
  [],
);
script(
  "a description that another device is given",
  "export function f(audioDevice, o) { const b = audioDevice.createBuffer(o.rate); b.play(); }",
  [],
);
script("what a device is given as data", local("device.createBuffer([1, 2, 3])"), []);

const given = (store: string): string =>
  "export class Water { constructor(d) { this.d = d; this.b = d.createBuffer({ size: 4, usage: 8 " +
  `}); } use(buffer) { ${store} } destroy() { this.d = null; } }`;
script("a field that is given somebody else's buffer", given("this.b = buffer;"), []);
script("a field that the end leaves out", given("buffer.size;"), [M]);

const ready = (test: string): string =>
  `let ready = false; let b; function init(d) { ${test} b = d.createBuffer({ size: 4, usage: 8 ` +
  "}); ready = true; }\nexport function write(d, data) { init(d); " +
  "d.queue.writeBuffer(b, 0, data); }" +
  '\naddEventListener("click", () => { write(globalThis.d, []); });';
script("a variable that is filled once", ready("if (ready) return;"), []);
script("a variable that is filled each time", ready(""), [O]);

const loaded = (more: string): string =>
  "export class Mesh { constructor(d) { this.d = d; this.load().then((n) => { this.b = " +
  "d.createBuffer({ size: n, usage: 8 }); }); } async load() { return 4; } " +
  `${more} destroy() { this.b?.destroy(); } }`;
script("a field that the constructor fills when all is loaded", loaded(""), []);
script(
  "and that each resize fills again",
  loaded("onResize(n) { this.b = this.d.createBuffer({ size: n, usage: 8 }); }"),
  [O],
);

const shown = (guard: string): string =>
  `export class View { constructor(d) { this.d = d; this.depth = null; } resize(n) { ${guard} ` +
  "this.depth = this.d.createTexture({ size: [n], usage: 16 }).createView(); } }";
script("a view of a texture that nothing else leads to", shown(""), ["no-leaked-temporary"]);
script("one that is made once", shown("if (this.depth) return;"), []);
const tracks = (list: string): string =>
  "function track(d) { return { vertices: d.createBuffer({ size: 4, usage: 32 }) }; }\nexport " +
  "function start(d) { const all = [{ track: track(d), x: 1 }, { track: track(d), x: 2 }];\n" +
  `for (const one of ${list}) { one.uniforms = d.createBuffer({ size: 4, usage: 8 }); }\n` +
  "return () => all.map((one) => one.x); }";
script("what the objects of a list are given is theirs", tracks("all"), []);

const table = (end: string): string =>
  "export class Pool { constructor(d) { this.d = d; this.all = new Map(); } add(k) { if " +
  "(!this.all.has(k)) this.all.set(k, this.d.createBuffer({ size: 4, usage: 8 })); } " +
  `destroy() { ${end} this.all.clear(); } }`;
script("a table that is emptied", table(""), ["no-dropped-element"]);
script("after its values end", table("for (const b of this.all.values()) b.destroy();"), []);
script("after its entries end", table("for (const [, b] of this.all) b.destroy();"), []);
script(
  "after the values of its entries end",
  table("for (const [k, b] of this.all.entries()) { b.destroy(); }"),
  [],
);

const cached = (keep: string): string =>
  "export class Block { constructor(d) { this.d = d; this.bound = new Map(); } buffer(size, key) " +
  "{ const b = this.d.createBuffer({ size, usage: 4 }); if (!this.bound.has(key)) " +
  `this.bound.set(key, []); ${keep} return b; } write(data) { const b = this.buffer(4, "all"); ` +
  "this.d.queue.writeBuffer(b, 0, data); } }";
script(
  "a helper that keeps what it makes in a list of a table",
  cached("this.bound.get(key).push(b);"),
  [],
);
script("one that only asks such a list", cached("this.bound.get(key).indexOf(b);"), [R]);
const parts = (resize: string): string =>
  "export class Screen { constructor(d) { this.d = d; this.parts = {}; } resize(w) { " +
  `${resize} } draw(pass) { pass.setVertexBuffer(0, this.parts.a); } }`;
const part = "this.parts.a = this.d.createBuffer({ size: w, usage: 8 });";
script("a part of a field that is made anew", parts(part), [O]);
script("a part of a field that is freed first", parts(`this.parts.a?.destroy(); ${part}`), []);
script(
  "parts that are freed first",
  parts(`for (const k in this.parts) this.parts[k].destroy(); ${part}`),
  [],
);
script("a part that is put away first", parts(`this.old.push(this.parts.a); ${part}`), []);
const ended = (end: string): string =>
  "export class Pass { constructor(d) { this.io = { a: null, b: null };\nthis.io.a = " +
  "d.createBuffer({ size: 4, usage: 8 });\nthis.io.b = d.createBuffer({ size: 4, usage: 8 }); } " +
  `destroy() { ${end} } }`;
script("a part of a field that the end leaves out", ended("this.io.a.destroy();"), [M]);
script("parts that the end frees", ended("this.io.a.destroy(); this.io.b.destroy();"), []);

const grown = (first: string): string =>
  "export class Grown { buffer = null; constructor(d) { this.d = d; }\nwrite(data) {\n" +
  `if (!this.buffer || this.buffer.size < data.length) { ${first}\n` +
  "this.buffer = this.d.createBuffer({ size: data.length, usage: 8 }); }\n" +
  "this.d.queue.writeBuffer(this.buffer, 0, data); } end() { this.buffer.destroy(); } }";
script("a field that starts empty, asked before it is made anew", grown(""), [O]);
script("such a field that is freed first", grown("this.buffer?.destroy();"), []);

const bodies = (test: string, more = ""): string =>
  "class Body { constructor(d) { this.b = d.createBuffer({ size: 4, usage: 8 }); " +
  `this.alive = true; } destroy() { this.b.destroy(); } ${more} }\n` +
  "export class Sim { constructor(d) { this.d = d; this.bodies = []; }\n" +
  "spawn() { this.bodies.push(new Body(this.d)); }\n" +
  `tick() { this.bodies = this.bodies.filter(${test}); }\n` +
  "destroy() { for (const b of this.bodies) b.destroy(); } }";
script("objects that a test leaves out", bodies("(b) => b.alive"), [O]);
script("objects that are left out since they are ended", bodies("(b) => !b.destroyed"), []);
const hit = "hit() { this.alive = false; }";
const kill = "kill() { this.alive = false; this.b.destroy(); }";
script("a sign that nobody sets as he ends", bodies("(b) => b.alive", hit), [O]);
script("a sign that the end sets", bodies("(b) => b.alive", kill), []);
const turn =
  "turn(d) { this.alive = !!d; this.b.destroy(); this.b = d.createBuffer({ size: 4, usage: 8 }); }";
script("a sign that is set where another is made", bodies("(b) => b.alive", turn), [O]);
script("such a sign, in a pattern", bodies("({ alive }) => alive", kill), []);
script("objects that a test ends", bodies("(b) => b.alive || b.destroy()"), []);

test.run();
