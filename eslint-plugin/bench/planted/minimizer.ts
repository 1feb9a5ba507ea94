/**
 * A library that minimizes functions of one tensor, as it might be published: methods are plugged
 * in, options have defaults, and callbacks are told of every step. Below it, a program that uses
 * it.
 */
import { type Tensor, dot, rand, scoped, stack, tensor, valueAndGrad } from "tenure";

export type Objective = (x: Tensor) => Tensor;

/** A place, and what the objective says about it. */
interface Point {
  readonly x: Tensor;
  readonly value: Tensor;
  readonly gradient: Tensor;
}

/** Turns gradients into directions, which are the caller's. */
export interface Method {
  direction(at: Point): Tensor;
  learn?(from: Point, to: Point): void;
  dispose(): void;
}

export interface Options {
  /** Default: `lbfgs()`. Ended with the run. */
  readonly method?: Method;
  readonly maxSteps?: number;
  /** Rates that are tried one after the other; the last one is taken in any case. */
  readonly rates?: readonly number[];
  /** Moves a place to where it is allowed: a new tensor, the one given is left alone. */
  readonly project?: (x: Tensor) => Tensor;
  /** What is shown to `onStep` is lent; it may stop the run. */
  readonly onStep?: (step: number, x: Tensor) => boolean | undefined;
  /** Gets a copy to keep. */
  readonly onEnd?: (x: Tensor) => void;
  /** How many places of late the result has. */
  readonly trace?: number;
}

export function momentum(share = 0.9): Method {
  let velocity: Tensor | null = null;
  return {
    direction({ gradient }) {
      const old = velocity;
      velocity = old === null ? gradient.neg() : scoped(() => old.mul(share).sub(gradient));
      old?.dispose();
      return velocity.alias();
    },
    dispose() {
      velocity?.dispose();
      velocity = null;
    },
  };
}

export function lbfgs(memory = 2): Method {
  const pairs: { readonly s: Tensor; readonly y: Tensor; readonly rho: Tensor }[] = [];
  return {
    direction({ gradient }) {
      return scoped(() => {
        let q = gradient.neg();
        const shares = pairs.toReversed().map(({ s, y, rho }) => {
          const share = dot(s, q).mul(rho);
          q = q.sub(y.mul(share));
          return share;
        });
        for (const { s, y, rho } of pairs) q = q.add(s.mul(shares.pop()!.sub(dot(y, q).mul(rho))));
        return q;
      });
    },
    learn(from, to) {
      const s = to.x.sub(from.x);
      const y = to.gradient.sub(from.gradient);
      using along = dot(s, y);
      pairs.push({ s, y, rho: along.reciprocal() });
      if (pairs.length <= memory) return;
      const oldest = pairs.shift();
      oldest?.s.dispose();
      oldest?.y.dispose();
      oldest?.rho.dispose();
    },
    dispose() {
      for (const pair of pairs.splice(0)) Object.values(pair).forEach((t) => t.dispose());
    },
  };
}

/** What a run has found. Dispose of it, or take `x` out with `unwrap`. */
export class Result implements Disposable {
  readonly steps: number;
  readonly #point: Point;
  readonly #trace: readonly Tensor[];

  constructor(point: Point, trace: readonly Tensor[], steps: number) {
    this.#point = point;
    this.#trace = trace;
    this.steps = steps;
  }

  async value(): Promise<number> {
    return this.#point.value.item();
  }

  /** The places of late in one tensor, the caller's. */
  path(): Tensor {
    return stack([...this.#trace, this.#point.x]);
  }

  /** The minimum, which is the caller's from now on; the rest of the result ends. */
  unwrap(): Tensor {
    const x = this.#point.x.alias();
    this[Symbol.dispose]();
    return x;
  }

  [Symbol.dispose](): void {
    release(this.#point);
    this.#trace.forEach((x) => x.dispose());
  }
}

function release({ x, value, gradient }: Point): void {
  x.dispose();
  value.dispose();
  gradient.dispose();
}

export async function minimize(
  objective: Objective,
  start: Tensor,
  options: Options = {},
): Promise<Result> {
  const { method = lbfgs(), maxSteps = 4, rates = [1, 0.5, 0.1], trace: limit = 0 } = options;
  const differentiate = valueAndGrad(objective);

  /** The point takes the place over. */
  function evaluate(x: Tensor): Point {
    const { value, grads } = differentiate(x);
    return { x, value, gradient: grads[0]! };
  }

  function move(from: Tensor, direction: Tensor, rate: number): Tensor {
    using change = direction.mul(rate);
    const free = from.add(change);
    if (options.project === undefined) return free;
    const allowed = options.project(free);
    free.dispose();
    return allowed;
  }

  async function search(from: Point, direction: Tensor): Promise<Point> {
    const before = await from.value.item();
    for (const rate of rates.slice(0, -1)) {
      const candidate = evaluate(move(from.x, direction, rate));
      if ((await candidate.value.item()) < before) return candidate;
      release(candidate);
    }
    return evaluate(move(from.x, direction, rates.at(-1) ?? 1));
  }

  let point = evaluate(start.clone());
  const trace: Tensor[] = [];
  try {
    let step = 0;
    while (step++ < maxSteps) {
      const direction = method.direction(point);
      const next = await search(point, direction);
      direction.dispose();
      method.learn?.(point, next);
      trace.push(point.x.alias());
      if (trace.length > limit) trace.shift()?.dispose();
      release(point);
      point = next;
      if (options.onStep?.(step, point.x) === true) break;
    }
    options.onEnd?.(point.x.clone());
    return new Result(point, trace, step);
  } catch (error) {
    release(point);
    for (const x of trace) x.dispose();
    throw error;
  } finally {
    method.dispose();
  }
}

/** Starts in several places, which it takes over, and returns the best result. */
export async function multiStart(
  objective: Objective,
  starts: readonly Tensor[],
  options: () => Options,
): Promise<Result | null> {
  let best: Result | null = null;
  for (const start of starts) {
    const result = await minimize(objective, start, options());
    start.dispose();
    if (best !== null && (await best.value()) < (await result.value())) {
      result[Symbol.dispose]();
      continue;
    }
    best?.[Symbol.dispose]();
    best = result;
  }
  return best;
}

/** Fits a few things, and says in how many steps. */
export async function run(): Promise<number> {
  using goal = tensor([1, 2, 3]);
  const away: Objective = (x) => x.sub(goal).square().sum();
  let last: Tensor | null = null;
  const keep = (x: Tensor): void => {
    last?.dispose();
    last = x;
  };
  const project = (x: Tensor): Tensor => x.clamp(0, 5);
  const starts = Array.from({ length: 3 }, () => rand([3]));
  using best = await multiStart(away, starts, () => ({ trace: 2, project, onEnd: keep }));
  using path = best?.path();
  using origin = tensor([0, 0, 0]);
  const quick = await minimize(away, origin, { method: momentum(), onStep: (n) => n === 3 });
  const steps = quick.steps;
  using found = quick.unwrap();
  const onStep = (): never => {
    throw new Error("enough");
  };
  await minimize(away, found, { onStep, trace: 1 }).catch(() => undefined);
  (last as Tensor | null)?.dispose();
  return steps + (path?.size ?? 0);
}
