/**
 * Strange and huge code: no rule crashes on it, under any preset, and none takes forever.
 */
import { suite } from "uvu";
import { assert, lines, lint } from "./tester.ts";

const test = suite("strange code");

const strange: [name: string, code: string][] = [
  ["an empty file", ""],
  ["only a comment", "// nothing\n"],
  ["unresolved imports", `import { a } from "nowhere"; export const b = a.add(1).sum();`],
  [
    "any everywhere",
    `export function f(x: any) { const t = x.add(1); t.dispose(); t.use(); return x; }`,
  ],
  [
    "type errors",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { const t: ` +
      `number = a.add("x").nothing(); return t.dispose(); }`,
  ],
  [
    "a function that calls itself",
    `import type { Tensor } from "tenure"; export function f(a: Tensor): Tensor { return ` +
      "f(f(a)); }",
  ],
  [
    "two functions that call each other",
    `import type { Tensor } from "tenure"; export function f(a: Tensor, n: number): ` +
      "Tensor { return n > 0 ? g(a, n - 1) : a.neg(); } export function g(a: Tensor, n: " +
      "number): Tensor { return f(a, n); }",
  ],
  [
    "a variable defined by itself",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { let x = ` +
      "a.neg(); x = x; x = ((x)); return x; }",
  ],
  [
    "two variables defined by each other",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { let x = ` +
      "a.neg(); let y = x; for (;;) { x = y; y = x; if (y.size) break; } return x; }",
  ],
  [
    "names taken out of each other",
    `import { zeros } from "tenure"; const { p } = q, { q } = p; p.run(q); let i = i2.a, ` +
      "i2 = i.b; await i(zeros([1]));",
  ],
  ["a class that extends itself", `class A extends A { dispose() {} } export { A };`],
  [
    "a class that extends an unknown",
    `declare const X: any; export class A extends X { w = 1; dispose() {} }`,
  ],
  [
    "classes whose bases form a ring",
    `class A extends B {} class B extends A {} export const a = new A();`,
  ],
  [
    "a type that contains itself",
    `interface N { next: N; value: import("tenure").Tensor } export function f(n: N) { ` +
      "return n.next.next.value; }",
  ],
  [
    "a recursive callback",
    `import type { Tensor } from "tenure"; export const y = (f: (g: unknown) => Tensor) ` +
      "=> f((x: any) => y(x)(x));",
  ],
  [
    "a getter that reads itself",
    `export class A { get t(): import("tenure").Tensor { return this.t; } }`,
  ],
  [
    "every exit at once",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { l: for (;;) { ` +
      "try { const t = a.neg(); if (t.size) continue l; else break l; } catch { return 1; " +
      "} finally { if (a.size) return 2; } } return 3; }",
  ],
  [
    "labels and nested finally",
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { a1: { try { ` +
      "try { const t = a.neg(); t.dispose(); break a1; } finally { console.log(1); } } " +
      "finally { console.log(2); } } }",
  ],
  [
    "destructuring in all forms",
    `import { zeros, type Tensor } from "tenure"; export function f({ a, b: [c, { d = ` +
      "zeros([1]) } = {}] = [] as never, ...r }: any) { let x: Tensor, y: Tensor; [x, y] = " +
      "[zeros([1]), zeros([2])]; ({ x, y } = { x, y }); return [x, y, a, c, d, r]; }",
  ],
  [
    "decorators, enums and namespaces",
    "declare const d: any; enum E { A } namespace N { export const t = 1; } @d class C { " +
      "@d m(@d p: number) { return p + E.A + N.t; } } export { C };",
  ],
  [
    "satisfies, as const and non-null",
    `import { zeros } from "tenure"; export const o = { a: zeros([1]) as unknown as ` +
      "never } satisfies object; export const n = o!.a!;",
  ],
  [
    "generators and async generators",
    `import type { Tensor } from "tenure"; export async function* g(a: Tensor) { yield* ` +
      "h(a); for await (const x of g(a)) yield x; } function* h(a: Tensor) { const t = " +
      "yield a.neg(); return t; }",
  ],
  [
    "class static blocks and private names",
    `import { zeros } from "tenure"; export class A { static #t = zeros([1]); static { ` +
      "A.#t.add(1).sum(); } #m() { return A.#t; } n() { return this.#m(); } }",
  ],
  [
    "optional calls of all kinds",
    `import type { Tensor } from "tenure"; export function f(a?: { b?: () => Tensor | ` +
      `null }) { return a?.b?.()?.add(1)?.sum()?.["size"]; }`,
  ],
  ["tagged templates and regexes", "declare const t: any; export const x = t`a${1}b`.exec(/a/u);"],
  [
    "new without parentheses",
    "declare class A { add(x: number): A } export const x = new A; export const y = new " +
      "A().add(1);",
  ],
  [
    "a computed Symbol.dispose",
    "export class A { [Symbol.dispose]() {} } export function f() { const a = new A(); " +
      "a[Symbol.dispose](); return a; }",
  ],
  [
    "statements of a function at the top of a file",
    `import { zeros, type Tensor } from "tenure"; const xs: Tensor[] = [zeros([1])]; ` +
      "xs.length = 1; xs.length = 0; if (xs.length > 2) xs.length = 2; xs.pop(); xs.shift(); " +
      "xs.splice(0, 1); let i = 0; xs[i++] = zeros([1]); for (const x of xs) x.dispose(); " +
      "export let t = zeros([1]); t = t.neg(); t; (t); await t; if (t) t.dispose(); else ; " +
      "export default t; label: t = zeros([2]);",
  ],
  [
    "tables at the top of a script",
    "declare const device: GPUDevice; declare const n: number; const all = new Map<number, " +
      "GPUBuffer>(); const make = () => device.createBuffer({ size: 4, usage: 1 }); " +
      "all.set(1, make()); all.delete(1); all.clear(); const o: any = {}; o[n] = make(); " +
      "delete o[n]; let b = all.get(n); if (!b) all.set(n, (b = make())); var c = make(); " +
      "c = make(); c.destroy(); [c, o.x] = [make(), c]; ({ c } = { c: make() });",
  ],
];
for (const [name, code] of strange) {
  test(`no crash on ${name}`, () => {
    const found = lint(code);
    assert.not(
      found.some((m) => m.fatal && !/Parsing/.test(m.message)),
      lines(found).join("\n"),
    );
    for (const presets of [
      ["tfjs"],
      ["disposable"],
      ["webgpu"],
      ["tenure", "tfjs", "disposable", "webgpu"],
    ])
      lint(code, { settings: { presets } });
  });
}

const repeat = (n: number, piece: (i: number) => string): string =>
  Array.from({ length: n }, (_, i) => piece(i)).join("");
const timed = (code: string, limit: number): void => {
  const started = performance.now();
  lint(code);
  assert.ok(
    performance.now() - started < limit,
    `took ${String(Math.round(performance.now() - started))} ms`,
  );
};
test("a chain of 300 calls", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor) { return ` +
      `a${repeat(300, () => ".neg()")}; }`,
    15_000,
  );
});
test("200 branches in a row", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor, n: number) { let ` +
      "t = a.neg();\n" +
      repeat(
        200,
        (i) =>
          `if (n > ${String(i)}) { const p = t; ` + `t = t.add(${String(i)}); p.dispose(); }\n`,
      ) +
      " return t; }",
    15_000,
  );
});
test("60 nested blocks", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor, n: number) { ` +
      repeat(60, (i) => `if (n > ${String(i)}) { const t${String(i)} = a.neg(); `) +
      repeat(60, (i) => `t${String(59 - i)}.dispose(); } `) +
      " }",
    15_000,
  );
});
test("400 functions that call each other", () => {
  timed(
    `import type { Tensor } from "tenure";\n` +
      repeat(400, (i) => {
        const next = `f${String((i + 1) % 400)}`;
        return `function f${String(i)}(a: Tensor): Tensor { return ${next}(a.neg()); }\n`;
      }) +
      "export { f0 };",
    15_000,
  );
});
test("a minified bundle is left out, and so is a file nobody wrote", () => {
  const head = 'import type { Tensor } from "tenure";\n';
  const leak = (i: number): string =>
    `export function f${String(i)}(a: Tensor) { return a.neg().exp().size; }`;
  assert.is(lint(head + repeat(3, (i) => `${leak(i)}\n`)).length, 3);
  assert.equal(lint(head + repeat(400, leak)), []);
  assert.equal(lint(`${head}${leak(0)}\n${"// long\n".repeat(130_000)}`), []);
});
test("a function of 500 variables", () => {
  timed(
    `import type { Tensor } from "tenure"; export function f(a: Tensor) {\n` +
      `${repeat(500, (i) => `const t${String(i)} = a.add(${String(i)});\n`)}}`,
    20_000,
  );
});

test.run();
