/**
 * Kernels that go over each row several times: softmax, losses, norms. A row is the run of elements
 * along one axis; per row a few accumulations are made one after the other (each may use the
 * results before it), then either every element or one value per row is written. One dispatch.
 * Launch as in reduce.ts: a workgroup is `rows × lanes`. The text of the sweeps is in sweeps.ts.
 * Owns nothing.
 */
import { at } from "../base/access.ts";
import { broadcastLayout, collapse, contiguousLayout, stridedLayout } from "../base/layout.ts";
import { sizeOf } from "../base/shape.ts";
import { type Epilogue, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { split } from "./indices.ts";
import { softmaxLines } from "./softmax-sweep.ts";
import { chooseTile } from "./tile.ts";
import {
  type RowSpec,
  type Sweep,
  inlineElements,
  passLines,
  placesOf,
  rowInGroup,
  storeLines,
} from "./sweeps.ts";
import { type StorageDecl, flatWorkgroup, gridOf, makeKernel } from "./wgsl.ts";

/** The kernel of a row specification. */
export function rowKernel(spec: RowSpec, caps: DeviceCaps): Kernel {
  const sweep = planSweep(spec, caps);
  const { params, tile, finish, rows, decls } = sweep;
  const places = placesOf(sweep);
  const one = tile.lanes === 1;
  const threads = tile.outputs * tile.lanes;
  const place = tile.outputsFast ? `lane / ${tile.outputs}u` : `lane % ${tile.lanes}u`;
  const main: string[] = [
    `let row = (${flatWorkgroup}) * ${tile.outputs}u + ${rowInGroup(tile)};`,
    one ? "const ly = 0u;" : `let ly = ${place};`,
    ...split("row", sweep.outerShape, "k", params),
    ...places.lines,
    ...(spec.before === undefined ? [] : [inlineElements(spec.before, sweep, places)]),
  ];
  if (spec.reach !== undefined)
    main.push(`let bound = ${sweep.vector ? `(${spec.reach} + 3u) / 4u` : spec.reach};`);
  for (const pass of spec.passes)
    main.push(
      ...("softmax" in pass ? softmaxLines(pass, sweep, places) : passLines(pass, sweep, places)),
    );
  main.push(...storeLines(sweep, places));
  return makeKernel(
    {
      name: spec.name,
      storages: finish === null ? decls : [...decls.slice(0, spec.inputs), ...finish.storages],
      params,
      helpers: [...(spec.helpers ?? []), ...(finish?.helpers ?? [])],
      workgroupSize: [threads, 1, 1],
      globals: (finish?.globals ?? "") + (one || tile.shuffles ? "" : sharedMemory(spec, threads)),
      main: main.join("\n"),
      workgroups:
        sweep.perElement && sweep.length === 0
          ? [0, 0, 0]
          : gridOf(Math.ceil(rows / tile.outputs), caps),
    },
    caps,
  );
}

/** Where operands and output lie, how they are bound, and the shape of the launch. */
function planSweep(spec: RowSpec, caps: DeviceCaps): Sweep {
  const { params, shape, axis } = spec;
  const length = at(shape, axis);
  const rows = length === 0 ? sizeOf(without(shape, axis)) : sizeOf(shape) / length;
  const perElement = spec.output.per === "element";
  const layouts = [
    ...spec.operands.map((o) => broadcastLayout(o.view.layout, shape)),
    ...(perElement ? [contiguousLayout(shape)] : []),
  ];
  const rowLayouts = (spec.rowOperands ?? []).map((o) =>
    broadcastLayout(o.view.layout, without(shape, axis)),
  );
  const outer = collapse([
    ...layouts.map((l) =>
      stridedLayout(without(l.shape, axis), without(l.strides, axis), l.offset),
    ),
    ...rowLayouts,
  ]);
  const along = layouts.map((l) => at(l.strides, axis));
  const fits = layouts.map(
    (l, i) =>
      length % 4 === 0 &&
      length > 0 &&
      along[i] === 1 &&
      l.offset % 4 === 0 &&
      at(outer.strides, i).every((s) => s % 4 === 0),
  );
  const decls = Array.from({ length: spec.inputs }, (_, b) => inputDecl(spec, b, fits));
  const finish =
    spec.after === undefined ? null : finishing(spec.after, spec.output.dtype, spec.inputs, params);
  const vector = decls.some((d) => d.vec);
  decls.push({
    access: "read_write",
    dtype: spec.output.dtype,
    vec: finish === null && perElement && fits[spec.operands.length] === true && vector,
  });
  const units = vector ? length / 4 : length;
  const shared = spec.lanes ?? 1;
  const tile =
    shared > 1
      ? { outputs: 64 / shared, lanes: shared, outputsFast: false, shuffles: true }
      : chooseTile({ outputs: rows, outer: 1, innerUnits: units, rowwise: along[0] === 1, caps });
  const names = { rows: params.u32("rows", rows), units: params.u32("units", units) };
  params.u32("axisLength", length);
  return {
    spec,
    params,
    length,
    rows,
    perElement,
    layouts,
    along,
    outerShape: outer.shape,
    outerStrides: outer.strides,
    decls,
    finish,
    vector,
    tile,
    names,
  };
}

/** The declaration of input binding `b`: vectors where every operand behind it allows them. */
function inputDecl(spec: RowSpec, b: number, fits: readonly boolean[]): StorageDecl {
  const rowOperands = spec.rowOperands ?? [];
  const here = spec.operands.flatMap((o, i) => (o.binding === b ? [i] : []));
  const alone = !rowOperands.some((o) => o.binding === b);
  const dtype =
    spec.operands.find((o) => o.binding === b)?.view.dtype ??
    rowOperands.find((o) => o.binding === b)?.view.dtype ??
    "float32";
  // Direct reads by position (`element0`) need scalars.
  const direct = new RegExp(`\\belement(${here.join("|") || "none"})\\(`).test(spec.before ?? "");
  return {
    access: "read",
    dtype,
    vec: alone && !direct && here.length > 0 && here.every((i) => fits[i] === true),
  };
}

/** Workgroup memory in which the lanes of a row meet, for single values and for pairs. */
function sharedMemory(spec: RowSpec, threads: number): string {
  const needs = (pair: boolean): boolean =>
    spec.passes.some((q) => !("softmax" in q) && (q.pair === true) === pair);
  return (
    (needs(false) ? `var<workgroup> shared_: array<f32, ${threads}>;\n` : "") +
    (needs(true) ? `var<workgroup> pairs_: array<vec2<f32>, ${threads}>;\n` : "")
  );
}

/** The chain behind a row kernel, handed on. */
export function rest({ after }: { readonly after?: Epilogue }): { readonly after?: Epilogue } {
  return after === undefined ? {} : { after };
}

function without<T>(list: readonly T[], index: number): T[] {
  return list.filter((_, i) => i !== index);
}
