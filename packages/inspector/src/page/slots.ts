/**
 * A plan as rectangles: its slots, stacked by their bytes, against its steps. Called by the page at
 * each change of the view. Owns nothing.
 */
import type { PlanBox, TracedPlan } from "tenure";
import { AXIS, COLORS, FOOT, type Sheet, megabytes, stroke, textIn, tickOf } from "./sheet.ts";
import { type View, xOf } from "./zoom.ts";

/** What a value of a plan is for, in the order of the colours. */
export const ROLES: readonly string[] = ["param", "state", "input", "activation", "output", "grad"];

/** The columns of a plan: one per step. */
export function wholeOf({ steps }: TracedPlan): View {
  return { from: 0, to: Math.max(1, steps.length) };
}

/** Bytes of all slots. */
function bytesOf({ slots }: TracedPlan): number {
  return Math.max(
    1,
    slots.reduce((a, b) => a + b, 0),
  );
}

/** Where each slot begins, in bytes. */
function startsOf({ slots }: TracedPlan): number[] {
  let start = 0;
  return slots.map((bytes) => (start += bytes) - bytes);
}

/** Draws a plan; the box that was picked stands out. */
export function drawSlots(
  sheet: Sheet,
  plan: TracedPlan,
  view: View,
  picked: PlanBox | null,
): void {
  const { draw, width, height, ink, line } = sheet;
  const bottom = height - FOOT;
  const scale = bottom / bytesOf(plan);
  const starts = startsOf(plan);
  for (const box of plan.boxes) {
    const [slot, offset, bytes, from, to, id, role, op] = box;
    const left = Math.max(AXIS, xOf(from, view, width));
    const right = Math.min(width, xOf(to + 1, view, width));
    if (right <= AXIS || left >= width) continue;
    const y = ((starts[slot] ?? 0) + offset) * scale;
    const tall = Math.max(1, bytes * scale - 1);
    const color = ROLES.indexOf(role);
    draw.fillStyle = box === picked ? ink : (COLORS[color] ?? "#8a8a8a");
    draw.fillRect(left, y, Math.max(1, right - left - 1), tall);
    if (right - left < 44 || tall < 13 || box === picked) continue;
    draw.fillStyle = color === 0 ? "#fff" : "#000";
    textIn(sheet, op === "" ? `${id} (${role})` : op, [left, y, right - left - 3, tall]);
  }
  for (const start of starts) stroke(sheet, [AXIS, start * scale, width, start * scale], line);
  draw.fillStyle = ink;
  draw.textAlign = "right";
  draw.fillText("MB", AXIS - 6, 12);
  const each = tickOf(bytesOf(plan) / 1e6, 4);
  for (let n = each; n * 1e6 * scale <= bottom; n += each) {
    const y = n * 1e6 * scale;
    if (y > 26 && y < bottom - 6) draw.fillText(String(Number(n.toPrecision(3))), AXIS - 6, y + 4);
  }
  draw.textAlign = "center";
  const wide = tickOf(view.to - view.from, Math.max(2, (width - AXIS) / 90));
  const every = Math.max(1, wide);
  for (let n = Math.ceil(view.from / every) * every; n < view.to; n += every) {
    const x = xOf(n + 0.5, view, width);
    if (x > AXIS + 24 && x < width - 24) draw.fillText(`step ${n}`, x, height - 4);
  }
}

/** The rectangle at a place of the canvas, and its slot and step. */
export function placeAt(
  plan: TracedPlan,
  step: number,
  part: number,
): { readonly slot: number; readonly step: number; readonly box: PlanBox | null } {
  const height = part * bytesOf(plan);
  const starts = startsOf(plan);
  const slot = starts.findLastIndex((start) => start <= height);
  const inside = height - (starts[slot] ?? 0);
  const at = Math.min(plan.steps.length - 1, Math.floor(step));
  const box = plan.boxes.find(
    ([s, offset, bytes, from, to]) =>
      s === slot && inside >= offset && inside < offset + bytes && at >= from && at <= to,
  );
  return { slot, step: at, box: box ?? null };
}

/** A place of a plan in words. */
export function placeText(plan: TracedPlan, at: ReturnType<typeof placeAt>): string {
  const { slot, step, box } = at;
  const doing = plan.steps[step] ?? "";
  const here = `Step ${step}: ${doing}. `;
  if (box === null) return `${here}Slot ${slot} (${megabytes(plan.slots[slot] ?? 0)}) is free.`;
  const [, , bytes, from, to, id, role, op, phase] = box;
  const origin = op === "" ? "there before the program" : `written by ${op} (${phase})`;
  const what = `${id} (${role}), ${megabytes(bytes)}`;
  return `${here}Slot ${slot} holds ${what}, steps ${from} to ${to}, ${origin}.`;
}

/** A plan's bytes in words. */
export function planText({ plannedBytes, lowerBoundBytes, budgetBytes }: TracedPlan): string {
  const budget = budgetBytes === null ? "no budget" : `budget ${megabytes(budgetBytes)}`;
  const [peak, bound] = [plannedBytes, lowerBoundBytes].map(megabytes);
  return `Planned peak ${peak}, lower bound ${bound}, ${budget}.`;
}
