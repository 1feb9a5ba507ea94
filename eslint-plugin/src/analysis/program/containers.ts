/**
 * Containers and other built-in functions by name: what the methods of arrays, maps and sets do to
 * the values they hold, and what the functions of the standard library do to an argument. The one
 * place where such names are listed; `transfer.ts` reads it.
 */
import ts from "typescript";
import { isNullish, isTarget, unwrap } from "./syntax.ts";

/**
 * What a method does to the values of its container. `receives`: puts its arguments in; `visits`:
 * calls back for each; `reads`: looks at them; `asks`: only asks which they are; `views`: gives
 * them again, in another form; `lends`: gives one of them.
 */
export type ContainerMethod =
  "receives" | "visits" | "reads" | "asks" | "views" | "lends" | "unknown";

const methods: Readonly<Record<ContainerMethod, readonly string[]>> = {
  receives: ["push", "unshift", "set", "add"],
  visits: ["forEach", "map", "flatMap"],
  reads: ["some", "every", "join", "findIndex"],
  asks: ["includes", "indexOf", "lastIndexOf", "has", "keys"],
  views: ["values", "entries", "sort", "reverse", "toSorted", "toReversed", "flat"],
  lends: ["at", "get"],
  unknown: [],
};

/** What a standard function does to an argument, `passes` being: hands it back. */
const functions = {
  takes: [
    ...["push", "unshift", "splice", "set", "add", "fill", "concat", "resolve"],
    ...["use", "adopt"], // of a stack of what is to be ended
  ],
  passes: ["all", "from", "of", "assign", "values", "entries", "race", "freeze"],
  borrows: ["log", "error", "warn", "info", "debug", "table", "assert", "keys", "stringify"],
  // only ask which value it is, alive or not
  nothing: ["isArray", "includes", "indexOf", "lastIndexOf", "has", "is", "delete"],
} as const;

const lookup = <T extends string>(table: Readonly<Record<T, readonly string[]>>): Map<string, T> =>
  new Map(
    (Object.keys(table) as T[]).flatMap((key) => table[key].map((name) => [name, key] as const)),
  );
const methodByName = lookup(methods);
const functionByName = lookup(functions);

/**
 * What a method of an array, map or set does to the values in it.
 *
 * @param some it takes some values out, as `ts.splice(3)` does, and others stay
 */
export const containerMethod = (name: string, some = false): ContainerMethod =>
  methodByName.get(name) ?? (some ? "reads" : "unknown");

/**
 * What a function of the standard library does to an argument.
 *
 * @param into the first argument, where another is asked about, is an object that there was before
 */
export const builtinArgument = (
  name: string,
  into = false,
): "takes" | "passes" | "borrows" | "nothing" | "unknown" =>
  into && name === "assign" ? "takes" : (functionByName.get(name) ?? "unknown");

/** Whether a method puts its arguments into its container. */
export const puts = (name: string): boolean => containerMethod(name) === "receives";

/** The arguments of such a method that become values: a map's key does not. */
export const putValues = <T>(method: string, args: readonly T[]): readonly T[] =>
  method === "set" ? args.slice(1) : args;

/** `xs.filter((x) => x !== null)`, `xs.filter(Boolean)`: leaves out nothing that anybody owns. */
export function isPresenceFilter(call: ts.Node): boolean {
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return false;
  const [test, ...more] = call.arguments;
  if (call.expression.name.text !== "filter" || !test || more.length > 0) return false;
  const bare = unwrap(test);
  if (!ts.isArrowFunction(bare)) return bare.getText() === "Boolean";
  const [parameter] = bare.parameters;
  if (!parameter || !ts.isIdentifier(parameter.name) || ts.isBlock(bare.body)) return false;
  return asksForPresence(unwrap(bare.body), parameter.name.text);
}

/** `x`, `!!x`, `x != null`, `x !== null && x !== undefined`. */
function asksForPresence(test: ts.Expression, name: string): boolean {
  if (ts.isIdentifier(test)) return test.text === name;
  if (ts.isPrefixUnaryExpression(test)) return test.getText() === `!!${name}`;
  if (!ts.isBinaryExpression(test)) return false;
  const { left, right } = test;
  switch (test.operatorToken.kind) {
    case ts.SyntaxKind.AmpersandAmpersandToken:
      return [left, right].every((part) => asksForPresence(unwrap(part), name));
    case ts.SyntaxKind.ExclamationEqualsToken:
    case ts.SyntaxKind.ExclamationEqualsEqualsToken:
      return left.getText() === name && isNullish(right);
    default:
      return false;
  }
}

/** `then`, `catch` and `finally` belong to the promise, not to what it gives. */
export const isPromiseMember = (name: string): boolean =>
  name === "then" || name === "catch" || name === "finally";

/** `xs.clear()`, `xs.fill(null)`, `xs.length = 0`: the list or table that an expression empties. */
export function listEmptied(at: ts.Node): ts.Expression | undefined {
  let target: ts.Expression | undefined;
  if (ts.isCallExpression(at)) target = at.expression;
  else if (ts.isBinaryExpression(at) && isZero(at.right) && isTarget(at.left)) target = at.left;
  return target && ts.isPropertyAccessExpression(target) && emptying.test(target.name.text)
    ? target.expression
    : undefined;
}
const isZero = (at: ts.Node): boolean => ts.isNumericLiteral(at) && at.text === "0";
const emptying = /^(clear|fill|length)$/;
