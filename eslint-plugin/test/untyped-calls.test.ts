/**
 * Calls of plain JavaScript inside scopes: they run what the program gives their name, and nothing
 * else of it, so that other functions are known to have no scope around them.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("untyped calls");

addScripts(test, {
  "methods of an object beside a scope": `
const rank = {
  async compute(graph, damping) {
    const teleport = tf.ones([3]).mul(1 - damping); // ~ require-disposal ~ no-leaked-temporary
    const moves = tf.tensor2d(this.build(graph));
    const found = tf.tidy(() => {
      const jump = teleport;
      return jump.add(moves.matMul(graph.start).mul(damping));
    });
    moves.dispose();
    const scores = found.arraySync();
    found.dispose();
    return scores;
  },
  build(graph) { return graph.edges; },
};
rank.compute(window.graph, 0.85);`,
  "methods that a scope may run by their name": `
const layer = {
  forward(x) { return x.square().add(tf.scalar(1)); },
  other(x) { tf.neg(x); } // ~ no-dropped-result
};
const helpers = { show: window.show, bind: (x) => tf.exp(x) };
function run(model, x) {
  return tf.tidy(() => model.forward(x));
}
function draw(view, x) {
  return tf.tidy(() => helpers.bind(view.bind(x)));
}
run(window.model, window.x);
layer.other(window.x);`,
  "what a name may stand for that nobody sees": `
const views = { paint: window.paint };
const layer = {
  forward(x) { tf.neg(x); }
};
function run(model, x) { return tf.tidy(() => model.paint(x)); }
run(window.model, window.x);`,
  "functions that are handed to what a scope runs": `
function loss(x) { return x.square().mean(tf.scalar(0)); }
function step(optimizer, x) {
  tf.tidy(() => {
    const { value, grads } = optimizer.computeGradients(() => loss(x));
    optimizer.applyGradients(grads);
    return value;
  });
}
function beside(x) { tf.neg(x); } // ~ no-dropped-result
const part = { show(x) { tf.neg(x); } }; // ~ no-dropped-result
part.show(window.x);
step(window.optimizer, window.x);`,
  "what a dataset calls for each of its elements": `
export function scaled(url) {
  const csv = tf.data.csv(url);
  return csv.map((row) => tf.tensor1d(row).abs()).filter((t) => t.mean().dataSync()[0] > 0);
}
export const all = (rows) => tf.data.array(rows).map((x) => tf.tensor1d(x).add(1)).batch(3);
export const size = (xs) => xs.map((x) => tf.tensor1d(x).mean().size); // ~ no-leaked-temporary`,
});
test.run();
