/**
 * Untyped hooks: what the state and the refs of a component hold where the framework has no types:
 * what they start with, and what they are given later. Told by the names of the hooks. Used by
 * `untyped.ts` alone.
 */
import ts from "typescript";
import { returnsOf } from "../transfer/fate.ts";
import type { Owned } from "../program/ownership.ts";
import { calleeNameNode, hasBody, unwrap } from "../program/syntax.ts";
import { usesOf, type ParameterContext } from "./untyped-parameters.ts";

/** `image` of `const [image, setImage] = useState(null)`: what `setImage` is given. */
export function ownedState(context: ParameterContext, element: ts.BindingElement): Owned | null {
  const { parent: pattern } = element;
  const [state, setter] = pattern.elements;
  const call = hookCall(pattern.parent, "useState");
  if (!call || state !== element) return null;
  const given = call.arguments.slice(0, 1);
  if (setter && ts.isBindingElement(setter))
    for (const { parent } of usesOf(context, setter))
      if (ts.isCallExpression(parent)) given.push(...parent.arguments.slice(0, 1));
  return firstOwned(context, given, true);
}

/** `last.current` of `const last = useRef(null)`: what is stored there. */
export function ownedRef(
  context: ParameterContext,
  { expression, name }: ts.PropertyAccessExpression,
): Owned | null {
  if (name.text !== "current" || !ts.isIdentifier(expression)) return null;
  const declaration = context.declarationAt(expression);
  const call = declaration && hookCall(declaration, "useRef");
  if (!declaration || !call) return null;
  const given = call.arguments.slice(0, 1);
  for (const { parent: access } of usesOf(context, declaration)) {
    const store = access.parent;
    if (ts.isPropertyAccessExpression(access) && isStoreTo(store, access)) given.push(store.right);
  }
  return firstOwned(context, given, false);
}

const isStoreTo = (node: ts.Node, place: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) &&
  node.left === place &&
  node.operatorToken.kind === ts.SyntaxKind.EqualsToken;

/** The call of a hook that a variable is given. */
function hookCall(declaration: ts.Node, name: string): ts.CallExpression | undefined {
  if (!ts.isVariableDeclaration(declaration) || !declaration.initializer) return undefined;
  const call = unwrap(declaration.initializer);
  return ts.isCallExpression(call) && calleeNameNode(call)?.text === name ? call : undefined;
}

/** What the first value is that is one; a function may be asked for what it gives. */
function firstOwned(
  context: ParameterContext,
  given: readonly ts.Expression[],
  calls: boolean,
): Owned | null {
  for (const value of given) {
    const fn = unwrap(value);
    for (const made of calls && hasBody(fn) ? returnsOf(fn) : [value]) {
      const owned = context.ownedAt(made);
      if (owned) return { ...owned, nullable: true };
    }
  }
  return null;
}
