/**
 * The preset for anything disposable, on the ways in which programs hand such values around: each
 * case says which rules must report.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, typeErrors } from "./tester.ts";

const test = suite("disposables");
const io =
  `export class Handle implements Disposable { read(): string { return "x"; } ` +
  `[Symbol.dispose](): void { console.log("gone"); } }\nconst openHandle = () => new Handle();\n` +
  "export function other() { using h = openHandle(); return h.read(); }\n";
/** A function that ends what it is given: the program ends such resources. */
const ends = (...kinds: string[]): string =>
  kinds
    .map((kind) => `export const end${kind} = (x: ${kind}) => { x[Symbol.dispose](); };\n`)
    .join("");

const disposables = (name: string, code: string, expected: string[]): void => {
  test(name, () => {
    assert.equal(typeErrors(io + code), []);
    const settings = { presets: ["disposable"] };
    const found = lint(io + code, { settings, rules: plugin.configs.recommended.rules });
    const rules = found.map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
    assert.equal(rules, expected, lines(found).join("\n"));
  });
};

const scope =
  "class Scope { #all = new Set<Disposable>(); manage = <T extends Disposable>(x: T): T => { " +
  "this.#all.add(x); return x; }; }\n";
disposables(
  "a scope that manages what it hands back",
  `${scope}export function f(s: Scope) { const h = s.manage(openHandle()); return h.read(); }`,
  [],
);
disposables("a value of its own", "export const f = () => { const h = openHandle(); h.read(); };", [
  "require-disposal",
]);
disposables(
  "a result that is wrapped, at once or by another function",
  "class Ok<T> { constructor(readonly value: T) {} }\nconst ok = <T>(value: T): Ok<T> => new " +
    "Ok(value);\nconst pass = <T>(value: T) => ok(value);\nexport function f() { return " +
    "ok(openHandle()); }\nexport function g() { return pass(openHandle()); }",
  [],
);

const two = (rest: string): string =>
  `export class Two { a = new Handle(); b = new Handle(); [Symbol.dispose]() { ${rest} } }`;
disposables(
  "what fields begin with",
  two("this.a[Symbol.dispose]();") +
    two("this.a[Symbol.dispose](); this.b[Symbol.dispose]();").replace("Two", "Both") +
    "export class One { static h = new Handle(); [Symbol.dispose]() { One.h.read(); } }",
  ["require-member-disposal"],
);

const watch =
  "class Watch implements Disposable { constructor(readonly o: { signal?: AbortSignal; ms: " +
  "number }) {} arm() { console.log(this.o.ms); } [Symbol.dispose]() { console.log(1); } }\n" +
  ends("Watch");
disposables(
  "made with a signal that ends it",
  watch +
    "export function f(signal: AbortSignal) { const w = new Watch({ signal, ms: 1 }); " +
    "w.arm(); }\n" +
    "export function g() { const w = new Watch({ ms: 1 }); w.arm(); }",
  ["require-disposal"],
);
disposables(
  "a name for what the caller opened",
  ends("File") +
    "class File { constructor(readonly fd: number) {} cut() { console.log(this.fd); } " +
    "[Symbol.dispose]() { console.log(1); } }\nexport function f(fd: number) { const h = new " +
    "File(fd); h.cut(); }\nexport function g(open: () => number) { const h = new File(open()); " +
    "h.cut(); }",
  ["require-disposal"],
);

const pipe =
  "class Pipe implements Disposable { outer = { name: 'x' }; id = 1; [Symbol.dispose]() { " +
  "console.log(1); } }\ndeclare function ask(url: string, o: { stream: object }): string;\n" +
  ends("Pipe");
disposables(
  "a part that is handed on, and what is only read",
  pipe +
    "export function f() { const p = new Pipe(); return ask('u', { stream: p.outer }); }\n" +
    "export function g() { const p = new Pipe(); const end = p.outer; return () => end; }\n" +
    "export function h() { const p = new Pipe(); return p.id + p.outer.name.length; }\n" +
    "export function i() { const p = new Pipe(); console.log(p.outer); }",
  ["require-disposal", "require-disposal"],
);

const hub = (end: string): string =>
  ends("Job") +
  "class Job implements Disposable { id = 1; [Symbol.dispose]() { console.log(1); } }\n" +
  "export class Hub implements Disposable { #jobs = new Map<number, Job>(); #end = () => {}; " +
  `constructor() { this.#end = () => { ${end} }; } start() { const j = new Job(); ` +
  "this.#jobs.set(j.id, j); } close() { this.#end(); } [Symbol.dispose]() { this.close(); } ";
