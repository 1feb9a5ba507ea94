/**
 * Fields of new objects that are made over: what a constructor puts into a field is lost where that
 * is given something else at once. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("made over");
const finds = marked(test);

const net = `class Net {
  constructor(n) { this.weights = tf.randomNormal([n]); }
  copy() {
    const other = new Net(3);
    other.dispose();
    other.weights = tf.clone(this.weights);
    return other;
  }
  dispose() { this.weights.dispose(); }
}
`;
finds(
  "a copy whose brain is another's",
  `${net}class Player {
  constructor(size) {
    this.size = size;
    this.brain = new Net(size);
  }
  clone() {
    const copy = new Player(this.size);
    copy.score = 0;
    copy.brain = this.brain.copy(); // !
    return copy;
  }
  dispose() { this.brain.dispose(); }
}`,
  "tfjs",
);
finds(
  "a copy whose brain is ended first",
  `${net}class Player {
  constructor(size) {
    this.size = size;
    this.brain = new Net(size);
  }
  clone() {
    const copy = new Player(this.size);
    copy.brain.dispose();
    copy.brain = this.brain.copy();
    return copy;
  }
  reset() {
    const copy = new Player(this.size);
    copy.dispose();
    copy.brain = this.brain.copy();
    return copy;
  }
  dispose() { this.brain.dispose(); }
}`,
  "tfjs",
);
finds(
  "a tensor of a class with types",
  `import { zeros, type Tensor } from "tenure";
class Row {
  data: Tensor;
  constructor(n: number) {
    this.data = zeros([n]);
  }
  copy(): Row {
    const other = new Row(1);
    other.data = this.data.clone(); // !
    return other;
  }
  dispose(): void {
    this.data.dispose();
  }
}
export const make = (): Row => new Row(3);`,
);
finds(
  "fields that the constructor leaves, may leave or shares",
  `import { zeros, type Tensor } from "tenure";
const all: Tensor[] = [];
class Row {
  data: Tensor | null = null;
  more: Tensor | null = null;
  kept: Tensor;
  constructor(n: number) {
    if (n > 0) this.data = zeros([n]);
    this.kept = zeros([n]);
    all.push(this.kept);
  }
  copy(): Row {
    const other = new Row(0);
    other.data = zeros([2]);
    other.more = zeros([3]);
    other.kept = zeros([4]);
    return other;
  }
  dispose(): void {
    this.data?.dispose();
    this.more?.dispose();
    this.kept.dispose();
  }
}
export const make = (): Row => new Row(3);
export function close(): void {
  for (const t of all.splice(0)) t.dispose();
}`,
);

finds(
  "fields that a constructor fills with what it is given, or makes",
  `class Net {
  constructor(weights) { this.weights = weights || tf.randomNormal([2]); }
  cross(other) {
    const child = new Net();
    child.weights = tf.tidy(() => this.weights.add(other.weights)); // !
    const twin = new Net(tf.zeros([2]));
    twin.weights = this.weights.clone(); // !
    return [child, twin];
  }
  dispose() { this.weights.dispose(); }
}
class Lent {
  constructor(weights) { this.weights = weights || tf.randomNormal([2]); }
  cross(other) {
    const child = new Lent(other.weights);
    child.weights = tf.tidy(() => this.weights.add(other.weights));
    return child;
  }
  dispose() { this.weights.dispose(); }
}`,
  "tfjs",
);
finds(
  "a field of what a new object makes for itself",
  `${net}class Bird {
  constructor() { this.brain = new Net(2); }
  cross(other) {
    const child = new Bird();
    child.brain.weights = tf.tidy(() => other.brain.weights.mul(2)); // !
    const twin = new Bird();
    twin.brain.dispose();
    twin.brain.weights = tf.tidy(() => other.brain.weights.mul(2));
    return [child, twin];
  }
  ended(other) {
    const child = new Bird();
    child.brain.weights.dispose();
    child.brain.weights = tf.tidy(() => other.brain.weights.mul(2));
    const twin = new Bird();
    const old = twin.brain.weights;
    twin.brain.weights = tf.tidy(() => other.brain.weights.mul(2));
    old.dispose();
    return [child, twin];
  }
  dispose() { this.brain.dispose(); }
}`,
  "tfjs",
);
finds(
  "a field of what a function is called with `new` for",
  `function Net() { this.weights = tf.randomNormal([2]); }
Net.prototype.cross = function (other) {
  const child = new Net();
  child.weights = tf.tidy(() => this.weights.add(other.weights)); // !
  return child;
};
Net.prototype.dispose = function () { this.weights.dispose(); };`,
  "tfjs",
);

finds(
  "a field of another object that is read and replaced",
  `${net}class Player {
  constructor(size) { this.brain = new Net(size); }
  mutate(rate) {
    const values = this.brain.weights.dataSync().map((x) => x + rate);
    const { shape } = this.brain.weights;
    this.brain.weights = tf.tensor(values, shape); // !
  }
  dispose() { this.brain.dispose(); }
}`,
  "tfjs",
);
finds(
  "a field of another object that is ended, kept or only filled",
  `${net}class Player {
  constructor(size) { this.brain = new Net(size); this.old = []; }
  mutate(rate) {
    const values = this.brain.weights.dataSync().map((x) => x + rate);
    this.brain.weights.dispose();
    this.brain.weights = tf.tensor(values);
  }
  step(rate) {
    const before = this.brain.weights;
    const values = before.dataSync().map((x) => x + rate);
    this.brain.weights = tf.tensor(values);
    before.dispose();
  }
  renew(rate) {
    const values = this.brain.weights.dataSync().map((x) => x + rate);
    this.brain.dispose();
    this.brain.weights = tf.tensor(values);
  }
  remember(rate) {
    const values = this.brain.weights.dataSync().map((x) => x + rate);
    this.old.push(this.brain.weights);
    this.brain.weights = tf.tensor(values);
  }
  dispose() {
    for (const t of this.old) t.dispose();
    this.brain.dispose();
  }
}`,
  "tfjs",
);

test.run();
