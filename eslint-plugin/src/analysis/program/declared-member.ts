/**
 * Declared members: what `x.name` refers to as far as the declaration of `x` tells, without having
 * the checker follow the flow to `x` or check the arguments of the calls it is made of. Used by
 * `checker.ts`, which asks TypeScript whenever this file does not know.
 */
import ts from "typescript";
import type { Questions } from "./questions.ts";
import { declaredProperty, declaredResult, declaredVariable, settled } from "./declared.ts";
import { calleeNameNode } from "./syntax.ts";

/** The symbol a member access names; nothing when declarations do not settle it. */
export function declaredMember(
  checker: Questions,
  { expression, name }: ts.PropertyAccessExpression,
): ts.Symbol | undefined {
  if (!ts.isIdentifier(name) || isLong(expression)) return undefined;
  const module = ts.isIdentifier(expression) ? importedModule(checker, expression) : undefined;
  if (module) return checker.exportOf(module, name.text);
  const type = declaredType(checker, expression);
  return type ? checker.memberOf(type, name.text) : undefined;
}

/** Whether a chain has more links than are followed here. */
function isLong(node: ts.Expression): boolean {
  let links = 0;
  for (let at = node; ts.isCallExpression(at) || ts.isPropertyAccessExpression(at); links++)
    at = at.expression;
  return links > 40;
}

/** The module that `tf` of `import * as tf from "…"` stands for. */
function importedModule(checker: Questions, id: ts.Identifier): ts.Symbol | undefined {
  const symbol = checker.symbolAt(id);
  return symbol && (symbol.flags & ts.SymbolFlags.ValueModule) !== 0 ? symbol : undefined;
}

/** The type of an expression, where declarations settle it. */
function declaredType(checker: Questions, node: ts.Expression): ts.Type | null {
  if (node.kind === ts.SyntaxKind.ThisKeyword) return typeOfThis(checker, node);
  if (ts.isIdentifier(node)) return variableType(checker, node);
  if (ts.isPropertyAccessExpression(node)) {
    if (ts.isOptionalChain(node)) return null;
    return declaredProperty(checker, checker.symbolAt(node.name));
  }
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return null;
  return callType(checker, node);
}

function callType(checker: Questions, call: ts.CallExpression | ts.NewExpression): ts.Type | null {
  const name = calleeNameNode(call);
  const callee = name && checker.symbolAt(name);
  const found = callee ? declaredResult(checker, call, callee) : null;
  return found && settled(found);
}

function variableType(checker: Questions, id: ts.Identifier): ts.Type | null {
  const symbol = checker.symbolAt(id);
  const [only, ...others] = symbol?.declarations ?? [];
  if (!only || others.length > 0) return null;
  return declaredVariable(checker, only, (call) => callType(checker, call));
}

/** Instances of the class around a `this` that is that of a method. */
function typeOfThis(checker: Questions, node: ts.Node): ts.Type | null {
  let place = node.parent;
  while (ts.isArrowFunction(place) || !(ts.isFunctionLike(place) || ts.isClassLike(place))) {
    if (
      ts.isSourceFile(place) ||
      ts.isModuleBlock(place) ||
      ts.isClassStaticBlockDeclaration(place)
    )
      return null;
    place = place.parent;
  }
  const holder = place.parent;
  const isOfInstance =
    (ts.isMethodDeclaration(place) || ts.isAccessor(place) || ts.isConstructorDeclaration(place)) &&
    (ts.getCombinedModifierFlags(place) & ts.ModifierFlags.Static) === 0;
  if (!isOfInstance || !ts.isClassDeclaration(holder) || !holder.name) return null;
  const symbol = checker.symbolAt(holder.name);
  return symbol ? checker.instanceOf(symbol) : null;
}
