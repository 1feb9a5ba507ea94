/**
 * Declared types: what a call gives or a variable holds as far as declarations tell, without having
 * the checker resolve the call, which would check every argument first, or follow the flow to the
 * variable. Most need no more. Used by `oracle.ts` and `declared-member.ts`; the checker is asked
 * when this file does not know.
 */
import ts from "typescript";
import type { Questions } from "./questions.ts";
import { returnsOf } from "../transfer/fate.ts";
import { isPlain } from "./plain.ts";
import { calleeNameNode, hasBody, someWithin, unwrap } from "./syntax.ts";

type Signature =
  | ts.FunctionDeclaration
  | ts.MethodDeclaration
  | ts.MethodSignature
  | ts.ArrowFunction
  | ts.FunctionExpression
  | ts.FunctionTypeNode;

/** The type of a call's result by its callee's declaration; null when that does not settle it. */
export function declaredResult(
  checker: Questions,
  call: ts.CallExpression | ts.NewExpression,
  callee: ts.Symbol,
): ts.Type | null {
  if (ts.isOptionalChain(call)) return null;
  if (ts.isCallExpression(call) && returnsThis(callee)) return receiverOf(checker, call);
  const { results } = checker;
  let found = results.get(callee);
  if (found === undefined)
    results.set(
      callee,
      (found = ts.isNewExpression(call) ? instanceOf(checker, callee) : resultOf(checker, callee)),
    );
  return found ?? (ts.isCallExpression(call) ? callbackResult(checker, call, callee) : null);
}

/**
 * `tidy<T>(fn: () => T): T` gives what its callback returns: when those are calls that declarations
 * settle, nobody need infer `T`.
 */
function callbackResult(
  checker: Questions,
  call: ts.CallExpression,
  callee: ts.Symbol,
): ts.Type | null {
  const found = new Set(callbackValues(checker, call, callee).map((v) => valueType(checker, v)));
  const [only = null] = found;
  return found.size === 1 ? only : null;
}

/** The values that the callback of such a call gives, which are what the call gives. */
export function callbackValues(
  checker: Questions,
  call: ts.CallExpression,
  callee: ts.Symbol,
): ts.Expression[] {
  const [declaration, ...others] = callee.declarations ?? [];
  if (!declaration || others.length > 0 || !isSignature(declaration)) return [];
  const name = parameterNamed(declaration.type, declaration)?.name.text;
  const index = call.arguments.findIndex(isPlainCallback);
  const type = declaration.parameters[index]?.type;
  if (name === undefined || !type || !call.arguments.every((a, i) => i === index || isPlain(a)))
    return [];
  const kinds = ts.isUnionTypeNode(type) ? type.types : [type];
  return kinds.some((kind) => givesParameter(checker, kind, name))
    ? returnsOf(call.arguments[index] as ts.ArrowFunction)
    : [];
}

/**
 * What each element of `xs.map(callback)` is where declarations settle it; "plain" where all that
 * the callback gives are numbers, strings and the like.
 */
export function mappedElement(
  checker: Questions,
  call: ts.CallExpression,
): ts.Type | "plain" | null {
  const [callback, ...others] = call.arguments;
  if (!callback || others.length > 0 || !isPlainCallback(callback)) return null;
  const values = returnsOf(callback);
  if (values.length === 0) return null;
  if (values.every(isPlain)) return "plain";
  const found = new Set(values.map((v) => valueType(checker, v, isKnown)));
  const [only = null] = found;
  return found.size === 1 ? only : null;
}

/** A type that says something: what a call gives is not narrowed, so that it may be a union. */
const isKnown = (type: ts.Type): ts.Type | null =>
  type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Instantiable) ? null : type;

/** The type of an expression that a callback gives, where declarations settle it. */
function valueType(checker: Questions, value: ts.Expression, ofCall = settled): ts.Type | null {
  if (ts.isParenthesizedExpression(value) || ts.isNonNullExpression(value))
    return valueType(checker, value.expression);
  if (ts.isAsExpression(value))
    return ts.isConstTypeReference(value.type) ? null : settled(checker.annotated(value.type));
  if (ts.isIdentifier(value)) {
    const [only, ...others] = checker.symbolAt(value)?.declarations ?? [];
    if (!only || others.length > 0 || !isBefore(only, value)) return null;
    return declaredVariable(checker, only, (call) => valueType(checker, call));
  }
  const callee = ts.isCallExpression(value) ? calleeNameNode(value) : undefined;
  const symbol = callee && checker.symbolAt(callee);
  const result = symbol && declaredResult(checker, value as ts.CallExpression, symbol);
  return result ? ofCall(result) : null;
}

