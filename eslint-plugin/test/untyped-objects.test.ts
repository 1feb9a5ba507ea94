/**
 * Scripts without types whose objects hold tensors: prototypes, tables that start empty, records of
 * a module, lists of several things, layers, and values known by the methods they are joined with.
 * Each case is a script; `~` marks a line on which something is reported.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("untyped objects");

/** Scripts by name; a line with `// ~ rule` has exactly that report. */
const scripts: Record<string, string> = {
  "objects whose fields the constructor declares": `
const tf = require("@tensorflow/tfjs-core");
class Mean {
  constructor() { this.sum = tf.scalar(0); }
  dispose() { this.sum.dispose(); }
}
class Tracker {
  constructor() {
    /** @type {Map<string, Mean>} */
    this.means = new Map();
  }
  log(name) {
    this.means.set(name, new Mean()); // ~ no-overwritten-tensor
  }
  drop(name) {
    this.means.delete(name); // ~ no-dropped-element
  }
  end(name) {
    this.means.get(name)?.dispose();
    this.means.delete(name);
  }
}
exports.tracker = new Tracker();`,
  "a table of a prototype": `
const tf = require("@tensorflow/tfjs-core");
function Knn() {
  this.rows = {};
}
Knn.prototype.embed = function (pixels) {
  return tf.tensor1d(pixels);
};
Knn.prototype.add = function (pixels, label) {
  const row = this.embed(pixels);
  if (this.rows[label]) {
    this.rows[label] = this.rows[label].concat(row, 0); // ~ no-overwritten-tensor
    row.dispose();
  } else {
    this.rows[label] = row;
  }
};
Knn.prototype.ask = function (pixels) {
  const row = this.embed(pixels); // ~ require-disposal
  return row.dataSync();
};
Knn.prototype.clear = function (label) {
  delete this.rows[label]; // ~ no-dropped-element
};
module.exports = Knn;`,
  "a table of a prototype that is emptied": `
const tf = require("@tensorflow/tfjs-core");
function Knn() {
  this.rows = {};
}
Knn.prototype.add = function (pixels, label) {
  const row = tf.tensor1d(pixels);
  if (this.rows[label]) {
    const old = this.rows[label];
    this.rows[label] = old.concat(row, 0);
    old.dispose();
    row.dispose();
  } else {
    this.rows[label] = row;
  }
};
Knn.prototype.clear = function (label) {
  this.rows[label].dispose();
  delete this.rows[label];
};
module.exports = Knn;`,
  "kept values": `
const tf = require("@tensorflow/tfjs-core");
class Samples {
  constructor() {
    this.xs = null;
  }
  add(x) {
    if (this.xs == null) {
      this.xs = tf.keep(x);
    } else {
      this.xs = tf.keep(this.xs.concat(x, 0)); // ~ no-overwritten-tensor
    }
  }
}
exports.samples = new Samples();`,
  "two variables that are filled together": `
const tf = require("@tensorflow/tfjs-core");
let xs = null;
let ys = null;
function add(row, label) {
  const x = tf.tensor1d(row);
  const y = tf.tensor1d(label);
  if (xs === null) {
    xs = x;
    ys = y;
  } else {
    xs = xs.concat(x, 0); // ~ no-overwritten-tensor
    ys = ys.concat(y, 0); // ~ no-overwritten-tensor
    x.dispose();
    y.dispose();
  }
}
setInterval(() => add([1], [2]), 100);`,
  "methods that join two values": `
const tf = require("@tensorflow/tfjs-core");
exports.noise = (model) => (x) => {
  const level = tf.scalar(0.1); // ~ require-disposal
  const values = x.mul(level).dataSync(); // ~ no-leaked-temporary
  return values[0];
};`,
  "results that are used as only tensors are": `
const tf = require("@tensorflow/tfjs-core");
exports.crop = function (image) {
  return image.slice([0, 0], [8, 8]).expandDims(0); // ~ no-leaked-temporary
};
exports.names = function (list) {
  return list.slice(1).reverse().concat(["end"]).fill("x");
};`,
  "records that a generator yields": `
const tf = require("@tensorflow/tfjs-core");
async function* batches(rows) {
  for (const row of rows) yield { xs: tf.tensor1d(row), ys: tf.ones([1]) };
}
exports.fit = async (model, rows) => {
  for await (const batch of batches(rows)) {
    await model.trainOnBatch(batch.xs, batch.ys);
    batch.xs.dispose();
    batch.ys.dispose();
  }
};
exports.fitAndForget = async (model, rows) => {
  for await (const batch of batches(rows)) { // ~ require-disposal
    await model.trainOnBatch(batch.xs, batch.ys);
    batch.xs.dispose();
  }
};`,
  "names that nobody declares": `
const tf = require("@tensorflow/tfjs-core");
function frame(pixels) {
  current = tf.tensor1d(pixels); // ~ no-overwritten-tensor
  if (ended) ended.dispose();
  ended = tf.tensor1d(pixels);
  shown = tf.tensor1d(pixels);
  show(shown);
}
function values() {
  return current.dataSync();
}
setInterval(() => frame([1]), 100);`,
  "properties of an object of the module": `
const tf = require("@tensorflow/tfjs-core");
const state = { current: null, mask: null };
const app = {
  last: null,
  tick() {
    this.last = tf.tensor1d([1]); // ~ no-overwritten-tensor
    console.log(this.last.shape);
  },
};
function update(frame) {
  state.current = tf.tensor1d(frame); // ~ no-overwritten-tensor
  if (state.mask) state.mask.dispose();
  state.mask = tf.tensor1d(frame);
}
setInterval(() => {
  update([1]);
  app.tick();
}, 100);`,
  "features for a classifier": `
const tf = require("@tensorflow/tfjs-core");
exports.add = (model, classifier, image, label) => {
  const features = model.infer(image, true); // ~ require-disposal
  classifier.addExample(features, label);
};
exports.ask = async (model, classifier, image) => {
  const features = model.infer(image, true);
  const { label } = await classifier.predictClass(features);
  features.dispose();
  return label;
};`,
  "a list of tensors and other things": `
const load = async (rows) => {
  const xs = tf.tensor1d(rows);
  const ys = tf.tensor1d(rows);
  return [xs, ys, rows.map(String), rows.length];
};
export async function start(model, rows) {
  const [xs, ys, words, count] = await load(rows); // ~ require-disposal
  await model.fit(xs, ys);
  ys.dispose();
  return words.slice(count);
}`,
  "a layer's call, which its model runs in a scope": `
tf.added = {};
tf.added.Twice = class Twice extends tf.layers.Layer {
  call(inputs) {
    const ones = tf.ones([2]).expandDims(0);
    return inputs[0].add(ones);
  }
  size() {
    return tf.ones([2]).expandDims(0).size; // ~ no-leaked-temporary
  }
};
export const run = () => tf.tidy(() => new tf.added.Twice());`,
};

addScripts(test, scripts);
test.run();
