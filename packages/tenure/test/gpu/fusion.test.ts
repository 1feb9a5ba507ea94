/**
 * Ops fused into kernels against the same ops one by one: random graphs with their gradients,
 * training steps, how many kernels run, what a repeated step creates, which op is named when one of
 * several fused ops fails, and the text of the kernels.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DeviceError,
  type Tensor,
  TenureError,
  init,
  manualSeed,
  memory,
  newDisposeScope,
  noGrad,
  scoped,
  sync,
  tensor,
} from "tenure";
import { functional as F } from "tenure/nn";
import { Adagrad, Adam, AdamW, type Optimizer, RMSprop, SGD } from "tenure/optim";
import type { DeviceCaps } from "../../src/kernels/kernel.ts";
import * as E from "../../src/ops/elementwise.ts";
import type { OpDef } from "../../src/ops/op.ts";
import { buildProgram } from "../../src/runtime/build-program.ts";
import { fused, isFused } from "../../src/runtime/fusion.ts";
import { lower } from "../../src/runtime/lower.ts";
import { runtime } from "../../src/runtime/runtime.ts";
import { golden, numbers, rejects, setup, takeDeviceErrors, unfused } from "../helpers.ts";
import { everyKernel } from "../every-kernel.ts";
import { allOps } from "../op-records.ts";
import { execute } from "./ops/host.ts";
import { models } from "./scheduler/models.ts";

await setup();
const test = suite("fusion");

async function rise(fn: () => unknown): Promise<ReturnType<typeof memory.debug>> {
  const before = memory.debug();
  await fn();
  const after = memory.debug();
  return Object.fromEntries(
    Object.entries(after).map(([k, v]) => [k, v - before[k as keyof typeof before]]),
  ) as ReturnType<typeof memory.debug>;
}

const bits = (list: readonly Float32Array[]): string =>
  list.map((v) => new Uint32Array(v.buffer, v.byteOffset, v.length).join()).join("\n");

// === Training steps ===

/** Dispatches that a step may take at most. Unfused they are 58, 42, 90 and 101. */
const steps: Readonly<Record<string, number>> = { MLP: 40, CNN: 33, ResNet: 68, GPT: 76 };

for (const name of Object.keys(steps)) {
  test(`${name}: a step has the same bits in fewer kernels, nothing made twice`, async () => {
    const train = async (): Promise<{
      result: string;
      dispatches: number;
      later: ReturnType<typeof memory.debug>;
    }> => {
      using t = models[name]!();
      const losses: number[] = [];
      const step = async (): Promise<void> => {
        using loss = t.step();
        losses.push(await loss.item());
      };
      await step();
      await step();
      const later = await rise(async () => {
        await step();
        await step();
      });
      const parameters: Float32Array[] = [];
      for (const p of t.model.parameters()) parameters.push((await p.data()) as Float32Array);
      return {
        result: `${losses.join()}\n${bits(parameters)}`,
        dispatches: later.dispatches / 2,
        later,
      };
    };
    const one = await unfused(train);
    const all = await train();
    assert.ok(
      all.dispatches <= steps[name]! && all.dispatches < one.dispatches,
      `${all.dispatches} kernels of ${one.dispatches}`,
    );
    assert.is(all.result, one.result);
    assert.is(all.later.planMisses, 0);
    for (const what of ["buffers", "pipelines", "bindGroups", "shaderModules"] as const)
      assert.is(all.later[what], 0, what);
  });
}

// === Random graphs ===

type Node = readonly [kind: number, a: number, b: number];

/**
 * Builds a graph from numbers, all values [4, 6] or what reductions leave. @returns the loss and
 * the last value
 */
function build(nodes: readonly Node[], x: Tensor, w: Tensor, row: Tensor): Tensor {
  const live: Tensor[] = [x, x.mul(row)];
  const pick = (k: number): Tensor => live[live.length - 1 - (k % Math.min(live.length, 4))]!;
  for (const [kind, a, b] of nodes) {
    const p = pick(a),
      q = pick(b);
    live.push(
      [
        () => p.add(q),
        () => p.mul(q),
        () => p.tanh(),
        () => p.relu(),
        () => p.sub(row),
        () => p.matmul(w),
        () => p.sub(p.mean([1], true)),
        () => p.mul(q.sum([0], true).mul(0.1)),
        () => F.dropout(p, 0.3),
        () => p.sigmoid().mul(p),
        () => p.transpose().reshape(4, 6),
        () => p.gt(0).float().mul(q),
        () => p.add(q.max([1], true)),
        () => p.transpose().exp().clamp(-3, 3).transpose(),
        () => p.add(q).softmax(-1).mul(3),
        () => F.layerNorm(p.mul(q), 6).tanh(),
        () => p.sub(row).square().sum().mul(q),
        () => F.layerNorm(p.logSoftmax(0), 6, row).add(q),
        () =>
          F.maxPool2d(p.reshape(1, 1, 4, 6), 2)
            .exp()
            .sum()
            .mul(q),
      ][kind]!(),
    );
  }
  return live.at(-1)!;
}

