/**
 * Events: one traversal of ESLint's steps (nodes and code-path events, the same list ESLint itself
 * walks) turns every function into segments with ownership events: own, use, dispose, escape,
 * alias, set. `flow.ts` runs states over them. No rule sees this file.
 */
import type { TSESTree } from "@typescript-eslint/utils";
import ts from "typescript";
import { Cells, type Cell } from "./cells.ts";
import { callsDisposeSymbol, disposesArguments, isDisposer } from "./disposes.ts";
import { fateOf, returnsOf, type Fate } from "./fate.ts";
import { elementFreshness, keptBy } from "./is-fresh.ts";
import { hasBody, unwrap, type CallLike } from "./syntax.ts";
import { referencesTo } from "./references.ts";
import type { Freshness, Session } from "./session.ts";
import { handedTo, storesAlias } from "./takes.ts";

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
}

export type Event =
  | { kind: "own"; cell: Cell; site: Site }
  | { kind: "set"; cell: Cell; to: "none" | "null" | "unknown"; node: ts.Node }
  | { kind: "alias"; cell: Cell; from: Cell; node: ts.Node }
  | { kind: "use" | "dispose" | "escape" | "return"; cell: Cell; node: ts.Node; certain: boolean };

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
}

export interface FunctionPaths {
  root: ts.Node;
  cells: Cells;
  segments: Segment[];
  initial: Segment;
  returned: Segment[];
  thrown: Segment[];
}

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
export interface Traversable {
  traverse(): Iterable<unknown>;
}
type NodeMap = { get(node: TSESTree.Node): ts.Node | undefined };

class Frame {
  readonly segments = new Map<string, Segment>();
  readonly raw = new Map<string, RawSegment>();
  readonly current = new Set<Segment>();
  readonly pending = new Map<ts.Node, Event[]>();
  readonly fresh: Segment[] = [];
  readonly path: RawPath;
  readonly root: ts.Node;
  readonly cells: Cells;
  constructor(path: RawPath, root: ts.Node, cells: Cells) {
    this.path = path;
    this.root = root;
    this.cells = cells;
  }
}

/** Reads the whole file once and gives the paths of each function that has anything to follow. */
export function readPaths(session: Session, source: Traversable, map: NodeMap): FunctionPaths[] {
  const reader = new Reader(session, map);
  for (const step of source.traverse()) reader.step(step as Step);
  return reader.done;
}

class Reader {
  readonly done: FunctionPaths[] = [];
  private readonly stack: Frame[] = [];
  private frame: Frame | undefined;
  private sites = 0;
  private readonly session: Session;
  private readonly map: NodeMap;

  constructor(session: Session, map: NodeMap) {
    this.session = session;
    this.map = map;
  }

  step(step: Step): void {
    if (typeof step.target !== "string")
      return this.visit(step.target as TSESTree.Node, step.phase === 1);
    const [first, second] = step.args;
    switch (step.target) {
      case "onCodePathStart":
        this.start(first as RawPath, second as TSESTree.Node);
        break;
      case "onCodePathEnd":
        this.end();
        break;
      case "onCodePathSegmentStart":
      case "onUnreachableCodePathSegmentStart":
        this.enter(first as RawSegment);
        break;
      case "onCodePathSegmentEnd":
      case "onUnreachableCodePathSegmentEnd":
        this.leave(first as RawSegment);
        break;
    }
  }

  private start(path: RawPath, node: TSESTree.Node): void {
    if (this.frame) this.stack.push(this.frame);
    const root = this.map.get(node);
    if (!root) throw new Error(`internal: no TypeScript node for ${node.type}`);
    this.frame = new Frame(path, root, new Cells(this.session.oracle, root));
  }

  private segment(frame: Frame, raw: RawSegment): Segment {
    let segment = frame.segments.get(raw.id);
    if (!segment) {
      segment = {
        id: raw.id,
        events: [],
        previous: [],
        forks: false,
        first: undefined,
        last: undefined,
        returns: undefined,
        yields: false,
      };
      frame.segments.set(raw.id, segment);
      frame.raw.set(raw.id, raw);
    }
    return segment;
  }

