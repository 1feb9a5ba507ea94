// node: --expose-gc
/**
 * Mixed precision without a GPU: which dtypes autocast, float16 modules and their optimizers
 * record, what state they keep, and that nothing leaks. The null device has every feature, since it
 * computes nothing.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  AsyncScopeError,
  type Tensor,
  autocast,
  deviceInfo,
  memory,
  newDisposeScope,
  tensor,
  zeros,
} from "tenure";
import {
  BatchNorm2d,
  Conv2d,
  Embedding,
  LayerNorm,
  Linear,
  Module,
  Sequential,
  functional as F,
} from "tenure/nn";
import { Adam, GradScaler, SGD } from "tenure/optim";
import { HANDLE } from "../../src/ownership/handle.ts";
import { rejects } from "../helpers.ts";
import { setup } from "./ownership/harness.ts";

await setup();
const test = suite("mixed precision, recorded");
const { assertNoLeaks } = memory;

test("the null device grants shader-f16", () => {
  assert.ok(deviceInfo()!.features.includes("shader-f16"));
});

test("autocast gives products in float16, reductions in float32, and leaves the rest alone", () =>
  assertNoLeaks(async () => {
    using _ = newDisposeScope();
    const x = zeros([2, 3, 8, 8]),
      half = zeros([4, 4], { dtype: "float16" }),
      rows = zeros([4, 4]),
      i = zeros([4], { dtype: "int32" });
    const dtypes = autocast(() => ({
      conv: F.conv2d(x, zeros([5, 3, 3, 3])).dtype,
      matmul: rows.matmul(rows).dtype,
      attention: F.scaledDotProductAttention(rows, rows, rows).dtype,
      softmax: half.softmax(1).dtype,
      sum: half.sum().dtype,
      exp: half.exp().dtype,
      pow: half.pow(3).dtype,
      norm: F.layerNorm(half, 4).dtype,
      loss: F.crossEntropy(half, i).dtype,
      relu: half.relu().dtype,
      add: half.add(1).dtype,
      mixed: half.add(rows).dtype,
      integers: i.sum().dtype,
      batchNorm: F.batchNorm(x.to("float16"), { training: true }).dtype,
    }));
    assert.equal(dtypes, {
      conv: "float16",
      matmul: "float16",
      attention: "float16",
      softmax: "float32",
      sum: "float32",
      exp: "float32",
      pow: "float32",
      norm: "float32",
      loss: "float32",
      relu: "float16",
      add: "float16",
      mixed: "float32",
      integers: "int32",
      batchNorm: "float16",
    });
    await rejects(
      () =>
        autocast(async () => {
          await Promise.resolve();
        }),
      AsyncScopeError,
      /^autocast: expected a synchronous function/,
    );
    await rejects(
      () => autocast(() => 1, { enable: true } as never),
      Error,
      /did you mean enabled/,
    );
  }));

class Tied extends Module {
  readonly table: Embedding;
  readonly head: Tensor;
  readonly turned: Tensor;
  constructor() {
    super();
    this.table = new Embedding(6, 4);
    this.head = this.parameter("head", this.table.weight.alias());
    using plain = this.table.weight.detach();
    this.turned = this.buffer("turned", plain.transpose());
  }
  forward(x: Tensor): Tensor {
    return F.linear(this.table.call(x), this.head);
  }
}

test("half() converts parameters and buffers in place, and ties and views survive", () =>
  assertNoLeaks(() => {
    using model = new Tied();
    const before = model.parameters();
    model.half();
    assert.equal(model.parameters(), before);
    assert.equal(
      [model.table.weight.dtype, model.head.dtype, model.turned.dtype],
      ["float16", "float16", "float16"],
    );
    assert.is(model.head[HANDLE].storage, model.table.weight[HANDLE].storage);
    assert.is(model.turned[HANDLE].storage, model.table.weight[HANDLE].storage);
    assert.equal(model.turned.shape, [4, 6]);
    using _ = newDisposeScope();
    const loss = model.call(tensor([0, 1, 2], { dtype: "int32" })).sum();
    loss.backward();
    assert.is(model.head.grad!.dtype, "float16");
    model.float();
    assert.equal([model.head.dtype, model.head.grad!.dtype], ["float32", "float32"]);
    assert.is(model.turned[HANDLE].storage, model.table.weight[HANDLE].storage);
  }));

test("a trained step of a float16 network keeps masters and states in float32", () =>
  assertNoLeaks(async () => {
    using model = new Sequential(
      new Conv2d(3, 4, 3),
      new BatchNorm2d(4),
      new Linear(6, 5),
      new LayerNorm(5),
    ).half();
    for (const [make, names] of [
      [
        () => new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 }),
        ["master_param", "momentum_buffer"],
      ],
      [() => new Adam(model.parameters()), ["master_param", "exp_avg", "exp_avg_sq"]],
    ] as const) {
      using optimizer = make();
      using scaler = new GradScaler({ enabled: true });
      let stepped: Promise<boolean>;
      {
        using _ = newDisposeScope();
        const loss = model
          .call(zeros([2, 3, 8, 8], { dtype: "float16" }))
          .square()
          .mean();
        assert.is(scaler.scale(loss).dtype, "float32");
        optimizer.zeroGrad();
        scaler.scale(loss).backward();
        for (const p of model.parameters()) assert.is(p.grad!.dtype, "float16");
        scaler.unscale(optimizer);
        for (const p of model.parameters()) assert.is(p.grad!.dtype, "float32");
        stepped = scaler.step(optimizer);
      }
      assert.is(await stepped, false); // the null device reads zeros: the flag is 0
      optimizer.step();
      using _ = newDisposeScope();
      const { tensors } = optimizer.stateDict();
      assert.equal(
        [...tensors.keys()],
        model.parameters().flatMap((__, i) => names.map((n) => `${i}.${n}`)),
      );
      for (const t of tensors.values()) assert.is(t.dtype, "float32");
      for (const p of model.parameters()) assert.is(p.dtype, "float16");
      optimizer.loadStateDict({ steps: 3, tensors: new Map([["1.master_param", zeros([4])]]) });
      assert.equal([...optimizer.stateDict().tensors.keys()], ["1.master_param"]);
    }
  }));

test.run();
