/**
 * Drawing on canvases: bytes over time, lanes, and slots of a plan. Called by main.ts at each
 * change of the view. Owns nothing.
 */
import { KINDS, type Model, type PlanData, type Trace, indexAt } from "./model.ts";

/** Okabe and Ito's colours, by kind of owner. */
export const COLORS = [
  "#0072b2",
  "#e69f00",
  "#56b4e9",
  "#009e73",
  "#d55e00",
  "#cc79a7",
  "#999999",
  "#f0e442",
] as const;
/** What a value of a plan is for, in the order of the colours. */
export const ROLES: readonly string[] = ["param", "state", "input", "activation", "output", "grad"];
/** Height of a lane. */
export const LANE = 16;
/** Width of the axis on the left. */
export const AXIS = 62;

/** What is seen: times at the left and right edge, in ms. */
export interface View {
  from: number;
  to: number;
}

/** A canvas sized for the screen, cleared, with the page's colours. */
export interface Sheet {
  readonly draw: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly ink: string;
  readonly line: string;
  readonly paper: string;
}

/** Prepares a canvas. */
export function sheet(canvas: HTMLCanvasElement, height: number): Sheet | null {
  const scale = window.devicePixelRatio;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const draw = canvas.getContext("2d");
  if (draw === null) return null;
  draw.scale(scale, scale);
  draw.font = "12px system-ui, sans-serif";
  const style = getComputedStyle(canvas);
  const [line, paper] = [style.getPropertyValue("--line"), style.getPropertyValue("--paper")];
  return { draw, width, height, ink: style.color, line, paper };
}

/** `1.25 MiB`: the one unit of the page. */
export function mib(bytes: number): string {
  const n = bytes / 2 ** 20;
  return `${n === 0 || n >= 0.1 ? n.toFixed(2) : n.toPrecision(2)} MiB`;
}

/** A round step that divides `range` into about `count` parts. */
function tick(range: number, count: number): number {
  const rough = range / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((n) => n * power >= rough) ?? 10) * power;
}

/** The horizontal place of a time. */
export function xOf(time: number, view: View, width: number): number {
  return AXIS + ((time - view.from) / (view.to - view.from)) * (width - AXIS);
}

/** The most bytes that are seen, lines across the chart included. */
export function topOf(model: Model, view: View): number {
  let top = Math.max(1024, ...model.levels.map(({ bytes }) => bytes));
  const last = indexAt(model.at, view.to);
  for (let i = Math.max(0, indexAt(model.at, view.from)); i <= last; i++) {
    let sum = 0;
    for (const series of model.bytes) sum += series[i] ?? 0;
    top = Math.max(top, sum, model.device[i] ?? 0);
  }
  return top * 1.1;
}

/** Bytes by owner, exact steps: each column of pixels shows the moment with most bytes in it. */
function bands({ draw, width, height }: Sheet, model: Model, view: View, top: number): void {
  const scale = (view.to - view.from) / (width - AXIS);
  const bottom = height - 22;
  let i = indexAt(model.at, view.from);
  for (let x = AXIS; x < width; x++) {
    const until = view.from + (x + 1 - AXIS) * scale;
    let best = i;
    let most = i < 0 ? -1 : total(model, i);
    while (i + 1 < model.at.length && (model.at[i + 1] ?? 0) <= until) {
      const sum = total(model, ++i);
      if (sum >= most) [best, most] = [i, sum];
    }
    if (best < 0) continue;
    let y = bottom;
    for (const [k, series] of model.bytes.entries()) {
      const tall = ((series[best] ?? 0) / top) * bottom;
      if (tall === 0) continue;
      draw.fillStyle = COLORS[k] ?? "#999";
      draw.fillRect(x, y - tall, 1.5, tall);
      y -= tall;
    }
  }
}

function total({ bytes }: Model, i: number): number {
  let sum = 0;
  for (const series of bytes) sum += series[i] ?? 0;
  return sum;
}

/** The whole chart of bytes. */
export function chart(paper: Sheet, model: Model, view: View, top: number): void {
  const { draw, width, height, ink, line } = paper;
  const bottom = height - 22;
  bands(paper, model, view, top);
  draw.lineWidth = 1;
  draw.textAlign = "right";
  const step = tick(top / 2 ** 20, 5);
  for (let n = 0; n * 2 ** 20 <= top; n += step) {
    const y = Math.round(bottom - ((n * 2 ** 20) / top) * bottom) + 0.5;
    draw.strokeStyle = line;
    draw.beginPath();
    draw.moveTo(AXIS, y);
    draw.lineTo(width, y);
    draw.stroke();
    draw.fillStyle = ink;
    if (y > 22) draw.fillText(String(Number(n.toPrecision(3))), AXIS - 6, y + 4);
  }
  draw.fillText("MiB", AXIS - 6, 12);
  draw.textAlign = "center";
  const every = tick(view.to - view.from, Math.max(2, (width - AXIS) / 110));
  for (let t = Math.ceil(view.from / every) * every; t <= view.to; t += every) {
    const x = xOf(t, view, width);
    if (x > width - 24 || x < AXIS + 10) continue;
    draw.fillText(`${Number(t.toPrecision(9))} ms`, x, height - 6);
  }
  lines(paper, model, view, top);
}

