/**
 * Outputs of models without types: one value or a list of them, by what is done with the variable
 * they are assigned to, and those that a measured function gives. Each is a program of which the
 * marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("outputs of models");
const finds = marked(test);

/** Two models that give a variable its outputs. */
const assigned = (uses: string, mark = ""): string => `
function run(models, name, isNew) {
  const input = tf.zeros([2]);
  let outputs;
  if (isNew) {
    outputs = models[name].predict(input);${mark}
  } else {
    outputs = models.old.execute(input);${mark}
  }
  input.dispose();
  ${uses}
}
exports.run = run;
`;
const shown = "const shown = [outputs[0].dataSync(), outputs[1].dataSync()];";
finds("ended by place", assigned(`${shown} outputs[0].dispose(); outputs[1].dispose();`), "tfjs");
finds("ended each", assigned(`${shown} outputs.forEach((t) => t.dispose());`), "tfjs");
finds("ended together", assigned(`${shown} tf.dispose(outputs);`), "tfjs");
finds("ended in turn", assigned("for (const t of outputs) { t.print(); t.dispose(); }"), "tfjs");
finds("ended by nobody", assigned(shown, " // !"), "tfjs");

/** One model that gives a variable its outputs. */
const alone = (uses: string, mark = ""): string => `
function run(model) {
  const input = tf.zeros([2]);
  let outputs;
  outputs = model.predict(input);${mark}
  input.dispose();
  ${uses}
}
exports.run = run;
`;
finds("both of one model", alone(`${shown} outputs[0].dispose(); outputs[1].dispose();`), "tfjs");
const closure = "const t = tf.tidy(() => outputs[1].squeeze()); t.dispose(); outputs[0].dispose();";
finds("one of two, the other in a scope", alone(closure, " // !"), "tfjs");
finds("both, one in a scope", alone(`${closure} outputs[1].dispose();`), "tfjs");
finds("one of two", alone(`${shown} outputs[0].dispose();`, " // !"), "tfjs");

/** The first of what a model gives, of which nobody knows whether it is a list. */
const first = (uses: string, mark = "", pick = "Array.isArray(raw) ? raw[0] : raw"): string => `
async function run(model) {
  const input = tf.zeros([2]);
  const raw = await model.executeAsync(input);
  input.dispose();
  const first = ${pick};${mark}
  console.log(await first.data());
  ${uses}
}
exports.run = run;
`;
finds("the first, and all ended", first("tf.dispose(raw);"), "tfjs");
finds(
  "by its class",
  first("tf.dispose(raw);", "", "raw instanceof tf.Tensor ? raw : raw[0]"),
  "tfjs",
);
finds(
  "the first, and each ended",
  first("if (Array.isArray(raw)) raw.forEach((t) => t.dispose()); else raw.dispose();"),
  "tfjs",
);
finds("the first, and none ended", first("", " // !"), "tfjs");

/** What `profile` gives beside its measures. */
const profiled = (uses: string, mark = ""): string => `
async function measure(models, name, image) {
  const input = tf.browser.fromPixels(image);
  const profile = await tf.profile(() => models[name].predict(input));${mark}
  input.dispose();
  ${uses}
}
exports.measure = measure;
`;
finds("by its result", profiled("const out = profile.result; out.dispose();"), "tfjs");
finds("by a pattern", profiled("const { result } = profile; tf.dispose(result);"), "tfjs");
finds(
  "a list of results",
  profiled("let all; if (name) all = profile.result; all.forEach((t) => t.dispose());"),
  "tfjs",
);
finds("results left", profiled("console.log(profile.peakBytes);", " // !"), "tfjs");

/** What a model that nobody knows gives, where one waits for its numbers. */
const waited = (uses: string, mark = ""): string => `
export async function classify(model, input) {
  const out = await model.predict(input);${mark}
  ${uses}
}
`;
finds("data that is waited for", waited("return (await out.data())[0];", " // !"), "tfjs");
finds("an array that is waited for", waited("return await out.array();", " // !"), "tfjs");
finds(
  "one that is disposed then",
  waited("const all = await out.data();\n  out.dispose();\n  return all;"),
  "tfjs",
);
finds("an array of something else", waited("return out.array();"), "tfjs");
finds(
  "the answer of something else",
  waited("return await out.data();").replaceAll("predict", "request"),
  "tfjs",
);

test.run();
