/**
 * Batched matrix product of any two strided views, [..., M, K] × [..., K, N] → contiguous [..., M,
 * N], accumulated in f32 (integers in their own type). Transposed views cost nothing: which
 * dimension is contiguous is part of the structure, strides are parameters.
 *
 *   tiles GPUs: a workgroup stages blocks of both operands in workgroup memory
 *   rows  few rows or columns: lanes of a workgroup split K
 *
 * matmul-ways.ts has those of software adapters, and more for `tune` to choose from. Owns nothing.
 */
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { type Problem, type ProductSpec, problemOf } from "./matmul-problem.ts";
import { rowsKernel } from "./matmul-rows.ts";
import { tileBytes, tiledKernel } from "./matmul-tiles.ts";
import { shapeClass, variantOf } from "./variants.ts";

/** The ways of GPUs to write a product: which kernel, and the outputs of a workgroup. */
type Way = "tiles 64×64" | "tiles 128×64" | "double tiles 64×64" | "double tiles 128×64" | "rows";

/** Ways besides. */
export interface OtherWays {
  /** The standard of software adapters. */
  readonly standard: (p: Problem, caps: DeviceCaps) => string;
  /** Those that are possible and not hopeless. */
  readonly possible: (p: Problem, caps: DeviceCaps) => readonly string[];
  /** The kernel of one of them; null for another way. */
  readonly kernel: (p: Problem, caps: DeviceCaps, way: string) => Kernel | null;
}

/** Few rows or few columns. */
function isNarrow({ m, n }: Problem): boolean {
  return Math.min(m, n) <= 8;
}

/** The ways of GPUs that are possible and not hopeless. */
function waysOf(p: Problem, caps: DeviceCaps): Way[] {
  const threads = Math.min(caps.maxInvocationsPerWorkgroup, caps.maxWorkgroupSizeX);
  if (threads < 256) return [];
  const ways: Way[] = [];
  const tall = p.m > 64;
  const roomFor = (rows: 64 | 128): boolean =>
    tileBytes(rows, true) <= caps.maxWorkgroupStorageBytes && p.k > 16;
  if (!isNarrow(p)) {
    ways.push("tiles 64×64");
    if (tall) ways.push("tiles 128×64");
    if (roomFor(64)) ways.push("double tiles 64×64");
    if (tall && roomFor(128)) ways.push("double tiles 128×64");
  }
  if (Math.min(p.m, p.n) <= 32) ways.push("rows");
  return ways;
}

/**
 * Bindings: a, b, output (contiguous). With K = 0 the output is zeros. @param others ways to
 * choose from besides those of GPUs; null where there are none
 */
export function productKernel(
  spec: ProductSpec,
  caps: DeviceCaps,
  others: OtherWays | null,
): Kernel {
  const p = problemOf(spec);
  const standard =
    caps.software && others !== null
      ? others.standard(p, caps)
      : isNarrow(p)
        ? "rows"
        : "tiles 64×64";
  const ways = [...(others?.possible(p, caps) ?? []), ...waysOf(p, caps)];
  const space = [standard, ...ways.filter((way) => way !== standard)];
  const shape = shapeClass([p.batches, p.m, p.n, p.k], p.dtype, `a:${p.a.wide}`, `b:${p.b.wide}`);
  const way = variantOf(caps, "matmul", shape, space, standard);
  return others?.kernel(p, caps, way) ?? kernelOf(p, caps, way);
}

function kernelOf(p: Problem, caps: DeviceCaps, way: string): Kernel {
  if (way === "rows") return rowsKernel(p, caps);
  return tiledKernel(p, caps, way.includes("128") ? 128 : 64, way.startsWith("double"));
}

/** A product in one of the ways of GPUs. Bindings: a, b, output (contiguous). */
export function matmulKernel(spec: ProductSpec, caps: DeviceCaps): Kernel {
  return productKernel(spec, caps, null);
}
