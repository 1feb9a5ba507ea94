/**
 * Mixed precision: autocast, float16 modules with float32 masters, loss scaling. What computes in
 * float16 runs where the adapter has shader-f16 and must be refused where it has not; loss scaling
 * is checked in float32 everywhere.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DTypeError,
  type Tensor,
  autocast,
  checkpoint,
  deviceInfo,
  isAutocastEnabled,
  manualSeed,
  memory,
  newDisposeScope,
  noGrad,
  randn,
  scopedAsync,
  tensor,
} from "tenure";
import { BatchNorm1d, GELU, LayerNorm, Linear, Sequential, functional as F } from "tenure/nn";
import { Adam, AdamW, GradScaler, type Optimizer, SGD, clipGradNorm } from "tenure/optim";
import { assertClose } from "tenure/testing";
import { pattern, rejects, setup } from "../helpers.ts";

await setup();
const test = suite("mixed precision");
const has = deviceInfo()!.features.includes("shader-f16");
const { assertNoLeaks } = memory;

/** `half` on adapters that compute in float16, `refused` on the others: one of them always runs. */
function either(name: string, half: () => Promise<unknown>, refused: () => unknown): void {
  test(name, () =>
    assertNoLeaks(async () => {
      if (has) {
        await scopedAsync(half);
        return;
      }
      await rejects(
        refused,
        DTypeError,
        pattern`expected a device with shader-f16 for float16 tensors, got .+ without it; stay
          with float32, or choose another adapter with init\(\{ device \}\)`,
      );
    }),
  );
}

function network(): Sequential {
  return new Sequential(new Linear(8, 32), new LayerNorm(32), new GELU(), new Linear(32, 4));
}

/** Points in four classes by the signs of two of eight coordinates. */
function batch(n: number): [Tensor, Tensor] {
  const x = randn([n, 8]);
  return [
    x,
    x
      .slice(1, 0, 1)
      .gt(0)
      .int()
      .mul(2)
      .add(x.slice(1, 1, 2).gt(0).int())
      .reshape(-1),
  ];
}

// === autocast ===

either(
  "autocast multiplies in float16 and sums in float32",
  async () => {
    const a = tensor(
        [
          [300, 1],
          [0.5, 2],
        ],
        { requiresGrad: true },
      ),
      b = tensor([
        [200, 1],
        [1, 3],
      ]);
    const [product, sum, e] = autocast(() => {
      assert.ok(isAutocastEnabled());
      const p = a.matmul(b); // 60001 rounds to 60000 in float16
      return [p, p.sum(), p.mul(0).add(12).exp()] as const;
    });
    assert.not(isAutocastEnabled());
    assert.equal(
      [product.dtype, sum.dtype, e.dtype, a.matmul(b).dtype],
      ["float16", "float32", "float32", "float32"],
    );
    assert.is(
      autocast(() => autocast(() => a.matmul(b).dtype, { enabled: false })),
      "float32",
    );
    sum.backward();
    const grad = a.grad!;
    assert.is(grad.dtype, "float32");
    await Promise.all([
      assertClose(
        product,
        [
          [60000, 303],
          [102, 6.5],
        ],
        { rel: 1e-3 },
      ),
      assertClose(sum, 60001 + 303 + 102 + 6.5, { rel: 1e-3 }),
      assertClose(
        e,
        [
          [162754.79, 162754.79],
          [162754.79, 162754.79],
        ],
        { rel: 1e-5 },
      ),
      assertClose(grad, [
        [201, 4],
        [201, 4],
      ]),
    ]);
  },
  () => autocast(() => 1),
);

