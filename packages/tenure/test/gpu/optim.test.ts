/**
 * Optimizers as part of training: ten steps against plain arithmetic, stopping and going on bit by
 * bit, whom parameters and state belong to, tied weights, and what is refused. The formulas of
 * every rule are in optim/rules.test.ts.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  GradError,
  type Tensor,
  TenureError,
  manualSeed,
  memory,
  newDisposeScope,
  profile,
  randn,
  scoped,
  sync,
  tensor,
} from "tenure";
import { Linear, Module, ReLU, Sequential, functional as F } from "tenure/nn";
import { Adam, AdamW, type Optimizer, SGD } from "tenure/optim";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { numbers, pattern, rejects, setup } from "../helpers.ts";

await setup();
const test = suite("optim");

/** A rule in float64: changes parameter and state from a gradient. */
type Rule = (p: number[], g: number[], state: number[][], t: number) => void;
const momentum =
  (nesterov: boolean, decay: number): Rule =>
  (p, g, [v], t) => {
    p.forEach((x, i) => {
      const d = g[i]! + decay * x;
      v![i] = t === 1 ? d : 0.9 * v![i]! + d;
      p[i] = x - 0.05 * (nesterov ? d + 0.9 * v![i] : v![i]);
    });
  };
const adam =
  (lr: number, coupled: number, decoupled: number): Rule =>
  (p, g, [m, v], t) => {
    p.forEach((x, i) => {
      const w = x * (1 - lr * decoupled),
        d = g[i]! + coupled * w;
      m![i] = 0.9 * m![i]! + 0.1 * d;
      v![i] = 0.999 * v![i]! + 0.001 * d * d;
      p[i] = w - (lr * (m![i] / (1 - 0.9 ** t))) / (Math.sqrt(v![i] / (1 - 0.999 ** t)) + 1e-8);
    });
  };
const rules: readonly (readonly [string, (p: Tensor[]) => Optimizer, Rule])[] = [
  [
    "SGD",
    (p) => new SGD(p, { lr: 0.05 }),
    (p, g) => {
      p.forEach((x, i) => {
        p[i] = x - 0.05 * g[i]!;
      });
    },
  ],
  [
    "SGD with decay",
    (p) => new SGD(p, { lr: 0.05, weightDecay: 0.1 }),
    (p, g) => {
      p.forEach((x, i) => {
        p[i] = x - 0.05 * (g[i]! + 0.1 * x);
      });
    },
  ],
  ["momentum", (p) => new SGD(p, { lr: 0.05, momentum: 0.9 }), momentum(false, 0)],
  [
    "Nesterov with decay",
    (p) => new SGD(p, { lr: 0.05, momentum: 0.9, nesterov: true, weightDecay: 0.1 }),
    momentum(true, 0.1),
  ],
  ["Adam", (p) => new Adam(p, { lr: 0.02 }), adam(0.02, 0, 0)],
  ["Adam with decay", (p) => new Adam(p, { lr: 0.02, weightDecay: 0.1 }), adam(0.02, 0.1, 0)],
  ["AdamW", (p) => new AdamW(p, { lr: 0.02, weightDecay: 0.1 }), adam(0.02, 0, 0.1)],
];

for (const [name, make, rule] of rules) {
  test(`${name}: ten steps on Σ (p⁴ + 3p)/4 are those of plain arithmetic`, async () => {
    const start = numbers(6, 1),
      plain = [...start],
      state = [plain.map(() => 0), plain.map(() => 0)];
    using p = tensor(start, { requiresGrad: true });
    using optimizer = make([p]);
    for (let t = 1; t <= 10; t++) {
      rule(
        plain,
        plain.map((x) => x ** 3 + 0.75),
        state,
        t,
      );
      using _ = newDisposeScope();
      optimizer.zeroGrad();
      p.pow(4).add(p.mul(3)).div(4).sum().backward();
      optimizer.step();
    }
    assert.is(optimizer.steps, 10);
    await assertClose(p, plain, 1e-4);
  });
}

const data = { x: numbers(16 * 5, 2), y: numbers(16, 3).map((v) => (v > 0 ? 1 : 0)) };
function train(model: Module, optimizer: Optimizer, steps: number): void {
  for (let i = 0; i < steps; i++) {
    using _ = newDisposeScope();
    optimizer.zeroGrad();
    F.crossEntropy(
      model.call(tensor(data.x, { shape: [16, 5] })),
      tensor(data.y, { dtype: "int32" }),
    ).backward();
    optimizer.step();
  }
}
const net = (): Sequential => new Sequential(new Linear(5, 8), new ReLU(), new Linear(8, 2));
const weights = (m: Module): Promise<number[][]> =>
  Promise.all(m.parameters().map(async (p) => [...(await p.data())]));

