/**
 * Autograd: how long graphs live and what frees them, accumulation, depth, sharing. Modes and
 * functions are in autograd-functions.test.ts, values of single gradients in
 * ops/gradients.test.ts.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DTypeError,
  GradError,
  ShapeError,
  type Tensor,
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
import { assertNoLeaks, gradcheck } from "tenure/testing";
import { pattern, rejects, setup } from "../helpers.ts";
import { gradOf, leaf } from "./leaves.ts";

await setup();
const test = suite("autograd");

// === Life of a graph ===

test("backward works after the scope of all intermediates has closed", async () => {
  using x = leaf([1, 2, 3]);
  using loss = scoped(() => x.mul(x).exp().log().mul(2).sum());
  await sync(); // and after everything has run
  loss.backward();
  assert.equal(
    (await gradOf(x)).map((v) => Math.round(v * 1e3) / 1e3),
    [4, 8, 12],
  );
});

test("a forward loop with gradients on is flat in handles and storages", () => {
  using x = leaf([1, 2, 3]);
  const counts: number[][] = [];
  for (let i = 0; i < 20; i++) {
    using _ = newDisposeScope();
    x.mul(2).exp().sigmoid().sum();
    const s = memory.stats();
    counts.push([s.threadTotalLiveCount, s.storages, s.liveBytes]);
  }
  for (const row of counts) assert.equal(row, counts[0]);
});

test("dropping the last handle of a result frees everything its graph kept", () => {
  using x = leaf([1, 2, 3]);
  const before = memory.stats().storages;
  const loss = scoped(() => x.exp().mul(x.sin()).tanh().sum());
  assert.ok(memory.stats().storages > before + 3, "the graph holds what it saved");
  using other = loss.alias();
  loss.dispose();
  assert.ok(memory.stats().storages > before + 3, "an alias holds the graph too");
  other.dispose();
  assert.is(memory.stats().storages, before);
});

test("backward frees what it used, and says so when it is asked again", async () => {
  using x = leaf([1, 2]);
  const before = memory.stats().storages;
  using loss = scoped(() => x.exp().square().sum());
  loss.backward();
  await sync();
  assert.is(memory.stats().storages, before + 2, "only the loss and the gradient are left");
  const kept = await gradOf(x);
  await rejects(
    () => {
      loss.backward();
    },
    GradError,
    pattern`^backward: expected a graph that was not used yet, got one whose \w+ was freed by an
      earlier backward; pass \{ retainGraph: true \}`,
  );
  assert.equal(await gradOf(x), kept, "the failed pass changed nothing");
});

test("retainGraph allows another pass, which accumulates", async () => {
  using x = leaf([3]);
  using loss = scoped(() => x.square().sum());
  loss.backward(undefined, { retainGraph: true });
  loss.backward(undefined, { retainGraph: true });
  loss.backward();
  assert.equal(await gradOf(x), [18]);
});

test("two results that share a graph: the second backward says what was freed", async () => {
  using x = leaf([3]);
  using shared = x.exp();
  using a = shared.square(),
    b = shared.sin();
  a.backward();
  await rejects(
    () => {
      b.backward();
    },
    GradError,
    /got one whose exp was freed/,
  );
});

test("the graph goes with its results even if it is 20,000 ops deep", async () => {
  using x = leaf([1, -1]);
  const before = memory.stats().storages,
    depth = 20_000;
  const chain = (): Tensor => {
    let y = x.alias();
    for (let i = 0; i < depth; i++) {
      const next = i % 2 === 0 ? y.mul(-1) : y.add(0);
      y.dispose();
      y = next;
    }
    return y;
  };
  chain().dispose();
  assert.is(memory.stats().storages, before, "without backward");
  {
    using y = chain(),
      loss = y.sum();
    loss.backward();
  }
  assert.equal(await gradOf(x), [1, 1]);
  x.grad = null;
  await sync();
  assert.is(memory.stats().storages, before, "with backward");
});

test("a failing pass leaks nothing and touches no leaf", async () => {
  using x = leaf([1, 2]),
    w = leaf([3, 4]);
  await assertNoLeaks(async () => {
    using y = x.mul(w);
    using z = y.exp();
    using loss = scoped(() => z.mul(x).sum());
    noGrad(() => {
      z.zero_().dispose();
    });
    await rejects(
      () => {
        loss.backward();
      },
      GradError,
      pattern`^backward: expected the float32 \[2\] tensor that \w+ saved, got one that was
        changed in place since; use the op without underscore`,
    );
  });
  assert.not(x.hasGrad);
  assert.not(w.hasGrad);
});

// === Values ===

test("shared subgraphs, diamonds and repeated operands", async () => {
  using x = leaf([2]);
  {
    using _ = newDisposeScope();
    const a = x.mul(x),
      b = a.add(a),
      c = b.mul(a); // 2x⁴
    c.add(x).add(x).sum().backward(); // 8x³ + 2
  }
  assert.equal(await gradOf(x), [66]);
  await gradcheck(
    (p, q) => {
      const s = p.mul(q).tanh();
      return s.add(s.mul(p)).sub(s.sum()).mul(s.expand(2, 3));
    },
    [
      { shape: [3], values: [0.1, -0.4, 0.7] },
      { shape: [3], values: [1, 0.3, -0.6] },
    ],
  );
  await gradcheck(
    (p) => p.matmul(p.transpose()).matmul(p),
    [{ shape: [2, 2], values: [0.5, -0.3, 0.8, 0.2] }],
  );
});

test("gradients accumulate over passes until they are dropped", async () => {
  using x = leaf([1, 2]);
  for (let i = 0; i < 3; i++) {
    using loss = scoped(() => x.mul(5).sum());
    loss.backward();
  }
  assert.equal(await gradOf(x), [15, 15]);
  x.grad = null;
  assert.not(x.hasGrad);
  assert.is(x.grad, null);
  {
    using loss = scoped(() => x.mul(5).sum());
    loss.backward();
  }
  assert.equal(await gradOf(x), [5, 5]);
});

test("a gradient may be given for a result of any shape", async () => {
  using x = leaf([1, 2, 3]);
  using y = x.square(),
    g = tensor([1, 0, -1]);
  y.backward(g);
  assert.equal(await gradOf(x), [2, 0, -6]);
  noGrad(() => {
    g.fill_(99).dispose();
  });
  assert.equal(await gradOf(x), [2, 0, -6], "the leaf does not share the caller's tensor");
  await rejects(
    () => {
      using z = x.mul(2);
      z.backward();
    },
    GradError,
    /^backward: expected a loss with one element, got \[3\]; reduce it with sum\(\) or mean\(\)/,
  );
  await rejects(
    () => {
      using z = x.mul(2),
        h = ones([2]);
      z.backward(h);
    },
    ShapeError,
    /^backward: expected a gradient of shape \[3\], got \[2\]/,
  );
});

test("a leaf can be its own result", async () => {
  using x = leaf([4]);
  x.backward();
  assert.equal(await gradOf(x), [1]);
});

test("gradients of different leaves never share bytes", async () => {
  using a = leaf([1, 2]),
    b = leaf([3, 4]),
    c = leaf([5, 6]);
  {
    using loss = scoped(() => a.add(b).add(c.reshape(2, 1).transpose().reshape(2)).sum());
    loss.backward();
  }
  const before = await Promise.all([gradOf(a), gradOf(b), gradOf(c)]);
  assert.equal(before, [
    [1, 1],
    [1, 1],
    [1, 1],
  ]);
  {
    using g = a.grad!;
    noGrad(() => {
      g.mul_(7).dispose();
    });
  }
  {
    using g = b.grad!;
    noGrad(() => {
      g.mul_(3).dispose();
    });
  }
  assert.equal(await Promise.all([gradOf(a), gradOf(b), gradOf(c)]), [
    [7, 7],
    [3, 3],
    [1, 1],
  ]);
});

test("the gradient is a fresh alias each time, and may be replaced", async () => {
  using x = leaf([1, 2], "w");
  {
    using loss = scoped(() => x.sum());
    loss.backward();
  }
  using g = x.grad!,
    h = x.grad!;
  assert.is.not(g, h);
  assert.is(g.name, "w.grad");
  assert.not(g.requiresGrad);
  g.dispose();
  assert.not(h.isDisposed);
  using mine = tensor([8, 9]);
  x.grad = mine;
  mine.dispose();
  assert.equal(await gradOf(x), [8, 9]);
  using plain = tensor([1]);
  await rejects(
    () => {
      plain.grad = plain;
    },
    GradError,
    /^grad: expected a tensor with requiresGrad/,
  );
});

test("gradients through views and broadcasts land where they belong", async () => {
  using x = tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { requiresGrad: true },
    ),
    w = leaf([1, 10, 100]);
  {
    using loss = scoped(() => x.slice(1, 1).mul(w.slice(0, 1)).select(0, 1).sum());
    loss.backward();
  }
  assert.equal(await gradOf(x), [0, 0, 0, 0, 10, 100]);
  assert.equal(await gradOf(w), [0, 5, 6]);
  using gw = w.grad!;
  assert.equal(gw.shape, [3]);
});

test("an alias of a leaf is the same leaf", async () => {
  using x = leaf([2]);
  using same = x.alias();
  {
    using loss = scoped(() => x.mul(same).sum());
    loss.backward();
  }
  assert.equal(await gradOf(x), [4]);
  assert.equal(await gradOf(same), [4]);
});

test("an in-place op through another alias leaves older ones undifferentiable", () =>
  scopedAsync(async () => {
    const w = tensor([5], { requiresGrad: true }),
      u = tensor([1, 1], { requiresGrad: true }),
      x = zeros([2]);
    x.slice(0, 0, 1).add_(w.mul(3));
    await rejects(() => x.mul(u), GradError, /another alias has changed in place/);
    const y = zeros([2]);
    const changed = y.add_(w);
    changed.mul(u).sum().backward();
    assert.equal(await w.grad!.toArray(), [2]);
    // A view of a leaf cannot be overwritten on the tape, a leaf's bytes can without.
    await rejects(() => u.slice(0, 0, 1).mul_(w), GradError, /a view of a leaf/);
    noGrad(() => u.mul_(2));
    assert.equal(await u.mul(1).toArray(), [2, 2]);
  }));

test("an accumulated gradient may be changed in place between passes", () =>
  scopedAsync(async () => {
    const w = tensor([1], { requiresGrad: true });
    w.mul(2).sum().backward();
    w.grad!.mul_(0.5);
    w.mul(2).sum().backward();
    assert.equal(await w.grad!.toArray(), [3]);
  }));

test("a gradient of another dtype is refused, not reinterpreted", async () => {
  using w = tensor([3, 4], { requiresGrad: true }),
    y = w.mul(2),
    whole = tensor(new Int32Array([1, 2]));
  await rejects(
    () => {
      y.backward(whole);
    },
    DTypeError,
    /^backward: expected a float32 gradient, got int32/,
  );
  await rejects(
    () => {
      w.grad = whole;
    },
    DTypeError,
    /^grad: expected a float32 gradient, got int32/,
  );
  assert.not(w.hasGrad);
});

test.run();
