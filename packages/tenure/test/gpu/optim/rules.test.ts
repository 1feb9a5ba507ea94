/**
 * Update rules against PyTorch's documented formulas in float64, parameter groups, saving and
 * resuming bit by bit, and that nothing that changes per step misses the plan cache.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  type Tensor,
  memory,
  newDisposeScope,
  scopedAsync,
  sync,
  tensor,
} from "tenure";
import {
  Adagrad,
  Adam,
  AdamW,
  Lion,
  type LoadableState,
  type Optimizer,
  type OptimizerState,
  RMSprop,
  SGD,
} from "tenure/optim";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("update rules");

const start = numbers(6, 1),
  steps = 4;
/**
 * The gradient at a step: not a function of the parameter, so that the reference needs no graph.
 */
const gradient = (step: number): number[] => numbers(6, 10 + step);

/** One number's trajectory in float64. `state` starts empty. */
type Rule = (p: number, g: number, t: number, state: Record<string, number>) => number;

/** Lets an optimizer take `steps` steps on given gradients. The caller disposes the parameter. */
function run(
  make: (p: Tensor) => Optimizer,
  from = 1,
  to = steps,
  values = start,
): { p: Tensor; optimizer: Optimizer } {
  const p = tensor(values, { requiresGrad: true, name: "p" }),
    optimizer = make(p);
  train(p, optimizer, from, to);
  return { p, optimizer };
}

function train(p: Tensor, optimizer: Optimizer, from: number, to: number): void {
  for (let t = from; t <= to; t++) {
    using _ = newDisposeScope("step");
    p.grad = tensor(gradient(t));
    optimizer.step();
  }
}

function reference(rule: Rule): number[] {
  return start.map((value, i) => {
    const state: Record<string, number> = {};
    let p = value;
    for (let t = 1; t <= steps; t++) p = rule(p, gradient(t)[i]!, t, state);
    return p;
  });
}

const sgd =
  (lr: number, momentum: number, dampening: number, decay: number, nesterov: boolean): Rule =>
  (p, g0, t, s) => {
    const g = g0 + decay * p;
    if (momentum === 0) return p - lr * g;
    s["b"] = t === 1 ? g : momentum * s["b"]! + (1 - dampening) * g;
    return p - lr * (nesterov ? g + momentum * s["b"] : s["b"]);
  };
const adam =
  (lr: number, b1: number, b2: number, eps: number, decay: number, decoupled: boolean): Rule =>
  (p0, g0, t, s) => {
    const p = decoupled ? p0 * (1 - lr * decay) : p0,
      g = decoupled ? g0 : g0 + decay * p;
    const m = (s["m"] = b1 * (s["m"] ?? 0) + (1 - b1) * g),
      v = (s["v"] = b2 * (s["v"] ?? 0) + (1 - b2) * g * g);
    return p - ((lr / (1 - b1 ** t)) * m) / (Math.sqrt(v) / Math.sqrt(1 - b2 ** t) + eps);
  };
/** Adam that divides by the largest second moment so far, of gradients with the other sign. */
const amsgrad =
  (lr: number, b1: number, b2: number, eps: number): Rule =>
  (p, g0, t, s) => {
    const g = -g0,
      m = (s["m"] = b1 * (s["m"] ?? 0) + (1 - b1) * g),
      v = (s["v"] = b2 * (s["v"] ?? 0) + (1 - b2) * g * g),
      top = (s["top"] = Math.max(s["top"] ?? 0, v));
    return p - ((lr / (1 - b1 ** t)) * m) / (Math.sqrt(top) / Math.sqrt(1 - b2 ** t) + eps);
  };
const climbing =
  (rule: Rule): Rule =>
  (p, g, t, s) =>
    rule(p, -g, t, s);
