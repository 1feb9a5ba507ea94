/**
 * Pairs and lists that functions write out: a pattern that names some of what they give loses the
 * others, but not the numbers beside them; and what `find` leaves of new ones.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("written pairs");
const finds = marked(test);

const pair = (make: string, use: string): string => `
import { zeros, type Tensor } from "tenure";
const shared = zeros([1]);
${make}
export function first(n: number): Tensor {
  ${use}
}
export const size = shared.size;`;
const x = "const [x] = make(n); return x!;";
finds(
  "a list of two",
  pair("const make = (n: number): Tensor[] => [zeros([n]), zeros([2])];", `${x} // !`),
);
finds(
  "a list of one or two",
  pair(
    "const make = (n: number): Tensor[] => (n ? [zeros([n])] : [zeros([1]), zeros([2])]);",
    "const [x, y] = make(n); y?.dispose(); return x!;",
  ),
);
finds("a tensor of others", pair("const make = (n: number): Tensor[] => [zeros([n]), shared];", x));
const mixed = "const make = (n: number): [Tensor, number] => [zeros([n]), n];";
finds("a number beside it", pair(mixed, x));
finds("a number beside it, picked", pair(mixed, "return make(n)[0];"));
finds(
  "a number before two",
  pair(
    "const make = (n: number): [number, Tensor, Tensor] => [n, zeros([n]), zeros([2])];",
    "const [k, x] = make(n); console.log(k); return x; // !",
  ),
);
finds(
  "what stands before the rest",
  `import type { Tensor } from "tenure";
export function tail(x: Tensor): Tensor[] {
  const [, ...rest] = x.split(8); // !
  return rest;
}
export function ended(x: Tensor): Tensor[] {
  const [first, ...rest] = x.split(8);
  first!.dispose();
  return rest;
}`,
);
finds(
  "a promise of a list, in plain JavaScript",
  `import * as tf from "@tensorflow/tfjs-core";
async function make(n) { const a = tf.zeros([n]); return [a, a.neg()]; }
export async function second(n) { const [, x] = await make(n); return x; } // !`,
  "tfjs",
);
const holder = (kind: string, second: string, marks: string): string => `
import { zeros, type Tensor } from "tenure";
export class Holder {
  readonly #pair: [Tensor, ${kind}] = [zeros([1]), ${second}];${marks}
  get first(): number { return this.#pair[0].size; }
  dispose(): void { this.#pair[0].dispose(); }
}`;
finds("a pair in a field", holder("Tensor", "zeros([2])", " // !"));
finds("a number in a field", holder("number", "3", ""));

finds(
  "one that is found among new ones",
  `import { zeros, type Tensor } from "tenure";
export const large = (ns: number[]): Tensor | undefined =>
  ns.map((n) => zeros([n])).find((x) => x.size > 3); // !
export const known = (xs: Tensor[]): Tensor | undefined =>
  xs.filter((x) => x.size > 1).find((x) => x.size > 3);`,
);

test.run();
