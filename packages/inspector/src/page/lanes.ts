/**
 * Below the chart, on its axis: steps, phases, runs, timed ops, swaps, recomputes, and scopes on
 * lanes. Called by the page at each change of the view. Owns nothing.
 */
import type { TraceData } from "tenure";
import type { Happenings, Mark, Stretch } from "./happenings.ts";
import { AXIS, COLORS, LANE, type Sheet, megabytes, textIn } from "./sheet.ts";
import { type Axis, type View, xOf } from "./zoom.ts";

/** Lanes of scopes that are drawn. */
const deepest = 16;

/** One row: its name, and what is in it. */
interface Row {
  readonly name: string;
  readonly color: string;
  readonly boxes: readonly Box[];
}

/** A box from one time to another, or a mark at one; and what is told of it. */
export interface Box {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly glyph?: string;
  readonly stack: number;
  tell(): string[];
}

const marks = { swapOut: ["▼", "to the host"], swapIn: ["▲", "back from the host"] } as const;

/** All rows of a trace; those without anything are left out. */
export function rowsOf(trace: TraceData, { stretches, marks: all }: Happenings): readonly Row[] {
  const of = (row: Stretch["row"]): Box[] => stretches.filter((s) => s.row === row).map(boxOf);
  const swaps = all.flatMap((mark) =>
    mark.kind === "swapOut" || mark.kind === "swapIn"
      ? [markBox(mark, marks[mark.kind][0], marks[mark.kind][1])]
      : [],
  );
  const again = all
    .filter(({ kind }) => kind === "recompute")
    .map((mark) => markBox(mark, "●", "computed again"));
  const lanes: Box[][] = [];
  for (const [name, stack, from, to, peak, lane] of trace.scopes)
    (lanes[lane] ??= []).push({
      name,
      from,
      to,
      stack,
      tell: () => [`scope ${name}, peak ${megabytes(peak)}`, "opened by"],
    });
  const rows: Row[] = [
    { name: "steps", color: COLORS[1], boxes: of("step") },
    { name: "phases", color: COLORS[2], boxes: of("phase") },
    { name: "runs", color: COLORS[5], boxes: of("run") },
    { name: "ops", color: COLORS[6], boxes: of("op") },
    { name: "swaps", color: COLORS[4], boxes: swaps },
    { name: "again", color: COLORS[0], boxes: again },
    ...lanes.slice(0, deepest).map((boxes, i) => ({
      name: i === 0 ? "scopes" : "",
      color: COLORS[3],
      boxes,
    })),
  ];
  return rows.filter(({ boxes }) => boxes.length > 0);
}

function boxOf({ name, from, to, figures = {} }: Stretch): Box {
  const said = Object.entries(figures).flatMap(([key, value]) => {
    if (key === "from" || value === null || value === 0) return [];
    if (typeof value === "object") {
      const inside = Object.entries(value ?? {}).map(([k, v]) => `${k} ${String(v)}`);
      return inside.length === 0 ? [] : [`  ${key}: ${inside.join(", ")}`];
    }
    const text = key.endsWith("Bytes") ? megabytes(Number(value)) : JSON.stringify(value);
    return [`  ${key.replace(/Bytes$/, "")}: ${text}`];
  });
  return { name, from, to, stack: -1, tell: () => [name, ...said] };
}

function markBox({ at, text, bytes }: Mark, glyph: string, what: string): Box {
  const size = bytes === 0 ? "" : `, ${megabytes(bytes)}`;
  const name = `${text} ${what}${size}`;
  return { name, from: at, to: at, glyph, stack: -1, tell: () => [name] };
}

/** The height that rows need. */
export function heightOf(rows: readonly Row[]): number {
  return rows.length * LANE + 2;
}

/** Draws the rows. */
export function drawLanes(sheet: Sheet, rows: readonly Row[], axis: Axis, view: View): void {
  const { draw, width, ink } = sheet;
  for (const [i, { name, color, boxes }] of rows.entries()) {
    const y = i * LANE;
    draw.fillStyle = ink;
    draw.textAlign = "right";
    draw.fillText(name, AXIS - 6, y + 12);
    let drawn = -1;
    for (const { name, from, to, glyph } of boxes) {
      const left = Math.max(AXIS, xOf(axis.ofTime(from), view, width));
      const right = Math.min(width, Math.max(left + 1, xOf(axis.ofTime(to), view, width)));
      if (right < drawn + 0.5 || right <= AXIS || left >= width) continue; // hides behind another
      draw.fillStyle = color;
      draw.textAlign = "center";
      if (glyph !== undefined) draw.fillText(glyph, left, y + 12);
      else draw.fillRect(left, y, Math.max(1, right - left - 0.5), LANE - 2);
      drawn = glyph === undefined ? right : left + 4;
      if (glyph !== undefined || right - left < 30) continue;
      draw.fillStyle = color === COLORS[0] ? "#fff" : "#000";
      textIn(sheet, name, [left, y, right - left - 2, LANE - 2]);
    }
  }
}

/** What lies at a place of the canvas. */
export function boxAt(
  rows: readonly Row[],
  axis: Axis,
  view: View,
  width: number,
  [x, y]: readonly [number, number],
): Box | undefined {
  const near = ({ from, to, glyph }: Box): boolean => {
    const reach = glyph === undefined ? 1 : 6;
    const left = xOf(axis.ofTime(from), view, width);
    return x >= left - reach && x <= xOf(axis.ofTime(to), view, width) + reach;
  };
  return rows[Math.floor(y / LANE)]?.boxes.findLast(near);
}
