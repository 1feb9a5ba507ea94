/**
 * Mention events: what each mention of a followed variable, field or place does to it, as events.
 * What the mention does is decided by the table in `transfer.ts`; here it is only said when that
 * happens and to which cell. Used by `paths.ts` and `value-events.ts`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import type { Cell } from "./cells.ts";
import { callsDisposeSymbol, disposesArguments } from "../transfer/disposes.ts";
import type { Frame, Verb } from "./events.ts";
import { enclosingFunction, fateOf, type Fate } from "../transfer/fate.ts";
import { containerMethod } from "../program/containers.ts";
import { gathered, givenBy, partGiven, receiverOf, soleName } from "./gathers.ts";
import { lendsEach } from "../transfer/handed-functions.ts";
import { isDetaching, keptBy } from "../transfer/keeps.ts";
import { isLentAt, namesOver } from "../transfer/lending.ts";
import { looksAtMapped, onlyLooks } from "../transfer/looked-at.ts";
import { effectInside, transferOf, type Transfer } from "../transfer/mention.ts";
import { referencesTo } from "../program/references.ts";
import type { Owner } from "../../owner.ts";
import { staysInside } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { isUnpacked, partsUnpacked } from "./unpacked.ts";
import { isOnOtherWay } from "../program/ways.ts";
import {
  isTarget,
  isUsing,
  isUsingList,
  shortCircuits,
  someWithin,
  unwrap,
  type CallLike,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Events of a name that mentions a cell. */
export function identifierEvents(session: Session, frame: Frame, id: ts.Identifier): void {
  const cell = frame.cells.at(id);
  if (!cell || cell.name === id) return;
  const fate = fateOf(id);
  if (cell.fields && fate.kind === "read") {
    const access = fate.node as ts.PropertyAccessExpression;
    const field = cell.fields.get(fate.member);
    if (field?.owned.shape === "record") innerEvents(session, frame, field, access);
    else if (field) mentionEvents(session, frame, field, access);
    return; // what the other fields hold is not owned
  }
  // `out.age.dispose()` is a read of `age` first
  if (cell.fields && fate.kind === "receiver") return;
  mentionEvents(session, frame, cell, id);
}

/** Events of a record in a record, `best.w`: who ends a part of it may end the rest, too. */
function innerEvents(
  session: Session,
  frame: Frame,
  cell: Cell,
  access: ts.PropertyAccessExpression,
): void {
  const { kind, node } = fateOf(access);
  if (kind === "receiver") return frame.all(cell, "escape", access);
  if (kind !== "read") return mentionEvents(session, frame, cell, access);
  const part = node as ts.PropertyAccessExpression;
  if (!session.oracle.ownedAt(part)) return;
  frame.all(cell, onlyLooksAt(session.transfer(part).effect) ? "use" : "escape", access);
}

/** Events of an access such as `this.w` or `vars[v]` that mentions a place. */
export function placeEvents(
  session: Session,
  frame: Frame,
  access: ts.PropertyAccessExpression | ts.ElementAccessExpression,
): void {
  const base = access.expression;
  if (
    ts.isPropertyAccessExpression(access) &&
    ts.isIdentifier(base) &&
    frame.cells.at(base)?.fields
  )
    return;
  if (ts.isCallExpression(access.parent) && access.parent.expression === access) return;
  const cell = frame.cells.place(access);
  if (!cell) return;
  const { kind } = fateOf(access);
  if (kind === "receiver" || kind === "argument" || kind === "bound" || kind === "read")
    mentionEvents(session, frame, cell, access);
}

/** Turns one mention of a cell into events; `node` is the expression that mentions it. */
export function mentionEvents(
  session: Session,
  frame: Frame,
  cell: Cell,
  node: ts.Expression,
): void {
  // `Array.isArray(out) ? out.length : out.dataSync()`: a test tells which it is
  const narrowed = cell.owned.mixed ? session.oracle.ownedAt(node) : null;
  follow(session, frame, cell, node, transferOf(session, node, narrowed ?? cell.owned), 0);
}