/** Whether a declaration ends before a mention: what stands in its own value leads back to it. */
const isBefore = (declaration: ts.Node, mention: ts.Node): boolean =>
  declaration.getSourceFile() === mention.getSourceFile() && declaration.end <= mention.pos;

/** A function literal whose result nothing but its body decides, and that ends in a return. */
const isPlainCallback = (node: ts.Expression): node is ts.ArrowFunction | ts.FunctionExpression =>
  (ts.isArrowFunction(node) || ts.isFunctionExpression(node)) &&
  !node.type &&
  !node.asteriskToken &&
  !node.modifiers &&
  (!ts.isBlock(node.body) || node.body.statements.at(-1)?.kind === ts.SyntaxKind.ReturnStatement);

/** Whether a type is that of a function giving the type parameter `name`: `() => T`, `Fn<T>`. */
function givesParameter(checker: Questions, type: ts.TypeNode, name: string): boolean {
  if (ts.isFunctionTypeNode(type)) return isNamed(type.type, name);
  if (!ts.isTypeReferenceNode(type) || type.typeArguments?.length !== 1) return false;
  const [argument] = type.typeArguments;
  const alias = checker.symbolAt(type.typeName)?.declarations?.[0];
  return (
    argument !== undefined &&
    isNamed(argument, name) &&
    alias !== undefined &&
    ts.isTypeAliasDeclaration(alias) &&
    givesParameter(checker, alias.type, alias.typeParameters?.[0]?.name.text ?? "")
  );
}

const isNamed = (type: ts.TypeNode, name: string): boolean =>
  ts.isTypeReferenceNode(type) && ts.isIdentifier(type.typeName) && type.typeName.text === name;

/** Whether every declaration of a method gives `this`. */
function returnsThis(callee: ts.Symbol): boolean {
  const { declarations = [] } = callee;
  return (
    declarations.length > 0 &&
    declarations.every((d) => isSignature(d) && d.type?.kind === ts.SyntaxKind.ThisType)
  );
}

/** The type of what a method is called on, which is that of a method's `this`. */
function receiverOf(checker: Questions, call: ts.CallExpression): ts.Type | null {
  if (!ts.isPropertyAccessExpression(call.expression)) return null;
  const { expression: receiver } = call.expression;
  if (receiver.kind === ts.SyntaxKind.SuperKeyword) return null;
  if (ts.isCallExpression(receiver) && ts.isPropertyAccessExpression(receiver.expression)) {
    const callee = checker.symbolAt(receiver.expression.name);
    const found = callee ? declaredResult(checker, receiver, callee) : null;
    if (found) return settled(found);
  }
  const declared = ts.isIdentifier(receiver) ? valueType(checker, receiver) : null;
  return declared ?? settled(checker.typeAt(receiver));
}

function instanceOf(checker: Questions, callee: ts.Symbol): ts.Type | null {
  const [only] = callee.declarations ?? [];
  return only &&
    callee.declarations?.length === 1 &&
    ts.isClassDeclaration(only) &&
    only.typeParameters === undefined
    ? checker.instanceOf(callee)
    : null;
}

/**
 * What the page's own functions give that is decided by their arguments (`createElement(name)`):
 * never something owned, and dear to find out.
 */
export function isPageFunction(
  call: ts.CallExpression | ts.NewExpression,
  callee: ts.Symbol,
): boolean {
  const [first] = callee.declarations ?? [];
  if (!first) return false;
  const { fileName } = first.getSourceFile();
  if (/[\\/]lib\.dom(\.\w+)*\.d\.ts$/.test(fileName)) return true;
  return (
    ts.isNewExpression(call) &&
    /[\\/]lib\.es[\w.]*\.d\.ts$/.test(fileName) &&
    plain.test(callee.name)
  );
}
const plain =
  /^(\w*Array(Buffer)?|DataView|\w*Error|Date|RegExp|WeakMap|WeakSet|URL|AbortController|Intl)$/;

/**
 * The type of a variable or parameter by its annotation, or by a first value that settles it; null
 * when only the flow tells, as for unions.
 */
