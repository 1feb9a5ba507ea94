/**
 * A trace replayed: bytes by owner after every event, each storage once however many aliases it
 * has, and the life of every storage. Called by the page. Pure; owns what it returns.
 */

/** What can own bytes, from the bottom of the chart to its top. */
export const KINDS = [
  "module",
  "optimizer",
  "loader",
  "scope",
  "no scope",
  "graph or read",
  "not recorded",
  "free in the pool",
] as const;
const GRAPH = KINDS.indexOf("graph or read");
const UNRECORDED = KINDS.indexOf("not recorded");
const POOL = KINDS.indexOf("free in the pool");

/** One event as the file has it; the columns are those of tenure's trace, version 1. */
export type Row = readonly [
  string,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/** The part of a trace file that the page reads. Bytes and milliseconds. */
export interface Trace {
  readonly version: 1;
  readonly level: string;
  readonly dropped: number;
  readonly device: string | null;
  readonly texts: readonly string[];
  readonly stacks: readonly { readonly place: string; readonly frames: readonly string[] }[];
  readonly scopes: readonly (readonly [string, number, number, number, number, number])[];
  readonly events: readonly Row[];
  readonly figures: readonly (readonly [number, Readonly<Record<string, unknown>>])[];
  readonly plans: readonly PlanData[];
}

/** A plan as rectangles: slot, offset, bytes, from, to, storage, role, op, phase. */
export interface PlanData {
  readonly title: string;
  readonly slots: readonly number[];
  readonly steps: readonly string[];
  readonly boxes: readonly (readonly [
    number,
    number,
    number,
    number,
    number,
    string,
    string,
    string,
    string,
  ])[];
  readonly plannedBytes: number;
  readonly lowerBoundBytes: number;
}

/** A storage's life. */
export interface Block {
  readonly text: string;
  readonly bytes: number;
  readonly stack: number;
  readonly from: number;
  /** Infinity while it lives. */
  to: number;
  /** Who owned it from when on: index into KINDS, and in words. */
  readonly owners: { readonly at: number; readonly kind: number; readonly how: string }[];
}

/** A step, phase or run. */
export interface Stretch {
  readonly name: string;
  readonly row: 0 | 1 | 2;
  readonly from: number;
  readonly to: number;
}

/** Everything that is drawn. */
export interface Model {
  readonly from: number;
  readonly to: number;
  /** Per event: its time, bytes of each kind, bytes on the device. */
  readonly at: Float64Array;
  readonly bytes: readonly Float64Array[];
  readonly device: Float64Array;
  readonly blocks: readonly Block[];
  readonly stretches: readonly Stretch[];
  readonly marks: readonly { readonly at: number; readonly text: string }[];
  /** Lines across the chart, from the last run of a step. */
  readonly levels: readonly { readonly name: string; readonly bytes: number }[];
}

/** Handles on a storage, and its life. */
interface Live {
  readonly block: Block;
  readonly handles: Map<number, number>;
  kind: number;
}

function kindOf(owner: string): number {
  const [word = ""] = owner.split(" ", 1);
  const kind = (KINDS as readonly string[]).indexOf(word);
  return kind === -1 ? KINDS.indexOf("no scope") : kind;
}

/** Follows the events. */
class Replay {
  readonly blocks: Block[] = [];
  readonly now = new Float64Array(KINDS.length);
  readonly #storages = new Map<number, Live>();
  readonly #gone = new Map<number, Live>();
  readonly #handles = new Map<number, Live>();
  readonly #trace: Trace;

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  /** One event. */
  follow([kind, at, id, bytes, storage, text, stack, owner]: Row): void {
    const said = this.#trace.texts[text] ?? "";
    const by = this.#trace.texts[owner] ?? "";
    if (kind === "create" && storage !== 0) {
      let live = this.#storages.get(storage);
      if (live === undefined) {
        const block: Block = { text: said, bytes, stack, from: at, to: Infinity, owners: [] };
        live = { block, handles: new Map(), kind: -1 };
        this.blocks.push(block);
        this.#storages.set(storage, live);
      }
      live.handles.set(id, kindOf(by));
      this.#handles.set(id, live);
      this.#settle(live, at, by === "" ? "made outside any scope" : by);
    } else if (kind === "own") {
      const live = this.#handles.get(id);
      live?.handles.set(id, kindOf(by));
      if (live !== undefined) this.#settle(live, at, said);
    } else if (kind === "dispose" || kind === "finalize") {
      const live = this.#handles.get(id);
      live?.handles.delete(id);
      this.#handles.delete(id);
      if (live !== undefined) this.#settle(live, at, "no handle is left");
    } else if (kind === "free") this.#free(storage, at);
    else if (kind === "revive") {
      const live = this.#gone.get(storage);
      if (live === undefined) return;
      live.block.to = Infinity;
      this.#storages.set(storage, live);
      this.#settle(live, at, "taken back");
    }
  }

  /** Gives a storage's bytes to who owns it now: the first kind among its handles. */
  #settle(live: Live, at: number, how: string): void {
    const kind = Math.min(GRAPH, ...live.handles.values());
    if (kind === live.kind) return;
    const { bytes, owners } = live.block;
    if (live.kind !== -1) this.now[live.kind] = (this.now[live.kind] ?? 0) - bytes;
    this.now[kind] = (this.now[kind] ?? 0) + bytes;
    live.kind = kind;
    owners.push({ at, kind, how });
  }

  #free(storage: number, at: number): void {
    const live = this.#storages.get(storage);
    if (live === undefined) return;
    this.#storages.delete(storage);
    this.#gone.set(storage, live);
    live.block.to = at;
    if (live.kind !== -1) this.now[live.kind] = (this.now[live.kind] ?? 0) - live.block.bytes;
    live.kind = -1;
  }
}

