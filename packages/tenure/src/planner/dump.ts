/**
 * The planner's state after a pass, as text: what the pass found or decided. Called by whoever
 * shows passes to developers (`TENURE_DEBUG=passes`). Pure; nothing here prints.
 */
import { opAt } from "../graph/program.ts";
import type { Candidate } from "./candidate.ts";
import { formatBytes } from "./plan-report.ts";
import type { PlanState } from "./plan-state.ts";

/** Candidates that are listed. */
const mostListed = 20;

/** Several lines, the first of which names the pass. */
export function formatState(pass: string, state: PlanState): string {
  const { emitted, placement, chosen, candidates } = state;
  const lines = [`=== after ${pass}`, orderLine(state)];
  if (candidates.length > 0) lines.push(`candidates ${candidates.length}`);
  for (const c of candidates.slice(0, mostListed)) lines.push(`  ${candidateLine(c)}`);
  if (candidates.length > mostListed) lines.push(`  … ${candidates.length - mostListed} more`);
  if (chosen !== null) lines.push(`chosen     ${candidateLine(chosen)}`);
  if (placement !== null) {
    const { name, bytes, slots = [] } = placement.placed;
    lines.push(`placed     ${name}, ${formatBytes(bytes)} in ${slots.length} slots`);
  }
  for (const step of emitted?.steps ?? []) lines.push(`  ${JSON.stringify(step)}`);
  return lines.join("\n");
}

function orderLine({ context: { program }, order }: PlanState): string {
  const ops = order.map((i) => `${i} ${opAt(program, i).name}`);
  return `order      ${order.length} of ${program.ops.length} ops: ${ops.join(", ")}`;
}

function candidateLine({ how, peak, actions, extra }: Candidate): string {
  return `${how}: ${formatBytes(peak)} live, ${actions.length} actions, ${extra.seconds} s more`;
}
