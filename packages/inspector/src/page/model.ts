/**
 * A trace replayed: bytes by owner after every event, each storage once however many aliases it
 * has, and the life of every storage. Called by the page. Pure; owns what it returns.
 */
import type { TraceData, TracedEvent } from "tenure";

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
const NO_SCOPE = KINDS.indexOf("no scope");
const GRAPH = KINDS.indexOf("graph or read");
const UNRECORDED = KINDS.indexOf("not recorded");
const POOL = KINDS.indexOf("free in the pool");

/** Who owns a storage from an event on: index into KINDS or -1 for nobody, and in words. */
export interface Ownership {
  readonly index: number;
  readonly kind: number;
  readonly how: string;
}

/** A storage's life. */
export interface Block {
  /** Its place among all storages, by when they were made. */
  readonly order: number;
  readonly text: string;
  readonly bytes: number;
  readonly stack: number;
  /** Oldest first; the first made it. */
  readonly owners: Ownership[];
}

/** Bytes after every event. */
export interface Model {
  readonly trace: TraceData;
  /** Per event: its time in ms. */
  readonly at: Float64Array;
  /** Per kind and event: bytes. */
  readonly bytes: readonly Float64Array[];
  /** Per event: bytes of all kinds, and on the device. */
  readonly sum: Float64Array;
  readonly device: Float64Array;
  readonly blocks: readonly Block[];
}

/** Handles on a storage, and its life. */
interface Live {
  readonly block: Block;
  readonly handles: Map<number, number>;
}

function kindOf(owner: string): number {
  const [word = ""] = owner.split(" ", 1);
  const kind = (KINDS as readonly string[]).indexOf(word);
  return kind === -1 ? NO_SCOPE : kind;
}

/** Follows the events. */
class Replay {
  readonly blocks: Block[] = [];
  readonly now = new Float64Array(KINDS.length);
  readonly #storages = new Map<number, Live>();
  readonly #handles = new Map<number, Live>();
  readonly #trace: TraceData;

  constructor(trace: TraceData) {
    this.#trace = trace;
  }

  /** One event. */
  follow(index: number, [kind, , id, bytes, storage, text, stack, owner]: TracedEvent): void {
    const said = this.#trace.texts[text] ?? "";
    const by = this.#trace.texts[owner] ?? "";
    if (kind === "create" && storage !== 0) {
      const order = this.blocks.length;
      let live = this.#storages.get(storage);
      if (live === undefined) {
        live = { block: { order, text: said, bytes, stack, owners: [] }, handles: new Map() };
        this.blocks.push(live.block);
        this.#storages.set(storage, live);
      }
      live.handles.set(id, kindOf(by));
      this.#handles.set(id, live);
      this.#settle(live, index, by === "" ? "made outside any scope" : `made into ${by}`);
    } else if (kind === "own") {
      const live = this.#handles.get(id);
      live?.handles.set(id, kindOf(by));
      if (live !== undefined) this.#settle(live, index, said);
    } else if (kind === "dispose" || kind === "finalize") {
      const live = this.#handles.get(id);
      live?.handles.delete(id);
      this.#handles.delete(id);
      const word = kind === "dispose" ? "disposed" : "collected as garbage";
      const how = `last handle ${word}; the graph or a read keeps the bytes`;
      if (live !== undefined) this.#settle(live, index, how);
    } else if (kind === "free" || kind === "revive") {
      const live = this.#storages.get(storage);
      if (live === undefined) return;
      if (kind === "free") this.#give(live, index, -1, "freed");
      else this.#settle(live, index, "taken back");
    }
  }

  /** Gives a storage's bytes to who owns it now: the first kind among its handles. */
  #settle(live: Live, index: number, how: string): void {
    let kind = GRAPH;
    for (const k of live.handles.values()) kind = Math.min(kind, k);
    this.#give(live, index, kind, how);
  }

  #give({ block: { bytes, owners } }: Live, index: number, kind: number, how: string): void {
    const before = owners.at(-1)?.kind ?? -1;
    if (kind === before) return;
    if (before !== -1) this.now[before] = (this.now[before] ?? 0) - bytes;
    if (kind !== -1) this.now[kind] = (this.now[kind] ?? 0) + bytes;
    owners.push({ index, kind, how });
  }
}