either(
  "a checkpoint under autocast recomputes in float16",
  async () => {
    const x = tensor(
        [
          [1, 2],
          [3, 4],
        ],
        { requiresGrad: true },
      ),
      dtypes: string[] = [];
    const y = autocast(() =>
      checkpoint((t) => {
        const m = t.matmul(t);
        dtypes.push(m.dtype);
        return m.relu();
      }, x),
    );
    y.sum().backward();
    assert.equal(dtypes, ["float16", "float16"]);
    await assertClose(
      x.grad!,
      [
        [7, 11],
        [9, 13],
      ],
      1e-3,
    );
  },
  () => autocast(() => 1),
);

/** Trains `steps` steps and gives the mean loss of the last ten. */
async function train(
  model: Sequential,
  optimizer: Optimizer,
  scaler: GradScaler,
  cast: boolean,
  steps: number,
): Promise<number> {
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    let read: Promise<[number, boolean]>;
    {
      using _ = newDisposeScope("step");
      const [x, y] = batch(64),
        forward = (): Tensor => F.crossEntropy(model.call(x.to(model.parameters()[0]!.dtype)), y);
      const loss = cast ? autocast(forward) : forward();
      optimizer.zeroGrad();
      scaler.scale(loss).backward();
      scaler.unscale(optimizer);
      clipGradNorm(model.parameters(), 1);
      read = Promise.all([loss.item(), scaler.step(optimizer)]);
    }
    losses.push((await read)[0]);
    scaler.update();
  }
  return losses.slice(-10).reduce((n, l) => n + l / 10, 0);
}

either(
  "a network learns under autocast as in float32",
  async () => {
    const results: number[] = [];
    for (const cast of [false, true]) {
      manualSeed(5);
      using model = network();
      using optimizer = new AdamW(model.parameters(), { lr: 0.01 });
      using scaler = new GradScaler({ enabled: cast });
      results.push(await train(model, optimizer, scaler, cast, 60));
      assert.ok(model.parameters().every((p) => p.dtype === "float32"));
    }
    assert.ok(results[0]! < 0.5 && Math.abs(results[1]! - results[0]!) < 0.05, results.join(" "));
  },
  () => autocast(() => 1),
);

// === float16 modules ===

either(
  "a float16 module learns, its optimizer keeps masters in float32",
  async () => {
    manualSeed(5);
    using model = network();
    // before: it works on the same tensors
    using optimizer = new AdamW(model.parameters(), { lr: 0.01 });
    using scaler = new GradScaler({ initialScale: 2 ** 30 }); // overflows at first
    assert.is(model.half(), model);
    assert.ok(model.parameters().every((p) => p.dtype === "float16" && p.requiresGrad && p.isLeaf));
    const loss = await train(model, optimizer, scaler, false, 80);
    assert.ok(loss < 0.5, String(loss));
    assert.ok(
      scaler.skippedSteps > 10 &&
        scaler.takenSteps === 80 - scaler.skippedSteps &&
        optimizer.steps === scaler.takenSteps,
      `${scaler.skippedSteps} skipped`,
    );
    const state = optimizer.stateDict();
    assert.equal([...state.tensors.keys()].slice(0, 3), [
      "0.master_param",
      "0.exp_avg",
      "0.exp_avg_sq",
    ]);
    for (const t of state.tensors.values()) assert.is(t.dtype, "float32");
    // Each parameter is the rounding of its master.
    for (const [i, p] of model.parameters().entries())
      await assertClose(state.tensors.get(`${i}.master_param`)!.half(), [...(await p.data())], 0);
    model.float();
    assert.ok(model.parameters().every((p) => p.dtype === "float32"));
  },
  () => {
    using model = network();
    model.half();
  },
);

