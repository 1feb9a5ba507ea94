/**
 * Verb "is fresh", for functions: what a body returns or yields, and what each turn of a loop gets.
 * Used by the summaries and the dataflow.
 */
import ts from "typescript";
import { fateOf, returnsOf } from "./fate.ts";
import { guarded, onlyUsed } from "./fresh-variables.ts";
import { joinAll } from "./join.ts";
import { referencesTo } from "./references.ts";
import type { Freshness, Session } from "./session.ts";
import { isNullish, isUsing, unwrap, valuesOf, type FunctionWithBody } from "./syntax.ts";

/**
 * What each turn of a `for … of` gets: from a generator with a body what it yields and lets go;
 * from an owner, such as a data loader, what stays the owner's; from anything else what it holds.
 */
export function elementFreshness(session: Session, iterated: ts.Expression): Freshness {
  if (session.oracle.ownedAt(iterated)?.shape === "one") return "borrowed";
  const call = unwrap(iterated);
  const callee = ts.isCallExpression(call) ? session.oracle.callee(call) : undefined;
  if (!callee?.body?.asteriskToken) return session.freshness(iterated);
  if (callee.tags.fresh) return "fresh";
  return callee.tags.borrowed ? "borrowed" : yieldedFreshness(session, callee.body);
}

function yieldedFreshness(session: Session, fn: FunctionWithBody): Freshness {
  const found: Freshness[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    if (ts.isYieldExpression(node))
      found.push(
        node.expression && !node.asteriskToken ? letGo(session, node.expression, fn) : "unknown",
      );
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(fn.body, visit);
  return joinAll(found);
}

/**
 * A yielded value is the consumer's when it is fresh and the generator does nothing else with it.
 */
function letGo(session: Session, value: ts.Expression, fn: FunctionWithBody): Freshness {
  const bare = unwrap(value);
  if (ts.isObjectLiteralExpression(bare) || ts.isArrayLiteralExpression(bare)) {
    const parts = valuesOf(bare);
    if (parts.some((p) => session.oracle.ownedAt(p) && letGo(session, p, fn) !== "fresh"))
      return "unknown";
    return guarded(session, bare);
  }
  if (!ts.isIdentifier(bare)) return guarded(session, bare);
  const declaration = session.oracle.declarationAt(bare);
  if (!declaration || !ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
    return "unknown";
  if (isUsing(declaration)) return "borrowed";
  const only = referencesTo(session.oracle, declaration, declaration.name, fn).every(
    (id) => fateOf(id).kind === "yielded" || onlyUsed(session, id),
  );
  return only ? guarded(session, bare) : "unknown";
}

/**
 * The join over every returned expression; generators and functions without returns give no answer.
 */
export function resultFreshness(
  session: Session,
  fn: ts.FunctionLikeDeclaration & { body: ts.Node },
): Freshness {
  if (fn.asteriskToken || session.oracle.givesNothing(fn) || isDecorated(fn)) return "unknown";
  const isSaid = session.oracle.givesOwned(fn);
  const values = session.oracle.facts.of(fn, returnsOf).filter((v) => {
    const bare = unwrap(v);
    if (isNullish(bare)) return false;
    // a literal may leave out what is owned
    return (isSaid && ts.isCallExpression(bare)) || session.oracle.ownedAt(v) !== null;
  });
  return joinAll(values.map((v) => (isKept(session, fn, v) ? "unknown" : guarded(session, v))));
}

/** Whether a decorator stands before a method or getter: it may keep what that gives. */
const isDecorated = (fn: ts.Node): boolean =>
  ts.canHaveDecorators(fn) && (ts.getDecorators(fn)?.length ?? 0) > 0;

/** Whether what is returned is also put away, or into somebody's hands: it has an owner then. */
function isKept(session: Session, fn: ts.Node, value: ts.Expression): boolean {
  const bare = unwrap(value);
  if (!ts.isIdentifier(bare)) return false;
  const owned = session.oracle.ownedAt(bare);
  if (owned?.owner.policy !== "generic" || owned.shape === "many") return false;
  const declaration = session.oracle.declarationAt(bare);
  if (!declaration || !ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
    return false;
  return referencesTo(session.oracle, declaration, declaration.name, fn).some((id) => {
    const { effect } = session.transfer(id);
    return effect === "takes" || effect === "stores";
  });
}
