/**
 * Functions that call one another and values that lead back to themselves: the rules end, and say
 * what they say of the same code without a circle. Each case is a script; `~` marks a line on which
 * something is reported.
 */
import { suite } from "uvu";
import { addScripts } from "./scripts.ts";

const test = suite("circles");

/** Lines of a script, again and again. */
const often = (line: string): string => `  ${line}\n`.repeat(20);

addScripts(test, {
  "two names that are swapped again and again": `
export function turn(x) {
  let now = tf.square(x), next = tf.neg(x); // ~ require-disposal ~ require-disposal
  ${often("{ const held = now; now = next; next = held; }")}
  return now.size + next.size;
}`,
  "three names that go round again and again, freed at the end": `
export function turn(x) {
  let a = tf.square(x), b = tf.neg(x), c = tf.abs(x);
  ${often("{ const held = a; a = b; b = c; c = held; }")}
  const size = a.size + b.size + c.size;
  tf.dispose([a, b, c]);
  return size;
}`,
  "a value that is handed through a function again and again": `
const checked = (y) => { if (y.size === 0) throw new Error("empty"); return y; };
export function turn(x) {
  let y = tf.square(x); // ~ require-disposal
  ${often("y = checked(y);")}
  return y.size;
}`,
  "helpers that call each other and only look": `
export function parity(x) {
  const y = tf.square(x); // ~ require-disposal
  function even(n) { return n === 0 ? y.size : odd(n - 1); }
  function odd(n) { return n === 0 ? y.rank : even(n - 1); }
  return even(3);
}`,
  "helpers that call each other until their tensor is freed": `
export function parity(x) {
  const y = tf.square(x);
  const even = (n) => (n === 0 ? y.size : odd(n - 1));
  const odd = (n) => (n === 0 ? y.rank : even(n - 1));
  const found = even(3);
  y.dispose();
  return found;
}`,
  "a circle of helpers that outlives its maker": `
export function parity(x) {
  const y = tf.square(x);
  function even(n) { return n === 0 ? y.size : odd(n - 1); }
  function odd(n) { return n === 0 ? y.rank : last(n - 1); }
  function last(n) { return even(n); }
  return () => odd(2);
}`,
  "every helper calls every other": `
export function parity(x) {
  const y = tf.square(x); // ~ require-disposal
  function a(n) { return n ? y.size : a(n) + b(n) + c(n) + d(n) + e(n); }
  function b(n) { return n ? y.size : a(n) + b(n) + c(n) + d(n) + e(n); }
  function c(n) { return n ? y.size : a(n) + b(n) + c(n) + d(n) + e(n); }
  function d(n) { return n ? y.size : a(n) + b(n) + c(n) + d(n) + e(n); }
  function e(n) { return n ? y.size : a(n) + b(n) + c(n) + d(n) + e(n); }
  return a(1);
}`,
  "a value that is made of itself": `
export function half(x) {
  let y = tf.tidy(() => y);
  let z = tf.tidy(() => w), w = tf.tidy(() => z);
  const made = tf.square(x); // ~ require-disposal
  return made.size;
}`,
  "what functions of a circle give": `
function even(n, x) { return n === 0 ? tf.square(x) : odd(n - 1, x); }
function odd(n, x) { return n === 0 ? tf.neg(x) : even(n - 1, x); }
export function run(x) {
  const last = odd(3, x); // ~ require-disposal
  return last.size + even(3, x).size; // ~ no-leaked-temporary
}`,
});

test.run();
