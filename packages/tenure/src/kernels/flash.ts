/**
 * Attention without stored scores: blocks of scores are made in registers, used and forgotten. The
 * forward kernel goes over the keys with a running maximum and sum (Milakov and Gimelshein 2018,
 * Dao et al. 2022) and keeps the logarithm of the sum of each row, from which the two gradient
 * kernels make the weights again. An invocation owns a few rows of one side and goes over blocks of
 * the other. Letters: L queries, S keys, E features of both, F features of values. The text of the
 * kernels is in flash-text.ts. Owns nothing.
 */
import { at, last } from "../base/access.ts";
import type { DType } from "../base/dtype.ts";
import {
  type Layout,
  broadcastLayout,
  collapse,
  contiguousLayout,
  stridedLayout,
} from "../base/layout.ts";
import { sizeOf } from "../base/shape.ts";
import type { FlashPlan, Operand } from "./flash-plan.ts";
import { flashMain } from "./flash-text.ts";
import { split, terms } from "./indices.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { scoresShape } from "./shapes.ts";
import { shapeClass, variantOf } from "./variants.ts";
import {
  Params,
  type StorageDecl,
  flatWorkgroup,
  gridOf,
  loadElement,
  makeKernel,
  nanBits,
  negInfBits,
} from "./wgsl.ts";

/** What attention is computed from. */
export interface FlashSpec {
  /** [..., L, E] */
  readonly query: View;
  /** [..., S, E] */
  readonly key: View;
  /** [..., S, F] */
  readonly value: View;
  /** Broadcasts to [..., L, S]. bool: what stays; float: added. */
  readonly mask?: View;
  readonly scale: number;
  /** Query i sees keys 0 … i. */
  readonly causal: boolean;
  /** Weights are dropped; scalars: seed (two numbers), stream, keep probability. */
  readonly dropout: boolean;
}

/** What the gradients are computed from besides. */
export interface FlashGradSpec extends FlashSpec {
  /** Of the result: [..., L, F]. */
  readonly grad: View;
  /** [..., L, 2], contiguous float32: what `attentionRowsKernel` gives. */
  readonly rows: View;
}

/** Bindings: query, key, value, [mask,] output [..., L, F], float32 logarithms of sums [..., L]. */
export function flashKernel(spec: FlashSpec, caps: DeviceCaps): Kernel {
  return flash("output", spec, caps, [spec.query, spec.key, spec.value]);
}

/** Bindings: query, key, value, grad, rows, [mask,] gradient of the query [..., L, E]. */
export function flashQueryGradKernel(spec: FlashGradSpec, caps: DeviceCaps): Kernel {
  const { query, key, value, grad, rows } = spec;
  return flash("query gradient", spec, caps, [query, key, value, grad, rows]);
}

/**
 * Bindings: query, key, value, grad, rows, [mask,] gradient of the key [..., S, E], gradient of the
 * value [..., S, F].
 */
export function flashKeyGradKernel(spec: FlashGradSpec, caps: DeviceCaps): Kernel {
  const { query, key, value, grad, rows } = spec;
  return flash("key gradient", spec, caps, [query, key, value, grad, rows]);
}

/**
 * Ways of writing the kernels: rows of an invocation × rows of a block, or one row each and blocks
 * that a workgroup shares.
 */
type Way = "rows 4×4" | "rows 4×8" | "staged";

const lanesOfStaged = 64;
/** Rows of a staged block. */
const stagedBlock = 16;

/** Where the operands lie, and the fields that say so. */
interface Placed {
  readonly operands: readonly Operand[];
  readonly decls: readonly StorageDecl[];
  readonly unitE: 1 | 4;
  readonly unitF: 1 | 4;
  /** Lines that set the coordinates of a batch. */
  readonly coordinates: readonly string[];
}

/** The sizes of a problem. */
interface Sizes {
  readonly batch: readonly number[];
  readonly L: number;
  readonly S: number;
  readonly E: number;
  readonly F: number;
}

function sizesOf({ query, key, value }: FlashSpec): Sizes {
  const scores = scoresShape(query.layout.shape, key.layout.shape, value.layout.shape);
  const [L, S] = scores.slice(-2) as [number, number];
  const E = last(query.layout.shape);
  return { batch: scores.slice(0, -2), L, S, E, F: last(value.layout.shape) };
}

