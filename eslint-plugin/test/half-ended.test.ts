/**
 * Records of which a function ends some fields and forgets the others, in Tenure, TensorFlow.js and
 * WebGPU. `// ~` and a text say what must be reported in a line; nothing else may be.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lint, projectDir } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

const test = suite("half-ended records");
const { rules } = plugin.configs.recommended;

/** Lints a program, after some lines that go before it, and compares the reports with its marks. */
function program(name: string, code: string, { head = tenure, file = "file.ts" } = {}): void {
  test(name, () => {
    const text = `${head}${code}`;
    const presets = head === gpu ? ["webgpu"] : undefined;
    const settings = presets ? { presets } : undefined;
    const found = lint(text, { rules, file: projectDir + file, ...(settings ? { settings } : {}) });
    const told = found.map(({ line, message }) => `${String(line)} ${message}`);
    const marks = text.split("\n").flatMap((line, i) => {
      const mark = /\/\/ ~ (.*)$/.exec(line)?.[1];
      return mark === undefined ? [] : [{ line: i + 1, mark }];
    });
    const lines = marks.map(({ line }) => line);
    assert.equal(
      found.map(({ line }) => line),
      lines,
      told.join("\n"),
    );
    marks.forEach(({ mark }, at) => assert.ok(found[at]?.message.includes(mark), told.join("\n")));
  });
}

const tenure = 'import { zeros, type Tensor } from "tenure";\n';
const tf = 'import * as tf from "@tensorflow/tfjs";\n';
const gpu = `export {};\n${gpuTypes}`;
const script = { head: tf, file: "script.js" };

// ---- loops over what is emptied ----

const entries = `
interface Entry { keys: Tensor; values: Tensor }
class Cache {
  readonly entries: (Entry | null)[] = [];
  set(i: number, keys: Tensor, values: Tensor): void { this.entries[i] = { keys, values }; }
`;
program(
  "a loop over all that an object holds, where it ends",
  `${entries}
  [Symbol.dispose](): void {
    for (const entry of this.entries) {
      entry?.keys.dispose(); // ~ \`entry?.keys\` is disposed here but not \`entry.values\`
    }
    this.entries.fill(null);
  }
}
export const make = () => new Cache();`,
);
program(
  "two loops, or other names for what they go over",
  `${entries}
  [Symbol.dispose](): void {
    for (const entry of this.entries) entry?.keys.dispose();
    for (const entry of this.entries) entry?.values.dispose();
    this.entries.fill(null);
  }
}
class Other {
  readonly entries: Entry[] = [];
  readonly all: Tensor[] = [];
  set(x: Tensor): void { this.entries.push({ keys: x.neg(), values: x.abs() }); }
  dispose(): void {
    const rest = this.entries.map((e) => e.values);
    for (const entry of this.entries) entry.keys.dispose();
    for (const t of rest) t.dispose();
    this.entries.length = 0;
  }
}
class Third {
  readonly entries: Entry[] = [];
  set(x: Tensor): void { this.entries.push({ keys: x.neg(), values: x.abs() }); }
  dispose(): void {
    for (const { keys } of this.entries) keys.dispose();
    this.#rest();
    this.entries.length = 0;
  }
  #rest(): void { this.entries.forEach((e) => { e.values.dispose(); }); }
}
export const make = () => [new Cache(), new Other(), new Third()];`,
);
program(
  "a loop over a table of the file",
  `
interface Basis { cos: Tensor; sin: Tensor }
const bases = new Map<number, Basis>();
export function basisOf(n: number): Basis {
  let basis = bases.get(n);
  if (basis === undefined) {
    basis = { cos: zeros([n]), sin: zeros([n]) };
    bases.set(n, basis);
  }
  return basis;
}
export function dropBases(): void {
  for (const { cos } of bases.values()) {
    cos.dispose(); // ~ \`cos\` is disposed here but not \`sin\`
  }
  bases.clear();
}`,
);
program(
  "a loop that leaves what is lent, or the table as it is",
  `
interface Basis { cos: Tensor; sin: Tensor }
const bases = new Map<number, Basis>();
export function add(n: number, sin: Tensor): void { bases.set(n, { cos: zeros([n]), sin }); }
export function reset(): void {
  for (const { cos } of bases.values()) cos.dispose();
  bases.clear();
}
interface Pair { a: Tensor; b: Tensor }
const pairs: Pair[] = [];
export function put(x: Tensor): void { pairs.push({ a: x.neg(), b: x.abs() }); }
export function refresh(): void {
  for (const pair of pairs) {
    pair.a.dispose();
    pair.a = zeros([1]);
  }
}
export function end(): void {
  for (const { a, b } of pairs) { a.dispose(); b.dispose(); }
  pairs.length = 0;
}`,
);
program(
  "a loop in plain JavaScript",
  `
const pools = new Map();
export function poolOf(n) {
  if (!pools.has(n)) pools.set(n, { sums: tf.zeros([n]), counts: tf.zeros([n]) });
  return pools.get(n);
}
export function disposePools() {
  for (const { sums, counts } of pools.values()) { sums.dispose(); counts.dispose(); }
  pools.clear();
}`,
  script,
);
program(
  "a loop over GPU objects",
  `
interface Slot { read: GPUBuffer; write: GPUBuffer }
const slots: Slot[] = [];
export function add(device: GPUDevice): void {
  const write = device.createBuffer({ size: 4 });
  slots.push({ read: device.createBuffer({ size: 4 }), write });
}
export function endSlots(): void {
  for (const slot of slots) slot.read.destroy(); // ~ destroyed here but not \`slot.write\`
  slots.length = 0;
}`,
  { head: gpu },
);

