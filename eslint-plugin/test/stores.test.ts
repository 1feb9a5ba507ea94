/**
 * Every way to put a value somewhere, crossed with every form to put it in, where something ends
 * it there: no rule reports any of them. Rows are programs, columns what the value is wrapped in.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

const test = suite("stores");

/** What a value is wrapped in: the form, its type, and how the value is reached in it. */
interface Form {
  put: string;
  type: string;
  /** `$` is the place. */
  reach: string;
  /** How it is ended, where it is not `destroy()` of the value. */
  end?: string;
}
const forms: Record<string, Form> = {
  bare: { put: "b", type: "GPUBuffer", reach: "$" },
  record: { put: "{ b }", type: "{ b: GPUBuffer }", reach: "$.b" },
  "record with more": { put: "{ b: b, n: 1 }", type: "{ b: GPUBuffer; n: number }", reach: "$.b" },
  nested: { put: "{ o: { b } }", type: "{ o: { b: GPUBuffer } }", reach: "$.o.b" },
  list: { put: "[b]", type: "GPUBuffer[]", reach: "$[0]!" },
  "list of records": { put: "[{ b }]", type: "{ b: GPUBuffer }[]", reach: "$[0]!.b" },
  tuple: { put: "[b, 1]", type: "[GPUBuffer, number]", reach: "$[0]" },
  map: { put: `new Map([["k", b]])`, type: "Map<string, GPUBuffer>", reach: `$.get("k")!` },
  choice: { put: "n > 2 ? b : other", type: "GPUBuffer", reach: "$" },
  spread: { put: "{ ...base, b }", type: "{ b: GPUBuffer; k: number }", reach: "$.b" },
  frozen: { put: "Object.freeze({ b })", type: "{ readonly b: GPUBuffer }", reach: "$.b" },
  thunk: { put: "() => b", type: "(() => GPUBuffer)", reach: "$()" },
  keeper: { put: "new Holder(b)", type: "Holder", reach: "$.b" },
  owner: { put: "new Owner(b)", type: "Owner", reach: "$" },
  promise: { put: "Promise.resolve(b)", type: "Promise<GPUBuffer>", reach: "(await $)" },
  cast: { put: "(b) as GPUBuffer", type: "GPUBuffer", reach: "$" },
  closures: {
    put: "{ end() { b.destroy(); } }",
    type: "{ end(): void }",
    reach: "$",
    end: "end",
  },
};

const opens = (body: string): string =>
  "export async function open(d: GPUDevice, n: number): Promise<void> {\n" +
  `const b = d.createBuffer({ size: n });\n${body} }\n`;
const closes = (body: string): string =>
  `export async function close(): Promise<void> {\n${body} }\n`;
/** A place that one function fills and another empties. */
const held = (declared: string, place: string, empty = "null"): string =>
  declared +
  opens(`await close(); ${place} = PUT;`) +
  closes(`if (${place}) { END(${place}) ${place} = ${empty}; }`);
/** A collection that one function fills and another empties. */
const listed = (declared: string, put: string, walked: string, emptied: string): string =>
  declared + opens(put) + closes(`for (const x of ${walked}) END(x) ${emptied}`);
/** A class that fills a field and ends what it holds. */
const classed = (fields: string, fill: string, field: string, more = ""): string =>
  `export class Part { ${fields}\n` +
  "async open(d: GPUDevice, n: number): Promise<void> { await this.destroy();\n" +
  `const b = d.createBuffer({ size: n }); ${fill} }\n${more}` +
  `async destroy(): Promise<void> { if (${field}) END(${field}) ${field} = null; } }\n`;

