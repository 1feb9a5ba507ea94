/**
 * What the example prints at its end: the confusion table and the leak report. Text only.
 */
import { memory } from "tenure";

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
    `${leaked} tensors leaked: ${created} created, ${disposed} disposed, ` +
      `${s.finalized} left to the collector`,
  );
  for (const { site, count } of memory.reclaimed())
    console.log(`  ${count} dropped without dispose, made at ${site}`);
  for (const row of memory.live())
    console.log(`  ${row.count} still alive, such as ${row.example}, made at ${row.key}`);
  if (leaked > 0)
    console.log("  open a dispose scope around the loop's body, or declare tensors with `using`");
  return leaked === 0;
}
