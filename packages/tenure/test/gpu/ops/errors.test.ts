/**
 * Bad shapes, dtypes and arguments: a typed error that names the op, what it expected, what it got
 * and what to do, thrown at once, with nothing left behind.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DTypeError,
  DisposedError,
  OutOfMemoryError,
  ShapeError,
  type Tensor,
  arange,
  deviceInfo,
  eye,
  full,
  linspace,
  manualSeed,
  memory,
  newDisposeScope,
  oneHot,
  rand,
  randint,
  tensor,
  where,
  zeros,
} from "tenure";
import { functional as F } from "tenure/nn";
import { setup } from "../../helpers.ts";

await setup();
const test = suite("op errors"),
  half = deviceInfo()!.features.includes("shader-f16");

type ErrorType = new (...args: never[]) => Error;
const f = (...shape: number[]): Tensor => zeros(shape);
const i = (...shape: number[]): Tensor => zeros(shape, { dtype: "int32" });
const b = (...shape: number[]): Tensor => zeros(shape, { dtype: "bool" });

/**
 * What is wrong, the error it must be, and what the text must say: op, expectation, what came,
 * remedy.
 */
const table: readonly (readonly [string, () => unknown, ErrorType, RegExp])[] = [
  [
    "add",
    () => f(2, 3).add(f(4)),
    ShapeError,
    /^add: expected shapes that broadcast.*, got \[2,3\] and \[4\]; reshape/,
  ],
  [
    "add_",
    () => f(3).add_(f(2, 3)),
    ShapeError,
    /^add_: expected a result of the target's shape \[3\], got \[2,3\]; use the op without underscore/,
  ],
  [
    "add_ of floats into integers",
    () => i(3).add_(f(3)),
    DTypeError,
    /^add_: expected a target that can hold float32, got int32; cast/,
  ],
  ["mul_ by a fraction", () => i(3).mul_(0.5), DTypeError, /^mul_: .*float32, got int32/],
  ["div_ of integers", () => i(3).div_(i(3)), DTypeError, /^div_: .*float32, got int32/],
  ["exp_ of integers", () => i(3).exp_(), DTypeError, /^exp_: .*float32, got int32/],
  [
    "add of nothing",
    () => f(2).add(undefined as never),
    ArgumentError,
    /^add: expected a tensor.*, got undefined/,
  ],
  [
    "add of a string",
    () => f(2).add("1" as never),
    ArgumentError,
    /^add: expected a tensor.*, got "/,
  ],
  ["maximum of booleans and a wrong shape", () => b(2).maximum(f(3)), ShapeError, /^maximum: /],
  ["copy_", () => f(2).copy_(f(3)), ShapeError, /^copy_: .*got \[2\] and \[3\]/],
  [
    "copy_ of something larger",
    () => f(3).copy_(f(2, 3)),
    ShapeError,
    /^copy_: expected a source that broadcasts to \[3\], got \[2,3\]; reshape/,
  ],
  [
    "matmul inner",
    () => f(32, 128).matmul(f(64, 128)),
    ShapeError,
    /^matmul: expected equal inner dimensions, got a \[32,128\] and b \[64,128\]; transpose b\?/,
  ],
  ["matmul inner, other way", () => f(5, 3).matmul(f(5, 4)), ShapeError, /transpose a\?/],
  [
    "matmul rank",
    () => f().matmul(f(3, 3)),
    ShapeError,
    /^matmul: expected two tensors of rank 1 or more, got \[\] and \[3,3\]; use mul/,
  ],
  ["matmul batch", () => f(2, 3, 3).matmul(f(4, 3, 3)), ShapeError, /^matmul: .*\[2\] and \[4\]/],
  [
    "matmul dtypes",
    () => f(3, 3).matmul(i(3, 3)),
    DTypeError,
    /^matmul: expected operands of one dtype, got float32 and int32; cast/,
  ],
  [
    "matmul of booleans",
    () => b(3, 3).matmul(b(3, 3)),
    DTypeError,
    /^matmul: expected numbers, got bool/,
  ],
  [
    "reshape",
    () => f(2, 3).reshape(4, 2),
    ShapeError,
    /^reshape: expected a shape of 6 elements, as in \[2,3\], got \[4,2\] with 8; use -1/,
  ],
  [
    "reshape with -1",
    () => f(2, 3).reshape(4, -1),
    ShapeError,
    /^reshape: expected dimensions that divide 6 elements/,
  ],
  [
    "reshape with two -1",
    () => f(2, 3).reshape(-1, -1),
    ShapeError,
    /^reshape: expected at most one -1/,
  ],
  [
    "reshape to a fraction",
    () => f(2, 3).reshape(1.5, 4),
    ShapeError,
    /^reshape: expected dimensions that are integers/,
  ],
  [
    "permute",
    () => f(2, 3).permute(0, 0),
    ShapeError,
    /^permute: expected each of the 2 dimensions once, got \[0,0\]/,
  ],
  [
    "permute range",
    () => f(2, 3).permute(0, 2),
    ShapeError,
    /^permute: expected an axis in \[-2, 1\], got 2/,
  ],
  [
    "transpose",
    () => f(2).transpose(),
    ShapeError,
    /^transpose: expected an axis in \[-1, 0\], got -2/,
  ],
  ["expand", () => f(2, 3).expand(2, 6), ShapeError, /^expand: .*\[2,3\].*\[2,6\]/],
  ["expand to less", () => f(2, 3).expand(3), ShapeError, /^expand: .*\[3\]/],
  ["slice axis", () => f(2).slice(1), ShapeError, /^slice: expected an axis in \[-1, 0\], got 1/],
  [
    "slice step",
    () => f(2).slice(0, 0, 2, 0),
    ShapeError,
    /^slice: expected a step that is a positive integer, got 0; use flip/,
  ],
  ["slice fraction", () => f(2).slice(0, 0.5), ShapeError, /^slice: expected integer positions/],
  [
    "select",
    () => f(2, 3).select(0, 2),
    ShapeError,
    /^select: expected an index in \[-2, 1\], got 2/,
  ],
  [
    "squeeze",
    () => f(2, 3).squeeze(0),
    ShapeError,
    /^squeeze: expected a dimension of 1, got 2 at axis 0 of \[2,3\]/,
  ],
  [
    "flatten",
    () => f(2, 3).flatten(1, 0),
    ShapeError,
    /^flatten: expected a start that is not after the end, got 1 and 0/,
  ],
  ["sum axis", () => f(2, 3).sum(2), ShapeError, /^sum: expected an axis in \[-2, 1\], got 2/],
  [
    "sum axis twice",
    () => f(2, 3).sum([0, -2]),
    ShapeError,
    /^sum: expected each axis once, got axis 0 twice/,
  ],
  ["sum of a scalar", () => f().sum(0), ShapeError, /^sum: expected no axis for a scalar, got 0/],
  [
    "max of nothing",
    () => f(0, 3).max(0),
    ShapeError,
    /^max: expected at least one element to choose from, got \[0,3\]/,
  ],
  ["argMin of nothing", () => f(0).argMin(), ShapeError, /^argMin: /],
  ["softmax axis", () => f(2).softmax(1), ShapeError, /^softmax: expected an axis/],
  [
    "softmax dtype",
    () => i(2).softmax(),
    DTypeError,
    /^softmax: expected a float tensor, got int32; cast/,
  ],
  [
    "logSoftmax dtype",
    () => b(2).logSoftmax(),
    DTypeError,
    /^logSoftmax: expected a float tensor, got bool/,
  ],
  [
    "cast",
    () => f(2).to("float64" as never),
    DTypeError,
    /expected one of bool, uint32, int32, float16, float32, got float64/,
  ],
  ...(half
    ? []
    : ([
        [
          "float16 without support",
          () => f(2).to("float16"),
          DTypeError,
          /^cast: expected a device with shader-f16 for float16 tensors, got .+ without it; stay with float32/,
        ],
      ] as const)),
  ["where", () => where(b(2), f(3), f(3)), ShapeError, /^where: /],
  [
    "item",
    () => f(2).item(),
    ShapeError,
    /^item: expected a tensor with one element, got \[2\]; reduce/,
  ],
  [
    "requiresGrad",
    () => {
      const t = i(2);
      t.requiresGrad = true;
    },
    DTypeError,
    /^requiresGrad: expected a float tensor, got int32/,
  ],
  [
    "grad shape",
    () => {
      const t = tensor([1, 2], { requiresGrad: true });
      t.grad = f(3);
    },
    ShapeError,
    /^grad: expected a gradient of shape \[2\], got \[3\]/,
  ],
  [
    "conv2d rank",
    () => F.conv2d(f(3, 4, 4), f(2, 3, 2, 2)),
    ShapeError,
    /^conv2d: expected input \[N, C, H, W\].*got \[3,4,4\] and \[2,3,2,2\]; .*unsqueeze/,
  ],
  [
    "conv2d channels",
    () => F.conv2d(f(1, 4, 4, 4), f(2, 3, 2, 2)),
    ShapeError,
    /^conv2d: expected an input with 3 channels.*got \[1,4,4,4\]/,
  ],
  [
    "conv2d window",
    () => F.conv2d(f(1, 3, 2, 2), f(2, 3, 3, 3)),
    ShapeError,
    /^conv2d: expected an image at least as large as the 3×3 window.*add padding/,
  ],
  [
    "conv2d stride",
    () => F.conv2d(f(1, 3, 4, 4), f(2, 3, 2, 2), null, { stride: 0 }),
    ArgumentError,
    /^conv2d: expected a stride of 1 or more, got 0×0/,
  ],
  [
    "conv2d groups",
    () => F.conv2d(f(1, 4, 4, 4), f(3, 2, 2, 2), null, { groups: 2 }),
    ArgumentError,
    /^conv2d: expected groups that divide the 3 output channels, got 2/,
  ],
  [
    "conv2d dtype",
    () => F.conv2d(i(1, 3, 4, 4), f(2, 3, 2, 2)),
    DTypeError,
    /^conv2d: expected float tensors, got int32/,
  ],
  [
    "conv2d bias",
    () => F.conv2d(f(1, 3, 4, 4), f(2, 3, 2, 2), f(3)),
    ShapeError,
    /got \[1,2,3,3\] and \[1,3,1,1\]/,
  ],
  [
    "maxPool2d rank",
    () => F.maxPool2d(f(4, 4), 2),
    ShapeError,
    /^maxPool2d: expected images \[N, C, H, W\], got \[4,4\]/,
  ],
  [
    "maxPool2d kernel",
    () => F.maxPool2d(f(1, 1, 4, 4), 0),
    ArgumentError,
    /^maxPool2d: expected a kernel and a stride of 1 or more/,
  ],
  [
    "maxPool2d padding",
    () => F.maxPool2d(f(1, 1, 4, 4), 2, { padding: 2 }),
    ArgumentError,
    /^maxPool2d: expected a padding of at most half/,
  ],
  [
    "avgPool2d size",
    () => F.avgPool2d(f(1, 1, 2, 2), 3),
    ShapeError,
    /^avgPool2d: expected an image at least/,
  ],
  [
    "crossEntropy logits",
    () => F.crossEntropy(f(2, 3, 4), i(2)),
    ShapeError,
    /^crossEntropy: expected class numbers \[2,4\] for scores \[2,3,4\], got \[2\]; check the dimensions/,
  ],
  [
    "crossEntropy targets",
    () => F.crossEntropy(f(2, 3), i(2, 3)),
    ShapeError,
    /^crossEntropy: expected class numbers \[2\] for scores \[2,3\], got \[2,3\]; check the dimensions/,
  ],
  [
    "crossEntropy dtype",
    () => F.crossEntropy(f(2, 3), f(2)),
    DTypeError,
    /^crossEntropy: expected int32 class numbers \[2\], or probabilities \[2,3\], got float32 \[2\]; cast class numbers with to\("int32"\)/,
  ],
  [
    "crossEntropy probabilities",
    () => F.crossEntropy(f(2, 3), f(3)),
    ShapeError,
    /^crossEntropy: expected a target of the input's shape \[2,3\], got \[3\]; reshape one of them/,
  ],
  [
    "linear of a number",
    () => F.linear(f(), f(2, 4)),
    ShapeError,
    /^linear: expected an input \[\.\.\., 4\]/,
  ],
  [
    "embedding dtype",
    () => F.embedding(f(2), f(4, 3)),
    DTypeError,
    /^embedding: expected int32 or uint32 indices, got float32; cast them with to\("int32"\)/,
  ],
  [
    "crossEntropy reduction",
    () => F.crossEntropy(f(2, 3), i(2), { reduction: "max" as never }),
    ArgumentError,
    /^crossEntropy: expected reduction to be .*got "max"/,
  ],
  [
    "dropout",
    () => F.dropout(f(2), 1),
    ArgumentError,
    /^dropout: expected a probability in \[0, 1\), got 1/,
  ],
  [
    "dropout dtype",
    () => F.dropout(i(2), 0.5),
    DTypeError,
    /^dropout: expected a float tensor, got int32/,
  ],
  [
    "linear",
    () => F.linear(f(2, 3), f(4, 5)),
    ShapeError,
    /^linear: expected an input \[\.\.\., 5\] for weight \[4,5\], got \[2,3\]/,
  ],
  // === Creation ===
  [
    "ragged rows",
    () => tensor([[1, 2], [3]]),
    ShapeError,
    /^tensor: expected nested arrays of one shape, \[2,2\], got a row of 1 at depth 1; make all rows equally long/,
  ],
  ["too deep", () => tensor([1, [2]] as never), ShapeError, /^tensor: .*a deeper array/],
  [
    "text",
    () => tensor(["a"] as never),
    ArgumentError,
    /^tensor: expected numbers or booleans, got string/,
  ],
  ["null", () => tensor(null as never), ArgumentError, /got null/],
  [
    "big integers",
    () => tensor(new BigInt64Array(2)),
    ArgumentError,
    /^tensor: .*got BigInt64Array; convert/,
  ],
  [
    "shape",
    () => tensor([1, 2, 3], { shape: [2, 2] }),
    ShapeError,
    /^tensor: expected a shape of 3 elements/,
  ],
  [
    "dtype",
    () => tensor([1], { dtype: "double" as never }),
    DTypeError,
    /^tensor: expected one of .*got double/,
  ],
  [
    "requiresGrad of integers",
    () => tensor([1], { dtype: "int32", requiresGrad: true }),
    DTypeError,
    /^tensor: expected a float dtype with requiresGrad, got int32/,
  ],
  [
    "requiresGrad of zeros",
    () => zeros([2], { dtype: "int32", requiresGrad: true }),
    DTypeError,
    /^zeros: expected a float dtype with requiresGrad, got int32/,
  ],
  [
    "zeros of a number",
    () => zeros(3 as never),
    ShapeError,
    /^zeros: expected an array of dimensions, got number/,
  ],
  [
    "negative dimension",
    () => full([-1], 2),
    ShapeError,
    /^full: expected dimensions that are integers of 0 or more, got \[-1\]/,
  ],
  ["too many elements", () => zeros([2 ** 16, 2 ** 16]), ShapeError, /at most 2\^31 - 1 elements/],
  [
    "too large for the device",
    () => zeros([2 ** 15, 2 ** 15]),
    OutOfMemoryError,
    /^fill: expected a tensor of at most \d+ bytes.*split/,
  ],
  [
    "arange",
    () => arange(0, 5, 0),
    ArgumentError,
    /^arange: expected finite numbers and a step that is not 0/,
  ],
  [
    "arange of booleans",
    () => arange(0, 2, 1, { dtype: "bool" }),
    DTypeError,
    /^arange: expected .*, got bool/,
  ],
  ["arange dtype", () => arange(0, 2, 1, { dtype: "x" as never }), DTypeError, /^arange: .*got x/],
  [
    "linspace count",
    () => linspace(0, 1, -1),
    ArgumentError,
    /^linspace: expected a count of 0 or more, got -1/,
  ],
  [
    "linspace of integers",
    () => linspace(0, 10, 5, { dtype: "int32" }),
    DTypeError,
    /^linspace: expected a float dtype, got int32/,
  ],
  ["eye", () => eye(-1), ShapeError, /^eye: /],
  [
    "oneHot classes",
    () => oneHot(i(2), 0),
    ArgumentError,
    /^oneHot: expected a positive number of classes, got 0/,
  ],
  [
    "oneHot dtype",
    () => oneHot(f(2), 3),
    DTypeError,
    /^oneHot: expected int32 or uint32 class numbers, got float32/,
  ],
  [
    "rand dtype",
    () => rand([2], { dtype: "int32" }),
    DTypeError,
    /^rand: expected a float dtype, got int32; use randint/,
  ],
  [
    "randint range",
    () => randint(3, 3, [2]),
    ArgumentError,
    /^randint: expected whole numbers with low < high, got 3 and 3/,
  ],
  [
    "manualSeed",
    () => {
      manualSeed(-1);
    },
    ArgumentError,
    /^manualSeed: expected an integer of 0 or more, got -1/,
  ],
  // === Disposed ===
  [
    "a disposed operand",
    () => {
      const t = f(2);
      t.dispose();
      return f(2).add(t);
    },
    DisposedError,
    /^add: expected a live tensor, got tensor float32 \[2\], which was disposed/,
  ],
  [
    "a disposed receiver",
    () => {
      const t = f(2);
      t.name = "weights";
      t.dispose();
      return t.relu();
    },
    DisposedError,
    /^relu: expected a live tensor, got tensor "weights" float32 \[2\]/,
  ],
  [
    "reading a disposed tensor",
    () => {
      const t = f(2);
      t.dispose();
      return t.data();
    },
    DisposedError,
    /^data: /,
  ],
  [
    "a disposed in-place source",
    () => {
      const t = f(2);
      t.dispose();
      return f(2).mul_(t);
    },
    DisposedError,
    /^mul_: /,
  ],
];

for (const [label, fn, type, pattern] of table) {
  test(label, async () => {
    const before = memory.stats();
    let thrown: unknown;
    {
      using scope = newDisposeScope();
      try {
        const result = fn();
        if (result instanceof Promise)
          thrown = await scope.wait(
            result.then(
              () => undefined,
              (error: unknown) => error,
            ),
          );
      } catch (error) {
        thrown = error;
      }
    }
    if (!(thrown instanceof type))
      throw new Error(
        `expected a ${type.name}, got ${thrown instanceof Error ? String(thrown) : "no error"}`,
      );
    assert.match(thrown.message, pattern);
    assert.is(thrown.name, type.name);
    const after = memory.stats();
    assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount, "live handles");
    assert.is(after.storages, before.storages, "storages");
    assert.is(after.liveBytes, before.liveBytes, "bytes");
  });
}

test.run();
