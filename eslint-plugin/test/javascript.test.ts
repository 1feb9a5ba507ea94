/**
 * Plain JavaScript: types from JSDoc, from `require`, from a script tag or from nothing. Each
 * case is a script; `~` marks a line on which something is reported.
 */
import { suite } from "uvu";
import { assert, lint, lines, projectDir } from "./tester.ts";

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
  "types from JSDoc": `
/** @typedef {import("@tensorflow/tfjs-core").Tensor} Tensor */
/** @param {Tensor} x */
async function first(x) {
  const values = await x.square().data(); // ~ no-leaked-temporary
  return values[0];
}
module.exports = first;`,
  "a script tag": `
async function predict(canvas) {
  const pixels = tf.browser.fromPixels(canvas); // ~ require-disposal
  const values = await tf.image.resizeBilinear(pixels, [8, 8]).data(); // ~ no-leaked-temporary
  return values[0];
}
document.body.onclick = () => predict(document.body);`,
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

for (const [name, code] of Object.entries(scripts)) {
  test(name, () => {
    const wanted = code
      .split("\n")
      .flatMap((line, i) => [...line.matchAll(/\/\/ ~ (\S+)/g)].map((m) => `${i + 1} ${m[1]}`));
    const found = lint(code, {
      settings: { presets: ["tfjs"] },
      file: `${projectDir}script.js`,
    }).filter((m) => !m.ruleId?.startsWith("tenure/prefer-"));
    assert.equal(
      found.map((m) => `${m.line} ${m.ruleId?.replace("tenure/", "")}`),
      wanted,
      lines(found).join("\n"),
    );
  });
}

test.run();
