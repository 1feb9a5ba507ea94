/**
 * Every way a fresh tensor is used, tried in every kind of place it can stand in: functions,
 * methods, callbacks, loops, scopes opened by block, callback or caller. What must be reported
 * follows from two facts only, written down per way and per place; the analysis is not asked.
 */
import { suite } from "uvu";
import plugin from "../../src/index.ts";
import { assert, lint } from "../tester.ts";

interface Way {
  name: string;
  code: string;
  out: string[];
  scoped: string[];
  waits?: true;
  leaves?: true;
}
interface Place {
  name: string;
  state: "out" | "in" | "unknown";
  code: (body: string) => string;
  sync?: true;
  noReturn?: true;
  pre?: string;
}

const T = "no-leaked-temporary",
  D = "no-dropped-result",
  R = "require-disposal",
  O = "no-overwritten-tensor",
  X = "no-use-after-dispose",
  DD = "no-double-dispose";

const ways: Way[] = [
  // temporaries
  { name: "chain of two", code: "const w = a.add(b).shape;", out: [T], scoped: [] },
  {
    name: "chain read with await",
    code: "const w = await a.add(b).sum().item();",
    out: [T],
    scoped: [],
    waits: true,
  },
  { name: "argument of a method", code: "a.add(b.mul(2)).dispose();", out: [T], scoped: [] },
  { name: "argument of a function", code: "concat([a.neg(), b]).dispose();", out: [T], scoped: [] },
  { name: "two arguments", code: "where(a.gt(0), a, b.neg()).dispose();", out: [T], scoped: [] },
  {
    name: "in a template",
    code: "console.log(`sum ${a.sum().toString()}`);",
    out: [T],
    scoped: [],
  },
  { name: "in a condition", code: "if (a.sum().size > 1) console.log(1);", out: [T], scoped: [] },
  { name: "left of a comparison", code: "const w = a.exp().rank === 2;", out: [T], scoped: [] },
  { name: "fresh property chained", code: "const w = a.grad?.size;", out: [T], scoped: [] },
  { name: "through a cast", code: "const w = (a.add(b) as Tensor).size;", out: [T], scoped: [] },
  { name: "through non-null", code: "const w = a.add(b)!.size;", out: [T], scoped: [] },
  { name: "through parentheses", code: "const w = ((a.add(b))).size;", out: [T], scoped: [] },
  { name: "factory then read", code: "const w = zeros([2]).shape;", out: [T], scoped: [] },
  {
    name: "long chain disposed at the end",
    code: "a.relu().exp().log().dispose();",
    out: [T],
    scoped: [],
  },
  {
    name: "split elements only read",
    code: "const w = a.split(2).map((t) => t.size);",
    out: ["no-dropped-element"],
    scoped: [],
  },
  // dropped
  { name: "dropped call", code: "a.add(b);", out: [D], scoped: [] },
  { name: "dropped in place", code: "a.add_(b);", out: [D], scoped: [] },
  { name: "dropped factory", code: "ones([3]);", out: [D], scoped: [] },
  { name: "dropped with void", code: "void a.neg();", out: [D], scoped: [] },
  { name: "dropped array", code: "a.unbind();", out: [D], scoped: [] },
  // variables
  { name: "const never used", code: "const t = a.add(b);", out: [R], scoped: [] },
  {
    name: "const only read",
    code: "const t = a.add(b); console.log(t.size);",
    out: [R],
    scoped: [],
  },
  {
    name: "let never disposed",
    code: "let t = a.add(b); console.log(t.shape);",
    out: [R],
    scoped: [],
  },
  {
    name: "disposed on one branch",
    code: "const t = a.add(b); if (n > 1) t.dispose();",
    out: [R],
    scoped: [],
  },
  {
    name: "disposed in one case",
    code: "const t = a.neg(); switch (n) { case 1: t.dispose(); break; default: console.log(2); }",
    out: [R],
    scoped: [],
  },
  {
    name: "overwritten",
    code: "let t = a.add(b); t = t.mul(2); t.dispose();",
    out: [O],
    scoped: [],
  },
  {
    name: "overwritten in a loop",
    code: "let t = a.add(b); for (let i = 0; i < n; i++) t = t.mul(2); t.dispose();",
    out: [O],
    scoped: [],
  },
  {
    name: "array never disposed",
    code: "const ts = a.split(2); console.log(ts.length);",
    out: [R],
    scoped: [],
  },
  {
    name: "list filled and forgotten",
    code: "const ts: Tensor[] = []; ts.push(a.add(b)); console.log(ts.length);",
    out: [R],
    scoped: [],
  },
  {
    name: "record half disposed",
    code: "const o = { x: a.add(b), y: a.mul(b) }; o.x.dispose(); console.log(o.y.size);",
    out: [R],
    scoped: [],
  },
  {
    name: "loop variable not disposed",
    code: "for (let i = 0; i < n; i++) { const t = a.add(i); console.log(t.size); }",
    out: [R],
    scoped: [],
  },
  {
    name: "continue skips disposal",
    code: "for (let i = 0; i < n; i++) { const t = a.add(i); if (i === 2) continue; t.dispose(); }",
    out: [R],
    scoped: [],
  },
  {
    name: "destructured, one forgotten",
    code: "const [x, y] = [a.neg(), b.neg()]; x.dispose(); console.log(y.size);",
    out: [R],
    scoped: [],
  },
  // fine everywhere
  { name: "using", code: "using t = a.add(b); console.log(t.size);", out: [], scoped: [] },
  {
    name: "using chain by hand",
    code: "using t = a.add(b); using u = t.sum(); console.log(u.size);",
    out: [],
    scoped: [],
  },
  {
    name: "disposed at the end",
    code: "const t = a.add(b); console.log(t.size); t.dispose();",
    out: [],
    scoped: [],
  },
  {
    name: "disposed by symbol",
    code: "const t = a.add(b); t[Symbol.dispose]();",
    out: [],
    scoped: [],
  },
  {
    name: "disposed in finally",
    code: "const t = a.add(b); try { console.log(t.size); } finally { t.dispose(); }",
    out: [],
    scoped: [],
  },
  {
    name: "disposed on both branches",
    code: "const t = a.add(b); if (n > 1) { console.log(1); t.dispose(); } else t.dispose();",
    out: [],
    scoped: [],
  },
  {
    name: "disposed after a null test",
    code: "let t: Tensor | null = null; if (n > 1) t = a.add(b); if (t) t.dispose();",
    out: [],
    scoped: [],
  },
  {
    name: "disposed through optional chaining",
    code: "let t: Tensor | undefined; if (n > 1) t = a.add(b); t?.dispose();",
    out: [],
    scoped: [],
  },
  {
    name: "disposed under the same flag",
    code: "let t = a; if (n > 1) t = a.add(b); if (n > 1) t.dispose();",
    out: [],
    scoped: [],
  },
  {
    name: "previous kept and disposed",
    code: "let t = a.add(b); { const p = t; t = t.mul(2); p.dispose(); } t.dispose();",
    out: [],
    scoped: [],
  },
  { name: "dropped but disposed", code: "a.add_(b).dispose();", out: [], scoped: [] },
  {
    name: "array disposed by forEach",
    code: "const ts = a.split(2); ts.forEach((t) => t.dispose());",
    out: [],
    scoped: [],
  },
  {
    name: "array disposed by for of",
    code: "const ts = a.split(2); for (const t of ts) t.dispose();",
    out: [],
    scoped: [],
  },
  {
    name: "array consumed by using",
    code: "for (using t of a.unbind()) console.log(t.size);",
    out: [],
    scoped: [],
  },
  {
    name: "destructured and disposed",
    code: "const [x, y] = [a.neg(), b.neg()]; x.dispose(); y.dispose();",
    out: [],
    scoped: [],
  },
  {
    name: "stored in a module table",
    code: "table.push(a.add(b));",
    out: [],
    scoped: ["no-escape-from-scope"],
  },
  {
    name: "stored in a module map",
    code: "index.set(n, a.add(b));",
    out: [],
    scoped: ["no-escape-from-scope"],
  },
  { name: "moved out at once", code: "slot.value = a.add(b).moveToOuter();", out: [], scoped: [] },
  {
    name: "detached at once",
    code: "slot.value = a.add(b).detachFromScope();",
    out: [],
    scoped: [],
  },
  { name: "handed to a taker", code: "adopt(a.add(b));", out: [], scoped: [] },
  { name: "handed to something unknown", code: "unknownSink(a.add(b));", out: [], scoped: [] },
  { name: "alias handed to a taker", code: "const t = a.add(b); adopt(t);", out: [], scoped: [] },
  {
    name: "metadata of inputs",
    code: "console.log(a.shape, b.dtype, a.size === b.size);",
    out: [],
    scoped: [],
  },
  { name: "read of an input", code: "const w = await a.item();", out: [], scoped: [], waits: true },
  {
    name: "own scope around it",
    code: "{ using s = newDisposeScope(); console.log(a.add(b).sum().size); }",
    out: [],
    scoped: [],
  },
  {
    name: "scoped around it",
    code: "const w = scoped(() => a.add(b).sum().size);",
    out: [],
    scoped: [],
  },
  {
    name: "scoped result bound by using",
    code: "using t = scoped(() => a.add(b).sum());",
    out: [],
    scoped: [],
  },
  { name: "returned", code: "return a.add(b);", out: [], scoped: [], leaves: true },
  { name: "returned in a list", code: "return [a.add(b)];", out: [], scoped: [], leaves: true },
  {
    name: "bound then returned",
    code: "const t = a.add(b); return t;",
    out: [],
    scoped: [],
    leaves: true,
  },
  {
    name: "returned early or late",
    code: "const t = a.add(b); if (n > 2) return t; console.log(1); return t;",
    out: [],
    scoped: [],
    leaves: true,
  },
  {
    name: "early return forgets",
    code: "const t = a.add(b); if (n > 2) return a.neg(); return t;",
    out: [R],
    scoped: [],
    leaves: true,
  },
  // wrong in every place
  {
    name: "used after dispose",
    code: "const t = a.add(b); t.dispose(); console.log(t.sum().size);",
    out: [T, X],
    scoped: [X],
  },
  {
    name: "disposed twice",
    code: "const t = a.add(b); t.dispose(); t.dispose();",
    out: [DD],
    scoped: [DD],
  },
  { name: "using and dispose", code: "using t = a.add(b); t.dispose();", out: [DD], scoped: [DD] },
  {
    name: "used after dispose through an alias",
    code: "const t = a.add(b); const u = t; t.dispose(); console.log(u.toArray());",
    out: [X],
    scoped: [X],
  },
  {
    name: "metadata after dispose",
    code: "const t = a.add(b); t.dispose(); console.log(t.shape, t.isDisposed);",
    out: [],
    scoped: [],
  },
];

