/**
 * What the example prints: a progress line, the confusion table, the leak report. Text only.
 */
import { memory } from "tenure";

const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** One line that is redrawn on a terminal; in a log, a line now and then. */
export class Progress {
  readonly #label: string;
  readonly #total: number;
  readonly #start = performance.now();
  #lastShown = 0;

  constructor(label: string, total: number) {
    this.#label = label;
    this.#total = total;
  }

  show(step: number, images: number, loss: number, accuracy: number): void {
    const now = performance.now(),
      last = step === this.#total,
      terminal = process.stdout.isTTY;
    if (!last && now - this.#lastShown < (terminal ? 100 : 10_000)) return;
    this.#lastShown = now;
    const width = 24,
      full = Math.round((width * step) / this.#total);
    const rate = images / ((now - this.#start) / 1000),
      s = memory.stats();
    const line =
      `${this.#label} ${"█".repeat(full)}${"░".repeat(width - full)} ${step}/${this.#total}  ` +
      `loss ${loss.toFixed(4)}  accuracy ${(100 * accuracy).toFixed(2)} %  ${rate.toFixed(0)} ` +
      `images/s  ${s.threadTotalLiveCount} tensors  GPU ${mb(s.deviceBytes)} (peak in use ` +
      `${mb(s.devicePeakBytes)})`;
    process.stdout.write(terminal ? `\r\x1b[2K${line}${last ? "\n" : ""}` : `${line}\n`);
  }
}

/** Rows are the true digits, columns what the network said. */
export function confusionTable(table: readonly (readonly number[])[]): string {
  const head = `      ${table.map((_, d) => String(d).padStart(5)).join("")}`;
  const rows = table.map(
    (row, d) => `   ${d}  ${row.map((n) => (n === 0 ? "·" : String(n)).padStart(5)).join("")}`,
  );
  return ["said  →", head, ...rows].join("\n");
}

/** True when nothing leaked. Prints what did, and the line that made it. */
export function leakReport(): boolean {
  const s = memory.stats(),
    created = s.createdInScopeCount + s.createdOutsideScopeCount,
    disposed = s.disposedInScopeCount + s.disposedOutsideScopeCount;
  const leaked = s.threadTotalLiveCount + s.finalized;
  console.log(
    `${leaked} tensors leaked, ${created} created, ${disposed} disposed, ${s.finalized} ` +
      "reclaimed by the garbage collector",
  );
  for (const { site, count } of memory.reclaimed())
    console.log(`  ${count} dropped without dispose, made at ${site}`);
  for (const row of memory.live())
    console.log(`  ${row.count} still alive, such as ${row.example}, made at ${row.key}`);
  if (leaked > 0)
    console.log(
      "  open a dispose scope around the loop's body, or declare the tensors with `using`",
    );
  return leaked === 0;
}