/** Replays a trace. */
export function modelOf(trace: TraceData): Model {
  const { events } = trace;
  const perEvent = (): Float64Array => new Float64Array(events.length);
  const [at, device, sum, bytes] = [perEvent(), perEvent(), perEvent(), KINDS.map(perEvent)];
  const replay = new Replay(trace);
  for (const [i, row] of events.entries()) {
    replay.follow(i, row);
    at[i] = row[1];
    device[i] = row[10];
    let recorded = 0;
    for (let k = 0; k < UNRECORDED; k++) {
      const value = replay.now[k] ?? 0;
      recorded += value;
      (bytes[k] ?? at)[i] = value;
    }
    const rest = Math.max(0, row[8] - recorded);
    (bytes[UNRECORDED] ?? at)[i] = rest;
    (bytes[POOL] ?? at)[i] = row[9];
    sum[i] = recorded + rest + row[9];
  }
  return { trace, at, bytes, sum, device, blocks: replay.blocks };
}

/** Who owns a storage after event `i`; undefined before it was made. */
export function ownerAt({ owners }: Block, i: number): Ownership | undefined {
  return owners.findLast(({ index }) => index <= i);
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

/** The storage that lies at a height of the chart after event `i`, if one is recorded there. */
export function blockAt(model: Model, i: number, height: number): Block | undefined {
  let below = 0;
  for (const [kind, series] of model.bytes.entries()) {
    const here = series[i] ?? 0;
    if (height >= below + here) {
      below += here;
      continue;
    }
    for (const block of model.blocks) {
      if (ownerAt(block, i)?.kind !== kind) continue;
      below += block.bytes;
      if (height < below) return block;
    }
    return undefined;
  }
  return undefined;
}

/**
 * The line that made a storage: that of its first handle, or of the scope it was made into where
 * the stack ended inside Tenure.
 */
export function placeOf({ trace }: Model, { stack, owners }: Block): string {
  const found = trace.stacks[stack];
  if (found !== undefined && found.frames.length > 0) return found.place;
  const scope = /\(opened at (\S+)\)/.exec(owners[0]?.how ?? "")?.[1];
  if (scope !== undefined) return scope;
  return found === undefined ? "(no stack recorded)" : "(inside tenure)";
}

/** What one line made that is alive. */
export interface AliveRow {
  readonly place: string;
  readonly stack: number;
  count: number;
  bytes: number;
  /** Kinds of owners, and how the last came to own. */
  readonly kinds: Set<number>;
  how: string;
  /** In how many steps it was made; a line that leaks has many. */
  readonly steps: Set<number>;
}

/**
 * What is alive after event `i`, by the line that made it, largest first. `begins`: when each step
 * began, in ms, ascending; what was made before the first counts for none.
 */
export function aliveAt(model: Model, i: number, begins: readonly number[]): AliveRow[] {
  const starts = Float64Array.from(begins);
  const rows = new Map<string, AliveRow>();
  for (const block of model.blocks) {
    const owner = ownerAt(block, i);
    if (owner === undefined || owner.kind === -1) continue;
    const { stack, bytes } = block;
    const place = placeOf(model, block);
    let row = rows.get(place);
    if (row === undefined) {
      row = { place, stack, count: 0, bytes: 0, kinds: new Set(), how: "", steps: new Set() };
      rows.set(place, row);
    }
    row.count++;
    row.bytes += bytes;
    row.how = owner.how;
    row.kinds.add(owner.kind);
    const step = indexAt(starts, model.at[block.owners[0]?.index ?? 0] ?? 0);
    if (step !== -1) row.steps.add(step);
  }
  return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}
