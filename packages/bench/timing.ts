/**
 * Timing helpers of the benchmarks: variants are measured in turns, so that a slow moment of the
 * machine hits all of them, and the median is reported.
 */

/** Median of a list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b),
    mid = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[mid]! : (sorted[mid - 1]! + sorted[mid]!) / 2;
}

/**
 * The first decile: what something takes while nobody else uses the core, where single rounds are
 * shorter than the turns that a busy machine gives its processes.
 */
export function undisturbed(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 10)]!;
}

/**
 * Runs each variant once per round, in turns, and gives the median of each, or what `summary` makes
 * of its rounds, in the unit it returned.
 */
export async function sideBySide(
  rounds: number,
  variants: Readonly<Record<string, () => number | Promise<number>>>,
  summary: (values: readonly number[]) => number = median,
): Promise<Record<string, number>> {
  const times: Record<string, number[]> = Object.fromEntries(
    Object.keys(variants).map((k) => [k, []]),
  );
  for (const variant of Object.values(variants)) await variant(); // warm up
  for (let r = 0; r < rounds; r++)
    for (const [name, variant] of Object.entries(variants)) times[name]!.push(await variant());
  return Object.fromEntries(Object.entries(times).map(([k, v]) => [k, summary(v)]));
}

/** A markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? "---" : "---:"))), ...rows.map(line)].join(
    "\n",
  );
}