function follow(
  session: Session,
  frame: Frame,
  cell: Cell,
  node: ts.Expression,
  found: Transfer,
  hops: number,
): void {
  const { effect, fate } = found;
  const spread = cell.fields && ts.isSpreadAssignment(node.parent) ? node.parent : undefined;
  // the `features` of `{ ...batch, features }`: what `batch` has under that name stays behind
  const over = spread ? namesOver(spread) : [];
  if (over.length > 0) {
    for (const [name, field] of cell.fields ?? [])
      if (!over.includes(name)) follow(session, frame, field, node, found, hops);
    return;
  }
  // at once: a generator may end at its `yield`
  if (fate.kind === "yielded")
    return frame.all(cell, isEndedLater(session, cell, node) ? "use" : "escape", node);
  const again = sameAgain(frame, cell, node, fate);
  if (again !== undefined) return again ? link(frame, cell, again, fate.node) : undefined;
  if (cell.fields && isUnpacked(node, fate)) return; // see `assignmentEvents`
  const field = fieldGiven(frame, cell, node, fate);
  if (field === "own") return; // see `changesPlaces`
  if (field) return link(frame, cell, field, fate.node);
  if (isGathered(session, frame, node, fate)) return; // see `give`
  if (fate.literal && fate.kind === "iterated" && cell.owned.shape === "one" && !fate.conditional)
    // `for (const t of [a, b])`
    return frame.all(cell, visitVerb(session, fate, cell.owned.owner), node, fate.node);
  const visited = visitOfCopy(node);
  if (visited && cell.owned.shape === "many")
    return frame.all(cell, verbFor(session, cell, visited), node, visited.node);
  if (isVisitedInList(cell.owned, fate))
    // `[a, b].map((t) => …)`
    return frame.all(cell, verbFor(session, cell, fate), node, fate.node);
  if (fate.literal && fate.kind !== "argument") return handsOn(session, frame, cell, node, fate);
  switch (effect) {
    case "nothing":
    case "drops":
    case "receives": // see `callEvents`
      return;
    case "borrows":
      if (cell.owned.shape === "one" || fate.kind !== "receiver")
        return frame.all(cell, "use", node);
      return frame.all(cell, "use", node, fate.node);
    case "disposes":
      return disposal(session, frame, cell, node, fate);
    case "returns":
      return frame.all(cell, "return", node);
    case "enters": {
      const inside = effectInside(session, found);
      if (inside === "nothing") return;
      if (inside === "returns" && isOneOfSeveral(cell, node)) return;
      return frame.all(cell, onlyLooksAt(inside) ? "use" : "escape", node);
    }
    case "visits":
      return frame.all(cell, verbFor(session, cell, fate), node, fate.node);
    case "aliases":
      if (isListedToLook(session, cell, fate)) return frame.all(cell, "use", node, fate.node);
      return aliases(frame, cell, node, fate);
    case "passes": {
      const call = fate.node as ts.CallExpression;
      const kept = keptBy(session, call, session.oracle.callee(call), cell.owned) !== undefined;
      const stays = cell.declaration && staysInside(session, call, cell.declaration);
      if (kept && (stays || isDetaching(session, call, cell.owned.owner)))
        return frame.all(cell, "use", node, call);
      if (kept || fate.literal || hops > 4) return frame.all(cell, "escape", node, call);
      return follow(session, frame, cell, node, transferOf(session, call, cell.owned), hops + 1);
    }
    case "moves":
    case "takes":
      if (isDetaching(session, fate.node, cell.owned.owner))
        return frame.all(cell, "use", node, fate.node);
      return handsOn(session, frame, cell, node, fate);
    case "stores":
    case "unknown":
      return handsOn(session, frame, cell, node, fate);
  }
}