function flash(
  goal: FlashPlan["goal"],
  spec: FlashSpec,
  caps: DeviceCaps,
  inputs: readonly View[],
): Kernel {
  const sizes = sizesOf(spec);
  const { batch, L, S, E, F } = sizes;
  const { query, mask, causal } = spec;
  const staging = 4 * stagedBlock * (E + F);
  const shares = E > 0 && F > 0 && staging <= caps.maxWorkgroupStorageBytes;
  const space: Way[] = ["rows 4×4", "rows 4×8", ...(shares ? (["staged"] as const) : [])];
  const standard = caps.software || !shares ? "rows 4×4" : "staged";
  const shape = shapeClass([sizeOf(batch), L, S, E, F], query.dtype, causal ? "causal" : "full");
  const way = variantOf(caps, `attention ${goal}`, shape, space, standard);
  const staged = way === "staged";
  const params = new Params();
  const { operands, decls, unitE, unitF, coordinates } = placed(inputs, mask, sizes, params);
  const own = goal === "key gradient" ? S : L;
  const tiles = Math.ceil(own / (staged ? lanesOfStaged : 4));
  const total = tiles * sizeOf(batch);
  // what grows in a buffer of float16 would be rounded with every block
  const registers = staged || query.dtype === "float16";
  const count = (name: string, n: number): string => (registers ? `${n}u` : params.u32(name, n));
  const { main, globals } = flashMain({
    goal,
    decls: [...decls, ...resultsOf(goal, query.dtype, unitE, unitF)],
    operands,
    mask: mask?.dtype,
    causal,
    rows: staged ? 1 : 4,
    columns: way === "rows 4×4" ? 4 : 8,
    block: staged ? stagedBlock : null,
    lanes: lanesOfStaged,
    registers,
    E: { unit: unitE, count: count("E", E / unitE) },
    F: { unit: unitF, count: count("F", F / unitF) },
    L: params.u32("L", L),
    S: params.u32("S", S),
    scale: params.f32("scale", spec.scale),
    low: `bitcast<f32>(${params.u32("negInf", negInfBits)})`,
    nan: `bitcast<f32>(${params.u32("nan", nanBits)})`,
    tiles: params.u32("tiles", tiles),
    total: params.u32("total", total),
    dropout: spec.dropout ? dropoutFields(params) : null,
    coordinates,
  });
  return makeKernel(
    {
      name: `attention.${goal.replace(" ", ".")}`,
      storages: [...decls, ...resultsOf(goal, query.dtype, unitE, unitF)],
      params,
      helpers: spec.dropout ? ["uniformOne"] : [],
      globals,
      main,
      workgroupSize: [staged ? lanesOfStaged : 4, 1, 1],
      workgroups: gridOf(staged ? total : Math.ceil(total / 4), caps),
    },
    caps,
  );
}

function dropoutFields(params: Params): NonNullable<FlashPlan["dropout"]> {
  return {
    seeds: [0, 1, 2].map((i) => params.scalar(`seed${i}`, "u32", i)),
    keep: params.scalar("keep", "f32", 3),
  };
}

/** Bindings of the results. */
function resultsOf(
  goal: FlashPlan["goal"],
  dtype: DType,
  unitE: number,
  unitF: number,
): StorageDecl[] {
  const result = (unit: number): StorageDecl => ({ dtype, vec: unit === 4, access: "read_write" });
  if (goal === "query gradient") return [result(unitE)];
  if (goal === "key gradient") return [result(unitE), result(unitF)];
  return [result(unitF), { dtype: "float32", vec: false, access: "read_write" }];
}

