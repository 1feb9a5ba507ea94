/**
 * Plain JavaScript: types from JSDoc, from `require`, from a script tag or from nothing. Each
 * case is a script; `~` marks a line on which something is reported.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("plain JavaScript");

/** Scripts by name; a line with `// ~ rule` has exactly that report. */
const scripts: Record<string, string> = {
  "a function exported by CommonJS": `
const tf = require("@tensorflow/tfjs-core");
async function brightness(pixels) {
  const image = tf.tensor1d(pixels); // ~ require-disposal
  return await image.data();
}
module.exports = { brightness };`,
  "functions that are exported one by one": `
const { tensor1d } = require("@tensorflow/tfjs-core");
exports.size = (pixels) => {
  const image = tensor1d(pixels); // ~ require-disposal
  return image.size;
};
module.exports.rank = function (pixels) {
  const image = tensor1d(pixels); // ~ require-disposal
  return image.rank;
};`,
  "parameters that become tensors": `
const tf = require("@tensorflow/tfjs-core");
function mean(values) {
  values = tf.tensor1d(values); // ~ require-disposal
  return values.size;
}
function column(values) {
  values = tf.tensor1d(values);
  return values;
}
module.exports = { mean, column };`,
  "types from JSDoc": `
/** @typedef {import("@tensorflow/tfjs-core").Tensor} Tensor */
/** @param {Tensor} x */
async function first(x) {
  const values = await x.square().data(); // ~ no-leaked-temporary
  return values[0];
}
module.exports = first;`,
  "variables that start as null": `
const tf = require("@tensorflow/tfjs-core");
let last = null;
let ended = null;
function tick(pixels) {
  last = tf.tensor1d(pixels); // ~ no-overwritten-tensor
  if (ended) ended.dispose();
  ended = tf.tensor1d(pixels);
}
setInterval(tick, 100);`,
  "a script tag": `
async function predict(canvas) {
  const pixels = tf.browser.fromPixels(canvas); // ~ require-disposal
  const values = await tf.image.resizeBilinear(pixels, [8, 8]).data(); // ~ no-leaked-temporary
  return values[0];
}
document.body.onclick = () => predict(document.body);`,
  "objects of a script tag's values": `
function convert(rows) {
  return tf.tidy(() => {
    const inputs = tf.tensor1d(rows);
    return { inputs: inputs.sub(inputs.min()), highest: inputs.max() };
  });
}
const load = (url) => tf.browser.fromPixels(url);
async function pairs(urls) {
  const images = await Promise.all(urls.map(load)); // ~ require-disposal
  return { count: images.length, first: tf.tensor1d(urls), rest: { last: tf.tensor1d(urls) } };
}
async function run(rows, model) {
  const { inputs, highest } = convert(rows); // ~ require-disposal
  await model.fit(inputs, inputs);
  inputs.dispose();
  const { first, rest } = await pairs(rows); // ~ require-disposal
  const data = convert(rows); // ~ require-disposal
  rest.last.dispose();
  data.inputs.dispose();
  return [first.size, data.highest.size, highest.size];
}
document.body.onclick = () => run([1], window.model);`,
  "functions in an object that a framework or another module gets": `
const tf = require("@tensorflow/tfjs-core");
Vue.component("digit", {
  methods: {
    classify(rows) {
      const input = tf.tensor1d(rows); // ~ require-disposal
      return input.size;
    },
  },
});
module.exports = {
  rank(rows) {
    const input = tf.tensor1d(rows); // ~ require-disposal
    return input.rank;
  },
};
async function fit(model, x) {
  await model.fit(x.square().neg(), { // ~ no-leaked-temporary
    callbacks: { onEpochEnd() { tf.tensor1d([1]).size; } }, // ~ no-leaked-temporary
  });
}
window.refit = (x) => fit(window.model, x);`,
  "functions in objects that stay here, or that the library gets": `
const tf = require("@tensorflow/tfjs-core");
const api = { size: (rows) => tf.tensor1d(rows).square().size };
exports.size = (rows) => tf.tidy(() => api.size(rows));
/** @type {import("@tensorflow/tfjs-core").GradConfig} */
exports.config = { gradFunc: (dy) => ({ x: () => dy.square().neg() }) };
tf.registerGradient({ gradFunc: (dy) => ({ x: () => dy.square().neg() }) });`,
  "a minimum that is asked for": `
const optimizer = tf.train.sgd(0.1);
async function step(loss) {
  const last = optimizer.minimize(loss, true); // ~ require-disposal
  optimizer.minimize(loss);
  return last.dataSync();
}
for (const loss of window.losses) await step(loss);`,
  "objects of a script tag's values, freed or handed on": `
const convert = (rows) => ({ inputs: tf.tensor1d(rows), count: rows.length });
function run(rows) {
  const { inputs, count } = convert(rows);
  tf.dispose(inputs);
  const data = convert(rows);
  tf.dispose(data);
  const { count: second } = { count, other: rows };
  return [convert(rows), second];
}
document.body.onclick = () => run([1]);`,
  "a script tag, with a scope and disposals": `
async function predict(canvas) {
  const input = tf.tidy(() => tf.browser.fromPixels(canvas).expandDims(0).div(255));
  const values = await input.data();
  tf.dispose(input);
  const copy = tf.zeros([3]);
  copy.dispose();
  return values[0];
}
document.body.onclick = () => predict(document.body);`,
  "an import that resolves to nothing": `
import * as tf from "https://cdn.jsdelivr.net/npm/@tensorflow/tfjs/+esm";
export function halves(pixels) {
  const [a, b] = tf.split(tf.tensor1d(pixels), 2); // ~ no-leaked-temporary
  const size = a.size;
  a.dispose();
  b.dispose();
  return size;
}`,
  "models of no known type look at tensors and give new ones": `
const models = {};
async function predict(canvas) {
  const input = tf.browser.fromPixels(canvas); // ~ require-disposal
  const output = models.face.predict(input); // ~ require-disposal
  const [boxes] = await models.hand.executeAsync(input); // ~ require-disposal
  return [...(await output.data()), ...(await boxes.data())];
}
document.body.onclick = () => predict(document.body);`,
  "outputs of models that are freed": `
async function predict(model, canvas) {
  const input = tf.browser.fromPixels(canvas);
  const outputs = await model.executeAsync(input);
  const sizes = outputs.map((t) => t.size);
  outputs.forEach((t) => t.dispose());
  const single = model.predict(input);
  const values = await single.data();
  tf.dispose([input, single]);
  return [...sizes, ...values];
}
document.body.onclick = () => predict(window.model, document.body);`,
  "what a helper without types gives": `
const decode = async (bytes) => {
  const pixels = await unpack(bytes);
  return tf.tensor3d(pixels, [2, 2, 3]);
};
const cut = (image) => tf.tidy(() => image.squeeze().div(255));
app.post("/", async (request, response) => {
  const image = await decode(request.body); // ~ require-disposal
  const small = cut(image);
  response.json(await classifier.classify(small));
  small.dispose();
});`,
  "callbacks of strangers, in a scope and out of one": `
const server = require("not-installed");
server.onRequest(() => console.log(tf.zeros([1]).dataSync())); // ~ no-leaked-temporary
server.inScope(() => console.log(tf.zeros([1]).dataSync()));
exports.listen = () => tf.tidy(() => {
  server.onRequest(() => console.log(tf.zeros([1]).dataSync()));
});`,
  "helpers of a training step": `
const optimizer = tf.train.sgd(0.1);
const loss = (labels, ys) => tf.losses.softmaxCrossEntropy(labels, ys).mean();
function forward(xs) {
  const images = xs.as4D(-1, 28, 28, 1);
  return images.relu().add(1);
}
export async function train(data) {
  optimizer.minimize(() => loss(data.labels, forward(data.xs)));
}`,
  "methods that untyped callers call in a scope, and one they call outside": `
class Critic {
  call(state, action) {
    const both = tf.concat([state, action], 1);
    return this.model.predict(both);
  }
  judge(state, action) {
    const both = tf.concat([state, action], 1); // ~ require-disposal
    return this.model.predict(both);
  }
}
export const agent = window.make(Critic);
export const step = (a, b) => {
  agent.judge(a, b); // ~ no-dropped-result
  return tf.tidy(() => agent.critic.call(a, b));
};`,
  "what the main function sets up for its handlers": `
async function main() {
  const test = tf.zeros([3]);
  button.addEventListener("click", () => console.log(test.dataSync()));
}
function again() {
  const other = tf.zeros([3]); // ~ require-disposal
  setTimeout(() => console.log(other.dataSync()));
  const test = tf.zeros([3]); // ~ require-disposal
  button.addEventListener("click", () => console.log(test.dataSync()));
}
main();
button.onclick = () => again();`,
  "parameters that are used as tensors": `
function scale(image) {
  return tf.tidy(() => image.expandDims(0).div(255));
}
export async function mean(image, weights) {
  const total = await image.expandDims(0).mean().data(); // ~ no-leaked-temporary
  return total[0] + weights.slice(1).length + scale(image).dataSync()[0]; // ~ no-leaked-temporary
}`,
  "lists that are filled": `
export function parts(canvas) {
  const found = [];
  for (let i = 0; i < 3; i++) found.push(tf.slice(canvas, [i], [1]));
  const sizes = found.map((t) => t.size);
  found.forEach((t) => t.dispose());
  let last;
  last = tf.zeros([3]); // ~ require-disposal
  return [...sizes, last.size];
}`,
  "the library under another name": `
export function weigh(app, rows) {
  const T = app.tf;
  const total = T.div(rows, T.scalar(3)); // ~ no-leaked-temporary
  const mean = app.tf.mean(total);
  const [value] = mean.dataSync();
  T.dispose([total, mean]);
  return value;
}
export function spread(tf, rows) {
  return tf.sub(rows, tf.min(rows)).dataSync(); // ~ no-leaked-temporary
}`,
  "a part of the library that its types lack": `
const tf = require("@tensorflow/tfjs-core");
exports.thumbnail = (bytes) => {
  let photo = tf.node.decodePng(bytes);
  photo = photo.toFloat(); // ~ no-overwritten-tensor
  return photo;
};`,
  "what a stranger's result is asked for": `
export async function guess(brain, sound, words) {
  const scores = await brain.executeAsync(sound); // ~ require-disposal
  const heard = scores.arraySync();
  const best = brain.predict(sound).argMax(-1); // ~ no-leaked-temporary
  const [word] = best.dataSync();
  best.dispose();
  const plan = await words.predict(word);
  return [heard, plan.next];
}`,
  "named inputs of a model": `
export function describe(brain) {
  const noise = tf.zeros([4]); // ~ require-disposal
  const picture = brain.execute({ noise, seed: 3 });
  const values = picture.dataSync();
  picture.dispose();
  return values;
}`,
  "a result that is one tensor or several, by its uses": `
import { FrozenModel } from "@tensorflow/tfjs-converter";
const brain = new FrozenModel();
export async function single(x) {
  const scores = brain.predict(x); // ~ require-disposal
  return await scores.data();
}
export const straight = (x) => brain.predict(x).dataSync(); // ~ no-leaked-temporary
export function several(x) {
  const scores = brain.execute(x);
  const first = scores[0].dataSync();
  scores.forEach((t) => t.dispose());
  return first;
}
export const either = (x, use) => use(brain.predict(x));`,
  "one element of a list is left": `
export async function frame(brain, x) {
  const found = await brain.executeAsync(x); // ~ require-disposal
  const boxes = found[0].dataSync();
  const names = found[2].dataSync();
  found[0].dispose();
  return [boxes, names];
}
export async function clean(brain, x) {
  const found = await brain.executeAsync(x);
  const boxes = found[0].dataSync();
  found[0].dispose();
  tf.dispose(found[1]);
  return boxes;
}`,
  "fields without types": `
export class Tally {
  constructor() {
    this.total = tf.scalar(0);
    this.label = "sum";
  }
  count(x) {
    this.total = this.total.add(x); // ~ no-overwritten-tensor
    this.label = this.label.concat("+");
  }
  ended(x) {
    const last = this.total;
    this.total = last.add(x);
    last.dispose();
  }
}`,
  "a method of the name of a function of the library": `
export default class Data {
  constructor(rows) {
    this.rows = rows;
  }
  extract() {
    this.raw = tf.tensor2d(this.rows.map((r) => [r.a, r.b]));
  }
  normalize() {
    this.low = this.raw.min();
    this.all = this.raw.sub(this.low);
  }
  split() {
    const [train, check] = tf.split(this.all, 2);
    this.trainPart = train;
    this.checkPart = check;
  }
}`,
  "layers are no tensors": `
export function network() {
  const model = tf.sequential();
  model.add(tf.layers.flatten());
  model.add(tf.layers.maximum());
  tf.util.tanh(1);
  return model;
}`,
  "things that only look like models": `
export async function run(database, commands) {
  const rows = await database.execute("select 1");
  const bar = commands.predict(rows.length);
  return [rows[0], bar.data];
}`,
  "operations of values of no type, told by what their results are asked": `
export function corners(out, rows) {
  const [boxes] = out;
  const flat = boxes.reshape([-1, 4]); // ~ require-disposal
  const part = rows.slice(1);
  const total = rows.concat(part);
  return [flat.dataSync(), total.length];
}`,
  "what a server keeps, request by request": `
const app = require("express")();
const tf = require("@tensorflow/tfjs-node");
const references = {};
let newest = null;
app.put("/reference/:id", (request, response) => {
  references[request.params.id] = tf.tensor1d(request.body.vector); // ~ no-overwritten-tensor
  newest = tf.tensor1d(request.body.vector); // ~ no-overwritten-tensor
  response.end();
});
app.delete("/reference/:id", (request, response) => {
  references[request.params.id].dispose();
  delete references[request.params.id];
  response.json(newest.arraySync());
});`,
  "state and refs of components of an untyped framework": `
import { useEffect, useRef, useState } from "react";
const read = (image) => tf.tidy(() => tf.browser.fromPixels(image).expandDims(0));
export function Preview({ model }) {
  const [mean] = useState(() => tf.tensor1d([1])); // ~ require-member-disposal
  const [input, setInput] = useState(null);
  const [freed, setFreed] = useState(null);
  const last = useRef(null);
  useEffect(() => () => freed && freed.dispose(), [freed]);
  const load = (image) => {
    setInput(read(image)); // ~ require-member-disposal
    setFreed(read(image));
  };
  const run = () => {
    last.current = tf.tidy(() => input.sub(mean)); // ~ require-member-disposal
    console.log(last.current.shape);
  };
  return [load, run, model];
}`,
  "objects that functions of the library give": `
export function spread(pixels) {
  const { mean, variance } = tf.moments(pixels); // ~ require-disposal
  mean.dispose();
  return variance.size;
}`,
  "what is reckoned with and then disposed": `
export function steps(from, to, n) {
  const step = to.sub(from).div(n); // ~ no-leaked-temporary
  step.dispose();
  const distance = to.sub(from);
  console.log(tf.memory());
  return distance.length();
}`,
  "functions that give what they give": `
function even(n) { return n === 0 ? tf.zeros([1]) : odd(n - 1); }
function odd(n) { return even(n - 1); }
export function size() {
  const t = odd(3); // ~ require-disposal
  return t.size;
}`,
  "other things of the same name": `
import * as tf from "text-formatter";
const lib = { tensor1d: (x) => x };
export function f(pixels) {
  const a = tf.tensor1d(pixels);
  const b = lib.tensor1d(pixels);
  return [a.size, b.size];
}`,
  "variables made of themselves and of nothing": `
var a = a.add(1);
let b;
export function f(x) {
  const c = c?.add(x);
  return [a, b, c, undefined.add(1), tf];
}`,
};

addScripts(test, scripts);
test.run();
