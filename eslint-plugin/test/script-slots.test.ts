/**
 * Fields of scripts without classes: functions that are called with `new`, their own methods and
 * those of their prototypes own what they put into fields, as a class does.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("script slots");
const finds = marked(test);

finds(
  "a field of a maker that its own method writes over",
  `function Net(input, hidden) {
  this.input = input;
  this.hidden = hidden;
  this.weights = tf.randomNormal([input, hidden]);
  this.mutate = function (rate) {
    const values = this.weights.dataSync();
    const next = values.map((x) => x * rate);
    this.weights = tf.tensor(next, [this.input, this.hidden]); // !
  };
  this.clone = function () {
    const other = new Net(this.input, this.hidden);
    other.weights = tf.clone(this.weights);
    return other;
  };
}`,
  "tfjs",
);
finds(
  "a field of a prototype",
  `function Mean() { this.value = null; this.count = 0; }
Mean.prototype.add = function (x) {
  this.count += 1;
  if (this.value === null) this.value = tf.clone(x);
  else this.value = this.value.add(x); // !
};
Mean.prototype.get = function () {
  return this.value.dataSync()[0] / this.count;
};`,
  "tfjs",
);
finds(
  "methods of a prototype's object",
  `const Mean = function () { this.value = tf.scalar(0); };
Mean.prototype = {
  add(x) {
    this.value = this.value.add(x); // !
  },
  read: function () { return this.value.dataSync()[0]; },
};`,
  "tfjs",
);
finds(
  "fields that are ended first",
  `function Net(n) {
  this.weights = tf.randomNormal([n]);
  this.step = function (rate) {
    const next = this.weights.mul(rate);
    this.weights.dispose();
    this.weights = next;
  };
  this.dispose = function () { this.weights.dispose(); };
}
function Grid(n) { this.cells = null; this.resize(n); }
Grid.prototype.resize = function (n) {
  if (this.cells) this.cells.dispose();
  this.cells = tf.zeros([n]);
};
Grid.prototype.dispose = function () { this.cells.dispose(); };`,
  "tfjs",
);
finds(
  "fields that others end",
  `function Net(n) {
  this.weights = tf.randomNormal([n]);
  this.load = function (values) { this.weights = tf.tensor(values); };
}
function reload(net, values) {
  net.weights.dispose();
  net.load(values);
}
function Page() { this.frame = null; }
Page.prototype.show = function (canvas) { this.frame = tf.browser.fromPixels(canvas); };
Page.prototype.take = function () {
  const frame = this.frame;
  this.frame = null;
  return frame;
};`,
  "tfjs",
);

test.run();
