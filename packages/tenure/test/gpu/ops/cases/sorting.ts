/**
 * Cases of the ops that sort, merge and pick along an axis, against JavaScript's stable sort.
 */
import { sortBlock } from "../../../../src/kernels/shapes.ts";
import { indices } from "../../../helpers.ts";
import { type Host, at, build, host } from "../host.ts";
import { resized, whole, withAt } from "./axis.ts";
import { type Case, type CaseTable, allViews, exact, floats } from "./case.ts";

const before = (a: number, b: number, descending: boolean): number => {
  const up = Number.isNaN(a)
    ? Number.isNaN(b)
      ? 0
      : 1
    : Number.isNaN(b)
      ? -1
      : a < b
        ? -1
        : a > b
          ? 1
          : 0;
  return descending ? -up : up;
};

/**
 * Positions that sort an axis within blocks of `width` elements; stable, as JavaScript's sort is.
 */
export function orderReference(x: Host, axis: number, descending: boolean, width = Infinity): Host {
  const size = x.shape[axis]!,
    out = Array<number>(x.values.length).fill(0);
  for (const line of indices(resized(x.shape, axis, Math.min(size, 1)))) {
    for (let first = 0; first < size; first += width) {
      const block = Array.from({ length: Math.min(width, size - first) }, (_, k) => first + k);
      const value = (d: number): number => x.values[at(x.shape, withAt(line, axis, d))]!;
      [...block]
        .sort((a, b) => before(value(a), value(b), descending))
        .forEach((d, k) => {
          out[at(x.shape, withAt(line, axis, first + k))] = d;
        });
      if (width === Infinity) break;
    }
  }
  return host(x.shape, out, "int32");
}

const special = [3, NaN, -0, 0, Infinity, -Infinity, 1, NaN, 1, -2, 0, 0.25];

const sortables = (): readonly (readonly [Host, number])[] => [
  [host([12], special), 0],
  [host([4, 3], special), 0],
  [floats([5, 7], 240), 1],
  [whole([6, 9], 241, -4, 4), 1],
  [whole([6, 9], 242, 0, 4, "uint32"), 0],
  [whole([9], 243, 0, 2, "bool"), 0],
  [floats([2, 300], 244), 1],
  [floats([0, 3], 245), 0],
  [floats([3, 0], 246), 1],
];

function sortCases(): Case[] {
  return sortables().flatMap(([x, axis]) =>
    [false, true].map((descending): Case => ({
      label: `${x.dtype} [${x.shape.join()}] ${descending ? "down" : "up"} ${axis}`,
      inputs: [x],
      attrs: { axis, descending },
      expected: [orderReference(x, axis, descending, sortBlock)],
      ...exact,
      views: x.shape.length > 1 ? allViews(1) : [["plain"], ["sliced"]],
    })),
  );
}

function mergeCases(): Case[] {
  const list: readonly (readonly [Host, number])[] = [
    [whole([2, 700], 250, -50, 50), 1],
    [floats([300, 2], 251), 0],
    [floats([2, 1025], 252), 1],
  ];
  return list.flatMap(([x, axis]) =>
    [false, true].map((descending): Case => ({
      label: `[${x.shape.join()}] ${descending ? "down" : "up"}`,
      inputs: [x, orderReference(x, axis, descending, 256)],
      attrs: { axis, descending, width: 256 },
      expected: [orderReference(x, axis, descending, 512)],
      ...exact,
      views: [
        ["plain", "plain"],
        ["transposed", "sliced"],
      ],
    })),
  );
}

/** Of each group the first `count` in order; candidate j belongs to group j mod groups. */
function pickReference(
  x: Host,
  axis: number,
  count: number,
  groups: number,
  descending: boolean,
  candidates?: Host,
): Host {
  return build(resized(x.shape, axis, groups * count), "int32", (i) => {
    const group = Math.floor(i[axis]! / count),
      value = (d: number): number => x.values[at(x.shape, withAt(i, axis, d))]!;
    const all =
      candidates === undefined
        ? [...Array(x.shape[axis]).keys()]
        : Array.from(
            { length: candidates.shape[axis]! },
            (_, j) => candidates.values[at(candidates.shape, withAt(i, axis, j))]!,
          );
    return all
      .filter((_, j) => j % groups === group)
      .sort((a, b) => before(value(a), value(b), descending) || a - b)[i[axis]! % count]!;
  });
}

function pickCases(): Case[] {
  const cases = sortables()
    .filter(([x, axis]) => x.shape[axis]! > 1)
    .flatMap(([x, axis]) =>
      [false, true].flatMap((descending) =>
        [
          [1, 1],
          [3, 1],
          [2, 2],
        ].map(([count = 1, groups = 1]): Case => {
          const fits = Math.min(count, Math.floor(x.shape[axis]! / groups)),
            attrs = { axis, descending, count: fits, groups },
            way = descending ? "down" : "up";
          return {
            label: `${x.dtype} [${x.shape.join()}] ${fits} of ${groups} ${way} ${axis}`,
            inputs: [x],
            attrs,
            expected: [pickReference(x, axis, fits, groups, descending)],
            ...exact,
            views: x.shape.length > 1 ? allViews(1) : [["plain"], ["sliced"]],
          };
        }),
      ),
    );
  const again = ([x, axis]: readonly [Host, number]): Case => {
    const some = pickReference(x, axis, 2, 3, true);
    return {
      label: `[${x.shape.join()}] of candidates`,
      inputs: [x, some],
      attrs: { axis, descending: true, count: 2, groups: 1 },
      expected: [pickReference(x, axis, 2, 1, true, some)],
      ...exact,
      views: [
        ["plain", "plain"],
        ["transposed", "sliced"],
      ],
    };
  };
  return [...cases, again([whole([2, 30], 253, -4, 4), 1]), again([floats([17, 3], 254), 0])];
}

export const sortingCases: CaseTable = {
  sortBlocks: sortCases,
  mergeBlocks: mergeCases,
  pick: pickCases,
};