const params = "a: Tensor, b: Tensor, n: number";
const places: Place[] = [
  {
    name: "exported function",
    state: "out",
    code: (c) => `export async function f(${params}) { ${c} }`,
  },
  {
    name: "function nobody calls",
    state: "out",
    code: (c) => `async function f(${params}) { ${c} }`,
  },
  {
    name: "exported arrow",
    state: "out",
    code: (c) => `export const f = async (${params}) => { ${c} };`,
  },
  {
    name: "function expression",
    state: "out",
    code: (c) => `export const f = async function (${params}) { ${c} };`,
  },
  {
    name: "default export",
    state: "out",
    code: (c) => `export default async function f(${params}) { ${c} }`,
  },
  {
    name: "exported by list",
    state: "out",
    code: (c) => `async function f(${params}) { ${c} }\nexport { f };`,
  },
  { name: "method", state: "out", code: (c) => `export class M { async run(${params}) { ${c} } }` },
  {
    name: "private method called from a method",
    state: "out",
    code: (c) =>
      `export class M { async go(${params}) { unknownSink(await this.run(a, b, n)); } private async run(${params}) { ${c} } }`,
  },
  {
    name: "static method",
    state: "out",
    code: (c) => `export class M { static async run(${params}) { ${c} } }`,
  },
  {
    name: "constructor",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) => `export class M { constructor(${params}) { ${c} } }`,
  },
  {
    name: "inside an if",
    state: "out",
    code: (c) => `export async function f(${params}) { if (n > 5) { ${c} } }`,
  },
  {
    name: "inside an else",
    state: "out",
    code: (c) =>
      `export async function f(${params}) { if (n > 5) { console.log(1); } else { ${c} } }`,
  },
  {
    name: "inside a loop",
    state: "out",
    code: (c) => `export async function f(${params}) { for (let k = 0; k < 3; k++) { ${c} } }`,
  },
  {
    name: "inside while",
    state: "out",
    code: (c) => `export async function f(${params}) { while (n-- > 0) { ${c} } }`,
  },
  {
    name: "inside try",
    state: "out",
    code: (c) =>
      `export async function f(${params}) { try { ${c} } catch (e) { console.log(e); } }`,
  },
  {
    name: "inside catch",
    state: "out",
    code: (c) => `export async function f(${params}) { try { console.log(1); } catch { ${c} } }`,
  },
  {
    name: "inside a labelled block",
    state: "out",
    code: (c) => `export async function f(${params}) { block: { if (n < 0) break block; ${c} } }`,
  },
  {
    name: "inside a switch",
    state: "out",
    code: (c) => `export async function f(${params}) { switch (n) { case 1: { ${c} } } }`,
  },
  {
    name: "forEach callback",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { [1, 2].forEach((k) => { ${c} }); }`,
  },
  {
    name: "then callback",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { void sync().then(() => { ${c} }); }`,
  },
  {
    name: "timer callback",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { setTimeout(() => { ${c} }, 1); }`,
  },
  {
    name: "immediately called function",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { (() => { ${c} })(); }`,
  },
  {
    name: "noGrad callback",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { noGrad(() => { ${c} }); }`,
  },
  {
    name: "helper called from outside",
    state: "out",
    sync: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nexport function f(${params}) { unknownSink(h(a, b, n)); }`,
  },
  {
    name: "helper called in and out of scopes",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nexport function f(${params}) { h(a, b, n); scoped(() => { h(a, b, n); }); }`,
  },
  {
    name: "recursive helper",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) => `export function h(${params}) { if (n > 0) h(a, b, n - 1); ${c} }`,
  },
  {
    name: "after a closed scope block",
    state: "out",
    code: (c) =>
      `export async function f(${params}) { { using z = newDisposeScope(); console.log(z.count); } ${c} }`,
  },
  {
    name: "callback of a helper that calls it at once",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function twice(g: () => void) { g(); g(); }\nexport function f(${params}) { twice(() => { ${c} }); }`,
  },

  {
    name: "using scope in a block",
    state: "in",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { { using z = newDisposeScope(); ${c} } }`,
  },
  {
    name: "using scope in a function",
    state: "in",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { using z = newDisposeScope(); ${c} }`,
  },
  {
    name: "using scope further out",
    state: "in",
    sync: true,
    noReturn: true,
    code: (c) =>
      `export function f(${params}) { using z = newDisposeScope(); if (n > 0) { for (const k of [1, 2]) { ${c} } } }`,
  },
  {
    name: "scoped callback",
    state: "in",
    sync: true,
    code: (c) => `export function f(${params}) { unknownSink(scoped(() => { ${c} })); }`,
  },
  {
    name: "scopedAsync callback",
    state: "in",
    code: (c) =>
      `export async function f(${params}) { unknownSink(await scopedAsync(async () => { ${c} })); }`,
  },
  {
    name: "noGrad in scoped",
    state: "in",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { scoped(() => { noGrad(() => { ${c} }); }); }`,
  },
  {
    name: "forEach in scoped",
    state: "in",
    sync: true,
    noReturn: true,
    code: (c) =>
      `export function f(${params}) { scoped(() => { [1, 2].forEach((k) => { ${c} }); }); }`,
  },
  {
    name: "NewDisposeScope spelling",
    state: "in",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { using z = NewDisposeScope(); ${c} }`,
  },

  {
    name: "helper called only in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nexport function f(${params}) { scoped(() => { h(a, b, n); }); }`,
  },
  {
    name: "helper called after using scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nexport function f(${params}) { using z = newDisposeScope(); h(a, b, n); }`,
  },
  {
    name: "helper of a helper in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nfunction g(${params}) { h(a, b, n); }\nexport function f(${params}) { scoped(() => { g(a, b, n); }); }`,
  },
  {
    name: "recursive helper in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { if (n > 0) h(a, b, n - 1); ${c} }\nexport function f(${params}) { scoped(() => { h(a, b, n); }); }`,
  },
  {
    name: "method called only in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `class M { run(${params}) { ${c} } }\nexport function f(${params}) { const m = new M(); scoped(() => { m.run(a, b, n); }); }`,
  },
  {
    name: "override called through its base in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `abstract class B { abstract run(${params}): void }\nclass M extends B { run(${params}) { ${c} } }\nexport function f(m: B, ${params}) { scoped(() => { m.run(a, b, n); }); unknownSink(new M()); }`,
  },
  {
    name: "helper handed to scoped",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { const h = () => { ${c} }; scoped(h); }`,
  },
  {
    name: "callback of a helper that calls it in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function inScope(g: () => void) { scoped(() => { g(); }); }\nexport function f(${params}) { inScope(() => { ${c} }); }`,
  },
  {
    name: "callback of an unknown function",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) => `export function f(${params}) { unknownHost(() => { ${c} }); }`,
  },
  {
    name: "function documented @scoped",
    state: "unknown",
    sync: true,
    code: (c) => `/** @scoped */\nexport function f(${params}) { ${c} }`,
  },
  {
    name: "Scheduler.step callback",
    state: "in",
    sync: true,
    noReturn: true,
    code: (c) =>
      `export async function f(s: Scheduler, ${params}) { await s.step(() => { ${c} }); }`,
  },
];

