/**
 * What the functions of layers refuse.
 */
import { ArgumentError, DTypeError, ShapeError, zeros } from "tenure";
import { functional as F } from "tenure/nn";
import { type Misuse, f, i } from "./misuse.ts";

export const layerMisuses: readonly Misuse[] = [
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
    /^conv2d: expected stride to be a positive integer or a pair of them, got 0/,
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
    /^conv2d: expected a bias \[2\], got \[3\]; give each channel/,
  ],
  [
    "conv2d bias for all",
    () => F.conv2d(f(1, 3, 4, 4), f(2, 3, 2, 2), f(1)),
    ShapeError,
    /^conv2d: expected a bias \[2\], got \[1\]/,
  ],
  [
    "conv1d bias",
    () => F.conv1d(f(1, 3, 4), f(2, 3, 2), f(1, 2)),
    ShapeError,
    /^conv1d: expected a bias \[2\], got \[1,2\]/,
  ],
  [
    "convTranspose2d bias",
    () => F.convTranspose2d(f(1, 3, 4, 4), f(3, 2, 2, 2), f(3)),
    ShapeError,
    /^convTranspose2d: expected a bias \[2\], got \[3\]/,
  ],
  [
    "conv2d bias dtype",
    () => F.conv2d(f(1, 3, 4, 4), f(2, 3, 2, 2), i(2)),
    DTypeError,
    /^conv2d: expected a float bias, got int32/,
  ],
  [
    "linear bias",
    () => F.linear(f(2, 3), f(4, 3), f(5)),
    ShapeError,
    /^linear: expected a bias \[4\] for weight \[4,3\], got \[5\]; give each output/,
  ],
  [
    "linear bias of integers",
    () => F.linear(f(2, 3), f(4, 3), zeros([4], { dtype: "int32" })),
    DTypeError,
    /^linear: expected a float bias, got int32/,
  ],
  ["linear bias of a row", () => F.linear(f(3), f(4, 3), f(2, 4)), ShapeError, /^linear: .*bias/],
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
    /^maxPool2d: expected kernel to be a positive integer or a pair of them/,
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
    new RegExp(
      String.raw`^crossEntropy: expected class numbers \[2,4\] for scores \[2,3,4\], ` +
        String.raw`got \[2\]; check the dimensions`,
    ),
  ],
  [
    "crossEntropy targets",
    () => F.crossEntropy(f(2, 3), i(2, 3)),
    ShapeError,
    new RegExp(
      String.raw`^crossEntropy: expected class numbers \[2\] for scores \[2,3\], got ` +
        String.raw`\[2,3\]; check the dimensions`,
    ),
  ],
  [
    "crossEntropy dtype",
    () => F.crossEntropy(f(2, 3), f(2)),
    DTypeError,
    new RegExp(
      String.raw`^crossEntropy: expected int32 class numbers \[2\], or probabilities ` +
        String.raw`\[2,3\], got float32 \[2\]; cast class numbers with to\("int32"\)`,
    ),
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
];
