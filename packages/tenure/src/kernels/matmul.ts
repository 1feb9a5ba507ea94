/**
 * Batched matrix product of any two strided views, [..., M, K] × [..., K, N] → contiguous [..., M,
 * N], accumulated in f32 (integers in their own type). Transposed views cost nothing: which
 * dimension is contiguous is part of the structure, strides are parameters.
 *
 *   registers software adapters, small products: each invocation keeps a tile of the output in
 *   registers and reads both operands from storage
 *   tiles      GPUs: a workgroup stages blocks of both operands in workgroup memory
 *   rows       few rows or columns: lanes of a workgroup split K
 *
 * Owns nothing.
 */
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { type ProductSpec, problemOf } from "./matmul-problem.ts";
import { registerKernel } from "./matmul-registers.ts";
import { rowsKernel } from "./matmul-rows.ts";
import { tiledKernel } from "./matmul-tiles.ts";

/** Bindings: a, b, output (contiguous). With K = 0 the output is zeros. */
export function matmulKernel(spec: ProductSpec, caps: DeviceCaps): Kernel {
  const p = problemOf(spec);
  if (caps.software) return registerKernel(p, caps);
  if (Math.min(p.m, p.n) <= 8) return rowsKernel(p, caps);
  return tiledKernel(p, caps);
}
