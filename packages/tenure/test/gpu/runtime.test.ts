/**
 * The recorded program at work: what runs and what does not, when it is flushed, which plans are
 * found again, what a training loop creates and keeps, and what an error in a flush does to the
 * others.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DeviceError,
  TenureError,
  type Tensor,
  init,
  memory,
  newDisposeScope,
  noGrad,
  ones,
  scoped,
  scopedAsync,
  sync,
  tensor,
  zeros,
} from "tenure";
import { Linear, type Module, ReLU, Sequential, functional as F } from "tenure/nn";
import { Adam, type Optimizer, SGD } from "tenure/optim";
import { assertClose } from "tenure/testing";
import * as E from "../../src/ops/elementwise.ts";
import type { OpDef } from "../../src/ops/op.ts";
import { runtime } from "../../src/runtime/runtime.ts";
import { numbers, rejects, setup, takeDeviceErrors } from "../helpers.ts";
import { execute } from "./ops/host.ts";

await setup();
const test = suite("runtime");

/** What the counters rose by while `fn` ran. */
async function rise(fn: () => unknown): Promise<ReturnType<typeof memory.debug>> {
  const before = memory.debug();
  await fn();
  const after = memory.debug();
  return Object.fromEntries(
    Object.entries(after).map(([k, v]) => [k, v - before[k as keyof typeof before]]),
  ) as ReturnType<typeof memory.debug>;
}
const job = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

// === What runs ===

test("nothing runs until somebody reads, and dead values never do", async () => {
  await sync();
  using a = tensor([1, 2, 3]);
  const recorded = await rise(async () => {
    scoped(() => {
      a.exp().sin().sum();
    });
    await job();
  });
  assert.is(recorded.recorded, 3);
  assert.is(recorded.flushes, 0);
  const ran = await rise(async () => {
    using b = scoped(() => {
      a.tanh().log();
      return a.add(1);
    });
    await assertClose(b, [2, 3, 4], 0);
  });
  assert.is(ran.flushes, 1);
  assert.is(ran.dispatches, 1);
  assert.is(ran.eliminated, 5, "three of the program before, two of this one");
});

test("a value that an in-place op overwrites whole or nobody sees is not computed", async () => {
  using a = tensor([1, 2, 3]);
  await sync();
  const ran = await rise(async () => {
    using kept = scoped(() => {
      const b = a.mul(2);
      b.alias().add_(1);
      const c = a.mul(3);
      c.add_(1);
      return b;
    });
    await assertClose(kept, [3, 5, 7], 0);
  });
  assert.is(ran.dispatches, 1);
  assert.is(ran.eliminated, 2);
});

test("reads of one job share a flush and a staging buffer; a read pins what it reads", async () => {
  const ran = await rise(async () => {
    const reads = scoped(() => {
      const a = tensor([1, 2]),
        b = a.add(1);
      return [a.data(), b.data(), b.sum().item(), b.slice(0, 1).toArray()] as const;
    });
    const [a, b, sum, rest] = await Promise.all(reads);
    assert.equal([[...a], [...b], sum, rest], [[1, 2], [2, 3], 5, [3]]);
  });
  assert.is(ran.flushes, 1);
  assert.is(ran.submits, 1);
});

test("eachOp runs every op at once", async () => {
  await init({ flush: "eachOp" });
  try {
    using a = tensor([1, 2]);
    const ran = await rise(() => {
      scoped(() => {
        a.add(1).mul(2);
      });
    });
    assert.is(ran.flushes, 2);
    assert.is(ran.dispatches, 2);
  } finally {
    await init({ flush: "auto" });
  }
});

test("size-0 tensors take part and launch nothing", async () => {
  const ran = await rise(async () => {
    using _ = newDisposeScope();
    const a = zeros([0, 3]),
      read = [a.add(1).data(), a.sum().item(), a.matmul(zeros([3, 2])).data()] as const;
    _.dispose();
    assert.equal([...(await read[0])], []);
    assert.is(await read[1], 0);
    assert.equal([...(await read[2])], []);
  });
  assert.is(ran.dispatches, 1, "the sum");
});

test("data of the host is copied when the tensor is made", async () => {
  const shared = new Float32Array(new SharedArrayBuffer(8)),
    own = Float32Array.of(1, 2);
  shared.set([5, 6]);
  using a = tensor(own),
    b = tensor(shared);
  own.fill(0);
  shared.fill(0);
  await assertClose(a, [1, 2], 0);
  await assertClose(b, [5, 6], 0);
});

// === Limits ===