for (const [name, make] of [
  ["momentum", (m: Module) => new SGD(m.parameters(), { lr: 0.1, momentum: 0.9 })],
  ["Adam", (m: Module) => new Adam(m.parameters())],
] as const) {
  test(`${name}: stopping, saving and going on gives the same bits`, async () => {
    using straight = net(),
      first = net(),
      second = net();
    scoped(() => {
      first.loadStateDict(straight.stateDict());
    });
    using a = make(straight) as unknown as Optimizer,
      b = make(first) as unknown as Optimizer,
      c = make(second) as unknown as Optimizer;
    train(straight, a, 12);
    train(first, b, 5);
    await assertNoLeaks(async () => {
      using _ = newDisposeScope();
      second.loadStateDict(first.stateDict());
    });
    train(second, c, 2); // state of its own, which loading must replace
    scoped(() => {
      second.loadStateDict(first.stateDict());
      c.loadStateDict(b.stateDict());
    });
    assert.is(c.steps, 5);
    train(second, c, 7);
    assert.equal(await weights(second), await weights(straight));
  });
}

test("loading a state without tensors forgets the old ones", async () => {
  using one = net(),
    two = net();
  scoped(() => {
    two.loadStateDict(one.stateDict());
  });
  using fresh = new SGD(one.parameters(), { lr: 0.1, momentum: 0.9 }) as unknown as Optimizer,
    used = new SGD(two.parameters(), { lr: 0.1, momentum: 0.9 }) as unknown as Optimizer;
  train(two, used, 3);
  scoped(() => {
    two.loadStateDict(one.stateDict());
    used.loadStateDict(fresh.stateDict());
  });
  train(one, fresh, 3);
  train(two, used, 3);
  assert.equal(await weights(two), await weights(one));
});

test("training learns, holds no more than it must, and all goes with its owners", async () => {
  const before = memory.stats();
  const model = net(),
    optimizer = new Adam(model.parameters(), { lr: 0.05 }) as unknown as Optimizer;
  const loss = async (): Promise<number> => {
    using l = scoped(() =>
      F.crossEntropy(
        model.call(tensor(data.x, { shape: [16, 5] })),
        tensor(data.y, { dtype: "int32" }),
      ),
    );
    return await l.item();
  };
  const first = await loss();
  train(model, optimizer, 60);
  assert.ok((await loss()) < 0.5 * first);
  assert.is(
    memory.stats().threadTotalLiveCount,
    before.threadTotalLiveCount + 4 + 8,
    "4 parameters and 2 states of each",
  );
  assert.is(memory.stats().storages, before.storages + 4 + 8 + 4, "and a gradient of each");
  optimizer.zeroGrad();
  optimizer.dispose();
  optimizer.dispose();
  assert.is(memory.stats().storages, before.storages + 4);
  await rejects(
    () => {
      optimizer.step();
    },
    TenureError,
    /^Adam: expected a live optimizer, got one that was disposed/,
  );
  model.dispose();
  assert.is(memory.stats().threadTotalLiveCount, before.threadTotalLiveCount);
  assert.is(memory.stats().storages, before.storages);
});

test("parameters without a gradient stay as they are", async () => {
  using a = tensor([1, 2], { requiresGrad: true }),
    b = tensor([3, 4], { requiresGrad: true });
  using optimizer = new SGD([a, b], { lr: 1, weightDecay: 0.5 });
  {
    using _ = newDisposeScope();
    a.sum().backward();
    optimizer.step();
  }
  await assertClose(a, [-0.5, 0], 0);
  await assertClose(b, [3, 4], 0);
});

class Tied extends Module {
  readonly encode: Tensor;
  readonly decode: Tensor;
  constructor() {
    super();
    this.encode = this.parameter(
      "encode",
      tensor([
        [1, 2],
        [3, 4],
      ]),
    );
    this.decode = this.parameter("decode", this.encode.alias());
  }
  forward(x: Tensor): Tensor {
    return scoped(() => x.matmul(this.encode).matmul(this.decode.transpose()));
  }
}

test("a parameter that is frozen later stays as it is until it learns again", async () => {
  using model = new Linear(2, 1, { bias: false });
  using optimizer = new SGD(model.parameters(), { lr: 1 });
  const train = async (): Promise<number[]> => {
    scoped(() => {
      optimizer.zeroGrad();
      const x = tensor([[1, 1]], { requiresGrad: true });
      model.call(x).sum().backward();
      optimizer.step();
    });
    return [...(await model.weight.data())];
  };
  model.weight.requiresGrad = false;
  const before = await train();
  assert.equal(await train(), before);
  model.weight.requiresGrad = true;
  await assertClose(
    await train(),
    before.map((w) => w - 1),
  );
});

