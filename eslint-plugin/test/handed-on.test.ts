/**
 * Values that plain JavaScript hands on: to helpers, to callbacks of lists, into fields of classes
 * and of prototypes. Each case is a script; `~` marks a line on which something is reported.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("values handed on in plain JavaScript");

addScripts(test, {
  "a variable that is given what a function hands back of it": `
const checked = (y) => { if (y.size === 0) throw new Error("empty"); return y; };
export function turn(x, strict) {
  let y = tf.square(x);
  y = checked(y);
  y = checked(checked(y));
  y = strict ? checked(y) : y;
  y.dispose();
  let w = tf.neg(x); // ~ require-disposal
  w = checked(w);
  return w.size;
}`,
  "a variable that is given what a function hands back of another": `
const checked = (y, limit) => { if (y.size > limit.size) throw new Error("large"); return y; };
export function turn(x) {
  const y = tf.square(x);
  let z = tf.neg(x);
  z = checked(y, z); // ~ no-overwritten-tensor
  z.dispose();
}`,
  "parameters are what callers hand in": `
function scale(image) {
  return image.sub(127).div(127); // ~ no-leaked-temporary
}
const crop = (image, size) => {
  const part = image.slice([0, 0], size);
  return part;
};
export function run(canvas) {
  const photo = tf.browser.fromPixels(canvas);
  const small = crop(photo, [8, 8]); // ~ require-disposal
  const whole = scale(small); // ~ require-disposal
  photo.dispose();
  return whole.size;
}`,
  "parameters of which callers hand in something else": `
function tail(words) {
  return words.slice(1).concat(["."]);
}
const pick = (items, at) => items.slice(at);
export function run(canvas) {
  const photo = tf.browser.fromPixels(canvas);
  const rest = pick(tail(["a", "b"]), 1);
  photo.dispose();
  return rest;
}`,
  "parameters whose annotation names the type": `
/**
 * @param {tf.Tensor3D} image
 * @param {tf.Tensor[]} others
 * @param {tf.LayersModel} model
 */
export async function brightness(image, others, model) {
  const mean = image.mean(); // ~ require-disposal
  const first = others[0].mean(); // ~ require-disposal
  return [(await mean.data())[0], first.size, model.slice(1)];
}`,
  "parameters that the library is given as tensors": `
export function thumbnail(image) {
  const small = tf.image.resizeBilinear(image, [8, 8]);
  const half = image.div(2); // ~ require-disposal
  return [small, half.size];
}
export function convert(rows) {
  const table = tf.tensor2d(rows);
  const rest = rows.slice(1);
  return [table, rest.length];
}`,
  "lists that callbacks fill": `
export function table(rows) {
  const lines = rows.map((row) => tf.tensor1d(row)); // ~ require-disposal
  const all = tf.stack(lines);
  return all;
}
export function freed(rows) {
  const lines = rows.map((row) => tf.tensor1d(row));
  const all = tf.stack(lines);
  lines.forEach((line) => line.dispose());
  return all;
}
export function disposed(rows) {
  const lines = Array.from(rows, (row) => tf.tensor1d(row));
  const all = tf.stack(lines);
  tf.dispose(lines);
  return all;
}
export const names = (rows) => rows.map((row) => row.name).filter((name) => name.length > 3);`,
  "turns of a strange list": `
export function show(rows) {
  rows.forEach((row) => {
    const line = tf.tensor1d(row); // ~ require-disposal
    line.print();
  });
  tf.tidy(() => rows.forEach((row) => tf.tensor1d(row).square().print()));
}`,
  "results of an evaluation": `
export async function judge(model, xs, ys) {
  const [loss, accuracy] = model.evaluate(xs, ys); // ~ require-disposal ~ require-disposal
  return [loss.dataSync()[0], accuracy.dataSync()[0]];
}
export async function report(poll, xs) {
  const result = await poll.evaluate(xs);
  return result.score;
}`,
  "fields that are replaced with every call": `
class Memory {
  constructor() {
    this.last = null;
    this.table = null;
  }
  load(rows) {
    this.table = tf.tensor2d(rows);
  }
  remember(row) {
    this.last = tf.tensor1d(row); // ~ no-overwritten-tensor
  }
  recall() {
    return [this.last.dataSync(), this.table.dataSync()];
  }
}
export const memory = new Memory();
class Careful {
  remember(row) {
    this.last?.dispose();
    this.last = tf.tensor1d(row);
  }
}
export const careful = new Careful();`,
  "fields that one call sets": `
export class Once {
  constructor(rows) {
    this.keep(rows);
  }
  keep(rows) {
    this.rows = tf.tensor2d(rows);
  }
  sum() {
    return this.rows.size;
  }
}`,
  "lists in fields": `
