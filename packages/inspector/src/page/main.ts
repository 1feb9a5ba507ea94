/**
 * The page of one trace, which stands in it as JSON: a chart, lanes, a plan and a table, and what
 * mouse and keys do. Bundled by the build; runs in a browser.
 */
import type { TraceData, TracedPlan } from "tenure";
import { DASHES, drawBlocks, drawBytes, drawCursor, type Scene, topOf } from "./bytes-chart.ts";
import { columnsOf, rectanglesOf, staysOf } from "./columns.ts";
import { happeningsOf } from "./happenings.ts";
import { boxAt, drawLanes, heightOf, rowsOf } from "./lanes.ts";
import { type Block, KINDS, aliveAt, blockAt, modelOf, ownerAt } from "./model.ts";
import { AXIS, FOOT, megabytes, momentOf, sheetOf } from "./sheet.ts";
import { ROLES, drawSlots, placeAt, placeText, planText, wholeOf } from "./slots.ts";
import { blockText, colorEntry, dashEntry, fillTable, find, stackLines } from "./telling.ts";
import { Zoom, axisOf, hasLongWait, xOf } from "./zoom.ts";

const trace = JSON.parse(find("trace").textContent) as TraceData;
const model = modelOf(trace);
const happenings = happeningsOf(trace);
const stays = staysOf(model);
const rows = rowsOf(trace, happenings);
const steps = happenings.stretches.filter(({ row }) => row === "step");
/** When each step began; without steps, each scope that lies in no other. */
const begins = steps.map(({ from }) => from);
if (steps.length === 0)
  for (const [, , from, , , lane] of trace.scopes) if (lane === 0) begins.push(from);
const last = model.at.length - 1;
const [chart, lanes, plans] = ["chart", "lanes", "plan"].map((id) => find<HTMLCanvasElement>(id));
if (chart === undefined || lanes === undefined || plans === undefined) throw new Error("canvases");
const [CHART, PLAN] = [320, 260];

/** What is shown; everything else follows from it and the trace. */
const state = {
  axis: axisOf(model, hasLongWait(model) ? "events" : "ms"),
  selected: null as Block | null,
  /** The event whose moment the table tells of. */
  moment: last,
  box: null as ReturnType<typeof placeAt>["box"],
  scene: null as Scene | null,
  asked: 0,
  planAsked: 0,
};
const zoom = new Zoom(state.axis.whole, soon);
const planZoom = new Zoom({ from: 0, to: 1 }, planSoon);

function soon(): void {
  if (state.asked === 0) state.asked = requestAnimationFrame(render);
}

function planSoon(): void {
  if (state.planAsked === 0) state.planAsked = requestAnimationFrame(renderPlan);
}

function render(): void {
  state.asked = 0;
  const { axis, selected } = state;
  const { view } = zoom;
  const sheet = sheetOf(chart!, CHART);
  const columns = columnsOf(model, axis, view, Math.max(1, Math.floor(sheet.width - AXIS)));
  const seen = { model, happenings, axis, view, columns };
  const top = topOf(seen);
  state.scene = { ...seen, top };
  drawBytes(sheet, state.scene);
  const least = (5 * top) / (CHART - FOOT);
  drawBlocks(sheet, top, rectanglesOf(model, stays, columns, least, selected), selected);
  if (state.moment !== last) drawCursor(sheet, xOf(axis.of(state.moment), view, sheet.width), []);
  drawLanes(sheetOf(lanes!, heightOf(rows)), rows, axis, view);
  document.documentElement.dataset["painted"] ??= String(performance.now());
}

function renderPlan(): void {
  state.planAsked = 0;
  const plan = chosenPlan();
  if (plan !== undefined) drawSlots(sheetOf(plans!, PLAN), plan, planZoom.view, state.box);
}

function chosenPlan(): TracedPlan | undefined {
  return trace.plans[Number(find<HTMLSelectElement>("plans").value)];
}

// === The chart ===

const values = new Map<number, Text>();

/** The event that a column of the chart shows. */
function shownAt(x: number): number {
  return state.scene?.columns.shown[Math.floor(x - AXIS)] ?? -1;
}

function hover(x: number): void {
  const i = shownAt(x);
  for (const [kind, text] of values)
    text.data =
      i === -1
        ? ""
        : megabytes(kind === -1 ? (model.device[i] ?? 0) : (model.bytes[kind]?.[i] ?? 0));
  const ms = model.at[i] ?? 0;
  const within = happenings.stretches.filter(
    ({ row, from, to }) => (row === "step" || row === "phase") && from <= ms && ms <= to,
  );
  const words = [momentOf(ms), `event ${i}`, ...within.map(({ name }) => name)];
  find("readout").textContent = i === -1 ? "" : words.join(" · ");
  const cursor = find("cursor");
  cursor.hidden = i === -1;
  cursor.style.left = `${x}px`;
}

function pick(x: number, y: number): void {
  const i = shownAt(x);
  if (i === -1 || state.scene === null) return;
  const bottom = CHART - FOOT;
  show(i, blockAt(model, i, ((bottom - y) / bottom) * state.scene.top) ?? null);
}

/** Tells of a moment, and of a storage that lives then. */
function show(i: number, block: Block | null): void {
  state.moment = i;
  state.selected = block;
  find("detail").textContent =
    block === null ? "No recorded bytes here." : blockText(model, block, i);
  table();
  soon();
}

/** The moment with most bytes in view, and the largest storage then. */
function peak(): void {
  let best = -1;
  for (const i of state.scene?.columns.shown ?? [])
    if (i !== -1 && (best === -1 || (model.sum[i] ?? 0) > (model.sum[best] ?? 0))) best = i;
  let largest: Block | null = null;
  for (const block of model.blocks)
    if ((ownerAt(block, best)?.kind ?? -1) !== -1 && block.bytes > (largest?.bytes ?? 0))
      largest = block;
  if (best !== -1) show(best, largest);
}

