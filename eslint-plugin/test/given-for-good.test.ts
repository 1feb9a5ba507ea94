/**
 * Inputs of TensorFlow.js programs that a function may end, as all who call it hand over what they
 * have no more. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("given for good");
const finds = marked(test);

/** A function that ends what it is given, and what else the program does with it. */
const shows = (rest: string, mark = ""): string => `
async function show(output) {
  const found = await output.data();
  output.dispose();${mark}
  return found;
}
${rest}`;
const lost = " // !";

finds(
  "a name",
  shows("exports.run = async (x) => { const y = tf.tensor(x); await show(y); };"),
  "tfjs",
);
finds(
  "a value without a name, and an export",
  shows(`
const run = (model, x) => show(tf.tidy(() => model.predict(x).add(1)));
module.exports = { show, run };`),
  "tfjs",
);
finds(
  "a name that another way ends",
  shows(`
async function run(model, x, isShown) {
  const y = tf.tidy(() => model.predict(x).add(1));
  console.log(y.shape);
  if (isShown) await show(y);
  else y.dispose();
}
exports.run = run;`),
  "tfjs",
);
finds(
  "a name of each turn",
  shows(`
async function run(images) {
  for (const image of images) {
    const y = tf.browser.fromPixels(image);
    await show(y);
  }
}
exports.run = run;`),
  "tfjs",
);
finds(
  "a method",
  `
class View {
  async show(output) {
    this.pixels = await tf.browser.toPixels(output);
    output.dispose();
  }
  draw(image) {
    const y = tf.tidy(() => tf.browser.fromPixels(image).div(255));
    this.show(y);
  }
}
new View().draw(window.image);`,
  "tfjs",
);
finds(
  "a name that is used again",
  shows(
    `
async function run(x) {
  const y = tf.tensor(x);
  await show(y);
  console.log(y.arraySync());
}
exports.run = run;`,
    lost,
  ),
  "tfjs",
);
finds(
  "a name that the next turn uses again",
  shows(
    `
async function run(x, n) {
  const y = tf.tensor(x);
  do { await show(y); } while (n-- > 0);
}
exports.run = run;`,
    lost,
  ),
  "tfjs",
);
finds(
  "what the caller was given, and one caller of two",
  shows(
    `
exports.run = async (x) => show(tf.tensor(x));
exports.again = async (output) => show(output);`,
    lost,
  ),
  "tfjs",
);
finds(
  "what a field holds",
  shows(
    `
class Camera {
  capture(image) { this.last?.dispose(); this.last = tf.browser.fromPixels(image); }
  async send() { await show(this.last); }
}
exports.Camera = Camera;`,
    lost,
  ),
  "tfjs",
);
finds(
  "an agreed protocol",
  `
import { zeros, type Tensor } from "tenure";
function mean(x: Tensor): number { const m = x.size; x.dispose(); return m; } // !
export const f = (): number => mean(zeros([2]));`,
);

test.run();
