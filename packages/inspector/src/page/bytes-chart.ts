/**
 * The chart of bytes over time: bands by owner, blocks in them, steps, the device's bytes, peaks,
 * bounds and budgets. Called by the page at each change of the view. Owns nothing.
 */
import { type Columns, type Rectangle } from "./columns.ts";
import type { Happenings, Level } from "./happenings.ts";
import type { Block, Model } from "./model.ts";
import { AXIS, FOOT, type Sheet, fillOf, megabytes, stroke, textIn, tickOf } from "./sheet.ts";
import { type Axis, type View, xOf } from "./zoom.ts";

/** Dashes of lines by their names; `device` is the device's bytes. */
export const DASHES: Readonly<Record<string, readonly number[]>> = {
  device: [],
  "predicted peak": [7, 4],
  "measured peak": [10, 3, 2, 3],
  "lower bound": [2, 3],
  budget: [16, 4],
};

/** What is drawn. */
export interface Scene {
  readonly model: Model;
  readonly happenings: Happenings;
  readonly axis: Axis;
  readonly view: View;
  readonly columns: Columns;
  /** Bytes at the upper edge. */
  readonly top: number;
}

/** The most bytes that are seen, lines across the chart included. */
export function topOf({ model, happenings, axis, view, columns }: Omit<Scene, "top">): number {
  let top = 1024;
  for (const [x, i] of columns.shown.entries())
    top = Math.max(top, model.sum[i] ?? 0, columns.device[x] ?? 0);
  for (const { pieces } of happenings.levels)
    for (const { from, to, bytes } of pieces)
      if (axis.ofTime(to) >= view.from && axis.ofTime(from) <= view.to) top = Math.max(top, bytes);
  return top * 1.12;
}

/** Draws everything but the blocks. */
export function drawBytes(sheet: Sheet, scene: Scene): void {
  drawSteps(sheet, scene);
  drawBands(sheet, scene);
  drawAxes(sheet, scene);
  drawDevice(sheet, scene);
  drawTroubles(sheet, scene);
  drawLevels(sheet, scene);
}

/** Height of a chart without its axis. */
const deep = ({ height }: Sheet): number => height - FOOT;

function drawSteps(sheet: Sheet, { happenings, axis, view }: Scene): void {
  const { draw, width, ink, soft } = sheet;
  let dark = false;
  for (const { row, name, from, to } of happenings.stretches) {
    if (row !== "step") continue;
    dark = !dark;
    const left = Math.max(AXIS, xOf(axis.ofTime(from), view, width));
    const wide = Math.min(width, xOf(axis.ofTime(to), view, width)) - left;
    if (wide <= 0) continue;
    draw.fillStyle = soft;
    if (dark) draw.fillRect(left, 0, wide, deep(sheet));
    draw.fillStyle = ink;
    if (wide > 44) textIn(sheet, name, [left, 0, wide, 15]);
  }
}

function drawBands(sheet: Sheet, { model, columns, top }: Scene): void {
  const { draw } = sheet;
  const bottom = deep(sheet);
  const base = new Float64Array(columns.shown.length);
  for (const [kind, series] of model.bytes.entries()) {
    draw.fillStyle = fillOf(sheet, kind);
    for (let x = 0; x < base.length;) {
      const i = columns.shown[x] ?? -1;
      let end = x + 1;
      while (columns.shown[end] === i) end++;
      const below = base[x] ?? 0;
      const bytes = series[i] ?? 0;
      base.fill(below + bytes, x, end);
      const y = bottom - ((below + bytes) / top) * bottom;
      if (bytes > 0) draw.fillRect(AXIS + x, y, end - x, (bytes / top) * bottom);
      x = end;
    }
  }
}

function drawAxes(sheet: Sheet, { axis, view, top }: Scene): void {
  const { draw, width, height, ink, line } = sheet;
  const bottom = deep(sheet);
  draw.fillStyle = ink;
  draw.textAlign = "right";
  const each = tickOf(top / 1e6, 5);
  for (let n = 0; n * 1e6 <= top; n += each) {
    const y = Math.round(bottom - ((n * 1e6) / top) * bottom) + 0.5;
    stroke(sheet, [AXIS, y, width, y], line);
    if (y > 26) draw.fillText(String(Number(n.toPrecision(3))), AXIS - 6, y + 4);
  }
  draw.fillText("MB", AXIS - 6, 12);
  draw.textAlign = "center";
  const range = view.to - view.from;
  const [unit, scale] =
    axis.unit === "events" ? ["", 1] : range > 10_000 ? [" s", 1000] : [" ms", 1];
  const step = tickOf(range / scale, Math.max(2, (width - AXIS) / 110));
  const first = Math.ceil(view.from / scale / step);
  for (let n = first; n * step * scale <= view.to; n++) {
    const x = xOf(n * step * scale, view, width);
    stroke(sheet, [x, bottom, x, bottom + 4], ink);
    if (x > width - 30 || x < AXIS + 20) continue;
    const text = Number((n * step).toPrecision(12)).toLocaleString("en");
    draw.fillText(axis.unit === "events" ? `event ${text}` : `${text}${unit}`, x, height - 4);
  }
}

