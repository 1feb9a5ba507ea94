/**
 * Batched matrix product of any two strided views, [..., M, K] × [..., K, N] → contiguous [..., M,
 * N], accumulated in f32 (integers in their own type). Transposed views cost nothing: which
 * dimension is contiguous is part of the structure, strides are parameters.
 *
 *   registers software adapters: each invocation keeps a tile of the output in registers and reads
 *   both operands from storage
 *   short      the same in a third of the code: for products that take less time than compiling
 *   subgroups  the same with larger tiles, where lanes of a subgroup read one operand together
 *   tiles      GPUs: a workgroup stages blocks of both operands in workgroup memory
 *   split      few outputs and a long K: as registers, but lanes of a workgroup split K
 *   rows       few rows or columns: lanes of a workgroup split K
 *
 * Owns nothing.
 */
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { type Problem, type ProductSpec, problemOf } from "./matmul-problem.ts";
import { registerKernel } from "./matmul-registers.ts";
import { rowsKernel } from "./matmul-rows.ts";
import { tileBytes, tiledKernel } from "./matmul-tiles.ts";
import { shapeClass, variantOf } from "./variants.ts";

/** The ways of writing a product: which kernel, and the outputs of an invocation or a workgroup. */
type Way =
  | "registers 4×8"
  | "registers 4×4"
  | "registers 2×8"
  | "short 4×8"
  | "subgroups 16×4"
  | "subgroups 8×8"
  | "subgroups 16×8"
  | "split 16"
  | "split 64"
  | "tiles 64×64"
  | "tiles 128×64"
  | "double tiles 64×64"
  | "double tiles 128×64"
  | "rows";

/**
 * Multiplications up to which software adapters take the way that is compiled soonest. There it is
 * 1 to 1.5 times as slow as the fastest, by 2 ms at most; compiled in a third of the time, it saves
 * 300 ms or more when a shape is first met.
 */
const smallProduct = 2 ** 22;

/** The ways that are possible and not hopeless; the first is taken unless another was measured. */
function waysOf(p: Problem, caps: DeviceCaps): [Way, ...Way[]] {
  const few = Math.min(p.m, p.n) <= 8;
  const shares = caps.subgroups && p.k > 0 && p.k % 4 === 0 && p.n >= 32;
  // lavapipe loads element by element, 16×4 is where loads are fewest; SwiftShader has no use for
  // dividing them, and takes 0.8 of the time of 8×8 for 16×8
  const tall = caps.contracts ? "subgroups 16×4" : "subgroups 16×8";
  const shared = p.m >= 16 ? tall : "subgroups 8×8";
  // sharing does not pay for many lanes beyond the edge: they lie along a row
  const columns = shared === "subgroups 16×4" ? 4 : 8;
  const width = columns * lanesOf(p.n, columns);
  const full = p.n >= 0.6 * width * Math.ceil(p.n / width);
  const large = shares && p.m >= 8 && full ? shared : "registers 4×8";
  const software = p.batches * p.m * p.n * p.k <= smallProduct ? "short 4×8" : large;
  const standard = caps.software ? software : few ? "rows" : "tiles 64×64";
  const threads = Math.min(caps.maxInvocationsPerWorkgroup, caps.maxWorkgroupSizeX);
  const ways: Way[] = ["registers 4×8", "registers 4×4", "registers 2×8", "short 4×8"];
  if (shares && p.m >= 8) ways.push("subgroups 8×8");
  if (shares && p.m >= 16) ways.push("subgroups 16×8", "subgroups 16×4");
  const tiles = p.batches * Math.ceil(p.m / 4) * Math.ceil(p.n / 8);
  if (p.k >= 128 && tiles <= 1024) ways.push("split 16");
  if (p.k >= 512 && tiles <= 1024) ways.push("split 64");
  if (threads >= 256 && !few) ways.push("tiles 64×64");
  if (threads >= 256 && p.m > 64 && !few) ways.push("tiles 128×64");
  const roomFor = (rows: 64 | 128): boolean =>
    tileBytes(rows, true) <= caps.maxWorkgroupStorageBytes && p.k > 16;
  if (threads >= 256 && !few && roomFor(64)) ways.push("double tiles 64×64");
  if (threads >= 256 && p.m > 64 && !few && roomFor(128)) ways.push("double tiles 128×64");
  if (threads >= 256 && Math.min(p.m, p.n) <= 32) ways.push("rows");
  return [standard, ...ways.filter((way) => way !== standard)];
}

/** Lanes of so many columns that share rows: eight where that leaves fewer of them idle. */
function lanesOf(n: number, columns: 4 | 8): 8 | 16 {
  const padded = (lanes: number): number => Math.ceil(n / (columns * lanes)) * lanes;
  return padded(8) < padded(16) ? 8 : 16;
}

/** Bindings: a, b, output (contiguous). With K = 0 the output is zeros. */
export function matmulKernel(spec: ProductSpec, caps: DeviceCaps): Kernel {
  const p = problemOf(spec);
  const ways = waysOf(p, caps);
  const shape = shapeClass([p.batches, p.m, p.n, p.k], p.dtype, `a:${p.a.wide}`, `b:${p.b.wide}`);
  switch (variantOf(caps, "matmul", shape, ways, ways[0])) {
    case "registers 4×8":
      return registerKernel(p, caps, { rows: 4, columns: 8 });
    case "registers 4×4":
      return registerKernel(p, caps, { rows: 4, columns: 4 });
    case "registers 2×8":
      return registerKernel(p, caps, { rows: 2, columns: 8 });
    case "short 4×8":
      return registerKernel(p, caps, { rows: 4, columns: 8, short: true });
    case "subgroups 16×4":
      return registerKernel(p, caps, {
        rows: 16,
        columns: 4,
        lanes: lanesOf(p.n, 4),
        fetchers: caps.subgroupLanes >= 8 ? 8 : 4,
      });
    case "subgroups 8×8":
      return registerKernel(p, caps, { rows: 8, columns: 8, lanes: lanesOf(p.n, 8) });
    case "subgroups 16×8":
      return registerKernel(p, caps, { rows: 16, columns: 8, lanes: lanesOf(p.n, 8) });
    case "split 16":
      return registerKernel(p, caps, { rows: 4, columns: 8, parts: 16 });
    case "split 64":
      return registerKernel(p, caps, { rows: 4, columns: 8, parts: 64 });
    case "tiles 64×64":
      return tiledKernel(p, caps, 64);
    case "tiles 128×64":
      return tiledKernel(p, caps, 128);
    case "double tiles 64×64":
      return tiledKernel(p, caps, 64, true);
    case "double tiles 128×64":
      return tiledKernel(p, caps, 128, true);
    case "rows":
      return rowsKernel(p, caps);
  }
}
