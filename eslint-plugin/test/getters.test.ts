/**
 * Fields that the end of an object ends by what a getter of its class gives, and close by each what
 * the getter leaves out, what is only looked at and what is ended of one place alone.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("getters");
const finds = marked(test);

/** A layer of two tensors; marks for the first and the second. */
const layer = (getter: string, end: string, first = "", second = ""): string => `
import { randn, zeros, type Tensor } from "tenure";
const free = (ts: readonly Tensor[]): void => { for (const t of ts) t.dispose(); };
const total = (ts: readonly Tensor[]): number => ts.reduce((n, t) => n + t.size, 0);
export class Layer implements Disposable {
  readonly weight: Tensor = randn([2, 2]);${first}
  readonly bias: Tensor | null = zeros([2]);${second}
  ${getter}
  [Symbol.dispose](): void { ${end} }
}
console.log(free, total);
`;
const mark = " // !";
const both = "get all(): (Tensor | null)[] { return [this.weight, this.bias]; }";
const sure = both.replace("(Tensor | null)[]", "Tensor[]").replace("this.bias", "this.bias!");
finds("a list that a loop ends", layer(both, "for (const t of this.all) t?.dispose();"));
finds("one by its symbol", layer(sure, "for (const t of this.all) t[Symbol.dispose]();"));
finds("one by `forEach`", layer(both, "this.all.forEach((t) => t?.dispose());"));
finds("one by a function", layer(sure, "free(this.all);"));
finds(
  "one by another name",
  layer(sure, "const all = [...this.all]; all.map((t) => t.dispose());"),
);
finds(
  "what is filled bit by bit",
  layer(
    "get all() { const all = [this.weight]; if (this.bias) all.push(this.bias); return all; }",
    "for (const t of this.all) t.dispose();",
  ),
);
finds(
  "what another getter and a method give",
  layer(
    `get all(): Tensor[] { return [...this.own, ...this.rest()]; }
  get own(): Tensor[] { return [this.weight]; }
  rest(): Tensor[] { return this.bias ? [this.bias] : []; }`,
    "for (const t of this.all) t.dispose();",
  ),
);
finds(
  "a getter that leaves one out",
  layer("get all(): Tensor[] { return [this.weight]; }", "free(this.all);", "", mark),
);
finds(
  "one that looks at the other",
  layer(
    "get all(): Tensor[] { console.log(this.bias?.shape); return [this.weight]; }",
    "free(this.all);",
    "",
    mark,
  ),
);
const look = "for (const t of this.all) console.log(t?.shape);";
finds("a list that is only looked at", layer(both, look, mark, mark));
finds("one that a function looks at", layer(sure, "console.log(total(this.all));", mark, mark));
finds("one of which one is ended", layer(sure, "this.all[0]!.dispose();", "", mark));
finds(
  "a getter that gives another tensor",
  layer("get all(): Tensor { return this.weight.neg(); }", "this.all.dispose();", mark, mark),
);
const parts = "get parts() { return { weight: this.weight, bias: this.bias! }; }";
finds(
  "a record that is unpacked",
  layer(parts, "const { weight, bias } = this.parts; weight.dispose(); bias.dispose();"),
);
finds(
  "one that is unpacked in part",
  layer(parts, "const { weight } = this.parts; weight.dispose();", "", mark),
);
finds("the values of one", layer(parts, "free(Object.values(this.parts));"));

finds(
  "a getter that an heir adds to",
  `
import { randn, type Tensor } from "tenure";
class Base implements Disposable {
  readonly a: Tensor = randn([2]);
  get all(): Tensor[] { return [this.a]; }
  [Symbol.dispose](): void { this.all.forEach((t) => t.dispose()); }
}
export class Heir extends Base {
  readonly b: Tensor = randn([2]);
  readonly c: Tensor = randn([2]); // !
  override get all(): Tensor[] { return [...super.all, this.b]; }
  override [Symbol.dispose](): void { this.all.forEach((t) => t.dispose()); }
}`,
);

/** The same in a script. */
const cell = (getter: string, end: string, first = "", second = ""): string => `
export class Cell {
  constructor(n) {
    this.w = tf.zeros([n, n]);${first}
    this.b = tf.zeros([n]);${second}
  }
  ${getter}
  dispose() { ${end} }
}`;
const list = "get all() { return [this.w, this.b]; }";
const record = "get all() { return { w: this.w, b: this.b }; }";
finds("a list of a script", cell(list, "tf.dispose(this.all);"), "tfjs");
finds("a record of one", cell(record, "tf.dispose(this.all);"), "tfjs");
finds("its values", cell(record, "Object.values(this.all).forEach((t) => t.dispose());"), "tfjs");
finds("a part of it", cell(record, "this.all.w.dispose();", "", mark), "tfjs");
finds("a list by a name", cell(list, "this.all.forEach(tf.dispose);"), "tfjs");
finds(
  "a list that is shown",
  cell(list, "console.log(this.all.length); this.all.map((t) => t.shape);", mark, mark),
  "tfjs",
);

const net = (getter: string, end: string, left = ""): string => `
export class Net {
  constructor(sizes) {
    this.layers = sizes.map((n) => ({ w: tf.zeros([n, n]), b: tf.zeros([n]) }));${left}
  }
  get tensors() { return ${getter}; }
  dispose() { ${end} }
}`;
const each = "this.tensors.forEach((t) => t.dispose());";
finds("parts of records", net("this.layers.flatMap(({ w, b }) => [w, b])", each), "tfjs");
finds("one part of each", net("this.layers.map(({ w }) => w)", each, mark), "tfjs");
finds("all values of each", net("this.layers.flatMap((l) => Object.values(l))", each), "tfjs");

const model = (end: string, left = ""): string => `
export class Net {
  #model = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2] })] });${left}
  get model() { return this.#model; }
  dispose() { ${end} }
}`;
finds("a model of a script", model("this.model.dispose();"), "tfjs");
finds("a model that is asked", model("this.model.summary();", mark), "tfjs");

test.run();
