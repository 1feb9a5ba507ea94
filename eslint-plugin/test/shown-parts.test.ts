/**
 * Objects that closures end in part, that scopes give, and what their functions stand for.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("shown parts");
const finds = marked(test);

finds(
  "a part that an end leaves",
  `
import { type Tensor } from "tenure";
export function bandOf(x: Tensor) {
  const middle = x.mean(0);
  const spread = x.std(0);
  return {
    middle,
    spread, // !
    dispose(): void {
      middle.dispose();
    },
  };
}
`,
);
finds(
  "all parts ended",
  `
import { type Tensor } from "tenure";
export function bandOf(x: Tensor) {
  const middle = x.mean(0);
  const spread = x.std(0);
  return {
    middle,
    spread,
    dispose(): void {
      middle.dispose();
      spread.dispose();
    },
  };
}
`,
);
finds(
  "an object that a scope gives",
  `
import { type Tensor, scoped, tensors } from "tenure";
export class Complex implements Disposable {
  readonly re: Tensor;
  readonly im: Tensor;
  constructor(re: Tensor, im: Tensor) { this.re = re; this.im = im; }
  twice(): Complex { return scoped(() => new Complex(this.re.mul(2), this.im.mul(2))); }
  [tensors](): Tensor[] { return [this.re, this.im]; }
  [Symbol.dispose](): void { this.re.dispose(); this.im.dispose(); }
}
export function f(x: Complex): number {
  const c = x.twice(); // !
  return c.re.size;
}
`,
);
finds(
  "one that it does not see into",
  `
import { type Tensor, scoped } from "tenure";
class Complex {
  constructor(readonly re: Tensor, readonly im: Tensor) {}
  twice(): Complex { return scoped(() => new Complex(this.re.mul(2), this.im.mul(2))); }
  [Symbol.dispose](): void { this.re.dispose(); this.im.dispose(); }
}
export function f(x: Complex): number {
  const c = x.twice();
  return c.re.size;
}
`,
);
finds(
  "a function that is called at once",
  `
import { type Tensor, valueAndGrad } from "tenure";
function step(x: Tensor): Tensor {
  const { value, grads } = valueAndGrad((a: Tensor) => a.sum())(x);
  grads[0]!.dispose();
  return value;
}
export async function solve(x: Tensor): Promise<number> {
  return await step(x).item(); // !
}
`,
);
finds(
  "a field overwritten in a loop that runs once",
  `
import { type Tensor, zeros } from "tenure";
export class Solver {
  #angles = zeros([3]);
  #best: { readonly angles: Tensor; readonly energy: number } | null = null;
  async energy(): Promise<number> { using e = this.#angles.sum(); return e.item(); }
  async solve(steps: number): Promise<number> {
    for (let i = 0; i < steps; i++) {
      const tried = this.#angles.alias();
      try {
        const now = await this.energy();
        if (this.#best !== null && now > this.#best.energy) continue;
        this.#best = { angles: tried.alias(), energy: now }; // !
      } finally {
        tried.dispose();
      }
    }
    return this.#best?.energy ?? NaN;
  }
  [Symbol.dispose](): void { this.#angles.dispose(); this.#best?.angles.dispose(); }
}
export async function run(): Promise<void> {
  const s = new Solver();
  await s.solve(3);
  s[Symbol.dispose]();
}
`,
);
finds(
  "a class whose end calls a function it was given",
  `
import { type Tensor } from "tenure";
export class Alarm implements Disposable {
  private readonly peaks = new Map<string, Tensor>();
  constructor(on: (f: (x: { gauge: string; levels: Tensor }) => void) => void) {
    on((f) => void this.note(f));
  }
  private note({ gauge, levels }: { gauge: string; levels: Tensor }): void {
    const peak = levels.max(); // !
    const before = this.peaks.get(gauge);
    if (!before) {
      this.peaks.set(gauge, peak);
      return;
    }
    this.peaks.set(gauge, before.maximum(peak));
    before.dispose();
  }
  [Symbol.dispose](): void { for (const p of this.peaks.values()) p.dispose(); this.peaks.clear(); }
}
`,
);
finds(
  "a table ended and emptied for its owner",
  `
import { type Tensor } from "tenure";
export function forget(weights: Map<string, Tensor>): void {
  for (const w of weights.values()) w.dispose();
  weights.clear();
}
`,
);
finds(
  "a table only ended",
  `
import { type Tensor } from "tenure";
export function look(weights: Map<string, Tensor>): void {
  for (const w of weights.values()) w.dispose(); // !
}
`,
);
finds(
  "an input ended, as documented",
  `
import { type Tensor, concat } from "tenure";
/** The last readings with the new ones behind them. Ends \`recent\`. */
export function extended(recent: Tensor, x: Tensor): Tensor {
  const all = concat([recent, x]);
  recent.dispose();
  return all;
}
`,
);
finds(
  "an input ended, as nobody says",
  `
import { type Tensor, concat } from "tenure";
/** The last readings with the new ones behind them. */
export function extended(recent: Tensor, x: Tensor): Tensor {
  const all = concat([recent, x]);
  recent.dispose(); // !
  return all;
}
`,
);
test.run();
