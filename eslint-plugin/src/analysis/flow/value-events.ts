/**
 * Value events: what a declaration, an assignment or a call gives to the variables that are
 * followed: something fresh to own, another name for something, nothing. Used by `paths.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { puts } from "../program/containers.ts";
import type { Frame } from "./events.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { elementFreshness } from "../fresh/fresh-results.ts";
import { choiceArms, gathered, isOfEnded, isWrittenAgain, partGiven, soleName } from "./gathers.ts";
import { returnedArgument } from "../fresh/is-fresh.ts";
import { isMovedOut } from "../scopes/open-scopes.ts";
import { keptBy, lasts } from "../transfer/keeps.ts";
import { link, mentionEvents } from "./mention-events.ts";
import { isAnything } from "../../owner.ts";
import type { Freshness, Session } from "../session.ts";
import { isMovedFrom } from "./moved-fields.ts";
import { isLastUse, isRestOf, isTakenOver } from "./taken-over.ts";
import { cellNamed, changesPlaces, moveOn } from "./moved-on.ts";
import { isHeldByUsing, partsUnpacked, unpackedNames } from "./unpacked.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  elementsGiven,
  hasBody,
  isEmptyContainer,
  isNullish,
  rootOf,
  unwrap,
  valuesOf,
  type CallLike,
} from "../program/syntax.ts";

function give(
  session: Session,
  frame: Frame,
  cell: Cell,
  value: ts.Expression,
  node: ts.Node,
  declares: boolean,
): void {
  if (cell.kind === "using") return;
  const bare = unwrap(value);
  if (isNullish(bare)) return frame.set(cell, "null", node);
  const sole = soleName(bare);
  if (sole && frame.cells.at(sole)) return; // an alias event is pending
  if (isHandedBack(session, frame, cell, bare)) return; // `x = checked(x)`
  if (ts.isBinaryExpression(bare) && bare.operatorToken.kind === ts.SyntaxKind.EqualsToken)
    return frame.set(cell, "unknown", node); // `a = b = value`
  if (
    (ts.isPropertyAccessExpression(bare) || ts.isElementAccessExpression(bare)) &&
    aliasesCell(frame, bare)
  )
    return;
  if (ts.isCallExpression(bare) && keptBy(session, bare, session.oracle.callee(bare), cell.owned)) {
    const isOwn = lasts(session, bare) || isMovedOut(session, bare);
    if (!isOwn || session.freshness(bare) !== "fresh") return frame.set(cell, "unknown", node);
    return frame.own(cell, value, node, declares, cell.owned.nullable);
  }
  const found = session.freshness(value);
  if (!cell.fields && namesCells(frame, bare)) return gather(session, frame, cell, bare, node);
  if (cell.fields) return giveFields(session, frame, cell, bare, found, node, declares);
  if (isEmptyContainer(bare)) return frame.set(cell, "none", node);
  if (isOfEnded(session, bare)) return frame.set(cell, "unknown", node);
  if (found === "fresh" || isRestOf(session, frame, cell, bare))
    return frame.own(
      cell,
      value,
      node,
      declares,
      session.oracle.ownedAt(value)?.nullable === true || hasNullArm(bare),
    );
  const isOneOf = found === "mixed" && choiceArms(bare) !== undefined && cell.owned.shape === "one";
  if (isOneOf && !isAnything(cell.owned.owner))
    return frame.own(cell, value, node, declares, cell.owned.nullable, true);
  setUnowned(frame, cell, found ?? "unknown", node);
}

/** Whether a value is what is in the cell, perhaps given back by functions of the program. */
function isHandedBack(
  session: Session,
  frame: Frame,
  cell: Cell,
  value: ts.Expression | undefined,
): boolean {
  const bare = value && unwrap(value);
  if (bare && ts.isConditionalExpression(bare))
    return [bare.whenTrue, bare.whenFalse].every((v) => isHandedBack(session, frame, cell, v));
  if (!bare || !ts.isCallExpression(bare)) {
    const sole = bare && soleName(bare);
    return sole !== undefined && frame.cells.at(sole) === cell;
  }
  const { body, tags } = session.oracle.callee(bare);
  if (!body || tags.fresh || cell.fields) return false;
  return isHandedBack(session, frame, cell, returnedArgument(session, bare, body));
}

/** A literal with variables in it: it takes over what they own, as far as that is all. */
function gather(
  session: Session,
  frame: Frame,
  cell: Cell,
  literal: ts.Expression,
  node: ts.Node,
): void {
  const parts = gathered(session, frame, cell, literal);
  if (!parts) return frame.set(cell, "unknown", node);
  const sites = parts.made.map((part) => frame.site(cell, part, node, true));
  for (const from of parts.from) from.seen.add("alias");
  frame.emit({ kind: "gather", cell, from: parts.from, sites, node });
}

