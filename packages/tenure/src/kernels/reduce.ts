/**
 * Reductions over any axes of any strided view, in one dispatch and in one fixed order per shape
 * (same bits on every run). A workgroup is a rectangle of `outputs × lanes`: lanes share one output
 * and meet in a tree in workgroup memory. One lane is "a thread per output", one output is "a
 * workgroup per output". Neighbouring threads take neighbouring memory: outputs when the kept axis
 * is innermost, lanes when the reduced one is. Sums go through three levels of partial sums, so the
 * error grows like the cube root of the length. Owns nothing.
 */
import { at, last } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import {
  type Layout,
  broadcastLayout,
  collapse,
  reshapeLayout,
  stridedLayout,
} from "../base/layout.ts";
import { type Shape, sizeOf } from "../base/shape.ts";
import { type Accumulator, type ReduceOp, accumulator } from "./accumulators.ts";
import { type Epilogue, type Operand, type Prologue, finishing } from "./fused.ts";
import { split, terms } from "./indices.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { type ElementLoads, elementLoads, jump } from "./reduce-loads.ts";
import { type Tile, chooseTile } from "./tile.ts";
import { Params, type StorageDecl, flatWorkgroup, gridOf, indent, makeKernel } from "./wgsl.ts";
import { shapeClass, styled } from "./variants.ts";

/** What is reduced, how, and what happens around it. */
export interface ReduceSpec {
  readonly op: ReduceOp;
  /** Binding 0. With `before`, only its shape counts. */
  readonly input: View;
  /** Sorted, not negative; empty means nothing is reduced. */
  readonly axes: readonly number[];
  /**
   * Dtype of the contiguous output, the last binding. Sums accumulate in f32, or in i32/u32 when
   * this is an integer.
   */
  readonly outDtype: DType;
  readonly before?: Prologue;
  readonly after?: Epilogue;
}

/** What is walked: the kept and the reduced dimensions of every operand, merged. */
interface Extent {
  readonly operands: readonly Operand[];
  readonly layouts: readonly Layout[];
  readonly reduced: readonly boolean[];
  readonly kept: { readonly shape: Shape; readonly strides: readonly (readonly number[])[] };
  /** Strides are null where an operand's dimensions do not merge as the input's do. */
  readonly over: {
    readonly shape: Shape;
    readonly strides: readonly (readonly number[] | null)[];
  };
  /** Reduced strides of the input. */
  readonly walk: readonly number[];
  /** Elements are loaded as vec4 along the innermost reduced dimension. */
  readonly vector: boolean;
}

/**
 * The order of accumulation is that of the input where it lies in memory, also when it is computed
 * on the way: the same bits either way.
 */
function extentOf(spec: ReduceSpec): Extent {
  const { input } = spec;
  const operands = spec.before?.operands ?? [{ view: input, binding: 0 }];
  const layouts = operands.map((o) => broadcastLayout(o.view.layout, input.layout.shape));
  const reduced = input.layout.shape.map((_, i) => spec.axes.includes(i));
  const inputKept = collapse([pick(input.layout, reduced, false)]);
  const inputOver = collapse([pick(input.layout, reduced, true)]);
  const walk = at(inputOver.strides, 0);
  // A chain may need no operand.
  const sources = layouts.length > 0 ? layouts : [input.layout];
  const inner = last(inputOver.shape);
  return {
    operands,
    layouts,
    reduced,
    kept: collapse(sources.map((l) => pick(l, reduced, false))),
    over: {
      shape: inputOver.shape,
      strides: layouts.map((l) => along(pick(l, reduced, true), inputOver.shape)),
    },
    walk,
    vector:
      inner % 4 === 0 &&
      sizeOf(inputOver.shape) > 0 &&
      inFours(input.layout.offset, at(inputKept.strides, 0), walk),
  };
}

/** What the parts of the text share. */
interface Plan {
  readonly extent: Extent;
  readonly decls: readonly StorageDecl[];
  readonly params: Params;
  readonly acc: Accumulator;
  readonly tile: Tile;
  /** Fields: outputs, and turns of the outer and the inner loop. */
  readonly outputs: string;
  readonly outer: string;
  readonly inner: string;
  /** Lanes share the turns of the outer loop, not of the inner one. */
  readonly lanesOverOuter: boolean;
}

