/**
 * What leaves a list after a look at it under other names: parts of the list, its elements in a
 * loop, what a promise of all gives. A look ends nothing, so that what leaves is lost; where any
 * of those names ends it or hands it on, nothing is reported.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";

const test = suite("looked through");
const { rules } = plugin.configs.recommended;

const cut = (name: string): string =>
  `no-dropped-element: The values that \`${name}\` loses here are dropped; dispose them first.`;
const kept =
  "require-member-disposal: `this.#old` holds a tensor this class made, and `[Symbol.dispose]()` " +
  "does not dispose it; do so there.";
const shifted = "no-dropped-element: The tensor taken out by `shift()` is dropped; dispose it.";

function reports(name: string, code: string, expected: readonly string[], file?: string): void {
  test(name, () => {
    const found = lines(
      lint(
        code,
        file ? { rules, file: projectDir + file, settings: { presets: ["tfjs"] } } : { rules },
      ),
    );
    assert.equal(
      found.map((line) => line.replace(/^\d+ /, "")),
      expected,
    );
  });
}

/** A class that takes objects over, ends them with itself, and has one method more. */
const pool = (method: string): string => `
import { zeros, type Tensor } from "tenure";
import { EventEmitter } from "node:events";
class Part implements Disposable {
  readonly weight: Tensor = zeros([2]);
  uses = 0;
  size(): number { return this.weight.size + this.uses; }
  [Symbol.dispose](): void { this.weight.dispose(); }
}
export class Pool extends EventEmitter implements Disposable {
  #parts: Part[];
  constructor(parts: readonly Part[]) { super(); this.#parts = [...parts]; }
  ${method}
  [Symbol.dispose](): void { for (const part of this.#parts) part[Symbol.dispose](); }
}
export const pool = (): Pool => new Pool([new Part(), new Part()]);
`;

reports(
  "a loop over a part that only asks",
  pool(`retire(least: number): void {
    for (const part of this.#parts.slice(1)) {
      if (part.size() > least) continue;
      this.#parts = this.#parts.filter((each) => each !== part);
    }
  }`),
  [cut("this.#parts")],
);
reports(
  "a loop over a part that ends what it takes out",
  pool(`retire(least: number): void {
    for (const part of this.#parts.slice(1)) {
      if (part.size() > least) continue;
      this.#parts = this.#parts.filter((each) => each !== part);
      part[Symbol.dispose]();
    }
  }`),
  [],
);
reports(
  "a part of a part that is left out",
  pool(`prune(most: number): void {
    const loose = this.#parts.filter((part) => part.uses === 0);
    const stale = loose.slice(most);
    this.#parts = this.#parts.filter((part) => !stale.includes(part));
  }`),
  [cut("this.#parts")],
);
reports(
  "a part of a part that is ended",
  pool(`prune(most: number): void {
    const loose = this.#parts.filter((part) => part.uses === 0);
    const stale = loose.slice(most);
    this.#parts = this.#parts.filter((part) => !stale.includes(part));
    for (const part of stale) part[Symbol.dispose]();
  }`),
  [],
);
reports(
  "a part that the caller gets",
  pool(`take(most: number): Part[] {
    const stale = this.#parts.slice(most);
    this.#parts = this.#parts.filter((part) => !stale.includes(part));
    return stale;
  }`),
  [],
);
reports(
  "a part that listeners get",
  pool(`drop(most: number): void {
    const stale = this.#parts.slice(most);
    this.#parts = this.#parts.filter((part) => !stale.includes(part));
    this.emit("dropped", stale);
  }`),
  [],
);
reports(
  "a part that another method ends first",
  pool(`drop(most: number): void {
    this.end(most);
    this.#parts = this.#parts.filter((part) => part.uses === 0);
  }
  private end(most: number): void {
    for (const part of this.#parts.slice(most)) part[Symbol.dispose]();
  }`),
  [],
);
reports(
  "what a loop ends of those that leave",
  pool(`drop(): void {
    for (const part of this.#parts) if (part.uses === 0) part[Symbol.dispose]();
    this.#parts = this.#parts.filter((part) => part.uses > 0);
  }`),
  [],
);
reports(
  "what leaves a list of objects that its class makes and shows a local set",
  pool(`add(): void {
    const free = new Set(this.#parts);
    for (const part of free) part.uses++;
    this.#parts.push(new Part());
    this.#trim();
  }
  #trim(): void { this.#parts = this.#parts.filter((part) => part.uses < 9); }`),
  [cut("this.#parts")],
);
reports(
  "what leaves such a list and goes into another place",
  pool(`readonly #old = new Map<number, Tensor>();
  add(): void {
    this.#parts.push(new Part());
    for (const part of this.#parts) if (part.uses > 9) this.#old.set(part.uses, this.#kept(part));
    this.#parts = this.#parts.filter((part) => part.uses <= 9);
  }
  #kept(part: Part): Tensor { const w = part.weight.alias(); part[Symbol.dispose](); return w; }
  end(): void { for (const w of this.#old.values()) w.dispose(); }`),
  [kept],
);

/** A cache of tensors, or of promises of them. */
const cache = (value: string, body: string): string => `
import type { Tensor } from "tenure";
export class Cache {
  readonly #entries = new Map<string, ${value}>();
  constructor(private readonly make: (id: string) => ${value}) {}
  get(id: string): ${value} {
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const made = this.make(id);
    this.#entries.set(id, made);
    ${body}
    return made;
  }
  clear(): void {
    for (const t of this.#entries.values()) t.dispose();
    this.#entries.clear();
  }
}`;

const gone =
  "no-dropped-element: The tensor under this key is dropped without being disposed; " +
  "dispose it first.";

