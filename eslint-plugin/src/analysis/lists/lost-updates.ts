/**
 * Lost updates: `this.sums[k] = add(this.sums[k], x)`, an element or inner field that is made anew
 * from what it held, which nobody ends. Used by the rule about overwritten values; plain fields and
 * variables are followed elsewhere.
 */
import ts from "typescript";
import { sourcesOf } from "../program/call-index.ts";
import { accessesByName } from "../program/field-index.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { calledBy, soundsLikeDisposal } from "../transfer/disposes.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { keptBy, lasts } from "../transfer/keeps.ts";
import type { LostStore } from "./lost-stores.ts";
import type { Owned } from "../program/oracle.ts";
import { surelyRunsOften } from "../trails/runs-often.ts";
import type { Session } from "../session.ts";
import {
  isEmptyContainer,
  isTarget,
  rootOf,
  someWithin,
  unwrap,
  within,
  type CallLike,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { testAround } from "../program/ways.ts";

/** Every such assignment of a file. */
export function lostUpdates(session: Session, file: ts.SourceFile): LostStore[] {
  return session.oracle.facts
    .assignments(file)
    .flatMap((node) => updated(session, node) ?? replacedIn(session, node) ?? []);
}

/**
 * `for (const m of this.moments) m.mean = next;`: a field of an object in a list or table that is
 * given something else, which others end and this function never does.
 */
function replacedIn(session: Session, node: ts.BinaryExpression): LostStore | null {
  const { left } = node;
  const home = enclosingFunction(node);
  if (node.operatorToken.kind !== ts.SyntaxKind.EqualsToken || !home) return null;
  if (!ts.isPropertyAccessExpression(left) || !ts.isIdentifier(left.expression)) return null;
  const entry = session.oracle.declarationAt(left.expression);
  if (!entry || !isPlain(session, left) || !namesEntry(session, entry)) return null;
  const owned = session.oracle.ownedAt(left);
  if (owned?.shape !== "one" || session.freshness(node.right) !== "fresh") return null;
  if (owned.nullable && !surelyRunsOften(session, home)) return null;
  const around = ts.findAncestor(node, (n) => n === entry.parent.parent || n === home) ?? home;
  const isOpen = (at: ts.Node): boolean => {
    if (!ts.isIdentifier(at) || at.text !== left.expression.getText()) return false;
    if (session.oracle.declarationAt(at) !== entry || within(at, entry)) return false;
    const { parent } = at;
    if (!ts.isPropertyAccessExpression(parent) || parent.expression !== at)
      return testAround(at) === undefined;
    if (parent === left || parent.name.text !== left.name.text) return false;
    return (
      isTarget(parent) ||
      !onlyLooksAt(session.transfer(parent).effect) ||
      testAround(parent) !== undefined
    );
  };
  if (someWithin(around, isOpen) || !mayLackScope(session, node)) return null;
  return isEndedElsewhere(session, left, home) ? { node, owned, held: left } : null;
}

/** Whether other code of the file ends such a field by hand. */
function isEndedElsewhere(
  session: Session,
  { name }: ts.PropertyAccessExpression,
  home: ts.Node,
): boolean {
  const field = session.oracle.declarationAt(name);
  return session.oracle.facts
    .nodes<ts.PropertyAccessExpression>(
      home.getSourceFile(),
      ts.SyntaxKind.PropertyAccessExpression,
    )
    .some(
      (at) =>
        at.name.text === name.text &&
        !within(at, home) &&
        session.oracle.declarationAt(at.name) === field &&
        session.transfer(at).effect === "disposes",
    );
}

/** What an assignment loses, when it is an update whose old value nobody has in hand. */
function updated(session: Session, node: ts.BinaryExpression): LostStore | null {
  const { left } = node;
  const isPlace = ts.isElementAccessExpression(left) || ts.isPropertyAccessExpression(left);
  if (!isPlace) return null;
  const right = unwrap(node.right);
  const home = enclosingFunction(node);
  if (!ts.isCallExpression(right) || !home) return null;
  if (!mentionsOf(left, right)[0] && !isReadBefore(session, node, home)) return null;
  const owned = session.oracle.ownedAt(node.right);
  if (owned?.shape !== "one" || !isHeld(session, left)) return null;
  if (session.freshness(right) !== "fresh") return null;
  const inside = mentionsOf(left, right);
  if (!inside.every((m) => onlyLooksAt(session.transfer(m).effect))) return null;
  const others = mentionsOf(left, home).filter((m) => !within(m, node));
  const keptOnes = others.filter((m) => isKept(session, m, owned));
  if (!others.every((m) => keptOnes.includes(m) || stays(session, m))) return null;
  const survives = keptOnes.length > 0 || lasts(session, right);
  if (!survives && !mayLackScope(session, node)) return null;
  return { node, owned, held: inside[0] ?? left };
}

/**
 * `const w = this.net.w.dataSync(); … this.net.w = tensor(w);`: whether a field of another object,
 * which the program ends by hand, is read before it is given something else.
 */
function isReadBefore(session: Session, node: ts.BinaryExpression, home: ts.Node): boolean {
  const { oracle } = session;
  const { left } = node;
  if (!ts.isPropertyAccessExpression(left) || !ts.isPropertyAccessExpression(left.expression))
    return false;
  const isRead = (m: ts.Expression): boolean => {
    const { parent } = m;
    const statement = ts.findAncestor(m, ts.isStatement);
    return (
      m.end <= node.pos &&
      ts.isPropertyAccessExpression(parent) &&
      parent.questionDotToken === undefined &&
      statement !== undefined &&
      within(node, statement.parent)
    );
  };
  if (!mentionsOf(left, home).some(isRead)) return false;
  const isWholeEnd = (at: ts.Node): boolean =>
    ts.isCallExpression(at) &&
    soundsLikeDisposal(calledBy(at)) &&
    mentionsOf(left.expression, at).length > 0;
  if (someWithin(home, isWholeEnd)) return false;
  const field = oracle.declarationAt(left.name);
  const isEnd = (at: ts.PropertyAccessExpression): boolean =>
    oracle.declarationAt(at.name) === field && session.transfer(at).effect === "disposes";
  return oracle.facts
    .of(oracle.program, sourcesOf)
    .some((file) => oracle.facts.of(file, accessesByName).get(left.name.text)?.some(isEnd));
}

/** The mentions of a place below a node, with the casts around them. */
function mentionsOf(place: ts.Expression, root: ts.Node): ts.Expression[] {
  const text = place.getText();
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind !== place.kind || node.getText() !== text) return ts.forEachChild(node, visit);
    let top = node as ts.Expression;
    while (isWrapper(top.parent)) top = top.parent;
    found.push(top);
  };
  ts.forEachChild(root, visit);
  return found;
}

