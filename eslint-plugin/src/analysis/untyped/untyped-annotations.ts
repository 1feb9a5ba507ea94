/**
 * Untyped annotations: what a type says that is written with a name of a library whose types the
 * program does not have: `decode(): tf.Tensor3D`, `model.evaluate(x, y) as tf.Scalar[]`,
 * `#best: tf.Tensor[] = []`. The name must come from the library by its import. Used by
 * `untyped.ts`, `untyped-fields.ts` and `untyped-parameters.ts`.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { bindingOf, namesLibrary } from "./library-names.ts";
import { several, single, typeNames, type Owned } from "../program/ownership.ts";
import { calleeNameNode, hasBody, isNullish } from "../program/syntax.ts";
import type { ParameterContext } from "./untyped-parameters.ts";

/** What a type that is written owns, where it names a value of the library's or a list of them. */
export function ownedByType(
  context: ParameterContext,
  written: ts.TypeNode | undefined,
): Owned | null {
  if (!written) return null;
  if (ts.isParenthesizedTypeNode(written)) return ownedByType(context, written.type);
  if (ts.isTypeOperatorNode(written)) return ownedByType(context, written.type);
  if (ts.isArrayTypeNode(written)) return listed(ownedByType(context, written.elementType));
  if (ts.isTupleTypeNode(written)) return ofTuple(context, written);
  if (ts.isUnionTypeNode(written)) return ofUnion(context, written);
  if (!ts.isTypeReferenceNode(written)) return null;
  const { typeName, typeArguments: given } = written;
  const name = (ts.isIdentifier(typeName) ? typeName : typeName.right).text;
  if (name === "Promise") return ownedByType(context, given?.[0]);
  if (lists.test(name)) return listed(ownedByType(context, given?.[0]));
  if (tables.test(name)) return listed(ownedByType(context, given?.[1]));
  return ofName(context, typeName, name);
}

const lists = /^(Readonly)?(Array|Set)$/;
const tables = /^((Readonly)?Map|Record)$/;

const listed = (each: Owned | null): Owned | null =>
  each?.shape === "one" ? several(each.owner) : null;

/** `tf.Tensor | null`; of others nobody knows which it is. */
function ofUnion(context: ParameterContext, { types }: ts.UnionTypeNode): Owned | null {
  const [only, ...others] = types.filter((t) => !isNothing(t));
  const owned = others.length === 0 ? ownedByType(context, only) : null;
  return owned && { ...owned, nullable: true };
}

const isNothing = (type: ts.TypeNode): boolean =>
  type.kind === ts.SyntaxKind.UndefinedKeyword ||
  (ts.isLiteralTypeNode(type) && ts.isExpression(type.literal) && isNullish(type.literal));

function ofTuple(context: ParameterContext, { elements }: ts.TupleTypeNode): Owned | null {
  const [first, ...others] = elements.map((e) =>
    ownedByType(context, ts.isNamedTupleMember(e) ? e.type : e),
  );
  return first && others.every((o) => o?.owner === first.owner) ? listed(first) : null;
}

/** `tf.Tensor3D`, or `Tensor3D` that is imported by its name. */
function ofName(context: ParameterContext, typeName: ts.EntityName, name: string): Owned | null {
  let root = typeName;
  while (ts.isQualifiedName(root)) root = root.left;
  const binding = bindingOf(context, root);
  const from = binding && ts.findAncestor(binding, ts.isImportDeclaration)?.moduleSpecifier;
  if (!from) return null;
  const owner = context.owners.find((o) => isTypeOf(o, name) && namesLibrary(from, o));
  return owner ? single(owner) : null;
}

/** Whether a name is that of an owner's type, `Tensor3D` of `Tensor`. */
export const isTypeOf = (owner: Owner, name: string): boolean =>
  typeNames(owner).includes(name === "Scalar" ? "Tensor" : name.replace(/\d+D$/, ""));

/** What a call is said to give: by an assertion, `(await run(x)) as tf.Tensor`, or its callee. */
export function ownedBySaying(context: ParameterContext, call: ts.CallExpression): Owned | null {
  let at: ts.Node = call;
  while (isAround(at.parent)) at = at.parent;
  const asserted = ts.isAsExpression(at.parent) ? ownedByType(context, at.parent.type) : null;
  if (asserted) return asserted;
  const name = calleeNameNode(call);
  const callee = name && context.declarationAt(name);
  const isFunction = callee !== undefined && (hasBody(callee) || isSignature(callee));
  return isFunction ? ownedByType(context, callee.type) : null;
}

const isAround = (node: ts.Node): boolean =>
  ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node) || ts.isAwaitExpression(node);

const isSignature = (node: ts.Node): node is ts.FunctionDeclaration | ts.MethodSignature =>
  ts.isFunctionDeclaration(node) || ts.isMethodSignature(node) || ts.isMethodDeclaration(node);