function planOf(spec: ReduceSpec, device: DeviceCaps, params: Params): Plan {
  const extent = extentOf(spec);
  const { kept, over, vector, operands } = extent;
  const length = sizeOf(over.shape);
  const innerSize = last(over.shape);
  const outer = length === 0 ? 0 : length / innerSize;
  const innerUnits = vector ? innerSize / 4 : innerSize;
  const outputs = sizeOf(kept.shape);
  const acc = accumulator(spec, params, length, operands);
  const rowwise = extent.walk.at(-1) === 1;
  const sizes = shapeClass([outputs, length], rowwise ? "rows" : "columns");
  const { caps } = styled(device, "reduce", sizes);
  const tile = chooseTile({ outputs, outer, innerUnits, rowwise, caps });
  return {
    extent,
    decls: storageDecls(extent),
    params,
    acc,
    tile,
    outputs: params.u32("outputs", outputs),
    outer: params.u32("outer", outer),
    inner: params.u32("inner", innerUnits),
    lanesOverOuter: tile.lanes > 1 && outer > innerUnits,
  };
}

/** Elements to a load of operand `i`. */
function unitOf({ decls, extent }: Plan, i: number): number {
  return at(decls, at(extent.operands, i).binding).vec ? 4 : 1;
}

/** Lines that say where the operands of output `o` begin. */
function startLines(plan: Plan): string[] {
  const { params, extent } = plan;
  const { kept, operands, layouts } = extent;
  return [
    ...split("o", kept.shape, "k", params),
    ...operands.map((_, i) => {
      const unit = unitOf(plan, i);
      const parts = [
        params.u32(`o${i}`, at(layouts, i).offset / unit),
        ...terms("k", at(kept.strides, i), `t${i}k`, unit, params),
      ];
      return `let base${i} = ${sum(parts)};`;
    }),
  ];
}

/** Lines that say where the operands stand after the outer reduced dimensions, number `u`. */
function rowLines(plan: Plan): string[] {
  const { params, extent } = plan;
  const { over, operands } = extent;
  const outerShape = over.shape.slice(0, -1);
  return [
    ...(outerShape.length > 0 ? split("u", outerShape, "v", params) : []),
    ...operands.map((_, i) => {
      const strides = over.strides[i]?.slice(0, -1) ?? [];
      const parts = [`base${i}`, ...terms("v", strides, `t${i}v`, unitOf(plan, i), params)];
      return `let row${i} = ${sum(parts)};`;
    }),
  ];
}

/** Loads of the elements, and the position of an element among the reduced ones. */
function visitOf(spec: ReduceSpec, plan: Plan): Visit {
  const { params, decls, extent } = plan;
  const { over, operands, layouts, reduced, vector } = extent;
  const position = over.shape.length > 1 ? `u * ${plan.inner}${vector ? " * 4u" : ""} + ` : "";
  const steps = over.strides.map(
    (s, i) => s?.at(-1) ?? jump(`jump${i}`, pick(at(layouts, i), reduced, true), params),
  );
  return {
    ...elementLoads({ before: spec.before, operands, decls, steps, vector, position, params }),
    positionOf: (k) => `${position}${vector ? `j * 4u + ${k}u` : "j"}`,
  };
}

interface Visit extends ElementLoads {
  readonly positionOf: (k: number) => string;
}

/**
 * The inner loop from `first` to `end`. Single elements go four to a statement: SwiftShader keeps
 * variables in memory, and GPUs like loads in flight.
 */
function walkLines(plan: Plan, visit: Visit, first: string, end: string): string[] {
  const { acc, tile, extent } = plan;
  const spacing = plan.lanesOverOuter ? 1 : tile.lanes;
  const add = (values: readonly string[]): string =>
    indent([...visit.lines, ...acc.add(values, visit.positionOf)].join("\n"));
  if (extent.vector || acc.ordered === true)
    return [`for (var j = ${first}; j < ${end}; j += ${spacing}u) {`, add(visit.values("j")), "}"];
  const four = [0, 1, 2, 3].map((n) =>
    at(visit.values(n === 0 ? "j" : `(j + ${n * spacing}u)`), 0),
  );
  return [
    `var j = ${first};`,
    `for (; j + ${3 * spacing}u < ${end}; j += ${4 * spacing}u) {`,
    add(four),
    "}",
    `for (; j < ${end}; j += ${spacing}u) {`,
    add(visit.values("j")),
    "}",
  ];
}

/** The inner loop; sums go through blocks of 64 elements a lane. */
function innerLoop(plan: Plan, visit: Visit): string[] {
  const { acc, tile, inner } = plan;
  const first = plan.lanesOverOuter ? "0u" : "ly";
  if (!acc.blocked) return walkLines(plan, visit, first, inner);
  const block = 64 * (plan.lanesOverOuter ? 1 : tile.lanes);
  const lines = [
    "var part = acc0();",
    `let end = min(c + ${block}u, ${inner});`,
    ...walkLines(plan, visit, "c", "end"),
    "level1 += part;",
    "parts += 1u;",
    "if (parts == 64u) { total += level1; level1 = acc0(); parts = 0u; }",
  ];
  return [`for (var c = ${first}; c < ${inner}; c += ${block}u) {`, indent(lines.join("\n")), "}"];
}

