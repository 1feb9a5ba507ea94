/**
 * Wrong options of everything that takes some: the error of a misspelt name lists the names there
 * are, that of a wrong value the values; both are then tried out. Always a typed error with a
 * remedy, and nothing stays behind.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Tensor,
  autocast,
  defineOp,
  grad,
  init,
  memory,
  multinomial,
  newDisposeScope,
  tensor,
  zeros,
} from "tenure";
import * as data from "tenure/data";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { gradcheck } from "tenure/testing";
import { setup } from "../helpers.ts";
import { bad, expectRefusal, thrownBy } from "./refusals.ts";

await setup();
const test = suite("tables of options");

const { functional: F } = nn;
const f = (...shape: number[]): Tensor => zeros(shape);
const i = (...shape: number[]): Tensor => zeros(shape, { dtype: "int32" });
const p = tensor([1, 2], { requiresGrad: true, name: "p" });
const optimizer = new optim.SGD([p], { lr: 0.1 });
const linear = new nn.Linear(1, 1);
const bytes = new Uint8Array(4);
const set = new data.ArrayDataset({ v: { data: [1, 2, 3], shape: [] } });

type Call = (options: never) => unknown;
/** A call with options, and options that it cannot do without. */
type Caller = Call | readonly [call: Call, needed: object];

const functions: Readonly<Record<string, Caller>> = {
  attentionWithWeights: (o) => F.attentionWithWeights(f(1, 1), f(1, 1), f(1, 1), o),
  avgPool1d: (o) => F.avgPool1d(f(1, 1, 2), 1, o),
  avgPool2d: (o) => F.avgPool2d(f(1, 1, 2, 2), 1, o),
  batchNorm: (o) => F.batchNorm(f(2, 1), o),
  bce: (o) => F.bce(f(1), f(1), o),
  bceWithLogits: (o) => F.bceWithLogits(f(1), f(1), o),
  conv1d: (o) => F.conv1d(f(1, 1, 2), f(1, 1, 1), null, o),
  conv2d: (o) => F.conv2d(f(1, 1, 2, 2), f(1, 1, 1, 1), null, o),
  convTranspose1d: (o) => F.convTranspose1d(f(1, 1, 2), f(1, 1, 1), null, o),
  convTranspose2d: (o) => F.convTranspose2d(f(1, 1, 2, 2), f(1, 1, 1, 1), null, o),
  cosineEmbedding: (o) => F.cosineEmbedding(f(1, 1), f(1, 1), f(1), o),
  crossEntropy: (o) => F.crossEntropy(f(1, 2), i(1), o),
  huberLoss: (o) => F.huberLoss(f(1), f(1), o),
  klDiv: (o) => F.klDiv(f(1), f(1), o),
  maxPool1d: (o) => F.maxPool1d(f(1, 1, 2), 1, o),
  maxPool1dWithIndices: (o) => F.maxPool1dWithIndices(f(1, 1, 2), 1, o),
  maxPool2d: (o) => F.maxPool2d(f(1, 1, 2, 2), 1, o),
  maxPool2dWithIndices: (o) => F.maxPool2dWithIndices(f(1, 1, 2, 2), 1, o),
  multinomial: (o) => multinomial(f(2), 1, o),
  nllLoss: (o) => F.nllLoss(f(1, 2), i(1), o),
  scaledDotProductAttention: (o) => F.scaledDotProductAttention(f(1, 1), f(1, 1), f(1, 1), o),
  smoothL1Loss: (o) => F.smoothL1Loss(f(1), f(1), o),
  upsample: (o) => F.upsample(f(1, 1, 2, 2), o),
};

