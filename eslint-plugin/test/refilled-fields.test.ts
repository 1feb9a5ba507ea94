/**
 * Fields of objects that a function is given, filled anew though their own test says that they may
 * hold something, and fields that get what another one held. Each is a program of which the marked
 * lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("refilled fields");
const finds = marked(test);

const state = `interface State {
  d: GPUDevice; wave: GPUBuffer | null; n: number; isDead: boolean; ok: boolean;
}
`;

/** A function that fills the field of a state under a test. */
const refills = (test: string, first = "", then = "", mark = ""): string => `${state}
const all: GPUBuffer[] = [];
const release = (s: State) => { s.wave?.destroy(); };
const empty = (s: State) => { s.wave?.destroy(); s.wave = null; };
export function draw(s: State, n: number) {
  if (${test}) {
    ${first}
    s.wave = s.d.createBuffer({ size: n });${mark}
    s.n = n;
    ${then}
  }
  s.d.queue.writeBuffer(s.wave!, 0, {});
}
export function end(s: State) { release(s); empty(s); for (const b of all) b.destroy(); }
`;
for (const test of ["!s.wave || s.n !== n", "s.wave === null || s.wave.size < n"])
  finds(`by ${test}`, refills(test, "", "", " // !"), "webgpu");
for (const test of [
  "!s.wave",
  "s.n !== n",
  "!s.wave || s.isDead",
  "!s.wave || !s.ok",
  "!s.wave && s.n !== n",
])
  finds(`not by ${test}`, refills(test), "webgpu");

const another = "!s.wave || s.n !== n";
finds("ended first", refills(another, "s.wave?.destroy();"), "webgpu");
finds("ended first by a function", refills(another, "release(s);"), "webgpu");
finds("ended and emptied by a function", refills(another, "empty(s);"), "webgpu");
finds("put away first", refills(another, "if (s.wave) all.push(s.wave);"), "webgpu");
finds(
  "kept by another first",
  refills(another, "const old = s.wave; if (old) all.push(old);"),
  "webgpu",
);
finds("kept by another, too", refills(another, "", "all.push(s.wave);"), "webgpu");

const turns = (end: string): string => `
import * as tf from "@tensorflow/tfjs-core";
export class Motion {
  #last = tf.zeros([1]);
  #now = tf.zeros([1]);
  step(frame) {
    ${end}this.#last = this.#now;${end === "" ? " // !" : ""}
    this.#now = tf.tensor(frame);
  }
  dispose() { this.#last.dispose(); this.#now.dispose(); }
}`;
finds("a field that gets what another held", turns(""), "tfjs");
finds("a field that is ended before", turns("this.#last.dispose(); "), "tfjs");

test.run();
