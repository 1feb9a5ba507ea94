/**
 * Called: what a call gives where its callback or its list settles it, and constants that hold what
 * a call gives of which nothing is owned. The checker would infer type parameters from every
 * argument, or follow the flow to the constant. Used by the oracle, before it asks the checker.
 */
import ts from "typescript";
import { callbackValues, declaredResult, mappedElement, settled } from "./declared.ts";
import { listOf, type Owned, type Ownership } from "./ownership.ts";
import { ownedByParts } from "../fresh/parts.ts";
import type { Questions } from "./questions.ts";
import { calleeNameNode, unwrap, type CallLike } from "./syntax.ts";

/** What the oracle lends. */
export interface CalledContext {
  readonly checker: Questions;
  readonly ownership: Pick<Ownership, "of">;
  readonly oracle: {
    isBuiltin(file: ts.SourceFile): boolean;
    ownedAt(node: ts.Node): Owned | null;
  };
}

/** The symbol that a call calls by its name. */
export function calleeSymbol(checker: Questions, call: CallLike): ts.Symbol | undefined {
  const name = calleeNameNode(call);
  return name && checker.symbolAt(name);
}

/** Ownership of what a call gives as its arguments tell; undefined where only the type does. */
export function ownedByArguments(
  context: CalledContext,
  call: CallLike,
  callee: ts.Symbol,
): Owned | null | undefined {
  if (!ts.isCallExpression(call)) return undefined;
  if (isMember(context, callee, "map", /^(Readonly)?Array$/)) {
    const element = mappedElement(context.checker, call);
    if (element === null) return undefined;
    return element === "plain" ? null : listOf(context.ownership.of(element));
  }
  if (isMember(context, callee, "all", /^PromiseConstructor$/)) return ofAll(context, call);
  const [value, ...others] = callbackValues(context.checker, call, callee);
  if (!value || others.length > 0 || !ts.isObjectLiteralExpression(value)) return undefined;
  return ownedByParts(value, (part) => context.oracle.ownedAt(part));
}

/** Whether a function is a method that TypeScript's own library declares in some interface. */
function isMember(
  { oracle }: CalledContext,
  callee: ts.Symbol,
  name: string,
  holders: RegExp,
): boolean {
  const holder = callee.name === name ? callee.declarations?.[0]?.parent : undefined;
  if (!holder || !ts.isInterfaceDeclaration(holder)) return false;
  return holders.test(holder.name.text) && oracle.isBuiltin(holder.getSourceFile());
}

/** `Promise.all(list)` gives what the list holds, waited for. */
function ofAll(
  { checker, ownership, oracle }: CalledContext,
  { arguments: [list, ...others] }: ts.CallExpression,
): Owned | null | undefined {
  if (!list || others.length > 0) return undefined;
  if (ts.isArrayLiteralExpression(list)) return ownedByParts(list, (part) => oracle.ownedAt(part));
  if (!ts.isIdentifier(list)) return undefined;
  const type = checker.typeAt(list);
  return checker.isList(type) && !checker.isUntyped(type) ? ownership.of(type) : undefined;
}

/** Whether a constant is what a call gives of which nothing is owned, whatever tests tell of it. */
export function startsUnowned(context: CalledContext, declaration: ts.Declaration): boolean {
  if (!ts.isVariableDeclaration(declaration) || !declaration.initializer || declaration.type)
    return false;
  if (!(ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)) return false;
  if (!ts.isIdentifier(declaration.name)) return false;
  const { checker, ownership } = context;
  const value = unwrap(declaration.initializer);
  const call = ts.isAwaitExpression(value) ? unwrap(value.expression) : value;
  if (!ts.isCallExpression(call)) return false;
  const callee = calleeSymbol(checker, call);
  const given = callee ? declaredResult(checker, call, callee) : null;
  const type = given && call !== value ? checker.awaited(given) : given;
  return (
    type?.isUnion() === true &&
    type.types.every((part) => settled(part) !== null && ownership.of(part) === null)
  );
}
