/**
 * The event log as the inspector's page. Called through `memory.timelineHTML()`. Reads the log,
 * owns nothing.
 */
import { after, before } from "./page.ts";
import { type TraceExtras, traceData } from "./trace-data.ts";

/** One page that needs nothing else: the same that `tenure-inspect` makes of a trace file. */
export function timelineHTML(extras: TraceExtras): string {
  // No text of a trace can end the element that it stands in.
  const data = JSON.stringify(traceData(extras)).replaceAll("<", "\\u003c");
  return `${before}${data}${after}`;
}