test("a program is flushed when it exceeds a limit in ops or bytes", async () => {
  const { settings } = runtime();
  const { maxOps, maxPendingBytes } = settings;
  await sync();
  try {
    settings.maxOps = 10;
    const ops = await rise(() => {
      using x = tensor([0]);
      let y = x.alias();
      for (let i = 0; i < 35; i++) {
        const n = y.add(1);
        y.dispose();
        y = n;
      }
      y.dispose();
    });
    assert.is(ops.flushes, 3);
    settings.maxOps = maxOps;
    settings.maxPendingBytes = 4096;
    const bytes = await rise(() => {
      using _ = newDisposeScope();
      for (let i = 0; i < 9; i++) zeros([256]).add(1);
    });
    assert.is(bytes.flushes, 4);
  } finally {
    Object.assign(settings, { maxOps, maxPendingBytes });
  }
});

// === Training ===

const batch = 4;
const images = Array.from({ length: 4 }, (_, k) => numbers(batch * 784, k, 0, 1));
const labels = Int32Array.from({ length: batch }, (_, i) => (i * 3) % 10);

function mlp(inputs = 784, hidden = 64): Sequential {
  return new Sequential(new Linear(inputs, hidden), new ReLU(), new Linear(hidden, 10));
}

/** One step. @returns the loss, pinned */
function trainStep(
  model: Module,
  optimizer: Optimizer,
  i: number,
  read: boolean,
  inputs = 784,
): Promise<number> | undefined {
  using _ = newDisposeScope("step");
  const x = tensor(images[i % images.length]!.slice(0, batch * inputs), { shape: [batch, inputs] }),
    y = tensor(labels);
  const loss = F.crossEntropy(model.call(x), y);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
  return read ? loss.item() : undefined;
}

test("a step that is run again finds its plan; from the third on it creates nothing", async () => {
  for (const make of [
    (m: Module) => new SGD(m.parameters(), { lr: 0.05, momentum: 0.9 }),
    (m: Module) => new Adam(m.parameters()),
  ]) {
    using model = mlp(),
      optimizer = make(model);
    for (let i = 0; i < 2; i++) await trainStep(model, optimizer, i, true);
    const losses: number[] = [];
    const later = await rise(async () => {
      for (let i = 0; i < 30; i++) {
        optimizer.lr = 0.05 / (1 + i); // numbers are inputs of a plan, not part of it
        losses.push((await trainStep(model, optimizer, i, true))!);
      }
    });
    assert.is(later.planMisses, 0);
    assert.is(later.planHits, 30);
    assert.is(later.flushes, 30);
    for (const what of ["buffers", "pipelines", "bindGroups", "shaderModules"] as const)
      assert.is(later[what], 0, what);
    assert.is(later.submits, 30);
    assert.is(later.eliminated % 30, 0);
    assert.ok(losses.at(-1)! < losses[0]!, `${losses[0]} fell to ${losses.at(-1)}`);
  }
});

test("loops that never read are flushed per step and hit the cache", async () => {
  using model = mlp(),
    optimizer = new SGD(model.parameters(), { lr: 0.01, momentum: 0.9 });
  for (let i = 0; i < 3; i++) void trainStep(model, optimizer, i, false);
  const inOneJob = await rise(() => {
    for (let i = 0; i < 10; i++) void trainStep(model, optimizer, i, false);
  });
  assert.is(inOneJob.flushes, 10);
  assert.is(inOneJob.planHits, 10);
  assert.is(inOneJob.buffers + inOneJob.bindGroups + inOneJob.pipelines, 0);
  const inJobs = await rise(async () => {
    for (let i = 0; i < 10; i++) {
      void trainStep(model, optimizer, i, false);
      await job();
    }
  });
  assert.is(inJobs.flushes, 10);
  assert.is(inJobs.planHits, 10);
  await sync();
});

test("the plan cache is bounded by bytes: a big program pushes out the oldest", async () => {
  const cycle = async (count: number): Promise<void> => {
    for (let n = 1; n <= count; n++) {
      let read: Promise<number>;
      {
        using _ = newDisposeScope();
        read = ones([n, 3]).add(1).sum().item();
      }
      assert.is(await read, 6 * n);
    }
  };
  assert.is((await rise(() => cycle(150))).planMisses, 150);
  assert.is((await rise(() => cycle(150))).planHits, 150);
  const { settings } = runtime();
  const { planCacheBytes } = settings;
  try {
    settings.planCacheBytes = 2 ** 17;
    await cycle(151); // the first new plan pushes out what is too much
    await cycle(60);
    assert.is(
      (await rise(() => cycle(60))).planHits,
      0,
      "the least recently used goes first, so a cycle too long never hits",
    );
    const { planMisses, plansDropped } = await rise(() => cycle(4));
    assert.equal([planMisses, plansDropped], [4, 4]);
    const { planHits, plansDropped: more } = await rise(() => cycle(4));
    assert.equal([planHits, more], [4, 0], "what fits stays");
  } finally {
    settings.planCacheBytes = planCacheBytes;
  }
});

