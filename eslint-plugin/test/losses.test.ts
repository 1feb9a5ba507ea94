/**
 * Losses and metrics of TensorFlow.js programs, which models call in scopes of their own. Each is a
 * program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("losses");
const finds = marked(test);

/** A call of the loss itself, outside of any scope. */
const score = `
exports.score = (x, y) => {
  const loss = dice(tf.tensor(x), tf.tensor(y)); // !
  const found = loss.dataSync();
  loss.dispose();
  return found;
};`;

/** A function that leaves what it makes on the way, and a model that may be given it. */
const program = (config: string): string => `
function dice(labels, found) {
  const both = labels.mul(found).sum();
  return both.mul(2).div(labels.add(found).sum());
}
const power = (n) => (labels, found) => {
  const off = tf.sub(labels, found);
  return off.abs().pow(n).mean();
};
class Trainer {
  constructor() {
    this.model = tf.sequential();
    const byName = { a: dice, b: power(2) };
    this.model.compile({ optimizer: "adam", ${config} });
  }
  measure(labels, found) {
    const off = tf.sub(labels, found);
    return off.abs().mean();
  }
  dispose() { this.model.dispose(); }
}
exports.Trainer = Trainer;`;
finds("in lists", program("loss: [dice, power(2)], metrics: [this.measure]"), "tfjs");
finds("bound", program("loss: byName, metrics: this.measure.bind(this)"), "tfjs");

/** What a library offers. */
const offered = (labels: string, found: string): string => `
exports.dice = dice;
exports.smooth = (n) => function (${labels}, ${found}) {
  const off = tf.sub(${labels}, ${found});
  return off.abs().add(n).log().mean();
};
function dice(${labels}, ${found}) {
  const both = ${labels}.mul(${found}).sum();
  return both.mul(2).div(tf.add(${labels}, ${found}).sum());
}`;
finds("by their names", offered("yTrue", "yPred"), "tfjs");
finds("by other names of the kind", offered("y_true", "y_pred"), "tfjs");
finds(
  "called for itself, too",
  `
function dice(labels, found) {
  const both = labels.mul(found).sum(); // !
  return both.mul(2).div(labels.add(found).sum()); // !
}
const model = tf.sequential();
model.compile({ optimizer: "adam", loss: dice });
${score}`,
  "tfjs",
);
finds(
  "called alone",
  `
function dice(yTrue, yPred) {
  const both = yTrue.mul(yPred).sum(); // !
  return both.mul(2).div(yTrue.add(yPred).sum()); // !
}
${score}`,
  "tfjs",
);
finds(
  "not given to a model",
  `
exports.dice = function (a, b) {
  const both = tf.mul(a, b).sum(); // !
  return both.mul(2).div(tf.add(a, b).sum()); // !
};`,
  "tfjs",
);
finds(
  "given to something else",
  `
exports.make = (shader) => shader.compile({ optimizer: 1, other: dice });
function dice(a, b) {
  const both = tf.mul(a, b).sum(); // !
  return both.mul(2).div(tf.add(a, b).sum()); // !
}`,
  "tfjs",
);

test.run();
