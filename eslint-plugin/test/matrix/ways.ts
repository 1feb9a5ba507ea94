/**
 * The ways a fresh tensor is used, and what must be reported of each outside and inside a scope.
 * Used by `rules/matrix.test.ts`.
 */

/** One way, as statements over `a`, `b` and `n`; `out` and `scoped` name the rules that report. */
export interface Way {
  name: string;
  code: string;
  out: string[];
  scoped: string[];
  waits?: true;
  leaves?: true;
}
const T = "no-leaked-temporary",
  D = "no-dropped-result",
  R = "require-disposal",
  O = "no-overwritten-tensor",
  X = "no-use-after-dispose",
  DD = "no-double-dispose";

/** Every way. */
export const ways: Way[] = [
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