class Queue {
  constructor() {
    this.items = [];
    this.words = [];
  }
  add(row, word) {
    this.items.push(tf.tensor1d(row));
    this.words.push(word);
    if (this.items.length > 9) this.items.shift(); // ~ no-dropped-element
    if (this.words.length > 9) this.words.shift();
  }
  drain() {
    while (this.items.length > 0) this.items.pop().dispose();
    this.words.pop();
  }
}
export const queue = new Queue();`,
  "methods of a prototype": `
function Net(size) {
  this.weights = tf.variable(tf.zeros([size])); // ~ no-leaked-temporary
}
Net.prototype.predict = function (rows) {
  const xs = tf.tensor2d(rows); // ~ require-disposal
  return xs.dataSync();
};
Net.prototype.loss = function (rows) {
  const xs = tf.tensor2d(rows);
  return xs.square().mean();
};
export const net = new Net(3);
export const cost = (rows) => tf.tidy(() => net.loss(rows).dataSync());`,
  "methods named as those of models that others keep": `
class Mood {
  async load() {
    this.model = await tf.loadLayersModel("mood.json");
  }
  predict(words) {
    const input = tf.tensor2d([words]); // ~ require-disposal
    const out = this.model.predict(input);
    const score = out.dataSync()[0];
    out.dispose();
    return score;
  }
  recognize(words) {
    const input = tf.tensor2d([words]);
    return input.square().dataSync();
  }
}
class Pitch {
  constructor(net) {
    this.net = net;
  }
  run(given) {
    return tf.tidy(() => this.net.predict(tf.tensor1d(given)).dataSync());
  }
}
class Reader {
  run(other) {
    return tf.tidy(() => other.recognize(this.words));
  }
}
const mood = new Mood();
mood.load();
new Pitch(window.net).run([1]);
new Reader().run(window.other);`,
  "functions of names that a script does not declare": `
bounds = async (volume) => {
  const at = await tf.whereAsync(volume); // ~ require-disposal
  return at.arraySync();
};
scaled = (rows) => {
  const all = tf.tensor2d(rows);
  return all.div(255);
};
handed = (rows) => tf.tensor2d(rows).div(255);
total = (rows) => tf.tidy(() => scaled(rows).sum().dataSync());
all = (rows) => tf.tidy(() => window.each(rows, handed));`,
});

const typed: Record<string, string> = {
  "functions that a constant's type names": `
import type * as types from "@tensorflow/tfjs-core";
declare function library(): typeof types;
const scalar: typeof types.scalar = (...args) => library().scalar(...args);
const add: typeof types.add = (...args) => library().add(...args);
const tidy: typeof types.tidy = (...args) => library().tidy(...args);
const kept: types.Tensor[] = [];
const store: (t: types.Tensor) => void = (...args) => kept.push(...args);
export function sum(x: types.Tensor) {
  const one = scalar(1); // ~ require-disposal
  return add(x, one);
}
export const once = (x: types.Tensor) => tidy(() => add(x, scalar(1)));
export function put() {
  const one = scalar(1);
  store(one);
}`,
  "places of promises that are awaited together": `
import * as tf from "@tensorflow/tfjs-core";
declare function name(): Promise<string>;
declare function later(x: number): Promise<tf.Tensor>;
const make = async (x: number) => tf.scalar(x);
const kept = later(0);
export async function first() {
  const [label, lost, given] = await Promise.all([name(), make(1), make(2)]); // ~ require-disposal
  console.log(label, lost.size);
  return given;
}
export async function second() {
  const [label, one, other] = await Promise.all([name(), make(1), kept]);
  console.log(label, one.size, other.size);
  one.dispose();
}
export async function third() {
  const two = Promise.all([make(1), kept]);
  const [[a, b], c] = await Promise.all([two, make(2)]);
  console.log(a.size, b.size);
  return c;
}`,
  "names taken out of one value": `
import * as tf from "@tensorflow/tfjs-core";
export function parts(x: tf.Tensor) {
  const {
    mean, // ~ require-disposal
    variance,
  } = tf.moments(x);
  const size = mean.size;
  variance.dispose();
  return size;
}`,
  "one value or a list, as a test tells": `
import * as tf from "@tensorflow/tfjs-core";
declare const net: import("@tensorflow/tfjs-converter").FrozenModel;
declare function keep(x: unknown): number;
export async function read(x: tf.Tensor) {
  const out = net.predict(x); // ~ require-disposal
  return Array.isArray(out) ? Promise.all(out.map((t) => t.data())) : out.data();
}
export function hand(x: tf.Tensor) {
  const out = net.predict(x);
  return Array.isArray(out) ? out.map((t) => t.size) : keep(out);
}
export function end(x: tf.Tensor) {
  const out = net.predict(x);
  const size = Array.isArray(out) ? out.length : out.size;
  tf.dispose(out);
  return size;
}`,
};
addScripts(test, typed, "file.ts");

test.run();
