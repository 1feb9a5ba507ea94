/**
 * Borders and resampling. Each is the other's gradient's inverse in shape: padding's gradient cuts
 * and folds, resampling's gathers with the same weights. Called through the runtime's door.
 */
import { f32Bits } from "../base/bits.ts";
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { formatShape } from "../base/shape.ts";
import { type PadMode, padKernel } from "../kernels/pad.ts";
import { type ResampleMode, resampleKernel } from "../kernels/resample.ts";
import { add } from "./arithmetic.ts";
import { flip } from "./indexing.ts";
import { type OpDef, type Run, type Value, defineOp } from "./op.ts";
import { sum } from "./reduce.ts";
import { slice, unslice } from "./views.ts";

// === Padding ===

export interface PadAttrs {
  /** Elements added in front of and behind each dimension, 0 or more. */
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly mode: PadMode;
}

const modes: readonly PadMode[] = ["constant", "reflect", "replicate"];

/** Scalar: the constant, in x's dtype; 0 for the other modes. */
export const pad: OpDef<PadAttrs> = defineOp<PadAttrs>({
  name: "pad",
  doc: "A border of a constant, of the tensor mirrored without its edge, or of its edge repeated.",
  facts: {},
  infer: ([x], { before, after, mode }) => {
    const { shape } = x!.layout;
    for (const [i, d] of shape.entries()) {
      const most = Math.max(before[i]!, after[i]!);
      if (
        (mode === "reflect" && most >= Math.max(d, 1)) ||
        (mode === "replicate" && d === 0 && most > 0)
      )
        throw new ShapeError(
          "pad",
          mode === "reflect"
            ? `a border narrower than dimension ${i} of ${formatShape(shape)}`
            : "an edge to repeat",
          mode === "reflect" ? String(most) : formatShape(shape),
          "pad in steps, or use another mode",
        );
    }
    return [{ shape: shape.map((d, i) => before[i]! + d + after[i]!), dtype: x!.dtype }];
  },
  key: ({ before, after, mode }) => [modes.indexOf(mode), ...before, ...after],
  kernel: ([x], [y], { before, mode }, caps) =>
    padKernel({ input: x!, output: y!, before, mode }, caps),
  vjp: ({ grad, metas, attrs, run }) => [
    attrs.before.reduce(
      (g, b, axis) =>
        b + attrs.after[axis]! === 0
          ? g
          : fold(run, g, axis, b, attrs.after[axis]!, metas[0]!.shape[axis]!, attrs.mode),
      grad,
    ),
  ],
});

/** What one axis of the border hands back: nothing, its mirror image, or its sum. */
function fold(
  run: Run,
  g: Value,
  axis: number,
  before: number,
  after: number,
  size: number,
  mode: PadMode,
): Value {
  const cut = (start: number, end: number): Value => run(slice, [g], { axis, start, end, step: 1 });
  let out = cut(before, before + size);
  const give = (piece: Value, at: number, count: number): void => {
    out = run(
      add,
      [out, run(unslice, [piece], { axis, start: at, end: at + count, step: 1, shape: out.shape })],
      undefined,
    );
  };
  const edge = (start: number, end: number, mirroredAt: number, repeatedAt: number): void => {
    if (start === end || mode === "constant") return;
    if (mode === "reflect") give(run(flip, [cut(start, end)], { axis }), mirroredAt, end - start);
    else give(run(sum, [cut(start, end)], { axes: [axis], keepDims: true }), repeatedAt, 1);
  };
  edge(0, before, 1, 0);
  edge(before + size, before + size + after, size - 1 - after, size - 1);
  return out;
}

// === Resampling ===

/**
 * `size`: rows and columns of the result. `scale`: small pixels per large one in both directions,
 * for the scaled modes.
 */
export interface ResampleAttrs {
  readonly size: readonly [number, number];
  readonly mode: ResampleMode;
  readonly scale?: readonly [number, number];
}

const resampleModes: readonly ResampleMode[] = [
  "nearest",
  "bilinear",
  "bilinearCorners",
  "average",
  "nearestScaled",
  "bilinearScaled",
];

function resampling(
  name: string,
  doc: string,
  backward: boolean,
  other: () => OpDef<ResampleAttrs>,
): OpDef<ResampleAttrs> {
  const shapeOf = (shape: readonly number[], { size }: ResampleAttrs): number[] => [
    shape[0]!,
    shape[1]!,
    ...size,
  ];
  return defineOp<ResampleAttrs>({
    name,
    doc,
    facts: { reduces: true },
    infer: ([x], attrs) => {
      const { shape } = x!.layout;
      if (!isFloat(x!.dtype))
        throw new DTypeError(name, "a float tensor", x!.dtype, "cast it to float32");
      if (shape.length !== 4 || shape[2] === 0 || shape[3] === 0)
        throw new ShapeError(
          name,
          "images [N, C, H, W] with pixels",
          formatShape(shape),
          "add missing dimensions with unsqueeze",
        );
      if (attrs.size.some((n) => !Number.isInteger(n) || n < 1))
        throw new ArgumentError(
          name,
          "a size of 1 or more in both directions",
          attrs.size.join("×"),
          "pass whole numbers",
        );
      return [{ shape: shapeOf(shape, attrs), dtype: x!.dtype }];
    },
    key: ({ size, mode, scale = [] }) => [
      resampleModes.indexOf(mode),
      ...size,
      ...scale.map(f32Bits),
    ],
    kernel: ([x], [y], { mode, scale }, caps) =>
      resampleKernel(
        {
          source: x!,
          shape: y!.layout.shape,
          mode,
          backward,
          ...(scale === undefined ? {} : { scale }),
        },
        caps,
      ),
    flops: ([x], [y]) => 8 * Math.max(x!.layout.size, y!.layout.size),
    vjp: ({ grad, metas, attrs, run }) => [
      run(other(), [grad], { ...attrs, size: [metas[0]!.shape[2]!, metas[0]!.shape[3]!] }),
    ],
  });
}

export const resample: OpDef<ResampleAttrs> = resampling(
  "resample",
  "Images [N, C, H, W] of another size: the nearest pixel, bilinear between pixels, or the mean of the pixels under each.",
  false,
  () => resampleBackward,
);
const resampleBackward: OpDef<ResampleAttrs> = resampling(
  "resampleBackward",
  "Gradient of resample: each pixel gathers from all it was used for.",
  true,
  () => resample,
);
