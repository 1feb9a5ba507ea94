/**
 * Other keys: whether what stands beside `map.delete(key)` speaks of another entry, as
 * `map.get(other)` does, or `this.drop(other)`, which does all it does to its own key. It has not
 * ended what leaves the table. Used by `removals.ts`.
 */
import ts from "typescript";
import { samePlace } from "../program/same-place.ts";
import { rootOf, someWithin, unwrap, type FunctionWithBody } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { fateOf } from "../transfer/fate.ts";
import { entryOf } from "../transfer/looked-at.ts";

/** `map.get(key)` beside `map.delete(oldest)`: a name for another place. */
export function isOfOtherKey(
  session: Session,
  mention: ts.Expression,
  key: ts.Expression,
): boolean {
  const got = entryOf(mention);
  const other = got && (ts.isCallExpression(got) ? got.arguments[0] : undefined);
  return other !== undefined && areOthers(session, key, other);
}

/** Whether two keys are names, or a part of one, of which neither is made of the other. */
function areOthers({ oracle }: Session, key: ts.Expression, other: ts.Expression): boolean {
  const [a, b] = [unwrap(key), rootOf(unwrap(other))];
  if (!ts.isIdentifier(a) || !ts.isIdentifier(b)) return false;
  const [one, two] = [oracle.declarationAt(a), oracle.declarationAt(b)];
  const speaksOf = (declaration: ts.Declaration | undefined, { text }: ts.Identifier): boolean =>
    declaration === undefined ||
    someWithin(declaration, (n) => ts.isIdentifier(n) && n.text === text);
  return !speaksOf(one, b) && !speaksOf(two, a);
}

/** `this.drop(key)` beside `this.map.delete(oldest)`: all it does is done to its own key. */
export function endsOtherKey(
  session: Session,
  call: ts.CallExpression,
  body: FunctionWithBody,
  container: ts.Expression,
  key: ts.Expression,
): boolean {
  const { oracle } = session;
  const mentions = placesLike(session, body, container);
  return (
    mentions.length > 0 &&
    mentions.every((at) => {
      const { kind, member, node: use } = fateOf(at);
      const asked = ts.isCallExpression(use) ? use.arguments[0] : undefined;
      const isOfKey = kind === "receiver" && /^(get|has|delete)$/.test(member);
      if (!isOfKey || !asked || !ts.isIdentifier(asked)) return false;
      const index = body.parameters.findIndex((p) => p === oracle.declarationAt(asked));
      const given = call.arguments[index];
      return given !== undefined && areOthers(session, key, given);
    })
  );
}

/** What stands in a function for the same variable or field of the object. */
function placesLike(session: Session, body: ts.Node, container: ts.Expression): ts.Expression[] {
  const found: ts.Expression[] = [];
  someWithin(body, (at) => {
    if (ts.isIdentifier(at) || ts.isPropertyAccessExpression(at))
      if (samePlace(session.oracle, at, container)) found.push(at);
    return false;
  });
  return found;
}
