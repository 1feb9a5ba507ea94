/**
 * Late starts: what an effect of a component keeps only when something it waits for is done, `const
 * r = await start(); kept.current = r;`, and its clean-up ends. Where the component goes before,
 * the clean-up finds nothing, and what comes then is lost, unless the function asks. Used by the
 * rule about disposal.
 */
import ts from "typescript";
import { isAnything } from "../../owner.ts";
import type { FreshValue } from "../fresh/consume.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import {
  calleeNameNode,
  declares,
  hasBody,
  isTarget,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { cleanedEffect } from "./cleaned-effects.ts";
import { goesOn, pathsTo } from "./endless-values.ts";
import type { Path } from "./trail-path.ts";
import { Trail } from "./trails.ts";

/** A value that a clean-up may come too early for. */
export interface LateStart {
  made: ts.Expression;
  owned: Owned;
  /** What is waited for. */
  wait: ts.Node;
}

/** The values of a file that nothing ends but the clean-up of an effect which may run first. */
export const lateStarts = (session: Session, fresh: readonly FreshValue[]): LateStart[] =>
  fresh.flatMap(({ node, owned, outcome }) => {
    const effect = cleanedEffect(node);
    const isIn = effect !== undefined && hasBody(effect) && goesOn.has(outcome);
    if (!isIn || isAnything(owned.owner) || session.scopeAt(node) === "in") return [];
    const [wait] = pathsTo(owned).flatMap((path) => waitOf(session, node, owned, path, effect));
    return wait ? [{ made: node, owned, wait }] : [];
  });

/** What a value waits for that only the clean-up of an effect ends. */
function waitOf(
  session: Session,
  made: ts.Expression,
  owned: Owned,
  path: Path,
  effect: FunctionWithBody,
): ts.Node[] {
  const trail = new Trail(session, owned, true);
  const waits: ts.Node[] = [];
  const isInTime = (end: ts.Node): boolean => {
    const wait = waitBeforeEnd(session, effect, end, trail.nodes);
    if (wait) waits.push(wait);
    return !wait;
  };
  return trail.isEndless(made, path, isInTime) ? waits.slice(0, 1) : [];
}

/** What the value is kept after, which may be done only when the clean-up that ends it has run. */
function waitBeforeEnd(
  session: Session,
  effect: FunctionWithBody,
  end: ts.Node,
  nodes: Iterable<ts.Node>,
): ts.Node | undefined {
  const cleanUp = cleanUpOf(effect, end);
  if (!cleanUp) return undefined;
  const stores = [...nodes].filter((n) => within(n, effect) && !within(n, cleanUp) && isStored(n));
  const waits = stores.map((at) => waitBefore(session, at, cleanUp));
  return waits.includes(undefined) ? undefined : waits[0];
}

/** The clean-up of an effect that an end stands in, if that waits for nothing before. */
function cleanUpOf(effect: FunctionWithBody, end: ts.Node): ts.Node | undefined {
  const fn = enclosingFunction(end);
  const cleanUp = returnsOf(effect)
    .map((value): ts.Node => unwrap(value))
    .find((value) => value === fn);
  const waits = (n: ts.Node): boolean => ts.isAwaitExpression(n) && n.pos < end.pos;
  return cleanUp && someWithin(cleanUp, waits) ? undefined : cleanUp;
}

/** `kept.current = r;`, where the place is of outside of the function. */
const isStored = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node.parent) &&
  node.parent.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
  node.parent.right === node &&
  !isDeclaredWithin(node.parent.left, enclosingFunction(node));

function isDeclaredWithin(place: ts.Expression, fn: ts.Node | undefined): boolean {
  return fn !== undefined && ts.isIdentifier(place) && declares(fn, place.text);
}