export function declaredVariable(
  checker: Questions,
  declaration: ts.Declaration,
  ofCall: (call: ts.CallExpression | ts.NewExpression) => ts.Type | null,
): ts.Type | null {
  if (
    !ts.isVariableDeclaration(declaration) &&
    !(
      ts.isParameter(declaration) &&
      !declaration.dotDotDotToken &&
      !declaration.questionToken &&
      !declaration.initializer
    )
  )
    return null;
  if (!ts.isIdentifier(declaration.name)) return null;
  const { type, initializer } = declaration;
  if (type) return settled(checker.annotated(type));
  if (!initializer) return elementType(checker, declaration);
  if (!ts.isVariableDeclaration(declaration)) return null;
  let value = initializer;
  let isAwaited = false;
  while (
    ts.isParenthesizedExpression(value) ||
    ts.isNonNullExpression(value) ||
    ts.isAwaitExpression(value)
  ) {
    isAwaited ||= ts.isAwaitExpression(value);
    value = value.expression;
  }
  if (ts.isPropertyAccessExpression(value) && !ts.isOptionalChain(value)) {
    const found = declaredProperty(checker, checker.symbolAt(value.name));
    return found && settled(isAwaited ? checker.awaited(found) : found);
  }
  if (!ts.isCallExpression(value) && !ts.isNewExpression(value)) return null;
  const found = ofCall(value);
  return found && settled(isAwaited ? checker.awaited(found) : found);
}

/** Methods of lists that give their callback an element first. */
const visiting = /^(forEach|map|flatMap|filter|some|every|find(Last)?(Index)?)$/;

/** What a loop over a declared list, or the callback of a method of one, is given at each turn. */
function elementType(
  checker: Questions,
  declaration: ts.VariableDeclaration | ts.ParameterDeclaration,
): ts.Type | null {
  if (declaration.flags & ts.NodeFlags.JavaScriptFile) return null; // comments may tell
  const list = ts.isParameter(declaration) ? listVisited(declaration) : listWalked(declaration);
  const type = list ? valueType(checker, list) : null;
  if (!type || !checker.isList(type) || checker.isTuple(type)) return null;
  const [element] = checker.argumentsOf(type);
  return element ? settled(element) : null;
}

/** `xs` of `for (const x of xs)`; a variable that is its own list, half typed, has none. */
function listWalked({ parent, name }: ts.VariableDeclaration): ts.Expression | undefined {
  const loop = parent.parent;
  if (!ts.isForOfStatement(loop) || loop.awaitModifier) return undefined;
  if (!(parent.flags & ts.NodeFlags.BlockScoped)) return undefined;
  const list = unwrap(loop.expression);
  return ts.isIdentifier(list) && list.text === name.getText() ? undefined : loop.expression;
}

/** `xs` of `xs.map((x) => …)`. */
function listVisited(parameter: ts.ParameterDeclaration): ts.Expression | undefined {
  const fn = parameter.parent;
  const call = fn.parent;
  const isFirst = fn.parameters[0] === parameter && parameter.name.getText() !== "this";
  if (!isFirst || !ts.isCallExpression(call) || call.arguments[0] !== (fn as ts.Node))
    return undefined;
  const { expression: method } = call;
  return ts.isPropertyAccessExpression(method) && visiting.test(method.name.text)
    ? method.expression
    : undefined;
}

/** `values: T` where the arguments say nothing of `T extends Tensor`: what `T` is bound to. */
export function boundOf(checker: Questions, property: ts.Declaration | undefined): ts.Type | null {
  if (!property || !ts.isPropertySignature(property) || !property.type) return null;
  const type = checker.annotated(property.type);
  return type.flags & ts.TypeFlags.TypeParameter ? type : null;
}

/** A type that no test on the way can narrow to another. */
export const settled = (type: ts.Type): ts.Type | null =>
  type.flags &
  (ts.TypeFlags.Any |
    ts.TypeFlags.Unknown |
    ts.TypeFlags.Union |
    ts.TypeFlags.Instantiable |
    ts.TypeFlags.NonPrimitive)
    ? null
    : type;

/** A member by its annotation, where it is no union that tests could have narrowed. */
export function declaredProperty(
  checker: Questions,
  symbol: ts.Symbol | undefined,
): ts.Type | null {
  const [only, ...others] = symbol?.declarations ?? [];
  if (!only || others.length > 0) return null;
  if (!ts.isPropertyDeclaration(only) && !ts.isPropertySignature(only)) return null;
  if (only.questionToken || !only.type || only.type.kind === ts.SyntaxKind.ThisType) return null;
  return settled(checker.annotated(only.type));
}