const rmsprop =
  (
    lr: number,
    alpha: number,
    eps: number,
    decay: number,
    momentum: number,
    centered: boolean,
  ): Rule =>
  (p, g0, _, s) => {
    const g = g0 + decay * p,
      v = (s["v"] = alpha * (s["v"] ?? 0) + (1 - alpha) * g * g);
    const a = (s["a"] = alpha * (s["a"] ?? 0) + (1 - alpha) * g),
      q = g / (Math.sqrt(centered ? v - a * a : v) + eps);
    const b = (s["b"] = momentum * (s["b"] ?? 0) + q);
    return p - lr * b;
  };
const adagrad =
  (lr: number, lrDecay: number, decay: number, initial: number, eps: number): Rule =>
  (p, g0, t, s) => {
    const g = g0 + decay * p,
      v = (s["v"] = (s["v"] ?? initial) + g * g);
    return p - ((lr / (1 + (t - 1) * lrDecay)) * g) / (Math.sqrt(v) + eps);
  };
const lion =
  (lr: number, b1: number, b2: number, decay: number): Rule =>
  (p, g, _, s) => {
    const m = s["m"] ?? 0,
      u = Math.sign(b1 * m + (1 - b1) * g);
    s["m"] = b2 * m + (1 - b2) * g;
    return p * (1 - lr * decay) - lr * u;
  };

const cases: readonly [string, (p: Iterable<Tensor>) => Optimizer, Rule][] = [
  ["SGD", (p) => new SGD(p, { lr: 0.1 }), sgd(0.1, 0, 0, 0, false)],
  [
    "SGD, dampened momentum and decay",
    (p) => new SGD(p, { lr: 0.1, momentum: 0.9, dampening: 0.3, weightDecay: 0.1 }),
    sgd(0.1, 0.9, 0.3, 0.1, false),
  ],
  [
    "SGD, Nesterov",
    (p) => new SGD(p, { lr: 0.1, momentum: 0.8, nesterov: true }),
    sgd(0.1, 0.8, 0, 0, true),
  ],
  [
    "Adam",
    (p) => new Adam(p, { lr: 0.02, betas: [0.8, 0.95], weightDecay: 0.1 }),
    adam(0.02, 0.8, 0.95, 1e-8, 0.1, false),
  ],
  ["AdamW", (p) => new AdamW(p, { lr: 0.02 }), adam(0.02, 0.9, 0.999, 1e-8, 0.01, true)],
  [
    "Adam, amsgrad, maximize",
    (p) => new Adam(p, { lr: 0.02, betas: [0.5, 0.6], amsgrad: true, maximize: true }),
    amsgrad(0.02, 0.5, 0.6, 1e-8),
  ],
  [
    "AdamW, amsgrad",
    (p) => new AdamW(p, { lr: 0.02, betas: [0.5, 0.6], weightDecay: 0, amsgrad: true }),
    climbing(amsgrad(0.02, 0.5, 0.6, 1e-8)),
  ],
  [
    "SGD, maximize",
    (p) => new SGD(p, { lr: 0.1, weightDecay: 0.1, maximize: true }),
    climbing(sgd(0.1, 0, 0, 0.1, false)),
  ],
  [
    "SGD, momentum, maximize",
    (p) => new SGD(p, { lr: 0.1, momentum: 0.9, maximize: true }),
    climbing(sgd(0.1, 0.9, 0, 0, false)),
  ],
  [
    "RMSprop, maximize",
    (p) => new RMSprop(p, { maximize: true }),
    climbing(rmsprop(0.01, 0.99, 1e-8, 0, 0, false)),
  ],
  [
    "Adagrad, maximize",
    (p) => new Adagrad(p, { lr: 0.1, weightDecay: 0.05, maximize: true }),
    climbing(adagrad(0.1, 0, 0.05, 0, 1e-10)),
  ],
  ["RMSprop", (p) => new RMSprop(p), rmsprop(0.01, 0.99, 1e-8, 0, 0, false)],
  [
    "RMSprop, momentum and decay",
    (p) => new RMSprop(p, { lr: 0.02, alpha: 0.9, momentum: 0.5, weightDecay: 0.1 }),
    rmsprop(0.02, 0.9, 1e-8, 0.1, 0.5, false),
  ],
  [
    "RMSprop, centered",
    (p) => new RMSprop(p, { lr: 0.02, alpha: 0.9, centered: true, eps: 0.01 }),
    rmsprop(0.02, 0.9, 0.01, 0, 0, true),
  ],
  [
    "RMSprop, centered with momentum",
    (p) => new RMSprop(p, { lr: 0.02, alpha: 0.9, centered: true, momentum: 0.5, eps: 0.01 }),
    rmsprop(0.02, 0.9, 0.01, 0, 0.5, true),
  ],
  [
    "Adagrad",
    (p) => new Adagrad(p, { lr: 0.1, lrDecay: 0.1, weightDecay: 0.05, initialAccumulator: 0.5 }),
    adagrad(0.1, 0.1, 0.05, 0.5, 1e-10),
  ],
  [
    "Lion",
    (p) => new Lion(p, { lr: 0.03, weightDecay: 0.1, betas: [0.7, 0.9] }),
    lion(0.03, 0.7, 0.9, 0.1),
  ],
];

