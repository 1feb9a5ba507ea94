/**
 * Class reach: the methods that methods of a class run, its own and those it inherits. Used
 * wherever a class is asked what its endings and fills do.
 */
import ts from "typescript";
import { putValues } from "../program/containers.ts";
import type { Oracle } from "../program/oracle.ts";
import { memberName, someWithin, unwrap, valuesOf } from "../program/syntax.ts";
import { returnsOf } from "../transfer/fate.ts";
import { keepsGiven } from "../transfer/kept-ends.ts";
import { lineage } from "./holders.ts";
import { assigns, fieldOfThis, mentionsIn } from "./members.ts";

/**
 * Some members and every method of the class and its bases they call, directly or not, with
 * functions that are put into a field they speak of: `this.#end = () => { … }`,
 * `this.ends.push(() => { … })`, `this.store.add({ dispose: () => { … } })`.
 */
export function reach(
  oracle: Oracle,
  node: ts.ClassLikeDeclaration,
  start: readonly ts.ClassElement[],
): Set<ts.Node> {
  const { facts } = oracle;
  const reached = new Set<ts.Node>();
  const methods: Named[] = [];
  for (const holder of lineage(node, oracle)) {
    const known = new Set(methods.map(({ name }) => name));
    const all = [...facts.of(holder, methodsOf), ...facts.of(holder, functionsInFields)];
    // what a class writes anew is its own; what `super` does is asked elsewhere
    methods.push(...all.filter(({ name }) => !known.has(name)));
  }
  const visit = (member: ts.Node): void => {
    if (reached.has(member)) return;
    reached.add(member);
    const mentions = facts.of(member, mentionsIn);
    const calls = (name: string): boolean =>
      mentions.has(null) || mentions.get(name)?.some((at) => !isOfOther(at, member)) === true;
    for (const { name, method } of methods) if (!reached.has(method) && calls(name)) visit(method);
  };
  start.forEach(visit);
  return reached;
}

/** `this.x.dispose`, and `old.dispose` of a local: not the method of that name of the class. */
function isOfOther(at: ts.Node, member: ts.Node): boolean {
  if (!ts.isPropertyAccessExpression(at)) return false;
  const on = unwrap(at.expression);
  if (fieldOfThis(on)) return true;
  if (!ts.isIdentifier(on)) return false;
  const isDeclared = (node: ts.Node): boolean =>
    (ts.isVariableDeclaration(node) || ts.isParameter(node)) &&
    ts.isIdentifier(node.name) &&
    node.name.text === on.text &&
    node.initializer?.kind !== ts.SyntaxKind.ThisKeyword;
  return someWithin(member, isDeclared);
}

/** The methods and setters of a class that have a body, by name. */
const methodsOf = (node: ts.ClassLikeDeclaration): readonly Named[] =>
  node.members.flatMap((m) =>
    (ts.isMethodDeclaration(m) || ts.isSetAccessorDeclaration(m)) && m.body
      ? [{ name: memberName(m.name), method: m }]
      : [],
  );
interface Named {
  name: string;
  method: ts.Node;
}

const isFunction = (node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression =>
  ts.isArrowFunction(node) || ts.isFunctionExpression(node);

/** Those of `{ dispose: () => … }`, and of `toDisposable(() => …)`. */
function functionsIn(value: ts.Expression): readonly ts.Node[] {
  if (ts.isCallExpression(value)) return value.arguments.map(unwrap).filter(isFunction);
  if (!ts.isObjectLiteralExpression(value)) return [];
  const methods = value.properties.filter((p) => ts.isMethodDeclaration(p));
  return [...methods, ...valuesOf(value).map(unwrap).filter(isFunction)];
}

/** The functions that a class puts into its fields and lists in them, by the name of the field. */
function functionsInFields(node: ts.ClassLikeDeclaration): readonly Named[] {
  const found: Named[] = [];
  const note = (name: string, value: ts.Expression): void => {
    const method = unwrap(value);
    if (isFunction(method)) found.push({ name, method });
    // `this.stop = effect(() => { …; return () => { … }; })`: what it gives runs the clean-up
    const given = ts.isCallExpression(method) ? method.arguments.map(unwrap) : [];
    for (const cleanUp of given.filter(isFunction).flatMap((fn) => returnsOf(fn).map(unwrap)))
      if (isFunction(cleanUp)) found.push({ name, method: cleanUp });
  };
  const visit = (inner: ts.Node): void => {
    if (ts.isPropertyDeclaration(inner) && inner.initializer)
      note(memberName(inner.name), inner.initializer);
    const field = ts.isBinaryExpression(inner) && fieldOfThis(inner.left);
    if (field && assigns(inner)) note(field.name.text, inner.right);
    const target = ts.isCallExpression(inner) ? inner.expression : undefined;
    const list = target && ts.isPropertyAccessExpression(target) && fieldOfThis(target.expression);
    if (list && ts.isCallExpression(inner) && keepsGiven(target.name.text))
      for (const value of putValues(target.name.text, inner.arguments)) {
        note(list.name.text, value);
        for (const method of functionsIn(unwrap(value)))
          found.push({ name: list.name.text, method });
      }
    ts.forEachChild(inner, visit);
  };
  node.members.forEach(visit);
  return found;
}
