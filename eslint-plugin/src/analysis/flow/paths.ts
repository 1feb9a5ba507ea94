/**
 * Paths: one traversal of ESLint's steps (nodes and code-path events, the same list ESLint itself
 * walks) turns every function into segments with ownership events. Used by `analyse.ts`; `flow.ts`
 * runs states over the result.
 */
import type { TSESTree } from "@typescript-eslint/utils";
import ts from "typescript";
import { isLeftEarly } from "./generators.ts";
import { Cells } from "./cells.ts";
import { captured } from "./closure-events.ts";
import { fillEvents } from "./filled-lists.ts";
import { Frame, type Event, type FunctionPaths, type Segment } from "./events.ts";
import { identifierEvents, placeEvents } from "./mention-events.ts";
import type { Session } from "../session.ts";
import {
  enterSlots,
  slotCallEvents,
  slotEvents,
  slotsCaptured,
  slotStoreEvents,
} from "./slot-events.ts";
import { Slots } from "./slots.ts";
import { ownAnswer } from "./answers.ts";
import { takenEntry } from "./taken-entries.ts";
import { takenParameters } from "./taken-over.ts";
import { assignmentEvents, callEvents, declaratorEvents, defaultEvents } from "./value-events.ts";

interface RawSegment {
  id: string;
  reachable: boolean;
  prevSegments: RawSegment[];
  nextSegments: RawSegment[];
}
interface RawPath {
  initialSegment: RawSegment;
  returnedSegments: RawSegment[];
  thrownSegments: RawSegment[];
}
interface Step {
  kind?: number;
  type?: string;
  target: unknown;
  phase?: number;
  args: unknown[];
}

/** ESLint's source code, as far as it is needed here. */
export interface Traversable {
  traverse(): Iterable<unknown>;
}
type NodeMap = { get(node: TSESTree.Node): ts.Node | undefined };

/** Reads the whole file once and gives the paths of each function that has anything to follow. */
export function readPaths(
  session: Session,
  source: Traversable,
  map: NodeMap,
  file: ts.SourceFile,
): FunctionPaths[] {
  const reader = new PathReader(session, map, file);
  for (const step of source.traverse()) reader.step(step as Step);
  return reader.done;
}

/** A frame with ESLint's own segments beside ours. */
interface Reading {
  frame: Frame;
  path: RawPath;
  raw: Map<string, RawSegment>;
  /** Where `break` and `continue` leave for a `finally` that ESLint's paths pass by. */
  leaving: { segment: Segment; finals: readonly ts.Block[] }[];
}

class PathReader {
  readonly done: FunctionPaths[] = [];
  readonly #stack: (Reading | undefined)[] = [];
  readonly #session: Session;
  readonly #map: NodeMap;
  readonly #file: ts.SourceFile;
  readonly #slots: Slots;
  #reading: Reading | undefined;

  constructor(session: Session, map: NodeMap, file: ts.SourceFile) {
    this.#session = session;
    this.#map = map;
    this.#file = file;
    this.#slots = new Slots(session, file);
  }

  step(step: Step): void {
    if (typeof step.target !== "string")
      return this.#visit(step.target as TSESTree.Node, step.phase === 1);
    const [first, second] = step.args;
    switch (step.target) {
      case "onCodePathStart":
        this.#start(first as RawPath, second as TSESTree.Node);
        break;
      case "onCodePathEnd":
        this.#end();
        break;
      case "onCodePathSegmentStart":
      case "onUnreachableCodePathSegmentStart":
        this.#enter(first as RawSegment);
        break;
      case "onCodePathSegmentEnd":
      case "onUnreachableCodePathSegmentEnd":
        this.#leave(first as RawSegment);
        break;
    }
  }

  // ---- code paths ----

