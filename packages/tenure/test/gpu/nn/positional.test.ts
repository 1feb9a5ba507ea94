/**
 * Arguments of functions, layers and initial values that are of another kind: each in turn is
 * replaced by values that make no sense. What is refused is refused by a typed error with a remedy,
 * never by one of JavaScript's, and nothing stays behind.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, memory, newDisposeScope, zeros } from "tenure";
import * as nn from "tenure/nn";
import { setup } from "../../helpers.ts";
import { expectRefusal, thrownBy } from "../refusals.ts";

await setup();
const test = suite("positional arguments");

const { functional: F, init } = nn;
const f = (...shape: number[]): Tensor => zeros(shape);
const i = (...shape: number[]): Tensor => zeros(shape, { dtype: "int32" });

/** Good arguments of everything that can be called. */
const functions: Readonly<Record<string, () => unknown[]>> = {
  adaptiveAvgPool1d: () => [f(1, 1, 2), 1],
  adaptiveAvgPool2d: () => [f(1, 1, 2, 2), [1, null]],
  adaptiveMaxPool1d: () => [f(1, 1, 2), 1],
  adaptiveMaxPool2d: () => [f(1, 1, 2, 2), [1, null]],
  attentionWithWeights: () => [f(1, 1), f(1, 1), f(1, 1)],
  avgPool1d: () => [f(1, 1, 2), 1],
  avgPool2d: () => [f(1, 1, 2, 2), 1],
  batchNorm: () => [f(2, 1), { training: true }],
  bce: () => [f(1), f(1)],
  bceWithLogits: () => [f(1), f(1)],
  conv1d: () => [f(1, 1, 2), f(1, 1, 1), f(1)],
  conv2d: () => [f(1, 1, 2, 2), f(1, 1, 1, 1), f(1)],
  convTranspose1d: () => [f(1, 1, 2), f(1, 1, 1), f(1)],
  convTranspose2d: () => [f(1, 1, 2, 2), f(1, 1, 1, 1), f(1)],
  cosineEmbedding: () => [f(1, 1), f(1, 1), f(1)],
  crossEntropy: () => [f(1, 2), i(1)],
  dropout: () => [f(1), 0.5, true],
  embedding: () => [i(1), f(2, 2)],
  groupNorm: () => [f(1, 2, 2), 1, f(2), f(2), 1e-5],
  huberLoss: () => [f(1), f(1)],
  instanceNorm: () => [f(1, 2, 2), f(2), f(2), 1e-5],
  klDiv: () => [f(1), f(1)],
  l1Loss: () => [f(1), f(1), "sum"],
  layerNorm: () => [f(1, 2), 2, f(2), f(2), 1e-5],
  linear: () => [f(1, 1), f(1, 1), f(1)],
  maxPool1d: () => [f(1, 1, 2), 1],
  maxPool1dWithIndices: () => [f(1, 1, 2), 1],
  maxPool2d: () => [f(1, 1, 2, 2), 1],
  maxPool2dWithIndices: () => [f(1, 1, 2, 2), 1],
  mseLoss: () => [f(1), f(1), "sum"],
  nllLoss: () => [f(1, 2), i(1)],
  pad: () => [f(1, 1), [1, 1], "constant", 0],
  pair: () => [1],
  reduceLoss: () => ["op", f(1), "sum"],
  rmsNorm: () => [f(1, 2), 2, f(2), 1e-5],
  scaledDotProductAttention: () => [f(1, 1), f(1, 1), f(1, 1)],
  smoothL1Loss: () => [f(1), f(1)],
  upsample: () => [f(1, 1, 2, 2), { size: 1 }],
};

const initials: Readonly<Record<string, () => unknown[]>> = {
  constant: () => [[1], 1],
  defaultWeight: () => [[1, 1]],
  fanIn: () => [[1, 1]],
  fanOut: () => [[1, 1]],
  gain: () => ["relu", 1],
  kaimingNormal: () => [[1, 1]],
  kaimingUniform: () => [[1, 1]],
  normal: () => [[1], 0, 1],
  ones: () => [[1]],
  orthogonal: () => [[1, 1], 1],
  truncNormal: () => [[1]],
  uniform: () => [[1], 1],
  xavierNormal: () => [[1, 1], 1],
  xavierUniform: () => [[1, 1], 1],
  zeros: () => [[1]],
};

const encoderLayer = (): nn.TransformerEncoderLayer =>
  new nn.TransformerEncoderLayer(1, 1, { dimFeedforward: 1 });
const decoderLayer = (): nn.TransformerDecoderLayer =>
  new nn.TransformerDecoderLayer(1, 1, { dimFeedforward: 1 });

