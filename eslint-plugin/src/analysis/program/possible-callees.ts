/**
 * Possible callees: the functions that a call may run where its callee has no body of its own:
 * those that all callers hand in for a parameter, those that implement a member of an interface,
 * by name, and those that a function of the program returns. Used by `scope-reach.ts`,
 * `trail-calls.ts` and the description of arguments.
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
import { referencesTo } from "./references.ts";
import {
  hasBody,
  isNullish,
  isTarget,
  memberName,
  unwrap,
  type FunctionWithBody,
} from "./syntax.ts";

const furthest = 4;

/** The functions that a declaration without a body may stand for; undefined where nobody knows. */
export function functionsOf(
  oracle: Oracle,
  declaration: ts.Declaration,
  depth = 0,
): readonly FunctionWithBody[] | undefined {
  if (depth > furthest) return undefined;
  if (ts.isParameter(declaration)) return handedFor(oracle, declaration, depth);
  if (ts.isTypeElement(declaration))
    return implementationsOf(oracle, nameOfMember(declaration)).filter(
      (fn) => !lacksMethods(fn, declaration.parent),
    );
  if (ts.isPropertyDeclaration(declaration)) return keptIn(oracle, declaration, depth);
  if (!ts.isVariableDeclaration(declaration)) return undefined;
  const { initializer, parent } = declaration;
  const loop = parent.parent;
  if (ts.isForOfStatement(loop)) return elementsOf(oracle, loop.expression, depth + 1);
  return initializer && givenBy(oracle, initializer, depth);
}

/** The functions of a list that is written, or that all callers give: `run(...steps)`. */
function elementsOf(
  oracle: Oracle,
  list: ts.Expression,
  depth: number,
): readonly FunctionWithBody[] | undefined {
  const bare = unwrap(list);
  if (depth > furthest) return undefined;
  if (ts.isArrayLiteralExpression(bare))
    return all(bare.elements.map((element) => givenBy(oracle, element, depth)));
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  if (!source || !ts.isParameter(source)) return undefined;
  const given = givenFor(oracle, source);
  return source.dotDotDotToken
    ? given && all(given.map((value) => givenBy(oracle, value, depth)))
    : given && all(given.map((value) => elementsOf(oracle, value, depth + 1)));
}

/** What a class gives a field that only it can fill: `this.stop = feed.on(…)`. */
function keptIn(
  oracle: Oracle,
  field: ts.PropertyDeclaration,
  depth: number,
): readonly FunctionWithBody[] | undefined {
  const own = ts.ModifierFlags.Private | ts.ModifierFlags.Readonly;
  const isOwn =
    ts.isPrivateIdentifier(field.name) || (ts.getCombinedModifierFlags(field) & own) !== 0;
  const name = memberName(field.name);
  const assigned = oracle.facts
    .assignments(field.getSourceFile())
    .filter(
      ({ left }) =>
        ts.isPropertyAccessExpression(left) &&
        left.name.text === name &&
        oracle.declarationAt(left.name) === field,
    );
  const values = [field.initializer, ...assigned.map(({ right }) => right)]
    .filter((value) => value !== undefined)
    .filter((value) => !isNullish(unwrap(value)));
  if (!isOwn || values.length === 0) return undefined;
  return all(values.map((value) => givenBy(oracle, value, depth + 1)));
}

/** Whether a method is of a class without bases that has not all methods of an interface. */
function lacksMethods({ parent: holder }: FunctionWithBody, type: ts.Node): boolean {
  if (!ts.isClassLike(holder) || holder.heritageClauses || !ts.isInterfaceDeclaration(type))
    return false;
  const names = new Set(holder.members.map((m) => (m.name ? memberName(m.name) : "")));
  return type.members.some(
    (m) => ts.isMethodSignature(m) && !m.questionToken && !names.has(memberName(m.name)),
  );
}

const nameOfMember = ({ name }: ts.TypeElement): string =>
  name && (ts.isIdentifier(name) || ts.isStringLiteralLike(name)) ? name.text : "";

/** What all that call a function give it for a parameter that is one. */
function handedFor(
  oracle: Oracle,
  parameter: ts.ParameterDeclaration,
  depth: number,
): readonly FunctionWithBody[] | undefined {
  const given = parameter.dotDotDotToken ? undefined : givenFor(oracle, parameter);
  return given && all(given.map((value) => givenBy(oracle, value, depth)));
}