  #start(path: RawPath, node: TSESTree.Node): void {
    this.#stack.push(this.#reading);
    const root = node.type === "Program" ? this.#file : this.#map.get(node);
    this.#reading = undefined;
    if (!root) return; // what a parser of embedded scripts put in
    const frame = new Frame(root, new Cells(this.#session.oracle, root, this.#slots));
    this.#reading = { path, frame, raw: new Map(), leaving: [] };
    enterSlots(this.#session, frame, this.#slots);
  }

  #enter(raw: RawSegment): void {
    if (!this.#reading || !raw.reachable) return;
    const { frame } = this.#reading;
    let segment = frame.segments.get(raw.id);
    if (!segment) {
      segment = emptySegment(raw.id);
      frame.segments.set(raw.id, segment);
      this.#reading.raw.set(raw.id, raw);
    }
    frame.current.add(segment);
    frame.fresh.push(segment);
    if (raw.id !== this.#reading.path.initialSegment.id) return;
    takenParameters(this.#session, frame);
    ownAnswer(this.#session, frame);
  }

  #leave(raw: RawSegment): void {
    const segment = this.#reading?.frame.segments.get(raw.id);
    if (segment) this.#reading?.frame.current.delete(segment);
  }

  #end(): void {
    const reading = this.#reading;
    this.#reading = this.#stack.pop();
    if (!reading) return;
    const { frame, path } = reading;
    const ours = (list: readonly RawSegment[]): Segment[] =>
      list.flatMap((s) => frame.segments.get(s.id) ?? []);
    for (const [id, segment] of frame.segments) {
      const raw = reading.raw.get(id);
      if (!raw) continue;
      segment.previous = ours(raw.prevSegments);
      segment.forks = raw.nextSegments.length > 1;
    }
    for (const { segment, finals } of reading.leaving)
      for (const block of finals) segment.events.push(...eventsWithin(frame, block));
    frame.settle();
    const initial = frame.segments.get(path.initialSegment.id);
    if (initial && frame.cells.all.length > 0) {
      this.done.push({
        root: frame.root,
        cells: frame.cells,
        segments: [...frame.segments.values()],
        initial,
        returned: ours(path.returnedSegments),
        thrown: ours(path.thrownSegments),
      });
    }
    if (!this.#reading) return;
    captured(this.#session, this.#reading.frame, frame.root);
    slotsCaptured(this.#session, this.#reading.frame, frame.root);
  }

  // ---- nodes ----

  #visit(node: TSESTree.Node, entering: boolean): void {
    const reading = this.#reading;
    if (!reading) return;
    const { frame } = reading;
    if (entering) {
      if (node.type === "ContinueStatement" || node.type === "BreakStatement")
        this.#jump(reading, node);
      if (frame.fresh.length === 0) return;
      const at = this.#map.get(node);
      for (const segment of frame.fresh) segment.first ??= at;
      frame.fresh.length = 0;
      return;
    }
    const { cells } = frame;
    if (cells.names.size === 0 && cells.all.length === 0 && !mayName(node)) return;
    const at = this.#map.get(node);
    if (!at) return;
    for (const segment of frame.current) segment.last = at;
    this.#exit(reading, node, at);
  }

  #jump({ frame, leaving }: Reading, node: TSESTree.Node): void {
    const at = this.#map.get(node);
    const finals = at && ts.isBreakOrContinueStatement(at) ? finalsCrossed(at) : [];
    if (finals.length === 0) return;
    for (const segment of frame.current) leaving.push({ segment, finals });
  }

  #exit({ frame, raw }: Reading, node: TSESTree.Node, at: ts.Node): void {
    switch (node.type) {
      case "Identifier":
        if (ts.isIdentifier(at)) identifierEvents(this.#session, frame, at);
        slotEvents(this.#session, frame, at);
        return;
      case "MemberExpression":
        if (ts.isPropertyAccessExpression(at) || ts.isElementAccessExpression(at))
          placeEvents(this.#session, frame, at);
        slotEvents(this.#session, frame, at);
        return;
      case "VariableDeclarator":
        if (ts.isVariableDeclaration(at)) declaratorEvents(this.#session, frame, at);
        break;
      case "AssignmentExpression":
        if (!ts.isBinaryExpression(at)) break;
        assignmentEvents(this.#session, frame, at);
        slotStoreEvents(this.#session, frame, at);
        break;
      case "CallExpression":
      case "NewExpression":
        if (!ts.isCallExpression(at) && !ts.isNewExpression(at)) break;
        callEvents(this.#session, frame, at);
        fillEvents(this.#session, frame, at);
        takenEntry(this.#session, frame, at);
        slotCallEvents(this.#session, frame, at);
        break;
      case "AssignmentPattern":
        if (ts.isParameter(at) || ts.isBindingElement(at)) defaultEvents(this.#session, frame, at);
        break;
      case "AwaitExpression":
        frame.forget("this", at);
        if (ts.isAwaitExpression(at)) frame.wait(at);
        break;
      case "YieldExpression":
        if (isLeftEarly(this.#session, frame.root)) break;
        for (const segment of frame.current)
          for (const before of raw.get(segment.id)?.prevSegments ?? []) {
            const left = frame.segments.get(before.id);
            if (left) left.yields = true;
          }
        break;
      case "ReturnStatement":
        for (const segment of frame.current) segment.returns = at;
        break;
      default:
        break;
    }
    frame.leave(at);
  }
}

/** The `finally` blocks that run on the way from a jump to where it goes, innermost first. */
function finalsCrossed(jump: ts.BreakOrContinueStatement): ts.Block[] {
  const found: ts.Block[] = [];
  for (let at: ts.Node = jump; !ts.isSourceFile(at); at = at.parent) {
    const up = at.parent;
    if (ts.isTryStatement(up) && up.finallyBlock && up.finallyBlock !== at)
      found.push(up.finallyBlock);
    if (ts.isFunctionLike(up) || goesTo(jump, up)) break;
  }
  return found;
}

/** Whether a jump goes to the end or the head of a statement. */
function goesTo(jump: ts.BreakOrContinueStatement, to: ts.Node): boolean {
  if (jump.label) return ts.isLabeledStatement(to) && to.label.text === jump.label.text;
  return (
    ts.isIterationStatement(to, false) || (ts.isBreakStatement(jump) && ts.isSwitchStatement(to))
  );
}

/** What happens in a block, on any path through it, in the order it was read. */
function eventsWithin(frame: Frame, block: ts.Block): Event[] {
  const found = new Set<Event>();
  for (const { events } of frame.segments.values())
    for (const event of events) {
      const node = event.kind === "own" ? event.site.node : event.node;
      if (node.pos >= block.pos && node.end <= block.end) found.add(event);
    }
  return [...found];
}

/** What matters before anything is followed: a place, or a name that places may be made of. */
const mayName = ({ type }: TSESTree.Node): boolean =>
  type === "MemberExpression" || type === "VariableDeclarator" || type === "AssignmentExpression";

const emptySegment = (id: string): Segment => ({
  id,
  events: [],
  previous: [],
  forks: false,
  first: undefined,
  last: undefined,
  returns: undefined,
  yields: false,
  waits: [],
});
