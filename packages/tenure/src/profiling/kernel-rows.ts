/**
 * Timed kernels as rows, one for each kernel and phase, and as a table to read. Called by
 * profile.ts; pure.
 */
import type { TimedKernel } from "../device/kernel-watch.ts";
import type { DeviceRates } from "./device-rates.ts";

/** All runs of one kernel in one phase. */
export interface KernelRow {
  /** The op, or the fused ops: `matmul+add+relu`. */
  readonly name: string;
  readonly phase: string;
  readonly count: number;
  readonly seconds: number;
  /** Share of the time of all kernels, 0 to 1. */
  readonly share: number;
  /** Bytes of the tensors it reads, and of those it writes, in all runs. */
  readonly bytes: number;
  readonly flops: number;
  /** What it moves per second, as a share of a plain copy's rate; null where no time was seen. */
  readonly copyShare: number | null;
  /** What it computes per second, as a share of the most the device was seen to do. */
  readonly flopShare: number | null;
}

/** One row for each kernel and phase, those that take longest first. */
export function rowsOf(kernels: readonly TimedKernel[], rates: DeviceRates): KernelRow[] {
  const all = kernels.reduce((sum, { seconds }) => sum + seconds, 0);
  const groups = new Map<string, TimedKernel[]>();
  for (const kernel of kernels) {
    const key = `${nameOf(kernel)} ${kernel.phase}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [kernel]);
    else group.push(kernel);
  }
  return [...groups.values()]
    .flatMap((group) => {
      const [first] = group;
      if (first === undefined) return [];
      const total = (of: (kernel: TimedKernel) => number): number =>
        group.reduce((sum, kernel) => sum + of(kernel), 0);
      const seconds = total((k) => k.seconds);
      const bytes = total((k) => k.bytes);
      const flops = total((k) => k.flops);
      return {
        name: nameOf(first),
        phase: first.phase,
        count: group.length,
        seconds,
        share: all === 0 ? 0 : seconds / all,
        bytes,
        flops,
        copyShare: seconds === 0 ? null : bytes / seconds / rates.copyBytesPerSecond,
        flopShare: seconds === 0 ? null : flops / seconds / rates.flopsPerSecond,
      };
    })
    .sort((a, b) => b.seconds - a.seconds);
}

function nameOf({ name, recomputed }: TimedKernel): string {
  return recomputed ? `${name} (recompute)` : name;
}

/** Rows as lines of text, with heads. */
export function tableOf(rows: readonly KernelRow[]): string {
  const percent = (share: number | null): string =>
    share === null ? "-" : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
  const cells = [
    ["kernel", "phase", "runs", "ms", "time", "MB", "MFLOP", "of copy rate", "of FLOP rate"],
    ...rows.map((row) => [
      row.name,
      row.phase,
      String(row.count),
      (row.seconds * 1000).toFixed(3),
      percent(row.share),
      (row.bytes / 1e6).toFixed(2),
      (row.flops / 1e6).toFixed(2),
      percent(row.copyShare),
      percent(row.flopShare),
    ]),
  ];
  const widths = (cells[0] ?? []).map((_, i) => Math.max(...cells.map((c) => c[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ")
      .trimEnd();
  return cells.map(line).join("\n");
}
