/**
 * Packages that are asked: what is given to a function of somebody else's package, of which is
 * waited for what it finds out, is still the caller's to end. And models in plain JavaScript, which
 * are run on values that only methods of the library give.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("asked packages");
const finds = marked(test);

finds(
  "a function that a package exports",
  `import * as tf from "@tensorflow/tfjs";
import yolo, { downloadModel } from "tfjs-yolo-tiny";
export async function run(webcam) {
  const model = await downloadModel();
  for (;;) {
    const input = tf.browser.fromPixels(webcam); // !
    const boxes = await yolo(input, model);
    console.log(boxes.length);
  }
}`,
  "tfjs",
);
finds(
  "a chain of a package",
  `const tf = require("@tensorflow/tfjs-node");
const faceapi = require("face-api.js");
async function run(bytes) {
  const image = tf.node.decodeImage(bytes); // !
  const faces = await faceapi.detectAllFaces(image).withFaceLandmarks();
  return faces.length;
}
module.exports = { run };`,
  "tfjs",
);
finds(
  "a callback of what a package gives",
  `import * as tf from "@tensorflow/tfjs";
import { load } from "some-detector";
export async function run(canvas, show) {
  const detector = await load();
  const image = tf.browser.fromPixels(canvas); // !
  detector.findAll(image).then((boxes) => show(boxes.length));
}`,
  "tfjs",
);
finds(
  "what is ended after the answer",
  `import * as tf from "@tensorflow/tfjs";
import yolo from "tfjs-yolo-tiny";
export async function run(webcam, model) {
  const input = tf.browser.fromPixels(webcam);
  try {
    const boxes = await yolo(input, model);
    console.log(boxes.length);
  } finally {
    input.dispose();
  }
}`,
  "tfjs",
);
finds(
  "a package that keeps or passes on what it is given",
  `import * as tf from "@tensorflow/tfjs";
import cache from "some-cache";
import { usePipeline, notify } from "some-pipeline";
export async function run(webcam) {
  await cache.put("frame", tf.browser.fromPixels(webcam));
  await usePipeline(tf.browser.fromPixels(webcam));
  notify(tf.browser.fromPixels(webcam));
}`,
  "tfjs",
);
finds(
  "a file of the program that nobody sees",
  `import * as tf from "@tensorflow/tfjs";
import { inspect } from "./inspect.js";
export async function run(webcam) {
  const input = tf.browser.fromPixels(webcam);
  await inspect(input);
}`,
  "tfjs",
);
finds(
  "a batch that a model is trained on",
  `const tf = require("@tensorflow/tfjs");
async function train(model, data) {
  for (let i = 0; i < 10; i++) {
    const batch = data.nextTrainBatch(64);
    await model.fit(
      batch.xs.reshape([64, 28, 28, 1]), // !
      batch.labels,
    );
  }
}
module.exports = { train, tf };`,
  "tfjs",
);
finds(
  "a batch that is ended, or in a scope, or a list",
  `const tf = require("@tensorflow/tfjs");
async function train(model, data) {
  const batch = data.nextTrainBatch(64);
  const xs = batch.xs.reshape([64, 28, 28, 1]);
  await model.fit(xs, batch.labels);
  xs.dispose();
  return tf.tidy(() => model.predict(batch.xs.reshape([64, 784])).dataSync());
}
const ask = (forest, rows) => forest.predict(rows.slice(1)).map((x) => x.flat());
module.exports = { train, ask };`,
  "tfjs",
);

finds(
  "an answer that is what was given, or holds it",
  `import * as tf from "@tensorflow/tfjs";
import delay from "delay";
import { openView } from "tensor-view";
import memory from "replay-memory";
export class Panel {
  async show(x) {
    this.view = await openView(tf.tensor1d(x));
    await memory.remember(tf.tensor1d(x));
    const t = await delay(100, tf.tensor1d(x));
    t.print();
    t.dispose();
  }
  close() {
    this.view.dispose();
  }
}`,
  "tfjs",
);
finds(
  "an answer that is kept and never ended",
  `import * as tf from "@tensorflow/tfjs";
import { classify } from "some-nets";
export class Panel {
  async show(x) {
    this.labels = await classify(tf.tensor1d(x)); // !
  }
}`,
  "tfjs",
);

test.run();
