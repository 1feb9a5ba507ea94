/**
 * What programs of strangers do with Tenure that is right or leaks: tables of old values, rings,
 * scopes that have what they attach, values that are carried over, what is picked and scored.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("programs of strangers with Tenure");
const finds = marked(test);

const head = `import { type Tensor, concat, newDisposeScope, rand, zeros } from "tenure";
import { Linear, Module } from "tenure/nn";
import { SGD } from "tenure/optim";
export const used = [concat, newDisposeScope, rand, zeros, Linear, Module, SGD];
`;
const program = (name: string, code: string): void => {
  finds(name, head + code);
};

// ---- tables ----

const table = (body: string, params: string): string => `export class Table {
  readonly #all = new Map<string, Tensor>();
  update(${params}) { ${body} }
  dispose() { for (const t of this.#all.values()) t.dispose(); this.#all.clear(); }
}`;
const average = (end: string): string => `for (const [name, p] of ps) {
    const old = this.#all.get(name)!;
    using a = old.mul(0.9);
    this.#all.set(name, a.add(p)); ${end}
  }`;
const lost = "// !";
program("an average takes the old one's place", table(average(lost), "ps: Map<string, Tensor>"));
program(
  "an average, and the old one ended",
  table(average("old.dispose();"), "ps: Map<string, Tensor>"),
);
program(
  "what was detached from its scope",
  table(`this.#all.set(n, p.clone().detachFromScope()); ${lost}\n`, "n: string, p: Tensor"),
);
program(
  "what has no gradient",
  table(`this.#all.set(n, p.detach().clone()); ${lost}\n`, "n: string, p: Tensor"),
);
const names = (how: string, end = ""): string =>
  `${how} { for (const [n, p] of m.namedParameters()) this.#all.set(n, p.clone()); ${end}\n }`;
const snapshot = (method: string): string => `export class Best {
  readonly #all = new Map<string, Tensor>();
  ${method}
  dispose() { for (const t of this.#all.values()) t.dispose(); this.#all.clear(); }
}`;
program("the weights of a model, again", snapshot(names("see(m: Linear)", lost)));
program("the weights of a model, once", snapshot(names("constructor(m: Linear)")));
const first = names("see(m: Linear)").replace("for", "if (this.#all.size > 0) return; for");
program("the weights of a model, the first time", snapshot(first));
program(
  "old entries that are in a copy",
  snapshot(`add(n: string, t: Tensor) { if (!this.#all.has(n)) this.#all.set(n, t.clone()); }
  decay() {
    const before = [...this.#all.values()];
    for (const [n, old] of this.#all) this.#all.set(n, old.mul(0.9));
    for (const t of before) t.dispose();
  }`),
);
program(
  "ends of several owners' things",
  `export class Watch {
  readonly #all = new Map<string, Tensor>();
  readonly #hooks: Disposable[] = [];
  add(n: string) { if (!this.#all.has(n)) this.#all.set(n, rand([1])); }
  dispose() {
    for (const end of [...this.#hooks, ...this.#all.values()]) end[Symbol.dispose]();
    this.#all.clear();
  }
}`,
);

// ---- lists ----

const history = (cut: string): string => `export class History {
  #all: Tensor[] = [];
  #at = -1;
  push(image: Tensor) { ${cut}
    this.#all.push(image.clone()); this.#at++; }
  undo() { if (this.#at > 0) this.#at--; return this.#all[this.#at]?.alias(); }
  clear() { for (const t of this.#all) t.dispose(); this.#all = []; this.#at = -1; }
}`;
program("what was undone is cut off", history(`this.#all.length = this.#at + 1; ${lost}`));
program(
  "what was undone is ended",
  history("for (const t of this.#all.splice(this.#at + 1)) t.dispose();"),
);

const pick = (
  rest: string,
  mark = "",
): string => `export function pick(ns: number[], best: number) {
  const all = ns.map((n) => rand([n])); ${mark}
  ${rest}
}`;
program("one of a list is returned", pick("return all[best]!;", lost));
program(
  "one of a list, the others ended",
  pick("all.forEach((t, i) => { if (i !== best) t.dispose(); });\nreturn all[best]!;"),
);
program(
  "a window that is emptied",
  `export async function* run(source: AsyncIterable<Tensor>) {
  const window: Tensor[] = [];
  try {
    for await (const t of source) { if (t.size > 3) window.length = 0; // !
      window.push(t); yield t.size; }
  } finally { for (const t of window) t.dispose(); }
}`,
);

// ---- scopes ----

const taken = (attach: string): string => `function mean(rows: readonly Tensor[]): Tensor {
  using scope = newDisposeScope();
  const parts = rows.map((row) => ${attach}.neg());
  return scope.moveToOuter(concat(parts));
}`;
program(
  "a scope has what it attaches in passing",
  `${taken("scope.attach(row)")}
export function run() { using t = mean([rand([1]), rand([2])]); return t.size; }`,
);
program(
  "a scope that attaches nothing",
  `${taken("row")}
export function run() { using t = mean([rand([1]), rand([2])]); return t.size; } // !`,
);

const filter = (end: string, mark = ""): string => `export function filter() {
  let still = zeros([3]); ${mark}
  const other = zeros([3]);
  return {
    apply(x: Tensor) { using scope = newDisposeScope();
      still = scope.carry(still, x.lerp(still, 0.5));
      return scope.moveToOuter(x.sub(still).add(other)); },
    dispose() { other.dispose(); ${end} },
  };
}`;
program("what is carried over is left by the end", filter("", lost));
program("what is carried over is ended", filter("still.dispose();"));

// ---- modules ----

const trained = (step: string): string => `export class Trainer {
  readonly #model = new Linear(2, 2);
  #optimizer: SGD;
  constructor(lr: number) { this.#optimizer = new SGD(this.#model.parameters(), { lr }); }
  run(losses: number[]) { for (const l of losses) if (l > 3) this.#slow(); }
  #slow() { const { lr } = this.#optimizer; ${step} }
  dispose() { this.#optimizer.dispose(); this.#model.dispose(); }
}`;
const slower = "this.#optimizer = new SGD(this.#model.parameters(), { lr: lr / 2 });";
program("an optimizer takes the old one's place", trained(`${slower} // !\n`));
program("an optimizer, and the old one ended", trained(`this.#optimizer.dispose(); ${slower}`));

const search = (
  end: string,
  mark = "",
): string => `export function search(seeds: number[], train: (m: Linear) => number) {
  let best: Linear | null = null, top = 0;
  for (const seed of seeds) {
    const model = new Linear(8, seed);
    const score = train(model);
    if (score > top) { ${end} best = model; ${mark}
      top = score;
    } else model.dispose();
  }
  return best;
}`;
program("the best so far is forgotten", search("", lost));
program("the best so far is ended", search("best?.dispose();"));

const experts = (
  field: string,
  put: string,
): string => `export class Experts extends Module<[x: Tensor]> {
  readonly experts = ${field};
  constructor(n: number) { super();
    ${put} }
  override forward(x: Tensor): Tensor { return this.first().call(x); }
  first(): Linear { for (const m of this.experts.values()) return m; throw new Error("none"); }
}`;
program(
  "modules in a table",
  experts("new Map<string, Linear>()", 'this.experts.set("a", new Linear(n, 2)); // !\n'),
);
program(
  "modules in a table that are registered",
  experts(
    "new Map<string, Linear>()",
    `this.experts.set("a", new Linear(n, 2));
    for (const [k, m] of this.experts) this.registerModule(k, m);`,
  ),
);
program("modules in a list", experts("[] as Linear[]", "this.experts.push(new Linear(n, 2));"));

test.run();
