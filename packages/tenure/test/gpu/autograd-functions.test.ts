/**
 * Autograd around functions: modes that switch recording off and on, gradients of functions and of
 * gradients, what is refused. How long graphs live is in autograd.test.ts.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  AsyncScopeError,
  GradError,
  Tensor,
  defineOp,
  enableGrad,
  grad,
  isGradEnabled,
  memory,
  newDisposeScope,
  noGrad,
  ones,
  scoped,
  tensor,
  valueAndGrad,
} from "tenure";
import { assertClose, gradcheck } from "tenure/testing";
import { pattern, rejects, setup } from "../helpers.ts";
import { gradOf, leaf } from "./leaves.ts";

await setup();
const test = suite("gradients of functions");

// === Modes ===

test("detach cuts, noGrad records nothing, enableGrad inside it does", async () => {
  using x = leaf([2]);
  {
    using loss = scoped(() => x.mul(x.detach()).sum());
    loss.backward();
  }
  assert.equal(await gradOf(x), [2]);
  const before = memory.stats().storages;
  using y = noGrad(() => scoped(() => x.exp().square()));
  assert.not(y.requiresGrad);
  assert.is(memory.stats().storages, before + 1);
  await rejects(
    () => {
      y.backward();
    },
    GradError,
    pattern`^backward: expected a tensor computed from one with requiresGrad, got tensor float32
      \[1\]; set requiresGrad on your parameters`,
  );
  using z = noGrad(() => enableGrad(() => x.square()));
  assert.ok(z.requiresGrad);
  assert.ok(isGradEnabled());
  assert.throws(
    () =>
      noGrad(() => {
        throw new Error("mine");
      }),
    /mine/,
  );
  assert.ok(isGradEnabled(), "also after an error");
});

test("modes refuse asynchronous functions", async () => {
  await rejects(
    () =>
      noGrad(async () => {
        await Promise.resolve();
      }),
    AsyncScopeError,
    /^noGrad: expected a synchronous function/,
  );
  await rejects(
    () => enableGrad(async () => Promise.reject(new Error("hidden"))),
    AsyncScopeError,
    /^enableGrad/,
  );
  assert.ok(isGradEnabled());
});

test("requiresGrad can be switched on leaves only", async () => {
  using x = tensor([1]);
  x.requiresGrad = true;
  assert.ok(x.isLeaf);
  using y = x.mul(2);
  assert.not(y.isLeaf);
  await rejects(
    () => {
      y.requiresGrad = false;
    },
    GradError,
    /^requiresGrad: expected a leaf, got tensor float32 \[1\], which an op made; use detach\(\)/,
  );
  x.requiresGrad = false;
  using z = x.mul(2);
  assert.not(z.requiresGrad);
  using flags = x.gt(0);
  assert.not(flags.requiresGrad);
});

// === Functions of functions ===

test("grad and valueAndGrad leave no trace but their results", async () => {
  using a = leaf([1, 2]),
    k = tensor([3, 4], { dtype: "int32" }),
    unused = tensor([5]);
  const live = memory.stats();
  {
    using _ = newDisposeScope();
    const { value, grads } = valueAndGrad((x: Tensor, n: Tensor, _unused: Tensor) =>
      x.mul(n).square().sum(),
    )(a, k, unused);
    const reads = [value.data(), grads[0]!.data(), grads[2]!.data()];
    assert.is(grads[1], null, "integers have no gradient");
    const single = grad((x: Tensor) => x.exp().sum())(a);
    assert.instance(single, Tensor);
    reads.push(single.data());
    _.disposeEverything();
    const [v, g, u, s] = await Promise.all(reads);
    assert.equal([...v!], [73]);
    assert.equal([...g!], [18, 64]);
    assert.equal([...u!], [0]);
    assert.ok(Math.abs(s![1]! - Math.E ** 2) < 1e-4);
  }
  assert.not(a.hasGrad, "the arguments' own gradients stay alone");
  assert.is(memory.stats().threadTotalLiveCount, live.threadTotalLiveCount);
  assert.is(memory.stats().storages, live.storages);
});

test("derivatives of derivatives", async () => {
  using x = tensor(0.7);
  using third = grad((c: Tensor) =>
    grad((b: Tensor) => grad((a: Tensor) => a.pow(5).add(a.sin()), { createGraph: true })(b), {
      createGraph: true,
    })(c),
  )(x);
  await assertClose(third, 60 * 0.7 ** 2 - Math.cos(0.7), 1e-3);
  using tie = tensor([1, 1, 2]);
  using zero = grad((b: Tensor) => grad((a: Tensor) => a.max(), { createGraph: true })(b).sum())(
    tie,
  );
  await assertClose(zero, [0, 0, 0], 0);
});

test("a gradient nobody wrote is refused, not zero", async () => {
  using x = ones([4]);
  const second = (b: Tensor): Tensor =>
    grad((a: Tensor) => a.gelu().sum(), { createGraph: true })(b);
  using fine = grad((b: Tensor) => second(b).sum())(x);
  assert.is(fine.size, 4);
  await rejects(
    () =>
      grad((c: Tensor) => grad((b: Tensor) => second(b).sum(), { createGraph: true })(c).sum())(x),
    GradError,
    pattern`^geluBackward: expected to be differentiated no further, got createGraph: true, and
      its gradient \(geluCurvature\) has none of its own; leave geluBackward out`,
  );
  x.requiresGrad = true;
  await rejects(
    () => defineOp({ name: "oneWay", inputs: 1, expression: "r0 = a0;" })(x),
    GradError,
    /^oneWay: expected inputs without gradients, .* has no gradient; detach\(\) it/,
  );
});

test("functions that cannot be differentiated are refused", async () => {
  using x = tensor([1, 2]);
  await rejects(() => grad((a: Tensor) => a.mul(2))(x), GradError, /one element/);
  await rejects(
    () => grad((_: Tensor) => 3 as never)(x),
    GradError,
    /^grad: expected a function that returns a tensor/,
  );
  await rejects(
    () => grad((a: Tensor) => a.sum())(5 as never),
    ArgumentError,
    /^grad: expected tensors as arguments, got 5/,
  );
  await rejects(
    () =>
      grad((_: Tensor) => {
        throw new RangeError("mine");
      })(x),
    RangeError,
    /mine/,
  );
});

test("a gradient of another size than its input is refused by name", async () => {
  const wrong = defineOp({
    name: "wrongSize",
    inputs: 1,
    expression: "r0 = a0 * 2.0;",
    vjp: () => [ones([3])],
  });
  await rejects(
    () => {
      using x = tensor([1, 2], { requiresGrad: true });
      using made = wrong(x);
      using y = made.sum();
      y.backward();
      return Promise.resolve();
    },
    GradError,
    /^wrongSize: expected a gradient of shape \[2\] for input 0, got one of \[3\]/,
  );
});

test("gradcheck finds a wrong gradient", async () => {
  await rejects(
    () => gradcheck((x) => x.detach().mul(x), [{ shape: [2], values: [1, 2] }]),
    GradError,
    /^gradcheck: expected d\/d\(input 0\)\[0\]/,
  );
});

test.run();