/** Events of a parameter whose default is made anew: on some calls the function owns it. */
export function defaultEvents(
  session: Session,
  frame: Frame,
  node: ts.ParameterDeclaration | ts.BindingElement,
): void {
  const cell = frame.cells.of(node);
  if (!cell || !node.initializer || cell.owned.shape !== "one") return;
  if (isAnything(cell.owned.owner)) return; // who gives none may end what is made for it
  let holder: ts.Node = node;
  while (!ts.isParameter(holder) && !ts.isVariableDeclaration(holder)) holder = holder.parent;
  if (!ts.isParameter(holder) || ts.isParameterPropertyDeclaration(holder, holder.parent)) return;
  if (session.freshness(node.initializer) !== "fresh") return;
  frame.own(cell, node.initializer, node, true, cell.owned.nullable, true);
}

function aliasesCell(
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

function giveFields(
  session: Session,
  frame: Frame,
  cell: Cell,
  value: ts.Expression,
  found: Freshness,
  node: ts.Node,
  declares: boolean,
): void {
  const literal = ts.isObjectLiteralExpression(value) ? value : undefined;
  if (!literal && found !== "fresh") cell.isLent = true;
  for (const [name, field] of cell.fields ?? []) {
    const inner = literal && partGiven(literal, name);
    if (inner && cellNamed(frame, inner) === field) continue; // `s = { a: s.a, b: y }`
    const named = inner && ts.isIdentifier(inner) ? frame.cells.at(inner) : undefined;
    if (named && !named.fields && named.owned.shape === field.owned.shape) continue; // an alias
    const state = literal ? (inner && !named ? session.freshness(inner) : "unknown") : found;
    const at = inner ?? value;
    if (inner && isEmptyContainer(unwrap(inner))) frame.set(field, "none", node);
    else if (state === "fresh") frame.own(field, at, node, declares, false);
    else setUnowned(frame, field, state, node);
  }
  frame.set(cell, "none", node);
}

/** Events of a variable declaration, with or without a first value. */
export function declaratorEvents(
  session: Session,
  frame: Frame,
  declaration: ts.VariableDeclaration,
): void {
  for (const { id } of boundNames(declaration.name, declaration))
    frame.forget(id.text, declaration);
  if (ts.isIdentifier(declaration.name)) {
    const cell = frame.cells.of(declaration);
    if (!cell) return;
    if (isMovedFrom(session, declaration, cell.owned))
      return frame.ownAfter(cell, declaration.name, declaration, cell.owned.nullable);
    if (declaration.initializer)
      return give(session, frame, cell, declaration.initializer, declaration, true);
    if (ts.isForOfStatement(declaration.parent.parent))
      return loopVariable(session, frame, cell, declaration.parent.parent, declaration);
    for (const target of [cell, ...(cell.fields?.values() ?? [])])
      frame.set(target, "null", declaration);
    return;
  }
  const source =
    declaration.initializer ??
    (ts.isForOfStatement(declaration.parent.parent)
      ? declaration.parent.parent.expression
      : undefined);
  if (source) destructure(session, frame, declaration.name, source, declaration);
}

function loopVariable(
  session: Session,
  frame: Frame,
  cell: Cell,
  loop: ts.ForOfStatement,
  node: ts.Node,
): void {
  const { expression } = loop;
  const owned = session.oracle.ownedAt(expression);
  const isOther = ts.isCallExpression(unwrap(expression)) || (owned?.shape ?? "one") === "one";
  const fresh =
    cell.kind !== "using" && isOther && elementFreshness(session, expression) === "fresh";
  if (fresh && cell.fields)
    return giveFields(session, frame, cell, loop.expression, "fresh", node, true);
  if (fresh || isTakenOver(session, node, cell.owned))
    return frame.own(cell, loop.expression, node, true, cell.owned.nullable);
  cell.isLent = true;
  setUnowned(frame, cell, "borrowed", node);
  for (const [name, field] of cell.fields ?? [])
    if (isTakenOver(session, node, field.owned, name))
      frame.own(field, expression, node, true, field.owned.nullable);
    else setUnowned(frame, field, "borrowed", node);
}

function destructure(
  session: Session,
  frame: Frame,
  pattern: ts.BindingPattern,
  source: ts.Expression,
  node: ts.Node,
): void {
  const bare = unwrap(source);
  const places = ts.isArrayBindingPattern(pattern) ? elementsGiven(source) : undefined;
  const found = places
    ? undefined
    : ts.isForOfStatement(node.parent.parent)
      ? isHeldByUsing(session, bare)
        ? "borrowed"
        : elementFreshness(session, source)
      : session.freshness(source);
  const ownsSource = ts.isIdentifier(bare) ? frame.cells.at(bare) : undefined;
  if (ownsSource && partsUnpacked(frame, ownsSource, node)) return; // alias events are pending
  pattern.elements.forEach((element, index) => {
    if (!ts.isBindingElement(element)) return;
    const part = element.dotDotDotToken ? undefined : places?.[index];
    if (!ts.isIdentifier(element.name))
      return destructure(session, frame, element.name, part ?? source, node);
    const cell = frame.cells.of(element);
    if (!cell || cell.kind === "using") return;
    if (part) return give(session, frame, cell, part, node, true);
    const moved =
      ownsSource !== undefined &&
      !element.dotDotDotToken &&
      ownsSource.kind === "local" &&
      ownsSource.seen.has("own") &&
      isLastUse(session, frame, ownsSource, bare);
    const fresh = (ownsSource ? moved : found === "fresh") && !element.initializer;
    if (fresh && (!element.dotDotDotToken || cell.owned.shape === "many"))
      for (const target of cell.fields?.values() ?? [cell])
        frame.own(target, source, node, true, target.owned.nullable);
    else if (isTakenOver(session, element, cell.owned))
      frame.own(cell, source, node, true, cell.owned.nullable);
    else {
      cell.isLent = true;
      for (const target of [cell, ...(cell.fields?.values() ?? [])])
        setUnowned(frame, target, found ?? "unknown", node);
    }
  });
}

/** Events of an assignment. */
export function assignmentEvents(session: Session, frame: Frame, node: ts.BinaryExpression): void {
  const { left } = node;
  if (ts.isIdentifier(left)) frame.forget(left.text, node);
  if (ts.isPropertyAccessExpression(left) || ts.isElementAccessExpression(left))
    return assignPlace(session, frame, left, node);
  if (ts.isArrayLiteralExpression(left) || ts.isObjectLiteralExpression(left))
    return assignPattern(session, frame, left, node);
  const cell = ts.isIdentifier(left) ? frame.cells.at(left) : undefined;
  if (!cell) return;
  if (node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return frame.all(cell, "escape", node);
  if (cell.owned.shape === "many") frame.leave(node, cell); // `ts = [...ts, t]`
  if (changesPlaces(frame, cell, node)) return;
  give(session, frame, cell, node.right, node, false);
  const fate = fateOf(node); // `set(key, t = fresh())` hands on what it assigns
  if (fate.kind !== "dropped" && fate.kind !== "unknown") mentionEvents(session, frame, cell, node);
}

function assignPlace(
  session: Session,
  frame: Frame,
  left: ts.PropertyAccessExpression | ts.ElementAccessExpression,
  node: ts.BinaryExpression,
): void {
  const base = ts.isIdentifier(left.expression) ? frame.cells.at(left.expression) : undefined;
  const place = base?.fields ? undefined : frame.cells.place(left);
  if (place) frame.set(place, "none", node);
  if (!base) return;
  const field = ts.isPropertyAccessExpression(left) ? base.fields?.get(left.name.text) : undefined;
  // what is stored in somebody else's record is theirs
  if (field && base.isLent) return frame.set(field, "unknown", node);
  if (field) return give(session, frame, field, node.right, node, false);
  if (base.kind === "local" && !base.isLent) {
    if (base.owned.shape === "one") return; // the object keeps it
    if (session.freshness(node.right) === "fresh")
      return frame.own(base, node.right, node, true, false);
  }
  frame.all(base, "escape", node);
}

function assignPattern(
  session: Session,
  frame: Frame,
  left: ts.ArrayLiteralExpression | ts.ObjectLiteralExpression,
  node: ts.BinaryExpression,
): void {
  const bare = unwrap(node.right);
  const isMoved = moveOn(frame, bare, node);
  const isList = ts.isArrayLiteralExpression(bare);
  const fresh = session.freshness(node.right) === "fresh" && !isList && !isMoved;
  const fields = ts.isIdentifier(bare) ? frame.cells.at(bare)?.fields : undefined;
  const names = fields && unpackedNames(left);
  for (const [name, id] of names ?? []) {
    frame.forget(id.text, node);
    const cell = frame.cells.at(id);
    const field = fields?.get(name);
    if (cell && field) link(frame, field, cell, node);
    else if (cell) frame.set(cell, "unknown", node);
  }
  if (names) return;
  for (const target of valuesOf(left)) {
    if (ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target)) {
      const base = ts.isIdentifier(target.expression)
        ? frame.cells.at(target.expression)
        : undefined;
      if (!base || base.fields) continue;
      if (fresh && base.kind === "local") frame.own(base, node.right, node, true, false);
      else frame.all(base, "escape", node);
      continue;
    }
    if (ts.isIdentifier(target)) frame.forget(target.text, node);
    const cell = ts.isIdentifier(target) ? frame.cells.at(target) : undefined;
    if (!cell) continue;
    if (fresh) frame.own(cell, node.right, node, false, false);
    else frame.set(cell, "unknown", node);
  }
}

/** Events of a call beyond its mentions: what it may change, what it puts into a container. */
export function callEvents(session: Session, frame: Frame, call: CallLike): void {
  const target = call.expression;
  const isMember = ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target);
  if (isMember && target.expression.kind === thisKind) frame.forget("this", call);
  if (!ts.isPropertyAccessExpression(target) || !puts(target.name.text)) return;
  const cell = cellNamed(frame, target.expression);
  if (!cell || cell.owned.shape !== "many") return;
  for (const argument of call.arguments ?? []) {
    if (!session.oracle.ownedAt(argument)) continue;
    const bare = unwrap(argument);
    const moved = ts.isIdentifier(bare) ? frame.cells.at(bare) : undefined;
    if (moved?.kind === "using") continue; // its block ends it, not the list
    const found = session.freshness(argument);
    const isMoved =
      moved?.kind === "local" &&
      found !== "borrowed" &&
      (found !== "unknown" || isWrittenAgain(session, bare));
    const isShared = moved && (isAnything(cell.owned.owner) || isKeptToo(session, bare));
    if (isShared)
      frame.all(cell, "escape", call); // others may have it
    else if (found === "fresh" || isMoved) {
      if (cell.kind === "local") frame.own(cell, argument, call, true, false);
    } else frame.all(cell, "escape", call);
  }
}