function act(key: string): void {
  const [first, final] = [steps[0], steps.at(-1)];
  if (key === "Enter") peak();
  else if (key === "End") show(last, null);
  else if (key !== "steps") zoom.act(key);
  else if (first !== undefined && final !== undefined)
    zoom.look(state.axis.ofTime(first.from), state.axis.ofTime(final.to));
}

// === Below the chart ===

function table(): void {
  const when = state.moment === last ? "the end" : momentOf(model.at[state.moment] ?? 0);
  find("when").textContent = when;
  fillTable(aliveAt(model, state.moment, begins), ({ place, stack, how }) => {
    const lines = [`made at ${place}`, ...stackLines(trace, stack), "", `the last: ${how}`];
    find("detail").textContent = lines.join("\n");
    find("detail").scrollIntoView({ block: "nearest" });
  });
}

function pickLane(x: number, y: number): void {
  const box = boxAt(rows, state.axis, zoom.view, lanes!.clientWidth, [x, y]);
  if (box === undefined) return;
  const stack = box.stack === -1 ? [] : stackLines(trace, box.stack);
  const times = `${momentOf(box.from)} to ${momentOf(box.to)}`;
  find("detail").textContent = [...box.tell(), times, ...stack].join("\n");
}

function hoverLane(x: number, y: number): void {
  hover(x);
  const box = boxAt(rows, state.axis, zoom.view, lanes!.clientWidth, [x, y]);
  if (box !== undefined)
    find("readout").textContent = `${box.name} · ${(box.to - box.from).toFixed(3)} ms`;
}

// === The plan ===

function choosePlan(): void {
  const plan = chosenPlan();
  if (plan === undefined) return;
  state.box = null;
  find("plan-text").textContent = planText(plan);
  planZoom.reset(wholeOf(plan));
}

/** The plan with most steps, the last of them: a training step rather than what came after it. */
function largestPlan(): number {
  const sizes = trace.plans.map(({ steps }) => steps.length);
  return sizes.lastIndexOf(Math.max(...sizes));
}

function overPlan(x: number, y: number): ReturnType<typeof placeAt> | null {
  const plan = chosenPlan();
  if (plan === undefined || x < AXIS || y > PLAN - FOOT) return null;
  return placeAt(plan, planZoom.positionAt(x, plans!.clientWidth), y / (PLAN - FOOT));
}

function tellPlan(x: number, y: number, picks: boolean): void {
  const [plan, at] = [chosenPlan(), overPlan(x, y)];
  if (plan === undefined || at === null) return;
  find("plan-detail").textContent = placeText(plan, at);
  if (!picks) return;
  state.box = at.box;
  planSoon();
}

// === The page ===

function fill(): void {
  const lost = trace.dropped > 0 ? ` ${trace.dropped} older events were overwritten.` : "";
  const advice = trace.level === "full" ? "" : ' memory.track("full") records every tensor.';
  const owned = trace.events[last]?.[8] ?? 0;
  let most = 0;
  for (const event of trace.events) most = Math.max(most, event[8]);
  find("summary").textContent =
    `${trace.events.length} events at level "${trace.level}" on ${trace.device ?? "no device"}. ` +
    `At most ${megabytes(most)} were owned, at the end ${megabytes(owned)}.${lost}${advice}`;
  document.documentElement.dataset["owned"] = String(owned);
  const legend = find("legend");
  for (const [kind, name] of KINDS.entries())
    if (model.bytes[kind]?.some((n) => n > 0) === true)
      values.set(kind, colorEntry(legend, name, kind));
  values.set(-1, dashEntry(legend, "on the device, with staging", []));
  for (const { name } of happenings.levels) dashEntry(legend, name, DASHES[name] ?? []);
  const roles = new Set(trace.plans.flatMap(({ boxes }) => boxes.map((box) => box[6])));
  for (const [k, role] of ROLES.entries()) if (roles.has(role)) colorEntry(find("roles"), role, k);
  const choice = find<HTMLSelectElement>("plans");
  for (const [i, { title }] of trace.plans.entries()) choice.add(new Option(title, String(i)));
  choice.value = String(largestPlan());
  find("plan-section").hidden = trace.plans.length === 0;
  find("steps").hidden = steps.length === 0;
  find<HTMLSelectElement>("axis").value = state.axis.unit;
}

function listen(): void {
  zoom.listen(chart!, hover, pick);
  zoom.listen(lanes!, hoverLane, pickLane);
  planZoom.listen(
    plans!,
    (x, y) => {
      tellPlan(x, y, false);
    },
    (x, y) => {
      tellPlan(x, y, true);
    },
  );
  chart!.addEventListener("keydown", (e) => {
    if (e.key === "Enter" || e.key === "End") act(e.key);
  });
  for (const button of document.querySelectorAll<HTMLElement>("[data-key]"))
    button.addEventListener("click", () => {
      act(button.dataset["key"] ?? "");
    });
  find("axis").addEventListener("change", () => {
    const [from, to] = [zoom.view.from, zoom.view.to].map((p) => state.axis.indexAt(p));
    const unit = find<HTMLSelectElement>("axis").value === "ms" ? "ms" : "events";
    state.axis = axisOf(model, unit);
    zoom.reset(state.axis.whole);
    zoom.look(state.axis.of(Math.max(0, from ?? 0)), state.axis.of(Math.max(0, to ?? 0)));
  });
  find("plans").addEventListener("change", choosePlan);
  const all = (): void => {
    soon();
    planSoon();
  };
  new ResizeObserver(all).observe(chart!);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
}

fill();
listen();
table();
choosePlan();
render();
