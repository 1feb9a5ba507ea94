/**
 * What expressions own, as far as `called.ts` and `parts.ts` tell without the checker's inference,
 * must be what the type that TypeScript infers for them says.
 */
import ts from "typescript";
import { suite } from "uvu";
import { Checker } from "../src/analysis/program/checker.ts";
import { Facts } from "../src/analysis/program/facts.ts";
import { Oracle, type Owned } from "../src/analysis/program/oracle.ts";
import { Ownership } from "../src/analysis/program/ownership.ts";
import { Packages } from "../src/analysis/program/packages.ts";
import { unwrap } from "../src/analysis/program/syntax.ts";
import { resolveSettings } from "../src/settings.ts";
import { assert } from "./tester.ts";

const test = suite("what calls give");

const head = `class Tensor {
  id = 1; part: Tensor | null = null; size: number | string = 0;
  dispose(): void {}
  neg(): Tensor { return new Tensor(); }
  perhaps(): Tensor | null { return null; }
  parts(): Tensor[] { return []; }
  data<D extends keyof Table = "low">(): Promise<Table[D]> { return null!; }
  dataSync<D extends keyof Table = "low">(): Table[D] { return null!; }
  held<D extends keyof Held>(key: D): Held[D] { return null!; }
  kept<T extends Tensor>(): Kept<T>[keyof Kept<T>] { return null!; }
  anything(): any { return 1; }
}
interface Table { low: Float32Array; high: Int32Array; text: string[] }
interface Held { one: Tensor; other: Tensor }
interface Kept<T> { all: T }
class Own {
  map<T>(use: (x: Own) => T): T { return use(this); }
  all(x: Tensor[]): Tensor { return x[0]; }
}
declare const a: Tensor, b: Tensor, list: Tensor[], fixed: readonly Tensor[], maybe: Tensor | null;
declare const own: Own, names: string[], table: Map<string, Tensor>, typed: Float32Array;
declare const later: Promise<Tensor>[], pair: [Tensor, number], loose: any[], rest: { n: number };
declare function tidy<T>(fn: () => T): T;
declare function named<T>(name: string | (() => T), fn?: () => T): T;
`;

/** What the oracle says of each `it` in some functions, and what their types say. */
function ownedOf(codes: readonly string[]): { told: Owned | null; typed: Owned | null }[] {
  const options = { target: ts.ScriptTarget.ES2022, strict: true, types: [] };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  const functions = codes.map((code, i) => `async function f${String(i)}() { ${code} }`);
  const text = [head, ...functions].join("\n");
  const file = ts.createSourceFile("a.ts", text, ts.ScriptTarget.ES2022, true);
  host.getSourceFile = (name, ...others) => (name === "a.ts" ? file : read(name, ...others));
  const program = ts.createProgram(["a.ts"], options, host);
  const facts = new Facts();
  const types = [{ name: "Tensor", from: "file" }];
  const owner = { noun: "tensor", types, brand: ["dispose", "neg"] };
  const settings = resolveSettings({ presets: [], owners: [owner] });
  const checker = new Checker(program, () => false);
  const ownership = new Ownership(checker, new Packages(program, facts), settings, {
    endingNameOf: () => undefined,
    ownedPart: () => null,
  });
  const values = facts
    .variables(file)
    .flatMap(({ name, initializer }) => (name.getText() === "it" && initializer) || [])
    .map(unwrap);
  assert.is(values.length, codes.length);
  const oracle = new Oracle(program, settings, facts);
  const told = values.map((value) => oracle.ownedAt(value));
  return values.map((value, i) => ({
    told: told[i] ?? null,
    typed: ownership.of(checker.typeAt(value)),
  }));
}

const owning = [
  ...["[a, b]", "[a]", "[list[0]]", "{ a, b }", "{ a, n: 1 }", '{ a, "b": b.neg() }'],
  ...["list.map((t) => t.neg())", "fixed.map((t) => t.neg())", "list.map((t) => t.parts())"],
  ...["list.map(function (t) { return t.neg(); })", "list.map((t) => t.perhaps())"],
  ...["Promise.all(list)", "Promise.all(later)", "Promise.all([a, b])", "Promise.all([later[0]])"],
  ...["tidy(() => ({ x: a.neg(), n: 1 }))", "tidy(() => a.neg())", "tidy(() => [a.neg()])"],
  ...['named("x", () => ({ x: a.neg() }))', "named(() => ({ x: a.neg(), y: { z: b.neg() } }))"],
  ...['a.held("one")', "a.kept()", "own.all(list)", "own.map(() => a.neg())"],
  ...["{ a: list }", "{ a: { b } }", "{ a: maybe }", "[maybe]", "[a, ...list]", "[list]"],
  ...["names.map((n) => table.get(n))", "list.map((t) => ({ t }))", "pair.map(() => a.neg())"],
  "Promise.all(pair)",
];
const owningNothing = [
  ...["[1, 2]", '["x", `y`]', "[() => a]", "{ n: 1 }", "{}", "[rest]", "{ ...rest }", "[a.size]"],
  ...["list.map((t) => t.id)", 'list.map(() => "x")', "list.map((t) => t.dataSync())"],
  ...["list.map((t) => t.data())", "list.map((t) => t.size)", "typed.map((x) => x + 1)"],
  ...["a.data()", "a.dataSync()", 'a.data<"text">()', 'a.dataSync<"high">()', "[a, 1]"],
  ...["Promise.all(names)", "Promise.all(loose)", "loose.map((x) => x)"],
  ...["tidy(() => ({ n: 1 }))", "list.map((t) => t.anything())", "own.map(() => 1)"],
  ...["Promise.all(list.map((t) => t.data()))", "{ a, end() {} }", "{ get a() { return b; } }"],
];
const all = [...owning, ...owningNothing];
const found = ownedOf(all.map((code) => `const it = (${code});`));
for (const [i, code] of all.entries())
  test(`${code} is what its type says`, () => {
    const { told = null, typed = null } = found[i] ?? {};
    assert.equal(plain(told), plain(typed));
    assert.is(typed !== null, i < owning.length);
  });

const plain = (owned: Owned | null): unknown =>
  owned && { shape: owned.shape, nullable: owned.nullable, fields: owned.fields, each: owned.each };

test("a constant of a table's value owns nothing, however it is tested", () => {
  const values = ["a.dataSync()", "await a.data()", "(await a.data())"];
  const codes = values.map((v) => `const x = ${v}; if (!Array.isArray(x)) { const it = x; }`);
  for (const { told } of ownedOf(codes)) assert.is(told, null);
});

test("a constant of one value or none is there once it was tested", () => {
  const [one] = ownedOf(["const x = a.perhaps(); if (x) { const it = x; }"]);
  assert.is(one?.told?.nullable, false);
  assert.is(one?.typed?.nullable, false);
});

test.run();
