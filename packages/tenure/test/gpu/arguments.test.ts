/**
 * What every public function says of options it does not know, and every layer of arguments that
 * are no tensors: a typed error that names the function, what it expected, what came and what to
 * do; never a TypeError from inside, never silence. Nothing is left behind. A new layer or loss
 * without a row fails.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type ArgumentError,
  type Tensor,
  arange,
  eye,
  full,
  grad,
  init,
  linspace,
  memory,
  newDisposeScope,
  oneHot,
  ones,
  rand,
  randint,
  randn,
  tensor,
  valueAndGrad,
  zeros,
} from "tenure";
import {
  ArrayDataset,
  DataLoader,
  fromSafetensors,
  loadCheckpoint,
  packCheckpoint,
  parseNpy,
  parseNpz,
  readSafetensors,
  saveCheckpoint,
  unpackCheckpoint,
} from "tenure/data";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";
import { gradcheck } from "tenure/testing";
import { setup } from "../helpers.ts";
import { expectRefusal, thrownBy } from "./refusals.ts";

await setup();
const test = suite("arguments");

const F = nn.functional;
const f = (...shape: number[]): Tensor => zeros(shape);
const i = (...shape: number[]): Tensor => zeros(shape, { dtype: "int32" });

type Options = never;
const p = tensor([1, 2], { requiresGrad: true, name: "p" });
const optimizer = new optim.SGD([p], { lr: 0.1 });
const dataset = new ArrayDataset({ x: { data: [1, 2], shape: [] } });

/** Every function that takes options: its name in errors, and a call with some. */
const functions: readonly (readonly [string, (o: Options) => unknown])[] = [
  ["init", (o) => init(o)],
  ["tensor", (o) => tensor([1], o)],
  ["zeros", (o) => zeros([1], o)],
  ["ones", (o) => ones([1], o)],
  ["full", (o) => full([1], 2, o)],
  ["arange", (o) => arange(0, 2, 1, o)],
  ["linspace", (o) => linspace(0, 1, 2, o)],
  ["eye", (o) => eye(2, 2, o)],
  ["oneHot", (o) => oneHot(i(2), 3, o)],
  ["rand", (o) => rand([1], o)],
  ["randn", (o) => randn([1], o)],
  ["randint", (o) => randint(0, 2, [1], o)],
  ["newDisposeScope", (o) => newDisposeScope(o)],
  ["live", (o) => memory.live(o)],
  [
    "backward",
    (o) => {
      p.sum().backward(undefined, o);
    },
  ],
  ["grad", (o) => grad((x) => x.sum(), o)(p)],
  ["valueAndGrad", (o) => valueAndGrad((x) => x.sum(), o)(p)],
  ["gradcheck", (o) => gradcheck((x) => x, [{ shape: [1], values: [1] }], o)],
  ["conv1d", (o) => F.conv1d(f(1, 1, 4), f(1, 1, 2), null, o)],
  ["conv2d", (o) => F.conv2d(f(1, 1, 4, 4), f(1, 1, 2, 2), null, o)],
  ["convTranspose1d", (o) => F.convTranspose1d(f(1, 1, 4), f(1, 1, 2), null, o)],
  ["convTranspose2d", (o) => F.convTranspose2d(f(1, 1, 4, 4), f(1, 1, 2, 2), null, o)],
  ["maxPool1d", (o) => F.maxPool1d(f(1, 1, 4), 2, o)],
  ["maxPool2d", (o) => F.maxPool2d(f(1, 1, 4, 4), 2, o)],
  ["maxPool1dWithIndices", (o) => F.maxPool1dWithIndices(f(1, 1, 4), 2, o)],
  ["maxPool2dWithIndices", (o) => F.maxPool2dWithIndices(f(1, 1, 4, 4), 2, o)],
  ["avgPool1d", (o) => F.avgPool1d(f(1, 1, 4), 2, o)],
  ["avgPool2d", (o) => F.avgPool2d(f(1, 1, 4, 4), 2, o)],
  ["upsample", (o) => F.upsample(f(1, 1, 4, 4), o)],
  ["batchNorm", (o) => F.batchNorm(f(2, 2), o)],
  ["scaledDotProductAttention", (o) => F.scaledDotProductAttention(f(2, 2), f(2, 2), f(2, 2), o)],
  ["attentionWithWeights", (o) => F.attentionWithWeights(f(2, 2), f(2, 2), f(2, 2), o)],
  ["crossEntropy", (o) => F.crossEntropy(f(2, 3), i(2), o)],
  ["nllLoss", (o) => F.nllLoss(f(2, 3), i(2), o)],
  ["bce", (o) => F.bce(f(2), f(2), o)],
  ["bceWithLogits", (o) => F.bceWithLogits(f(2), f(2), o)],
  ["klDiv", (o) => F.klDiv(f(2), f(2), o)],
  ["huberLoss", (o) => F.huberLoss(f(2), f(2), o)],
  ["smoothL1Loss", (o) => F.smoothL1Loss(f(2), f(2), o)],
  ["cosineEmbedding", (o) => F.cosineEmbedding(f(2, 2), f(2, 2), f(2), o)],
  ["kaimingNormal", (o) => nn.init.kaimingNormal([2, 2], o)],
  ["kaimingUniform", (o) => nn.init.kaimingUniform([2, 2], o)],
  ["truncNormal", (o) => nn.init.truncNormal([2], o)],
  [
    "summary",
    (o) => {
      using m = new nn.ReLU();
      nn.summary(m, [1], o);
    },
  ],
  ["Linear", (o) => new nn.Linear(2, 2, o)],
  ["Conv1d", (o) => new nn.Conv1d(1, 1, 2, o)],
  ["Conv2d", (o) => new nn.Conv2d(1, 1, 2, o)],
  ["ConvTranspose1d", (o) => new nn.ConvTranspose1d(1, 1, 2, o)],
  ["ConvTranspose2d", (o) => new nn.ConvTranspose2d(1, 1, 2, o)],
  ["MaxPool1d", (o) => new nn.MaxPool1d(2, o)],
  ["MaxPool2d", (o) => new nn.MaxPool2d(2, o)],
  ["AvgPool1d", (o) => new nn.AvgPool1d(2, o)],
  ["AvgPool2d", (o) => new nn.AvgPool2d(2, o)],
  ["Upsample", (o) => new nn.Upsample(o)],
  ["BatchNorm1d", (o) => new nn.BatchNorm1d(2, o)],
  ["BatchNorm2d", (o) => new nn.BatchNorm2d(2, o)],
  ["InstanceNorm1d", (o) => new nn.InstanceNorm1d(2, o)],
  ["InstanceNorm2d", (o) => new nn.InstanceNorm2d(2, o)],
  ["LayerNorm", (o) => new nn.LayerNorm(2, o)],
  ["RMSNorm", (o) => new nn.RMSNorm(2, o)],
  ["GroupNorm", (o) => new nn.GroupNorm(1, 2, o)],
  ["GELU", (o) => new nn.GELU(o)],
  ["Embedding", (o) => new nn.Embedding(2, 2, o)],
  ["RNN", (o) => new nn.RNN(2, 2, o)],
  ["LSTM", (o) => new nn.LSTM(2, 2, o)],
  ["GRU", (o) => new nn.GRU(2, 2, o)],
  ["MultiheadAttention", (o) => new nn.MultiheadAttention(2, 1, o)],
  ["TransformerEncoderLayer", (o) => new nn.TransformerEncoderLayer(2, 1, o)],
  ["TransformerDecoderLayer", (o) => new nn.TransformerDecoderLayer(2, 1, o)],
  ["MSELoss", (o) => new nn.MSELoss(o)],
  ["L1Loss", (o) => new nn.L1Loss(o)],
  ["HuberLoss", (o) => new nn.HuberLoss(o)],
  ["SmoothL1Loss", (o) => new nn.SmoothL1Loss(o)],
  ["CrossEntropyLoss", (o) => new nn.CrossEntropyLoss(o)],
  ["NLLLoss", (o) => new nn.NLLLoss(o)],
  ["BCELoss", (o) => new nn.BCELoss(o)],
  ["BCEWithLogitsLoss", (o) => new nn.BCEWithLogitsLoss(o)],
  ["KLDivLoss", (o) => new nn.KLDivLoss(o)],
  ["CosineEmbeddingLoss", (o) => new nn.CosineEmbeddingLoss(o)],
  [
    "loadStateDict",
    (o) => {
      using m = new nn.ReLU();
      m.loadStateDict({}, o);
    },
  ],
  ["SGD", (o) => new optim.SGD([p], o)],
  ["Adam", (o) => new optim.Adam([p], o)],
  ["AdamW", (o) => new optim.AdamW([p], o)],
  ["RMSprop", (o) => new optim.RMSprop([p], o)],
  ["Adagrad", (o) => new optim.Adagrad([p], o)],
  ["Lion", (o) => new optim.Lion([p], o)],
  ["GradScaler", (o) => new optim.GradScaler(o)],
  ["StepLR", (o) => new optim.StepLR(optimizer, o)],
  ["MultiStepLR", (o) => new optim.MultiStepLR(optimizer, o)],
  ["ExponentialLR", (o) => new optim.ExponentialLR(optimizer, o)],
  ["CosineAnnealingLR", (o) => new optim.CosineAnnealingLR(optimizer, o)],
  ["LinearLR", (o) => new optim.LinearLR(optimizer, o)],
  ["OneCycleLR", (o) => new optim.OneCycleLR(optimizer, o)],
  ["SequentialLR", (o) => new optim.SequentialLR(optimizer, [], o)],
  ["ReduceLROnPlateau", (o) => new optim.ReduceLROnPlateau(optimizer, o)],
  ["DataLoader", (o) => new DataLoader(dataset, o)],
  ["ArrayDataset", (o) => new ArrayDataset({ x: o })],
  ["parseNpy", (o) => parseNpy(new Uint8Array(4), o)],
  ["parseNpz", (o) => parseNpz(new Uint8Array(4), o)],
  ["packCheckpoint", (o) => packCheckpoint({}, o)],
  ["saveCheckpoint", (o) => saveCheckpoint("/nowhere", {}, o)],
  ["packCheckpoint", (o) => packCheckpoint(o)],
  ["loadCheckpoint", (o) => loadCheckpoint("/nowhere", {}, o)],
  ["unpackCheckpoint", (o) => unpackCheckpoint(new Uint8Array(0), o)],
];