reports(
  "the first entry by a pattern, and not ended",
  cache(
    "Tensor",
    `const [[oldest, last] = []] = this.#entries;
    if (oldest !== undefined && (last?.size ?? 0) > 2) this.#entries.delete(oldest);`,
  ),
  [gone],
);
reports(
  "the first entry by a name, and handed on",
  cache(
    "Tensor",
    `const [first] = this.#entries;
    if (first === undefined) return;
    const [oldest, last] = first;
    this.#entries.delete(oldest);
    console.log({ last });`,
  ),
  [],
);
reports(
  "the first entry by a pattern, and ended",
  cache(
    "Tensor",
    `const [[oldest, last] = []] = this.#entries;
    if (oldest !== undefined) { last?.dispose(); this.#entries.delete(oldest); }`,
  ),
  [],
);

/** A table of promises that ends them when it closes, in one of two ways. */
const shelf = (close: string): string => `
import { rand, type Tensor } from "tenure";
export class Shelf {
  readonly #library = new Map<number, Promise<Tensor>>();
  #take(at: number): Promise<Tensor> { return Promise.resolve(rand([at])); }
  get(at: number): Promise<Tensor> {
    let found = this.#library.get(at);
    if (found === undefined) { found = this.#take(at); this.#library.set(at, found); }
    return found;
  }
  async retake(at: number): Promise<void> {
    const old = this.#library.get(at);
    this.#library.set(at, this.#take(at));
    (await old)?.dispose();
  }
  async close(): Promise<void> { ${close} }
}`;

reports(
  "promises that are only waited for",
  shelf("await Promise.all(this.#library.values()); this.#library.clear();"),
  [
    "no-dropped-element: The tensors in `this.#library` are dropped without being disposed; " +
      "dispose them first.",
  ],
);
reports(
  "promises whose values are ended",
  shelf(
    `const all = await Promise.all(this.#library.values());
    all.forEach((t) => t.dispose()); this.#library.clear();`,
  ),
  [],
);

/** Norms of a training, taken out one by one. */
const norms = (use: string): string => `
import { zeros, type Tensor } from "tenure";
export class Trainer {
  readonly #norms: Tensor[] = [];
  step(): void { this.#norms.push(zeros([1])); }
  async largest(): Promise<number> {
    let most = 0;
    for (let norm = this.#norms.pop(); norm !== undefined; norm = this.#norms.pop()) { ${use} }
    return most;
  }
  [Symbol.dispose](): void { for (const norm of this.#norms) norm.dispose(); }
}`;

reports("popped again and again, and read", norms("most = Math.max(most, await norm.item());"), [
  "no-dropped-element: The tensor taken out by `pop()` is dropped; dispose it.",
]);
reports(
  "popped again and again, and ended",
  norms("most = Math.max(most, await norm.item()); norm.dispose();"),
  [],
);
reports(
  "popped again and again, and handed on",
  norms("most++; sink.push(norm);").replace(
    "export class",
    "export const sink: Tensor[] = [];\nexport class",
  ),
  [],
);

/** Lists in a list, whose tensors a class ends all together. */
const atlas = (trim: string): string => `
import type { Tensor } from "tenure";
export class Atlas {
  readonly #maps: Tensor[][] = [[], []];
  collect(map: Tensor): void { this.#maps[0]!.push(map.alias()); }
  trim(keep = 1): void { ${trim} }
  dispose(): void { for (const map of this.#maps.flat()) map.dispose(); }
}`;

reports(
  "spliced out of lists in a list",
  atlas("for (const maps of this.#maps) maps.splice(0, maps.length - keep);"),
  ["no-dropped-element: The tensor taken out by `splice(…)` is dropped; dispose it."],
);
reports(
  "spliced out of lists in a list, and ended",
  atlas(
    `for (const maps of this.#maps)
      for (const map of maps.splice(0, maps.length - keep)) map.dispose();`,
  ),
  [],
);
reports(
  "ended before they are spliced out of lists in a list",
  atlas(
    `for (const maps of this.#maps) {
      for (const map of maps.slice(0, keep)) map.dispose();
      maps.splice(0, keep);
    }`,
  ),
  [],
);

/** TensorFlow.js in plain JavaScript. */
const frames = (drop: string): string => `
import * as tf from "@tensorflow/tfjs-core";
export class Frames {
  constructor() { this.frames = []; }
  add(image) {
    this.frames.push(tf.browser.fromPixels(image));
    ${drop}
    this.show();
  }
  show() { const last = this.frames[this.frames.length - 1]; console.log(last.shape); }
  dispose() { for (const frame of this.frames) frame.dispose(); this.frames = []; }
}`;

reports(
  "frames shifted in a loop before a look, in TensorFlow.js",
  frames("while (this.frames.length > 4) this.frames.shift();"),
  [shifted],
  "script.js",
);
reports(
  "frames shifted and ended, in TensorFlow.js",
  frames("while (this.frames.length > 4) this.frames.shift().dispose();"),
  [],
  "script.js",
);

/** A table whose entries hold a tensor and the function that ends it. */
const entries = (drop: string): string => `
import type { Tensor } from "tenure";
const table = new Map<string, { value: Tensor; key: string; end: () => void }>();
export function drop(key: string, later: (end: () => void) => void): void {
  const entry = table.get(key);
  if (!entry) return;
  ${drop}
  table.delete(key);
}
`;
const deleted =
  "no-dropped-element: The tensor under this key is dropped without being disposed; " +
  "dispose it first.";
for (const end of ["entry.end();", "const { end } = entry; end();", "later(entry.end);"])
  reports(`an entry that ends itself: ${end}`, entries(end), []);
for (const look of ["console.log(entry.key);", "const { key: k } = entry; console.log(k);"])
  reports(`an entry that is looked at: ${look}`, entries(look), [deleted]);

test.run();