for (const [name, make, rule] of cases) {
  test(`${name} is PyTorch's rule`, async () => {
    await assertNoLeaks(async () => {
      const { p, optimizer } = run((t) => make([t]));
      const read = p.data();
      optimizer.dispose();
      p.dispose();
      // Centered variances subtract nearly equal numbers; float32 keeps some five digits of the
      // quotient.
      await assertClose(await read, reference(rule), { rel: 2e-5, abs: 2e-5 });
    });
  });

  test(`${name} continues bit by bit`, async () => {
    await assertNoLeaks(async () => {
      const whole = run((t) => make([t]), 1, 4),
        first = run((t) => make([t]), 1, 2);
      const state = first.optimizer.stateDict(),
        host = await toHost(state),
        values = await first.p.data();
      for (const t of state.tensors.values()) t.dispose();
      const second = run((t) => make([t]), 1, 0, [...values]);
      second.optimizer.loadStateDict(host);
      assert.is(second.optimizer.steps, 2);
      train(second.p, second.optimizer, 3, 4);
      const [a, b] = await Promise.all([whole.p.data(), second.p.data()]);
      assert.equal([...a], [...b]);
      for (const { p, optimizer } of [whole, first, second]) {
        optimizer.dispose();
        p.dispose();
      }
    });
  });
}

/** State through JSON and host arrays, as a file keeps it. */
async function toHost(state: OptimizerState<unknown>): Promise<LoadableState<{ lr: number }>> {
  const tensors = await Promise.all(
    [...state.tensors].map(
      async ([name, t]) => [name, { shape: t.shape, data: await t.data() }] as const,
    ),
  );
  const { tensors: _, ...numbers } = state;
  return {
    ...(JSON.parse(JSON.stringify(numbers)) as Omit<LoadableState<{ lr: number }>, "tensors">),
    tensors: new Map(tensors),
  };
}

test("states have PyTorch's names", () =>
  scopedAsync(async () => {
    const names: Record<string, string[]> = {};
    for (const [name, make] of cases) {
      const { p, optimizer } = run((t) => make([t]), 1, 1);
      using _ = newDisposeScope("names");
      names[name] = [...optimizer.stateDict().tensors.keys()];
      optimizer.dispose();
      p.dispose();
    }
    assert.equal(names["SGD"], []);
    assert.equal(names["SGD, Nesterov"], ["0.momentum_buffer"]);
    assert.equal(names["Adam"], ["0.exp_avg", "0.exp_avg_sq"]);
    assert.equal(names["AdamW, amsgrad"], ["0.exp_avg", "0.exp_avg_sq", "0.max_exp_avg_sq"]);
    assert.equal(names["RMSprop, centered with momentum"], [
      "0.square_avg",
      "0.momentum_buffer",
      "0.grad_avg",
    ]);
    assert.equal(names["Adagrad"], ["0.sum"]);
    assert.equal(names["Lion"], ["0.exp_avg"]);
    await sync();
  }));

