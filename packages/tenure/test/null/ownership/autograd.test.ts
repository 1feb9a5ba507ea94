// node: --expose-gc
/**
 * Lifetimes of the graph: it holds bytes, not handles, and lets go of them as soon as nobody can
 * ask for a gradient any more.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  GradError,
  type Tensor,
  grad,
  memory,
  newDisposeScope,
  noGrad,
  ones,
  tensor,
  zeros,
} from "tenure";
import { Linear, Module } from "tenure/nn";
import { Adam } from "tenure/optim";
import { DataLoader, ArrayDataset } from "tenure/data";
import { setup, takeWarnings } from "./harness.ts";

const test = suite("lifetimes in autograd, modules, optimizers and loaders");
test.before(setup);
let before = memory.stats();
test.before.each(() => {
  before = memory.stats();
});
test.after.each(() => {
  memory.verify();
  const after = memory.stats();
  assert.equal(
    [after.threadTotalLiveCount, after.storages, after.liveBytes],
    [before.threadTotalLiveCount, before.storages, before.liveBytes],
  );
  assert.equal(takeWarnings(), []);
});

test("backward after the scope that made the intermediates has ended", () => {
  using w = ones([2, 2], { requiresGrad: true });
  let loss: Tensor;
  {
    using s = newDisposeScope();
    const h = w.mul(3).exp().relu();
    loss = s.moveToOuter(h.mul(h).sum());
  }
  loss.backward();
  loss.dispose();
  assert.is(w.hasGrad, true);
});

test("a second backward without retainGraph is a clear error, with it it accumulates", () => {
  using w = ones([2], { requiresGrad: true });
  using _ = newDisposeScope();
  const loss = w.mul(2).exp().sum();
  loss.backward(undefined, { retainGraph: true });
  loss.backward();
  assert.throws(
    () => {
      loss.backward();
    },
    (e: Error) =>
      e instanceof GradError && /freed by an earlier backward.*retainGraph: true/.test(e.message),
  );
});

test("the graph goes with the last alias of its output", () => {
  using w = ones([100], { requiresGrad: true });
  const storages = memory.stats().storages;
  let y: Tensor, alias: Tensor;
  {
    using s = newDisposeScope();
    y = s.detach(w.exp().mul(2).exp());
    alias = s.detach(y.alias());
  }
  assert.ok(memory.stats().storages > storages + 1); // what exp saved
  y.dispose();
  assert.ok(memory.stats().storages > storages + 1);
  assert.ok(memory.why(w).length >= 1);
  alias.dispose();
  assert.is(memory.stats().storages, storages);
});

test("a very long graph is let go of without recursion", () => {
  using w = ones([1], { requiresGrad: true });
  using _ = newDisposeScope();
  let acc = w.mul(1);
  for (let i = 0; i < 4000; i++) acc = acc.add(1);
  acc.dispose();
});

test("in noGrad nothing is saved", () => {
  using w = ones([10], { requiresGrad: true });
  using s = newDisposeScope();
  const y = noGrad(() => w.exp().exp());
  assert.is(y.requiresGrad, false);
  assert.is(s.count, 2);
});

test("p.grad is a fresh alias each time, and p.hasGrad makes none", () => {
  using w = ones([3], { requiresGrad: true });
  {
    using _ = newDisposeScope();
    w.mul(2).sum().backward();
  }
  const live = memory.stats().threadTotalLiveCount;
  assert.is(w.hasGrad, true);
  assert.is(memory.stats().threadTotalLiveCount, live);
  {
    using a = w.grad,
      b = w.grad;
    assert.not(a === b);
  }
  {
    using g = w.grad;
    assert.is(g?.isDisposed, false);
  }
  assert.is(w.hasGrad, true);
  w.grad = null;
  assert.is(w.hasGrad, false);
});

test("a backward that fails leaves nothing behind", () => {
  using w = ones([3], { requiresGrad: true });
  using s = newDisposeScope();
  const y = w.exp();
  y.mul_(2);
  assert.throws(
    () => {
      y.backward();
    },
    (e: Error) => e instanceof GradError,
  ); // not one element
  assert.is(s.count, 2);
  assert.is(w.hasGrad, false);
});

test("functional gradients belong to the caller's scope", () => {
  using x = tensor([1, 2, 3]);
  using s = newDisposeScope();
  const g = grad((t: Tensor) => t.square().sum())(x);
  assert.ok(s.contains(g));
  assert.is(s.count, 1);
});

test("a parameter made inside a scope belongs to its module, in a user's module too", () => {
  class Scale extends Module {
    readonly weight: Tensor;
    readonly calls: Tensor;
    constructor() {
      super();
      this.weight = this.parameter("weight", ones([2]));
      this.calls = this.buffer("calls", zeros([1]));
    }
    forward(x: Tensor): Tensor {
      return x.mul(this.weight);
    }
  }
  let scale!: Scale, linear!: Linear;
  const detached = memory.stats().detachedFromScopeCount;
  {
    using _ = newDisposeScope();
    scale = new Scale();
    linear = new Linear(2, 2);
  }
  assert.equal(
    [
      scale.weight.isDisposed,
      scale.calls.isDisposed,
      linear.parameters().some((p) => p.isDisposed),
    ],
    [false, false, false],
  );
  assert.is(memory.stats().detachedFromScopeCount, detached + 4);
  assert.match(memory.why(scale.weight)[0]!.text, /kept by Scale/);
  assert.is(memory.why(scale.weight)[0]!.kind, "keeper");
  {
    using s = newDisposeScope();
    s.use(linear);
    assert.is(s.count, 1);
  }
  assert.is(linear.isDisposed, true);
  assert.is(scale.weight.isDisposed, false);
  scale.dispose();
  scale.dispose();
});

test("optimizer state belongs to the optimizer, gradients to their parameters", () => {
  using linear = new Linear(2, 2);
  {
    using optimizer = new Adam(linear.parameters(), { lr: 0.1 });
    for (let i = 0; i < 3; i++) {
      using _ = newDisposeScope("step");
      optimizer.zeroGrad();
      linear
        .call(ones([1, 2]))
        .sum()
        .backward();
      optimizer.step();
    }
    assert.ok(memory.live({ groupBy: "scope" }).some((r) => r.key === "kept by Adam"));
    assert.is(
      linear.parameters().every((p) => p.hasGrad),
      true,
    );
  }
  assert.not(memory.live({ groupBy: "scope" }).some((r) => r.key === "kept by Adam"));
});

test("a data loader's batches belong to the loader, whatever scopes are open", () => {
  using loader = new DataLoader(
    new ArrayDataset({ x: { data: new Float32Array(8), shape: [2] } }),
    { batchSize: 2 },
  );
  let last!: Tensor;
  for (const { x } of loader) {
    using s = newDisposeScope();
    assert.is(s.contains(x), false);
    last = x;
    x.add(1);
  }
  assert.is(last.isDisposed, true);
  {
    using s = newDisposeScope();
    s.use(loader);
    for (const { x } of loader) {
      last = x;
      break;
    }
  }
  assert.is(last.isDisposed, true);
});

test.run();
