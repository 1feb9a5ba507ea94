/**
 * What the cures write where the value may be missing, is one of two, changes places, or is ended
 * by a symbol: each must compile, leave no report, and free nothing of somebody else.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { applied, assert, lint, typeErrors } from "./tester.ts";

const test = suite("cures");

/** The lines that each cure writes anew, if it compiles and nothing is reported after it. */
function cures(preset: string, code: string, filename?: string): string[] {
  const options = {
    settings: { presets: [preset] },
    rules: plugin.configs.recommended.rules,
    ...(filename === undefined ? {} : { filename }),
  };
  const before = code.split("\n");
  return lint(code, options).flatMap((m) =>
    (m.suggestions ?? []).map((suggestion) => {
      const after = applied(code, suggestion);
      if (filename === undefined) assert.equal(typeErrors(after), [], after);
      const rest = lint(after, options).map(({ message }) => message);
      assert.equal(rest, [], after);
      const written = after.split("\n").filter((line) => !before.includes(line));
      return written.map((line) => line.trim()).join(" ");
    }),
  );
}

const tf = 'import * as tf from "@tensorflow/tfjs-core";\n';
const tenure = 'import type { Tensor } from "tenure";\n';

test("what a variable held before may be missing", () => {
  const state =
    `${tf}let state;\nexport function set(x) {\n  state = tf.tensor(x);\n}\n` +
    "export const end = () => state?.dispose();";
  assert.equal(cures("tfjs", state, "file.js"), [
    "{ const previous = state; state = tf.tensor(x); previous?.dispose(); }",
  ]);
  const loop = (before: string): string =>
    `${tf}export function f(xs: number[]): void {\n${before}\n  for (const x of xs)\n` +
    "    s = tf.scalar(x);\n  s!.dispose();\n}";
  assert.equal(cures("tfjs", loop("  let s: tf.Tensor;")), []);
  assert.equal(cures("tfjs", loop("  let s: tf.Tensor;\n  s = tf.scalar(0);")), [
    "{ const previous = s; s = tf.scalar(x); previous.dispose(); }",
  ]);
  assert.equal(cures("tfjs", loop("  let s: tf.Tensor | undefined;")), [
    "{ const previous = s; s = tf.scalar(x); previous?.dispose(); }",
  ]);
});

test("what a pattern reads is no result of a scope", () => {
  const read = "const { shape } = x.neg();";
  const named = "using neg = x.neg(); const { shape } = neg;";
  const code =
    `${tenure}export function f(x: Tensor): readonly number[] {\n  ${read}\n` +
    "  return shape;\n}";
  const whole = 'import { newDisposeScope } from "tenure"; using scope = newDisposeScope();';
  assert.equal(cures("tenure", code), [named, whole]);
});

test("what is dropped may be another value", () => {
  const dropped = (value: string): string =>
    `${tenure}export const f = (x: Tensor, c?: Tensor): void => {\n  ${value};\n};`;
  assert.equal(cures("tenure", dropped("c && x.neg()")), ["c && x.neg().dispose();"]);
  assert.equal(cures("tenure", dropped("c ?? x.neg()")), ["c ?? x.neg().dispose();"]);
  assert.equal(cures("tenure", dropped("c ? x.neg() : c")), ["c ? x.neg().dispose() : c;"]);
});

test("values that change places are not lost", () => {
  const ends = (list: string[]): string => list.map((name) => `  ${name}.dispose();\n`).join("");
  const swap = (store: string): string =>
    `${tenure}export function f(x: Tensor): void {\n  let y = x.neg();\n  let z = x.abs();\n` +
    `  ${store}\n${ends(["y", "z"])}}`;
  const record = (store: string): string =>
    `${tenure}export function f(x: Tensor): void {\n  let s = { a: x.neg(), b: x.abs() };\n` +
    `  ${store}\n${ends(["s.a", "s.b"])}}`;
  const messages = (code: string): string[] =>
    lint(code, { rules: plugin.configs.recommended.rules }).map((m) => m.message);
  assert.equal(messages(swap("[y, z] = [z, y];")), []);
  assert.equal(messages(swap("({ y, z } = { y: z, z: y });")), []);
  const fresh = swap("y.dispose();\n  z.dispose();\n  ({ y, z } = { y: x.exp(), z: x.sin() });");
  const lost = messages(fresh.replace(ends(["y", "z"]), "  void [y.size, z.size];\n"));
  assert.ok(lost.length > 0, "what such a pattern takes is still followed");
  assert.equal(messages(record("s = { a: s.b, b: s.a };")), []);
  assert.equal(messages(record("s.b.dispose();\n  s = { a: s.a, b: x.exp() };")), []);
  assert.equal(messages(record("s = { a: s.b, b: x.exp() };")).length, 1, "one is lost");
});

