/**
 * What users get wrong: misspelt options, arguments of another kind, numbers out of range. Each is
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
  checkpoint,
  currentDisposeScope,
  defineOp,
  full,
  grad,
  memory,
  newDisposeScope,
  noGrad,
  ones,
  randint,
  scoped,
  scopedAsync,
  tensor,
  zeros,
} from "tenure";
import { ArrayDataset, DataLoader, fromSafetensors, parseIdx, toSafetensors } from "tenure/data";
import { Conv2d, CrossEntropyLoss, Dropout, Linear, Module, functional as F } from "tenure/nn";
import { Adam, SGD, StepLR } from "tenure/optim";
import { checkOptions } from "../../src/base/options.ts";
import { closest } from "../../src/base/spelling.ts";
import { pattern, setup } from "../helpers.ts";

await setup();
const test = suite("bad input");

const bad = (value: unknown): never => value as never;
const x = tensor([1, 2, 3, 4], { name: "x" }),
  w = tensor([1, 2], { requiresGrad: true, name: "w" }),
  i32 = tensor([1, 2], { dtype: "int32" });
const layer = new Linear(2, 2),
  data = new ArrayDataset({ v: { data: [1, 2, 3], shape: [] } });

type Kind = new (...args: never[]) => TenureError;
const cases: readonly (readonly [what: string, run: () => unknown, kind: Kind, text: RegExp])[] = [
  // Misspelt options
  [
    "tensor's options",
    () => tensor([1], bad({ requires_grad: true })),
    ArgumentError,
    pattern`^tensor: expected the options dtype, requiresGrad, name, shape, got "requires_grad";
      did you mean requiresGrad\?`,
  ],
  [
    "options that are a string",
    () => tensor([1], bad("int32")),
    ArgumentError,
    /^tensor: expected an options object, got "int32"; write \{ dtype: … \}/,
  ],
  [
    "zeros' options",
    () => zeros([1], bad({ dytpe: "int32" })),
    ArgumentError,
    /^zeros: .*did you mean dtype/,
  ],
  [
    "SGD's options",
    () => new SGD([w], bad({ lr: 1, momentun: 0.9 })),
    ArgumentError,
    /^SGD: .*got "momentun"; did you mean momentum\?/,
  ],
  [
    "Adam's options",
    () => new Adam([w], bad({ learningRate: 1 })),
    ArgumentError,
    /^Adam: .*got "learningRate"; did you mean lr\?/,
  ],
  [
    "a group's options",
    () => new SGD(bad([{ parameters: [w], weight_decay: 1 }]), { lr: 1 }),
    ArgumentError,
    /^SGD: .*did you mean weightDecay\?/,
  ],
  [
    "DataLoader's options",
    () => new DataLoader(data, bad({ batchSize: 1, shufle: true })),
    ArgumentError,
    /^DataLoader: .*did you mean shuffle\?/,
  ],
  [
    "a scope's options",
    () => newDisposeScope(bad({ nam: "a" })),
    ArgumentError,
    /^newDisposeScope: expected the options name, root, strict, got "nam"; did you mean name\?/,
  ],
  [
    "backward's options",
    () => {
      w.backward(undefined, bad({ retain_graph: true }));
    },
    ArgumentError,
    /^backward: .*did you mean retainGraph\?/,
  ],
  [
    "grad's options",
    () => grad((a: Tensor) => a.sum(), bad({ creategraph: true })),
    ArgumentError,
    /did you mean createGraph/,
  ],
  [
    "Linear's options",
    () => new Linear(1, 1, bad({ biass: false })),
    ArgumentError,
    /^Linear: expected the option bias, got "biass"; did you mean bias\?/,
  ],
  [
    "a loss's options",
    () => new CrossEntropyLoss(bad({ ignore_index: 1 })),
    ArgumentError,
    /did you mean ignoreIndex/,
  ],
  [
    "conv2d's options",
    () => F.conv2d(x, x, null, bad({ strides: 2 })),
    ArgumentError,
    /^conv2d: .*did you mean stride\?/,
  ],
  [
    "a schedule's options",
    () => {
      using s = new SGD([w], { lr: 1 });
      return new StepLR(s, bad({ step_size: 2 }));
    },
    ArgumentError,
    /^StepLR: .*did you mean stepSize\?/,
  ],
  [
    "a flag that is none",
    () => zeros([1], { requiresGrad: bad("yes") }),
    ArgumentError,
    /^zeros: expected requiresGrad to be true or false, got "yes"/,
  ],
  // Another kind of argument
  [
    "a shape that is a number",
    () => tensor([1], { shape: bad(1) }),
    ShapeError,
    /^tensor: expected an array of dimensions, got number/,
  ],
  ["a bigint", () => full([2], bad(3n)), ArgumentError, /^full: expected a number, got 3n/],
  [
    "axes of another kind",
    () => x.sum(bad({})),
    ShapeError,
    /^sum: expected an axis or an array of axes, got object/,
  ],
  ["true as axes", () => x.sum(bad(true)), ShapeError, /^sum: .*got boolean/],
  [
    "moveTo a number",
    () => x.moveTo(bad(3)),
    ArgumentError,
    /^moveTo: expected a dispose scope or a tensor, got 3/,
  ],
  [
    "backward of a number",
    () => {
      w.backward(bad(1));
    },
    ArgumentError,
    /^backward: expected a gradient that is a tensor, got 1/,
  ],
  [
    "options where the gradient goes",
    () => {
      w.backward(bad({ retainGraph: true }));
    },
    ArgumentError,
    /options come second/,
  ],
  [
    "noGrad()",
    () => noGrad(bad(undefined)),
    ArgumentError,
    /^noGrad: expected a function, got undefined; pass for example/,
  ],
  ["noGrad(1)", () => noGrad(bad(1)), ArgumentError, /^noGrad: expected a function, got 1/],
  [
    "scoped()",
    () => scoped(bad(undefined)),
    ArgumentError,
    /^scoped: expected a function, got undefined/,
  ],
  [
    "scopedAsync()",
    () => scopedAsync(bad(undefined)),
    ArgumentError,
    /^scopedAsync: expected a function/,
  ],
  [
    "checkpoint(3)",
    () => checkpoint(bad(3)),
    ArgumentError,
    /^checkpoint: expected a function, got 3/,
  ],
  [
    "defineOp()",
    () => defineOp(bad(undefined)),
    ArgumentError,
    /^defineOp: expected the definition of an op, got undefined/,
  ],
  [
    "a layer on a number",
    () => layer.call(bad(3)),
    ArgumentError,
    /^Linear: expected a tensor, got 3/,
  ],
  [
    "Conv2d without a kernel",
    () => new Conv2d(1, 1, bad(undefined)),
    ArgumentError,
    /^Conv2d: expected kernelSize to be a positive integer or a pair of them, got undefined/,
  ],
  [
    "SGD()",
    () => new SGD(bad(undefined), bad(undefined)),
    ArgumentError,
    /^SGD: expected a list of parameters, or of groups, got undefined; pass module\.parameters\(\)/,
  ],
  [
    "SGD without lr",
    () => new SGD([w], bad(undefined)),
    ArgumentError,
    /^SGD: expected a learning rate .*got undefined/,
  ],
  [
    "SGD of a module",
    () => new SGD(bad(layer), { lr: 1 }),
    ArgumentError,
    /^SGD: expected the parameters of a module, got the module itself; pass module\.parameters\(\)/,
  ],
  [
    "DataLoader without options",
    () => new DataLoader(data, bad(undefined)),
    ArgumentError,
    /^DataLoader: expected options with batchSize, got none/,
  ],
  [
    "DataLoader(null)",
    () => new DataLoader(bad(null), { batchSize: 1 }),
    ArgumentError,
    /^DataLoader: expected a dataset with length and batch\(indices\), got null/,
  ],
  [
    "DataLoader of single samples",
    () => new DataLoader(bad({ length: 2, get: () => ({ x: 1 }) }), { batchSize: 1 }),
    ArgumentError,
    /wrap single samples: new DataLoader\(collated\(dataset\), …\)/,
  ],
  [
    "DataLoader({})",
    () => new DataLoader(bad({}), { batchSize: 1 }),
    ArgumentError,
    /got an object/,
  ],
  [
    "batches that hold no tensors",
    () => {
      using l = new DataLoader(bad({ length: 1, batch: () => ({ a: 3 }) }), { batchSize: 1 });
      for (const _ of l) break;
    },
    ArgumentError,
    /^DataLoader: expected tensors in batches, got 3 as a/,
  ],
  [
    "batches that are a tensor",
    () => {
      using l = new DataLoader(bad({ length: 1, batch: () => 3 }), { batchSize: 1 });
      for (const _ of l) break;
    },
    ArgumentError,
    /^DataLoader: expected batches that are tensors by name, got 3/,
  ],
  [
    "ArrayDataset()",
    () => new ArrayDataset(bad(undefined)),
    ArgumentError,
    /^ArrayDataset: expected columns by name, got undefined/,
  ],
  [
    "a column without data",
    () => new ArrayDataset({ a: bad({ shape: [] }) }),
    ArgumentError,
    /^ArrayDataset: expected data in column a, got undefined/,
  ],
  [
    "a column without shape",
    () => new ArrayDataset({ a: bad({ data: [1] }) }),
    ArgumentError,
    /^ArrayDataset: expected the shape of one sample in column a, got undefined/,
  ],
  [
    "parseIdx(null)",
    () => parseIdx(bad(null)),
    ArgumentError,
    /^parseIdx: expected the bytes of a file as a Uint8Array, got null/,
  ],
  [
    "fromSafetensors(null)",
    () => fromSafetensors(bad(null)),
    ArgumentError,
    /^fromSafetensors: expected the bytes/,
  ],
  [
    "loadStateDict(null)",
    () => layer.loadStateDict(bad(null)),
    ArgumentError,
    /^loadStateDict: expected tensors by name, got null/,
  ],
  [
    "loadStateDict({})",
    () => layer.loadStateDict({}),
    ArgumentError,
    /^loadStateDict: .*got no weight, bias/,
  ],
  [
    "null in a state",
    () =>
      layer.loadStateDict(
        new Map([
          ["weight", bad(null)],
          ["bias", bad(null)],
        ]),
      ),
    ArgumentError,
    /for weight, got null/,
  ],
  [
    "an optimizer's state",
    () => {
      using o = new SGD([w], { lr: 1 });
      o.loadStateDict(bad(null));
    },
    ArgumentError,
    /^loadStateDict: expected the state of an optimizer, got null/,
  ],
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
    /^zeros: expected an array of dimensions, got number; write for example \[2, 3\]/,
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

for (const [what, run, kind, text] of cases) {
  test(what, async () => {
    const before = memory.stats(),
      scope = currentDisposeScope();
    let thrown: unknown;
    try {
      await run();
    } catch (error) {
      thrown = error;
    }
    if (!(thrown instanceof kind))
      throw new Error(`expected a ${kind.name}, got ${String(thrown)}`);
    assert.match(thrown.message, text);
    assert.match(thrown.message, /; /, "says what to do");
    const after = memory.stats();
    assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
    assert.is(after.storages, before.storages);
    assert.is(currentDisposeScope(), scope);
  });
}

test("what was meant", () => {
  const names = ["lr", "momentum", "weightDecay", "batchSize"];
  assert.equal(
    ["LR", "learning_rate", "momentm", "weight_decay", "batch_size", "nothing"].map((n) =>
      closest(n, names),
    ),
    ["lr", "lr", "momentum", "weightDecay", "batchSize", undefined],
  );
  checkOptions("f", undefined, names);
  checkOptions("f", { lr: undefined }, names);
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
