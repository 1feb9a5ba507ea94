/**
 * Endless parts: objects without an end, whose classes or functions keep GPU objects, in the fields
 * and closures of what has no end either: both need one. Used by the rule about members.
 */
import ts from "typescript";
import { isInStatic } from "../program/class-makers.ts";
import { classMade, endingsOf, endlessMembers, endsDevice } from "../objects/endings.ts";
import { givesEndless, keptByObjectOf, type Endless } from "./endless-objects.ts";
import { isEndedSomewhere } from "./endless-values.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { endsPart } from "../objects/left-behind.ts";
import { recurs } from "./made-again.ts";
import { fieldOfThis } from "../objects/members.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { baseOf, isTarget, memberName, unwrap, type FunctionWithBody } from "../program/syntax.ts";

/** A place that keeps an object without an end, in what has none either. */
type EndlessPart = Omit<Endless, "maker">;

const furthest = 4;

/** The objects without an end that a file keeps in what has none, the first of each. */
export const endlessParts = (session: Session, file: ts.SourceFile): EndlessPart[] => [
  ...partsOfClasses(session, file),
  ...partsOfObjects(session, file),
];

// ---- classes ----

/** Those that classes keep. */
const partsOfClasses = (session: Session, file: ts.SourceFile): EndlessPart[] =>
  session.oracle.facts
    .classes(file)
    .filter((node) => endlessMembers(session, node).length === 0) // others are told with these
    .flatMap((node) => endlessPartOf(session, node, 0) ?? []);

/**
 * The first field of a class without an end that keeps an object without one: of those that are
 * filled again and again, where there is such a field.
 */
function endlessPartOf(
  session: Session,
  node: ts.ClassLikeDeclaration,
  depth: number,
): EndlessPart | undefined {
  if (depth > furthest || baseOf(node) || endingsOf(node).length > 0) return undefined;
  const found: EndlessPart[] = [];
  const visit = (inner: ts.Node): void => {
    if (ts.isClassLike(inner)) return;
    if (ts.isNewExpression(inner) || ts.isCallExpression(inner)) {
      const name = isInStatic(inner, node) ? undefined : fieldFilledWith(inner);
      const noun = name === undefined ? undefined : endlessNoun(session, inner, node, depth);
      if (noun !== undefined) found.push({ label: `this.${name}`, at: inner, noun });
    }
    ts.forEachChild(inner, visit);
  };
  for (const member of node.members) ts.forEachChild(member, visit);
  if (found.length === 0 || node.members.some((m) => endsDevice(session, m))) return undefined;
  return found.find(({ at }) => depth === 0 && recurs(session, at)) ?? found[0];
}

/** What an object without an end keeps, where an expression makes one that `holder` is not. */
function endlessNoun(
  session: Session,
  made: ts.Expression,
  holder: ts.Node,
  depth: number,
): string | undefined {
  const kind = classMade(session, made) ?? bodyOf(session, made);
  if (kind === undefined || kind === holder) return undefined;
  if (ts.isClassLike(kind)) {
    const own = endlessMembers(session, kind).filter((m) => !isEndedSomewhere(session, m));
    return own[0]?.owned.owner.noun ?? endlessPartOf(session, kind, depth + 1)?.noun;
  }
  return (keptByObjectOf(session, kind) ?? endlessPartOfObject(session, kind, depth + 1))?.noun;
}

/** The function of the program that a call calls. */
function bodyOf(session: Session, made: ts.Expression): FunctionWithBody | undefined {
  const call = unwrap(made);
  return ts.isCallExpression(call) ? session.oracle.callee(call).body : undefined;
}

/** `this.x = made`, `x = made`, `this.xs.push(made)`, `this.xs = from.map(() => made)`. */
function fieldFilledWith(made: ts.Expression): string | undefined {
  let node: ts.Node = made;
  while (isPassing(node.parent)) node = node.parent;
  const { parent } = node;
  if (ts.isPropertyDeclaration(parent)) return memberName(parent.name);
  if (ts.isBinaryExpression(parent) && parent.right === node) {
    const field = fieldOfThis(parent.left);
    return field && isTarget(parent.left) ? field.name.text : undefined;
  }
  if (!ts.isCallExpression(parent) || parent.expression === node) return undefined;
  const callee = unwrap(parent.expression);
  if (!ts.isPropertyAccessExpression(callee) || !/^(push|set|add|unshift)$/.test(callee.name.text))
    return undefined;
  return fieldOfThis(callee.expression)?.name.text;
}

/** What gives on the value of a part of it, alone or in a list. */
function isPassing(node: ts.Node): boolean {
  if (ts.isArrowFunction(node)) return isMapped(node);
  return (
    ts.isAwaitExpression(node) ||
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isArrayLiteralExpression(node) ||
    (ts.isCallExpression(node) && node.arguments.some((a) => ts.isArrowFunction(a) && isMapped(a)))
  );
}

/** `xs.map((x) => …)`. */
function isMapped(fn: ts.ArrowFunction): boolean {
  const { parent } = fn;
  if (!ts.isCallExpression(parent) || ts.isBlock(fn.body)) return false;
  const callee = unwrap(parent.expression);
  return ts.isPropertyAccessExpression(callee) && callee.name.text === "map";
}

// ---- objects of functions ----

/** Those that objects of functions keep. */
const partsOfObjects = (session: Session, file: ts.SourceFile): EndlessPart[] =>
  session.oracle.facts
    .functions(file)
    .filter((fn) => keptByObjectOf(session, fn) === undefined) // others are told so
    .flatMap((fn) => endlessPartOfObject(session, fn, 0) ?? []);

/** `const painter = createPainter(device); return { draw: () => painter.draw() };`. */
function endlessPartOfObject(
  session: Session,
  fn: FunctionWithBody,
  depth: number,
): EndlessPart | undefined {
  if (depth > furthest || !givesEndless(session, fn)) return undefined;
  for (const declaration of session.oracle.facts.variables(fn.getSourceFile())) {
    const { name, initializer } = declaration;
    const isLeft = (id: ts.Identifier): boolean =>
      !isTarget(id) && fateOf(id).literal === null && !endsPart(id);
    if (!initializer || !ts.isIdentifier(name) || enclosingFunction(declaration) !== fn) continue;
    const uses = referencesTo(session.oracle, declaration, name, fn);
    const isKept = uses.some((id) => enclosingFunction(id) !== fn);
    if (!isKept || !uses.every(isLeft)) continue;
    const noun = endlessNoun(session, initializer, fn, depth);
    if (noun !== undefined) return { label: name.text, at: initializer, noun };
  }
  return undefined;
}