test("what has no method to end it is ended by its symbol", () => {
  const wait = "await Promise.resolve()";
  const connection =
    `class Conn {\n  static async open(): Promise<Conn> { ${wait}; return new Conn(); }\n` +
    `  async [Symbol.asyncDispose](): Promise<void> { ${wait}; }\n` +
    `  async read(): Promise<number> { ${wait}; return 1; }\n}\n` +
    "export async function one(): Promise<void> {\n  await using c = await Conn.open();\n" +
    "  await c.read();\n}\n" +
    "export async function again(): Promise<void> {\n  let f = await Conn.open();\n" +
    "  f = await Conn.open();\n  await f[Symbol.asyncDispose]();\n}\n";
  assert.equal(cures("disposable", connection), [
    "{ const previous = f; f = await Conn.open(); await previous[Symbol.asyncDispose](); }",
  ]);
  const field =
    "class Handle { read(): number { return 1; } [Symbol.dispose](): void { console.log(1); } }\n" +
    "export function use(): void { using f = new Handle(); f.read(); }\n" +
    "export class Two {\n  f: Handle;\n  g: Handle;\n" +
    "  constructor() {\n    this.f = new Handle();\n    this.g = new Handle();\n  }\n" +
    "  [Symbol.dispose](): void {\n    this.f[Symbol.dispose]();\n  }\n" +
    "  read(): number { return this.f.read() + this.g.read(); }\n}\n";
  assert.equal(cures("disposable", field), ["this.g[Symbol.dispose]();"]);
  const pool = (body: string): string =>
    "class Handle { read(): number { return 1; } [Symbol.dispose](): void { console.log(1); } }\n" +
    "export function use(): void { using f = new Handle(); f.read(); }\n" +
    "export class Pool {\n  all: Handle[];\n  one: Handle;\n  constructor() {\n" +
    "    this.all = [new Handle(), new Handle()];\n    this.one = new Handle();\n  }\n" +
    "  get size(): number { return this.all.length + this.one.read(); }\n" +
    `  [Symbol.dispose](): void {\n    this.one[Symbol.dispose]();\n${body}  }\n}\n`;
  assert.equal(cures("disposable", pool("")), [
    "for (const value of this.all.values()) value[Symbol.dispose]();",
  ]);
  const emptied = (body: string): string =>
    "class Handle { read(): number { return 1; } [Symbol.dispose](): void { console.log(1); } }\n" +
    "export function use(): void { using f = new Handle(); f.read(); }\n" +
    "export function f(): number {\n  const all = [new Handle(), new Handle()];\n" +
    `  const n = all.length;\n${body}  return n;\n}\n`;
  assert.equal(cures("disposable", emptied("  all.length = 0;\n")), [
    "for (const value of all) value[Symbol.dispose]();",
  ]);
  const rest = "  for (const h of all) h[Symbol.dispose]();\n";
  assert.equal(cures("disposable", emptied(`  all.pop();\n${rest}`)), [
    "all.pop()?.[Symbol.dispose]();",
  ]);
  assert.equal(cures("disposable", pool("    for (const h of this.all);\n")), [
    "for (const h of this.all) h[Symbol.dispose]();",
  ]);
});

test("what a scope frees is moved out of it, in a list or a record too", () => {
  const gives = (type: string, body: string): string =>
    'import { newDisposeScope, type Tensor } from "tenure";\n' +
    `export function f(x: Tensor): ${type} {\n  using scope = newDisposeScope();\n${body}\n}\n`;
  assert.equal(cures("tenure", gives("Tensor[]", "  return [x.neg()];")), [
    "return [x.neg().moveToOuter()];",
    "return [x.neg().detachFromScope()];",
  ]);
  assert.equal(cures("tenure", gives("{ a: Tensor }", "  const a = x.neg();\n  return { a };")), [
    "return { a: a.moveToOuter() };",
    "return { a: a.detachFromScope() };",
  ]);
  const moved = "  const a = x.neg();\n  a.moveToOuter();\n  return { a };";
  assert.equal(cures("tenure", gives("{ a: Tensor }", moved)), []);
  const size = "  const a = x.neg();\n  return [a.size];";
  assert.equal(cures("tenure", gives("number[]", size)), []);
});

test("`using` of a parameter ends it with the block, not before", () => {
  const code =
    'import type { Tensor } from "tenure";\n' +
    "export function f(frame: Tensor): number {\n  using handed = frame;\n" +
    "  using twice = frame.mul(2);\n  return handed.size + twice.size;\n}\n";
  const found = lint(code, { rules: plugin.configs.recommended.rules });
  assert.equal(
    found.map((m) => m.ruleId),
    ["tenure/no-dispose-parameter"],
  );
});

test.run();
