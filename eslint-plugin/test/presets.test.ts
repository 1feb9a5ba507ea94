/**
 * The presets for code that is not Tenure's: TF.js and anything disposable; and owners written by
 * users. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import type { TenureSettings } from "../src/index.ts";
import plugin from "../src/index.ts";
import { applied, assert, lines, lint, typeErrors } from "./tester.ts";

const test = suite("presets");
const T = "no-leaked-temporary",
  R = "require-disposal",
  O = "no-overwritten-tensor",
  X = "no-use-after-dispose",
  E = "no-escape-from-scope",
  P = "require-scope-pairing";
function check(
  name: string,
  settings: TenureSettings,
  head: string,
  code: string,
  expected: string[],
): void {
  test(name, () => {
    assert.equal(typeErrors(head + code), []);
    const found = lint(head + code, { settings, rules: plugin.configs.recommended.rules });
    assert.equal(
      found.map((m) => (m.ruleId ?? m.message).replace("tenure/", "")),
      expected,
      lines(found).join("\n"),
    );
  });
}

const tf =
  `import * as tf from "@tensorflow/tfjs-core";\nimport { GraphModel } from ` +
  `"@tensorflow/tfjs-converter";\n`;
const tfjs = (name: string, code: string, expected: string[]): void => {
  check(`tfjs: ${name}`, { presets: ["tfjs"] }, tf, code, expected);
};
tfjs("chain outside tidy", `export function f(a: tf.Tensor) { return a.add(a).mul(a); }`, [T]);
tfjs(
  "chain in tidy",
  `export function f(a: tf.Tensor) { return tf.tidy(() => a.add(a).mul(a)); }`,
  [],
);
tfjs(
  "named tidy",
  `export function f(a: tf.Tensor) { return tf.tidy("f", () => a.add(a).mul(a)); }`,
  [],
);
tfjs(
  "helper only in tidy",
  "function h(a: tf.Tensor) { return a.add(a).mul(a); }\nexport function f(a: tf.Tensor) " +
    "{ return tf.tidy(() => h(a)); }",
  [],
);
tfjs(
  "kept totals made anew in a tidy, and with the last one freed",
  "export class Log { private totals: { [key: string]: tf.Tensor | number } = {};\n" +
    "  add(key: string, x: tf.Tensor) { tf.tidy(() => {\n" +
    "    this.totals[key] = tf.add(this.totals[key] as tf.Tensor, x);\n" +
    "    tf.keep(this.totals[key] as tf.Tensor); }); }\n" +
    "  other(key: string, x: tf.Tensor) { const old = this.totals[key] as tf.Tensor;\n" +
    "    this.totals[key] = tf.add(old, x); old.dispose(); } }",
  [O],
);
tfjs(
  "helper in tidy and out",
  "function h(a: tf.Tensor) { return a.add(a).mul(a); }\nexport function f(a: tf.Tensor) " +
    "{ return [tf.tidy(() => h(a)), h(a)]; }",
  ["require-caller-scope"],
);
tfjs(
  "warm-up with a temporary",
  "export class M { constructor(private readonly model: GraphModel) {} async load() { " +
    "const r = await this.model.executeAsync(tf.zeros([1])); await r.data(); r.dispose(); " +
    "} }",
  [T],
);
tfjs(
  "warm-up, cured",
  "export class M { constructor(private readonly model: GraphModel) {} async load() { " +
    "const z = tf.zeros([1]); const r = await this.model.executeAsync(z); await r.data(); " +
    "r.dispose(); z.dispose(); } }",
  [],
);
tfjs(
  "result never disposed",
  "export async function f(m: GraphModel, a: tf.Tensor) { const out = m.predict(a);\n " +
    "return await out.data(); }",
  [R],
);
tfjs(
  "early return",
  "export function f(ok: boolean) { const t = tf.zeros([2]);\n if (!ok) return null; " +
    "const d = t.dataSync(); t.dispose(); return d; }",
  [R],
);
tfjs(
  "overwritten",
  `export function f(s: tf.Tensor) { s = tf.sub(s, s);\n s = s.square(); return s; }`,
  [O],
);
tfjs(
  "residual blocks",
  "function residual(x: tf.Tensor) { return tf.tidy(() => x.add(x)); }\nexport function " +
    "f(x: tf.Tensor) { let o = residual(x);\n o = residual(o);\n o = residual(o); return " +
    "o; }",
  [O, O],
);
tfjs(
  "dispose of a list",
  `export function f(a: tf.Tensor) { const x = a.square(), y = a.mean(); tf.dispose([x, y]); }`,
  [],
);
tfjs(
  "dispose of a list, one missing",
  "export function f(a: tf.Tensor) { const x = a.square();\n const y = a.mean(); " +
    "tf.dispose([x]); return y.dataSync(); }",
  [R],
);
tfjs(
  "split mapped",
  "export function f(a: tf.Tensor) { return tf.concat(tf.split(a, 2).map((t) => " +
    "t.dataSync()).map((d) => tf.tensor(d))); }",
  ["no-dropped-element", T],
);
tfjs(
  "moments half disposed",
  "export function f(a: tf.Tensor) { const m = tf.moments(a); const v = " +
    "m.mean.dataSync(); m.mean.dispose(); return v; }",
  [R],
);
tfjs(
  "moments disposed",
  "export function f(a: tf.Tensor) { const { mean, variance } = tf.moments(a); const v = " +
    "mean.dataSync(); mean.dispose(); variance.dispose(); return v; }",
  [],
);
tfjs(
  "alias used after dispose",
  "export function f(vars: tf.NamedTensorMap) { for (const v in vars) { const tmp = " +
    "vars[v]!; vars[v]!.dispose();\n vars[v] = tmp.square(); } }",
  [X],
);
tfjs(
  "keep in tidy",
  "export class M { private w: tf.Tensor | null = null; set(a: tf.Tensor) { tf.tidy(() " +
    "=> { this.w = tf.keep(a.square()); }); } dispose() { this.w?.dispose(); } }",
  [O],
);
tfjs(
  "stored from tidy without keep",
  "export class M { private w: tf.Tensor | null = null; set(a: tf.Tensor) { tf.tidy(() " +
    "=> {\n this.w = a.square(); }); } dispose() { this.w?.dispose(); } }",
  [E],
);
tfjs(
  "variables outlive tidy",
  "export class M { private w: tf.Tensor | null = null; set() { tf.tidy(() => { this.w = " +
    "tf.variable(tf.zeros([1])); }); } dispose() { this.w?.dispose(); } }",
  [],
);
tfjs("a variable's initial value", `export const w = () => tf.variable(tf.zeros([1]));`, [T]);
tfjs(
  "engine scope in finally",
  "export function f(a: tf.Tensor) { tf.engine().startScope(); try { return " +
    "a.square().dataSync(); } finally { tf.engine().endScope(); } }",
  [],
);
tfjs(
  "engine scope not ended",
  `export function f(a: tf.Tensor) { tf.engine().startScope(); return a.square().dataSync(); }`,
  [P],
);
tfjs(
  "engine scope not in finally",
  "export function f(a: tf.Tensor) { tf.engine().startScope(); a.square();\n " +
    "tf.engine().endScope(); }",
  [P],
);
tfjs(
  "async tidy",
  `export function f(a: tf.Tensor) { return tf.tidy(async () => { await a.data(); }); }`,
  ["no-async-in-scope"],
);
tfjs(
  "minimize gives the loss it is asked for",
  `export function f(o: tf.Optimizer, a: tf.Tensor) { const c = o.minimize(() => ` +
    `a.square().mean(), true)!; return c.dataSync()[0]; }`,
  [R],
);
tfjs(
  "an iterator gives what its consumer ends",
  `declare function rows(): Iterator<tf.Tensor, undefined>;
export function f() { const next = fresh(rows()); return next.done ? 0 : next.value.size; }
/** @fresh */
declare function fresh(rows: Iterator<tf.Tensor, undefined>): IteratorResult<tf.Tensor>;`,
  [R],
);
tfjs(
  "a model that a cast says gives one tensor",
  `declare const m: { predict(x: tf.Tensor): tf.Tensor | tf.Tensor[] } & GraphModel;