/** What all that call a function give it for a parameter, one for each or all of a `...rest`. */
function givenFor(
  oracle: Oracle,
  parameter: ts.ParameterDeclaration,
): readonly ts.Expression[] | undefined {
  const fn = parameter.parent;
  if (!hasBody(fn) || !ts.isIdentifier(parameter.name)) return undefined;
  if (isOfferedByName(oracle, fn)) return undefined;
  const { calls, values } = callSitesOf(oracle, fn, "program");
  if (calls.length === 0 || values.length > 0) return undefined;
  const at = fn.parameters.indexOf(parameter);
  return calls.flatMap(({ arguments: given }) => {
    if (parameter.dotDotDotToken) return [...(given?.slice(at) ?? [])];
    return given?.[at] ?? parameter.initializer ?? [];
  });
}

/**
 * The functions that an expression gives: itself, what a name stands for, what a call returns,
 * those of a choice, those in a table.
 */
export function givenBy(
  oracle: Oracle,
  expression: ts.Expression,
  depth = 0,
): readonly FunctionWithBody[] | undefined {
  const bare = unwrap(expression);
  const known = functionHanded(oracle, bare);
  if (known) return [known];
  if (ts.isIdentifier(bare)) {
    const source = oracle.declarationAt(bare);
    return source && functionsOf(oracle, source, depth + 1);
  }
  if (ts.isConditionalExpression(bare))
    return all([bare.whenTrue, bare.whenFalse].map((arm) => givenBy(oracle, arm, depth)));
  if (ts.isElementAccessExpression(bare)) return listedIn(oracle, bare, depth);
  if (!ts.isCallExpression(bare) || depth > furthest) return undefined;
  const { body } = oracle.callee(bare);
  if (!body) return undefined;
  return all(oracle.facts.of(body, returnsOf).map((at) => givenBy(oracle, at, depth + 1)));
}

/** `kernels["relu"]`, `kernels[name]` of a constant that is written out: that one, or all. */
function listedIn(
  oracle: Oracle,
  { expression, argumentExpression: key }: ts.ElementAccessExpression,
  depth: number,
): readonly FunctionWithBody[] | undefined {
  const base = unwrap(expression);
  const source = ts.isIdentifier(base) ? oracle.declarationAt(base) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !source.initializer) return undefined;
  if ((ts.getCombinedNodeFlags(source) & ts.NodeFlags.Const) === 0) return undefined;
  if (isFilledLater(oracle, source)) return undefined;
  const table = unwrap(source.initializer);
  if (!ts.isObjectLiteralExpression(table)) return undefined;
  const wanted = ts.isStringLiteralLike(key) ? key.text : undefined;
  const named = table.properties.filter(
    ({ name }) => wanted === undefined || !name || memberName(name) === wanted,
  );
  return all(
    named.map((property) => {
      if (hasBody(property)) return [property];
      const given = ts.isPropertyAssignment(property) ? unwrap(property.initializer) : undefined;
      if (!given || ts.isElementAccessExpression(given)) return undefined; // tables of tables
      return givenBy(oracle, given, depth + 1);
    }),
  );
}

/** `kernels[name] = f`, `kernels.gelu = f`, `Object.assign(kernels, more)`. */
function isFilledLater(oracle: Oracle, table: ts.VariableDeclaration): boolean {
  const { name } = table;
  if (!ts.isIdentifier(name)) return true;
  return referencesTo(oracle, table, name, table.getSourceFile()).some((id) => {
    const { parent } = id;
    const isAccess = ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent);
    if (isAccess && parent.expression === id) return isTarget(parent);
    return ts.isCallExpression(parent) && parent.expression.getText() === "Object.assign";
  });
}

/** All of some lists, unless one is not known. */
function all(
  lists: readonly (readonly FunctionWithBody[] | undefined)[],
): readonly FunctionWithBody[] | undefined {
  return lists.some((list) => list === undefined) ? undefined : lists.flatMap((list) => list ?? []);
}

/**
 * The functions of a program that may stand for a member of an interface, by its name: those
 * written as one, and those a literal gives it, `{ draw, resize: resizeTargets }`.
 */
export const implementationsOf = (oracle: Oracle, name: string): readonly FunctionWithBody[] => [
  ...writtenAs(oracle, name),
  ...givenAs(oracle, name).filter((fn) => fn !== undefined),
];

