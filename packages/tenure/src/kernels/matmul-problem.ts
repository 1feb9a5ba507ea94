/**
 * A matrix product in the form that its three kernels share: which dimension of each operand is
 * contiguous, merged batch dimensions, bindings and fields. Letters: M rows of the output, N
 * columns, K summed. Owns nothing.
 */
import { at, last } from "../base/access.ts";
import { type Layout, broadcastLayout, collapse, stridedLayout } from "../base/layout.ts";
import { sizeOf } from "../base/shape.ts";
import type { Epilogue, Finish } from "./fused.ts";
import { split, terms } from "./indices.ts";
import type { View } from "./kernel.ts";
import { matmulShape } from "./shapes.ts";
import type { Params, StorageDecl } from "./wgsl.ts";

/** Operands of a product, and what becomes of its elements. */
export interface ProductSpec {
  /** View [..., M, K]. Binding 0. */
  readonly a: View;
  /** View [..., K, N]. Binding 1. Same dtype as `a`. */
  readonly b: View;
  /** Takes each element of the product further; its bindings come in place of the output's. */
  readonly after?: Epilogue;
}

/** Which dimension of an operand four neighbours lie along. */
type Contiguity = "k" | "mn" | "none";

/** One operand, seen from the product. */
export interface Side {
  readonly layout: Layout;
  readonly binding: number;
  /** Strides along the output dimension (m or n) and along k. */
  readonly outer: number;
  readonly inner: number;
  readonly batch: readonly number[];
  /** Loads may be aligned vec4 along this dimension. */
  readonly wide: Contiguity;
}

/** A product with its operands in the order of its rows and columns. */
export interface Problem {
  readonly dtype: View["dtype"];
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batchShape: readonly number[];
  readonly batches: number;
  /**
   * Rows of the output; columns of the output. Swapped operands (see below) have their bindings
   * swapped too.
   */
  readonly a: Side;
  readonly b: Side;
  readonly after: Epilogue | undefined;
}

/** Whether, and along which dimension, a side can be loaded as vec4. */
function contiguityOf(s: Omit<Side, "wide">, outerSize: number, k: number): Contiguity {
  const aligned = k > 0 && s.batch.every((x) => x % 4 === 0) && s.layout.offset % 4 === 0;
  if (!aligned) return "none";
  if (s.inner === 1 && k % 4 === 0 && s.outer % 4 === 0) return "k";
  return s.outer === 1 && outerSize % 4 === 0 && s.inner % 4 === 0 ? "mn" : "none";
}

/** The batch dimensions of a layout. */
function batchOf(l: Layout): Layout {
  return stridedLayout(l.shape.slice(0, -2), l.strides.slice(0, -2), l.offset);
}

/** Both operands broadcast and their batch dimensions merged. */
export function problemOf({ a, b, after }: ProductSpec): Problem {
  const shape = matmulShape(a.layout.shape, b.layout.shape);
  const batch = shape.slice(0, -2);
  const m = at(shape, shape.length - 2);
  const n = last(shape);
  const k = last(a.layout.shape);
  const la = broadcastLayout(a.layout, [...batch, m, k]);
  const lb = broadcastLayout(b.layout, [...batch, k, n]);
  const merged = collapse([batchOf(la), batchOf(lb)]);
  const left = {
    layout: la,
    binding: 0,
    outer: at(la.strides, la.strides.length - 2),
    inner: last(la.strides),
    batch: at(merged.strides, 0),
  };
  const right = {
    layout: lb,
    binding: 1,
    outer: last(lb.strides),
    inner: at(lb.strides, lb.strides.length - 2),
    batch: at(merged.strides, 1),
  };
  const sides = {
    a: { ...left, wide: contiguityOf(left, m, k) },
    b: { ...right, wide: contiguityOf(right, n, k) },
  };
  // A column times a matrix is the transposed problem: [M, K]·[K, 1] = ([1, K]·[K, M])ᵀ, and a
  // single row or column lies the same either way.
  const oriented = n === 1 && m > 1 ? { m: n, n: m, a: sides.b, b: sides.a } : { m, n, ...sides };
  return {
    ...oriented,
    dtype: a.dtype,
    k,
    batchShape: merged.shape,
    batches: sizeOf(batch),
    after,
  };
}

/** Whether four neighbours of a row are stored at once. */
export function storesWide(p: Problem): boolean {
  return p.after === undefined && p.n % 4 === 0;
}

/** Bindings of both sides and of the output. */
export function storages(
  p: Problem,
  wideA: boolean,
  wideB: boolean,
  wideOut: boolean,
  finish: Finish,
): StorageDecl[] {
  const decls: StorageDecl[] = [];
  decls[p.a.binding] = { dtype: p.dtype, vec: wideA, access: "read" };
  decls[p.b.binding] = { dtype: p.dtype, vec: wideB, access: "read" };
  return [
    ...decls,
    ...(wideOut ? [{ dtype: p.dtype, vec: true, access: "read_write" } as const] : finish.storages),
  ];
}

/** Lines that set `baseA` and `baseB` (in units of the declared loads) from `batch`. */
export function batchBases(p: Problem, decls: readonly StorageDecl[], params: Params): string[] {
  const base = (name: string, s: Side): string => {
    const unit = at(decls, s.binding).vec ? 4 : 1;
    const parts = [
      params.u32(`offset${name}`, s.layout.offset / unit),
      ...terms("q", s.batch, `batch${name}`, unit, params),
    ];
    return `let base${name} = ${parts.join(" + ")};`;
  };
  return [
    ...(p.batches > 1
      ? split("batch", p.batchShape, "q", params)
      : p.batchShape.map((_, i) => `const q${i} = 0u;`)),
    base("A", p.a),
    base("B", p.b),
  ];
}

/** WGSL of a stride in units of a load; a stride of one unit needs no multiplication. */
export function stride(
  params: Params,
  name: string,
  value: number,
  unit: number,
): (index: string) => string {
  if (value === unit) return (index) => index;
  if (value === 0) return () => "0u";
  const field = params.u32(name, value / unit);
  return (index) => `${index} * ${field}`;
}

/** The fields that say how many tiles of `tm × tn` outputs there are. */
export interface TileFields {
  readonly M: string;
  readonly N: string;
  readonly K: string;
  /** Tiles in a row of them; in one matrix; in all. */
  readonly tilesN: string;
  readonly tiles: string;
  readonly total: string;
  /** The value of `total`. */
  readonly count: number;
}

/** Cuts every matrix of the output into tiles. */
export function tileFields(p: Problem, tm: number, tn: number, params: Params): TileFields {
  const tilesN = Math.ceil(p.n / tn);
  const tiles = Math.ceil(p.m / tm) * tilesN;
  const count = tiles * p.batches;
  return {
    M: params.u32("M", p.m),
    N: params.u32("N", p.n),
    K: params.u32("K", p.k),
    tilesN: params.u32("tilesN", tilesN),
    tiles: params.u32("tiles", tiles),
    total: params.u32("total", count),
    count,
  };
}
