/**
 * Calls of functions without a body of their own, of which the program shows what they may be, and
 * lists from which only what is nothing is left out. Each case is a program of which the lines
 * marked with `// !` are reported with `recommended`, no others.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("made by all");
const finds = marked(test);

finds(
  "records of functions that are handed in",
  `import { type Tensor, rand } from "tenure";
type Step = (x: Tensor) => { next: Tensor; cost: Tensor };
const steps: Record<string, Step> = {
  plain: (x) => ({ next: x.add(1), cost: x.sum() }),
  noisy(x) {
    const noise = rand(x.shape);
    const next = x.add(noise);
    noise.dispose();
    return { next, cost: next.sum() };
  },
};
let kept = { next: rand([2]), cost: rand([2]) };
const known: Record<string, Step> = { ...steps, last: () => kept };
async function walk(x: Tensor, step: Step, most: number): Promise<void> {
  const { next, cost } = step(x); // !
  if ((await cost.item()) > most) return;
  next.dispose();
  cost.dispose();
}
async function ends(x: Tensor, step: Step): Promise<number> {
  const { next, cost } = step(x);
  const found = await cost.item();
  for (const t of [next, cost]) t.dispose();
  return found;
}
async function looks(x: Tensor, step: Step): Promise<number> {
  const { cost } = step(x);
  return await cost.item();
}
export async function run(x: Tensor, name: string, careful: boolean): Promise<void> {
  const step = careful ? steps["plain"] : steps[name];
  if (!step) return;
  await walk(x, step, 3);
  await ends(x, step);
  const other = known[name];
  if (other) await looks(x, other);
}`,
);

finds(
  "lists without what is nothing",
  `import { type Tensor, valueAndGrad } from "tenure";
function lossAndGrads(params: Tensor[], x: Tensor) {
  const fit = valueAndGrad((...ps: Tensor[]) => x.mul(ps[0]!).sum());
  const { value, grads } = fit(...params);
  return { loss: value, grads: grads.filter((g) => g !== null) };
}
export function forgets(params: Tensor[], x: Tensor): void {
  const { grads } = lossAndGrads(params, x); // !
  for (const g of grads) g.dispose();
}
export function counts(params: Tensor[], x: Tensor): number {
  const { loss, grads } = lossAndGrads(params, x); // !
  loss.dispose();
  const all = grads.filter(Boolean);
  return all.length;
}
export function ends(params: Tensor[], x: Tensor): void {
  const { loss, grads } = lossAndGrads(params, x);
  const all = grads.filter((g) => g != null && g !== undefined);
  for (const t of [loss, ...all]) t.dispose();
}
export function large(params: Tensor[], x: Tensor): number {
  const { loss, grads } = lossAndGrads(params, x);
  loss.dispose();
  for (const g of grads.filter((one) => one.size > 3)) g.dispose();
  for (const g of grads.filter((one) => one.size <= 3)) g.dispose();
  return grads.length;
}`,
);

test.run();