/** Good arguments of layers that take some beside options. */
const layers: Readonly<Record<string, () => unknown[]>> = {
  AdaptiveAvgPool1d: () => [1],
  AdaptiveAvgPool2d: () => [1],
  AdaptiveMaxPool1d: () => [1],
  AdaptiveMaxPool2d: () => [1],
  AvgPool1d: () => [1],
  AvgPool2d: () => [1],
  BatchNorm1d: () => [1],
  BatchNorm2d: () => [1],
  ConstantPad1d: () => [1, 0],
  ConstantPad2d: () => [1, 0],
  Conv1d: () => [1, 1, 1],
  Conv2d: () => [1, 1, 1],
  ConvTranspose1d: () => [1, 1, 1],
  ConvTranspose2d: () => [1, 1, 1],
  Dropout: () => [0.5],
  ELU: () => [1],
  Embedding: () => [1, 1],
  Flatten: () => [1],
  GLU: () => [1],
  GRU: () => [1, 1],
  GroupNorm: () => [1, 1],
  Hardtanh: () => [0, 1],
  InstanceNorm1d: () => [1],
  InstanceNorm2d: () => [1],
  LSTM: () => [1, 1],
  LayerNorm: () => [1],
  LeakyReLU: () => [1],
  Linear: () => [1, 1],
  LogSoftmax: () => [1],
  MaxPool1d: () => [1],
  MaxPool2d: () => [1],
  ModuleDict: () => [{}],
  ModuleList: () => [[]],
  MultiheadAttention: () => [1, 1],
  PReLU: () => [1, 1],
  RMSNorm: () => [1],
  RNN: () => [1, 1],
  ReflectionPad1d: () => [1],
  ReflectionPad2d: () => [1],
  ReplicationPad1d: () => [1],
  ReplicationPad2d: () => [1],
  Sequential: () => [new nn.ReLU()],
  Softmax: () => [1],
  TransformerDecoder: () => [decoderLayer, 1, null],
  TransformerDecoderLayer: () => [1, 1],
  TransformerEncoder: () => [encoderLayer, 1, null],
  TransformerEncoderLayer: () => [1, 1],
  ZeroPad1d: () => [1],
  ZeroPad2d: () => [1],
};

const hostile: readonly unknown[] = [
  undefined,
  null,
  NaN,
  -1.5,
  1e300,
  "x",
  true,
  10n,
  Symbol("s"),
  [],
  [null],
  [-1, 0.5],
  ["a"],
  {},
  () => 0,
  new Date(0),
  Object.create(null),
];

/** How many there are; the tensors among them are freed. */
function lengthOf(good: () => unknown[]): number {
  using _ = newDisposeScope();
  return good().length;
}

/** Calls with every argument replaced in turn. @returns how many were refused */
async function tryAll(
  name: string,
  run: (...args: never[]) => unknown,
  good: () => unknown[],
): Promise<number> {
  let refused = 0;
  const before = memory.stats();
  assert.is(await thrownBy(() => run(...(good() as never[]))), undefined, `${name} itself`);
  for (let at = 0; at < lengthOf(good); at++)
    for (const value of hostile) {
      const error = await thrownBy(() =>
        run(...(good().map((arg, k) => (k === at ? value : arg)) as never[])),
      );
      if (error === undefined) continue;
      refused++;
      expectRefusal(`${name} with ${typeof value} ${at}`, null, error);
    }
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount, name);
  assert.is(after.storages, before.storages, name);
  return refused;
}

type Any = (...args: never[]) => unknown;
const construct =
  (name: string): Any =>
  (...args) =>
    new (nn as unknown as Record<string, new (...args: never[]) => unknown>)[name]!(...args);

for (const [name, good] of Object.entries(functions))
  test(name, async () => {
    const refused = await tryAll(name, (F as unknown as Record<string, Any>)[name]!, good);
    assert.ok(refused > 0 || name === "pair");
  });
for (const [name, good] of Object.entries(initials))
  test(`init.${name}`, async () => {
    assert.ok((await tryAll(name, (init as unknown as Record<string, Any>)[name]!, good)) > 0);
  });
for (const [name, good] of Object.entries(layers))
  test(`new ${name}`, async () => {
    assert.ok((await tryAll(name, construct(name), good)) > 0);
  });

test("every function and initial value is in a table", () => {
  assert.equal(
    Object.keys(F).filter((name) => functions[name] === undefined),
    [],
  );
  assert.equal(
    Object.keys(init).filter((name) => initials[name] === undefined),
    [],
  );
});

test.run();