test("tied weights are one parameter: one gradient, one update, under both names", async () => {
  using model = new Tied();
  using optimizer = new SGD(model.parameters(), { lr: 0.1 });
  assert.is(optimizer.parameters.length, 1);
  for (let i = 0; i < 2; i++) {
    using _ = newDisposeScope();
    optimizer.zeroGrad();
    model
      .call(tensor([[1, 0]]))
      .sum()
      .backward(); // (1,2)·Wᵀ summed: gradient (first row counts twice)
    optimizer.step();
  }
  // By hand: f = Σ_j w0·wj, so df/dw0 = Σ_j wj + w0 and df/dw1 = w0.
  let w = [
    [1, 2],
    [3, 4],
  ];
  for (let i = 0; i < 2; i++) {
    const [r, s] = w as [number[], number[]];
    w = [r.map((v, k) => v - 0.1 * (2 * v + s[k]!)), s.map((v, k) => v - 0.1 * r[k]!)];
  }
  await assertClose(model.encode, w.flat());
  await assertClose(model.decode, w.flat());
  assert.throws(
    () => new SGD([{ parameters: [model.encode] }, { parameters: [model.decode] }], { lr: 1 }),
    /^SGD: expected each parameter in one group/,
  );
});

test("what is no parameter, number or state is refused", async () => {
  using p = tensor([1, 2], { requiresGrad: true }),
    plain = randn([2]),
    computed = p.mul(2);
  await rejects(
    () => new SGD([], { lr: 1 }),
    ArgumentError,
    /^SGD: expected at least one parameter, got none; pass module\.parameters\(\) of a module /,
  );
  await rejects(
    () => new SGD([plain], { lr: 1 }),
    GradError,
    pattern`^SGD: expected parameters that are leaves with requiresGrad.*leave frozen ones out
      with filter\(\(p\) => p\.requiresGrad\), and addGroup\(\) them`,
  );
  await rejects(
    () => new Adam([computed]),
    GradError,
    /^Adam: expected parameters that are leaves/,
  );
  for (const lr of [-1, NaN])
    await rejects(
      () => new SGD([p], { lr }),
      ArgumentError,
      /^SGD: expected a learning rate in \[0, Infinity\)/,
    );
  await rejects(
    () => new SGD([p], { lr: 1, momentum: 1 }),
    ArgumentError,
    /^SGD: expected a momentum in \[0, 1\), got 1/,
  );
  await rejects(
    () => new Adam([p], { betas: [0.9, 1] }),
    ArgumentError,
    /^Adam: expected betas to be a pair of numbers in \[0, 1\), got \[0\.9,1\]/,
  );
  using adam_ = new Adam([p]);
  await rejects(
    () => {
      adam_.loadStateDict({ steps: 1, tensors: new Map([["0.momentum_buffer", plain]]) });
    },
    ArgumentError,
    pattern`^loadStateDict: expected state of 1 parameters with exp_avg, exp_avg_sq,
      max_exp_avg_sq, got 0\.momentum_buffer`,
  );
  await rejects(
    () => {
      adam_.loadStateDict({ steps: 1, tensors: new Map([["1.exp_avg", plain]]) });
    },
    ArgumentError,
    /^loadStateDict: .*got 1\.exp_avg/,
  );
  assert.is(adam_.steps, 0);
});

test("gradients that end in the step are used where they are made", async () => {
  const train = async (after: boolean): Promise<{ kernels: string[]; values: number[] }> => {
    manualSeed(5);
    using net = new Sequential(new Linear(8, 16), new ReLU(), new Linear(16, 4));
    using adam_ = new Adam(net.parameters());
    using x = randn([4, 8]);
    const step = async (): Promise<number> => {
      using scope = newDisposeScope();
      if (!after) adam_.zeroGrad();
      net.call(x).square().mean().backward();
      adam_.step();
      if (after) adam_.zeroGrad();
      return await scope.wait(sync().then(() => 0));
    };
    for (let k = 0; k < 3; k++) await step();
    const { kernels } = await profile(step);
    const values: number[] = [];
    for (const p of net.parameters()) values.push(...(await p.data()));
    return { kernels: kernels.map((k) => k.name), values };
  };
  const kept = await train(false);
  const ended = await train(true);
  const updates = kept.kernels.filter((name) => name.startsWith("adamUpdate"));
  assert.ok(updates.length <= 2, "kept gradients: updates run side by side");
  assert.is(
    updates.reduce((sum, name) => sum + Number(name.split("×")[1] ?? 1), 0),
    4,
  );
  assert.is(ended.kernels.filter((name) => name.startsWith("adamUpdate")).length, 0);
  assert.is(ended.kernels.filter((name) => name.endsWith("+adamUpdate")).length, 4);
  assert.equal(ended.values, kept.values);
});

test.run();
