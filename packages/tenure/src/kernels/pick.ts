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

/** What is picked from. */
interface PickSpec {
  readonly input: View;
  readonly candidates?: View;
  readonly axis: number;
  readonly count: number;
  readonly groups: number;
  readonly descending: boolean;
}

/** The dimensions of a layout off the axis. */
function offAxis(l: Layout, axis: number): Layout {
  const keep = (_: number, i: number): boolean => i !== axis;
  return stridedLayout(l.shape.filter(keep), l.strides.filter(keep), l.offset);
}

/** Keeps the first `count` of a group in `places`, and their keys in `keys`, in order. */
function keepBest(f: {
  readonly count: number;
  readonly length: string;
  readonly groups: string;
  /** WGSL of the candidate at position `j`, and of the element at `place`. */
  readonly place: string;
  readonly element: string;
}): string {
  const { count } = f;
  const most = count - 1;
  return `var keys: array<u32, ${count}>;
var places: array<u32, ${count}>;
var held = 0u;
for (var j = group; j < ${f.length}; j += ${f.groups}) {
  let place = ${f.place};
  let key = keyOf(${f.element});
  if (held == ${count}u && !before(key, place, keys[${most}], places[${most}])) { continue; }
  var i = min(held, ${most}u);
  for (; i > 0u && before(key, place, keys[i - 1u], places[i - 1u]); i--) {
    keys[i] = keys[i - 1u];
    places[i] = places[i - 1u];
  }
  keys[i] = key;
  places[i] = place;
  held = min(held + 1u, ${count}u);
}`;
}

/** WGSL that compares two elements by key, and by position where keys are equal. */
const beforeFunction =
  "fn before(key: u32, place: u32, other: u32, there: u32) -> bool { " +
  "return key < other || (key == other && place < there); }\n";

/**
 * Bindings: input, [candidates (int32, input's shape off the axis),] positions (int32, contiguous):
 * per group the first `count` of the candidates, or of all positions, in order. The axis of the
 * result is `groups · count` long. Every group must have `count` candidates.
 */
export function pickKernel(spec: PickSpec, caps: DeviceCaps): Kernel {
  const { input, candidates, axis, count } = spec;
  const params = new Params();
  const views = candidates === undefined ? [input] : [input, candidates];
  const resultShape = input.layout.shape.map((d, i) => (i === axis ? spec.groups * count : d));
  const layouts = [...views.map((v) => v.layout), contiguousLayout(resultShape)];
  const outer = collapse(layouts.map((l) => offAxis(l, axis)));
  const groups = params.u32("groups", spec.groups);
  const invocations = sizeOf(outer.shape) * spec.groups;
  const total = params.u32("total", invocations);
  const length = params.u32("length", at(last(views).layout.shape, axis));
  const bases = layouts.map((l, i) => {
    const offset = params.u32(`o${i}`, l.offset);
    const parts = [offset, ...terms("k", at(outer.strides, i), `t${i}k`, 1, params)];
    return `let base${i} = ${parts.join(" + ")};`;
  });
  const elementAt = (i: number, place: string): string =>
    `b${i}[base${i} + (${place}) * ${params.u32(`s${i}`, at(at(layouts, i).strides, axis))}]`;
  const start = [...split("line", outer.shape, "k", params), ...bases];
  const place = candidates === undefined ? "j" : `u32(${elementAt(1, "j")})`;
  const best = keepBest({ count, length, groups, place, element: elementAt(0, "place") });
  const result = elementAt(views.length, `group * ${count}u + i`);
  return makeKernel(
    {
      name: "pick",
      storages: [
        ...views.map((v): StorageDecl => ({ dtype: v.dtype, vec: false, access: "read" })),
        { dtype: "int32", vec: false, access: "read_write" },
      ],
      params,
      workgroupSize: [64, 1, 1],
      workgroups: gridOf(Math.ceil(invocations / 64), caps),
      globals: keyFunction(input.dtype, spec.descending) + beforeFunction,
      main: `let id = (${flatWorkgroup}) * 64u + lane;
if (id >= ${total}) { return; }
let line = id / ${groups};
let group = id % ${groups};
${start.join("\n")}
${best}
for (var i = 0u; i < ${count}u; i++) { ${result} = i32(places[i]); }`,
    },
    caps,
  );
}