/**
 * `byName.set(name, part); this.parts.push(part);`: a field has what a local table has. Or whoever
 * is given it, a record of it or what a callback makes: `keep(part); return new Body({ part });`
 */
function isKeptToo(session: Session, id: ts.Expression): boolean {
  const source = ts.isIdentifier(id) ? session.oracle.declarationAt(id) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const home = enclosingFunction(source) ?? source.getSourceFile();
  return referencesTo(session.oracle, source, source.name, home).some((mention) => {
    const { effect, fate } = session.transfer(mention);
    const { node } = fate;
    if (effect === "returns") return ts.isReturnStatement(node) && handedTo(home) !== undefined;
    if (isInHandedRecord(session, mention)) return true;
    if (effect === "takes")
      return ts.isCallExpression(node) && hasBody(session.oracle.callee(node).body);
    if (effect !== "stores") return false;
    if (ts.isBinaryExpression(node)) return rootOf(node.left).kind === thisKind;
    return ts.isCallExpression(node) && rootOf(node.expression).kind === thisKind;
  });
}
const thisKind = ts.SyntaxKind.ThisKeyword;

/** `return { part }`, `new Body({ part })`, or with a name for the record in between. */
function isInHandedRecord(session: Session, mention: ts.Expression): boolean {
  const record = ts.findAncestor(mention, (n) => n !== mention && !isPartOfRecord(n));
  let literal: ts.Node = mention;
  while (literal.parent !== record) literal = literal.parent;
  if (!ts.isObjectLiteralExpression(literal)) return false;
  if (isHanded(literal)) return true;
  const { kind, node } = fateOf(literal);
  if (kind !== "bound" || !ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name))
    return false;
  const home = enclosingFunction(node) ?? node.getSourceFile();
  return referencesTo(session.oracle, node, node.name, home).some(isHanded);
}

