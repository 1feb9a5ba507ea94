/**
 * What a program loses once, as it starts: tensors of TensorFlow.js that the main function of a
 * script makes last until the exit and do no harm. Each is a program of which the marked lines are
 * reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("program starts");
const finds = marked(test);

/** A script that trains once, with something between and something at its end. */
const script = (start: string, mark = "", between = ""): string => `
import * as tf from "@tensorflow/tfjs";
async function main() {
  const xs = tf.tensor2d([[1], [2]]);${mark}
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] });${mark}
  await model.fit(xs, xs);
  ${between}
  model.predict(tf.ones([1, 1])).print();${mark}
}
${start}
`;

finds("a main function", script("main();"), "tfjs");
finds("one that is waited for", script("await main();"), "tfjs");
finds("one with a catch", script("main().catch(console.error);"), "tfjs");
finds("one of a page", script('window.addEventListener("load", () => main());'), "tfjs");
finds("one of a page's load", script("window.onload = main;"), "tfjs");
finds("one of a page that is there", script("$(document).ready(main);"), "tfjs");
finds("one that a promise calls", script("tf.ready().then(main);"), "tfjs");
finds("one of a file that is read", script('fs.readFile("x", () => main());'), "tfjs");
finds("one in a function of its own", script("(async () => { await main(); })();"), "tfjs");
finds("one, where all is told", script("main();", " // !"), "tfjs", "strict");
finds("one that a click starts, too", script("main(); button.onclick = main;", " // !"), "tfjs");
finds("one that is called twice", script("main(); main();", " // !"), "tfjs");
finds("one in a loop", script("for (const k of [1, 2]) await main(k);", " // !"), "tfjs");
finds("what its loop loses", script("main();", "", "for (;;) tf.ones([1]).print(); // !"), "tfjs");
finds(
  "what its callback loses",
  script(
    "main();",
    "",
    "await model.fit(xs, xs, { callbacks: { onEpochEnd: () => tf.ones([1]).print() } }); // !",
  ),
  "tfjs",
);
finds(
  "what takes a value's place",
  script("main();", "", "let y = model.predict(xs);\n  y = y.mul(2);\n  y.print(); y.dispose();"),
  "tfjs",
);
finds(
  "what takes its place in a loop",
  script(
    "main();",
    "",
    "let y = model.predict(xs);\n  for (const k of [1, 2]) y = y.mul(k); // !\n  y.dispose();",
  ),
  "tfjs",
);
finds(
  "what it alone calls",
  `
import * as tf from "@tensorflow/tfjs";
const load = (rows) => tf.tensor2d(rows);
function show(rows) {
  load(rows).print();
}
async function main() {
  show([[1]]);
}
main();
`,
  "tfjs",
);
finds(
  "what goes on by its own name",
  `
import * as tf from "@tensorflow/tfjs";
(function loop() {
  tf.ones([1]).print(); // !
  requestAnimationFrame(loop);
})();
`,
  "tfjs",
);
for (const start of ["image.onload = show;", 'reader.addEventListener("load", show);'])
  finds(
    `what comes again: ${start}`,
    `
import * as tf from "@tensorflow/tfjs";
function show() {
  tf.ones([1]).print(); // !
}
${start}
`,
    "tfjs",
  );
finds(
  "what it calls of another module",
  `
import * as tf from "@tensorflow/tfjs";
export async function warm(model) {
  const y = model.predict(tf.zeros([1]));
  console.log(await y.data());
}
async function main() {
  const model = await tf.loadLayersModel("model.json");
  await warm(model);
  for (;;) tf.zeros([1]).print(); // !
}
main();
`,
  "tfjs",
);
finds(
  "what a class loses",
  `
import * as tf from "@tensorflow/tfjs";
class Net {
  constructor() {
    tf.ones([1]).print(); // !
  }
  warm() {
    tf.zeros([1]).print(); // !
  }
}
const net = new Net();
net.warm();
`,
  "tfjs",
);
finds(
  "a tensor of Tenure",
  `
import { tensor } from "tenure";
async function main() {
  const x = tensor([1, 2]); // !
  console.log(await x.data());
}
await main();
`,
);

test.run();