const each = "for (const j of this.#jobs.values()) j[Symbol.dispose]();";
disposables("an end that calls a function in a field", `${hub(each)}}`, []);
disposables("one whose function forgets", `${hub("console.log(1);")}}`, [
  "require-member-disposal",
]);
disposables(
  "an entry that is taken out, at hand or not",
  `${hub(each)} onEnd(e: { job: Job }) { this.#jobs.delete(e.job.id); }\n` +
    "drop(id: number) { this.#jobs.delete(id); } }",
  [],
);

disposables(
  "a number that stands for it goes on, and one that says something else",
  ends("Text") +
    "class Text implements Disposable { value = { ptr: 1, size: 2 }; [Symbol.dispose]() { " +
    "console.log(1); } }\nexport function f() { const t = new Text(); return t.value.ptr; }\n" +
    "export function g() { const t = new Text(); return t.value.size; }",
  ["require-disposal"],
);
disposables(
  "a class whose end does nothing",
  ends("Life") +
    "class Life implements Disposable { constructor(readonly v: number) {} dispose() { " +
    "console.log(1); } [Symbol.dispose]() { this.dispose(); } }\nclass Constant extends Life { " +
    "override dispose() {} }\nexport function f() { const c = new Constant(1); return c.v; }\n" +
    "export function g() { const c = new Life(1); return c.v; }",
  ["require-disposal"],
);

const table = (body: string): string =>
  "export const another = () => { using c = new Ctx(() => {}); return c.size; };\n" +
  "class Ctx implements Disposable { size = 1; constructor(readonly end: (id: number) => " +
  "void) {} " +
  "[Symbol.dispose]() { this.end(1); } }\nexport class Runtime implements Disposable { #all = " +
  `new Map<number, Ctx>(); ${body} [Symbol.dispose]() { console.log(1); } }`;
disposables(
  "a table that knows what the caller is to end",
  table(
    "make(id: number) { const c = new Ctx((i) => { this.#all.delete(i); }); " +
      "this.#all.set(id, c); return c; }",
  ),
  [],
);
disposables(
  "a table that is the only one to know",
  table("make(id: number) { const c = new Ctx(() => {}); this.#all.set(id, c); }"),
  ["require-member-disposal"],
);
disposables(
  "an element that its own end takes out, or others",
  table(
    "make(id: number) { const c = new Ctx((i) => { this.#all.delete(i); }); " +
      "this.#all.set(id, c); } drop(id: number) { [1].forEach(() => this.#all.delete(id)); }",
  ).replace("console.log(1)", "for (const c of this.#all.values()) c[Symbol.dispose]()"),
  [],
);

const result =
  "class Ok<T> implements Disposable { constructor(readonly value: T, readonly error?: " +
  "undefined) {} [Symbol.dispose]() { console.log(1); } }\n" +
  "class No implements Disposable { constructor(" +
  "readonly error: Error, readonly value?: undefined) {} [Symbol.dispose]() { " +
  "console.log(1); } }\n" +
  "export const endOk = (x: Ok<Handle>) => { x[Symbol.dispose](); };\n" +
  "declare const call: () => Ok<Handle> | No;\nconst make = () => new Ok(openHandle());\n";
disposables(
  "a result of which a part is returned, also by a helper",
  `${result}const unwrap = (r: Ok<Handle>) => r.value;\nexport const f = () => unwrap(make());\n` +
    "export function g() { const r = make(); return r.value; }\n" +
    "export function h() { const r = make(); return r.value.read(); }",
  ["require-disposal"],
);

const lock =
  "class Lock implements Disposable { unlock() { console.log(1); } held = 1; on(f: () => void) { " +
  "f(); } [Symbol.dispose]() { this.unlock(); } }\n" +
  ends("Lock");
disposables(
  "ended by another name, or given a function, and neither",
  lock +
    "export function f() { const l = new Lock(); try { console.log(l.held); } finally { " +
    "l.unlock(); } }\nexport function g() { const l = new Lock(); l.on(() => { console.log(2); " +
    "}); }\nexport function h() { const l = new Lock(); return l.held; }",
  ["require-disposal"],
);

