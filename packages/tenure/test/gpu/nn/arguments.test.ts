/**
 * Modules given what is no tensor, constructors that throw, and modules that are registered by
 * hand: a typed error, and nothing stays behind.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, TenureError, memory, newDisposeScope, ones, tensor, zeros } from "tenure";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";
import { setup } from "../../helpers.ts";
import { expectRefusal, thrownBy } from "../refusals.ts";

await setup();
const test = suite("arguments of modules");

const f = (...shape: number[]): Tensor => zeros(shape);
const i = (...shape: number[]): Tensor => zeros(shape, { dtype: "int32" });

const p = tensor([1, 2], { requiresGrad: true, name: "p" });
const optimizer = new optim.SGD([p], { lr: 0.1 });

/** Every layer, and how many tensors it takes. */
const layers: Readonly<
  Record<
    string,
    readonly [
      make: () => {
        call: (...args: never[]) => unknown;
        forward: (...args: never[]) => unknown;
        dispose: () => void;
      },
      tensors: number,
    ]
  >
> = {
  Linear: [() => new nn.Linear(2, 2), 1],
  Conv1d: [() => new nn.Conv1d(1, 1, 1), 1],
  Conv2d: [() => new nn.Conv2d(1, 1, 1), 1],
  ConvTranspose1d: [() => new nn.ConvTranspose1d(1, 1, 1), 1],
  ConvTranspose2d: [() => new nn.ConvTranspose2d(1, 1, 1), 1],
  MaxPool1d: [() => new nn.MaxPool1d(1), 1],
  MaxPool2d: [() => new nn.MaxPool2d(1), 1],
  AvgPool1d: [() => new nn.AvgPool1d(1), 1],
  AvgPool2d: [() => new nn.AvgPool2d(1), 1],
  AdaptiveAvgPool1d: [() => new nn.AdaptiveAvgPool1d(1), 1],
  AdaptiveAvgPool2d: [() => new nn.AdaptiveAvgPool2d(1), 1],
  AdaptiveMaxPool1d: [() => new nn.AdaptiveMaxPool1d(1), 1],
  AdaptiveMaxPool2d: [() => new nn.AdaptiveMaxPool2d(1), 1],
  ConstantPad1d: [() => new nn.ConstantPad1d(1, 0), 1],
  ConstantPad2d: [() => new nn.ConstantPad2d(1, 0), 1],
  ZeroPad1d: [() => new nn.ZeroPad1d(1), 1],
  ZeroPad2d: [() => new nn.ZeroPad2d(1), 1],
  ReflectionPad1d: [() => new nn.ReflectionPad1d(1), 1],
  ReflectionPad2d: [() => new nn.ReflectionPad2d(1), 1],
  ReplicationPad1d: [() => new nn.ReplicationPad1d(1), 1],
  ReplicationPad2d: [() => new nn.ReplicationPad2d(1), 1],
  Upsample: [() => new nn.Upsample({ scaleFactor: 2 }), 1],
  Flatten: [() => new nn.Flatten(), 1],
  Dropout: [() => new nn.Dropout(), 1],
  Embedding: [() => new nn.Embedding(2, 2), 1],
  BatchNorm1d: [() => new nn.BatchNorm1d(1), 1],
  BatchNorm2d: [() => new nn.BatchNorm2d(1), 1],
  InstanceNorm1d: [() => new nn.InstanceNorm1d(1), 1],
  InstanceNorm2d: [() => new nn.InstanceNorm2d(1), 1],
  LayerNorm: [() => new nn.LayerNorm(1), 1],
  RMSNorm: [() => new nn.RMSNorm(1), 1],
  GroupNorm: [() => new nn.GroupNorm(1, 1), 1],
  Identity: [() => new nn.Identity(), 1],
  ReLU: [() => new nn.ReLU(), 1],
  ReLU6: [() => new nn.ReLU6(), 1],
  Sigmoid: [() => new nn.Sigmoid(), 1],
  Tanh: [() => new nn.Tanh(), 1],
  Softplus: [() => new nn.Softplus(), 1],
  Softsign: [() => new nn.Softsign(), 1],
  LogSigmoid: [() => new nn.LogSigmoid(), 1],
  SiLU: [() => new nn.SiLU(), 1],
  Mish: [() => new nn.Mish(), 1],
  SELU: [() => new nn.SELU(), 1],
  Hardswish: [() => new nn.Hardswish(), 1],
  Hardsigmoid: [() => new nn.Hardsigmoid(), 1],
  GELU: [() => new nn.GELU(), 1],
  ELU: [() => new nn.ELU(), 1],
  LeakyReLU: [() => new nn.LeakyReLU(), 1],
  Hardtanh: [() => new nn.Hardtanh(), 1],
  PReLU: [() => new nn.PReLU(), 1],
  Softmax: [() => new nn.Softmax(), 1],
  LogSoftmax: [() => new nn.LogSoftmax(), 1],
  GLU: [() => new nn.GLU(), 1],
  Sequential: [() => new nn.Sequential(), 1],
  RNN: [() => new nn.RNN(1, 1), 1],
  LSTM: [() => new nn.LSTM(1, 1), 1],
  GRU: [() => new nn.GRU(1, 1), 1],
  MultiheadAttention: [() => new nn.MultiheadAttention(1, 1), 3],
  TransformerEncoderLayer: [() => new nn.TransformerEncoderLayer(1, 1, { dimFeedforward: 1 }), 1],
  TransformerDecoderLayer: [() => new nn.TransformerDecoderLayer(1, 1, { dimFeedforward: 1 }), 2],
  TransformerEncoder: [
    () =>
      new nn.TransformerEncoder(
        () => new nn.TransformerEncoderLayer(1, 1, { dimFeedforward: 1 }),
        1,
      ),
    1,
  ],
  TransformerDecoder: [
    () =>
      new nn.TransformerDecoder(
        () => new nn.TransformerDecoderLayer(1, 1, { dimFeedforward: 1 }),
        1,
      ),
    2,
  ],
  MSELoss: [() => new nn.MSELoss(), 2],
  L1Loss: [() => new nn.L1Loss(), 2],
  HuberLoss: [() => new nn.HuberLoss(), 2],
  SmoothL1Loss: [() => new nn.SmoothL1Loss(), 2],
  CrossEntropyLoss: [() => new nn.CrossEntropyLoss(), 2],
  NLLLoss: [() => new nn.NLLLoss(), 2],
  BCELoss: [() => new nn.BCELoss(), 2],
  BCEWithLogitsLoss: [() => new nn.BCEWithLogitsLoss(), 2],
  KLDivLoss: [() => new nn.KLDivLoss(), 2],
  CosineEmbeddingLoss: [() => new nn.CosineEmbeddingLoss(), 3],
};

