/**
 * Values that scripts gather in lists: by a rest parameter or `arguments`, by a spread beside
 * others, by `reduce`; and close by each what is only looked at, or ended in part.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("gathered");
const finds = marked(test);
const left = " // !";

/** A function that is called with two tensors. */
const called = (helper: string, call: string, first = "", second = ""): string => `
${helper}
export async function run(values) {
  const x = tf.tensor1d(values);${first}
  const y = x.square();${second}
  const v = await y.data();
  ${call}
  return v;
}`;
const free = "const free = (...list) => tf.dispose(list);";
finds("a rest parameter", called(free, "free(x, y);"), "tfjs");
finds(
  "one that is spread again",
  called("const free = (...l) => tf.dispose([...l]);", "free(x, y);"),
  "tfjs",
);
finds(
  "one after another",
  called("const free = (n, ...l) => tf.dispose(l);", "free(1, x, y);"),
  "tfjs",
);
finds(
  "one of a method",
  called("const box = { free(...l) { tf.dispose(l); } };", "box.free(x, y);"),
  "tfjs",
);
finds(
  "what stands before it",
  called("const free = (n, ...l) => tf.dispose(l);", "free(x, y);", left),
  "tfjs",
);
const first = "const free = (...list) => tf.dispose(list[0]);";
finds("one of which the first is ended", called(first, "free(x, y);", "", left), "tfjs");
const show = "const show = (...list) => console.log(list.length);";
finds("one that is shown", called(show, "show(x, y);", left, left), "tfjs");

const whole = "function free() { tf.dispose([...arguments]); }";
finds("`arguments`", called(whole, "free(x, y);"), "tfjs");
const copy = "function free() { tf.dispose(Array.from(arguments)); }";
finds("a copy of it", called(copy, "free(x, y);"), "tfjs");
const loop = "function free() { for (const t of arguments) t.dispose(); }";
finds("a loop over it", called(loop, "free(x, y);"), "tfjs");
const index = "function free() { for (let i = 0; i < 9; i++) arguments[i]?.dispose(); }";
finds("one by an index", called(index, "free(x, y);"), "tfjs");
const one = "function free() { arguments[0].dispose(); }";
finds("one of them", called(one, "free(x, y);", "", left), "tfjs");
const count = "function show() { console.log(arguments.length, arguments[0].shape); }";
finds("a look at it", called(count, "show(x, y);", left, left), "tfjs");

finds(
  "a call with a spread",
  `${free}
export function run(values, rows) {
  const x = tf.tensor1d(values);
  const others = rows.map((r) => tf.tensor1d(r));
  free(x, ...others);
}`,
  "tfjs",
);

const outputs = (end: string, mark = ""): string => `
export async function warmUp(model, values) {
  const x = tf.tensor2d(values);
  const outs = await model.executeAsync(x);${mark}
  ${end}
}`;
finds("outputs beside an input", outputs("tf.dispose([x, ...outs]);"), "tfjs");
finds(
  "those that are counted",
  outputs("console.log([...outs].length); x.dispose();", left),
  "tfjs",
);

const states = (end: string, mark = ""): string => `
export function translate(encoder, decoder, ids, limit) {
  const source = tf.tensor2d([ids]);
  let states = encoder.predict(source);${mark}
  source.dispose();
  for (let n = 0; n < limit; n++) {
    const [logits, h, c] = decoder.predict([...states]);
    ${end}
    states = [h, c];
  }
  tf.dispose([...states]);
}`;
finds("states of a decoder", states("tf.dispose([logits, ...states]);"), "tfjs");

const pyramid = (end: string, mark = ""): string => `
export function sizes(image, n) {
  const list = Array.from({ length: n }).reduce(${mark}
    (l) => [...l, tf.avgPool(l.at(-1), 2, 2)],
    [image],
  );
  ${end}
}`;
finds(
  "all but the first of a pyramid",
  pyramid("list.slice(1).forEach((t) => t.dispose());"),
  "tfjs",
);
finds("those, by a loop", pyramid("for (const t of list.slice(1)) t.dispose();"), "tfjs");
const seen = "list.slice(1).forEach((t) => console.log(t.dataSync()));";
finds("those that are looked at", pyramid(seen, left), "tfjs");
finds("a pyramid that nobody ends", pyramid("return list.map((t) => t.size);", left), "tfjs");

test.run();