/** Programs: PUT is the form, TYPE its type, END(x) ends what `x` has. */
const programs: Record<string, string> = {
  "a variable": held("let s: TYPE | null = null;\n", "s"),
  "an optional variable": held("let s: TYPE | undefined;\n", "s", "undefined"),
  "an exported variable": held("export let s: TYPE | null = null;\n", "s"),
  "an object of the module": held("const st: { s: TYPE | null } = { s: null };\n", "st.s"),
  "a ref": held("const ref: { current: TYPE | null } = { current: null };\n", "ref.current"),
  "a variable, once": held("let s: TYPE | null = null;\n", "s").replace(" = PUT", " ??= PUT"),
  "a variable by way of a name": held("let s: TYPE | null = null;\n", "s").replace(
    "s = PUT;",
    "const r: TYPE = PUT; s = r;",
  ),
  "a variable of a pattern": held("let s: TYPE | null = null;\n", "s").replace(
    "s = PUT",
    "[s] = [PUT]",
  ),
  "an assigned object": held("const st: { s: TYPE | null } = { s: null };\n", "st.s").replace(
    "st.s = PUT",
    "Object.assign(st, { s: PUT })",
  ),
  "a list": listed("const xs: (TYPE)[] = [];\n", "xs.push(PUT);", "xs", "xs.length = 0;"),
  "a list that grows": listed("let xs: (TYPE)[] = [];\n", "xs = [...xs, PUT];", "xs", "xs = [];"),
  "a list that joins": listed("let xs: (TYPE)[] = [];\n", "xs = xs.concat(PUT);", "xs", "xs = [];"),
  "a set": listed("const xs = new Set<TYPE>();\n", "xs.add(PUT);", "xs", "xs.clear();"),
  "a global": opens("(globalThis as any).s = PUT;") + closes("END((globalThis as any).s)"),
  "a field": classed("s: TYPE | null = null;", "this.s = PUT;", "this.s"),
  "a private field": classed("#s: TYPE | null = null;", "this.#s = PUT;", "this.#s"),
  "a static field":
    "class All { static s: TYPE | null = null; }\n" +
    opens("await close(); All.s = PUT;") +
    closes("if (All.s) { END(All.s) All.s = null; }"),
  "a closure":
    "export function make(): { open(d: GPUDevice, n: number): Promise<void>; " +
    "destroy(): Promise<void> } {\nlet s: TYPE | null = null;\n" +
    "const destroy = async (): Promise<void> => { if (s) END(s) s = null; };\n" +
    "return { async open(d, n) { await destroy(); const b = d.createBuffer({ size: n });\n" +
    "s = PUT; }, destroy }; }",
  "an object of the caller":
    "interface Caller { s: TYPE | null }\n" +
    "export async function open(d: GPUDevice, n: number, c: Caller): Promise<void> {\n" +
    "const b = d.createBuffer({ size: n }); c.s = PUT; }\n" +
    "export async function close(c: Caller): Promise<void> { if (c.s) END(c.s) c.s = null; }",
  "a callback":
    "export async function open(d: GPUDevice, n: number, done: (s: TYPE) => void): " +
    "Promise<void> { const b = d.createBuffer({ size: n }); done(PUT); }",
  "a generator":
    "export function* open(d: GPUDevice, n: number): Generator<TYPE> { " +
    "const b = d.createBuffer({ size: n }); yield PUT; }",
  "a promise":
    "export function open(d: GPUDevice, n: number): Promise<TYPE> {\n" +
    "return new Promise<TYPE>((resolve) => { const b = d.createBuffer({ size: n });\n" +
    "resolve(PUT as never); }); }",
  "a name": opens("const r: TYPE = PUT; END(r)"),
  "a name, whatever happens": opens(
    "const r: TYPE = PUT; try { console.log(r); } finally { END(r) }",
  ),
  "an event": opens(`const r: TYPE = PUT; addEventListener("close", async () => { END(r) });`),
  "an inner function": opens(
    "const r: TYPE = PUT; const end = async (): Promise<void> => { END(r) }; await end();",
  ),
  "a class by its constructor":
    "class Keeper { constructor(private s: TYPE) {}\n" +
    "async destroy(): Promise<void> { END(this.s) } }\n" +
    "export async function open(d: GPUDevice, n: number): Promise<Keeper> {\n" +
    "const b = d.createBuffer({ size: n }); return new Keeper(PUT); }",
  "a class by its options":
    "class Keeper { s: TYPE; constructor(o: { s: TYPE }) { this.s = o.s; }\n" +
    "async destroy(): Promise<void> { END(this.s) } }\n" +
    "export async function open(d: GPUDevice, n: number): Promise<Keeper> {\n" +
    "const b = d.createBuffer({ size: n }); return new Keeper({ s: PUT }); }",
};

const head =
  "export {}; const base = { k: 1 }; declare const other: GPUBuffer;\n" +
  "class Holder { constructor(readonly b: GPUBuffer) {} }\n" +
  "class Owner { #b: GPUBuffer; constructor(b: GPUBuffer) { this.#b = b; }\n" +
  "destroy(): void { this.#b.destroy(); } }\n";

function written(program: string, { put, type, reach, end = "destroy" }: Form): string {
  const text = program
    .replaceAll("PUT", put)
    .replaceAll("TYPE", type)
    .replaceAll(/END\(((?:[^()]|\([^()]*\))*)\)/g, (_, place: string) => {
      return `${reach.replace("$", place)}.${end}();`;
    });
  assert.not.match(text, /END|PUT|TYPE/);
  return head + text + gpuTypes;
}

for (const [name, program] of Object.entries(programs))
  test(`${name} that something ends`, () => {
    const told = Object.entries(forms).flatMap(([form, it]) =>
      lines(
        lint(written(program, it), {
          settings: { presets: ["webgpu"] },
          rules: plugin.configs.recommended.rules,
        }),
      ).map((line) => `${form}: ${line}`),
    );
    assert.equal(told, []);
  });

test.run();