/** `return models[best]` of a local list: the others stay behind. */
function isOneOfSeveral({ kind, owned }: Cell, { parent }: ts.Expression): boolean {
  if (kind !== "local" || owned.shape !== "many" || !ts.isElementAccessExpression(parent))
    return false;
  return !ts.isLiteralExpression(unwrap(parent.argumentExpression));
}

/** Whether a method goes through a list that a value is written in. */
export const isVisitedInList = (
  owned: Cell["owned"],
  { literal, kind, member, conditional }: Fate,
): boolean =>
  literal !== null &&
  ts.isArrayLiteralExpression(literal) &&
  kind === "receiver" &&
  owned.shape === "one" &&
  !conditional &&
  containerMethod(member) === "visits";

/** A value goes to who keeps it, perhaps in a record: what is only lent stays. */
function handsOn(
  session: Session,
  frame: Frame,
  cell: Cell,
  node: ts.Expression,
  fate: Fate,
): void {
  const at = fate.literal ? endOfArm(fate.literal, fate.node) : atCall(fate);
  const isLent = (path: readonly string[], { owned }: Cell): boolean =>
    isLentAt(session, frame.root, node, path, owned);
  if (!cell.fields) {
    const inRecord =
      fate.literal !== null && fate.kind !== "argument" && cell.owned.shape === "one";
    return frame.all(cell, inRecord && isLent([], cell) ? "use" : "escape", node, at);
  }
  for (const [name, field] of cell.fields)
    frame.all(field, isLent([name], field) ? "use" : "escape", node, at);
  const event = { kind: "escape", cell, node, certain: true } as const;
  if (at) frame.later(at, event);
  else frame.emit(event);
}

/** Where a literal goes on: there, if it is one way of a choice: `return ok ? { x } : null`. */
function endOfArm(literal: ts.Expression, end: ts.Node): ts.Node {
  const isChoice = (at: ts.Node): boolean =>
    ts.isConditionalExpression(at) ||
    (ts.isBinaryExpression(at) && shortCircuits.has(at.operatorToken.kind));
  const choice = ts.findAncestor(literal.parent, (at) => (at === end ? "quit" : isChoice(at)));
  return choice ? literal : end;
}

/** `yield x; x.dispose();`: who goes through a generator is only shown what that ends itself. */
function isEndedLater(session: Session, { declaration, name }: Cell, node: ts.Expression): boolean {
  const home = enclosingFunction(node);
  if (!declaration || !name || !home) return false;
  return referencesTo(session.oracle, declaration, name, home).some(
    (id) =>
      id.pos > node.end && session.transfer(id).effect === "disposes" && !isOnOtherWay(node, id),
  );
}

/** `[...xs].map(f)`, which does to each value what `xs.map(f)` does. */
function visitOfCopy(node: ts.Expression): Fate | undefined {
  const copy = ts.isSpreadElement(node.parent) ? node.parent.parent : undefined;
  if (!copy || !ts.isArrayLiteralExpression(copy) || copy.elements.length > 1) return undefined;
  const fate = fateOf(copy);
  return fate.kind === "receiver" && containerMethod(fate.member) === "visits" ? fate : undefined;
}

/**
 * For `ys = isArray(t) ? t : [t]`, the variable that is `t` under another name; null for mentions
 * after the first, undefined for everything else.
 */
function sameAgain(
  frame: Frame,
  cell: Cell,
  node: ts.Expression,
  fate: Fate,
): Cell | null | undefined {
  if (!fate.conditional && !fate.literal) return undefined;
  const given = givenBy(fate.node);
  const first = given && soleName(given);
  const target = receiverOf(frame, fate.node);
  if (!first || frame.cells.at(first) !== cell || !target || target === cell) return undefined;
  if (target.kind !== "local" || target.fields || cell.fields) return undefined;
  return first === node ? target : null;
}