test("a parameter that missed steps keeps its own bias correction", () =>
  scopedAsync(async () => {
    const p = tensor([1], { requiresGrad: true }),
      q = tensor([1], { requiresGrad: true });
    using optimizer = new Adam([p, q], { lr: 0.1 });
    for (let t = 0; t < 3; t++) {
      p.grad = tensor([1]);
      if (t === 2) q.grad = tensor([1]);
      optimizer.step();
    }
    await assertClose(q, [0.9], 1e-6); // Adam's first step is lr·sign(g)
  }));

test("what is left of a beta is computed in double precision", () =>
  scopedAsync(async () => {
    const p = tensor([1], { requiresGrad: true });
    using optimizer = new Adam([p]);
    p.grad = tensor([1]);
    optimizer.step();
    assert.is(
      (await optimizer.stateDict().tensors.get("0.exp_avg_sq")!.data())[0],
      Math.fround(0.001),
    ); // in float32, 1 - 0.999 is 1e-5 off
  }));

test("hostile state is refused before anything changes", () =>
  scopedAsync(async () => {
    const p = tensor([1, 2], { requiresGrad: true });
    using optimizer = new Adam([p]);
    p.grad = tensor([1, 1]);
    optimizer.step();
    const state = optimizer.stateDict(),
      before = await p.data(),
      wrong = tensor([1]);
    const bad = (changes: object): void => optimizer.loadStateDict({ ...state, ...changes });
    await rejects(() => bad({ tensors: new Map([["1.exp_avg", p]]) }), ArgumentError, /1\.exp_avg/);
    await rejects(
      () => bad({ tensors: new Map([["0.velocity", p]]) }),
      ArgumentError,
      /0\.velocity/,
    );
    await rejects(() => bad({ tensors: new Map([["__proto__", p]]) }), ArgumentError, /__proto__/);
    await rejects(
      () => bad({ tensors: new Map([["0.exp_avg", wrong]]) }),
      ArgumentError,
      /shape \[2\]/,
    );
    await rejects(() => bad({ groups: [] }), ArgumentError, /1 parameter groups/);
    await rejects(() => bad({ groups: [{ lr: NaN }] }), ArgumentError, /learning rate/);
    await rejects(() => bad({ counts: [1, 2] }), ArgumentError, /step counts/);
    await rejects(() => bad({ steps: -1 }), ArgumentError, /number of steps/);
    assert.equal([...(await p.data())], [...before]);
    assert.is(optimizer.steps, 1);
    // An older file: steps, lr and tensors.
    optimizer.loadStateDict({ steps: 7, lr: 0.5, tensors: state.tensors });
    assert.equal([optimizer.steps, optimizer.lr, optimizer.stateDict().counts], [7, 0.5, [7]]);
    // State that the file does not have is reset.
    optimizer.loadStateDict({ steps: 0, tensors: new Map() });
    assert.is(optimizer.stateDict().tensors.size, 0);
  }));

test("a changing rate misses no plan", () =>
  scopedAsync(async () => {
    for (const [, make] of cases) {
      using p = tensor(start, { requiresGrad: true });
      using optimizer = make([p]);
      let misses = 0;
      for (let t = 1; t <= 5; t++) {
        {
          using _step = newDisposeScope("step");
          p.grad = tensor(gradient(t));
          optimizer.lr = 0.01 * t;
          optimizer.step();
        }
        await sync();
        if (t === 3) misses = memory.debug().planMisses;
      }
      assert.is(memory.debug().planMisses, misses);
    }
  }));

test.run();