/** The operands: query, key, value, [grad, rows,] and a mask if there is one. */
function placed(
  inputs: readonly View[],
  mask: View | undefined,
  { batch, L, S }: Sizes,
  params: Params,
): Placed {
  const layouts = inputs.map(({ layout }) =>
    broadcastLayout(layout, [...batch, ...layout.shape.slice(-2)]),
  );
  if (mask !== undefined) layouts.push(broadcastLayout(mask.layout, [...batch, L, S]));
  const merged = collapse(layouts.map(leading));
  const unitE = wideAlong([0, 1], layouts, merged.strides);
  const unitF = wideAlong(inputs.length > 3 ? [2, 3] : [2], layouts, merged.strides);
  const isMask = (i: number): boolean => i >= inputs.length;
  const unitOf = (i: number): 1 | 4 => (isMask(i) || i > 3 ? 1 : i < 2 ? unitE : unitF);
  const operands = layouts.map((layout, i): Operand => {
    const name = isMask(i) ? "M" : "QKVGR".charAt(i);
    const unit = unitOf(i);
    const [row, feature] = layout.strides.slice(-2) as [number, number];
    const offset = params.u32(`o${name}`, layout.offset / unit);
    return {
      name,
      binding: i,
      unit,
      base: [offset, ...terms("n", at(merged.strides, i), `t${name}`, unit, params)].join(" + "),
      row: params.u32(`r${name}`, row / unit),
      feature: unit === 4 ? null : params.u32(`f${name}`, feature),
    };
  });
  const views = mask === undefined ? inputs : [...inputs, mask];
  return {
    operands,
    decls: views.map(({ dtype }, i) => ({ dtype, vec: unitOf(i) === 4, access: "read" })),
    unitE,
    unitF,
    coordinates: split("batch", merged.shape, "n", params),
  };
}

/** The leading dimensions of a layout. */
function leading(l: Layout): Layout {
  return stridedLayout(l.shape.slice(0, -2), l.strides.slice(0, -2), l.offset);
}

/** How many neighbouring features of these operands are loaded at once. */
function wideAlong(
  which: readonly number[],
  layouts: readonly Layout[],
  lead: readonly (readonly number[])[],
): 1 | 4 {
  const wide = which.every((i) => {
    const { shape, strides, offset } = at(layouts, i);
    const [row, feature] = strides.slice(-2) as [number, number];
    const length = at(shape, shape.length - 1);
    const steps = [row, offset, length, ...at(lead, i)];
    return length > 0 && feature === 1 && steps.every((n) => n % 4 === 0);
  });
  return wide ? 4 : 1;
}

/**
 * What the gradients need of each row, of the result and its gradient. Bindings: grad [..., L, F],
 * output [..., L, F], logarithms of sums [..., L] (contiguous), result [..., L, 2]: the logarithm,
 * and the product of both rows.
 */
export function attentionRowsKernel(
  spec: { readonly grad: View; readonly output: View; readonly sums: View },
  caps: DeviceCaps,
): Kernel {
  const params = new Params();
  const { grad, output, sums } = spec;
  const { shape } = grad.layout;
  const axis = shape.length - 1;
  const rows = sizeOf(shape.slice(0, -1));
  const off = ({ shape: s, strides, offset }: Layout): Layout =>
    stridedLayout(s.slice(0, -1), strides.slice(0, -1), offset);
  const outer = collapse([
    off(grad.layout),
    off(output.layout),
    contiguousLayout(shape.slice(0, -1)),
  ]);
  const decls: StorageDecl[] = [grad, output, sums].map(({ dtype }) => ({
    dtype,
    vec: false,
    access: "read",
  }));
  decls.push({ dtype: "float32", vec: false, access: "read_write" });
  const total = params.u32("rows", rows);
  const bases = [grad, output].map((v, i) => {
    const parts = [
      params.u32(`o${i}`, v.layout.offset),
      ...terms("k", at(outer.strides, i), `t${i}k`, 1, params),
    ];
    return `let base${i} = ${parts.join(" + ")};`;
  });
  const element = (i: number): string => {
    const step = at((i === 0 ? grad : output).layout.strides, axis);
    return loadElement(at(decls, i), i, `base${i} + f * ${params.u32(`s${i}`, step)}`);
  };
  return makeKernel(
    {
      name: "attention.rows",
      storages: decls,
      params,
      workgroupSize: [64, 1, 1],
      workgroups: gridOf(Math.ceil(rows / 64), caps),
      main: [
        `let row = (${flatWorkgroup}) * 64u + lane;`,
        `if (row >= ${total}) { return; }`,
        ...split("row", outer.shape, "k", params),
        ...bases,
        "var sum = 0.0;",
        `for (var f = 0u; f < ${params.u32("features", at(shape, axis))}; f++) {`,
        `  sum += ${element(0)} * ${element(1)};`,
        "}",
        `b3[2u * row] = b2[${params.u32("o2", sums.layout.offset)} + row];`,
        "b3[2u * row + 1u] = sum;",
      ].join("\n"),
    },
    caps,
  );
}
