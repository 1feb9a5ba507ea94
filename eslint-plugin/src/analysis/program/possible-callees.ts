/**
 * Possible callees: the functions that a call may run where its callee has no body of its own:
 * those that all callers hand in for a parameter, those that implement a member of an interface,
 * by name, and those that a function of the program returns. Used by `scope-reach.ts` and
 * `trail-calls.ts`.
 */
import ts from "typescript";
import { sourcesOf } from "./call-index.ts";
import { callSitesOf, nameOf } from "./call-sites.ts";
import { functionHanded } from "./callee.ts";
import { isOfferedByName } from "./entry-points.ts";
import type { Facts } from "./facts.ts";
import { returnsOf } from "../transfer/fate.ts";
import { grouped } from "./field-index.ts";
import type { Oracle } from "./oracle.ts";
import { hasBody, unwrap, type FunctionWithBody } from "./syntax.ts";

const furthest = 4;

/** The functions that a declaration without a body may stand for; undefined where nobody knows. */
export function functionsOf(
  oracle: Oracle,
  declaration: ts.Declaration,
  depth = 0,
): readonly FunctionWithBody[] | undefined {
  if (depth > furthest) return undefined;
  if (ts.isParameter(declaration)) return handedFor(oracle, declaration, depth);
  if (ts.isTypeElement(declaration)) return implementationsOf(oracle, nameOfMember(declaration));
  const { initializer } = declaration as Partial<ts.VariableDeclaration>;
  if (!ts.isVariableDeclaration(declaration) || !initializer) return undefined;
  return givenBy(oracle, initializer, depth);
}

const nameOfMember = ({ name }: ts.TypeElement): string =>
  name && (ts.isIdentifier(name) || ts.isStringLiteralLike(name)) ? name.text : "";

/** What all that call a function give it for a parameter. */
function handedFor(
  oracle: Oracle,
  parameter: ts.ParameterDeclaration,
  depth: number,
): readonly FunctionWithBody[] | undefined {
  const fn = parameter.parent;
  if (!hasBody(fn) || !ts.isIdentifier(parameter.name) || parameter.dotDotDotToken)
    return undefined;
  if (isOfferedByName(oracle, fn)) return undefined;
  const { calls, values } = callSitesOf(oracle, fn, "program");
  if (calls.length === 0 || values.length > 0) return undefined;
  const at = fn.parameters.indexOf(parameter);
  return all(
    calls.map((call) => {
      const given = call.arguments?.[at] ?? parameter.initializer;
      return given ? givenBy(oracle, given, depth) : [];
    }),
  );
}

/** The functions that an expression gives: itself, what a name stands for, what a call returns. */
function givenBy(
  oracle: Oracle,
  expression: ts.Expression,
  depth: number,
): readonly FunctionWithBody[] | undefined {
  const bare = unwrap(expression);
  const known = functionHanded(oracle, bare);
  if (known) return [known];
  if (ts.isIdentifier(bare)) {
    const source = oracle.declarationAt(bare);
    return source && functionsOf(oracle, source, depth + 1);
  }
  if (!ts.isCallExpression(bare) || depth > furthest) return undefined;
  const { body } = oracle.callee(bare);
  if (!body) return undefined;
  return all(oracle.facts.of(body, returnsOf).map((at) => givenBy(oracle, at, depth + 1)));
}

/** All of some lists, unless one is not known. */
function all(
  lists: readonly (readonly FunctionWithBody[] | undefined)[],
): readonly FunctionWithBody[] | undefined {
  return lists.some((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? []);
}

/** The functions of a program that may stand for a member of an interface, by its name. */
export const implementationsOf = (oracle: Oracle, name: string): readonly FunctionWithBody[] =>
  oracle.facts
    .of(oracle.program, sourcesOf)
    .flatMap((file) => oracle.facts.of(file, implementationsIn).get(name) ?? []);

const implementationsIn = (
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, readonly FunctionWithBody[]> =>
  grouped(facts.functions(file).filter(mayImplement), (fn) => nameOf(fn) ?? "");

const mayImplement = (fn: FunctionWithBody): boolean =>
  ts.isMethodDeclaration(fn) ||
  ts.isPropertyAssignment(fn.parent) ||
  ts.isPropertyDeclaration(fn.parent);
