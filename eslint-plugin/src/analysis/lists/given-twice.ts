/**
 * Given twice: whether a program gives a function the same key more than once: the same text at two
 * calls, or the same name in every turn of a loop. What the function puts into a table under the
 * key then takes the place of another. Used by `replaced-entries.ts`.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { freeing } from "../objects/endings.ts";
import { enclosingFunction, loopOfTurn } from "../transfer/fate.ts";
import type { Oracle } from "../program/oracle.ts";
import { samePlace } from "../program/same-place.ts";
import { rootOf, someWithin, unwrap, within, type FunctionWithBody } from "../program/syntax.ts";
import { isOnOtherWay } from "../program/ways.ts";

/** A call of the function, with the key it is given. */
interface Site {
  call: ts.CallExpression;
  key: ts.Expression;
}

/** Whether a key, or what it is a part of, is a parameter for which the same value comes again. */
export function isGivenTwice(oracle: Oracle, home: FunctionWithBody, key: ts.Expression): boolean {
  const root = rootOf(key);
  const parameter = ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  if (!parameter || !ts.isParameter(parameter) || parameter.parent !== home) return false;
  const index = home.parameters.indexOf(parameter);
  const sites = callSitesOf(oracle, home, "program").calls.flatMap((call): Site[] => {
    const given = call.arguments?.[index];
    return given && ts.isCallExpression(call) && !within(call, home)
      ? [{ call, key: unwrap(given) }]
      : [];
  });
  return sites.some(
    (site, i) =>
      !isTakenOut(oracle, site) &&
      (isSameEachTurn(oracle, site) ||
        sites.slice(i + 1).some((other) => isSameKey(oracle, site, other))),
  );
}

/** `board.place("left", a); board.place("left", b);` */
function isSameKey(oracle: Oracle, one: Site, two: Site): boolean {
  const home = enclosingFunction(one.call);
  if (home !== enclosingFunction(two.call) || isOnOtherWay(one.call, two.call)) return false;
  if (!isLiteral(one.key) && !isConstant(oracle, one.key)) return false;
  return samePlace(oracle, one.key, two.key) && mayBeOn(oracle, one.call, two.call);
}

const isLiteral = (key: ts.Expression): boolean =>
  ts.isStringLiteralLike(key) || ts.isNumericLiteral(key);

/** A name that is given one value. */
function isConstant(oracle: Oracle, key: ts.Expression): boolean {
  const declaration = ts.isIdentifier(key) ? oracle.declarationAt(key) : undefined;
  const list = declaration?.parent;
  return (
    list !== undefined &&
    ts.isVariableDeclarationList(list) &&
    (list.flags & ts.NodeFlags.Const) !== 0
  );
}

/** Whether two calls are of one object, or one of them of each of several. */
function mayBeOn(oracle: Oracle, one: ts.CallExpression, two: ts.CallExpression): boolean {
  const [a, b] = [one.expression, two.expression];
  if (!ts.isPropertyAccessExpression(a) || !ts.isPropertyAccessExpression(b))
    return samePlace(oracle, a, b);
  return (
    samePlace(oracle, a.expression, b.expression) ||
    [a, b].some((on) => isOfTurn(oracle, on.expression))
  );
}

/** The name of what a loop goes over. */
const isOfTurn = (oracle: Oracle, on: ts.Expression): boolean =>
  ts.isIdentifier(on) && loopOfTurn(oracle.declarationAt(on)) !== undefined;

/** `for (…) board.place("left", make())`: neither the key nor the object is another each time. */
function isSameEachTurn(oracle: Oracle, { call, key }: Site): boolean {
  const loop = ts.findAncestor(call, (n) =>
    ts.isFunctionLike(n) ? "quit" : ts.isIterationStatement(n, false),
  );
  if (!loop) return false;
  const isFromOutside = (id: ts.Node): boolean => {
    const declaration = oracle.declarationAt(id);
    return declaration !== undefined && !within(declaration, loop);
  };
  const { expression } = call;
  if (ts.isPropertyAccessExpression(expression) && !isFromOutside(rootOf(expression.expression)))
    return false;
  return isFew(key) || (isConstant(oracle, key) && isFromOutside(key));
}

/** A text, or one of two. */
const isFew = (key: ts.Expression): boolean =>
  isLiteral(key) ||
  (ts.isConditionalExpression(key) && isFew(unwrap(key.whenTrue)) && isFew(unwrap(key.whenFalse)));

/** `board.remove("left")` somewhere in the same function. */
function isTakenOut(oracle: Oracle, { call, key }: Site): boolean {
  const home = enclosingFunction(call) ?? call.getSourceFile();
  return someWithin(
    home,
    (at) =>
      ts.isCallExpression(at) &&
      ts.isPropertyAccessExpression(at.expression) &&
      freeing.test(at.expression.name.text) &&
      at.arguments.some((given) => samePlace(oracle, given, key)),
  );
}