/** For `out = { age: t }`, the field that is `t` under another name. */
function fieldGiven(
  frame: Frame,
  cell: Cell,
  node: ts.Expression,
  { literal, conditional, node: at }: Fate,
): Cell | "own" | undefined {
  const given = givenBy(at);
  if (!literal || conditional || !given || unwrap(given) !== literal) return undefined;
  const target = receiverOf(frame, at);
  if (target?.kind !== "local" || !target.fields || cell.fields) return undefined;
  const [name, part] = [...target.fields].find(([key]) => partGiven(literal, key) === node) ?? [];
  if (name === undefined || part?.owned.shape !== cell.owned.shape) return undefined;
  return [...target.fields.values()].includes(cell) ? "own" : part;
}

/** Whether a mention is a part of a list or table that takes over what it owns. */
function isGathered(
  session: Session,
  frame: Frame,
  node: ts.Expression,
  { literal, conditional, node: at }: Fate,
): boolean {
  const given = givenBy(at);
  if (!literal || conditional || !given || unwrap(given) !== literal) return false;
  const target = receiverOf(frame, at);
  const parts = target && gathered(session, frame, target, literal);
  return parts?.from.some((c) => ts.isIdentifier(node) && c === frame.cells.at(node)) === true;
}

/** What a call does it does when it is made, after its arguments were read. */
const atCall = (fate: Fate): ts.Node | undefined =>
  fate.kind === "receiver" || fate.kind === "argument" ? fate.node : undefined;

function disposal(
  session: Session,
  frame: Frame,
  cell: Cell,
  node: ts.Expression,
  fate: Fate,
): void {
  if (fate.kind === "element") return frame.all(cell, "dispose", node, fate.node.parent);
  if (fate.kind !== "argument") return frame.all(cell, "dispose", node, fate.node);
  const call = fate.node as CallLike;
  // a function that disposes its parameter may do so on some paths only
  const certain = disposesArguments(session, call, cell.owned);
  frame.all(cell, fate.conditional ? "escape" : "dispose", node, call, certain);
}

/**
 * What a loop or a callback does to a list. Of records it may end one field, and another loop the
 * others: see `partial-lists.ts`.
 */
export function verbFor(session: Session, { owned, kind }: Cell, fate: Fate): Verb {
  const verb = visitVerb(session, fate, owned.owner);
  const isOwn = kind !== "parameter" && owned.each === "record";
  return verb === "dispose" && isOwn ? "escape" : verb;
}

/** What a loop or a callback does to each value of the list it goes through. */
export function visitVerb(session: Session, fate: Fate, owner?: Owner): Verb {
  if (fate.kind === "iterated") {
    const loop = fate.node as ts.ForOfStatement;
    const list = loop.initializer;
    if (!ts.isVariableDeclarationList(list)) return "escape";
    return isUsingList(list) ? "dispose" : loopVerb(session, loop, list, owner);
  }
  const call = fate.node as ts.CallExpression;
  const [first] = call.arguments;
  const callback = first && functionHanded(session.oracle, first);
  const effect = callback && session.summary(callback).parameters[0];
  if (effect?.disposes) return "dispose";
  if (!callback && owner && lendsEach(session, call, owner)) return "use";
  if (!effect || effect.stores) return "escape";
  if (!effect.returns) return "use";
  return callback && picks(callback) && looksAtMapped(session, call) ? "use" : "escape";
}

/** `(x) => x.state`, and not `(x) => scope.attach(x)`. */
export const picks = (fn: ts.Node): boolean =>
  ts.isArrowFunction(fn) && !ts.isBlock(fn.body) && !someWithin(fn.body, ts.isCallExpression);

/** `const all = Object.values(record);`, a list at which the function only takes looks. */
function isListedToLook(session: Session, { fields }: Cell, { node, conditional }: Fate): boolean {
  if (!fields || conditional || !ts.isVariableDeclaration(node) || isUsing(node)) return false;
  const { name } = node;
  if (!ts.isIdentifier(name) || session.oracle.ownedAt(name)?.shape !== "many") return false;
  const home = enclosingFunction(node);
  const isHere = (id: ts.Identifier): boolean => enclosingFunction(id) === home;
  return (
    home !== undefined &&
    referencesTo(session.oracle, node, name, home).every(isHere) &&
    onlyLooks(session, name, true)
  );
}

