/**
 * Layers and losses against plain references with their gradients, and modules as owners: names,
 * modes, saving and loading, and who frees what.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, ones, randn, scoped, tensor, manualSeed } from "tenure";
import {
  Conv2d,
  CrossEntropyLoss,
  Dropout,
  Flatten,
  Linear,
  MaxPool2d,
  ReLU,
  Sequential,
  functional as F,
  init,
} from "tenure/nn";
import { assertClose, gradcheck } from "tenure/testing";
import { numbers, setup } from "../helpers.ts";

await setup();
const test = suite("nn");

const values = async (t: Tensor): Promise<number[]> => [...(await t.data())];
/** Reads a fresh tensor and frees it. */
async function take(t: Tensor): Promise<number[]> {
  using owned = t;
  return await values(owned);
}

// === Layers ===

test("Linear is x·Wᵀ + b, for vectors and batches", async () => {
  using layer = new Linear(3, 2),
    x = tensor(numbers(12, 1), { shape: [2, 2, 3] });
  const [w, b, xs] = await Promise.all([values(layer.weight), values(layer.bias!), values(x)]);
  const want = Array.from({ length: 8 }, (_, i) => {
    const row = Math.floor(i / 2),
      o = i % 2;
    return b[o]! + [0, 1, 2].reduce((n, k) => n + xs[row * 3 + k]! * w[o * 3 + k]!, 0);
  });
  using y = layer.call(x);
  assert.equal(y.shape, [2, 2, 2]);
  await assertClose(y, want);
  using row = scoped(() => layer.call(x.select(0, 0).select(0, 0)));
  assert.equal(row.shape, [2]);
  await assertClose(row, want.slice(0, 2));
  using bare = new Linear(3, 2, { bias: false });
  assert.is(bare.bias, null);
  assert.equal(
    [...bare.namedParameters()].map(([n]) => n),
    ["weight"],
  );
});

test("layers have PyTorch's shapes, ranges and names", async () => {
  using net = new Sequential(
    new Conv2d(1, 8, 3, { padding: 1 }),
    new ReLU(),
    new MaxPool2d(2),
    new Flatten(),
    new Linear(8 * 4 * 4, 10),
  );
  assert.equal(
    [...net.namedParameters()].map(([n, p]) => [n, p.shape]),
    [
      ["0.weight", [8, 1, 3, 3]],
      ["0.bias", [8]],
      ["4.weight", [10, 128]],
      ["4.bias", [10]],
    ],
  );
  assert.equal(
    [...net.namedModules()].map(([n, m]) => `${n}:${m.constructor.name}`),
    [":Sequential", "0:Conv2d", "1:ReLU", "2:MaxPool2d", "3:Flatten", "4:Linear"],
  );
  const w = await values(net.parameters()[2]!),
    bound = 1 / Math.sqrt(128);
  assert.ok(
    w.every((v) => Math.abs(v) <= bound) &&
      Math.max(...w) > 0.95 * bound &&
      Math.min(...w) < -0.95 * bound,
  );
  using x = randn([2, 1, 8, 8]),
    y = net.call(x);
  assert.equal(y.shape, [2, 10]);
  assert.ok(net.parameters().every((p) => p.requiresGrad && p.isLeaf));
  assert.is(net.parameters()[0]!.name, "weight");
});

test("gradients of whole networks", async () => {
  await gradcheck(
    (x, w, b) => F.linear(x, w, b).relu().square(),
    [
      { shape: [2, 3], values: numbers(6, 2, 0.5, 1.5) },
      { shape: [4, 3], values: numbers(12, 3, 0.2, 1) },
      { shape: [4], values: numbers(4, 4, 0.1, 0.5) },
    ],
    { tolerance: 2e-2 },
  );
  await gradcheck(
    (x, w, b) => F.conv2d(x, w, b, { padding: 1, stride: 2 }),
    [
      { shape: [1, 2, 3, 3], values: numbers(18, 5) },
      { shape: [2, 2, 2, 2], values: numbers(16, 6) },
      { shape: [2], values: numbers(2, 7) },
    ],
    { tolerance: 2e-2 },
  );
  await gradcheck(
    (x) => F.crossEntropy(x, tensor([1, 0, 2], { dtype: "int32" })),
    [{ shape: [3, 4], values: numbers(12, 8) }],
  );
  await gradcheck(
    (a, b) => F.mseLoss(a, b),
    [
      { shape: [2, 3], values: numbers(6, 9) },
      { shape: [2, 3], values: numbers(6, 10) },
    ],
  );
  await gradcheck(
    (x) => F.avgPool2d(F.maxPool2d(x, 2), 2),
    [{ shape: [1, 1, 4, 4], values: Array.from({ length: 16 }, (_, i) => ((i * 7) % 16) / 8) }],
  );
});

test("conv2d with groups and dilation as a sum of products", async () => {
  using x = tensor(numbers(2 * 4 * 25, 11), { shape: [2, 4, 5, 5] }),
    w = tensor(numbers(6 * 2 * 4, 12), { shape: [6, 2, 2, 2] });
  using y = F.conv2d(x, w, null, { groups: 2, dilation: 2, padding: [1, 0] });
  assert.equal(y.shape, [2, 6, 5, 3]);
  const [xs, ws] = await Promise.all([values(x), values(w)]),
    want: number[] = [];
  for (let n = 0; n < 2; n++)
    for (let o = 0; o < 6; o++)
      for (let i = 0; i < 5; i++)
        for (let j = 0; j < 3; j++) {
          let sum = 0;
          for (let c = 0; c < 2; c++)
            for (let u = 0; u < 2; u++)
              for (let v = 0; v < 2; v++) {
                const r = i - 1 + 2 * u,
                  s = j + 2 * v;
                if (r >= 0 && r < 5 && s < 5)
                  sum +=
                    xs[((n * 4 + Math.floor(o / 3) * 2 + c) * 5 + r) * 5 + s]! *
                    ws[((o * 2 + c) * 2 + u) * 2 + v]!;
              }
          want.push(sum);
        }
  await assertClose(y, want, 1e-4);
});

