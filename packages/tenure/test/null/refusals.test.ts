/**
 * Arguments of losses' helpers, schedules, files and layers that are nothing of what was asked for:
 * each is refused with a typed error that says what to do, and nothing is made, lost or changed.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, zeros } from "tenure";
import {
  collated,
  loadCheckpoint,
  parseNpz,
  saveCheckpoint,
  stackSamples,
  toSafetensors,
} from "tenure/data";
import {
  GELU,
  Sequential,
  TransformerEncoder,
  TransformerEncoderLayer,
  functional as F,
} from "tenure/nn";
import * as optim from "tenure/optim";
import { setup } from "../helpers.ts";
import { bad, refuse } from "../gpu/refusals.ts";

await setup();
const test = suite("refusals");

const w = zeros([2], { requiresGrad: true });
const optimizer = new optim.SGD([w], { lr: 0.1 });
const step = new optim.StepLR(optimizer, { stepSize: 2 });
const scaler = new optim.GradScaler();
const detached = new Float32Array(2);
structuredClone(detached.buffer, { transfer: [detached.buffer] });
const image = zeros([1, 1, 3, 3]);

refuse(test, [
  [
    "parameters in freed bytes",
    () => new optim.Adam(bad(detached), { lr: 1 }),
    ArgumentError,
    /^Adam: expected a list of parameters, or of groups, got a Float32Array/,
  ],
  [
    "clipping a number",
    () => optim.clipGradNorm(bad(3), 1),
    ArgumentError,
    /^clipGradNorm: expected a list of parameters, got 3; pass module.parameters/,
  ],
  [
    "clipping numbers",
    () => {
      optim.clipGradValue(bad([w, 3]), 1);
    },
    ArgumentError,
    /^clipGradValue: expected a tensor, got 3/,
  ],
  [
    "unscaling no optimizer",
    () => {
      scaler.unscale(bad(undefined));
    },
    ArgumentError,
    /^GradScaler: expected an optimizer, got undefined/,
  ],
  [
    "a scaled step of no optimizer",
    () => scaler.step(bad({ parameters: [w] })),
    ArgumentError,
    /^GradScaler: expected an optimizer, got an object/,
  ],
  [
    "a rate at no step",
    () => step.rate(bad(10n), 1),
    ArgumentError,
    /^StepLR: expected a number of steps to be a whole number of 0 or more, got 10n/,
  ],
  [
    "a rate of no base",
    () => step.rate(1, bad(Symbol("x"))),
    ArgumentError,
    /^StepLR: expected a first rate in \[0, Infinity\), got Symbol/,
  ],
  [
    "an async factor",
    () =>
      new optim.LambdaLR(
        optimizer,
        bad(async () => Promise.reject(new Error("late"))),
      ),
    ArgumentError,
    /^LambdaLR: expected the factor to be a number, got a Promise; give a number/,
  ],
  ["samples of nothing", () => collated(bad(null)), ArgumentError, /^collated: expected samples/],
  [
    "indices that are none",
    () => collated({ length: 1, get: () => ({ x: 1 }) }).batch(bad(new Float32Array(1))),
    ArgumentError,
    /^collated: expected an array of indices, got a Float32Array/,
  ],
  [
    "a sample that is null",
    () => stackSamples(bad([{ x: 1 }, null])),
    ArgumentError,
    /^stackSamples: expected samples with fields by name, got null/,
  ],
  [
    "a field that is null",
    () => stackSamples(bad([{ x: null }])),
    ArgumentError,
    /^stackSamples: expected an options object, got null/,
  ],
  [
    "samples of very many fields",
    () => stackSamples(bad([{ x: 1 }, Array(1000).fill(1)])),
    ArgumentError,
    /got 0, 1, 2, 3, 4, 5, 6, 7 and 992 more;/,
  ],
  ["a file of no tensors", () => toSafetensors(bad([["w", 3]])), ArgumentError, /^toSafetensors:/],
  [
    "a file of tensors without names",
    () => toSafetensors(bad([w])),
    ArgumentError,
    /^toSafetensors: expected pairs of a name and a tensor, got a Tensor/,
  ],
  [
    "metadata that are no strings",
    () => toSafetensors([], bad({ epoch: 3n })),
    ArgumentError,
    /^toSafetensors: expected metadata that map names to strings/,
  ],
  ["an archive of nothing", () => parseNpz(bad(null)), ArgumentError, /^parseNpz: expected the/],
  [
    "a number for a path",
    () => loadCheckpoint(bad(3), {}),
    ArgumentError,
    /^loadCheckpoint: expected path to be a string, got 3/,
  ],
  [
    "an object for a path",
    () => saveCheckpoint(bad({}), {}),
    ArgumentError,
    /^saveCheckpoint: expected path to be a string, got an object/,
  ],
  [
    "an unknown approximation",
    () => image.gelu(bad("erf")),
    ArgumentError,
    /^gelu: expected an approximation to be "none" or "tanh", got "erf"/,
  ],
  [
    "forward without a tensor",
    () => new GELU().forward(bad(null)),
    ArgumentError,
    /^GELU: expected a tensor, got null/,
  ],
  [
    "a sequence without a tensor",
    () => new Sequential().forward(bad(1)),
    ArgumentError,
    /^Sequential: expected a tensor, got 1/,
  ],
  [
    "modules seen in no set",
    () => [...new GELU().namedModules("", bad([]))],
    ArgumentError,
    /^namedModules: expected a set of modules seen before, got an empty array/,
  ],
  [
    "endlessly many layers",
    () => new TransformerEncoder(() => new TransformerEncoderLayer(4, 2), 1e9),
    ArgumentError,
    /^TransformerEncoder: expected numLayers to be an integer in \[1, 1000\], got 1000000000/,
  ],
  [
    "endlessly many bins",
    () => F.adaptiveMaxPool2d(image, [1e9, 1]),
    ShapeError,
    /^adaptiveMaxPool2d: expected a size of at most 16777216 along an axis/,
  ],
]);

test.after(() => {
  optimizer.dispose();
  scaler.dispose();
  for (const t of [w, image]) t.dispose();
});

test("what the file system says of a path comes through", async () => {
  const told = await loadCheckpoint("/no/such/file", {}).catch((error: unknown) => error);
  assert.is((told as { code?: string }).code, "ENOENT");
});

test.run();
