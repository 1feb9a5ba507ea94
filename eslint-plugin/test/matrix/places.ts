/**
 * The places a piece of code can stand in, and whether a scope is open there. Used by
 * `rules/matrix.test.ts`.
 */

/** One place: a program around a body, and what the analysis must know of the scopes around it. */
export interface Place {
  name: string;
  state: "out" | "in" | "unknown" | "divided";
  code: (body: string) => string;
  sync?: true;
  noReturn?: true;
  pre?: string;
}

const params = "a: Tensor, b: Tensor, n: number";
/** Every place. */
export const places: Place[] = [
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
      `export class M { async go(${params}) { unknownSink(await this.run(a, b, n)); } ` +
      `private async run(${params}) { ${c} } }`,
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
    state: "divided",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nexport function f(${params}) { h(a, b, n); ` +
      "scoped(() => { h(a, b, n); }); }",
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
      `export async function f(${params}) { { using z = newDisposeScope(); ` +
      `console.log(z.count); } ${c} }`,
  },
  {
    name: "callback of a helper that calls it at once",
    state: "out",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function twice(g: () => void) { g(); g(); }\nexport function f(${params}) { ` +
      `twice(() => { ${c} }); }`,
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
      `export function f(${params}) { using z = newDisposeScope(); if (n > 0) { for ` +
      `(const k of [1, 2]) { ${c} } } }`,
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
      `export async function f(${params}) { unknownSink(await scopedAsync(async () => { ` +
      `${c} })); }`,
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
      `function h(${params}) { ${c} }\nexport function f(${params}) { scoped(() => { ` +
      "h(a, b, n); }); }",
  },
  {
    name: "helper called after using scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nexport function f(${params}) { using z = ` +
      "newDisposeScope(); h(a, b, n); }",
  },
  {
    name: "helper of a helper in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { ${c} }\nfunction g(${params}) { h(a, b, n); }\nexport ` +
      `function f(${params}) { scoped(() => { g(a, b, n); }); }`,
  },
  {
    name: "recursive helper in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `function h(${params}) { if (n > 0) h(a, b, n - 1); ${c} }\nexport function ` +
      `f(${params}) { scoped(() => { h(a, b, n); }); }`,
  },
  {
    name: "method called only in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `class M { run(${params}) { ${c} } }\nexport function f(${params}) { const m = new ` +
      "M(); scoped(() => { m.run(a, b, n); }); }",
  },
  {
    name: "override called through its base in a scope",
    state: "unknown",
    sync: true,
    noReturn: true,
    code: (c) =>
      `abstract class B { abstract run(${params}): void }\nclass M extends B { ` +
      `run(${params}) { ${c} } }\nexport function f(m: B, ${params}) { scoped(() => { ` +
      "m.run(a, b, n); }); unknownSink(new M()); }",
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
      "function inScope(g: () => void) { scoped(() => { g(); }); }\nexport function " +
      `f(${params}) { inScope(() => { ${c} }); }`,
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