export function f(x: tf.Tensor) { return (m.predict(x) as tf.Tensor).argMax(); }`,
  [T],
);
tfjs(
  "minimize gives null",
  `export function f(o: tf.Optimizer, a: tf.Tensor) { o.minimize(() => a.square().mean()); }`,
  [],
);
tfjs(
  "browser functions",
  `export async function f(i: unknown) { await tf.browser.toPixels(tf.browser.fromPixels(i)); }`,
  [T],
);
tfjs(
  "returned input outside tidy",
  `export function f(x: tf.Tensor) { if (x.rank === 2) return x; return x.square(); }`,
  ["no-return-input"],
);
tfjs(
  "returned input inside tidy only",
  "function h(x: tf.Tensor) { if (x.rank === 2) return x; return x.square(); }\nexport " +
    "function f(x: tf.Tensor) { return tf.tidy(() => h(x).square()); }",
  [],
);
tfjs(
  "executeAsync with a map",
  `export function f(m: GraphModel, a: tf.Tensor) { return m.execute({ x: a.expandDims(0) }); }`,
  [T],
);

test("tfjs suggestions speak of dispose and tidy", () => {
  const code =
    `${tf}export function f(a: tf.Tensor) {\n  const n = a.add(a).sum().dataSync()[0];\n  ` +
    "return n;\n}\n";
  const [message] = lint(code, {
    settings: { presets: ["tfjs"] },
    rules: plugin.configs.recommended.rules,
  });
  const [hoisted, wrapped] = message!.suggestions!.map((s) => applied(code, s));
  assert.ok(
    hoisted?.includes(
      "  const add = a.add(a);\n  const sum = add.sum();\n  const n = " +
        "sum.dataSync()[0];\n  sum.dispose();\n  add.dispose();\n",
    ),
    hoisted,
  );
  assert.ok(wrapped?.includes("const n = tf.tidy(() => a.add(a).sum().dataSync()[0]);"), wrapped);
  for (const text of [hoisted, wrapped]) {
    assert.equal(typeErrors(text ?? ""), []);
    assert.equal(
      lint(text ?? "", {
        settings: { presets: ["tfjs"] },
        rules: plugin.configs.recommended.rules,
      }),
      [],
    );
  }
});

const io =
  `class Handle implements Disposable { read(): string { return "x"; } again(): this { ` +
  `return this; } [Symbol.dispose](): void { console.log("gone"); } }\nfunction ` +
  "openHandle(): Handle { return new Handle(); }\ndeclare function getHandle(): Handle; " +
  "declare function keepHandle(h: Handle): void;\nexport function other() { using h = " +
  "openHandle(); return h.read(); }\n";
const disposable = (name: string, code: string, expected: string[]): void => {
  check(`disposable: ${name}`, { presets: ["disposable"] }, io, code, expected);
};
disposable("never disposed", `export function f() { const h = openHandle(); return h.read(); }`, [
  R,
]);
disposable(
  "new never disposed",
  `export function f() { const h = new Handle(); return h.read(); }`,
  [R],
);
disposable("using", `export function f() { using h = openHandle(); return h.read(); }`, []);
disposable("a call for what it does", `export function f() { openHandle(); }`, []);
disposable("lookups lend", `export function f() { const h = getHandle(); return h.read(); }`, []);
disposable(
  "arguments hand over",
  `export function f() { const h = openHandle(); keepHandle(h); }`,
  [],
);
disposable(
  "fluent methods return themselves",
  `export function f() { using h = openHandle().again(); return h.read(); }`,
  [],
);
disposable(
  "timers and iterators are left alone",
  "export function f(xs: number[]) { const i = xs.values(); const t = setTimeout(() => " +
    "undefined, 1); return [i, t].length; }",
  [],
);
disposable(
  "what a component makes when it is put on the page",
  "const part = (name: string) => name;\nexport class View { #h?: Handle; oncreate(dom: object) " +
    "{ this.#h = openHandle(); part(String(dom)); } onremove() { this.#h?.[Symbol.dispose](); } }",
  [],
);
disposable(
  "a stack that waits for what it ends",
  "class Stack { size = 1; async asyncDispose() { await null; } async [Symbol.asyncDispose]() { " +
    "await null; } }\nexport async function f() { const s = new Stack(); await s.asyncDispose(); " +
    "}\nexport function g() { const s = new Stack(); return s.size; }",
  [R],
);
disposable("returned using", `export function f() { using h = openHandle(); return h; }`, [X]);
disposable(
  "async disposables",
  "declare class S implements AsyncDisposable { [Symbol.asyncDispose](): Promise<void>; " +
    "n: number }\ndeclare function openStream(): Promise<S>;\nexport async function f() { " +
    "await using s = await openStream(); return s.n; }",
  [],
);
disposable(
  "async disposables forgotten",
  "declare class S implements AsyncDisposable { [Symbol.asyncDispose](): Promise<void>; " +
    "n: number }\ndeclare function openStream(): Promise<S>;\nexport async function f() { " +
    "const s = await openStream(); return s.n; }",
  [R],
);

const pieces =
  "declare class Piece implements Disposable { next: Piece | null; [Symbol.dispose](): void } " +
  "declare function makePiece(): Piece; declare function thePiece(): Piece;\n" +
  "export function other() { using p = makePiece(); return p.next === null; }\n";
const borrowing = (name: string, code: string, expected: string[]): void => {
  check(`disposable: ${name}`, { presets: ["disposable"] }, pieces, code, expected);
};
borrowing(
  "a field of what a loop goes through",
  "class Parts { #all: Piece[] = []; list(): Piece[] { return [...this.#all]; } }\nexport " +
    "function f(parts: Parts) { for (const p of parts.list()) p.next = makePiece(); }",
  [],
);
borrowing(
  "a field of something borrowed",
  "export function f() { const p = thePiece(); p.next = makePiece(); }",
  [],
);
borrowing(
  "a field of something made here",
  "export function f() { const p = makePiece(); p.next = makePiece(); }",
  [R],
);
borrowing(
  "lists that a loop goes through",
  "export function f(lists: Piece[][]) { for (const l of lists) { l.push(makePiece()); l[0] = " +
    "makePiece(); } }",
  [],
);
borrowing(
  "a list that a field keeps",
  "export class Parts { #all: Piece[] = []; add() { const all = this.#all; " +
    "all.push(makePiece()); } set() { const all = this.#all; all[0] = makePiece(); } }",
  [],
);
borrowing(
  "a parameter under another name",
  "export function f(out: Piece[]) { const all = out; all.push(makePiece()); }",
  [],
);
borrowing(
  "lists made here",
  "export function f() { const a = [makePiece()];\n a.push(makePiece());\n const b: Piece[] = [];" +
    "\n b[0] = makePiece(); }",
  [R, R, R],
);

const own =
  "declare class Blob3 { free(): void; size: number; plus(b: Blob3): Blob3 }\ndeclare " +
  "function makeBlob(): Blob3; declare function theBlob(): Blob3; declare function " +
  "install(b: Blob3): void; declare function withScope<T>(f: () => T): T;\n";
const owners: TenureSettings = {
  owners: [
    {
      noun: "blob",
      types: [{ from: "file", name: "Blob3" }],
      dispose: { methods: ["free"] },
      borrows: [{ name: "theBlob" }],
      takes: [{ callee: { name: "install" }, args: [0] }],
      scopes: [{ callee: { name: "withScope" }, callback: "last" }],
      policy: "protocol",
    },
  ],
};
const user = (name: string, code: string, expected: string[]): void => {
  check(`own owner: ${name}`, owners, own, code, expected);
};
user("never freed", `export function f() { const b = makeBlob(); return b.size; }`, [R]);
user(
  "freed",
  `export function f() { const b = makeBlob(); const n = b.size; b.free(); return n; }`,
  [],
);
user("borrowed", `export function f() { const b = theBlob(); return b.size; }`, []);
user("taken", `export function f() { install(makeBlob()); }`, []);
user("chain", `export function f(a: Blob3) { return a.plus(a).plus(a); }`, [T]);
user(
  "in a scope",
  `export function f(a: Blob3) { return withScope(() => a.plus(a).plus(a).size); }`,
  [],
);

const exported = `import type { Tensor } from "tenure";\n`;
check(
  "exportedFunctions: assume-scoped",
  { exportedFunctions: "assume-scoped" },
  exported,
  `export function f(a: Tensor) { return a.add(1).sum(); }`,
  [],
);
check(
  "scopeInference: off sees no callers",
  { scopeInference: "off" },
  `import { scoped, type Tensor } from "tenure";\n`,
  "function h(a: Tensor) { return a.add(1).sum(); }\nexport function f(a: Tensor) { " +
    "return scoped(() => h(a)); }",
  [T],
);
check(
  "scopeInference: file sees callers in the file",
  { scopeInference: "file" },
  `import { scoped, type Tensor } from "tenure";\n`,
  "function h(a: Tensor) { return a.add(1).sum(); }\nexport function f(a: Tensor) { " +
    "return scoped(() => h(a)); }",
  [],
);

test("configs are flat, typed and grow from one to the next", () => {
  const { recommended, strict, all, tests } = plugin.configs;
  assert.is(recommended.plugins["tenure"], plugin);
  assert.ok(Object.keys(strict.rules).length > Object.keys(recommended.rules).length);
  assert.is(Object.keys(all.rules).length, Object.keys(plugin.rules).length);
  assert.ok(
    Object.keys(recommended.rules).every((r) => r in strict.rules) &&
      Object.keys(strict.rules).every((r) => r in all.rules),
  );
  assert.equal([...new Set(Object.values(tests.rules))], ["off"]);
  assert.equal(plugin.configs.recommendedTypeChecked.rules, recommended.rules);
  assert.is(plugin.meta.namespace, "tenure");
});
test.run();