test("random graphs and their gradients have the same values", async () => {
  const values = {
    x: numbers(24, 1, -1, 1),
    w: numbers(36, 2, -0.5, 0.5),
    row: numbers(6, 3, -1, 1),
  };
  const run = async (nodes: readonly Node[]): Promise<Float32Array[]> => {
    manualSeed(5);
    const reads = scoped(() => {
      const x = tensor(values.x, { shape: [4, 6], requiresGrad: true }),
        w = tensor(values.w, { shape: [6, 6], requiresGrad: true }),
        row = tensor(values.row, { requiresGrad: true });
      const out = build(nodes, x, w, row),
        loss = out.square().mean();
      loss.backward();
      return [out, loss, x.grad, w.grad, row.grad].filter((t) => t !== null).map((t) => t.data());
    });
    return (await Promise.all(reads)) as Float32Array[];
  };
  const graphs = fc.sample(
    fc.array(fc.tuple(fc.nat(18), fc.nat(9), fc.nat(9)), { minLength: 2, maxLength: 9 }),
    { numRuns: 20, seed: 3 },
  );
  const one = await unfused(async () => {
    const all: Float32Array[][] = [];
    for (const g of graphs) all.push(await run(g));
    return all;
  });
  for (const [k, g] of graphs.entries())
    assert.is(bits(await run(g)), bits(one[k]!), JSON.stringify(g));
});

// === Semantics ===

test("one kernel for a chain, a tree, a diamond; what is owned is written on the way", async () => {
  using x = tensor(numbers(12, 1, -1, 1), { shape: [3, 4] });
  await sync();
  const chain = await rise(async () => {
    using y = scoped(() => x.mul(2).add(1).tanh().neg());
    await y.data();
  });
  assert.is(chain.dispatches, 1);
  const diamond = await rise(async () => {
    using y = scoped(() => {
      const e = x.exp();
      return e.mul(2).add(e.square());
    });
    await y.data();
  });
  assert.is(diamond.dispatches, 1);
  const kept = await rise(async () => {
    using y = x.mul(2),
      z = y.add(1);
    await Promise.all([y.data(), z.data()]);
  });
  assert.is(kept.dispatches, 1);
});

test("a softmax, a log-softmax and the norms are one kernel each", async () => {
  using x = tensor(numbers(24, 1, -1, 1), { shape: [4, 6] }),
    image = tensor(numbers(64, 2, -1, 1), { shape: [2, 2, 4, 4] }),
    w = tensor(numbers(6, 3, -1, 1)),
    b = tensor(numbers(6, 4, -1, 1));
  await sync();
  const ones: Readonly<Record<string, () => Tensor>> = {
    softmax: () => x.softmax(-1),
    "softmax along columns": () => x.softmax(0),
    logSoftmax: () => x.logSoftmax(-1),
    layerNorm: () => F.layerNorm(x, 6, w, b),
    rmsNorm: () => F.rmsNorm(x, 6, w),
    groupNorm: () => F.groupNorm(image, 2),
  };
  for (const [name, fn] of Object.entries(ones))
    assert.is(
      (
        await rise(async () => {
          using y = fn();
          await y.data();
        })
      ).dispatches,
      1,
      name,
    );
});

test("the update of a parameter is one kernel, with its states, decay and averaging", async () => {
  const optimizers: Readonly<Record<string, (p: Tensor[]) => Optimizer>> = {
    SGD: (p) => new SGD(p, { lr: 0.1 }),
    momentum: (p) => new SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 }),
    Adam: (p) => new Adam(p, { lr: 0.1, weightDecay: 0.01, amsgrad: true }),
    AdamW: (p) => new AdamW(p, { lr: 0.1 }),
    RMSprop: (p) => new RMSprop(p, { lr: 0.1, momentum: 0.9, centered: true }),
    Adagrad: (p) => new Adagrad(p, { lr: 0.1 }),
  };
  for (const [name, make] of Object.entries(optimizers)) {
    using w = tensor(numbers(24, 1, -1, 1), { shape: [4, 6], requiresGrad: true }),
      v = tensor(numbers(6, 2, -1, 1), { requiresGrad: true }),
      optimizer = make([w, v]);
    const updates: number[] = [];
    for (let k = 0; k < 3; k++) {
      scoped(() => {
        optimizer.zeroGrad();
        w.mul(v).square().sum().backward();
      });
      await sync();
      updates.push(
        (
          await rise(async () => {
            optimizer.step();
            await sync();
          })
        ).dispatches,
      );
    }
    assert.equal(updates, [2, 2, 2], name);
  }
});

test("in place, updates see what was there and leave what should be", async () => {
  using a = tensor([1, 2, 3, 4], { shape: [2, 2] });
  const ran = await rise(async () => {
    const reads = scoped(() => {
      const old = a.mul(10);
      a.add_(1);
      const now = a.mul(100);
      return [old.data(), now.data(), a.data()] as const;
    });
    assert.equal(
      (await Promise.all(reads)).map((r) => [...r]),
      [
        [10, 20, 30, 40],
        [200, 300, 400, 500],
        [2, 3, 4, 5],
      ],
    );
  });
  assert.is(ran.dispatches, 2, "one before the write, one from it on");
  // Through a transposed alias, places differ: two kernels.
  using crossed = scoped(() => {
    const t = a.transpose(),
      sum = a.add(t);
    t.mul_(2);
    return sum.add(a);
  });
  assert.equal([...(await crossed.data())], [8, 13, 15, 20]);
});

