/**
 * Objects without a type that plain JavaScript fills under keys: what they hold is lost and ended
 * as what a `Map` holds.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("script tables");
const finds = marked(test);

const script = (name: string, code: string): void => {
  finds(name, `import * as tf from "@tensorflow/tfjs-core";\n${code}`, "tfjs");
};
const ended =
  "export function clear() { for (const k in all) { all[k].dispose(); delete all[k]; } }";

script(
  "of a module, overwritten and dropped",
  `const all = {};
export function set(k) { all[k] = tf.zeros([2]); } // !
export function drop(k) { delete all[k]; } // !
${ended}`,
);
script(
  "of a module, asked and ended first",
  `const all = {};
export function get(k) { if (!all[k]) all[k] = tf.zeros([2]); return all[k]; }
export function find(k) {
  if (k in all) return all[k];
  const x = tf.ones([2]);
  all[k] = x;
  return x;
}
export function set(k) { const old = all[k]; all[k] = tf.zeros([2]); if (old) old.dispose(); }
export function drop(k) { tf.dispose(all[k]); delete all[k]; }
${ended}`,
);
script(
  "in a field that the constructor fills",
  `export class Store {
  constructor() { this.all = {}; }
  update(k) { this.all[k] = tf.zeros([2]); } // !
  put(k) { if (this.all[k]) this.all[k].dispose(); this.all[k] = tf.zeros([2]); }
  reset() { this.all = {}; } // !
  dispose() { Object.values(this.all).forEach((x) => x.dispose()); }
}`,
);
script(
  "of a function",
  `export function count(ks) {
  const feeds = {};
  for (const k of ks) feeds[k] = tf.zeros([2]); // !
  return Object.keys(feeds).length;
}
export function run(ks, model) {
  const feeds = {};
  for (const k of ks) feeds[k] = tf.zeros([2]);
  const rows = model(feeds);
  tf.dispose(feeds);
  return rows;
}
export function made(ks) {
  const feeds = {};
  for (const k of ks) feeds[k] = tf.zeros([2]);
  return feeds;
}`,
);

script(
  "beside the names of a module",
  `import * as own from "./script.js";
const all = {};
export function set(k) { all[k] = tf.zeros([2]); return own; } // !
${ended}`,
);

test.run();
