/**
 * Misspelt options and arguments of another kind: refused with a typed error that says what to do,
 * and nothing is made, leaked or changed.
 */
import { suite } from "uvu";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  checkpoint,
  defineOp,
  full,
  grad,
  newDisposeScope,
  noGrad,
  scoped,
  scopedAsync,
  tensor,
  zeros,
} from "tenure";
import { ArrayDataset, DataLoader, fromSafetensors, parseIdx } from "tenure/data";
import { Conv2d, CrossEntropyLoss, Linear, functional as F } from "tenure/nn";
import { Adam, SGD, StepLR } from "tenure/optim";
import { pattern, setup } from "../helpers.ts";
import { type Refusal, bad, refuse } from "./refusals.ts";

await setup();
const test = suite("options and kinds");

const x = tensor([1, 2, 3, 4], { name: "x" }),
  w = tensor([1, 2], { requiresGrad: true, name: "w" }),
  i32 = tensor([1, 2], { dtype: "int32" });
const layer = new Linear(2, 2),
  data = new ArrayDataset({ v: { data: [1, 2, 3], shape: [] } });

const cases: readonly Refusal[] = [
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
    /^tensor: expected an array of dimensions, got 1/,
  ],
  ["a bigint", () => full([2], bad(3n)), ArgumentError, /^full: expected a number, got 3n/],
  [
    "axes of another kind",
    () => x.sum(bad({})),
    ShapeError,
    /^sum: expected an axis or an array of axes, got an object/,
  ],
  ["true as axes", () => x.sum(bad(true)), ShapeError, /^sum: .*got true/],
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
    /^defineOp: expected options with name and inputs, got none/,
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
    () => new SGD(bad(undefined), { lr: 1 }),
    ArgumentError,
    /^SGD: expected a list of parameters, or of groups, got undefined; pass module\.parameters\(\)/,
  ],
  [
    "SGD without lr",
    () => new SGD([w], bad(undefined)),
    ArgumentError,
    /^SGD: expected options with lr, got none; pass \{ lr: … \}/,
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
    /^ArrayDataset: expected data in column a, got none/,
  ],
  [
    "a column without shape",
    () => new ArrayDataset({ a: bad({ data: [1] }) }),
    ArgumentError,
    /^ArrayDataset: expected the shape of one sample in column a to be a list of .*, got undefined/,
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
];

refuse(test, cases);

test.after(() => {
  for (const t of [x, w, i32, layer]) t.dispose();
});
test.run();
