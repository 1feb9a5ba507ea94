/**
 * Late starts: what an effect of a component keeps only when something it waits for is done, `const
 * r = await start(); kept.current = r;`, and its clean-up ends. Where the component goes before,
 * the clean-up finds nothing, and what comes then is lost, unless the function asks. Used by the rule
 * about disposal.
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
    const wait = waitBeforeEnd(effect, end, trail.nodes);
    if (wait) waits.push(wait);
    return !wait;
  };
  return trail.isEndless(made, path, isInTime) ? waits.slice(0, 1) : [];
}

/** What the value is kept after, which may be done only when the clean-up that ends it has run. */
function waitBeforeEnd(
  effect: FunctionWithBody,
  end: ts.Node,
  nodes: Iterable<ts.Node>,
): ts.Node | undefined {
  const cleanUp = cleanUpOf(effect, end);
  if (!cleanUp) return undefined;
  const stores = [...nodes].filter((n) => within(n, effect) && !within(n, cleanUp) && isStored(n));
  const waits = stores.map((at) => waitBefore(at, cleanUp));
  return waits.includes(undefined) ? undefined : waits[0];
}

/** The clean-up of an effect that an end stands in, and not in what that waits for. */
function cleanUpOf(effect: FunctionWithBody, end: ts.Node): ts.Node | undefined {
  const fn = enclosingFunction(end);
  return returnsOf(effect)
    .map((value): ts.Node => unwrap(value))
    .find((value) => value === fn);
}

/** `kept.current = r;`, where the place is of outside of the function. */
const isStored = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node.parent) &&
  node.parent.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
  node.parent.right === node &&
  !isDeclaredWithin(node.parent.left, enclosingFunction(node));

function isDeclaredWithin(place: ts.Expression, fn: ts.Node | undefined): boolean {
  const name = ts.isIdentifier(place) ? place.text : undefined;
  return fn !== undefined && name !== undefined && namesOf(fn).has(name);
}

/** What a function waits for before a store, without asking anything of outside afterwards. */
function waitBefore(store: ts.Node, cleanUp: ts.Node): ts.Node | undefined {
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
  if (!wait || mentionsAny(wait, cleanUp)) return undefined;
  const from = waits.at(-1)?.end ?? fn.pos;
  return asksAfter(fn, from) ? undefined : wait;
}

/** Whether a function asks something of outside of it after a place: `if (isGone) …`. */
function asksAfter(fn: ts.Node, from: number): boolean {
  const own = namesOf(fn);
  const asks = (test: ts.Node): boolean =>
    test.pos >= from &&
    someWithin(test, (n) => ts.isIdentifier(n) && isName(n) && !own.has(n.text));
  return someWithin(
    fn,
    (node) =>
      (ts.isIfStatement(node) && asks(node.expression)) ||
      (ts.isConditionalExpression(node) && asks(node.condition)) ||
      (ts.isBinaryExpression(node) &&
        node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken &&
        asks(node.left)),
  );
}

/** Whether what is waited for hears of the clean-up: `await load(aborter.signal)`. */
const mentionsAny = (wait: ts.Node, cleanUp: ts.Node): boolean =>
  someWithin(
    wait,
    (node) =>
      ts.isIdentifier(node) &&
      isName(node) &&
      /abort|signal|cancel|token/i.test(node.text + node.parent.getText()) &&
      someWithin(cleanUp, (other) => ts.isIdentifier(other) && other.text === node.text),
  );

const isName = (id: ts.Identifier): boolean =>
  !(ts.isPropertyAccessExpression(id.parent) && id.parent.name === id) && !isTarget(id);

/** The variables and parameters of a function. */
function namesOf(fn: ts.Node): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    const declares =
      ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node);
    if (declares && ts.isIdentifier(node.name)) names.add(node.name.text);
    ts.forEachChild(node, visit);
  };
  visit(fn);
  return names;
}