/** What a function waits for before a store, without asking anything of outside afterwards. */
function waitBefore(session: Session, store: ts.Node, cleanUp: ts.Node): ts.Node | undefined {
  const fn = enclosingFunction(store);
  if (!fn) return undefined;
  const waits: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (node !== fn && ts.isFunctionLike(node)) return;
    if (ts.isAwaitExpression(node) && node.pos < store.end) waits.push(node);
    ts.forEachChild(node, visit);
  };
  visit(fn);
  const host = handedTo(fn);
  const isAnswer = host !== undefined && calleeNameNode(host)?.text === "then";
  const wait = waits.at(-1) ?? (isAnswer ? host : undefined);
  if (!wait || isBrokenOff(wait, cleanUp)) return undefined;
  if (asksOf(session, fn, waits.at(-1)?.end ?? fn.pos, isAnswer)) return undefined;
  const before: ts.Node[] = []; // `.then((data) => { if (isGone) throw …; }).then(keep)`
  const callbacks = (node: ts.Node): void => {
    if (node === fn) return;
    if (ts.isFunctionLike(node)) before.push(node);
    else ts.forEachChild(node, callbacks);
  };
  if (isAnswer) callbacks(wait);
  return before.some((other) => asksOf(session, other, other.pos, true)) ? undefined : wait;
}

/**
 * Whether a function asks something of outside of it after a place: `if (isGone) …`,
 * `signal.throwIfAborted()`, or calls what may throw.
 */
function asksOf(session: Session, fn: ts.Node, from: number, isAnswer: boolean): boolean {
  const own = answersIn(fn, isAnswer);
  const asks = (test: ts.Node): boolean =>
    test.pos >= from &&
    someWithin(test, (n) => ts.isIdentifier(n) && isName(n) && !own.has(n.text));
  return someWithin(
    fn,
    (node) =>
      (ts.isIfStatement(node) && asks(node.expression)) ||
      (ts.isSwitchStatement(node) && asks(node.expression)) ||
      (ts.isConditionalExpression(node) && asks(node.condition)) ||
      (ts.isBinaryExpression(node) && isChoice(node) && asks(node.left)) ||
      (ts.isCallExpression(node) && node.pos >= from && mayThrow(session, node)),
  );
}

/** `isShown && keep(r);`, `isGone || keep(r);`. */
const isChoice = ({ operatorToken: { kind }, parent }: ts.BinaryExpression): boolean =>
  kind === ts.SyntaxKind.AmpersandAmpersandToken ||
  (kind === ts.SyntaxKind.BarBarToken && ts.isExpressionStatement(parent));

/** `signal.throwIfAborted()`, `check()` of a function that throws. */
function mayThrow({ oracle }: Session, call: ts.CallExpression): boolean {
  const { name, body } = oracle.callee(call);
  if (/^throw|^(check|assert|ensure)/i.test(name)) return true;
  return body?.parameters.length === 0 && someWithin(body, ts.isThrowStatement);
}

/** Whether a clean-up breaks off what is waited for: `load(signal)`, `c.guard(load())`. */
function isBrokenOff(wait: ts.Node, cleanUp: ts.Node): boolean {
  const enders = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      if (/abort|cancel|stop|close/i.test(name.text)) enders.add(expression.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(cleanUp);
  return (
    enders.size > 0 &&
    someWithin(
      wait,
      (n) => ts.isIdentifier(n) && (enders.has(n.text) || /signal|token/i.test(n.text)),
    )
  );
}

const isName = (id: ts.Identifier): boolean =>
  !(ts.isPropertyAccessExpression(id.parent) && id.parent.name === id) && !isTarget(id);

/** The names in a function of what it waited for or made; `then` gives its callback the former. */
function answersIn(fn: ts.Node, isAnswer: boolean): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer) {
      const value = unwrap(node.initializer);
      if (ts.isAwaitExpression(value) || ts.isCallExpression(value) || ts.isNewExpression(value))
        names.add(node.name.text);
    }
    const isGiven = isAnswer && ts.isParameter(node) && node.parent === fn;
    if (isGiven && ts.isIdentifier(node.name)) names.add(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(fn);
  return names;
}
