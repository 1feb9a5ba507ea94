/**
 * What happened in a trace besides bytes: steps, phases, runs and timed ops as stretches; swaps,
 * recomputes and troubles as marks; peaks, bounds and budgets as lines. Called by the page. Pure.
 */
import type { TraceData } from "tenure";

/** A step, phase, run or timed op, in ms. */
export interface Stretch {
  readonly name: string;
  readonly row: "step" | "phase" | "run" | "op";
  readonly from: number;
  readonly to: number;
  /** Of a run: what it says of itself. */
  readonly figures?: Readonly<Record<string, unknown>>;
}

/** What marks are of. */
export type MarkKind = "swapOut" | "swapIn" | "recompute" | "suspend" | "outOfMemory";

/** A moment, in ms. */
export interface Mark {
  readonly kind: MarkKind;
  readonly at: number;
  readonly text: string;
  readonly bytes: number;
}

/** A line across the chart, in pieces that each hold for a step. */
export interface Level {
  readonly name: string;
  readonly pieces: { readonly from: number; readonly to: number; readonly bytes: number }[];
}

/** Everything that is drawn besides bytes. */
export interface Happenings {
  /** In the order of their beginnings. */
  readonly stretches: readonly Stretch[];
  readonly marks: readonly Mark[];
  readonly levels: readonly Level[];
}

const levelNames = {
  predictedPeakBytes: "predicted peak",
  measuredPeakBytes: "measured peak",
  lowerBoundBytes: "lower bound",
  budgetBytes: "budget",
} as const;

/** Everything of a trace that is not bytes. */
export function happeningsOf(trace: TraceData): Happenings {
  const stretches = stretchesOf(trace).sort((a, b) => a.from - b.from || b.to - a.to);
  const marks = trace.events.flatMap(([kind, at, , bytes, , text]): Mark[] => {
    const isMark =
      kind === "swapOut" ||
      kind === "swapIn" ||
      kind === "recompute" ||
      kind === "suspend" ||
      kind === "outOfMemory";
    return isMark ? [{ kind, at, text: trace.texts[text] ?? "", bytes }] : [];
  });
  return { stretches, marks, levels: levelsOf(stretches) };
}

function stretchesOf({ events, texts, figures }: TraceData): Stretch[] {
  const said = new Map(figures);
  const open: { readonly name: string; readonly from: number }[] = [];
  const found: Stretch[] = [];
  const add = (name: string, from: number, to: number): void => {
    found.push({ name, row: name.startsWith("step ") ? "step" : "phase", from, to });
  };
  for (const [i, [kind, at, , , , text]] of events.entries()) {
    const name = texts[text] ?? "";
    if (kind === "begin") open.push({ name, from: at });
    else if (kind === "end") {
      const k = open.findLastIndex((b) => b.name === name);
      const [begun] = k === -1 ? [] : open.splice(k, 1);
      if (begun !== undefined) add(name, begun.from, at);
    } else if (kind === "run" || kind === "op") {
      const f = said.get(i) ?? {};
      const from = Number(f["from"] ?? at);
      found.push({ name, row: kind, from, to: at, figures: f });
    }
  }
  const end = events.at(-1)?.[1] ?? 0;
  for (const { name, from } of open) add(name, from, end);
  return found;
}

/** A run's lines hold for its step, up to the step's next run; without a step for the run. */
function levelsOf(stretches: readonly Stretch[]): Level[] {
  const steps = stretches.filter(({ row }) => row === "step");
  const levels = Object.entries(levelNames).map(([key, name]): Level & { key: string } => ({
    key,
    name,
    pieces: [],
  }));
  let current: Stretch | undefined;
  for (const { row, from, to, figures } of stretches) {
    if (row !== "run" || figures === undefined) continue;
    const step = steps.findLast((s) => s.from <= from && from <= s.to);
    const start = step === undefined || step === current ? from : step.from;
    current = step;
    for (const { key, pieces } of levels) {
      const bytes = figures[key];
      if (typeof bytes !== "number") continue;
      const last = pieces.at(-1);
      if (last !== undefined && last.to > start) pieces[pieces.length - 1] = { ...last, to: start };
      pieces.push({ from: start, to: step?.to ?? to, bytes });
    }
  }
  return levels.filter(({ pieces }) => pieces.length > 0);
}