either(
  "steps too small for float16 add up in the master, and follow what others write",
  async () => {
    using p = tensor([1, 1, 1], { dtype: "float16", requiresGrad: true });
    using optimizer = new SGD([p], { lr: 1 });
    const step = (n: number): void => {
      for (let i = 0; i < n; i++) {
        using _ = newDisposeScope();
        p.grad = tensor([1e-4, -1e-4, 0]);
        optimizer.step();
      }
    };
    step(1);
    await assertClose(p, [1, 1, 1], 0); // half a unit in the last place is 2.4e-4
    step(99);
    await assertClose(p, [0.99, 1.01, 1], 5e-4);
    const master = optimizer.stateDict().tensors.get("0.master_param")!;
    await assertClose(master, [0.99, 1.01, 1], 1e-5);
    noGrad(() => {
      p.slice(0, 2).fill_(5);
    });
    step(1);
    await Promise.all([
      assertClose(p, [0.99, 1.01, 5], 5e-4),
      assertClose(master, [0.9899, 1.0101, 5], 1e-5),
    ]);
  },
  () => tensor([1], { dtype: "float16" }),
);

either(
  "float16 training continues bit by bit, whichever of module and optimizer is loaded first",
  async () => {
    const target = tensor([[0.3], [-0.7]]),
      x = tensor([
        [1, 2],
        [3, -1],
      ]);
    const train3 = (model: Linear, optimizer: Optimizer, steps: number): void => {
      for (let i = 0; i < steps; i++) {
        using _ = newDisposeScope();
        optimizer.zeroGrad();
        F.mseLoss(model.call(x.half()), target.half()).backward();
        optimizer.step();
      }
    };
    manualSeed(1);
    using whole = new Linear(2, 1).half();
    using wholeOptimizer = new Adam(whole.parameters(), { lr: 1e-3 });
    train3(whole, wholeOptimizer, 3);
    const weights = new Map<string, { data: ArrayBufferView; shape: readonly number[] }>();
    for (const [name, t] of whole.stateDict())
      weights.set(name, { data: await t.data(), shape: t.shape });
    const { tensors, ...numbers } = wholeOptimizer.stateDict(),
      host = new Map<string, { data: ArrayBufferView; shape: readonly number[] }>();
    for (const [name, t] of tensors) host.set(name, { data: await t.data(), shape: t.shape });
    const state: Parameters<Adam["loadStateDict"]>[0] = { ...numbers, tensors: host };
    train3(whole, wholeOptimizer, 5);
    const want = await whole.weight.data();
    for (const order of [0, 1]) {
      using model = new Linear(2, 1).half();
      using optimizer = new Adam(model.parameters(), { lr: 1e-3 });
      if (order === 0) {
        model.loadStateDict(weights);
        optimizer.loadStateDict(state);
      } else {
        optimizer.loadStateDict(state);
        model.loadStateDict(weights);
      }
      train3(model, optimizer, 5);
      assert.equal([...(await model.weight.data())], [...want]);
    }
  },
  () => {
    using model = new Linear(2, 1);
    model.half();
  },
);

either(
  "statistics and gradients are converted too",
  async () => {
    using model = new Sequential(
      new Linear(3, 3, { bias: false }),
      new Linear(3, 3, { bias: false }),
      new BatchNorm1d(3),
    );
    const x = tensor([
      [1, 2, 3],
      [4, 5, 7],
    ]);
    model.call(x).sum().backward();
    model.half();
    const [first] = model.parameters();
    assert.is(first!.grad!.dtype, "float16");
    assert.equal(
      [...model.namedBuffers()].map(([, b]) => b.dtype),
      ["float16", "float16", "int32"],
    );
    assert.is(model.call(x.half()).dtype, "float16");
  },
  () => {
    using model = new BatchNorm1d(3);
    model.half();
  },
);

test("a module refuses dtypes that are no float, and stays where float16 is refused", async () => {
  await assertNoLeaks(async () => {
    using model = network();
    await rejects(
      () => model.to("int32" as never),
      DTypeError,
      /^to: expected float32 or float16 for a module, got int32/,
    );
    await rejects(() => model.to("double" as never), DTypeError, /one of bool/);
    if (!has) await rejects(() => model.half(), DTypeError, /shader-f16/);
    if (!has) assert.ok(model.parameters().every((p) => p.dtype === "float32"));
    assert.is(model.float(), model);
  });
});

test.run();