  private enter(raw: RawSegment): void {
    if (!this.frame || !raw.reachable) return;
    const segment = this.segment(this.frame, raw);
    this.frame.current.add(segment);
    this.frame.fresh.push(segment);
  }
  private leave(raw: RawSegment): void {
    const segment = this.frame?.segments.get(raw.id);
    if (segment) this.frame?.current.delete(segment);
  }

  private end(): void {
    const { frame } = this;
    if (!frame) return;
    for (const [id, segment] of frame.segments) {
      const raw = frame.raw.get(id);
      if (!raw) continue;
      segment.previous = raw.prevSegments.flatMap((p) => frame.segments.get(p.id) ?? []);
      segment.forks = raw.nextSegments.length > 1;
    }
    const pick = (list: RawSegment[]): Segment[] =>
      list.flatMap((s) => frame.segments.get(s.id) ?? []);
    const initial = frame.segments.get(frame.path.initialSegment.id);
    if (initial && frame.cells.all.length > 0) {
      this.done.push({
        root: frame.root,
        cells: frame.cells,
        segments: [...frame.segments.values()],
        initial,
        returned: pick(frame.path.returnedSegments),
        thrown: pick(frame.path.thrownSegments),
      });
    }
    this.frame = this.stack.pop();
    if (this.frame) this.captured(frame.root);
  }

  private emit(event: Event): void {
    event.cell.seen.add(event.kind);
    if (event.kind === "dispose") event.cell.disposals++;
    for (const segment of this.frame?.current ?? []) segment.events.push(event);
  }
  private later(node: ts.Node, event: Event): void {
    const list = this.frame?.pending.get(node);
    if (list) list.push(event);
    else this.frame?.pending.set(node, [event]);
  }

  // ---- nodes ----

  private visit(node: TSESTree.Node, entering: boolean): void {
    const { frame } = this;
    if (!frame) return;
    if (entering) {
      if (frame.fresh.length > 0) {
        const at = this.map.get(node);
        for (const segment of frame.fresh) segment.first ??= at;
        frame.fresh.length = 0;
      }
      return;
    }
    if (
      frame.cells.names.size === 0 &&
      node.type !== "MemberExpression" &&
      frame.cells.all.length === 0
    )
      return;
    const at = this.map.get(node);
    if (!at) return;
    for (const segment of frame.current) segment.last = at;
    this.exit(frame, node, at);
  }