const isWrapper = (node: ts.Node): node is ts.Expression =>
  ts.isAsExpression(node) || ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node);

/** An element, or a field of a field, of the object or of a variable that was not handed in. */
function isHeld(
  session: Session,
  left: ts.ElementAccessExpression | ts.PropertyAccessExpression,
): boolean {
  const root = rootOf(left);
  if (root.kind === ts.SyntaxKind.ThisKeyword) return left.expression !== root;
  if (!ts.isIdentifier(root)) return false;
  const declaration = session.oracle.declarationAt(root);
  if (left.expression === root && isPlain(session, left) && declaration)
    if (namesEntry(session, declaration)) return true;
  if (!declaration || !ts.isVariableDeclaration(declaration)) return false;
  if (left.expression !== root || session.freshness(root) !== "borrowed") return true;
  const { initializer } = declaration;
  return initializer !== undefined && isEmptyContainer(unwrap(initializer));
}

/** A property of the program's own that no setter stands behind, which might end the old value. */
function isPlain(
  { oracle }: Session,
  left: ts.ElementAccessExpression | ts.PropertyAccessExpression,
): boolean {
  if (!ts.isPropertyAccessExpression(left)) return false;
  const at = oracle.declarationAt(left.name);
  return (
    at !== undefined &&
    (ts.isPropertySignature(at) || ts.isPropertyDeclaration(at) || ts.isPropertyAssignment(at)) &&
    !at.getSourceFile().isDeclarationFile
  );
}

/** A name for an object in a list that outlives the function: `for (const x of this.xs)`. */
function namesEntry(session: Session, declaration: ts.Declaration): boolean {
  const list = listOf(declaration);
  const root = list && rootOf(list);
  if (root?.kind === ts.SyntaxKind.ThisKeyword) return session.oracle.ownedAt(list!) !== null;
  const source = root && ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  return (
    source !== undefined &&
    ts.isVariableDeclaration(source) &&
    !enclosingFunction(source) &&
    session.oracle.ownedAt(list!) !== null
  );
}

/** What a declaration takes an element of: `xs` of `const x = xs.get(k)`, `const [k, x] of xs`. */
function listOf(declaration: ts.Declaration): ts.Expression | undefined {
  if (ts.isParameter(declaration)) {
    const host = handedTo(declaration.parent);
    const isFirst = declaration.parent.parameters[0] === declaration;
    return host && isFirst ? receiverOf(host, /^forEach$/) : undefined;
  }
  if (ts.isBindingElement(declaration)) {
    const { parent: pattern } = declaration;
    const isSecond = ts.isArrayBindingPattern(pattern) && pattern.elements[1] === declaration;
    return isSecond && ts.isVariableDeclaration(pattern.parent)
      ? walkedBy(pattern.parent)
      : undefined;
  }
  if (!ts.isVariableDeclaration(declaration)) return undefined;
  const walked = walkedBy(declaration);
  if (walked || !declaration.initializer) return walked;
  const value = unwrap(declaration.initializer);
  if (ts.isElementAccessExpression(value)) return value.expression;
  return ts.isCallExpression(value) ? receiverOf(value, /^(get|find|findLast|at)$/) : undefined;
}

/** `xs` of `for (const x of xs)` or `for (const x of xs.values())`. */
function walkedBy({ parent }: ts.VariableDeclaration): ts.Expression | undefined {
  if (!ts.isVariableDeclarationList(parent) || !ts.isForOfStatement(parent.parent))
    return undefined;
  const list = unwrap(parent.parent.expression);
  return ts.isCallExpression(list) ? receiverOf(list, /^(values|entries)$/) : list;
}

const receiverOf = ({ expression }: CallLike, method: RegExp): ts.Expression | undefined =>
  ts.isPropertyAccessExpression(expression) && method.test(expression.name.text)
    ? expression.expression
    : undefined;

/** Looked at, or given a value for the first time: nobody has the old one in hand by that. */
const stays = (session: Session, mention: ts.Expression): boolean =>
  isTarget(mention) || onlyLooksAt(session.transfer(mention).effect);

/** `keep(this.sums[k])`: no scope frees what the place holds. */
function isKept(session: Session, mention: ts.Expression, owned: Owned): boolean {
  const call = mention.parent;
  return (
    ts.isCallExpression(call) &&
    keptBy(session, call, session.oracle.callee(call), owned) === mention
  );
}