// === Losses ===

test("cross entropy: mean, sum, none, and ignored rows", async () => {
  using logits = tensor([
      [1, 2, 3],
      [1, 1, 1],
      [0, 5, 0],
    ]),
    targets = tensor([2, 0, 1], { dtype: "int32" });
  const row = (l: number[], t: number): number =>
    Math.log(l.reduce((n, v) => n + Math.exp(v), 0)) - l[t]!;
  const want = [row([1, 2, 3], 2), row([1, 1, 1], 0), row([0, 5, 0], 1)],
    mean = want.reduce((a, b) => a + b) / 3;
  assert.ok(Math.abs((await take(F.crossEntropy(logits, targets)))[0]! - mean) < 1e-5);
  assert.ok(
    Math.abs((await take(F.crossEntropy(logits, targets, { reduction: "sum" })))[0]! - 3 * mean) <
      1e-5,
  );
  await assertClose(await take(F.crossEntropy(logits, targets, { reduction: "none" })), want);
  assert.ok(
    Math.abs(
      (await take(F.crossEntropy(logits, targets, { ignoreIndex: 0 })))[0]! -
        (want[0]! + want[2]!) / 2,
    ) < 1e-5,
  );
  using loss = new CrossEntropyLoss({ reduction: "sum" });
  assert.ok(Math.abs((await take(loss.call(logits, targets)))[0]! - 3 * mean) < 1e-5);
  using wrong = tensor([2, 3, -1], { dtype: "int32" });
  assert.equal(
    (await take(F.crossEntropy(logits, wrong, { reduction: "none" }))).map(Number.isNaN),
    [false, true, true],
    "a class that does not exist is NaN, not garbage",
  );
});

test("mseLoss", async () => {
  using a = tensor([1, 2, 3]),
    b = tensor([1, 4, 0]);
  assert.ok(Math.abs((await take(F.mseLoss(a, b)))[0]! - 13 / 3) < 1e-5);
  assert.equal(await take(F.mseLoss(a, b, "sum")), [13]);
  assert.equal(await take(F.mseLoss(a, b, "none")), [0, 4, 9]);
});

// === Dropout and modes ===

test("Dropout drops a share in training, keeps the mean, and is an alias otherwise", async () => {
  using layer = new Dropout(0.25),
    x = ones([100, 100]);
  manualSeed(5);
  const first = await take(layer.call(x)),
    dropped = first.filter((v) => v === 0).length;
  assert.ok(Math.abs(dropped - 2500) < 200, `${dropped} of 10000 dropped`);
  assert.ok(first.every((v) => v === 0 || Math.abs(v - 4 / 3) < 1e-6));
  const second = await take(layer.call(x));
  assert.not.equal(first, second);
  manualSeed(5);
  assert.equal(await take(layer.call(x)), first, "the same seed, the same mask");
  layer.eval();
  assert.not(layer.training);
  using same = layer.call(x);
  assert.is.not(same, x);
  assert.ok((await values(same)).every((v) => v === 1));
});

test("train and eval reach every module below", () => {
  using net = new Sequential(new Dropout(), new Sequential(new Dropout()));
  net.eval();
  assert.ok([...net.namedModules()].every(([, m]) => !m.training));
  net.train();
  assert.ok([...net.namedModules()].every(([, m]) => m.training));
});

test("the gradient of dropout has the mask of its forward pass", async () => {
  using x = tensor(numbers(64, 13, 1, 2), { requiresGrad: true });
  using y = F.dropout(x, 0.5);
  {
    using loss = y.sum();
    loss.backward();
  }
  using g = x.grad!;
  const [ys, xs, gs] = await Promise.all([values(y), values(x), values(g)]);
  ys.forEach((v, i) => {
    assert.is(gs[i], v === 0 ? 0 : 2);
    assert.ok(v === 0 || Math.abs(v - 2 * xs[i]!) < 1e-5);
  });
});

// === Initial values ===

test("initial values have the promised spread", async () => {
  manualSeed(1);
  const spread = (v: number[]): { mean: number; std: number } => {
    const mean = v.reduce((a, b) => a + b, 0) / v.length;
    return { mean, std: Math.sqrt(v.reduce((n, x) => n + (x - mean) ** 2, 0) / v.length) };
  };
  const he = spread(await take(init.kaimingNormal([64, 128]))),
    glorot = await take(init.xavierUniform([64, 128])),
    normal = spread(await take(init.normal([5000], 3, 2)));
  assert.ok(Math.abs(he.std - Math.sqrt(2 / 128)) < 0.005 && Math.abs(he.mean) < 0.005);
  assert.ok(Math.max(...glorot.map(Math.abs)) <= Math.sqrt(6 / 192));
  assert.ok(Math.abs(normal.mean - 3) < 0.15 && Math.abs(normal.std - 2) < 0.1);
});

test.run();
