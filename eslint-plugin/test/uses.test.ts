/**
 * Every way to look at a value, once with an end after it and once without: a value that is only
 * looked at is reported where nothing ends it, and nowhere else.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

const test = suite("uses");

const encoder = "const e = d.createCommandEncoder({});";
const writes = "d.queue.writeBuffer(b, 0, {});";
const reads = "const f = new Float32Array(b.getMappedRange()); console.log(f); b.unmap();";

/** What a function does with `b`. */
const looks: Record<string, string> = {
  nothing: "",
  "a field": "console.log(b.size);",
  "a log": "console.log(b);",
  "a template": "console.log(`${b.size} bytes`);",
  "a comparison": "if (b === other) console.log(1);",
  "a type": `console.log(typeof b, b instanceof Object, "size" in b);`,
  "a pattern": "const { size } = b; console.log(size);",
  "a call of the device": writes,
  "a bind group of the device": `${encoder} const p = e.beginRenderPass({});
    p.setBindGroup(0, d.createBindGroup({ b })); p.end();`,
  "a copy": `${encoder} e.copyBufferToBuffer(b, 0, other, 0, 4); d.queue.submit([e.finish()]);`,
  "a record": "const r = { b, n: 1 }; console.log(r.n, r.b.size);",
  "a record that is handed on": "readRecord({ b, n: 1 }); readInner({ inner: { b } });",
  "a list": "const xs = [b]; for (const x of xs) console.log(x.size);",
  "a list that is handed on": "readList([b]); readAll(...[b, b]);",
  "a weak table": "const w = new WeakMap<object, number>(); w.set(b, 1); console.log(w);",
  "a function": "look(b); lookArrow(b); looker.look(b);",
  "a function that waits": "await lookLater(b);",
  "a generator": "for (const x of walk(b)) console.log(x);",
  "a closure": "const f = (): number => b.size; console.log(f());",
  "a function called at once": "(() => { console.log(b.size); })();",
  "a callback": "each([1], () => { look(b); }); [1].forEach((i) => { console.log(b.size * i); });",
  "a list of numbers": "const ns = [1, 2].map((i) => b.size * i); console.log(ns);",
  "a wait": `await b.mapAsync(1); ${reads}`,
  "waits at once": `await Promise.all([b.mapAsync(1)]); ${reads}`,
  "a race": "await Promise.race([b.mapAsync(1), wait()]);",
  "a try": "try { await b.mapAsync(1); } catch (error) { console.error(error); }",
  "a finally": `try { ${writes} } finally { console.log(1); }`,
  "a switch": `switch (n) { case 1: ${writes} break; default: console.log(b.size); }`,
  loops: `for (let i = 0; i < n; i++) look(b); while (n-- > 0) ${writes}`,
  "a branch": `if (n > 1) look(b); else ${writes}`,
  "a choice of numbers": "console.log(n > 1 ? b.size : 0);",
  "another name": "const a = b; look(a);",
  "another name and back": "let a = b; a = b; console.log(a.size);",
  "ways to write it": `look(b as GPUBuffer); look(b!); b?.unmap(); console.log(b?.["size"]);`,
  "a label": `(b as { label?: string }).label = "x"; Object.assign(b, { label: "x" });`,
  "its keys": "console.log(Object.keys(b), JSON.stringify({ n: b.size }));",
  "a test": "expect(b.size).toBe(4); console.assert(b.size > 0);",
};
/** What looks at a value, but may as well hand it on: only an end is asked about. */
const unclear: Record<string, string> = {
  "a choice": "const a = n > 1 ? b : other; console.log(a.size);",
  "one or the other": "const a = maybe ?? b; console.log(a.size);",
  "a set": "const s = new Set([b]); console.log(s.size);",
  "a table": `const m = new Map([["k", b]]); console.log(m.get("k")!.size);`,
  "a bind group": "const g = d.createBindGroup({ b }); draw(g);",
  "an object that looks": "const l = new Looker(b); l.look();",
  "a bound function": "const f = look.bind(null, b); f(); look.call(null, b);",
  "a default": "((x = b) => { console.log(x.size); })();",
};

const head = `export {};
declare const other: GPUBuffer; declare const maybe: GPUBuffer | undefined;
declare function draw(g: GPUBindGroup): void; declare function wait(): Promise<void>;
declare function expect(x: unknown): { toBe(n: number): void };
function readRecord(r: { b: GPUBuffer; n: number }): void { console.log(r.b.size); }
function readInner(o: { inner: { b: GPUBuffer } }): void { console.log(o.inner.b.size); }
function readList(xs: GPUBuffer[]): void { for (const x of xs) console.log(x.size); }
function readAll(...xs: GPUBuffer[]): void { for (const x of xs) console.log(x.size); }
function look(b: GPUBuffer): void { console.log(b.size); }
const lookArrow = (b: GPUBuffer): number => b.size;
const looker = { look(b: GPUBuffer): number { return b.size; } };
async function lookLater(b: GPUBuffer): Promise<number> { await b.mapAsync(1); return b.size; }
function* walk(b: GPUBuffer): Generator<number> { yield b.size; }
function each(xs: number[], f: () => void): void { for (const _ of xs) f(); }
class Looker { constructor(readonly b: GPUBuffer) {} look(): number { return this.b.size; } }
function make(d: GPUDevice): GPUBuffer { return d.createBuffer({ size: 4 }); }
async function makeLater(d: GPUDevice): Promise<GPUBuffer> {
  const b = make(d); await wait(); return b; }
`;
const makers = ["let b = d.createBuffer({ size: n });", "const b = await makeLater(d);"];

const found = (made: string, body: string): string[] =>
  lines(
    lint(
      `${head}export async function run(d: GPUDevice, n: number): Promise<void> {\n` +
        `${made} ${body} }\n${gpuTypes}`,
      { settings: { presets: ["webgpu"] }, rules: plugin.configs.recommended.rules },
    ),
  );

for (const [name, body] of Object.entries({ ...looks, ...unclear }))
  test(`${name}, and an end`, () => {
    for (const made of makers) assert.equal(found(made, `${body} b.destroy();`), [], made);
  });
for (const [name, body] of Object.entries(looks))
  test(`${name}, and no end`, () => {
    for (const made of makers) assert.is(found(made, body).length, 1, made);
  });

test.run();
