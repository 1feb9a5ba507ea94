/**
 * Images of another size, with a gradient that gathers with the same weights. Run by
 * `tensor/run.ts`; records own nothing.
 */
import type { View } from "../kernels/kernel.ts";
import { at } from "../base/access.ts";
import { f32Bits } from "../base/bits.ts";
import { isFloat } from "../base/dtype.ts";
import { ArgumentError, DTypeError, ShapeError } from "../base/errors.ts";
import { formatShape } from "../base/shape.ts";
import type { ResampleMode } from "../kernels/resample.ts";
import { type OpDef, defineOp } from "./op.ts";

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
  backward: boolean,
  other: () => OpDef<ResampleAttrs>,
): OpDef<ResampleAttrs> {
  const shapeOf = (shape: readonly number[], { size }: ResampleAttrs): number[] => [
    at(shape, 0),
    at(shape, 1),
    ...size,
  ];
  return defineOp<ResampleAttrs, [View], [View]>({
    name,
    facts: { reduces: true },
    family: "resizing",
    infer: ([x], attrs) => {
      const { shape } = x.layout;
      if (!isFloat(x.dtype))
        throw new DTypeError(name, "a float tensor", x.dtype, "cast it to float32");
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
      return [{ shape: shapeOf(shape, attrs), dtype: x.dtype }];
    },
    key: ({ size, mode, scale = [] }) => [
      resampleModes.indexOf(mode),
      ...size,
      ...scale.map(f32Bits),
    ],
    kernel: ([x], [y], { mode, scale }, caps, kernels) =>
      kernels.resampleKernel(
        {
          source: x,
          shape: y.layout.shape,
          mode,
          backward,
          ...(scale === undefined ? {} : { scale }),
        },
        caps,
      ),
    flops: ([x], [y]) => 8 * Math.max(x.layout.size, y.layout.size),
    vjp: ({ grad, metas, attrs, run }) => [
      run(other(), [grad], {
        ...attrs,
        size: [at(at(metas, 0).shape, 2), at(at(metas, 0).shape, 3)],
      }),
    ],
  });
}

/**
 * Images [N, C, H, W] of another size: the nearest pixel, bilinear between pixels, or the mean of
 * the pixels under each.
 */
export const resample: OpDef<ResampleAttrs> = resampling("resample", false, () => resampleBackward);

/** Gradient of `resample`: each pixel gathers from all it was used for. */
export const resampleBackward: OpDef<ResampleAttrs> = resampling(
  "resampleBackward",
  true,
  () => resample,
);