function aliases(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate): void {
  if (fate.kind === "assigned") return assigned(frame, cell, node, fate);
  const declaration = fate.node;
  if (!ts.isVariableDeclaration(declaration)) return frame.all(cell, "escape", node);
  const target = ts.isIdentifier(declaration.name) ? frame.cells.of(declaration) : undefined;
  const parts = partsUnpacked(frame, cell, declaration);
  if (parts && !fate.conditional) {
    for (const [from, part] of parts) link(frame, from, part, declaration);
    return;
  }
  if (!target || fate.conditional) return frame.all(cell, "escape", node, declaration);
  if (target.kind === "using") {
    if (cell.kind !== "parameter") return frame.all(cell, "escape", node, declaration);
    frame.all(cell, "dispose", node, declaration);
    // it ends with its block, and not here
    return frame.later(declaration, { kind: "set", cell, to: "unknown", node: declaration });
  }
  link(frame, cell, target, declaration);
}

function assigned(frame: Frame, cell: Cell, node: ts.Expression, fate: Fate): void {
  const assignment = fate.node as ts.BinaryExpression;
  const target = ts.isIdentifier(assignment.left) ? frame.cells.at(assignment.left) : undefined;
  if (target === cell) return;
  if (!target || fate.conditional || target.kind === "using")
    return frame.all(cell, "escape", node, assignment);
  link(frame, cell, target, assignment);
}

/** A variable is another name for what one had before, from some place on. */
export function link(frame: Frame, from: Cell, cell: Cell, at: ts.Node): void {
  // one is a record in a record, of which the fields are not followed
  if (from.owned.shape === "record" && !from.fields !== !cell.fields) {
    for (const target of [cell, ...(cell.fields?.values() ?? [])])
      frame.later(at, { kind: "set", cell: target, to: "unknown", node: at });
    return frame.all(from, "escape", at, at);
  }
  from.seen.add("alias");
  frame.later(at, { kind: "alias", cell, from, node: at });
  for (const [name, target] of cell.fields ?? []) {
    const field = from.fields?.get(name);
    // a record within a record: what its fields hold is not followed
    if (field) frame.later(at, { kind: "alias", cell: target, from: field, node: at });
    else frame.later(at, { kind: "set", cell: target, to: "unknown", node: at });
  }
}

/** What the body of a loop does to the values it goes through. */
function loopVerb(
  session: Session,
  loop: ts.ForOfStatement,
  list: ts.VariableDeclarationList,
  owner: Owner | undefined,
): Verb {
  let verb: Verb = "use";
  for (const declaration of list.declarations) {
    if (!ts.isIdentifier(declaration.name)) return "escape";
    for (const id of referencesTo(session.oracle, declaration, declaration.name, loop.statement)) {
      const found = transferOf(session, id);
      const effect = effectInside(session, found);
      // `for (const owner of [cache, model]) owner.end()`: they have that in common alone
      const { kind, member } = found.fate;
      if (kind === "receiver" && owner?.dispose.methods.includes(member)) return "dispose";
      if (effect === "disposes" || endsAny(session, id, found.fate)) return "dispose";
      const staysHere = onlyLooksAt(effect) || found.fate.kind === "receiver";
      if (!staysHere && !isTarget(id)) verb = "escape";
    }
  }
  return verb;
}

/** `for (const each of [tensor, model]) each.dispose()`: things of several owners have no type. */
export const endsAny = ({ oracle, settings }: Session, id: ts.Identifier, fate: Fate): boolean =>
  oracle.ownedAt(id) === null &&
  (callsDisposeSymbol(fate) ||
    (fate.kind === "receiver" &&
      settings.owners.some(({ dispose }) => dispose.methods.includes(fate.member))));
