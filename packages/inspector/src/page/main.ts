/**
 * The inspector's page: a chart, lanes, a plan and a table of one trace, which stands in the page
 * as JSON. Bundled by the build; runs in a browser. All text goes in as text, never as HTML.
 */
import {
  AXIS,
  COLORS,
  LANE,
  ROLES,
  type View,
  chart,
  lanes,
  legend,
  mib,
  sheet,
  slots,
  topOf,
} from "./draw.ts";
import { type Block, KINDS, type PlanData, type Trace } from "./model.ts";
import { alive, blockAt, indexAt, modelOf } from "./model.ts";

const find = <T extends HTMLElement>(id: string): T => {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`inspector: expected #${id} in the page, got none`);
  return element as T;
};
const trace = JSON.parse(find("trace").textContent) as Trace;
const model = modelOf(trace);
const view: View = { from: model.from, to: model.to };
const canvas = find<HTMLCanvasElement>("chart");
const scopes = find<HTMLCanvasElement>("lanes");
const planCanvas = find<HTMLCanvasElement>("plan");
const planChoice = find<HTMLSelectElement>("plans");
const laneCount = Math.min(24, 4 + trace.scopes.reduce((n, s) => Math.max(n, s[5]), 0));
const CHART = 280;
const PLAN = 220;
let top = 1;
let asked = 0;

function render(): void {
  asked = 0;
  const paper = sheet(canvas, CHART);
  const below = sheet(scopes, laneCount * LANE + 2);
  top = topOf(model, view);
  if (paper !== null) chart(paper, model, view, top);
  if (below !== null) lanes(below, trace, model, view);
  const plan = chosenPlan();
  const third = plan === undefined ? null : sheet(planCanvas, PLAN);
  if (third !== null && plan !== undefined) slots(third, plan);
}

function soon(): void {
  if (asked === 0) asked = requestAnimationFrame(render);
}

function chosenPlan(): PlanData | undefined {
  return trace.plans[Number(planChoice.value)];
}

// === View ===

const timeAt = (x: number): number =>
  view.from + (Math.max(0, x - AXIS) / (canvas.clientWidth - AXIS)) * (view.to - view.from);

function look(from: number, to: number): void {
  const whole = model.to - model.from;
  const wide = Math.min(whole, Math.max(whole / 1e5, to - from));
  view.from = Math.min(Math.max(model.from, from), model.to - wide);
  view.to = view.from + wide;
  soon();
}

function zoom(factor: number, around: number): void {
  look(around - (around - view.from) * factor, around + (view.to - around) * factor);
}

function onKey(e: KeyboardEvent): void {
  const middle = (view.from + view.to) / 2;
  const part = (view.to - view.from) / 5;
  if (e.key === "+" || e.key === "=") zoom(0.5, middle);
  else if (e.key === "-") zoom(2, middle);
  else if (e.key === "ArrowLeft") look(view.from - part, view.to - part);
  else if (e.key === "ArrowRight") look(view.from + part, view.to + part);
  else if (e.key === "0") look(model.from, model.to);
  else return;
  e.preventDefault();
}