const layers: Readonly<Record<string, Caller>> = {
  AvgPool1d: (o) => new nn.AvgPool1d(1, o),
  AvgPool2d: (o) => new nn.AvgPool2d(1, o),
  BCELoss: (o) => new nn.BCELoss(o),
  BCEWithLogitsLoss: (o) => new nn.BCEWithLogitsLoss(o),
  BatchNorm1d: (o) => new nn.BatchNorm1d(1, o),
  BatchNorm2d: (o) => new nn.BatchNorm2d(1, o),
  Conv1d: (o) => new nn.Conv1d(1, 1, 1, o),
  Conv2d: (o) => new nn.Conv2d(1, 1, 1, o),
  ConvTranspose1d: (o) => new nn.ConvTranspose1d(1, 1, 1, o),
  ConvTranspose2d: (o) => new nn.ConvTranspose2d(1, 1, 1, o),
  CosineEmbeddingLoss: (o) => new nn.CosineEmbeddingLoss(o),
  CrossEntropyLoss: (o) => new nn.CrossEntropyLoss(o),
  Embedding: (o) => new nn.Embedding(2, 2, o),
  GELU: (o) => new nn.GELU(o),
  GRU: (o) => new nn.GRU(1, 1, o),
  GroupNorm: (o) => new nn.GroupNorm(1, 1, o),
  HuberLoss: (o) => new nn.HuberLoss(o),
  InstanceNorm1d: (o) => new nn.InstanceNorm1d(1, o),
  InstanceNorm2d: (o) => new nn.InstanceNorm2d(1, o),
  KLDivLoss: (o) => new nn.KLDivLoss(o),
  L1Loss: (o) => new nn.L1Loss(o),
  LSTM: (o) => new nn.LSTM(1, 2, o),
  LayerNorm: (o) => new nn.LayerNorm(1, o),
  Linear: (o) => new nn.Linear(1, 1, o),
  MSELoss: (o) => new nn.MSELoss(o),
  MaxPool1d: (o) => new nn.MaxPool1d(1, o),
  MaxPool2d: (o) => new nn.MaxPool2d(1, o),
  MultiheadAttention: (o) => new nn.MultiheadAttention(1, 1, o),
  NLLLoss: (o) => new nn.NLLLoss(o),
  RMSNorm: (o) => new nn.RMSNorm(1, o),
  RNN: (o) => new nn.RNN(1, 1, o),
  SmoothL1Loss: (o) => new nn.SmoothL1Loss(o),
  TransformerDecoderLayer: (o) => new nn.TransformerDecoderLayer(1, 1, o),
  TransformerEncoderLayer: (o) => new nn.TransformerEncoderLayer(1, 1, o),
  Upsample: (o) => new nn.Upsample(o),
};

const others: Readonly<Record<string, Caller>> = {
  kaimingNormal: (o) => nn.init.kaimingNormal([1], o),
  kaimingUniform: (o) => nn.init.kaimingUniform([1], o),
  truncNormal: (o) => nn.init.truncNormal([1], o),
  summary: (o) => nn.summary(linear, [1, 1], o),
  Adagrad: (o) => new optim.Adagrad([p], o),
  Adam: (o) => new optim.Adam([p], o),
  AdamW: (o) => new optim.AdamW([p], o),
  Lion: (o) => new optim.Lion([p], o),
  RMSprop: (o) => new optim.RMSprop([p], o),
  SGD: [(o) => new optim.SGD([p], o), { lr: 1 }],
  CosineAnnealingLR: [(o) => new optim.CosineAnnealingLR(optimizer, o), { tMax: 1 }],
  ExponentialLR: [(o) => new optim.ExponentialLR(optimizer, o), { gamma: 1 }],
  LinearLR: (o) => new optim.LinearLR(optimizer, o),
  MultiStepLR: [(o) => new optim.MultiStepLR(optimizer, o), { milestones: [1] }],
  OneCycleLR: [(o) => new optim.OneCycleLR(optimizer, o), { maxLr: 1, totalSteps: 2 }],
  ReduceLROnPlateau: (o) => new optim.ReduceLROnPlateau(optimizer, o),
  SequentialLR: [
    (o) => new optim.SequentialLR(optimizer, [new optim.LinearLR(optimizer)], o),
    { milestones: [] },
  ],
  StepLR: [(o) => new optim.StepLR(optimizer, o), { stepSize: 1 }],
  DataLoader: [(o) => new data.DataLoader(set, o), { batchSize: 1 }],
  parseNpy: (o) => data.parseNpy(bytes, o),
  parseNpz: (o) => data.parseNpz(bytes, o),
  fromSafetensors: (o) => data.fromSafetensors(bytes, o),
  saveCheckpoint: (o) => data.saveCheckpoint("/nowhere/a", { model: linear }, o),
  loadCheckpoint: (o) => data.loadCheckpoint("/nowhere/a", { model: linear }, o),
  tensor: (o) => tensor([1], o),
  zeros: (o) => zeros([1], o),
  autocast: (o) => autocast(() => 0, o),
  grad: (o) => grad((a: Tensor) => a.sum(), o),
  backward: (o) => {
    p.sum().backward(undefined, o);
  },
  gradcheck: (o) => gradcheck((a) => a, [{ shape: [1], values: [1] }], o),
  newDisposeScope: (o) => {
    newDisposeScope(o).dispose();
  },
  live: (o) => memory.live(o),
  init: (o) => init(o),
  Scheduler: (o) => {
    new Scheduler(o).dispose();
  },
  defineOp: [(o) => defineOp(o), { name: "f", inputs: 1, expression: "r0 = a0;" }],
};