/** Replays a trace. */
export function modelOf(trace: Trace): Model {
  const { events } = trace;
  const n = events.length;
  const at = new Float64Array(n);
  const device = new Float64Array(n);
  const bytes = KINDS.map(() => new Float64Array(n));
  const replay = new Replay(trace);
  for (const [i, row] of events.entries()) {
    replay.follow(row);
    at[i] = row[1];
    device[i] = row[10];
    let recorded = 0;
    for (let k = 0; k < UNRECORDED; k++) {
      const value = replay.now[k] ?? 0;
      recorded += value;
      const series = bytes[k];
      if (series !== undefined) series[i] = value;
    }
    const [rest, pool] = [bytes[UNRECORDED], bytes[POOL]];
    if (rest !== undefined) rest[i] = Math.max(0, row[8] - recorded);
    if (pool !== undefined) pool[i] = row[9];
  }
  const from = events[0]?.[1] ?? 0;
  const to = Math.max(from + 0.001, events.at(-1)?.[1] ?? 0);
  const { blocks } = replay;
  return { from, to, at, bytes, device, blocks, ...happenings(trace, to) };
}

/** Steps, phases, runs, marks and levels. */
function happenings(trace: Trace, end: number): Pick<Model, "stretches" | "marks" | "levels"> {
  const figures = new Map(trace.figures);
  const open: { readonly name: string; readonly from: number }[] = [];
  const stretches: Stretch[] = [];
  const marks: { at: number; text: string }[] = [];
  let levels: Model["levels"] = [];
  const add = (name: string, from: number, to: number): void => {
    stretches.push({ name, row: name.startsWith("step ") ? 0 : 1, from, to });
  };
  for (const [i, [kind, at, , , , text]] of trace.events.entries()) {
    const name = trace.texts[text] ?? "";
    if (kind === "begin") open.push({ name, from: at });
    else if (kind === "end") {
      const k = open.findLastIndex((b) => b.name === name);
      const [begun] = k === -1 ? [] : open.splice(k, 1);
      if (begun !== undefined) add(name, begun.from, at);
    } else if (kind === "outOfMemory") marks.push({ at, text: name });
    else if (kind === "suspend") marks.push({ at, text: `scope ${name} suspended by a raw await` });
    else if (kind === "run") {
      const f = figures.get(i) ?? {};
      stretches.push({ name, row: 2, from: Number(f["from"] ?? at), to: at });
      const told = [
        ["swapOuts", "swaps out"],
        ["swapIns", "swaps in"],
        ["recomputedOps", "ops again"],
      ].flatMap(([key = "", what]) => (Number(f[key]) > 0 ? [`${String(f[key])} ${what}`] : []));
      if (told.length > 0) marks.push({ at, text: told.join(", ") });
      if (typeof f["predictedPeakBytes"] === "number") levels = levelsOf(f);
    }
  }
  for (const { name, from } of open) add(name, from, end);
  return { stretches, marks, levels };
}

function levelsOf(figures: Readonly<Record<string, unknown>>): Model["levels"] {
  return [
    ["predictedPeakBytes", "predicted peak"],
    ["measuredPeakBytes", "measured peak"],
    ["lowerBoundBytes", "lower bound"],
    ["budgetBytes", "budget"],
  ].flatMap(([key = "", name = ""]) => {
    const bytes = figures[key];
    return typeof bytes === "number" ? [{ name, bytes }] : [];
  });
}

/** One line that left something alive. */
export interface LeakRow {
  readonly place: string;
  readonly stack: number;
  readonly count: number;
  readonly bytes: number;
  readonly how: string;
}

/** What is alive at the end, by the line that made it, largest first. */
export function alive(trace: Trace, { blocks }: Model): LeakRow[] {
  const rows = new Map<string, LeakRow>();
  for (const { to, bytes, stack, owners } of blocks) {
    if (to !== Infinity) continue;
    const place = trace.stacks[stack]?.place ?? "(inside tenure)";
    const row = rows.get(place) ?? { place, stack, count: 0, bytes: 0, how: "" };
    const how = owners.at(-1)?.how ?? "";
    rows.set(place, { ...row, count: row.count + 1, bytes: row.bytes + bytes, how });
  }
  return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}

/** Index of the last event at or before a time, -1 for none. */
export function indexAt(at: Float64Array, time: number): number {
  let low = 0;
  let high = at.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((at[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The storage that lies at a height of the chart. */
export function blockAt(model: Model, time: number, height: number): Block | undefined {
  const i = indexAt(model.at, time);
  let below = 0;
  for (const [k, series] of model.bytes.entries()) {
    const here = series[i] ?? 0;
    if (height >= below + here) {
      below += here;
      continue;
    }
    for (const block of model.blocks) {
      if (block.from > time || block.to <= time) continue;
      if (block.owners.findLast((o) => o.at <= time)?.kind !== k) continue;
      below += block.bytes;
      if (height < below) return block;
    }
    return undefined;
  }
  return undefined;
}
