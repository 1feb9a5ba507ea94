/**
 * The event log as data for the inspector: version 1 of the format that `memory.chromeTrace()`
 * carries beside its events. Texts, owners and stacks are tables, events are rows of numbers. Reads
 * the log, owns nothing.
 */
import { type EventKind, type LoggedEvent, eventLog } from "./log.ts";
import { type Capture, type TrackLevel, sites } from "./site.ts";
import { formatSite, mappableStack } from "./stack.ts";
import { spans } from "./timeline.ts";

/**
 * A stack: its first line outside Tenure, and all of them; of a bundle, the outermost line, and the
 * frames inside Tenure, too, as nobody can tell them apart before source maps were read.
 */
export interface TracedStack {
  readonly place: string;
  readonly frames: readonly string[];
}

/** A scope's life: name, stack (-1: none), from and to in ms, peak in bytes, lane. */
export type TracedScope = readonly [string, number, number, number, number, number];

/**
 * One event: kind, ms, handle or scope, bytes, storage, text, stack, owner (the last three indices
 * into tables, -1 for none), bytes owned, free in the pool, on the device.
 */
export type TracedEvent = readonly [
  EventKind,
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

/** One value in a slot: slot, byte offset, bytes, first and last step, storage, role, op, phase. */
export type PlanBox = readonly [
  number,
  number,
  number,
  number,
  number,
  string,
  string,
  string,
  string,
];

/** A plan as rectangles: slots against steps. */
export interface TracedPlan {
  readonly title: string;
  /** Bytes of each slot. */
  readonly slots: readonly number[];
  /** What each step does: kind and op. */
  readonly steps: readonly string[];
  readonly boxes: readonly PlanBox[];
  readonly plannedBytes: number;
  readonly lowerBoundBytes: number;
  /** Null without a budget. */
  readonly budgetBytes: number | null;
}

/** What the layers above know besides. */
export interface TraceExtras {
  /** Name of the device, or null before there is one. */
  readonly device: string | null;
  readonly plans: readonly TracedPlan[];
}

/** Everything the inspector draws. Bytes, and milliseconds since the page or process started. */
export interface TraceData extends TraceExtras {
  readonly version: 1;
  readonly level: TrackLevel;
  /** Events that were overwritten. */
  readonly dropped: number;
  readonly texts: readonly string[];
  readonly stacks: readonly TracedStack[];
  readonly scopes: readonly TracedScope[];
  readonly events: readonly TracedEvent[];
  /** Index of an event, and figures of it: of runs and steps. */
  readonly figures: readonly (readonly [number, Readonly<Record<string, unknown>>])[];
}

/** Numbers texts or captures in the order in which they are met. */
class Table<T> {
  readonly items: T[] = [];
  readonly #index = new Map<T, number>();

  /** The number of an item. */
  of(item: T): number {
    const known = this.#index.get(item);
    if (known !== undefined) return known;
    this.#index.set(item, this.items.length);
    return this.items.push(item) - 1;
  }
}

/** The log as data. */
export function traceData(extras: TraceExtras): TraceData {
  const { events, dropped } = eventLog().read();
  const texts = new Table<string>();
  const captures = new Table<Capture>();
  const stackOf = (site: Capture | null): number => (site === null ? -1 : captures.of(site));
  const row = (e: LoggedEvent): TracedEvent => [
    e.kind,
    Math.round(e.at * 1000) / 1000,
    e.id,
    e.bytes,
    e.storage ?? 0,
    texts.of(e.text),
    stackOf(e.site),
    e.owner === undefined ? -1 : texts.of(e.owner),
    e.owned,
    e.pool,
    e.device,
  ];
  const scopes = spans(events, events.at(-1)?.at ?? 0).map((s): TracedScope => [
    s.name,
    stackOf(s.site),
    s.from,
    s.to,
    s.peak,
    s.lane,
  ]);
  const rows = events.map(row);
  const figures = events.flatMap((e, i) =>
    e.figures === undefined ? [] : ([[i, e.figures]] as const),
  );
  const stacks = captures.items.map((capture) => ({
    place: formatSite(capture) ?? "(inside tenure)",
    frames: mappableStack(capture).map((frame) => frame.text),
  }));
  const { level } = sites();
  return {
    version: 1,
    level,
    dropped,
    ...extras,
    texts: texts.items,
    stacks,
    scopes,
    events: rows,
    figures,
  };
}
