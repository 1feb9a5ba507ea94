/**
 * A sampler for diffusion: schedules, several methods in a switch, tensors that are owned or not,
 * and errors in the middle.
 */
import {
  type Tensor,
  concat,
  linspace,
  manualSeed,
  newDisposeScope,
  noGrad,
  randn,
  scoped,
  zeros,
} from "tenure";
import { Linear, Module } from "tenure/nn";

type Method = "euler" | "ancestral" | "heun";

class Denoiser extends Module<[x: Tensor, sigma: number]> {
  readonly net = new Linear(5, 4);

  forward(x: Tensor, sigma: number): Tensor {
    using level = zeros([x.shape[0]!, 1]);
    using filled = level.add(sigma);
    using input = concat([x, filled], 1);
    return this.net.call(input);
  }
}

/** Levels of noise from high to low. */
class Schedule implements Iterable<[now: number, next: number]>, Disposable {
  readonly #sigmas: readonly number[];
  readonly table: Tensor;

  constructor(steps: number) {
    this.#sigmas = Array.from({ length: steps + 1 }, (_, i) => 1 - i / steps);
    this.table = linspace(1, 0, steps + 1);
  }

  *[Symbol.iterator](): Generator<[now: number, next: number]> {
    for (let i = 0; i + 1 < this.#sigmas.length; i++)
      yield [this.#sigmas[i]!, this.#sigmas[i + 1]!];
  }

  at(i: number): Tensor {
    return this.table.select(0, i);
  }

  [Symbol.dispose](): void {
    this.table.dispose();
  }
}

interface SampleOptions {
  readonly method?: Method;
  /** Where to begin; stays the caller's. */
  readonly start?: Tensor;
  readonly mask?: Tensor | null;
  readonly onStep?: (x: Tensor) => void | Promise<void>;
}

function slope(model: Denoiser, x: Tensor, sigma: number): Tensor {
  using clean = noGrad(() => model.call(x, sigma));
  using noise = x.sub(clean);
  return noise.div(sigma);
}

/** One step. The result is the caller's. */
function advance(model: Denoiser, x: Tensor, now: number, next: number, method: Method): Tensor {
  const d = slope(model, x, now);
  try {
    switch (method) {
      case "euler": {
        using change = d.mul(next - now);
        return x.add(change);
      }
      case "ancestral":
        return scoped(() => x.add(d.mul(next - now)).add(randn(x.shape).mul(next * 0.1)));
      case "heun": {
        using change = d.mul(next - now);
        const guess = x.add(change);
        if (next === 0) return guess;
        using later = slope(model, guess, next);
        guess.dispose();
        using both = d.add(later);
        using half = both.mul((next - now) / 2);
        return x.add(half);
      }
    }
  } finally {
    d.dispose();
  }
}

/** Samples. The result is the caller's. */
async function sample(
  model: Denoiser,
  schedule: Schedule,
  { method = "euler", start, mask = null, onStep }: SampleOptions = {},
): Promise<Tensor> {
  const owned = start === undefined;
  const first = start ?? randn([2, 4]);
  let x = first;
  try {
    for (const [now, next] of schedule) {
      const moved = advance(model, x, now, next, method);
      if (x !== first) x.dispose();
      x = mask === null ? moved : masked(moved, mask);
      await onStep?.(x);
    }
  } catch (error) {
    if (x !== first) x.dispose();
    throw error;
  } finally {
    if (owned) first.dispose();
  }
  return x;
}

/** Takes `x`. */
function masked(x: Tensor, mask: Tensor): Tensor {
  const result = x.mul(mask);
  x.dispose();
  return result;
}

async function checked(x: Tensor): Promise<void> {
  using wrong = scoped(() => x.isNaN().any().float());
  if ((await wrong.item()) > 0) throw new Error("the sample is not finite");
}

/** Samples in all ways, one of which fails. */
export async function run(): Promise<number> {
  manualSeed(5);
  using model = new Denoiser();
  using schedule = new Schedule(3);
  let total = 0;
  for (const method of ["euler", "ancestral", "heun"] as const) {
    const x = await sample(model, schedule, { method, onStep: checked });
    total += x.size;
    x.dispose();
  }
  using start = randn([2, 4]);
  using mask = scoped(() => start.gt(0).float());
  using inpainted = await sample(model, schedule, { start, mask });
  using apart = inpainted.sub(start);
  total += apart.size;
  let steps = 0;
  try {
    const lost = await sample(model, schedule, {
      onStep: () => {
        if (++steps === 2) throw new Error("stopped");
      },
    });
    lost.dispose();
  } catch {
    total += steps;
  }
  {
    using _scope = newDisposeScope();
    total += schedule.at(1).size;
  }
  return total;
}