const isPartOfRecord = (node: ts.Node): boolean =>
  ts.isPropertyAssignment(node) ||
  ts.isShorthandPropertyAssignment(node) ||
  ts.isObjectLiteralExpression(node) ||
  ts.isArrayLiteralExpression(node);

/** Whether a value is given back or to a new object. */
function isHanded(value: ts.Expression): boolean {
  const { kind, node } = fateOf(value);
  return kind === "returned" || (kind === "argument" && ts.isNewExpression(node));
}

const hasNullArm = (node: ts.Expression): boolean =>
  (ts.isConditionalExpression(node) &&
    (isNullish(unwrap(node.whenTrue)) || isNullish(unwrap(node.whenFalse)))) ||
  (ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken);

/**
 * Whether a literal holds variables: who owns them then, the variable or the literal, only their
 * later use tells.
 */
function namesCells(frame: Frame, literal: ts.Expression): boolean {
  if (!ts.isArrayLiteralExpression(literal) && !ts.isObjectLiteralExpression(literal)) return false;
  return valuesOf(literal).some((v) => {
    const bare = unwrap(ts.isSpreadElement(v) ? v.expression : v);
    return ts.isIdentifier(bare) && frame.cells.at(bare) !== undefined;
  });
}

/**
 * The cell holds something that is not, or perhaps not, its own to free. What is put into a list
 * that it borrows belongs to the list's owner, so of such a list nothing is known from then on.
 */
const setUnowned = (frame: Frame, cell: Cell, found: Freshness, node: ts.Node): void => {
  const borrows = found === "borrowed" && cell.owned.shape === "one";
  frame.set(cell, borrows ? "none" : "unknown", node);
};
