/**
 * Names that are given what nobody owns in the place of a value: what is done with them afterwards
 * is not done with the value. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("overwritten names");
const finds = marked(test);

const brain = (body: string, mark = ""): string => `
class Brain {
  constructor() { this.model = tf.sequential(); }
  dispose() { this.model.dispose(); }
  predict(x) {
    return tf.tidy(() => {
      let out = this.model.predict(tf.tensor2d([x]));
      ${body}
      return out;
    });
  }
}
function show() {
  const brain = new Brain();
  const out = brain.predict([1]);${mark}
  console.log(out);
  brain.dispose();
}
show();
`;
finds("a result by its data", brain("out = out.dataSync();"), "tfjs");
finds("a result", brain("console.log(out.shape);", " // !"), "tfjs");

test.run();
