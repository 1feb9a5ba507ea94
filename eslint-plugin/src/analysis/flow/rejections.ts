/**
 * Rejections: what a function still owns at an `await` that may reject, when it ends that value
 * only afterwards: then nobody does. `paths.ts` notes the places; used by `flow.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import type { FunctionPaths, Segment } from "./events.ts";
import { nil, owned, type State, type Value } from "./states.ts";
import type { Oracle } from "../program/oracle.ts";
import { calleeNameNode, hasBody, unwrap, within } from "../program/syntax.ts";

/** A variable that owns a value where a function may end by a rejection. */
export interface LeftByRejection {
  cell: Cell;
  value: Value;
  exit: ts.AwaitExpression;
}

/** What never rejects: their names say it, or the standards of the platform do. */
const surelyKept = /^(allSettled|catch|onSubmittedWorkDone|nextFrame|sleep|delay|wait)$/;

/** Whether what is waited for may reject, as far as one can tell. */
export const mayReject = (oracle: Oracle, { expression }: ts.AwaitExpression): boolean =>
  !isKept(oracle, expression);

/** Whether a promise surely does not reject. */
export function isKept(oracle: Oracle, given: ts.Expression): boolean {
  const promise = unwrap(given);
  if (ts.isNewExpression(promise)) return neverRejects(promise);
  if (ts.isPropertyAccessExpression(promise)) return promise.name.text === "lost";
  if (!ts.isCallExpression(promise)) return ts.isLiteralExpression(promise);
  const name = calleeNameNode(promise);
  if (name && surelyKept.test(name.text)) return true;
  if (name?.text === "then" && promise.arguments.length > 1) return true;
  const body = oracle.callee(promise).body?.body;
  const made = body && ts.isBlock(body) ? soleReturn(body) : body;
  return made !== undefined && ts.isNewExpression(made) && neverRejects(made);
}

/** `function pause() { return new Promise(…); }`. */
function soleReturn({ statements }: ts.Block): ts.Node | undefined {
  const last = statements.at(-1);
  return last && ts.isReturnStatement(last) ? last.expression : undefined;
}

/** `new Promise((resolve) => setTimeout(resolve, 10))`: it has nothing to reject with. */
function neverRejects({ arguments: given }: ts.NewExpression): boolean {
  const executor = given?.[0];
  return executor !== undefined && hasBody(executor) && executor.parameters.length < 2;
}

/** Every variable that a rejection leaves behind, at the first `await` that can. */
export function leftByRejections(
  { root, segments }: FunctionPaths,
  stateAt: (segment: Segment, index: number) => State,
  counts: (wait: ts.AwaitExpression) => boolean,
): LeftByRejection[] {
  if (!ts.isFunctionLike(root)) return [];
  return segments.flatMap((segment) =>
    segment.waits.flatMap(({ node, index }) =>
      [...stateAt(segment, index)].flatMap(([cell, value]) =>
        isLeft(cell, value) && counts(node) && !isGuarded(node, cell, value, segments)
          ? [{ cell, value, exit: node }]
          : [],
      ),
    ),
  );
}

/** Owned, and ended further on: what nothing ends is another leak. */
const isLeft = ({ kind, captured, fields, disposals }: Cell, { bits }: Value): boolean =>
  (bits & ~nil) === owned && kind === "local" && !captured && !fields && disposals > 0;

/**
 * Whether a `catch` or `finally` around the `await` speaks of the value, or the function goes on
 * after a `catch` with a variable that is still there.
 */
function isGuarded(
  node: ts.Node,
  cell: Cell,
  { sites }: Value,
  segments: readonly Segment[],
): boolean {
  const names = new Set([cell, ...[...sites].map((site) => site.cell)]);
  for (let at = node; !ts.isFunctionLike(at) && !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (!ts.isTryStatement(parent) || at !== parent.tryBlock) continue;
    const { catchClause, finallyBlock } = parent;
    const handlers = [catchClause, finallyBlock].filter((block) => block !== undefined);
    if (handlers.some((block) => speaksIn(block, names, segments))) return true;
    if (!catchClause) continue;
    const { declaration } = cell;
    if (declaration && within(declaration, at)) return false;
    if (!endsInThrow(catchClause.block)) return true;
  }
  return false;
}

const speaksIn = (block: ts.Node, names: Set<Cell>, segments: readonly Segment[]): boolean =>
  segments.some(({ events }) =>
    events.some((event) => {
      const node = event.kind === "own" ? event.site.node : event.node;
      return names.has(event.cell) && within(node, block);
    }),
  );

const endsInThrow = ({ statements }: ts.Block): boolean => {
  const last = statements.at(-1);
  return last !== undefined && ts.isThrowStatement(last);
};
