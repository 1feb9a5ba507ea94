/**
 * Values that go on in a literal on one way of a choice only, `return ok ? { x } : null`; lists of
 * lists that are ended flat; functions that only run where they are named.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("choices");
const finds = marked(test);

const head = 'import { stack, zeros, type Tensor } from "tenure";\n';
const chosen = (name: string, type: string, value: string, mark = " // !"): void => {
  finds(
    `given by one way: ${name}`,
    `${head}export const one = (xs: Tensor[]): Tensor => stack(xs);
export function made(n: number): ${type} {
  const x = zeros([n]);${mark}
  return ${value};
}`,
  );
};
chosen("in a record", "{ x: Tensor } | null", "n > 3 ? null : { x }");
chosen("in a list", "Tensor[]", "n > 3 ? [x] : []");
chosen("behind a test", "{ x: Tensor } | false", "n > 3 && { x }");
chosen("on both", "{ x: Tensor; n: number }", "n > 3 ? { x, n } : { x, n: 3 }", "");
chosen("on another by itself", "Tensor | Tensor[]", "n > 3 ? x : [x]", "");
finds(
  "lists of lists that are ended flat",
  `${head}/** @takes pairs */
export function taken(pairs: [Tensor, Tensor][]): number {
  const all = stack(pairs.map(([a]) => a));
  try {
    return all.size;
  } finally {
    for (const owned of [all, ...pairs.flat()]) owned.dispose();
  }
}
export function sorted(n: number): void {
  const xs = Array.from({ length: n }, () => zeros([n]));
  for (const x of xs.toSorted((a, b) => a.size - b.size)) x.dispose();
}
export function counted(n: number): number {
  const rows: Tensor[][] = [];
  for (let i = 0; i < n; i++) rows.push([zeros([1]), zeros([1])]); // !
  return rows.flat().length;
}`,
);

finds(
  "a function that only runs where it is named",
  `import { stack, type Tensor } from "tenure";
import { Linear } from "tenure/nn";
function score(model: Linear, xs: readonly Tensor[]): Tensor {
  const one = (x: Tensor): Tensor => model.call(x);
  return stack(xs.map(one)); // !
}
export function first(xs: readonly Tensor[]): number {
  const model = new Linear(2, 1); // !
  using scores = score(model, xs);
  return scores.size;
}
let later: ((x: Tensor) => Tensor)[] = [];
export function second(): void {
  const model = new Linear(2, 1);
  const one = (x: Tensor): Tensor => model.call(x);
  later = [one];
  console.log(later.length);
}`,
);

test.run();