/**
 * The functions of a program that a call of something without a type may run, by its name:
 * `layer.forward(x)` in plain JavaScript; undefined where something else may stand for it.
 */
export function functionsNamed(
  oracle: Oracle,
  name: string,
): readonly FunctionWithBody[] | undefined {
  const sources = oracle.facts.of(oracle.program, sourcesOf);
  const given = valuesGiven(oracle, name)
    .filter((value) => !isPlain(unwrap(value)))
    .map((v) => functionHanded(oracle, v));
  const written = sources.flatMap((f) => oracle.facts.of(f, functionsByName).get(name) ?? []);
  const found = [...written, ...given];
  return found.every((fn) => fn !== undefined) ? found : undefined;
}

const functionsByName = (
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, readonly FunctionWithBody[]> =>
  grouped(facts.functions(file), (fn) => nameOf(fn) ?? "");

const isPlain = (value: ts.Expression): boolean =>
  ts.isLiteralExpression(value) ||
  ts.isObjectLiteralExpression(value) ||
  ts.isArrayLiteralExpression(value) ||
  ts.isNewExpression(value);

const writtenAs = (oracle: Oracle, name: string): readonly FunctionWithBody[] =>
  oracle.facts
    .of(oracle.program, sourcesOf)
    .flatMap((file) => oracle.facts.of(file, implementationsIn).get(name) ?? []);

/** What properties of a name are given that is not written there; undefined where nobody knows. */
const givenAs = (oracle: Oracle, name: string): readonly (FunctionWithBody | undefined)[] =>
  valuesGiven(oracle, name).map((value) => functionHanded(oracle, value));

/** What properties of a name are given all over a program, other than functions written there. */
export const valuesGiven = (oracle: Oracle, name: string): readonly ts.Expression[] =>
  oracle.facts
    .of(oracle.program, sourcesOf)
    .flatMap((file) => oracle.facts.of(file, valuesByName).get(name) ?? []);

const implementationsIn = (
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, readonly FunctionWithBody[]> =>
  grouped(facts.functions(file).filter(mayImplement), (fn) => nameOf(fn) ?? "");

/** Whether a function is written as a member of a class or of an object. */
export const mayImplement = (fn: FunctionWithBody): boolean =>
  ts.isMethodDeclaration(fn) ||
  ts.isPropertyAssignment(fn.parent) ||
  ts.isPropertyDeclaration(fn.parent);

/**
 * The functions that a member without a body may stand for, `apply` of an interface or of an
 * abstract class of the program; undefined where there is none, or where not all are seen.
 */
export function implementationsSeen(
  oracle: Oracle,
  member: ts.Declaration,
): readonly FunctionWithBody[] | undefined {
  const isAbstract = ts.isMethodDeclaration(member) && !member.body;
  const name =
    (isAbstract || ts.isMethodSignature(member) || ts.isPropertySignature(member)) && member.name
      ? memberName(member.name)
      : "";
  if (name === "" || member.getSourceFile().isDeclarationFile) return undefined;
  if (isOfferedByName(oracle, member.parent)) return undefined;
  const found = [...writtenAs(oracle, name), ...givenAs(oracle, name)];
  return found.length > 0 && found.every((fn) => fn !== undefined) ? found : undefined;
}

/** What a file gives properties other than functions written there, by name. */
function valuesByName(
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, readonly ts.Expression[]> {
  const values = new Map<string, ts.Expression[]>();
  const add = (name: string, value: ts.Expression): void => {
    if (!hasBody(unwrap(value))) values.set(name, [...(values.get(name) ?? []), value]);
  };
  for (const literal of facts.nodes<ts.ObjectLiteralExpression>(
    file,
    ts.SyntaxKind.ObjectLiteralExpression,
  ))
    for (const property of literal.properties) {
      if (ts.isShorthandPropertyAssignment(property)) add(property.name.text, property.name);
      else if (ts.isPropertyAssignment(property))
        add(memberName(property.name), property.initializer);
    }
  for (const { left, right } of facts.assignments(file))
    if (ts.isPropertyAccessExpression(left)) add(left.name.text, right);
  for (const parameter of facts.nodes<ts.ParameterDeclaration>(file, ts.SyntaxKind.Parameter))
    if (ts.isParameterPropertyDeclaration(parameter, parameter.parent))
      add(memberName(parameter.name), parameter.name);
  return values;
}