  private exit(frame: Frame, node: TSESTree.Node, at: ts.Node): void {
    switch (node.type) {
      case "Identifier":
        if (ts.isIdentifier(at)) this.identifier(frame, at);
        return;
      case "MemberExpression":
        if (ts.isPropertyAccessExpression(at) || ts.isElementAccessExpression(at))
          this.place(frame, at);
        return;
      case "VariableDeclarator":
        if (ts.isVariableDeclaration(at)) this.declarator(frame, at);
        break;
      case "AssignmentExpression":
        if (ts.isBinaryExpression(at)) this.assignment(frame, at);
        break;
      case "CallExpression":
      case "NewExpression":
        if (ts.isCallExpression(at) || ts.isNewExpression(at)) this.call(frame, at);
        break;
      case "AwaitExpression":
        for (const cell of frame.cells.placesMentioning("this"))
          this.emit({ kind: "set", cell, to: "none", node: at });
        break;
      case "YieldExpression":
        for (const segment of frame.current)
          for (const before of frame.raw.get(segment.id)?.prevSegments ?? []) {
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
    const events = frame.pending.get(at);
    if (events) {
      frame.pending.delete(at);
      for (const event of events) this.emit(event);
    }
  }

  private identifier(frame: Frame, id: ts.Identifier): void {
    const cell = frame.cells.at(id);
    if (!cell || cell.name === id) return;
    const fate = fateOf(id);
    if (cell.fields && fate.kind === "read") {
      const field = cell.fields.get(fate.member);
      if (field)
        this.reference(
          frame,
          field,
          fate.node as ts.Expression,
          fateOf(fate.node as ts.Expression),
        );
      return; // what the other fields hold is not owned
    }
    if (cell.fields && fate.kind === "receiver") {
      // a method called on a field's name is the field's own business: `out.age.dispose()` is a
      // read of `age` first
      return;
    }
    this.reference(frame, cell, id, fate);
  }

  private place(
    frame: Frame,
    access: ts.PropertyAccessExpression | ts.ElementAccessExpression,
  ): void {
    if (
      ts.isPropertyAccessExpression(access) &&
      ts.isIdentifier(access.expression) &&
      frame.cells.at(access.expression)?.fields
    )
      return;
    if (ts.isCallExpression(access.parent) && access.parent.expression === access) return;
    const cell = frame.cells.place(access);
    if (!cell) return;
    const fate = fateOf(access);
    if (
      fate.kind === "receiver" ||
      fate.kind === "argument" ||
      fate.kind === "bound" ||
      fate.kind === "read"
    )
      this.reference(frame, cell, access, fate);
  }

  // ---- references ----

  /**
   * Turns one mention of a cell into events. `node` is the identifier or access that mentions it.
   */
  private reference(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate, hops = 0): void {
    // at once: a generator may end at its `yield`
    if (fate.kind === "yielded") return this.all(cell, "escape", node);
    if (fate.literal && fate.kind !== "argument")
      return this.all(cell, "escape", node, fate.node, frame);
    switch (fate.kind) {
      case "receiver":
        return this.receiver(frame, cell, node, fate);
      case "read":
        if (
          cell.owned.shape === "many" &&
          ts.isPropertyAccessExpression(fate.node) &&
          this.session.oracle.ownedAt(fate.node)
        )
          return this.element(frame, cell, node, fate);
        if (!cell.owned.owner.safeAfterDispose.includes(fate.member) && fate.member !== "length")
          this.all(cell, "use", node);
        return;
      case "element":
        return this.element(frame, cell, node, fate);
      case "argument":
        return this.argument(frame, cell, node, fate, hops);
      case "returned":
        return this.all(cell, "return", node);
      case "bound":
        return this.bound(frame, cell, node, fate);
      case "assigned":
        return this.assigned(frame, cell, node, fate);
      case "iterated":
        return this.iterated(frame, cell, node, fate);
      case "operand":
      case "called":
      case "dropped":
        return;
      case "unknown":
        if (isTarget(node)) return;
        return this.all(cell, "escape", node);
      default:
        return this.all(cell, "escape", node);
    }
  }

  /**
   * One event for the cell, or for each of its fields; at the exit of `at` when given, else at
   * once.
   */
  private all(
    cell: Cell,
    kind: "use" | "dispose" | "escape" | "return",
    node: ts.Node,
    at?: ts.Node,
    frame?: Frame,
    certain = true,
  ): void {
    for (const target of cell.fields ? [cell, ...cell.fields.values()] : [cell]) {
      const event: Event = { kind, cell: target, node, certain };
      if (at && frame) this.later(at, event);
      else this.emit(event);
    }
  }

  private receiver(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate): void {
    const call = fate.node as ts.CallExpression;
    if (isDisposer(cell.owned, fate.member)) return this.all(cell, "dispose", node, call, frame);
    if (cell.owned.owner.keep.methods.includes(fate.member))
      return this.all(cell, "escape", node, call, frame);
    if (cell.owned.shape === "one") {
      if (cell.owned.owner.safeAfterDispose.includes(fate.member)) return;
      this.all(cell, "use", node);
      const { owner } = cell.owned;
      const again =
        owner.policy === "generic" &&
        owner.args === "transfer" &&
        this.session.oracle.ownedAt(call)?.owner === owner; // perhaps the same object
      if (again && fateOf(call).kind !== "dropped") this.all(cell, "escape", node, call, frame);
      return;
    }
    this.containerCall(frame, cell, node, call, fate.member);
  }

  private containerCall(
    frame: Frame,
    cell: Cell,
    node: ts.Expression,
    call: ts.CallExpression,
    member: string,
  ): void {
    // see `call`
    if (member === "push" || member === "unshift" || member === "set" || member === "add") return;
    const first = call.arguments[0];
    const callback = first && unwrap(first);
    if ((member === "forEach" || member === "map") && callback) {
      const effect = hasBody(callback) ? this.session.summary(callback).parameters[0] : undefined;
      if (effect?.disposes) return this.all(cell, "dispose", node, call, frame);
      return this.all(
        cell,
        !effect || effect.stores || effect.returns ? "escape" : "use",
        node,
        call,
        frame,
      );
    }
    const reads = ["some", "every", "includes", "indexOf", "join", "has", "keys", "findIndex"];
    this.all(cell, reads.includes(member) ? "use" : "escape", node, call, frame);
  }

  private element(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate): void {
    if (callsDisposeSymbol(fate)) return this.all(cell, "dispose", node, fate.node.parent, frame);
    if (cell.owned.shape === "one") return;
    const inner = fateOf(fate.node as ts.Expression);
    if (isTarget(fate.node) || inner.kind === "operand") return;
    if (inner.kind === "read" && cell.owned.owner.safeAfterDispose.includes(inner.member)) return;
    const owned = this.session.oracle.ownedAt(fate.node);
    const reads =
      (inner.kind === "receiver" &&
        owned &&
        !isDisposer(owned, inner.member) &&
        !owned.owner.keep.methods.includes(inner.member)) ||
      inner.kind === "read" ||
      (inner.kind === "argument" &&
        owned &&
        this.session.effect(inner.node as CallLike, fate.node) === "borrows");
    this.all(cell, reads ? "use" : "escape", node);
  }

  private argument(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate, hops: number): void {
    const call = fate.node as CallLike;
    switch (this.session.effect(call, node)) {
      case "borrows":
        return this.all(cell, "use", node);
      case "disposes": {
        // a function that disposes its parameter may do so on some paths only
        const certain = disposesArguments(this.session, call, cell.owned);
        return this.all(cell, fate.conditional ? "escape" : "dispose", node, call, frame, certain);
      }
      case "identity": {
        const kept =
          ts.isCallExpression(call) &&
          keptBy(this.session, call, this.session.oracle.callee(call), cell.owned) !== undefined;
        if (kept || fate.literal || hops > 4) return this.all(cell, "escape", node, call, frame);
        return this.reference(frame, cell, node, fateOf(call), hops + 1);
      }
      default:
        return this.all(cell, "escape", node, call, frame);
    }
  }

  private bound(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate): void {
    const declaration = fate.node;
    if (!ts.isVariableDeclaration(declaration)) return this.all(cell, "escape", node);
    if (!ts.isIdentifier(declaration.name) || fate.conditional)
      return this.all(cell, "escape", node, declaration, frame);
    const target = frame.cells.of(declaration);
    if (!target) return this.all(cell, "escape", node, declaration, frame);
    if (target.kind === "using")
      return this.all(
        cell,
        cell.kind === "parameter" ? "dispose" : "escape",
        node,
        declaration,
        frame,
      );
    this.link(cell, target, declaration);
  }

  private link(from: Cell, cell: Cell, at: ts.Node): void {
    this.later(at, { kind: "alias", cell, from, node: at });
    for (const [name, field] of from.fields ?? []) {
      const target = cell.fields?.get(name);
      if (target) this.later(at, { kind: "alias", cell: target, from: field, node: at });
    }
  }

  private assigned(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate): void {
    const assignment = fate.node as ts.BinaryExpression;
    const target = ts.isIdentifier(assignment.left) ? frame.cells.at(assignment.left) : undefined;
    if (target === cell) return;
    if (storesAlias(cell.owned.owner, assignment.left)) return this.all(cell, "use", node);
    if (!target || fate.conditional || target.kind === "using")
      return this.all(cell, "escape", node, assignment, frame);
    this.link(cell, target, assignment);
  }

  private iterated(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate): void {
    const loop = fate.node as ts.ForOfStatement;
    if (!ts.isVariableDeclarationList(loop.initializer))
      return this.all(cell, "escape", node, loop, frame);
    if (
      ts.getCombinedNodeFlags(loop.initializer.declarations[0]!) & ts.NodeFlags.Using &&
      !(ts.getCombinedNodeFlags(loop.initializer.declarations[0]!) & ts.NodeFlags.Const)
    )
      return this.all(cell, "dispose", node, loop, frame);
    let kind: "use" | "dispose" | "escape" = "use";
    for (const declaration of loop.initializer.declarations) {
      if (!ts.isIdentifier(declaration.name)) {
        kind = "escape";
        continue;
      }
      for (const id of referencesTo(
        this.session.oracle,
        declaration,
        declaration.name,
        loop.statement,
      )) {
        const inner = fateOf(id);
        const owned = this.session.oracle.ownedAt(id);
        const disposes =
          owned &&
          ((inner.kind === "receiver" && isDisposer(owned, inner.member)) ||
            (inner.kind === "argument" &&
              this.session.effect(inner.node as CallLike, id) === "disposes"));
        if (disposes) {
          kind = "dispose";
          break;
        }
        if (inner.kind === "receiver" || inner.kind === "read" || inner.kind === "operand")
          continue;
        if (
          inner.kind === "argument" &&
          this.session.effect(inner.node as CallLike, id) === "borrows"
        )
          continue;
        kind = "escape";
      }
    }
    this.all(cell, kind, node, loop, frame);
  }

  // ---- values ----

  private own(
    cell: Cell,
    value: ts.Expression,
    node: ts.Node,
    declares: boolean,
    nullable: boolean,
  ): void {
    this.emit({
      kind: "own",
      cell,
      site: { id: this.sites++, cell, value, node, declares, nullable },
    });
  }

  private give(
    frame: Frame,
    cell: Cell,
    value: ts.Expression,
    node: ts.Node,
    declares: boolean,
  ): void {
    if (cell.kind === "using") return;
    const bare = unwrap(value);
    if (isNull(bare)) return this.emit({ kind: "set", cell, to: "null", node });
    if (ts.isIdentifier(bare) && frame.cells.at(bare)) return; // an alias event is pending
    if (ts.isBinaryExpression(bare) && bare.operatorToken.kind === ts.SyntaxKind.EqualsToken)
      return this.emit({ kind: "set", cell, to: "unknown", node }); // `a = b = value`
    if (
      (ts.isPropertyAccessExpression(bare) || ts.isElementAccessExpression(bare)) &&
      this.aliasesCell(frame, bare)
    )
      return;
    if (
      ts.isCallExpression(bare) &&
      keptBy(this.session, bare, this.session.oracle.callee(bare), cell.owned)
    )
      return this.emit({ kind: "set", cell, to: "unknown", node });
    const found = this.session.freshness(value);
    if (!cell.fields && namesCells(frame, bare))
      return this.emit({ kind: "set", cell, to: "unknown", node });
    if (cell.fields) return this.giveFields(cell, bare, found, node, declares);
    if (ts.isArrayLiteralExpression(bare) && bare.elements.length === 0)
      return this.emit({ kind: "set", cell, to: "none", node });
    if (found === "fresh")
      return this.own(
        cell,
        value,
        node,
        declares,
        this.session.oracle.ownedAt(value)?.nullable === true || hasNullArm(bare),
      );
    this.emit({ kind: "set", cell, to: found === "borrowed" ? "none" : "unknown", node });
  }

  private aliasesCell(
    frame: Frame,
    access: ts.PropertyAccessExpression | ts.ElementAccessExpression,
  ): boolean {
    if (
      ts.isPropertyAccessExpression(access) &&
      ts.isIdentifier(access.expression) &&
      frame.cells.at(access.expression)?.fields?.has(access.name.text)
    )
      return true;
    return frame.cells.place(access) !== undefined;
  }

  private giveFields(
    cell: Cell,
    value: ts.Expression,
    found: Freshness,
    node: ts.Node,
    declares: boolean,
  ): void {
    const literal = ts.isObjectLiteralExpression(value) ? value : undefined;
    for (const [name, field] of cell.fields ?? []) {
      const property = literal?.properties.find(
        (p) => p.name && ts.isIdentifier(p.name) && p.name.text === name,
      );
      const inner =
        property && ts.isPropertyAssignment(property) ? property.initializer : undefined;
      const named = inner !== undefined && ts.isIdentifier(unwrap(inner));
      const state = literal ? (inner && !named ? this.session.freshness(inner) : "unknown") : found;
      const at = inner ?? value;
      if (state === "fresh") this.own(field, at, node, declares, false);
      else
        this.emit({
          kind: "set",
          cell: field,
          to: state === "borrowed" ? "none" : "unknown",
          node,
        });
    }
    this.emit({ kind: "set", cell, to: "none", node });
  }

  private declarator(frame: Frame, declaration: ts.VariableDeclaration): void {
    for (const cell of ts.isIdentifier(declaration.name)
      ? frame.cells.placesMentioning(declaration.name.text)
      : [])
      this.emit({ kind: "set", cell, to: "none", node: declaration });
    if (ts.isIdentifier(declaration.name)) {
      const cell = frame.cells.of(declaration);
      if (!cell) return;
      if (declaration.initializer)
        return this.give(frame, cell, declaration.initializer, declaration, true);
      if (ts.isForOfStatement(declaration.parent.parent))
        return this.loopVariable(cell, declaration.parent.parent, declaration);
      return this.emit({ kind: "set", cell, to: "null", node: declaration });
    }
    const source =
      declaration.initializer ??
      (ts.isForOfStatement(declaration.parent.parent)
        ? declaration.parent.parent.expression
        : undefined);
    if (source) this.destructure(frame, declaration.name, source, declaration);
  }

  private loopVariable(cell: Cell, loop: ts.ForOfStatement, node: ts.Node): void {
    const fresh =
      cell.kind !== "using" &&
      ts.isCallExpression(unwrap(loop.expression)) &&
      elementFreshness(this.session, loop.expression) === "fresh";
    if (fresh) this.own(cell, loop.expression, node, true, cell.owned.nullable);
    else this.emit({ kind: "set", cell, to: "none", node });
  }

  private destructure(
    frame: Frame,
    pattern: ts.BindingPattern,
    source: ts.Expression,
    node: ts.Node,
  ): void {
    const bare = unwrap(source);
    const literal =
      ts.isArrayLiteralExpression(bare) ||
      (ts.isCallExpression(bare) && this.session.oracle.callee(bare).builtin)
        ? bare
        : undefined;
    const found =
      literal && ts.isArrayLiteralExpression(literal)
        ? undefined
        : ts.isForOfStatement(node.parent.parent)
          ? elementFreshness(this.session, source)
          : this.session.freshness(source);
    const ownsSource = ts.isIdentifier(bare) ? frame.cells.at(bare) : undefined;
    pattern.elements.forEach((element, index) => {
      if (!ts.isBindingElement(element)) return;
      if (!ts.isIdentifier(element.name))
        return this.destructure(frame, element.name, source, node);
      const cell = frame.cells.of(element);
      if (!cell || cell.kind === "using") return;
      const part =
        literal && ts.isArrayLiteralExpression(literal) ? literal.elements[index] : undefined;
      if (part) return this.give(frame, cell, part, node, true);
      const moved =
        ownsSource !== undefined &&
        !element.dotDotDotToken &&
        ownsSource.kind === "local" &&
        ownsSource.seen.has("own");
      if ((found === "fresh" || moved) && !element.initializer && !element.dotDotDotToken)
        this.own(cell, source, node, true, cell.owned.nullable);
      else this.emit({ kind: "set", cell, to: found === "borrowed" ? "none" : "unknown", node });
    });
  }

  private assignment(frame: Frame, node: ts.BinaryExpression): void {
    const { left } = node;
    if (ts.isIdentifier(left))
      for (const cell of frame.cells.placesMentioning(left.text))
        this.emit({ kind: "set", cell, to: "none", node });
    if (ts.isPropertyAccessExpression(left) || ts.isElementAccessExpression(left))
      return this.assignPlace(frame, left, node);
    if (ts.isArrayLiteralExpression(left) || ts.isObjectLiteralExpression(left))
      return this.assignPattern(frame, left, node);
    const cell = ts.isIdentifier(left) ? frame.cells.at(left) : undefined;
    if (!cell) return;
    if (node.operatorToken.kind !== ts.SyntaxKind.EqualsToken)
      return this.all(cell, "escape", node);
    this.give(frame, cell, node.right, node, false);
    const fate = fateOf(node); // `set(key, t = fresh())` hands on what it assigns
    if (fate.kind !== "dropped" && fate.kind !== "unknown") this.reference(frame, cell, node, fate);
  }

  private assignPlace(
    frame: Frame,
    left: ts.PropertyAccessExpression | ts.ElementAccessExpression,
    node: ts.BinaryExpression,
  ): void {
    const base = ts.isIdentifier(left.expression) ? frame.cells.at(left.expression) : undefined;
    if (base) {
      const field = ts.isPropertyAccessExpression(left)
        ? base.fields?.get(left.name.text)
        : undefined;
      if (field) return this.give(frame, field, node.right, node, false);
      const found = this.session.freshness(node.right);
      if (base.kind === "local" && found === "fresh")
        return this.own(base, node.right, node, true, false);
      return this.all(base, "escape", node);
    }
    const place = frame.cells.place(left);
    if (place) this.emit({ kind: "set", cell: place, to: "none", node });
  }

  private assignPattern(
    frame: Frame,
    left: ts.ArrayLiteralExpression | ts.ObjectLiteralExpression,
    node: ts.BinaryExpression,
  ): void {
    const fresh =
      this.session.freshness(node.right) === "fresh" &&
      !ts.isArrayLiteralExpression(unwrap(node.right));
    const targets = ts.isArrayLiteralExpression(left)
      ? [...left.elements]
      : left.properties.flatMap((p) =>
          ts.isPropertyAssignment(p)
            ? [p.initializer]
            : ts.isShorthandPropertyAssignment(p)
              ? [p.name]
              : [],
        );
    for (const target of targets) {
      const cell = ts.isIdentifier(target) ? frame.cells.at(target) : undefined;
      if (!cell) continue;
      if (fresh) this.own(cell, node.right, node, false, false);
      else this.emit({ kind: "set", cell, to: "unknown", node });
    }
  }

  private call(frame: Frame, call: CallLike): void {
    const target = call.expression;
    if (
      ts.isPropertyAccessExpression(target) &&
      target.expression.kind === ts.SyntaxKind.ThisKeyword
    ) {
      for (const cell of frame.cells.placesMentioning("this"))
        this.emit({ kind: "set", cell, to: "none", node: call });
    }
    if (!ts.isPropertyAccessExpression(target) || !ts.isIdentifier(target.expression)) return;
    if (!["push", "unshift", "set", "add"].includes(target.name.text)) return;
    const cell = frame.cells.at(target.expression);
    if (!cell || cell.owned.shape !== "many") return;
    for (const argument of call.arguments ?? []) {
      if (!this.session.oracle.ownedAt(argument)) continue;
      const bare = unwrap(argument);
      const moved = ts.isIdentifier(bare) ? frame.cells.at(bare) : undefined;
      if (moved?.kind === "local" || this.session.freshness(argument) === "fresh") {
        if (cell.kind === "local") this.own(cell, argument, call, true, false);
      } else this.all(cell, "escape", call);
    }
  }

  // ---- closures ----

  /** What a nested function does to the variables of this one. */
  private captured(fn: ts.Node): void {
    const { frame } = this;
    if (!frame || frame.cells.names.size === 0) return;
    const host = handedTo(fn);
    const mode = host
      ? this.session.callback(host, fn)
      : this.namedHelper(frame, fn)
        ? "helper"
        : "unknown";
    for (const cell of frame.cells.all) {
      if (!cell.declaration || !cell.name || cell.label.includes(".")) continue;
      const ids = referencesTo(this.session.oracle, cell.declaration, cell.name, fn);
      if (ids.length === 0) continue;
      if (mode !== "inline" && mode !== "scoped" && mode !== "helper") {
        this.all(cell, "escape", fn);
        continue;
      }
      const kinds = ids.map((id) => this.captureKind(id, fn));
      const kind = kinds.includes("escape")
        ? "escape"
        : kinds.includes("dispose")
          ? "dispose"
          : "use";
      if (mode === "helper") {
        if (kind !== "use") this.all(cell, "escape", fn);
        else cell.seen.add("use");
      } else this.all(cell, kind, ids[0]!, undefined, undefined, kind !== "dispose");
    }
  }

  private captureKind(id: ts.Identifier, fn: ts.Node): "use" | "dispose" | "escape" {
    const fate = fateOf(id);
    const owned = this.session.oracle.ownedAt(id);
    if (!owned || isTarget(id)) return "escape";
    if (fate.kind === "receiver") {
      if (isDisposer(owned, fate.member)) return "dispose";
      return owned.shape === "one" && !owned.owner.keep.methods.includes(fate.member)
        ? "use"
        : "escape";
    }
    if (fate.kind === "read" || fate.kind === "operand")
      return owned.shape === "record" ? "escape" : "use";
    if (fate.kind === "element" && owned.shape === "many")
      return fateOf(fate.node as ts.Expression).kind === "receiver" ? "use" : "escape";
    if (fate.kind === "argument") {
      const effect = this.session.effect(fate.node as CallLike, id);
      return effect === "borrows" ? "use" : effect === "disposes" ? "dispose" : "escape";
    }
    if (fate.kind === "returned" && hasBody(fn) && returnsOf(fn).length > 0) return "escape";
    return "escape";
  }

  /** A local function that is only ever called, from the function that made it. */
  private namedHelper(frame: Frame, fn: ts.Node): boolean {
    const declaration = ts.isFunctionDeclaration(fn)
      ? fn
      : ts.isVariableDeclaration(fn.parent)
        ? fn.parent
        : undefined;
    const name = declaration?.name;
    if (!declaration || !name || !ts.isIdentifier(name)) return false;
    return referencesTo(this.session.oracle, declaration, name, frame.root).every(
      (id) => fateOf(id).kind === "called",
    );
  }
}

const isNull = (node: ts.Expression): boolean =>
  node.kind === ts.SyntaxKind.NullKeyword || (ts.isIdentifier(node) && node.text === "undefined");
const hasNullArm = (node: ts.Expression): boolean =>
  (ts.isConditionalExpression(node) &&
    (isNull(unwrap(node.whenTrue)) || isNull(unwrap(node.whenFalse)))) ||
  (ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken);

/**
 * Whether a literal holds variables: who owns them then, the variable or the literal, only their
 * later use tells.
 */
function namesCells(frame: Frame, literal: ts.Expression): boolean {
  const values = ts.isArrayLiteralExpression(literal)
    ? literal.elements
    : ts.isObjectLiteralExpression(literal)
      ? literal.properties.flatMap((p) =>
          ts.isPropertyAssignment(p)
            ? [p.initializer]
            : ts.isShorthandPropertyAssignment(p)
              ? [p.name]
              : [],
        )
      : [];
  return values.some((v) => {
    const bare = unwrap(v);
    return ts.isIdentifier(bare) && frame.cells.at(bare) !== undefined;
  });
}

/** Whether an expression is assigned to rather than read. */
function isTarget(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isBinaryExpression(parent))
    return (
      parent.left === node &&
      parent.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
      parent.operatorToken.kind <= ts.SyntaxKind.LastAssignment
    );
  if (ts.isArrayLiteralExpression(parent))
    return (
      ts.isBinaryExpression(parent.parent) &&
      parent.parent.left === parent &&
      parent.parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
    );
  return (
    (ts.isForOfStatement(parent) || ts.isForInStatement(parent)) && parent.initializer === node
  );
}