const head = `import { Tensor, concat, newDisposeScope, NewDisposeScope, noGrad, ones, scoped, scopedAsync, sync, where, zeros } from "tenure";
import { Scheduler } from "tenure/scheduler";
declare function unknownSink(x: unknown): void; declare function unknownHost(x: () => void): void;
const kept: Tensor[] = []; function adopt(t: Tensor) { kept.push(t); }
const table: Tensor[] = []; const index = new Map<number, Tensor>(); const slot: { value?: Tensor } = {};
`;

/**
 * All ways in one place form one file, each with names of its own; a file has one default export,
 * so that place is linted way by way.
 */
function lintPlace(place: Place, chosen: Way[]): string[][] {
  const names = /\b(f|h|g|M|B|twice|inScope)\b/g;
  const pieces = chosen.map((way, i) =>
    place
      .code("BODY")
      .replace(names, (n) => `${n}${String(i)}`)
      .replace("BODY", () => way.code),
  );
  const groups = place.name === "default export" ? pieces.map((p) => [p]) : [pieces];
  return groups.flatMap((group) => {
    const starts: number[] = [];
    let text = head;
    for (const piece of group) {
      starts.push(text.split("\n").length);
      text += `${piece}\n`;
    }
    const messages = lint(text, { rules: plugin.configs.recommended.rules });
    return starts.map((start, i) =>
      messages
        .filter((m) => m.line >= start && m.line < (starts[i + 1] ?? Infinity))
        .map((m) => (m.ruleId ?? m.message).replace("tenure/", "")),
    );
  });
}

const test = suite("matrix of ways and places");
for (const place of places) {
  const chosen = ways.filter(
    (way) => !(way.waits && place.sync) && !(way.leaves && place.noReturn),
  );
  let results: string[][] | undefined;
  chosen.forEach((way, i) => {
    test(`${way.name} in ${place.name}`, () => {
      results ??= lintPlace(place, chosen);
      const wanted =
        place.state === "out"
          ? way.out
          : place.state === "in"
            ? way.scoped
            : way.scoped.filter((r) => r !== "no-escape-from-scope");
      assert.equal([...new Set(results[i])].sort(), [...wanted].sort());
    });
  });
}
test.run();
