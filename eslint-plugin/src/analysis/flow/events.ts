/**
 * Events: the vocabulary of the dataflow (own, use, dispose, escape, alias, set), the segments that
 * hold them, and the frame of one function while its events are being read. Written by
 * `mention-events.ts`, `value-events.ts` and `closure-events.ts`, read by `flow.ts`. No rule sees
 * this file.
 */
import type ts from "typescript";
import type { Cell, Cells } from "./cells.ts";

/** Where a cell was given a fresh value. */
export interface Site {
  id: number;
  cell: Cell;
  /** The expression that makes the value. */
  value: ts.Expression;
  /** The declaration or assignment. */
  node: ts.Node;
  declares: boolean;
  nullable: boolean;
  /** On other paths the cell names somebody else's value: `flip ? x.neg() : x`. */
  partial: boolean;
}

/** What a mention does to a cell itself. */
export type Verb = "use" | "dispose" | "escape" | "return";

/** One event of the dataflow. */
export type Event =
  | { kind: "own"; cell: Cell; site: Site }
  | { kind: "set"; cell: Cell; to: "none" | "null" | "unknown"; node: ts.Node }
  | { kind: "alias"; cell: Cell; from: Cell; node: ts.Node }
  /** `xs = [a, b, x.neg()]`: a list takes over what variables own, and what is made in it. */
  | { kind: "gather"; cell: Cell; from: readonly Cell[]; sites: readonly Site[]; node: ts.Node }
  /** It is used as what is there is. */
  | { kind: "present"; cell: Cell; node: ts.Node }
  /** A function that runs when the one around it may have ended looks at the value. */
  | { kind: "capture"; cell: Cell; node: ts.Identifier; by: ts.Node }
  | { kind: Verb; cell: Cell; node: ts.Node; certain: boolean };

/** A run of events without branches. */
export interface Segment {
  id: string;
  events: Event[];
  previous: Segment[];
  forks: boolean;
  first: ts.Node | undefined;
  last: ts.Node | undefined;
  /** The return statement that ends the segment, if one does. */
  returns: ts.Node | undefined;
  /** Ends in a `yield`, where the consumer may leave the generator for good. */
  yields: boolean;
  /** Where it waits for a promise, and how many of its events come before. */
  waits: { node: ts.AwaitExpression; index: number }[];
}

/** The segments of one function, and where it begins and ends. */
export interface FunctionPaths {
  root: ts.Node;
  cells: Cells;
  segments: Segment[];
  initial: Segment;
  returned: Segment[];
  thrown: Segment[];
}

/** One function while its events are being read. */
export class Frame {
  readonly segments = new Map<string, Segment>();
  /** The segments control may be in at the node at hand. */
  readonly current = new Set<Segment>();
  /** Segments that have not met a node yet. */
  readonly fresh: Segment[] = [];
  readonly root: ts.Node;
  readonly cells: Cells;
  /** The local lists that helpers put fresh values into, each with such a value, by helper. */
  readonly fillers = new Map<ts.Node, [Cell, ts.Expression][]>();
  readonly #pending = new Map<ts.Node, Event[]>();
  readonly #forgotten: { name: string; node: ts.Node; segment: Segment; index: number }[] = [];
  #sites = 0;

  constructor(root: ts.Node, cells: Cells) {
    this.root = root;
    this.cells = cells;
  }

  /** Adds an event where control is now. */
  emit(event: Event): void {
    event.cell.seen.add(event.kind);
    if (event.kind === "dispose") event.cell.disposals++;
    if (event.kind === "alias") event.from.endings.add(event.node);
    if (/^(dispose|escape|return)$/.test(event.kind) && "node" in event)
      event.cell.endings.add(event.node);
    for (const segment of this.current) segment.events.push(event);
  }

  /** Adds an event when a node is left. */
  later(node: ts.Node, event: Event): void {
    const list = this.#pending.get(node);
    if (list) list.push(event);
    else this.#pending.set(node, [event]);
  }

  /**
   * Adds the events that wait for a node.
   *
   * @param hand only where a list goes somewhere, so that it may be given another value
   */
  leave(node: ts.Node, hand?: Cell): void {
    const events = this.#pending.get(node);
    if (!events) return;
    const isNow = (e: Event): boolean => !hand || (e.cell === hand && e.kind === "escape");
    this.#pending.set(
      node,
      events.filter((e) => !isNow(e)),
    );
    for (const event of events.filter(isNow)) this.emit(event);
  }

  /**
   * One event for the cell, or for each of its fields.
   *
   * @param at the node at whose end it happens; at once when not given
   */
  all(cell: Cell, kind: Verb, node: ts.Node, at?: ts.Node, certain = true): void {
    for (const target of cell.fields ? [cell, ...cell.fields.values()] : [cell]) {
      const event: Event = { kind, cell: target, node, certain };
      if (at) this.later(at, event);
      else this.emit(event);
    }
  }

  /** The cell is given a fresh value. */
  own(
    cell: Cell,
    value: ts.Expression,
    node: ts.Node,
    declares: boolean,
    nullable: boolean,
    partial = false,
  ): void {
    const site = this.site(cell, value, node, declares, nullable, partial);
    this.emit({ kind: "own", cell, site });
  }

  /** The cell is given a value when a declaration is left, after it was another name. */
  ownAfter(cell: Cell, value: ts.Expression, declaration: ts.Node, nullable: boolean): void {
    const site = this.site(cell, value, declaration, true, nullable);
    this.later(declaration, { kind: "own", cell, site });
  }

  /** A helper puts a fresh value into a local list whenever it is called. */
  filledBy(helper: ts.Node, cell: Cell, value: ts.Expression): void {
    this.fillers.set(helper, [...(this.fillers.get(helper) ?? []), [cell, value]]);
  }

  /** A new site of a cell. */
  site(
    cell: Cell,
    value: ts.Expression,
    node: ts.Node,
    declares: boolean,
    nullable = false,
    partial = false,
  ): Site {
    return { id: this.#sites++, cell, value, node, declares, nullable, partial };
  }

  /** The cell is given something else. */
  set(cell: Cell, to: "none" | "null" | "unknown", node: ts.Node): void {
    this.emit({ kind: "set", cell, to, node });
  }

  /** From here on nothing is known of the places whose meaning depends on a name. */
  forget(name: string, node: ts.Node): void {
    for (const segment of this.current)
      this.#forgotten.push({ name, node, segment, index: segment.events.length });
  }

  /** A promise is waited for where control is now. */
  wait(node: ts.AwaitExpression): void {
    for (const { waits, events } of this.current) waits.push({ node, index: events.length });
  }

  /** Forgets for good: also the places that were met only later, on the next turn of a loop. */
  settle(): void {
    for (const { name, node, segment, index } of this.#forgotten.reverse())
      for (const cell of this.cells.placesMentioning(name)) {
        cell.seen.add("set");
        segment.events.splice(index, 0, { kind: "set", cell, to: "none", node });
        for (const wait of segment.waits) if (wait.index > index) wait.index++;
      }
  }
}
