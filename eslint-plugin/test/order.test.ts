/**
 * Reports must not depend on the order in which files are linted or rules ask: a small program of
 * functions that call each other across files is linted in many shuffled orders, each with a fresh
 * program and a fresh plugin state. Also tests loops that take long to settle.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import ts from "typescript";
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, everyRule, lines, lint } from "./tester.ts";

const test = suite("order");

const stub = `export declare class Tensor implements Disposable {
  readonly size: number; readonly isDisposed: boolean;
  neg(): Tensor; add(x: Tensor): Tensor; alias(): Tensor;
  moveToOuter(): this; detachFromScope(): this;
  dispose(): void; [Symbol.dispose](): void;
}
export declare function zeros(n: number): Tensor;
export declare function scoped<T>(fn: () => T): T;
`;

/** Functions of three files that call each other in circles. */
const files: Record<string, string> = {
  "a.ts": `import { Tensor, zeros } from "tenure";
import { odd, give, drop } from "./b.ts";
export function even(t: Tensor, n: number): Tensor { return n === 0 ? t.neg() : odd(t, n - 1); }
export function take(t: Tensor, n: number): void { if (n === 0) t.dispose(); else give(t, n - 1); }
export function user(x: Tensor): number { const r = even(x, 4); return r.size; }
export function user2(): number {
  const z = zeros(2); take(z, 3); const y = zeros(3); look(y, 2); return y.size;
}
export function look(t: Tensor, n: number): number { return n === 0 ? t.size : drop(t, n - 1); }
export function deep(x: Tensor): number { return odd(even(x, 1), 2).size; }
`,
  "b.ts": `import { Tensor, scoped, zeros } from "tenure";
import { even, take, look } from "./a.ts";
import { helper, hold } from "./c.ts";
export function odd(t: Tensor, n: number): Tensor { return n === 0 ? t.alias() : even(t, n - 1); }
export function give(t: Tensor, n: number): void { if (n === 0) hold(t); else take(t, n - 1); }
export function drop(t: Tensor, n: number): number {
  return n === 0 ? 0 : look(t, n - 1) + helper(t);
}
export function same(t: Tensor, n: number): Tensor { return n === 0 ? t : same(t, n - 1); }
export function inner(x: Tensor): number { return scoped(() => ping(x, 2)); }
function ping(x: Tensor, n: number): number { return n === 0 ? x.neg().size : pong(x, n - 1); }
export function pong(x: Tensor, n: number): number { return ping(x.neg(), n - 1); }
export function keepsOne(): number { const z = same(zeros(1), 2); return z.size; }
`,
  "c.ts": `import { Tensor, zeros } from "tenure";
import { drop, same } from "./b.ts";
const held: Tensor[] = [];
export function hold(t: Tensor): void { held.push(t); }
export function helper(t: Tensor): number { return t.size > 3 ? drop(t, 1) : 0; }
export interface Left { right: Right | null; t: Tensor }
export interface Right { left: Left | null; u: Tensor }
export function pair(): Left { return { right: null, t: zeros(1) }; }
export function makesPair(): number { const p = pair(); return p.t.size; }
export class A {
  b: B | null = null; t = zeros(1);
  dispose(): void { this.t.dispose(); this.b?.dispose(); }
}
export class B { a: A | null = null; dispose(): void { this.a?.dispose(); } }
export function holders(): number {
  const b = new B(); const a = new A(); return b.a === a ? 1 : 0;
}
export function once(x: Tensor): number { const r = same(x.neg(), 1); return r.size; }
`,
};

/** Numbers that look random and are the same at every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

test("reports are the same in every order of files and rules", () => {
  const dir = mkdtempSync(join(tmpdir(), "tenure-order-"));
  try {
    mkdirSync(join(dir, "node_modules/tenure"), { recursive: true });
    writeFileSync(
      join(dir, "node_modules/tenure/package.json"),
      '{"name":"tenure","types":"i.d.ts"}',
    );
    writeFileSync(join(dir, "node_modules/tenure/i.d.ts"), stub);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    const host = cachedHost();
    const lintAll = (names: readonly string[], rules: readonly string[]): string[] => {
      const program = ts.createProgram(
        names.map((n) => join(dir, n)),
        { ...compilerOptions },
        host,
      );
      assert.equal(
        ts
          .getPreEmitDiagnostics(program)
          .map((d) => ts.flattenDiagnosticMessageText(d.messageText, " ")),
        [],
      );
      const linter = new Linter({ cwd: dir });
      const found = names.flatMap((name) =>
        linter
          .verify(
            files[name]!,
            [
              {
                files: ["**/*.ts"],
                languageOptions: { parser, parserOptions: { programs: [program] } },
                plugins: { tenure: plugin },
                rules: Object.fromEntries(rules.map((r) => [r, "error"])),
              },
            ] as never,
            { filename: join(dir, name) },
          )
          .map(
            (m) =>
              `${name}:${String(m.line)}:${String(m.column)} ${m.ruleId ?? "fatal"}: ${m.message}`,
          ),
      );
      return found.sort();
    };
    const names = Object.keys(files);
    const rules = Object.keys(everyRule);
    const expected = lintAll(names, rules);
    for (const wanted of ["a.ts:5:", "a.ts:10:", "c.ts:16:", "c.ts:9:"])
      assert.ok(
        expected.some((line) => line.startsWith(wanted)),
        `${wanted} is reported\n${expected.join("\n")}`,
      );
    const random = randomFrom(20);
    for (let round = 0; round < 6; round++) {
      const order = shuffled(names, random);
      const asked = shuffled(rules, random);
      assert.equal(lintAll(order, asked), expected, `${order.join()} ${asked.join()}`);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

const compilerOptions: ts.CompilerOptions = {
  strict: true,
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts"],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  allowImportingTsExtensions: true,
  types: [],
};

/** A compiler host that reads the standard library once; a program's own files are always new. */
function cachedHost(): ts.CompilerHost {
  const host = ts.createCompilerHost(compilerOptions, true);
  const read = host.getSourceFile.bind(host);
  const libraries = new Map<string, ts.SourceFile | undefined>();
  host.getSourceFile = (name, options) => {
    if (!/[\\/]lib\.[\w.]*d\.ts$/.test(name)) return read(name, options);
    if (!libraries.has(name)) libraries.set(name, read(name, options));
    return libraries.get(name);
  };
  return host;
}

test("a loop that hands a tensor on through twenty names settles", () => {
  const names = Array.from({ length: 20 }, (_, i) => `t${String(i)}`);
  const shift = names.slice(1).map((name, i) => `${names[i] ?? ""} = ${name};`);
  const code = `import { zeros, type Tensor } from "tenure";
export function f(n: number): number {
  ${names.map((name) => `let ${name}: Tensor | null = null;`).join(" ")}
  for (let i = 0; i < n; i++) { ${shift.join(" ")} t19 = zeros([1]); }
  return n;
}
`;
  const found = lines(lint(code, { rules: { "tenure/require-disposal": "error" } }));
  assert.ok(
    found.some((line) => line.includes("t19") || line.includes("t0")),
    found.join("\n"),
  );
});

test.run();