function drawDevice(sheet: Sheet, { columns, top }: Scene): void {
  const { draw, ink } = sheet;
  const bottom = deep(sheet);
  draw.strokeStyle = ink;
  draw.lineWidth = 1.5;
  draw.beginPath();
  for (const [x, bytes] of columns.device.entries()) {
    const y = bottom - (bytes / top) * bottom;
    draw.lineTo(AXIS + x, y);
    draw.lineTo(AXIS + x + 1, y);
  }
  draw.stroke();
  draw.lineWidth = 1;
}

/** Raw awaits and failed allocations, across the whole chart. */
function drawTroubles(sheet: Sheet, { happenings, axis, view }: Scene): void {
  const { draw, width, ink } = sheet;
  draw.textAlign = "center";
  for (const { kind, at } of happenings.marks) {
    if (kind !== "suspend" && kind !== "outOfMemory") continue;
    const x = xOf(axis.ofTime(at), view, width);
    if (x < AXIS || x > width) continue;
    stroke(sheet, [x, 16, x, deep(sheet)], "#d55e00", [6, 3]);
    draw.fillStyle = ink;
    draw.fillText(kind === "suspend" ? "‖" : "✖", x, 27);
  }
}

/** Peaks, bounds and budgets; the names stand where the lines leave on the right. */
function drawLevels(sheet: Sheet, { happenings, axis, view, top }: Scene): void {
  const { draw, width, ink, paper } = sheet;
  const bottom = deep(sheet);
  const yOf = (bytes: number): number => bottom - (bytes / top) * bottom;
  const labels = new Map<number, string[]>();
  for (const { name, pieces } of happenings.levels) {
    let last: Level["pieces"][number] | undefined;
    let drawn = AXIS;
    for (const piece of pieces) {
      const left = xOf(axis.ofTime(piece.from), view, width);
      const right = Math.min(width, xOf(axis.ofTime(piece.to), view, width));
      if (right < AXIS || left > width) continue;
      last = piece;
      // A piece thinner than a pixel still shows where nothing was drawn yet.
      const end = Math.max(right, left + 1);
      if (end < drawn) continue;
      const y = yOf(piece.bytes);
      stroke(sheet, [Math.max(AXIS, left), y, end, y], ink, DASHES[name]);
      drawn = end;
    }
    if (last !== undefined) labels.set(last.bytes, [...(labels.get(last.bytes) ?? []), name]);
  }
  draw.textAlign = "right";
  let free = bottom;
  for (const [bytes, names] of [...labels].sort(([a], [b]) => a - b)) {
    free = Math.min(yOf(bytes) - 4, free - 15);
    const text = `${names.join(", ")} ${megabytes(bytes)}`;
    const wide = draw.measureText(text).width + 6;
    draw.globalAlpha = 0.85;
    draw.fillStyle = paper;
    draw.fillRect(width - wide - 2, free - 11, wide, 14);
    draw.globalAlpha = 1;
    draw.fillStyle = ink;
    draw.fillText(text, width - 5, free);
  }
}

/** Lines between blocks, and all of the selected one. */
export function drawBlocks(
  sheet: Sheet,
  top: number,
  rectangles: readonly Rectangle[],
  selected: Block | null,
): void {
  const { draw, ink, paper } = sheet;
  const bottom = deep(sheet);
  for (const { block, from, to, below } of rectangles) {
    const tall = (block.bytes / top) * bottom;
    const y = bottom - (below / top) * bottom - tall;
    draw.globalAlpha = block === selected ? 1 : 0.5;
    draw.fillStyle = block === selected ? ink : paper;
    draw.fillRect(AXIS + from, y, to - from, block === selected ? Math.max(2, tall) : 0.8);
  }
  draw.globalAlpha = 1;
}

/** A line where the page tells of, and where the pointer is. */
export function drawCursor(sheet: Sheet, x: number, dash: readonly number[]): void {
  if (x >= AXIS && x <= sheet.width) stroke(sheet, [x, 0, x, deep(sheet)], sheet.ink, dash);
}
