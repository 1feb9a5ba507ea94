/**
 * Models of TensorFlow.js: one that is made once may last as long as the program; those made again
 * and again and lost are reported. Each case is a script for the preset `tfjs`.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("models");

addScripts(test, {
  "models made in a loop": `
async function search(rows, sizes) {
  let best = Infinity;
  for (const units of sizes) {
    const model = tf.sequential(); // ~ require-disposal
    model.add(tf.layers.dense({ units, inputShape: [2] }));
    model.compile({ optimizer: "sgd", loss: "meanSquaredError" });
    const h = await model.fit(rows, rows);
    best = Math.min(best, h.history.loss[0]);
  }
  for (const units of sizes) {
    const model = tf.sequential();
    model.add(tf.layers.dense({ units, inputShape: [2] }));
    best = Math.min(best, model.countParams());
    model.dispose();
  }
  return best;
}
search(window.rows, [1, 2]);`,
  "models that a function of the program makes": `
function build(n) {
  const input = tf.input({ shape: [n] });
  return tf.model({ inputs: input, outputs: tf.layers.dense({ units: 1 }).apply(input) });
}
async function compare(rows) {
  const sizes = [];
  while (sizes.length < 3) {
    const model = build(rows.length); // ~ require-disposal
    sizes.push(model.countParams());
  }
  return sizes;
}
compare([1, 2]);`,
  "models made for what happens": `
let trained = null;
let kept = null;
async function onTrain() {
  trained = tf.sequential(); // ~ no-overwritten-tensor
  trained.compile({ optimizer: "sgd", loss: "meanSquaredError" });
}
async function onKeep() {
  if (kept) kept.dispose();
  kept = tf.sequential();
}
async function onSummary() {
  const model = await tf.loadLayersModel("model.json"); // ~ require-disposal
  model.summary();
}
document.body.onclick = onTrain;
document.body.onblur = onKeep;
document.body.onfocus = onSummary;`,
  "models that last as long as the program": `
const tf = require("@tensorflow/tfjs");
let model;
async function run() {
  const other = tf.sequential();
  other.add(tf.layers.dense({ units: 1, inputShape: [1] }));
  other.compile({ optimizer: "sgd", loss: "meanSquaredError" });
  await other.save("file://model");
}
async function load() {
  model = await tf.loadLayersModel("file://model.json");
  return model;
}
run().then(load);
class Detector {
  async initialise(path) {
    this.model = await tf.loadGraphModel(path);
  }
  async graphModelInit(path) {
    this.other = await tf.loadGraphModel(path);
  }
}
module.exports = { Detector };`,
  "models that others go on using": `
async function onChoose(url, register, list) {
  const base = await tf.loadLayersModel(url);
  const cut = tf.model({ inputs: base.inputs, outputs: base.getLayer("last").output });
  const after = tf.sequential({ layers: [...base.layers] });
  const joined = tf.sequential();
  joined.add(list[0]);
  const encoder = tf.sequential();
  const whole = tf.sequential();
  whole.add(encoder);
  register(whole);
  list.push(cut);
  const own = tf.sequential();
  return own;
}
const loading = new Map();
function getModel(name) {
  if (!loading.has(name)) loading.set(name, tf.loadLayersModel(name));
  return loading.get(name);
}
document.body.onclick = () => onChoose("a", window.register, []).then(getModel);`,
  "a model that a class makes and its end forgets": `
class Net {
  constructor() {
    this.model = tf.sequential(); // ~ require-member-disposal
    this.mean = tf.tensor1d([1, 2]);
  }
  run(rows) {
    return tf.tidy(() => this.model.predict(tf.tensor2d(rows)).dataSync());
  }
  dispose() {
    this.mean.dispose();
  }
}
window.net = new Net();`,
});

test.run();
