/**
 * Tables under names that come and go: a method takes one name out, so another that puts something
 * under a name may meet it there, in static fields too. Right are those that ask first, those whose
 * callers do, and names that are made up for each value.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("come again");
const finds = marked(test);

const head = 'import { zeros, type Tensor } from "tenure";\n';
const stop = "stop(name: string): void { this.all.get(name)?.dispose(); this.all.delete(name); }";

/** A class whose table loses one name by `stop`. */
const table = (start: string, rest = ""): string => `${head}
export class Table {
  private readonly all = new Map<string, Tensor>();
  ${start}
  ${stop}
  has(name: string): boolean { return this.all.has(name); }
  [Symbol.dispose](): void { for (const x of this.all.values()) x.dispose(); }
}
${rest}`;
const put = "this.all.set(name, zeros([2]));";

finds("under a name that is given", table(`start(name: string): void { ${put} } // !`));
finds("which is ended first", table(`start(name: string): void { this.stop(name); ${put} }`));
finds(
  "which is asked for first",
  table(`start(name: string): void { if (this.all.has(name)) throw new Error(name); ${put} }`),
);
finds(
  "which its callers ask for",
  table(
    `start(name: string): void { ${put} }`,
    `export function run(names: string[]): void {
  using table = new Table();
  for (const name of names) if (!table.has(name)) table.start(name);
}`,
  ),
);
finds(
  "of which each is given once",
  table(
    `private start(name: string): void { ${put} }
  constructor() { this.start("first"); this.start("second"); }`,
  ),
);
finds(
  "that is of one value only",
  table("start(id: string): void { this.all.set(id, zeros([2])); }"),
);
finds(
  "that is no name",
  `${head}interface Socket { url: string }
const all = new Map<Socket, Tensor>();
export function connected(socket: Socket): void { all.set(socket, zeros([2])); }
export function gone(socket: Socket): void { all.get(socket)?.dispose(); all.delete(socket); }`,
);
finds(
  "on each of two ways",
  table(`start(name: string, wide: boolean): void {
    if (wide) this.all.set(name, zeros([8])); // !
    else this.all.set(name, zeros([2])); // !
  }`),
);

finds(
  "beside another of the same names, which is asked",
  `${head}export class Pairs {
  readonly #a = new Map<string, Tensor>();
  readonly #b = new Map<string, Tensor>();
  put(name: string): void {
    if (this.#a.has(name)) return;
    this.#a.set(name, zeros([1]));
    this.#b.set(name, zeros([2]));
  }
  [Symbol.dispose](): void {
    for (const all of [this.#a, this.#b]) for (const x of all.values()) x.dispose();
  }
}`,
);

/** A table that takes over what it is given, by the name that this has itself. */
const shelf = (before: string): string => `${head}
class Part implements Disposable {
  readonly weight: Tensor = zeros([2]);
  constructor(readonly name: string) {}
  [Symbol.dispose](): void { this.weight.dispose(); }
}
class Shelf implements Disposable {
  readonly #parts = new Map<string, Part>();
  install(part: Part): void {
    ${before}
    this.#parts.set(part.name, part);${before === "" ? " // !" : ""}
  }
  retire(name: string): void {
    this.#parts.get(name)?.[Symbol.dispose]();
    this.#parts.delete(name);
  }
  [Symbol.dispose](): void { for (const part of this.#parts.values()) part[Symbol.dispose](); }
}
export function run(names: readonly string[]): void {
  using shelf = new Shelf();
  for (const name of names) shelf.install(new Part(name));
}`;
finds("taken over", shelf(""));
finds("taken over, the last ended", shelf("this.#parts.get(part.name)?.[Symbol.dispose]();"));

const statics = (put: string, drop: string): string => `
import { zeros, type Tensor } from "tenure";
export class Cache {
  static #all = new Map<string, Tensor>();
  static put(key: string): void { ${put} Cache.#all.set(key, zeros([1])); }
  static drop(key: string): void { ${drop}
    Cache.#all.delete(key);
  }
  static end(): void {
    for (const x of Cache.#all.values()) x.dispose();
    Cache.#all.clear();
  }
}`;
const end = "Cache.#all.get(key)?.dispose();";
finds("a static table", statics(end, end));
finds("a static table that drops", statics(end, "").replace("delete(key);", "delete(key); // !"));
finds(
  "a static table that overwrites",
  statics("", end).replace(" }\n  static d", " } // !\n  static d"),
);

test.run();