test("random numbers are the same inside a kernel of several ops and alone", async () => {
  using x = tensor(numbers(60, 4, -1, 1), { shape: [6, 10] });
  const draw = (): Promise<Float32Array[]> => {
    manualSeed(11);
    return Promise.all(
      scoped(() => [
        F.dropout(x.mul(2), 0.5).add(1).data(),
        x
          .matmul(x.transpose())
          .mul(F.dropout(x.slice(1, 0, 6).clone(), 0.5))
          .data(),
      ]),
    ) as Promise<Float32Array[]>;
  };
  const together = await draw();
  assert.is(bits(together), bits(await unfused(draw)));
});

test("every op that uses the number of the element says so", () => {
  let some = 0;
  for (const op of allOps())
    if (op.facts.indexed === true) {
      some++;
      assert.ok(op.facts.elementwise, op.name);
    }
  assert.is(some, 4);
});

test("eachOp joins nothing", async () => {
  await init({ flush: "eachOp" });
  try {
    using x = tensor([1, 2]);
    assert.is(
      (
        await rise(() => {
          scoped(() => {
            x.add(1).mul(2).relu();
          });
        })
      ).dispatches,
      3,
    );
  } finally {
    await init({ flush: "auto" });
  }
});

const unmakeable: OpDef = {
  ...E.neg,
  name: "unmakeable",
  expression: () => {
    throw new RangeError("no such kernel");
  },
};
const invalid: OpDef = {
  ...E.neg,
  name: "invalid",
  expression: () => ({ body: "r0 = nonsense(a0);" }),
};

test("an op that fails inside a kernel of several is named", async () => {
  using a = tensor([1, 2]);
  await sync();
  const after = (op: OpDef): Promise<unknown> =>
    noGrad(() => {
      using _ = newDisposeScope();
      return execute(op, [a.add(1)], undefined, [])[0]!
        .mul(2)
        .data();
    });
  await rejects(() => after(unmakeable), TenureError, /^unmakeable: .*no such kernel/);
  await rejects(() => after(invalid), DeviceError, /nonsense/, /"add\+invalid\+mul /);
  assert.ok(takeDeviceErrors().length > 0);
});

// === Text ===

/** The kernel of what `fn` records, which must be one group. Nothing runs. */
function textOf(fn: () => Tensor, caps: Partial<DeviceCaps> = {}): string {
  const all: DeviceCaps = {
    software: false,
    contracts: true,
    f16: false,
    subgroups: false,
    subgroupLanes: 1,
    maxInvocationsPerWorkgroup: 256,
    maxWorkgroupSizeX: 256,
    maxWorkgroupStorageBytes: 16384,
    maxWorkgroupsPerDimension: 65535,
    maxStorageBuffers: 8,
    ...caps,
  };
  const mark = runtime().recorder.program.mark();
  using _kept = scoped(fn);
  const { ops } = fused(
      runtime().recorder.program.ops,
      buildProgram(runtime().recorder.program, (bytes) => bytes),
      all,
    ),
    groups = ops.filter(isFused);
  assert.is(groups.length, 1);
  const text = lower(groups[0]!, all, everyKernel).kernel.wgsl;
  runtime().recorder.program.rollback(mark);
  return `// ${groups[0]!.op.name}\n${text}`;
}

test("the text of a chain, a tree, a reduction, a product and a convolution", async () => {
  await sync();
  using x = tensor(new Float32Array(64 * 64), { shape: [64, 64] }),
    y = tensor(new Float32Array(64 * 64), { shape: [64, 64] }),
    row = tensor(new Float32Array(64)),
    image = tensor(new Float32Array(2 * 4 * 64), { shape: [2, 4, 8, 8] }),
    weight = tensor(new Float32Array(4 * 4 * 9), { shape: [4, 4, 3, 3] }),
    bias = tensor(new Float32Array(4));
  await sync();
  golden(
    "fused-chain.wgsl",
    textOf(() => x.mul(2).add(row).tanh().neg()),
  );
  golden(
    "fused-tree.wgsl",
    textOf(() => {
      const a = x.mul(y),
        b = x.sub(y).square();
      return a.add(b).sqrt();
    }),
  );
  golden(
    "fused-reduce.wgsl",
    textOf(() => x.sub(y).square().sum([1]).sqrt().mul(0.5)),
  );
  golden(
    "fused-matmul-bias-relu.wgsl",
    textOf(() => x.matmul(y).add(row).relu()),
  );
  const product = textOf(() => x.matmul(y).add(row).relu(), { software: true });
  assert.is(product.split("finish(").length, 3, "the chain stands, and is called, once");
  golden("fused-matmul-bias-relu-software.wgsl", product);
  golden(
    "fused-conv-bias-relu-residual.wgsl",
    textOf(() => F.conv2d(image, weight, bias, { padding: 1 }).relu().add(image)),
  );
});

test.run();