/** Lines that set `o`, the output, and `ly`, the lane within it. */
function placeLines({ outputs, lanes, outputsFast }: Tile): string[] {
  const index = outputsFast ? `lane % ${outputs}u` : `lane / ${lanes}u`;
  const lane = outputsFast ? `lane / ${outputs}u` : `lane % ${lanes}u`;
  const within = lanes === 1 ? "lane" : index;
  return [
    `let o = (${flatWorkgroup}) * ${outputs}u + ${outputs === 1 ? "0u" : within};`,
    lanes === 1 ? "const ly = 0u;" : `let ly = ${lane};`,
  ];
}

/**
 * One output per kept position, row-major. `argMax`/`argMin` give the first position in row-major
 * order of the reduced axes; NaN counts as the extreme. Nothing to reduce gives the identity: 0, 1,
 * ∓infinity, false/true; NaN for `mean`.
 */
export function reduceKernel(spec: ReduceSpec, caps: DeviceCaps): Kernel {
  const params = new Params();
  const plan = planOf(spec, caps, params);
  const { extent, decls, acc, tile } = plan;
  const start = startLines(plan);
  const rows = rowLines(plan);
  const visit = visitOf(spec, plan);
  const [from, step] = plan.lanesOverOuter ? ["ly", tile.lanes] : ["0u", 1];
  const work = [
    ...start,
    `for (var u = ${from}; u < ${plan.outer}; u += ${step}u) {`,
    indent([...rows, ...innerLoop(plan, visit)].join("\n")),
    "}",
    ...acc.close,
  ];
  const one = tile.lanes === 1;
  const finish = finishing(spec.after, spec.outDtype, decls.length, params);
  const store = finish.store(acc.result, "o");
  const main = [
    ...placeLines(tile),
    ...acc.open,
    `if (o < ${plan.outputs}) {`,
    indent(work.join("\n")),
    "}",
    ...(one
      ? [`if (o < ${plan.outputs}) { ${store} }`]
      : [...acc.tree(tile), `if (ly == 0u && o < ${plan.outputs}) { ${store} }`]),
  ].join("\n");
  const invocations = tile.outputs * tile.lanes;
  const shared = one ? "" : acc.shared(invocations);
  return makeKernel(
    {
      name: `reduce.${spec.op}`,
      params,
      helpers: [...(spec.before?.helpers ?? []), ...acc.helpers, ...finish.helpers],
      storages: [...decls, ...finish.storages],
      workgroupSize: [invocations, 1, 1],
      globals: visit.globals + acc.globals + finish.globals + shared,
      main,
      workgroups: gridOf(Math.ceil(sizeOf(extent.kept.shape) / tile.outputs), caps),
    },
    caps,
  );
}

/** The dimensions of a layout that are reduced (or kept). */
function pick(l: Layout, reduced: readonly boolean[], which: boolean): Layout {
  const keep = (_: number, i: number): boolean => reduced[i] === which;
  return stridedLayout(l.shape.filter(keep), l.strides.filter(keep), l.offset);
}

/**
 * Strides of a layout over `shape`, into which the dimensions it has were merged; null where it
 * cannot be walked that way.
 */
function along(l: Layout, shape: Shape): readonly number[] | null {
  if (sizeOf(shape) <= 1) return shape.map(() => 0);
  return reshapeLayout(l, shape)?.strides ?? null;
}

/** Whether steps of four elements along the last stride can be loaded as vectors. */
function inFours(offset: number, kept: readonly number[], over: readonly number[]): boolean {
  return (
    over.at(-1) === 1 &&
    offset % 4 === 0 &&
    over.slice(0, -1).every((s) => s % 4 === 0) &&
    kept.every((s) => s % 4 === 0)
  );
}

function sum(parts: readonly string[]): string {
  return parts.join(" + ");
}

/** Bindings of the operands; one is loaded as vec4 when every operand behind it can be. */
function storageDecls({ operands, layouts, kept, over, vector }: Extent): StorageDecl[] {
  const count = operands.reduce((n, o) => Math.max(n, o.binding + 1), 0);
  const fits = (i: number): boolean => {
    const o = at(over.strides, i);
    return o !== null && inFours(at(layouts, i).offset, at(kept.strides, i), o);
  };
  return Array.from({ length: count }, (_, b) => {
    const here = operands.flatMap((o, i) => (o.binding === b ? [i] : []));
    return {
      access: "read",
      dtype: here.length > 0 ? at(operands, at(here, 0)).view.dtype : "float32",
      vec: vector && here.length > 0 && here.every(fits),
    };
  });
}
