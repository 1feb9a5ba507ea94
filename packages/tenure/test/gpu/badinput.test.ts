/**
 * What users get wrong: values that do not fit, numbers out of range. Each is
 * refused with a typed error that says what to do, and nothing is made, leaked or changed.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DTypeError,
  ShapeError,
  type Tensor,
  TenureError,
  full,
  memory,
  newDisposeScope,
  ones,
  randint,
  scoped,
  tensor,
  zeros,
} from "tenure";
import { ArrayDataset, DataLoader, fromSafetensors, toSafetensors } from "tenure/data";
import { Conv2d, Dropout, Linear, Module } from "tenure/nn";
import { SGD } from "tenure/optim";
import { closest } from "../../src/base/spelling.ts";
import { pattern, setup } from "../helpers.ts";
import { type Refusal, bad, refuse } from "./refusals.ts";

await setup();
const test = suite("bad input");

const x = tensor([1, 2, 3, 4], { name: "x" }),
  w = tensor([1, 2], { requiresGrad: true, name: "w" }),
  i32 = tensor([1, 2], { dtype: "int32" });
const layer = new Linear(2, 2),
  data = new ArrayDataset({ v: { data: [1, 2, 3], shape: [] } });

const cases: readonly Refusal[] = [
  // Values that were accepted
  [
    "full without a value",
    () => full([2], bad(undefined)),
    ArgumentError,
    /^full: expected a number, got undefined/,
  ],
  ["full of text", () => full([2], bad("x")), ArgumentError, /^full: expected a number, got "x"/],
  [
    "fill_()",
    () => x.fill_(bad(undefined)),
    ArgumentError,
    /^fill_: expected a number, got undefined/,
  ],
  ["fill_ with text", () => x.fill_(bad("a")), ArgumentError, /^fill_: expected a number, got "a"/],
  [
    "argMax of two axes",
    () => x.argMax(bad([0, 1])),
    ArgumentError,
    /^argMax: expected one axis, got an array; leave it out/,
  ],
  [
    "a learning rate in quotes",
    () => new SGD([w], { lr: bad("0.1") }),
    ArgumentError,
    /^SGD: expected a learning rate in \[0, Infinity\), got "0\.1"/,
  ],
  [
    "a kernel of 0",
    () => new Conv2d(1, 1, 0),
    ArgumentError,
    /^Conv2d: expected kernelSize .*got 0/,
  ],
  [
    "a sample that is not there",
    () => data.batch([5]),
    ArgumentError,
    /^ArrayDataset: expected positions of 3 samples, got 5; count from 0 to 2/,
  ],
  [
    "a state of plain arrays",
    () =>
      layer.loadStateDict(
        bad({ weight: { data: [1, 2, 3, 4], shape: [2, 2] }, bias: { data: [1, 2], shape: [2] } }),
      ),
    ArgumentError,
    /typed array, shape \}, for weight, got data that is an array/,
  ],
  [
    "memory.watch(3)",
    () => memory.watch(bad(3)),
    ArgumentError,
    /^watch: expected a function, got 3/,
  ],
  [
    "scope.detach(3)",
    () => {
      using s = newDisposeScope();
      s.detach(bad(3));
    },
    ArgumentError,
    /^detach: expected tensors .*got 3/,
  ],
  // Names and remedies
  [
    "zeros of a number",
    () => zeros(bad(3)),
    ShapeError,
    /^zeros: expected an array of dimensions, got 3; write for example \[2, 3\]/,
  ],
  ["ones of a number", () => ones(bad(3)), ShapeError, /^ones: /],
  ["mul_ of a fraction", () => i32.mul_(0.5), DTypeError, /^mul_: .*float32, got int32; cast/],
  ["add_ on a leaf", () => w.add_(1), TenureError, /^add_: /],
  [
    "an expanded target",
    () => {
      using _ = newDisposeScope();
      tensor([1]).expand(3).mul_(2);
    },
    ShapeError,
    pattern`^mul_: expected a target with a place for every element, got an expanded view \[3\];
      clone\(\) it first`,
  ],
  [
    "randint",
    () => randint(3, 1, [2]),
    ArgumentError,
    /^randint: .*; pass randint\(low, high, shape\)/,
  ],
  ["topK", () => x.topK(9), ArgumentError, /^topK: .*; take fewer/],
  ["split", () => x.split(0), ArgumentError, /^split: .*; pass how many/],
  ["Linear(0, 1)", () => new Linear(0, 1), ArgumentError, /^Linear: .*got 0; pass/],
  ["Dropout(2)", () => new Dropout(2), ArgumentError, /^Dropout: .*got 2; pass the share/],
  // Integers out of range
  [
    "adding what an int32 cannot hold",
    () => i32.add(3e9),
    ArgumentError,
    /^add: expected a number from -2147483648 to 2147483647 for int32, got 3000000000; cast/,
  ],
  ["adding it in place", () => i32.add_(3e9), ArgumentError, /^add_: /],
  [
    "full of too much",
    () => full([1], 3e9, { dtype: "int32" }),
    ArgumentError,
    /^full: expected numbers from -2147483648 to 2147483647 for int32, got 3000000000/,
  ],
  [
    "data out of range",
    () => tensor([1, 3e9], { dtype: "int32" }),
    ArgumentError,
    /^tensor: .*got 3000000000 at position 1/,
  ],
  [
    "negative data",
    () => tensor([-1], { dtype: "uint32" }),
    ArgumentError,
    /^tensor: .*for uint32, got -1/,
  ],
  ["NaN into integers", () => full([1], NaN, { dtype: "int32" }), ArgumentError, /got NaN/],
  [
    "infinity into integers",
    () => tensor(new Float32Array([Infinity]), { dtype: "uint32" }),
    ArgumentError,
    /got Infinity/,
  ],
];

refuse(test, cases);

test("what was meant", () => {
  const names = ["lr", "momentum", "weightDecay", "batchSize"];
  assert.equal(
    ["LR", "learning_rate", "momentm", "weight_decay", "batch_size", "nothing"].map((n) =>
      closest(n, names),
    ),
    ["lr", "lr", "momentum", "weightDecay", "batchSize", undefined],
  );
});

const read = async (fn: () => Tensor): Promise<number[]> => [
  ...(await scoped(() => [fn().data()])[0]!),
];

test("comparing integers with numbers they cannot hold", async () => {
  const low = tensor([-0x80000000, 1, 0x7fffffff], { dtype: "int32" }),
    un = tensor([0, 4294967295], { dtype: "uint32" });
  assert.equal(await read(() => low.lt(3e9)), [1, 1, 1]);
  assert.equal(await read(() => low.lt(2 ** 31)), [1, 1, 1]);
  assert.equal(await read(() => low.eq(2 ** 31)), [0, 0, 0]);
  assert.equal(await read(() => low.ge(-3e9)), [1, 1, 1]);
  assert.equal(await read(() => un.lt(5e9)), [1, 1]);
  assert.equal(await read(() => un.gt(-1)), [1, 1]);
  assert.equal(await read(() => un.ne(-1)), [1, 1]);
  low.dispose();
  un.dispose();
});

test("infinite floats become the largest integers", async () => {
  assert.equal(
    await read(() => tensor([Infinity, -Infinity, NaN, 3e9, -1.9]).to("int32")),
    [2147483647, -2147483648, 0, 2147483647, -1],
  );
  assert.equal(
    await read(() => tensor([Infinity, -Infinity, NaN, 5e9, 1.9]).to("uint32")),
    [4294967295, 0, 0, 4294967295, 1],
  );
});

class Tied extends Module {
  readonly w: Tensor;
  readonly w2: Tensor;
  constructor() {
    super();
    this.w = this.parameter("w", tensor([1]));
    this.w2 = this.parameter("w2", this.w.alias());
  }
  forward(a: Tensor): Tensor {
    return scoped(() => a.mul(this.w).mul(this.w2));
  }
}

test("a weight tied by alias() is one parameter with two names", async () => {
  using net = new Tied(),
    one = tensor([1]),
    optimizer = new SGD(net.parameters(), { lr: 0.1 });
  assert.equal(
    [...net.namedParameters()].map(([name]) => name),
    ["w"],
  );
  {
    using _ = newDisposeScope();
    net.call(one).sum().backward();
  }
  optimizer.step();
  const [value] = await net.w.data();
  assert.ok(Math.abs(value! - 0.8) < 1e-6, String(value));
  {
    using _ = newDisposeScope();
    assert.equal([...net.stateDict().keys()], ["w", "w2"]);
    net.loadStateDict(net.stateDict());
  }
});

test("a state may be a plain object", async () => {
  using net = new Linear(1, 1);
  net.loadStateDict({
    weight: { data: new Float32Array([3]), shape: [1, 1] },
    bias: { data: new Float32Array([4]), shape: [1] },
  });
  assert.equal([...(await net.weight.data()), ...(await net.bias!.data())], [3, 4]);
});

test("an optimizer's state that does not fit changes nothing", async () => {
  using a = tensor([1, 1], { requiresGrad: true }),
    b = tensor([1], { requiresGrad: true }),
    optimizer = new SGD([a, b], { lr: 0.1, momentum: 0.9 });
  {
    using _ = newDisposeScope();
    a.sum().add(b.sum()).backward();
  }
  optimizer.step();
  const values = async (): Promise<number[]> => {
    const list = scoped(() => [...optimizer.stateDict().tensors.values()].map((t) => t.data()));
    return (await Promise.all(list)).flatMap((d) => [...d]);
  };
  const before = await values(),
    live = memory.stats();
  assert.throws(
    () => {
      optimizer.loadStateDict({
        steps: 7,
        tensors: new Map([
          ["0.momentum_buffer", { data: new Float32Array([9, 9]), shape: [2] }],
          ["1.momentum_buffer", { data: new Float32Array([9, 9]), shape: [1] }],
        ]),
      });
    },
    (e: Error) => e instanceof ShapeError,
  );
  assert.equal(await values(), before);
  assert.is(optimizer.steps, 1);
  assert.is(memory.stats().threadTotalLiveCount, live.threadTotalLiveCount);
});

test("a module that returns its input gives an alias", () => {
  class Same extends Module {
    forward(a: Tensor): Tensor {
      return a;
    }
  }
  using net = new Same(),
    y = net.call(x);
  assert.is.not(y, x);
});

test("a dataset that throws leaves nothing behind, and its loop has ended", () => {
  let calls = 0;
  using loader = new DataLoader(
    {
      length: 2,
      batch: () => {
        const t = tensor([calls]);
        if (calls++ > 0) throw new RangeError("no such sample");
        return { t };
      },
    },
    { batchSize: 1 },
  );
  const before = memory.stats().threadTotalLiveCount;
  assert.throws(
    () => {
      for (const _ of loader) continue;
    },
    (e: Error) => e instanceof RangeError,
  );
  assert.is(memory.stats().threadTotalLiveCount, before);
  loader.dispose();
  assert.throws(() => {
    for (const _ of loader) continue;
  }, /^DataLoader: expected a live loader, got one that was disposed; make a new one/);
});

test("any name can be saved", async () => {
  const bytes = await toSafetensors([
    ["__proto__", x],
    ["constructor", x],
  ]);
  assert.equal([...fromSafetensors(bytes).keys()], ["__proto__", "constructor"]);
});

test.after(() => {
  for (const t of [x, w, i32, layer]) t.dispose();
});
test.run();