/** Those that read a string in another way. */
const takesString = new Set(["newDisposeScope", "fromSafetensors"]);
/** Those that say of an object without its parts what is missing. */
const needed = [
  "Upsample",
  "upsample",
  "StepLR",
  "MultiStepLR",
  "ExponentialLR",
  "CosineAnnealingLR",
  "OneCycleLR",
  "SequentialLR",
];

test("options that nobody knows, and options that are no object, are refused by name", async () => {
  const before = memory.stats();
  for (const [name, call] of functions) {
    const wrong: unknown[] = [{ sttride: 2 }, 5, null, [], ...(takesString.has(name) ? [] : ["x"])];
    for (const value of wrong)
      expectRefusal(
        `${name} with ${JSON.stringify(value)}`,
        name,
        await thrownBy(() => call(value as never)),
      );
    if (needed.includes(name))
      expectRefusal(
        `${name} without options`,
        name,
        await thrownBy(() => call(undefined as never)),
      );
  }
  expectRefusal(
    "fromSafetensors",
    "fromSafetensors",
    await thrownBy(() => fromSafetensors(new Uint8Array(8), { lozzy: 1 } as never)),
  );
  expectRefusal(
    "readSafetensors",
    "readSafetensors",
    await thrownBy(() => readSafetensors(new Uint8Array(8), 3 as never)),
  );
  const misspelt = await thrownBy(() => new nn.LSTM(2, 2, { numlayers: 2 } as never));
  assert.match((misspelt as ArgumentError).message, /did you mean numLayers\?/);
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount, "live handles");
  assert.is(after.storages, before.storages, "storages");
});

test("every module with options and every optimizer and schedule is in the table", () => {
  const named = new Set(functions.map(([name]) => name));
  for (const [name, value] of Object.entries({ ...nn, ...optim })) {
    if (typeof value !== "function" || !/^[A-Z]/.test(name) || value.length > 3) continue;
    const text = Function.prototype.toString.call(value),
      head = /constructor\(([^)]*)\)/.exec(text)?.[1] ?? "";
    if (/\boptions\b/.test(head) && !["Module", "Optimizer", "Schedule"].includes(name))
      assert.ok(named.has(name), `no row for ${name}`);
  }
});

test.after(() => {
  optimizer.dispose();
  p.dispose();
});
test.run();