/** Steps, marks and levels over the bands. */
function lines(on: Sheet, model: Model, view: View, top: number): void {
  const { draw, width, height, ink, paper } = on;
  const bottom = height - 22;
  const vertical = (x: number, dash: number[], color: string): void => {
    if (x < AXIS || x > width) return;
    draw.setLineDash(dash);
    draw.strokeStyle = color;
    draw.beginPath();
    draw.moveTo(x, 0);
    draw.lineTo(x, bottom);
    draw.stroke();
  };
  for (const s of model.stretches) if (s.row === 0) vertical(xOf(s.from, view, width), [2, 3], ink);
  draw.textAlign = "center";
  for (const { at } of model.marks) {
    const x = xOf(at, view, width);
    vertical(x, [6, 3], "#d55e00");
    draw.fillStyle = "#d55e00";
    if (x >= AXIS) draw.fillText("▼", x, 10);
  }
  draw.textAlign = "left";
  const named = new Map<number, string[]>();
  for (const { name, bytes } of model.levels) named.set(bytes, [...(named.get(bytes) ?? []), name]);
  let free = bottom;
  for (const [bytes, names] of [...named].sort(([a], [b]) => a - b)) {
    const y = bottom - (bytes / top) * bottom;
    draw.setLineDash([8, 4]);
    draw.strokeStyle = ink;
    draw.beginPath();
    draw.moveTo(AXIS, y);
    draw.lineTo(width, y);
    draw.stroke();
    free = Math.min(y - 4, free - 14);
    const text = `${names.join(", ")} ${mib(bytes)}`;
    draw.fillStyle = paper;
    draw.fillRect(AXIS + 4, free - 11, draw.measureText(text).width + 4, 14);
    draw.fillStyle = ink;
    draw.fillText(text, AXIS + 6, free);
  }
  draw.setLineDash([]);
}

/** A box with its name, as far as there is room. */
function box(
  { draw, width }: Sheet,
  name: string,
  color: string,
  [x0, x1, y]: readonly number[],
): void {
  const left = Math.max(AXIS, x0 ?? 0);
  const right = Math.min(width, Math.max(left + 1, x1 ?? 0));
  if (right <= AXIS || left >= width) return;
  draw.fillStyle = color;
  draw.fillRect(left, y ?? 0, right - left, LANE - 2);
  if (right - left < 40) return;
  draw.save();
  draw.beginPath();
  draw.rect(left, y ?? 0, right - left - 2, LANE);
  draw.clip();
  draw.fillStyle = "#000";
  draw.textAlign = "left";
  draw.fillText(name, left + 4, (y ?? 0) + 11);
  draw.restore();
}

/** Steps, phases, runs, and below them scopes. */
export function lanes(paper: Sheet, trace: Trace, model: Model, view: View): void {
  const { draw, width, ink } = paper;
  draw.fillStyle = ink;
  draw.textAlign = "right";
  for (const [i, name] of ["steps", "phases", "device", "scopes"].entries())
    draw.fillText(name, AXIS - 6, i * LANE + 11);
  const span = (from: number, to: number, row: number): number[] => [
    xOf(from, view, width),
    xOf(to, view, width),
    row * LANE,
  ];
  for (const { name, row, from, to } of model.stretches)
    box(paper, name, ["#e69f00", "#56b4e9", "#cc79a7"][row] ?? "#999", span(from, to, row));
  for (const [name, , from, to, , lane] of trace.scopes)
    if (to >= view.from && from <= view.to) box(paper, name, "#009e73", span(from, to, lane + 3));
}

/** Slots of a plan against its steps: heights are bytes. */
export function slots({ draw, width, height, ink, line }: Sheet, plan: PlanData): void {
  const whole = Math.max(
    1,
    plan.slots.reduce((a, b) => a + b, 0),
  );
  const bottom = height - 22;
  const column = (width - AXIS) / Math.max(1, plan.steps.length);
  const starts: number[] = [];
  let y = 0;
  for (const bytes of plan.slots) {
    starts.push(y);
    y += (bytes / whole) * bottom;
  }
  for (const [slot, offset, bytes, from, to, , role] of plan.boxes) {
    draw.fillStyle = COLORS[ROLES.indexOf(role)] ?? "#999";
    const top = (starts[slot] ?? 0) + (offset / whole) * bottom;
    const tall = Math.max(1, (bytes / whole) * bottom - 1);
    draw.fillRect(AXIS + from * column, top, (to - from + 1) * column - 0.5, tall);
  }
  draw.strokeStyle = line;
  for (const start of starts) {
    draw.beginPath();
    draw.moveTo(AXIS, start);
    draw.lineTo(width, start);
    draw.stroke();
  }
  draw.fillStyle = ink;
  draw.textAlign = "right";
  draw.fillText(mib(whole).replace(" MiB", ""), AXIS - 6, 12);
  draw.fillText("MiB", AXIS - 6, 26);
  draw.fillText("0", AXIS - 6, bottom);
  draw.textAlign = "left";
  draw.fillText("step 0", AXIS, height - 6);
  draw.textAlign = "right";
  draw.fillText(`step ${plan.steps.length - 1}`, width - 2, height - 6);
}

/** Names of kinds that the trace has bytes of, with their colours. */
export function legend(model: Model): { readonly name: string; readonly color: string }[] {
  return KINDS.flatMap((name, k) =>
    model.bytes[k]?.some((n) => n > 0) === true ? [{ name, color: COLORS[k] ?? "#999" }] : [],
  );
}
