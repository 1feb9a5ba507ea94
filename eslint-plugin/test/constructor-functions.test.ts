/**
 * Scripts without classes: functions that are called with `new`, methods of prototypes and of the
 * object itself, and other names of `this`.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("constructor functions");
const finds = marked(test);

finds(
  "a method of a prototype that runs often",
  `function Brain() { this.weights = tf.randomNormal([4, 2]); }
Brain.prototype.mutate = function () {
  this.weights = tf.tidy(() => this.weights.add(1)); // !
};
const brain = new Brain();
function draw() { brain.mutate(); }`,
  "tfjs",
);
finds(
  "a method of a prototype that runs once",
  `function Brain() { this.weights = null; }
Brain.prototype.warm = function () {
  this.weights = tf.tidy(() => tf.zeros([2]).add(1));
};
const brain = new Brain();
brain.warm();`,
  "tfjs",
);
finds(
  "a method of a prototype that ends what was there",
  `function Brain() { this.weights = tf.randomNormal([4, 2]); }
Brain.prototype.mutate = function () {
  const last = this.weights;
  this.weights = tf.tidy(() => last.add(1));
  last.dispose();
};
const brain = new Brain();
function draw() { brain.mutate(); }`,
  "tfjs",
);
finds(
  "a method that the function itself gives",
  `function Brain() {
  this.weights = tf.randomNormal([4, 2]);
  this.mutate = function () {
    this.weights = tf.tidy(() => this.weights.add(1)); // !
  };
}
const brain = new Brain();
function draw() { brain.mutate(); }`,
  "tfjs",
);
finds(
  "another name of `this`",
  `function Brain() {
  const self = this;
  self.weights = tf.randomNormal([4, 2]);
  self.mutate = function () {
    self.weights = tf.tidy(() => self.weights.add(1)); // !
  };
}
const brain = new Brain();
function draw() { brain.mutate(); }`,
  "tfjs",
);
finds(
  "another name of `this` in a class",
  `class Net {
  constructor() { this.last = null; }
  train(xs) {
    const that = this;
    xs.forEach(function (x) {
      that.last = tf.tensor1d(x); // !
    });
  }
  dispose() { if (this.last) this.last.dispose(); }
}
const net = new Net();
function draw() { net.train([[1], [2]]); }`,
  "tfjs",
);
finds(
  "a name that is no `this`",
  `class Net {
  constructor() { this.last = null; }
  train(xs, me) {
    xs.forEach(function (x) {
      me.last.dispose();
      me.last = tf.tensor1d(x);
    });
  }
  dispose() { if (this.last) this.last.dispose(); }
}
const net = new Net();
function draw() { net.train([[1], [2]], net); }`,
  "tfjs",
);
finds(
  "what an object of a module replaces when it is drawn",
  `const brain = {
  weights: null,
  init() { this.weights = tf.randomNormal([4, 2]); },
  mutate() {
    this.weights = tf.tidy(() => this.weights.add(1)); // !
  },
};
brain.init();
function draw() { brain.mutate(); }`,
  "tfjs",
);
finds(
  "sums of a field that is given",
  `class Net {
  constructor(w) { this.w = w; }
  sum() { return tf.tidy(() => this.w.add(tf.randomNormal([2]))); }
  dispose() { this.w.dispose(); }
}
function mean(net) { return tf.tidy(() => net.sum().mean().dataSync()[0]); }`,
  "tfjs",
);

test.run();
