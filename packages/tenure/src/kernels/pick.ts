/**
 * The first few elements of an axis in order, without sorting the rest: the axis is dealt out to
 * groups as cards are, one invocation keeps a sorted list of the best of its group, and what the
 * groups keep goes through the same kernel again until one group is left. Neighbouring invocations
 * read neighbouring elements. In the same order as sort.ts, so equal elements come by position.
 * Owns nothing.
 *
 *     positions   0 1 2 3 4 5 6 7 8        group 0: 0 3 6   group 1: 1 4 7   group 2: 2 5 8
 */
import { at, last } from "../base/access.ts";
import { type Layout, collapse, contiguousLayout, stridedLayout } from "../base/layout.ts";
import { sizeOf } from "../base/shape.ts";
import { split, terms } from "./indices.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { keyFunction } from "./sort.ts";
import { Params, type StorageDecl, flatWorkgroup, gridOf, makeKernel } from "./wgsl.ts";

/**
 * Longest list that is kept: beyond it, keeping it in order costs as much as sorting everything.
 */
export const pickLimit = 32;

/**
 * Groups to deal `length` candidates out to: few enough that each has many times `count` of them,
 * and one when there are few to begin with.
 */
export function pickGroups(length: number, count: number): number {
  return length <= 512 ? 1 : Math.floor(length / Math.max(256, 8 * count));
}

/**
 * Bindings: input, [candidates (int32, input's shape off the axis),] positions (int32, contiguous):
 * per group the first `count` of the candidates, or of all positions, in order. The axis of the
 * result is `groups · count` long. Every group must have `count` candidates.
 */
export function pickKernel(
  spec: {
    input: View;
    candidates?: View;
    axis: number;
    count: number;
    groups: number;
    descending: boolean;
  },
  caps: DeviceCaps,
): Kernel {
  const { input, candidates, axis } = spec,
    params = new Params(),
    views = [input, ...(candidates === undefined ? [] : [candidates])];
  const result = contiguousLayout(
      input.layout.shape.map((d, i) => (i === axis ? spec.groups * spec.count : d)),
    ),
    layouts = [...views.map((v) => v.layout), result];
  const off = (l: Layout): Layout =>
    stridedLayout(
      l.shape.filter((_, i) => i !== axis),
      l.strides.filter((_, i) => i !== axis),
      l.offset,
    );
  const outer = collapse(layouts.map(off)),
    lines = sizeOf(outer.shape),
    out = views.length;
  const count = `${spec.count}u`,
    groups = params.u32("groups", spec.groups),
    invocations = lines * spec.groups,
    total = params.u32("total", invocations);
  const length = params.u32("length", at(last(views).layout.shape, axis));
  const base = layouts.map(
    (l, i) =>
      `let base${i} = ` +
      `${[params.u32(`o${i}`, l.offset), ...terms("k", at(outer.strides, i), `t${i}k`, 1, params)].join(" + ")};`,
  );
  const elementAt = (i: number, place: string): string =>
    `b${i}[base${i} + (${place}) * ${params.u32(`s${i}`, at(at(layouts, i).strides, axis))}]`;
  const decls: StorageDecl[] = [
    ...views.map((v): StorageDecl => ({ dtype: v.dtype, vec: false, access: "read" })),
    { dtype: "int32", vec: false, access: "read_write" },
  ];
  return makeKernel(
    {
      name: "pick",
      storages: decls,
      params,
      workgroupSize: [64, 1, 1],
      workgroups: gridOf(Math.ceil(invocations / 64), caps),
      globals:
        `${keyFunction(input.dtype, spec.descending)}fn before(key: u32, place: u32, other: ` +
        "u32, there: u32) -> bool { return key < other || (key == other && place < there); " +
        "}\n",
      main:
        `let id = (${flatWorkgroup}) * 64u + lane;
if (id >= ${total}) { return; }
let line = id / ${groups};
let group = id % ${groups};
${[...split("line", outer.shape, "k", params), ...base].join("\n")}
var keys: array<u32, ${spec.count}>;
var places: array<u32, ${spec.count}>;
var held = 0u;
for (var j = group; j < ${length}; j += ${groups}) {
  let place = ${candidates === undefined ? "j" : `u32(${elementAt(1, "j")})`};
  let key = keyOf(${elementAt(0, "place")});
  if (held == ${count} && !before(key, place, keys[${spec.count - 1}], ` +
        `places[${spec.count - 1}])) { continue; }
  var i = min(held, ${spec.count - 1}u);
  for (; i > 0u && before(key, place, keys[i - 1u], places[i - 1u]); i--) {
    keys[i] = keys[i - 1u];
    places[i] = places[i - 1u];
  }
  keys[i] = key;
  places[i] = place;
  held = min(held + 1u, ${count});
}
for (var i = 0u; i < ${count}; i++) { ${elementAt(out, `group * ${count} + i`)} = ` +
        "i32(places[i]); }",
    },
    caps,
  );
}