const store =
  "class Store { all: Disposable[] = []; add(...parts: (Disposable | Disposable[])[]) { const " +
  "[first] = parts; const list = Array.isArray(first) ? first : (parts as Disposable[]); for " +
  "(let i = 0; i < list.length; i++) this.all.push(list[i]!); } }\n";
disposables(
  "a store that is added to one by one or by a list, and one that looks",
  store +
    "const look = (h: Handle) => h.read();\nexport function f(s: Store) { s.add(openHandle(), " +
    "openHandle()); }\nexport function g() { const h = openHandle(); return look(h); }",
  ["require-disposal"],
);
disposables(
  "an end that only gives a promise back does nothing either",
  "const done = Promise.resolve();\nexport class Empty { dispose() { return done; } " +
    "[Symbol.dispose]() {} }\nexport class Full { dispose() { console.log(1); } " +
    "[Symbol.dispose]() {} }",
  ["require-member-disposal"],
);

disposables(
  "a kind that the program ends nowhere",
  "class Mark implements Disposable { at = 1; [Symbol.dispose]() { console.log(1); } }\n" +
    "export function f() { const m = new Mark(); return m.at; }",
  [],
);
disposables(
  "what gives itself to somebody while it is made, or when it is set going",
  "class Pool { all: Part[] = []; add(p: Part) { this.all.push(p); } onEnd(f: () => void) { f(); " +
    "} }\nclass Part implements Disposable { at = 1; [Symbol.dispose]() { console.log(1); } }\n" +
    "class Adder extends Part { constructor(p: Pool) { super(); p.add(this); } }\n" +
    "class Timed extends Part { constructor(ms: number) { super(); setTimeout(() => " +
    "this[Symbol.dispose](), ms); } }\n" +
    "class Goer extends Part { go(p: Pool) { p.add(this); } }\n" +
    "class Plain extends Part { #p: Pool; constructor(p: Pool) { super(); this.#p = p; } n() { " +
    "return this.#p.all.length; } }\n" +
    ends("Part") +
    "export function f(p: Pool) { const a = new Adder(p); return a.at; }\n" +
    "export function g() { const t = new Timed(1); return t.at; }\n" +
    "export function h(p: Pool) { const b = new Goer(); b.go(p); }\n" +
    "export function i(p: Pool) { const c = new Plain(p); return c.n(); }",
  ["require-disposal"],
);
disposables(
  "a statement that goes on using what made it, and rows",
  "class Statement { run() { console.log(1); } }\nclass Db implements Disposable { prepare() { " +
    "return new Statement(); } all() { return [1]; } [Symbol.dispose]() { console.log(1); } }\n" +
    ends("Db") +
    "export class User { s: Statement; constructor() { const d = new Db(); this.s = " +
    "d.prepare(); } " +
    "}\nexport function f() { const d = new Db(); const s = d.prepare(); return () => " +
    "s.run(); }\n" +
    "export function g() { const d = new Db(); const s = d.prepare(); s.run(); }\n" +
    "export function h() { const d = new Db(); return d.all(); }",
  ["require-disposal", "require-disposal"],
);
disposables(
  "what is made once and lasts as long as the program",
  "const first = openHandle();\nfunction main() { const h = openHandle(); console.log(h.read(), " +
    "first.read()); }\nmain();\nexport function again() { const h = openHandle(); return " +
    "h.read(); }",
  ["require-disposal"],
);
disposables(
  "made of a resource of somebody's, and of a number",
  "class Reader implements Disposable { constructor(readonly of: Handle | number) {} line = 1; " +
    "[Symbol.dispose]() { console.log(1); } }\n" +
    ends("Reader") +
    "export function f(h: Handle) { const r = new Reader(h); return r.line; }\n" +
    "export function g() { const r = new Reader(1); return r.line; }",
  ["require-disposal"],
);
disposables(
  "two ends, and a second value after the first has ended",
  "export function f() { using h = openHandle(); h[Symbol.dispose](); }\n" +
    "export class P { #h?: Handle; set() { this.#h?.[Symbol.dispose](); this.#h = new " +
    "Handle(); } " +
    "put() { if (this.#h) { this.#h[Symbol.dispose](); this.#h = undefined; } } " +
    "[Symbol.dispose]() { this.#h?.[Symbol.dispose](); } }",
  [],
);
disposables(
  "a default that is a field, and a closure that ends a field",
  "export class P implements Disposable { constructor(readonly h = openHandle()) {} " +
    "[Symbol.dispose]() { this.h[Symbol.dispose](); } }\nclass Ends { all: (() => void)[] = []; " +
    "add(f: () => void) { this.all.push(f); } }\nexport class Q implements Disposable { " +
    "readonly h = openHandle(); #ends = new Ends(); constructor() { " +
    "this.#ends.add(() => { this.h[Symbol.dispose](); }); } [Symbol.dispose]() { for (const f of " +
    "this.#ends.all) f(); } }",
  [],
);
disposables(
  "an end that is left to subclasses",
  "export class Base implements Disposable { dispose() {} [Symbol.dispose]() { this.dispose(); } }",
  [],
);
disposables(
  "a number that is read after the end, and what is returned after it",
  "class Sub { readonly id = 1; close() { console.log(1); } [Symbol.dispose]() { " +
    "this.close(); } }" +
    "\nexport const f = (s: Sub, all: Set<number>) => { s.close(); all.delete(s.id); };\n" +
    "export function g() { const s = new Sub(); s.close(); return s; }",
  ["no-use-after-dispose"],
);
disposables(
  "a list of what others end, or give again",
  "declare function end(h: Handle): void;\nexport function f() { const all: Handle[] = []; for " +
    "(const n of [1, 2]) { const h = openHandle(); all.push(h); end(h); console.log(n); } return " +
    "all.length; }\nclass Node { again() { return Promise.resolve(openHandle()); } }\nexport " +
    "async function g(ns: Node[]) { let hs = await Promise.all(ns.map((n) => n.again())); hs = " +
    "await Promise.all(ns.map((n) => n.again())); return hs; }",
  [],
);
disposables(
  "a lock that is kept by who gives it, bound with `using` elsewhere",
  "class Lock2 implements Disposable { held = true; [Symbol.dispose]() { this.held = false; } }\n" +
    "class Mutex { last?: Lock2; lock() { const l = new Lock2(); this.last = l; return l; } " +
    "peek() { return this.last!; } }\nexport const a = (m: Mutex) => { using _ = m.lock(); " +
    "return 1; };\nexport const b = (m: Mutex) => { const l = m.lock(); return l.held; };\n" +
    "export const c = (m: Mutex) => { const l = m.peek(); return l.held; };",
  ["require-disposal"],
);
disposables(
  "a field whose value has another name when the field is emptied",
  "class Line { close() { console.log(1); } }\nclass Runner implements Disposable { line = new " +
    "Line(); [Symbol.dispose]() { this.line.close(); } }\n" +
    ends("Runner") +
    "export class Driver { r?: Runner; start() { this.r = new Runner(); } stop() { const r = " +
    "this.r; if (!r) throw new Error(); this.r = undefined; r.line.close(); } drop() { " +
    "if (this.r) this.r = undefined; } }",
  ["no-overwritten-tensor"],
);
disposables(
  "what only says how to undo something, bound elsewhere, dropped and never bound",
  "const quiet = (): Disposable => ({ [Symbol.dispose]() { console.log(1); } });\nconst " +
    "loud = (): " +
    "Disposable => ({ [Symbol.dispose]() { console.log(2); } });\nexport function a() { " +
    "using _ = " +
    "quiet(); return 1; }\nexport function b() { const _ = quiet(); return 1; }\nexport function " +
    "c() { quiet(); }\nexport function d() { const _ = loud(); return 1; }",
  ["require-disposal"],
);
disposables(
  "a name by which others find it, and one that is only printed",
  "class Table implements Disposable { name = 'x'; [Symbol.dispose]() { console.log(1); } }\n" +
    ends("Table") +
    "declare function track(o: { table: string }): number;\ndeclare function ask(sql: string): " +
    "number;\nexport function f() { const t = new Table(); return track({ table: t.name }); }\n" +
    "export function g() { const t = new Table(); return ask(`SELECT * FROM ${t.name}`); }\n" +
    "export function h() { const t = new Table(); console.log(t.name); }",
  ["require-disposal"],
);
disposables(
  "one that is opened here or has been given",
  "export function f(given: Handle | undefined) { const h = given ?? openHandle(); return " +
    "h.read(); " +
    "}\nexport function g(h = openHandle()) { return h.read(); }",
  [],
);
test.run();
