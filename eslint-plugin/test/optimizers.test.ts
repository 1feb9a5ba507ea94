/**
 * Optimizers of TensorFlow.js, which keep moments of each weight: a model does not dispose one that
 * it is given, and one that is made once may last as long as the program.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("optimizers");

addScripts(test, {
  "optimizers made for each step": `
async function adapt(batches, loss) {
  for (const batch of batches) {
    const once = tf.train.adam(0.01); // ~ require-disposal
    once.minimize(() => loss(batch));
    const ended = tf.train.sgd(0.01);
    ended.minimize(() => loss(batch));
    ended.dispose();
  }
}
adapt(window.batches, window.loss);`,
  "optimizers that a model gets, or that last": `
const steady = tf.train.rmsprop(0.01);
function build(units) {
  const model = tf.sequential();
  model.add(tf.layers.dense({ units, inputShape: [2] }));
  const optimizer = tf.train.adam(0.01);
  model.compile({ optimizer, loss: "meanSquaredError" });
  return model;
}
function train(loss) {
  const optimizer = tf.train.adagrad(0.01);
  optimizer.minimize(loss);
  steady.minimize(loss);
}
const model = build(3);
train(() => model.predict(window.x).mean());`,
  "an optimizer that its class forgets": `
class Agent {
  constructor() {
    this.w = tf.variable(tf.zeros([3])); // ~ no-leaked-temporary
    this.optimizer = tf.train.adam(0.01); // ~ require-member-disposal
  }
  step(loss) { this.optimizer.minimize(() => loss(this.w)); }
  dispose() { this.w.dispose(); }
}
const agent = new Agent();
agent.step((w) => w.square().mean());
agent.dispose();`,
});
test.run();
