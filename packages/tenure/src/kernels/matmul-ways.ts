/**
 * Ways of writing a matrix product besides those of GPUs, which matmul.ts has:
 *
 *   registers software adapters: each invocation keeps a tile of the output in registers and reads
 *   both operands from storage
 *   short      the same in a third of the code: for products that take less time than compiling
 *   subgroups  the same with larger tiles, where lanes of a subgroup read one operand together
 *   split      few outputs and a long K: as registers, but lanes of a workgroup split K
 *
 * Owns nothing.
 */
import type { DeviceCaps, Kernel } from "./kernel.ts";
import type { Problem, ProductSpec } from "./matmul-problem.ts";
import { productKernel } from "./matmul.ts";
import { type Tile, registerKernel } from "./matmul-registers.ts";

/** Which kernel, and the outputs of an invocation. */
type Way =
  | "registers 4×8"
  | "registers 4×4"
  | "registers 2×8"
  | "short 4×8"
  | "subgroups 16×4"
  | "subgroups 8×8"
  | "subgroups 16×8"
  | "split 16"
  | "split 64";

/**
 * Multiplications up to which software adapters take the way that is compiled soonest. There it is
 * 1 to 1.5 times as slow as the fastest, by 2 ms at most; compiled in a third of the time, it saves
 * 300 ms or more when a shape is first met.
 */
const smallProduct = 2 ** 22;

/** Whether lanes of a subgroup can read one operand together, to some use. */
function shares({ k, n }: Problem, caps: DeviceCaps): boolean {
  return caps.subgroups && k > 0 && k % 4 === 0 && n >= 32;
}

function standardOf(p: Problem, caps: DeviceCaps): Way {
  if (p.batches * p.m * p.n * p.k <= smallProduct) return "short 4×8";
  // lavapipe loads element by element, 16×4 is where loads are fewest; SwiftShader has no use for
  // dividing them, and takes 0.8 of the time of 8×8 for 16×8
  const tall = caps.contracts ? "subgroups 16×4" : "subgroups 16×8";
  const shared = p.m >= 16 ? tall : "subgroups 8×8";
  // sharing does not pay for many lanes beyond the edge: they lie along a row
  const columns = shared === "subgroups 16×4" ? 4 : 8;
  const width = columns * lanesOf(p.n, columns);
  const full = p.n >= 0.6 * width * Math.ceil(p.n / width);
  return shares(p, caps) && p.m >= 8 && full ? shared : "registers 4×8";
}

function waysOf(p: Problem, caps: DeviceCaps): Way[] {
  const ways: Way[] = ["registers 4×8", "registers 4×4", "registers 2×8", "short 4×8"];
  if (shares(p, caps) && p.m >= 8) ways.push("subgroups 8×8");
  if (shares(p, caps) && p.m >= 16) ways.push("subgroups 16×8", "subgroups 16×4");
  const tiles = p.batches * Math.ceil(p.m / 4) * Math.ceil(p.n / 8);
  if (p.k >= 128 && tiles <= 1024) ways.push("split 16");
  if (p.k >= 512 && tiles <= 1024) ways.push("split 64");
  return ways;
}

/** Lanes of so many columns that share rows: eight where that leaves fewer of them idle. */
function lanesOf(n: number, columns: 4 | 8): 8 | 16 {
  const padded = (lanes: number): number => Math.ceil(n / (columns * lanes)) * lanes;
  return padded(8) < padded(16) ? 8 : 16;
}

/** The tile of an invocation in each way. */
const tiles: Readonly<Record<Way, (p: Problem, caps: DeviceCaps) => Tile>> = {
  "registers 4×8": () => ({ rows: 4, columns: 8 }),
  "registers 4×4": () => ({ rows: 4, columns: 4 }),
  "registers 2×8": () => ({ rows: 2, columns: 8 }),
  "short 4×8": () => ({ rows: 4, columns: 8, short: true }),
  "subgroups 16×4": ({ n }, { subgroupLanes }) => ({
    rows: 16,
    columns: 4,
    lanes: lanesOf(n, 4),
    fetchers: subgroupLanes >= 8 ? 8 : 4,
  }),
  "subgroups 8×8": ({ n }) => ({ rows: 8, columns: 8, lanes: lanesOf(n, 8) }),
  "subgroups 16×8": ({ n }) => ({ rows: 16, columns: 8, lanes: lanesOf(n, 8) }),
  "split 16": () => ({ rows: 4, columns: 8, parts: 16 }),
  "split 64": () => ({ rows: 4, columns: 8, parts: 64 }),
};

/** A product in any way. Bindings: a, b, output (contiguous). */
export function matmulKernel(spec: ProductSpec, caps: DeviceCaps): Kernel {
  return productKernel(spec, caps, {
    standard: standardOf,
    possible: waysOf,
    kernel: (p, caps, way) =>
      way in tiles ? registerKernel(p, caps, tiles[way as Way](p, caps)) : null,
  });
}
