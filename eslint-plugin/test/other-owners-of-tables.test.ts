/**
 * Tables and lists that only name what something else ends: a list that a class tracks values in, a
 * `DisposableStack` or a scope in a field; and close by each where that ends nothing, or has only
 * some of the values.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("other owners of tables");
const finds = marked(test);

/** A table that names what another owner has; a mark for where it is emptied. */
const table = (members: string, value: string, end: string, mark = ""): string => `
import { newDisposeScope, randn, type DisposeScope, type Tensor } from "tenure";
export class Table implements Disposable {
  readonly #map = new Map<number, Tensor>();
  ${members}
  add(n: number): void {
    if (!this.#map.has(n)) this.#map.set(n, ${value});
  }
  [Symbol.dispose](): void {
    ${end}
    this.#map.clear();${mark}
  }
}
export const make = (): DisposeScope => newDisposeScope({ root: true });
console.log(randn);
`;
const left = " // !";
const tracked = "this.#track(randn([n]))";
const walk = "for (const d of this.#all) d[Symbol.dispose]();";
const track = (body: string): string =>
  `readonly #all: Disposable[] = [];
  #track<D extends Disposable>(d: D): D { ${body} }`;
const all = track("this.#all.push(d); return d;");
finds("a list that a method tracks them in", table(all, tracked, walk));
finds("one that nobody goes through", table(all, tracked, "this.#all.length = 0;", left));
const some = track("if (this.#all.length < 4) this.#all.push(d); return d;");
finds("one of only some", table(some, tracked, walk, left));
finds("one of some by a choice", table(all, `n > 3 ? ${tracked} : randn([n])`, walk, left));
const more = `${all}
  other(n: number): void { if (!this.#map.has(n)) this.#map.set(n, randn([n])); }`;
finds("one beside which another puts a value", table(more, tracked, walk, left));
finds(
  "a list of what a method makes",
  table(
    `readonly #all: Tensor[] = [];
  #make(n: number): Tensor { const t = randn([n]); this.#all.push(t); return t; }`,
    "this.#make(n)",
    "for (const t of this.#all) t.dispose();",
  ),
);

const stack = "readonly #stack = new DisposableStack();";
finds("a stack", table(stack, "this.#stack.use(randn([n]))", "this.#stack.dispose();"));
finds(
  "one that is ended by its symbol",
  table(
    stack,
    "this.#stack.adopt(randn([n]), (t) => t.dispose())",
    "this.#stack[Symbol.dispose]();",
  ),
);
finds("one that nobody ends", table(`${stack}${left}`, "this.#stack.use(randn([n]))", "", left));

const scope = "readonly #scope: DisposeScope = newDisposeScope({ root: true });";
const ends = "this.#scope.dispose();";
finds("a scope", table(scope, "this.#scope.attach(randn([n]))", ends));
finds("one that runs a function", table(scope, "this.#scope.run(() => randn([n]))", ends));
finds("one that a function enters", table(scope, "this.#scope.enter(() => randn([n]))", ends));
finds("a scope that nobody ends", table(scope, "this.#scope.attach(randn([n]))", "", left));
finds("what leaves its scope", table(scope, "this.#scope.detach(randn([n]))", ends, left));

const statements = (put: string, mark = ""): string => `
import { randn, type Tensor } from "tenure";
export class Table implements Disposable {
  readonly #stack = new DisposableStack();
  readonly #all: Tensor[] = [];
  readonly #list: Tensor[] = [];
  add(n: number): void {
    const t = randn([n]);
    ${put}
    this.#list.push(t);
  }
  [Symbol.dispose](): void {
    for (const t of this.#all) t.dispose();
    this.#stack.dispose();
    this.#list.length = 0;${mark}
  }
}`;
finds("a list, filled beside another", statements("this.#all.push(t);"));
finds("a list, filled beside a stack", statements("this.#stack.use(t);"));
finds(
  "a list, filled beside another that has it once",
  statements("if (!this.#all.includes(t)) this.#all.push(t);"),
);
finds("a list, filled beside another at times", statements("if (n > 3) this.#all.push(t);", left));

const level = (end: string, mark = ""): string => `
import { newDisposeScope, tensor, type DisposeScope, type Tensor } from "tenure";
export class Level {
  #scope: DisposeScope | null = null;
  readonly #things = new Map<string, Tensor>();
  load(data: Record<string, number[]>): void {
    this.unload();
    const scope = newDisposeScope({ root: true });
    this.#scope = scope;
    for (const [name, values] of Object.entries(data))
      this.#things.set(name, scope.attach(tensor(values)));
  }
  unload(): void {
    ${end}
    this.#scope = null;
    this.#things.clear();${mark}
  }
}`;
finds("a scope that is replaced", level("this.#scope?.dispose();"));
finds("one that is only forgotten", level("console.log(this.#scope);", left));

finds(
  "a list that a base class tracks",
  `
import { randn, type Tensor } from "tenure";
class Base implements Disposable {
  readonly #all: Disposable[] = [];
  protected track<D extends Disposable>(d: D): D {
    this.#all.push(d);
    return d;
  }
  [Symbol.dispose](): void {
    for (const d of this.#all) d[Symbol.dispose]();
  }
}
export class Heir extends Base {
  readonly #map = new Map<number, Tensor>();
  add(n: number): void {
    if (!this.#map.has(n)) this.#map.set(n, this.track(randn([n])));
  }
  reset(): void {
    this.#map.clear();
  }
}`,
);

const store = (track: string, end: string, mark = ""): string => `
export class Store {
  owned = [];
  byName = new Map();
  track(t) {
    ${track}
    return t;
  }
  get(name, values) {
    if (!this.byName.has(name)) this.byName.set(name, this.track(tf.tensor1d(values)));
    return this.byName.get(name);
  }
  dispose() {
    ${end}
    this.owned = [];
    this.byName.clear();${mark}
  }
}`;
const push = "this.owned.push(t);";
finds("a list of a script", store(push, "this.owned.forEach((t) => t.dispose());"), "tfjs");
finds("one by a function", store(push, "tf.dispose(this.owned);"), "tfjs");
finds("one that is only emptied", store(push, "", left), "tfjs");
finds("one of some", store(`if (t.size > 3) ${push}`, "tf.dispose(this.owned);", left), "tfjs");

test.run();