function listen(): void {
  let drag: { x: number; from: number; to: number; moved: boolean } | null = null;
  canvas.addEventListener("keydown", onKey);
  canvas.addEventListener(
    "wheel",
    (e) => {
      if (!e.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
      e.preventDefault();
      zoom(e.deltaY > 0 ? 1.25 : 0.8, timeAt(e.offsetX));
    },
    { passive: false },
  );
  canvas.addEventListener("pointerdown", (e) => {
    drag = { x: e.offsetX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", (e) => {
    readout(timeAt(e.offsetX));
    if (drag === null || Math.abs(e.offsetX - drag.x) < 4) return;
    drag.moved = true;
    const by = ((drag.x - e.offsetX) / (canvas.clientWidth - AXIS)) * (drag.to - drag.from);
    look(drag.from + by, drag.to + by);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (drag?.moved === false) pick(e.offsetX, e.offsetY);
    drag = null;
  });
  planChoice.addEventListener("change", soon);
  planCanvas.addEventListener("click", (e) => {
    pickBox(e.offsetX, e.offsetY);
  });
  new ResizeObserver(soon).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
}

// === Telling ===

function readout(time: number): void {
  const i = indexAt(model.at, time);
  const rows = KINDS.flatMap((name, k) => {
    const bytes = model.bytes[k]?.[i] ?? 0;
    return bytes > 0 ? [`${name} ${mib(bytes)}`] : [];
  });
  const near = (model.to - model.from) / 200;
  const mark = model.marks.find((m) => Math.abs(m.at - time) < near);
  const said = mark === undefined ? [] : [mark.text];
  find("readout").textContent = [`${time.toFixed(3)} ms`, ...rows, ...said].join(" · ");
}

function pick(x: number, y: number): void {
  const bottom = CHART - 22;
  const block = blockAt(model, timeAt(x), ((bottom - y) / bottom) * top);
  find("detail").textContent =
    block === undefined ? "No recorded bytes here." : describeBlock(block);
}

function describeBlock({ text, bytes, stack, from, to, owners }: Block): string {
  const freed = to === Infinity ? "still alive" : `freed at ${to.toFixed(3)} ms`;
  return [
    `${text}, ${mib(bytes)}`,
    `made at ${from.toFixed(3)} ms, ${freed}`,
    "",
    "owners",
    ...owners.map((o) => `  ${o.at.toFixed(3)} ms  ${KINDS[o.kind] ?? ""}: ${o.how}`),
    "",
    "made by",
    ...stackText(stack),
  ].join("\n");
}

function stackText(stack: number): string[] {
  const frames = trace.stacks[stack]?.frames ?? [];
  return frames.length === 0 ? ["  (no stack recorded)"] : frames.map((frame) => `  ${frame}`);
}

function pickBox(x: number, y: number): void {
  const plan = chosenPlan();
  if (plan === undefined) return;
  const step = Math.floor(((x - AXIS) / (planCanvas.clientWidth - AXIS)) * plan.steps.length);
  const whole = plan.slots.reduce((a, b) => a + b, 0);
  let height = (y / (PLAN - 22)) * whole;
  const slot = plan.slots.findIndex((bytes) => (height -= bytes) < 0);
  const inside = height + (plan.slots[slot] ?? 0);
  const hit = plan.boxes.find(
    ([s, offset, bytes, from, to]) =>
      s === slot && inside >= offset && inside < offset + bytes && step >= from && step <= to,
  );
  find("plan-detail").textContent =
    hit === undefined
      ? `slot ${slot} is free at step ${step} (${plan.steps[step] ?? ""})`
      : `storage ${hit[5]} (${hit[6]}), ${mib(hit[2])} in slot ${slot}, steps ${hit[3]} to ` +
        `${hit[4]}, ${hit[7] === "" ? "there before" : `from ${hit[7]}, ${hit[8]}`}`;
}

function cell(row: HTMLTableRowElement, text: string): void {
  row.insertCell().textContent = text;
}

function swatch(list: string, name: string, color: string): void {
  const item = document.createElement("li");
  const square = document.createElement("i");
  square.style.background = color;
  item.append(square, name);
  find(list).append(item);
}

function fill(): void {
  const lost = trace.dropped > 0 ? `; ${trace.dropped} older events were overwritten` : "";
  const last = model.at.length - 1;
  const owned = trace.events[last]?.[8] ?? 0;
  find("summary").textContent =
    `${trace.events.length} events at level "${trace.level}"${lost}. ` +
    `Device: ${trace.device ?? "none"}. At the end ${mib(owned)} are owned.`;
  find("summary").dataset["owned"] = String(owned);
  for (const { name, color } of legend(model)) swatch("legend", name, color);
  const roles = new Set(trace.plans.flatMap(({ boxes }) => boxes.map((box) => box[6])));
  for (const [k, role] of ROLES.entries())
    if (roles.has(role)) swatch("roles", role, COLORS[k] ?? "#999");
  const table = find<HTMLTableSectionElement>("leaks");
  for (const { place, stack, count, bytes, how } of alive(trace, model).slice(0, 200)) {
    const row = table.insertRow();
    const button = document.createElement("button");
    button.textContent = place;
    button.addEventListener("click", () => {
      find("detail").textContent = [`made at ${place}`, ...stackText(stack)].join("\n");
      find("detail").scrollIntoView({ block: "nearest" });
    });
    row.insertCell().append(button);
    cell(row, String(count));
    cell(row, mib(bytes));
    cell(row, how);
  }
  for (const [i, plan] of trace.plans.entries()) planChoice.add(new Option(plan.title, String(i)));
  find("plan-section").hidden = trace.plans.length === 0;
}

fill();
listen();
render();