test("every layer and loss is in the table", () => {
  const abstract = ["Module", "ModuleList", "ModuleDict"];
  for (const [name, value] of Object.entries(nn))
    if (
      typeof value === "function" &&
      value.prototype instanceof nn.Module &&
      !abstract.includes(name)
    )
      assert.ok(layers[name] !== undefined, `no row for ${name}`);
});

for (const [name, [make, tensors]] of Object.entries(layers)) {
  test(`${name} of what is no tensor`, async () => {
    const before = memory.stats().threadTotalLiveCount,
      layer = make();
    for (const bad of [3, "x", null, undefined, {}, [1, 2]]) {
      for (let at = 0; at < tensors; at++) {
        const args = Array.from({ length: tensors }, (_, k) =>
          k === at
            ? () => bad
            : () =>
                (name === "CrossEntropyLoss" || name === "NLLLoss") && k === 1 ? i(1) : f(1, 1),
        );
        for (const how of ["call", "forward"] as const)
          expectRefusal(
            `${name}.${how} with ${JSON.stringify(bad)} as argument ${at}`,
            null,
            await thrownBy(() => layer[how](...(args.map((a) => a()) as never[]))),
          );
      }
    }
    layer.dispose();
    assert.is(memory.stats().threadTotalLiveCount, before);
  });
}