// ---- the fields of a literal that is gone through ----

program(
  "a list of some fields that is gone through",
  `
interface Parameters { readonly means: Tensor; readonly shares: Tensor; readonly variance: Tensor }
class Mixture {
  readonly #parameters: Parameters; // ~ is disposed nowhere
  constructor(parameters: Parameters) { this.#parameters = parameters; }
  static fit(n: number): Mixture {
    return new Mixture({ means: zeros([n]), shares: zeros([n]), variance: zeros([]) });
  }
  [Symbol.dispose](): void {
    const { means, shares, variance } = this.#parameters;
    console.log(variance.shape);
    for (const t of [means, shares]) t.dispose(); // ~ disposed here but not \`variance\`
  }
}
class Whole {
  readonly #parameters: Parameters;
  constructor(parameters: Parameters) { this.#parameters = parameters; }
  static fit(n: number): Whole {
    return new Whole({ means: zeros([n]), shares: zeros([n]), variance: zeros([]) });
  }
  [Symbol.dispose](): void {
    const { means, shares, variance } = this.#parameters;
    for (const t of [means, shares, variance]) t.dispose();
  }
}
export const fits = (n: number) => [Mixture.fit(n), Whole.fit(n)];`,
);
program(
  "a field that two records share",
  `
interface Level { own: Tensor; shared: Tensor }
class Levels {
  readonly #all = new Map<string, Level>();
  readonly #shared: Tensor[] = [];
  add(x: Tensor): void {
    const shared = x.neg();
    this.#shared.push(shared);
    this.#all.set("low", { own: x.abs(), shared });
    this.#all.set("high", { own: x.square(), shared });
  }
  remove(name: string): void {
    const level = this.#all.get(name);
    level?.own.dispose();
    this.#all.delete(name);
  }
  dispose(): void {
    for (const { own } of this.#all.values()) own.dispose();
    for (const t of this.#shared) t.dispose();
  }
}
export const make = () => new Levels();`,
);

// ---- records that are lent, and fields with another owner ----