function resultOf(checker: Questions, callee: ts.Symbol): ts.Type | null {
  const declarations = (callee.declarations ?? []).map((d) => heldFunction(d));
  const [only] = declarations;
  if (declarations.length === 1 && only && ts.isTypeQueryNode(only)) {
    const named = ts.isIdentifier(only.exprName) ? checker.symbolAt(only.exprName) : undefined;
    return named && named !== callee ? resultOf(checker, named) : null;
  }
  const types: ts.Type[] = [];
  for (const declaration of declarations) {
    if (!isSignature(declaration)) {
      if (ts.isModuleDeclaration(declaration)) continue;
      return null;
    } // functions with properties
    if (isImplementation(declaration, declarations)) continue;
    const type = resultOfOne(checker, declaration);
    // overloads that differ: the arguments decide
    if (!type || (types[0] && types[0] !== type)) return null;
    types.push(type);
  }
  return types[0] ?? null;
}

/** The function that a constant holds (`const f = (x) => …`, `const f: typeof g`). */
function heldFunction(declaration: ts.Node): ts.Node {
  if (!ts.isVariableDeclaration(declaration) || !ts.isVariableDeclarationList(declaration.parent))
    return declaration;
  if ((declaration.parent.flags & ts.NodeFlags.Const) === 0) return declaration;
  return declaration.type ?? declaration.initializer ?? declaration;
}

const isSignature = (node: ts.Node): node is Signature =>
  ts.isFunctionDeclaration(node) ||
  ts.isMethodDeclaration(node) ||
  ts.isMethodSignature(node) ||
  ts.isArrowFunction(node) ||
  ts.isFunctionExpression(node) ||
  ts.isFunctionTypeNode(node);
/** The body behind overloads is not what callers see. */
const isImplementation = (node: Signature, all: readonly ts.Node[]): boolean =>
  all.length > 1 && hasBody(node);

function resultOfOne(checker: Questions, declaration: Signature): ts.Type | null {
  const { type } = declaration;
  if (!type) return null;
  if (type.kind === ts.SyntaxKind.ThisType) return null;
  const parameter = parameterNamed(type, declaration);
  if (parameter) {
    // `<T extends Tensor>(x: T): T` gives a tensor of some kind; `T extends Named` may be one too
    const bound = parameter.constraint && checker.annotated(parameter.constraint);
    return bound && checker.isOwner(bound) ? bound : null;
  }
  const given = checker.annotated(type);
  const part = valueOfTable(checker, given);
  if (part) return part;
  // `Tensor<R>` is a tensor for any `R`
  return !mentionsParameter(type, declaration) || checker.isOwner(given) ? given : null;
}

/**
 * `Table[K]`, or a promise of it, where the table is known and only the key is not: any of its
 * values, waited for.
 */
function valueOfTable(checker: Questions, type: ts.Type): ts.Type | null {
  const given = type.symbol?.name === "Promise" ? checker.argumentsOf(type)[0] : type;
  if (!given || !(given.flags & ts.TypeFlags.IndexedAccess)) return null;
  const { objectType } = given as ts.IndexedAccessType;
  const isKnown = objectType.isClassOrInterface() && !objectType.typeParameters;
  return (isKnown && checker.boundOf(given)) || null;
}

/** The annotated result of a function, where callers cannot decide it; else null. */
export const annotatedResult = (checker: Questions, fn: ts.SignatureDeclaration): ts.Type | null =>
  isSignature(fn) ? resultOfOne(checker, fn) : null;

/** The type parameter of a function that a type is. */
const parameterNamed = (
  type: ts.TypeNode | undefined,
  { typeParameters }: Signature,
): ts.TypeParameterDeclaration | undefined =>
  type && typeParameters?.find((p) => isNamed(type, p.name.text));

/** Whether a type depends on a type parameter of its function or class, or on `this`. */
function mentionsParameter(type: ts.TypeNode, declaration: Signature): boolean {
  const names = new Set<string>();
  for (
    let node: ts.Node | undefined = declaration;
    node;
    node = node.parent as ts.Node | undefined
  ) {
    for (const p of (node as { typeParameters?: readonly ts.TypeParameterDeclaration[] })
      .typeParameters ?? [])
      names.add(p.name.text);
  }
  return someWithin(
    type,
    (node) =>
      node.kind === ts.SyntaxKind.ThisType ||
      ts.isConditionalTypeNode(node) ||
      ts.isMappedTypeNode(node) ||
      (ts.isIdentifier(node) && names.has(node.text)),
  );
}
