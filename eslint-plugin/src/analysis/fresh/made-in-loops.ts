/**
 * Made in loops: variables that start as what a function is given and that each turn of a loop
 * gives something new, `let y = x; for (const layer of layers) y = layer.call(y); return y;`. Who
 * calls that takes the result for new, as a loop over nothing is not what it is called for. Used by
 * `fresh-results.ts`.
 */
import ts from "typescript";
import { referencesTo } from "../program/references.ts";
import { someWithin, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { guarded } from "./fresh-variables.ts";
import { joinAll } from "./join.ts";

/** Whether a returned variable is given something new in each turn of a loop before. */
export function isMadeInLoop(session: Session, returned: ts.Expression): boolean {
  const { oracle } = session;
  const id = unwrap(returned);
  const declaration = ts.isIdentifier(id) ? oracle.declarationAt(id) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration) || !declaration.initializer)
    return false;
  const { name } = declaration;
  const home = enclosingFunction(declaration);
  if (!ts.isIdentifier(name) || !home || enclosingFunction(id) !== home) return false;
  const stores = referencesTo(oracle, declaration, name, home).flatMap(storeTo);
  const isAlways = stores.some((store) => {
    const loop = loopOfStore(store);
    return loop?.parent === declaration.parent.parent.parent && loop.end <= id.pos;
  });
  return isAlways && joinAll(stores.map(({ right }) => guarded(session, right))) === "fresh";
}

/** The assignment that gives a variable another value. */
const storeTo = (id: ts.Identifier): ts.BinaryExpression[] => {
  const { parent } = id;
  return ts.isBinaryExpression(parent) &&
    parent.left === id &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
    ? [parent]
    : [];
};

/** The loop of which each turn comes to an assignment. */
function loopOfStore(store: ts.BinaryExpression): ts.IterationStatement | undefined {
  const statement = store.parent;
  if (!ts.isExpressionStatement(statement)) return undefined;
  const { parent } = statement;
  const body = ts.isBlock(parent) ? parent : statement;
  const loop = body.parent;
  const isCounted = ts.isForStatement(loop) && startsAtZero(loop);
  if (!isCounted && !(ts.isForOfStatement(loop) && !isRest(loop.expression))) return undefined;
  const before = ts.isBlock(body) ? body.statements.filter((s) => s.pos < statement.pos) : [];
  return before.some((s) => someWithin(s, ts.isBreakOrContinueStatement)) ? undefined : loop;
}

/** `for (let i = 0; …)`: one from 1 on counts what comes beside the first. */
const startsAtZero = ({ initializer }: ts.ForStatement): boolean =>
  initializer !== undefined &&
  ts.isVariableDeclarationList(initializer) &&
  initializer.declarations[0]?.initializer?.getText() === "0";

/** `xs.slice(1)`: what comes beside the first. */
const isRest = (list: ts.Expression): boolean => {
  const bare = unwrap(list);
  return (
    ts.isCallExpression(bare) &&
    ts.isPropertyAccessExpression(bare.expression) &&
    bare.expression.name.text === "slice"
  );
};