/** Options that may be anything. */
const free = ["saveCheckpoint extra"];
/** Values that nothing takes. */
const hostile = [NaN, Symbol("no value"), 10n];

/** Values that an error rules out by what it expects. */
function beyond(expected: string): unknown[] {
  const [, open, low, high, close] = /in ([[(])(\S+), (\S+?)([\])])/.exec(expected) ?? [];
  if (open !== undefined) {
    const under = open === "(" ? Number(low) : Number(low) - 1;
    const over = close === ")" ? Number(high) : Number(high) + 1;
    const closed = [under === -Infinity && open === "[", over === Infinity && close === "]"];
    return [under, over].filter((_, k) => !closed[k]);
  }
  if (expected.includes("positive integer")) return [0, -1, 1.5, [0, 1], [1, 2, 3, 4, 5]];
  if (expected.includes("whole number")) return [-1, 0.5, [-1, 0]];
  return expected.includes("an integer") ? [0.5] : [];
}

const got = (error: unknown): string => (error instanceof Error ? error.message : "");

for (const [name, caller] of Object.entries({ ...functions, ...layers, ...others })) {
  const [call, needed] = typeof caller === "function" ? [caller, {}] : caller;
  const refused = async (what: string, options: unknown): Promise<string> => {
    const error = await thrownBy(() => call(bad(options)));
    expectRefusal(`${name} with ${what}`, name, error);
    return got(error);
  };
  test(`options of ${name}`, async () => {
    const before = memory.stats();
    for (const none of [null, 3, true, [1], Symbol("s")])
      assert.match(await refused(String(none), none), "an options object");
    const said = await refused("a name there is not", { ...needed, zzzz: 1 });
    const names = /expected the options? (.*), got "zzzz"/.exec(said)?.[1]?.split(", ") ?? [];
    assert.ok(names.length > 0, said);
    for (const option of names) {
      const misspelt = `${option}_`;
      assert.match(
        await refused(misspelt, { ...needed, [misspelt]: undefined }),
        `got "${misspelt}"; did you mean ${option}?`,
      );
      if (free.includes(`${name} ${option}`)) continue;
      for (const value of hostile)
        await refused(`${String(value)} as ${option}`, { ...needed, [option]: value });
      const expected = await refused(`NaN as ${option}`, { ...needed, [option]: NaN });
      for (const value of beyond(expected))
        await refused(`${String(value)} as ${option}`, { ...needed, [option]: value });
    }
    const after = memory.stats();
    assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
    assert.is(after.storages, before.storages);
  });
}

/** Functions and layers without options. */
const plain = [
  ..."adaptiveAvgPool1d adaptiveAvgPool2d adaptiveMaxPool1d adaptiveMaxPool2d".split(" "),
  ..."dropout embedding groupNorm instanceNorm l1Loss layerNorm linear mseLoss".split(" "),
  ..."pad pair reduceLoss rmsNorm".split(" "),
  ..."AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveMaxPool1d AdaptiveMaxPool2d".split(" "),
  ..."ConstantPad1d ConstantPad2d Dropout ELU Flatten GLU Hardsigmoid Hardswish".split(" "),
  ..."Hardtanh Identity LeakyReLU LogSigmoid LogSoftmax Mish Module ModuleDict".split(" "),
  ..."ModuleList PReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d".split(" "),
  ..."ReplicationPad1d ReplicationPad2d SELU Sequential SiLU Sigmoid Softmax".split(" "),
  ..."Softplus Softsign Tanh TransformerDecoder TransformerEncoder".split(" "),
  ..."ZeroPad1d ZeroPad2d".split(" "),
];

test("every function and layer is in a table", () => {
  const known = [...Object.keys(functions), ...Object.keys(layers), ...plain];
  const isLayer = (value: unknown): boolean =>
    typeof value === "function" && (value as { prototype: unknown }).prototype instanceof nn.Module;
  const found = [
    ...Object.keys(F),
    ...Object.entries(nn)
      .filter(([, value]) => isLayer(value))
      .map(([name]) => name),
  ];
  assert.equal(
    found.filter((name) => !known.includes(name)),
    [],
  );
});

test.after(() => {
  optimizer.dispose();
  linear.dispose();
  p.dispose();
});
test.run();
