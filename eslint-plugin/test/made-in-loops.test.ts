/**
 * Functions that start from what they are given and make something new in each turn of a loop:
 * their results are the caller's. Each case is a program of which the lines marked with `// !` are
 * reported with `recommended`, no others.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("made in loops");
const finds = marked(test);

finds(
  "layers and stages, one after the other",
  `import { type Tensor, scoped } from "tenure";
type Layer = { w: Tensor; b: Tensor };
type Stage = (x: Tensor) => Tensor;
function forward(x: Tensor, layers: Layer[]): Tensor {
  return scoped(() => {
    let y = x;
    for (const { w, b } of layers) y = y.matmul(w).add(b);
    return y;
  });
}
function apply(x: Tensor, stages: readonly Stage[]): Tensor {
  let y = x;
  for (let i = 0; i < stages.length; i++) {
    const next = stages[i]!(y);
    if (y !== x) y.dispose();
    y = next;
  }
  return y;
}
function refine(params: Tensor[], steps: number): Tensor[] {
  let fast = params;
  for (let i = 0; i < steps; i++) {
    const next = fast.map((p) => p.mul(0.9));
    if (fast !== params) for (const t of fast) t.dispose();
    fast = next;
  }
  return fast;
}
export async function reads(x: Tensor, layers: Layer[]): Promise<unknown> {
  return await forward(x, layers).data(); // !
}
export function drops(x: Tensor, stages: Stage[], steps: number): number {
  const y = apply(x, stages); // !
  const p = refine([x], steps); // !
  return y.size + p.length;
}
export async function ends(x: Tensor, layers: Layer[], stages: Stage[], ps: Tensor[]) {
  using y = forward(x, layers);
  const z = apply(y, stages);
  const found = await z.item();
  if (z !== y) z.dispose();
  const fast = refine(ps, 3);
  if (fast !== ps) for (const t of fast) t.dispose();
  return found;
}`,
);

finds(
  "loops that may have nothing to do",
  `import { type Tensor, scoped } from "tenure";
function sum(xs: Tensor[]): Tensor {
  return scoped(() => {
    let all = xs[0]!;
    for (let i = 1; i < xs.length; i++) all = all.add(xs[i]!);
    return all;
  });
}
function others(xs: Tensor[]): Tensor {
  return scoped(() => {
    let all = xs[0]!;
    for (const x of xs.slice(1)) all = all.add(x);
    return all;
  });
}
function some(x: Tensor, steps: number[], on: boolean): Tensor {
  return scoped(() => {
    let y = x;
    for (const step of steps) {
      if (!on) continue;
      y = y.mul(step);
    }
    return y;
  });
}
function until(x: Tensor, rows: number): Tensor {
  return scoped(() => {
    let y = x;
    while ((y.shape[0] ?? 0) < rows) y = y.repeat(2, 1);
    return y;
  });
}
export function sizes(xs: Tensor[], on: boolean): number {
  const all = [sum(xs), others(xs), some(xs[0]!, [2], on), until(xs[0]!, 3)];
  const size = all.reduce((n, t) => n + t.size, 0);
  for (const t of all) if (!xs.includes(t)) t.dispose();
  return size;
}
export const rows = (x: Tensor): number => until(x, 3).shape[0] ?? 0;`,
);

test.run();
