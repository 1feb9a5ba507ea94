/**
 * Programs of a given length in four shapes, all of small elementwise ops: what planning grows with
 * is measured on them. Tests only.
 */
import type { Program } from "../../../src/graph/program.ts";
import { Recorder, type Tensor } from "./recorder.ts";

/** Records so many ops; answers with what they made. */
type Shape = (r: Recorder, x: Tensor, n: number) => Tensor[];

/** Every op reads the one before. */
const chain: Shape = (r, x, n) => {
  const made = [r.map([x])];
  while (made.length < n) made.push(r.map([made.at(-1) ?? x]));
  return made;
};

/** Half of the ops read the input, the others add up what they made. */
const fanOut: Shape = (r, x, n) => {
  const made = Array.from({ length: n >> 1 }, () => r.map([x]));
  for (let k = 0; made.length < n - 1; k += 2) made.push(r.map(made.slice(k, k + 2)));
  return made;
};

/** Every op reads the two before. */
const ladder: Shape = (r, x, n) => {
  const made = [x, r.map([x])];
  while (made.length <= n) made.push(r.map(made.slice(-2)));
  return made.slice(1);
};

/** Every op reads two of the 64 before. */
const random: Shape = (r, x, n) => {
  const made = [x];
  let state = n;
  const next = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const recent = (): Tensor => made[made.length - 1 - next(Math.min(64, made.length))] ?? x;
  while (made.length <= n) made.push(r.map([recent(), recent()]));
  return made.slice(1);
};

/** The shapes by name. */
export const shapes = { chain, "fan-out": fanOut, ladder, "random DAG": random };

/**
 * A program of about `n` ops of a shape. In training the first half of them is followed by ops that
 * read every value once more, last to first; with updates, each is followed by one.
 */
export function shaped(
  name: keyof typeof shapes,
  n: number,
  kind: "inference" | "training" | "updates" = "inference",
): Program {
  const r = new Recorder();
  const x = r.tensor("input", [64], true);
  const w = r.tensor("param", [64], true);
  if (kind === "inference") {
    const made = shapes[name](r, x, n);
    r.map(made.slice(-2), { pinned: true });
    return r.build();
  }
  const phase = "calcGradient";
  const made = shapes[name](r, x, Math.floor(n / (kind === "training" ? 2 : 3)));
  let gradient = r.map([made.at(-1) ?? x], { phase });
  for (const value of made.reverse()) {
    gradient = r.map([gradient, value], { phase });
    if (kind === "updates") r.map([gradient], { target: w, phase: "apply" });
  }
  r.map([gradient], { phase, pinned: true });
  return r.build();
}