test("a constructor that throws frees what it had made", async () => {
  const before = memory.stats();
  class Net extends nn.Module {
    readonly first: nn.Linear;
    readonly second: nn.Linear;
    constructor() {
      super();
      this.parameter("scale", ones([1]));
      this.first = new nn.Linear(2, 2);
      this.second = this.build(() => new nn.Linear(2, 0));
    }
    forward(x: Tensor): Tensor {
      return this.second.call(this.first.call(x));
    }
  }
  const broken: readonly (() => unknown)[] = [
    () => new Net(),
    () => new nn.TransformerEncoderLayer(6, 4, { dimFeedforward: 2 }),
    () => new nn.TransformerDecoderLayer(6, 4, { dimFeedforward: 2 }),
    () => new nn.TransformerEncoderLayer(6, 2, { dimFeedforward: 0 }),
    () =>
      new nn.TransformerEncoder(
        (k) => new nn.TransformerEncoderLayer(6, k === 0 ? 2 : 4, { dimFeedforward: 2 }),
        2,
        new nn.LayerNorm(6),
      ),
    () => new nn.MultiheadAttention(4, 2, { kdim: 0 }),
    () => new nn.LSTM(2, 3, { projSize: 3 }),
    () => new nn.RNN(2, 3, { nonlinearity: "gelu" as never }),
    // Too many elements, in a weight that is not the first.
    () => new nn.MultiheadAttention(4, 2, { vdim: 1e9 }),
    () => new nn.LSTM(1, 30_000),
  ];
  for (const make of broken) assert.instance(await thrownBy(make), TenureError);
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
  assert.is(after.storages, before.storages);
});

test("what else modules refuse, in few words", async () => {
  const before = memory.stats();
  const disposed = new nn.Linear(2, 2),
    list = new nn.ModuleList(),
    stack = new nn.Sequential(...Array.from({ length: 40 }, () => new nn.PReLU())),
    gone = new Float32Array(2);
  disposed.dispose();
  structuredClone(gone.buffer, { transfer: [gone.buffer] });
  const later = (): never => Promise.reject(new Error("nobody waits for this")) as never;
  const wrong: readonly (readonly [name: string, run: () => unknown])[] = [
    ["GLU", () => new nn.GLU().call(f(2, 3))],
    ["GLU", () => new nn.GLU(0).call(f(1, 4))],
    ["Linear", () => disposed.half()],
    ["ModuleList", () => list.at(Symbol() as never)],
    ["ModuleList", () => list.at(0.5)],
    ["ModuleList", () => new nn.ModuleList(gone as never)],
    ["ModuleDict", () => new nn.ModuleDict(gone as never)],
    ["TransformerEncoder", () => new nn.TransformerEncoder(later, 1)],
    ["pad", () => nn.functional.pad(f(2), Array<number>(10_000).fill(1))],
    ["loadStateDict", () => stack.loadStateDict({})],
  ];
  for (const [name, run] of wrong) {
    const error = await thrownBy(run);
    expectRefusal(name, name, error);
    assert.ok(String(error).length < 400, String(error));
  }
  stack.dispose();
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
  assert.is(after.storages, before.storages);
});

test("registered modules are found, saved and disposed like fields", async () => {
  class Hidden extends nn.Module {
    readonly #net: nn.Linear;
    constructor() {
      super();
      this.#net = this.registerModule("net", new nn.Linear(2, 3));
    }
    forward(x: Tensor): Tensor {
      return this.#net.call(x);
    }
    again(): void {
      this.registerModule("net", this.#net);
    }
    named(name: unknown): void {
      this.registerModule(name as string, this.#net);
    }
    wrong(): void {
      this.registerModule("other", 3 as never);
    }
  }
  const before = memory.stats().threadTotalLiveCount,
    hidden = new Hidden();
  assert.equal(
    [...hidden.namedParameters()].map(([name]) => name),
    ["net.weight", "net.bias"],
  );
  for (const bad of [
    () => {
      hidden.again();
    },
    () => {
      hidden.named("a.b");
    },
    () => {
      hidden.named("");
    },
    () => {
      hidden.named(4);
    },
    () => {
      hidden.wrong();
    },
  ])
    expectRefusal("registerModule", "Hidden", await thrownBy(bad));
  {
    using _ = newDisposeScope();
    assert.equal(hidden.call(f(1, 2)).shape, [1, 3]);
  }
  hidden.dispose();
  assert.is(memory.stats().threadTotalLiveCount, before);
});

test.after(() => {
  optimizer.dispose();
  p.dispose();
});
test.run();