test("300 steps keep exactly what 10 keep, and create nothing after the second", async () => {
  await memory.trim();
  using model = mlp(100, 32),
    optimizer = new SGD(model.parameters(), { lr: 0.01, momentum: 0.9 });
  const kept = (): Record<string, number> => {
    const s = memory.stats();
    return {
      live: s.threadTotalLiveCount,
      storages: s.storages,
      bytes: s.liveBytes,
      device: s.deviceBytes,
      finalized: s.finalized,
    };
  };
  const made = (): Record<string, number> => {
    const { buffers, pipelines, bindGroups, planMisses } = memory.debug();
    return { buffers, pipelines, bindGroups, planMisses };
  };
  let after10 = {},
    after2 = {};
  for (let i = 1; i <= 300; i++) {
    await trainStep(model, optimizer, i, true, 100);
    if (i === 2) after2 = made();
    if (i === 10) after10 = kept();
  }
  assert.equal(kept(), after10);
  assert.equal(made(), after2);
});

test("what is freed is reused: a loop over one shape holds one set of buffers", async () => {
  using a = zeros([64, 64]);
  const once = async (): Promise<void> => {
    using b = scoped(() => a.add(1).exp().matmul(a).sum());
    await b.item();
  };
  await once();
  await once();
  const device = memory.stats().deviceBytes;
  const later = await rise(async () => {
    for (let i = 0; i < 20; i++) await once();
  });
  assert.is(later.buffers, 0);
  // less, when what others left was trimmed meanwhile
  assert.ok(memory.stats().deviceBytes <= device);
});

test("inside a flush, values that do not live at the same time share memory", async () => {
  await memory.trim();
  const before = memory.stats().deviceBytes;
  using x = zeros([1024, 16]);
  await sync();
  const wide = 1024 * 16 * 4;
  using y = scoped(() => {
    let t = x.add(1);
    for (let i = 0; i < 20; i++) t = t.mul(1.01);
    return t.sum();
  });
  await y.item();
  const taken = memory.stats().deviceBytes - before;
  assert.ok(taken <= 3 * wide + 16384, `${taken} bytes for 22 tensors of ${wide}`);
});

test("trim gives free buffers back, and work goes on", async () => {
  {
    using a = zeros([256, 256]),
      b = a.add(1);
    await b.data();
  }
  assert.ok(memory.stats().poolBytes > 0);
  const held = memory.stats().deviceBytes,
    given = await memory.trim();
  assert.ok(given > 0);
  assert.is(memory.stats().deviceBytes, held - given);
  assert.is(memory.stats().poolBytes, 0);
  using c = tensor([1, 2]),
    d = c.mul(2);
  await assertClose(d, [2, 4], 0);
});

// === Errors ===

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
const one = (op: OpDef, x: Tensor): Tensor => execute(op, [x], undefined, [])[0]!;

test("an error in a flush reaches the reads and leaves other tensors as they were", async () => {
  using a = tensor([1, 2]),
    b = a.mul(3);
  await sync();
  const before = memory.stats();
  await scopedAsync(async () => {
    const bad = noGrad(() => one(unmakeable, a)),
      after = bad.add(1);
    b.add_(1);
    const reads = [bad.data(), after.data()];
    for (const result of await Promise.allSettled(reads)) {
      assert.is(result.status, "rejected");
      assert.instance((result as PromiseRejectedResult).reason, TenureError);
      assert.match(String((result as PromiseRejectedResult).reason), /no such kernel/);
    }
    await rejects(() => after.mul(2), TenureError, /no such kernel/);
    await rejects(() => bad.data(), TenureError, /no such kernel/);
  });
  assert.ok(takeDeviceErrors().length > 0);
  await assertClose(a, [1, 2], 0);
  // What the program should have updated is as it was: it did not run.
  await assertClose(b, [3, 6], 0);
  using c = a.add(b);
  await assertClose(c, [4, 8], 0);
  await sync();
  const now = memory.stats();
  assert.is(now.storages, before.storages + 1);
  assert.is(
    now.deviceBytes - now.poolBytes,
    before.deviceBytes - before.poolBytes + 256,
    "buffers came home",
  );
});

test("what the driver refuses rejects the reads of that flush and names the op", async () => {
  using a = tensor([1, 2]);
  using bad = one(invalid, a);
  await rejects(() => bad.data(), DeviceError, /^invalid: expected a valid command/);
  assert.ok(takeDeviceErrors().length > 0);
  using b = a.add(1);
  await assertClose(b, [2, 3], 0);
  assert.is(takeDeviceErrors().length, 0);
});

test("sync reports an error nobody read", async () => {
  using a = tensor([1, 2]);
  using bad = one(invalid, a);
  await rejects(() => sync(), DeviceError, /^invalid/);
  await sync();
  takeDeviceErrors();
  assert.not(bad.isDisposed);
});

test("more bytes than the device can bind are refused when the op is called", () => {
  const most = runtime().device!.info.maxTensorBytes;
  assert.throws(
    () => zeros([most / 4 + 1]),
    (e: Error) => e.name === "OutOfMemoryError" && e.message.includes(String(most)),
  );
});

test.run();
