/**
 * What the ops of tensors refuse: shapes, dtypes and arguments that do not fit.
 */
import { ArgumentError, DTypeError, ShapeError, deviceInfo, tensor, where } from "tenure";
import { type Misuse, f, i, b } from "./misuse.ts";

const half = deviceInfo()!.features.includes("shader-f16");

export const tensorMisuses: readonly Misuse[] = [
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
    new RegExp(
      String.raw`^add_: expected a result of the target's shape \[3\], got \[2,3\]; ` +
        "use the op without underscore",
    ),
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
    /expected one of bool, uint32, int32, float16, float32, got "float64"/,
  ],
  ...(half
    ? []
    : ([
        [
          "float16 without support",
          () => f(2).to("float16"),
          DTypeError,
          new RegExp(
            "^cast: expected a device with shader-f16 for float16 tensors, " +
              "got .+ without it; stay with float32",
          ),
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
];
