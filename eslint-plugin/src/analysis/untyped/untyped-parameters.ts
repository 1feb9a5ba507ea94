/**
 * Untyped parameters: what a parameter of no known type is: what its annotation names, what it is
 * handed where the function is called, what a list gives its callback in turn, or what it is used
 * as. Used by `untyped.ts` alone, which also asks how other names are used.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { isLibraryCall, isOfNamesake, type NameContext } from "./library-names.ts";
import { listOf, several, single, type Owned } from "../program/ownership.ts";
import { referencesTo, type References } from "../program/references.ts";
import { calleeNameNode, type CallLike } from "../program/syntax.ts";
import { isTypeOf } from "./untyped-annotations.ts";

/** What is needed to know of the program. */
export interface ParameterContext extends NameContext, References {
  readonly owners: readonly Owner[];
  ownedAt(node: ts.Node): Owned | null;
  /** Every call in the program of something by a name. */
  callsNamed(name: string): readonly CallLike[];
}

/** A list of values such as one, or of records that hold such values. */
export const listOfSuch = (part: Owned): Owned =>
  part.shape === "record" ? listOf(part) : several(part.owner);

/** What a list of no known type has in it. */
export const elementOf = ({ owner, each, fields, inner }: Owned): Owned =>
  each === "record"
    ? { ...single(owner), shape: "record", fields, ...(inner ? { inner } : {}) }
    : single(owner);

/** What a parameter of no known type owns. */
export function ownedParameter(
  context: ParameterContext,
  parameter: ts.ParameterDeclaration,
): Owned | null {
  return (
    byAnnotation(context, parameter) ??
    byTurn(context, parameter) ??
    byUse(context, parameter) ??
    byCallers(context, parameter)
  );
}

/** `x: tf.Tensor3D`, `@param {Tensor[]} x`: a name of the owner's whose type is not to be had. */
function byAnnotation(context: ParameterContext, parameter: ts.ParameterDeclaration): Owned | null {
  const written = parameter.type ?? ts.getJSDocType(parameter);
  if (!written) return null;
  const isList = ts.isArrayTypeNode(written);
  const element = isList ? written.elementType : written;
  if (!ts.isTypeReferenceNode(element)) return null;
  const { typeName } = element;
  const last = (ts.isIdentifier(typeName) ? typeName : typeName.right).text;
  const owner = context.owners.find((o) => isTypeOf(o, last));
  if (!owner || isOfNamesake(context, parameter, owner)) return null;
  return (isList ? several : single)(owner);
}

/** `list.forEach((t) => …)`: each value of the list in turn. */
function byTurn(context: ParameterContext, parameter: ts.ParameterDeclaration): Owned | null {
  const fn = parameter.parent;
  if (!ts.isArrowFunction(fn) && !ts.isFunctionExpression(fn)) return null;
  if (fn.parameters[0] !== parameter) return null;
  const { kind, node, literal } = fateOf(fn);
  if (kind !== "argument" || literal || !ts.isCallExpression(node)) return null;
  const { expression } = node;
  if (!ts.isPropertyAccessExpression(expression) || !turns.has(expression.name.text)) return null;
  const list = context.ownedAt(expression.expression);
  return list?.shape === "many" ? elementOf(list) : null;
}
const turns = new Set(["forEach", "map", "flatMap", "filter", "find", "some", "every"]);

/** What a function is handed wherever the program calls it. */
function byCallers(context: ParameterContext, parameter: ts.ParameterDeclaration): Owned | null {
  const fn = parameter.parent;
  if (!ts.isIdentifier(parameter.name) || parameter.dotDotDotToken) return null;
  const holder = ts.isArrowFunction(fn) || ts.isFunctionExpression(fn) ? fn.parent : fn;
  const { name } = holder as Partial<ts.NamedDeclaration>;
  if (!name || !ts.isIdentifier(name)) return null;
  const at = fn.parameters.indexOf(parameter);
  for (const call of context.callsNamed(name.text)) {
    const argument = call.arguments?.[at];
    const callee = argument && calleeNameNode(call);
    if (!callee || context.declarationAt(callee) !== holder) continue;
    const owned = context.ownedAt(argument);
    if (owned) return owned;
  }
  return null;
}

/** What a name is by the members it is asked for, or the functions it is given, of such values. */
export function byUse(context: ParameterContext, declaration: ts.Declaration): Owned | null {
  for (const id of usesOf(context, declaration)) {
    const { kind, member, node, literal } = fateOf(id);
    const owner = context.owners.find((o) => {
      const { marks, wants } = o.untyped;
      if (isOfNamesake(context, declaration, o)) return false;
      if (kind === "receiver")
        return (
          marks.includes(member) ||
          (ts.isCallExpression(node) && !literal && joinsOwned(context, node, o))
        );
      if (kind !== "argument" || literal || !ts.isCallExpression(node)) return false;
      const called = calleeNameNode(node)?.text ?? "";
      if (node.arguments[0] !== id) return false;
      if (wants.includes(called)) return ts.isPropertyAccessExpression(node.expression);
      return marks.includes(called) && isLibraryCall(context, node, o);
    });
    if (owner) return single(owner);
  }
  return null;
}

/** The mentions of the variable or parameter that a declaration names. */
export function usesOf(context: References, declaration: ts.Declaration): ts.Identifier[] {
  const { name } = declaration as ts.NamedDeclaration;
  if (!name || !ts.isIdentifier(name)) return [];
  const root = ts.isParameter(declaration)
    ? declaration.parent
    : (enclosingFunction(declaration) ?? declaration.getSourceFile());
  return referencesTo(context, declaration, name, root);
}

/** `x.mul(t)`: a method that hardly anything else has where it is given such a value. */
export function joinsOwned(
  context: ParameterContext,
  call: ts.CallExpression,
  owner: Owner,
): boolean {
  const { expression, arguments: args } = call;
  const [other] = args;
  return (
    ts.isPropertyAccessExpression(expression) &&
    owner.untyped.joins.includes(expression.name.text) &&
    other !== undefined &&
    context.ownedAt(other)?.owner === owner
  );
}