program(
  "a record that is lent before it goes, or kept by a call",
  `
interface Belief { mean: Tensor; cov: Tensor }
const correct = (b: Belief, at: Tensor): Belief => ({ mean: b.mean.add(at), cov: b.cov.mul(at) });
const trail: Tensor[] = [];
const note = (b: Belief): void => { trail.push(b.cov); };
export const clear = (): void => { for (const t of trail.splice(0)) t.dispose(); };
class Track {
  #belief: Belief = { mean: zeros([2]), cov: zeros([2, 2]) };
  absorb(at: Tensor): void {
    const before = this.#belief;
    this.#belief = correct(before, at);
    before.mean.dispose(); // ~ \`before.mean\` is disposed here but not \`before.cov\`
  }
  dispose(): void { this.#belief.mean.dispose(); this.#belief.cov.dispose(); }
}
class Noted {
  #belief: Belief = { mean: zeros([2]), cov: zeros([2, 2]) };
  absorb(at: Tensor): void {
    const before = this.#belief;
    this.#belief = correct(before, at);
    note(before);
    before.mean.dispose();
  }
  dispose(): void { this.#belief.mean.dispose(); this.#belief.cov.dispose(); }
}
export const make = () => [new Track(), new Noted()];`,
);
const heads = `import { Linear } from "tenure/nn";
import { Adam } from "tenure/optim";
interface Head { layer: Linear; optimizer: Adam; running: Tensor; difficulty?: Tensor }
class Tasks {
  readonly #heads: Partial<Record<string, Head>> = {};
  add(name: string): void {
    const layer = new Linear(2, 1);
    const optimizer = new Adam(layer.parameters());
    const head = { layer, optimizer, running: zeros([]) };
    this.#heads[name] = name === "hard" ? { ...head, difficulty: zeros([2]) } : head;
  }
`;
program(
  "an optimizer beside tensors",
  `${heads}
  retire(name: string): void {
    const head = this.#heads[name];
    if (head === undefined) return;
    head.layer.dispose();
    head.running.dispose();
    head.difficulty?.dispose();
    delete this.#heads[name]; // ~ \`head.difficulty\` is disposed here but not \`head.optimizer\`
  }
}
export const make = () => new Tasks();`,
);
program(
  "a field that some literals alone have",
  `${heads}
  retire(name: string): void {
    const head = this.#heads[name];
    if (head === undefined) return;
    head.layer.dispose();
    head.optimizer.dispose();
    head.running.dispose();
    delete this.#heads[name]; // ~ \`head.running\` is disposed here but not \`head.difficulty\`
  }
}
export const make = () => new Tasks();`,
);
program(
  "all of a record, or a model that is lent to it",
  `${heads}
  retire(name: string): void {
    const head = this.#heads[name];
    if (head === undefined) return;
    head.optimizer.dispose();
    head.layer.dispose();
    head.running.dispose();
    head.difficulty?.dispose();
    delete this.#heads[name];
  }
}
interface Run { model: Linear; loss: Tensor; best: Tensor }
const runs: Record<string, Run> = {};
export const start = (name: string, model: Linear): void => {
  runs[name] = { model, loss: zeros([]), best: zeros([]) };
};
export function stop(name: string): void {
  const run = runs[name];
  if (run === undefined) return;
  run.loss.dispose();
  run.best.dispose();
  delete runs[name];
}
export const make = () => new Tasks();`,
);

program(
  "what records of another type have beside the same fields",
  `import { Linear } from "tenure/nn";
interface State { hidden: Tensor; cell: Tensor }
interface Step extends State { prediction: Tensor; model: Linear }
export function step(x: Tensor): Step {
  return { hidden: x.neg(), cell: x.abs(), prediction: x.exp(), model: new Linear(1, 1) };
}
class Carry {
  #state: State | undefined;
  advance(x: Tensor): void {
    const before = this.#state;
    this.#state = { hidden: x.neg(), cell: x.abs() };
    before?.hidden.dispose();
    before?.cell.dispose();
  }
  [Symbol.dispose](): void { this.#state?.hidden.dispose(); this.#state?.cell.dispose(); }
}
export const make = () => new Carry();`,
);

test.run();
