/**
 * Cases of the ops that join and turn tensors along an axis.
 */
import type { DType } from "../../../../src/base/dtype.ts";
import { at, build } from "../host.ts";
import { resized, whole, withAt } from "./axis.ts";
import {
  type Case,
  type CaseTable,
  type GradTable,
  allViews,
  exact,
  floats,
  point,
} from "./case.ts";

function concatCase(
  shapes: readonly (readonly number[])[],
  axis: number,
  dtype: DType = "float32",
): Case {
  const inputs = shapes.map((s, k) =>
    dtype === "float32"
      ? floats(s, 200 + k)
      : whole(s, 200 + k, 0, dtype === "bool" ? 2 : 9, dtype),
  );
  const shape = resized(
    shapes[0]!,
    axis,
    shapes.reduce((n, s) => n + s[axis]!, 0),
  );
  const expected = build(shape, dtype, (i) => {
    let d = i[axis]!,
      k = 0;
    while (d >= shapes[k]![axis]!) d -= shapes[k++]![axis]!;
    return inputs[k]!.values[at(shapes[k]!, withAt(i, axis, d))]!;
  });
  return {
    label: `${dtype} ${shapes.map((s) => `[${s.join()}]`).join(" ")} along ${axis}`,
    inputs,
    attrs: { axis },
    expected: [expected],
    ...exact,
    views: allViews(inputs.length),
  };
}

const flipCase = (shape: readonly number[], axis: number): Case => {
  const x = floats(shape, 210);
  return {
    label: `[${shape.join()}] along ${axis}`,
    inputs: [x],
    attrs: { axis },
    expected: [
      build(
        shape,
        "float32",
        (i) => x.values[at(shape, withAt(i, axis, shape[axis]! - 1 - i[axis]!))]!,
      ),
    ],
    ...exact,
    views: allViews(1),
  };
};

export const joiningCases: CaseTable = {
  concat: () => [
    concatCase(
      [
        [2, 3],
        [4, 3],
      ],
      0,
    ),
    concatCase(
      [
        [2, 3],
        [2, 1],
        [2, 5],
      ],
      1,
    ),
    concatCase(
      [
        [2, 3, 8],
        [2, 1, 8],
      ],
      1,
    ),
    concatCase(
      [
        [2, 4, 4],
        [2, 4, 4],
      ],
      2,
    ),
    concatCase([[3], [0], [2]], 0),
    concatCase(
      [
        [2, 0],
        [3, 0],
      ],
      0,
    ),
    concatCase([[4, 8]], 0),
    concatCase(
      Array.from({ length: 7 }, (_, k) => [k + 1, 2]),
      0,
    ),
    concatCase(
      [
        [2, 8],
        [3, 8],
      ],
      0,
      "int32",
    ),
    concatCase(
      [
        [3, 2],
        [3, 4],
      ],
      1,
      "bool",
    ),
    concatCase(
      [
        [2, 3],
        [2, 3],
      ],
      0,
      "uint32",
    ),
  ],
  flip: () => [
    flipCase([5], 0),
    flipCase([3, 8], 0),
    flipCase([3, 7], 1),
    flipCase([2, 3, 4], 1),
    flipCase([2, 0], 0),
  ],
};

export const joiningGrads: GradTable = {
  concat: () => [
    {
      label: "along 1",
      points: [point([2, 3], 280), point([2, 1], 281)],
      attrs: { axis: 1 },
      second: true,
    },
    { label: "along 0", points: [point([1, 4], 282), point([2, 4], 283)], attrs: { axis: 0 } },
  ],
  flip: () => [
    { label: "along 1", points: [point([2, 3], 284)], attrs: { axis: 1 }, second: true },
  ],
};
