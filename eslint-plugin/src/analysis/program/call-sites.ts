/**
 * Call sites: where in the program a function is called or handed on as a value. Only names that
 * are asked for are ever resolved. Used by `scope-context.ts`.
 */
import ts from "typescript";
import { callsNamed, indexFile, sourcesFor } from "./call-index.ts";
import { propertyTaken } from "./callee.ts";
import { isOfferedByName } from "./entry-points.ts";
import type { Oracle } from "./oracle.ts";
import { returnsOf } from "../transfer/fate.ts";
import {
  hasBody,
  isScript,
  isSelf,
  isTarget,
  prototypeOf,
  type CallLike,
  type FunctionWithBody,
} from "./syntax.ts";

/** Where a function is called, and where its name is used as a value. */
export interface CallSites {
  calls: readonly CallLike[];
  values: readonly ts.Node[];
  /** Where a getter runs: reads of its property. */
  reads: readonly ts.Node[];
}

/** Every call of a function and every other use of its name, in one file or the whole program. */
export function callSitesOf(
  oracle: Oracle,
  fn: FunctionWithBody,
  scope: "program" | "file",
): CallSites {
  const name = nameOf(fn);
  if (name === undefined) return { calls: [], values: [], reads: [] };
  const targets = declarationsOf(oracle, fn);
  const isMethod =
    (ts.isClassElement(fn) && !ts.isConstructorDeclaration(fn)) || memberOfScript(fn) !== undefined;
  const isProperty = [...targets].some((t) => ts.isObjectLiteralElement(t));
  const files = scope === "file" ? [fn.getSourceFile()] : sourcesFor(oracle, fn);
  const calls: CallLike[] = [];
  const values: ts.Node[] = [];
  const reads: ts.Node[] = [];
  for (const file of files) {
    if (ts.isGetAccessor(fn)) reads.push(...readsIn(oracle, file, name, targets));
    const index = oracle.facts.of(file, indexFile);
    for (const call of index.calls.get(name) ?? [])
      if (
        refersTo(oracle, calleeName(call), targets) ||
        (isMethod && mayCall(oracle, call, fn)) ||
        (isProperty && isOneOf(propertyCalled(oracle, call), targets))
      )
        calls.push(call);
    if (ts.isConstructorDeclaration(fn)) continue;
    for (const id of index.values.get(name) ?? [])
      if (!isExportedName(id) && refersTo(oracle, id, targets)) values.push(id);
  }
  return { calls, values, reads };
}

/** The calls of a function by the property of an object that holds it: `{ learn, stop: end }`. */
export function callsByProperty(oracle: Oracle, value: ts.Node): readonly CallLike[] {
  const { parent: property } = value;
  const holds =
    ts.isShorthandPropertyAssignment(property) ||
    (ts.isPropertyAssignment(property) && property.initializer === value);
  if (!holds || !ts.isIdentifier(property.name)) return [];
  const target = new Set<ts.Node>([property]);
  return callsNamed(oracle, property.name.text).filter(
    (call) =>
      refersTo(oracle, calleeName(call), target) || isOneOf(propertyCalled(oracle, call), target),
  );
}

/**
 * The calls of a method of an object that a function returns, by its name, where they ask an
 * interface or type of the program for it; undefined where others may call it, too.
 */
export function callsByType(
  oracle: Oracle,
  method: FunctionWithBody,
): readonly CallLike[] | undefined {
  const name = nameOf(method);
  const literal = (bindingOf(method) ?? method).parent;
  const maker = ts.findAncestor(literal, hasBody);
  if (name === undefined || !maker || !isReturned(oracle, literal, maker)) return undefined;
  if (isOfferedByName(oracle, maker)) return undefined;
  const files = sourcesFor(oracle, method);
  if (files.some((file) => isTaken(oracle, file, name))) return undefined;
  const calls = callsNamed(oracle, name).filter((call) =>
    ts.isPropertyAccessExpression(call.expression),
  );
  const declared = calls.map((call) => oracle.symbolAt(calleeName(call))?.declarations?.[0]);
  if (declared.includes(undefined)) return undefined;
  return calls.filter((_, i) => {
    const member = declared[i];
    return member && ts.isTypeElement(member) && !member.getSourceFile().isDeclarationFile;
  });
}

function isReturned({ facts }: Oracle, literal: ts.Node, maker: FunctionWithBody): boolean {
  let node = literal;
  while (ts.isParenthesizedExpression(node.parent) || ts.isAsExpression(node.parent))
    node = node.parent;
  const { parent } = node;
  if (!ts.isVariableDeclaration(parent)) return ts.isReturnStatement(parent) || parent === maker;
  const name = ts.isIdentifier(parent.name) ? parent.name.text : undefined;
  return facts.of(maker, returnsOf).some((at) => at.getText() === name);
}

/** Whether a file reads a property of a name for its value. */
const isTaken = (oracle: Oracle, file: ts.SourceFile, name: string): boolean =>
  oracle.facts
    .of(file, indexFile)
    .values.get(name)
    ?.some((id) => ts.isPropertyAccessExpression(id.parent)) === true ||
  oracle.facts
    .nodes<ts.BindingElement>(file, ts.SyntaxKind.BindingElement)
    .some(
      (element) =>
        ts.isObjectBindingPattern(element.parent) &&
        (element.propertyName ?? element.name).getText() === name,
    );

/** `const { draw } = make(); draw();`: the property that a pattern took a function from. */
function propertyCalled(oracle: Oracle, { expression }: CallLike): ts.Symbol | undefined {
  const element = ts.isIdentifier(expression) ? oracle.declarationAt(expression) : undefined;
  return element && ts.isBindingElement(element) ? propertyTaken(oracle, element) : undefined;
}

/** The reads of a property in a file. */
const readsIn = (
  oracle: Oracle,
  file: ts.SourceFile,
  name: string,
  targets: ReadonlySet<ts.Node>,
): ts.Node[] =>
  oracle.facts
    .nodes<ts.PropertyAccessExpression>(file, ts.SyntaxKind.PropertyAccessExpression)
    .filter((n) => n.name.text === name && !isTarget(n) && refersTo(oracle, n.name, targets));

/**
 * `x.f()` where nothing is known of `x`: it may be a call of any method of that name; on `this`, of
 * one in its file.
 */
const mayCall = (oracle: Oracle, call: CallLike, fn: FunctionWithBody): boolean => {
  const { expression } = call;
  if (!ts.isPropertyAccessExpression(expression) || oracle.symbolAt(expression.name)) return false;
  if (!fits(call, fn)) return false;
  return expression.expression.kind === ts.SyntaxKind.ThisKeyword
    ? expression.getSourceFile() === fn.getSourceFile()
    : oracle.callee(call).library === undefined; // not `tf.clone(t)`
};

/** Whether a function takes as many arguments as a call gives, and does without any if it must. */
function fits({ arguments: given = [] as never }: CallLike, fn: FunctionWithBody): boolean {
  const { parameters, body } = fn;
  if (given.some(ts.isSpreadElement)) return true;
  const inScript = isScript(fn.getSourceFile());
  const takesMore =
    parameters.some((p) => p.dotDotDotToken) || (inScript && /\barguments\b/.test(body.getText()));
  if (given.length > parameters.length) return takesMore;
  const isNeeded = parameters[0] && !parameters[0].questionToken && !parameters[0].initializer;
  return inScript || given.length > 0 || takesMore || !isNeeded;
}

const calleeName = (call: CallLike): ts.Node =>
  ts.isPropertyAccessExpression(call.expression) ? call.expression.name : call.expression;

const refersTo = (oracle: Oracle, node: ts.Node, targets: ReadonlySet<ts.Node>): boolean =>
  isOneOf(oracle.symbolAt(node), targets);

const isOneOf = (symbol: ts.Symbol | undefined, targets: ReadonlySet<ts.Node>): boolean =>
  symbol?.declarations?.some((d) => targets.has(d)) === true ||
  (symbol?.valueDeclaration !== undefined && targets.has(symbol.valueDeclaration));

/** The name callers use. */
export function nameOf(fn: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(fn)) return fn.parent.name?.text;
  if (isCommonExport(fn.parent) && ts.isPropertyAccessExpression(fn.parent.left)) {
    const { name } = fn.parent.left;
    return name.text === "exports" ? undefined : name.text;
  }
  const member = memberOfScript(fn);
  if (member) return member.name.text;
  const holder = ts.isArrowFunction(fn) || ts.isFunctionExpression(fn) ? bindingOf(fn) : fn;
  const name = (holder as Partial<ts.NamedDeclaration> | undefined)?.name;
  return name && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name) || ts.isStringLiteral(name))
    ? name.text
    : undefined;
}

/** The variable or property a function expression is bound to. */
export function bindingOf(
  fn: ts.Node,
): ts.VariableDeclaration | ts.PropertyDeclaration | ts.PropertyAssignment | undefined {
  let node: ts.Node = fn;
  while (
    ts.isParenthesizedExpression(node.parent) ||
    ts.isAsExpression(node.parent) ||
    ts.isSatisfiesExpression(node.parent)
  )
    node = node.parent;
  const parent = node.parent;
  return (ts.isVariableDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isPropertyAssignment(parent)) &&
    parent.initializer === node
    ? parent
    : undefined;
}

/** What a function of a script is a method by: `Net.prototype.run = function () {…}`. */
export function memberOfScript(fn: ts.Node): ts.PropertyAccessExpression | undefined {
  const { parent } = fn;
  if (!ts.isBinaryExpression(parent) || parent.right !== fn || !isScript(fn.getSourceFile()))
    return undefined;
  const { left, operatorToken } = parent;
  const isMember =
    operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isPropertyAccessExpression(left) &&
    (prototypeOf(left) !== undefined || isSelf(left.expression));
  return isMember ? left : undefined;
}

/**
 * The declarations through which a function may be reached: itself, and for a method those it
 * overrides or implements.
 */
function declarationsOf(oracle: Oracle, fn: FunctionWithBody): Set<ts.Node> {
  const own: ts.Node = ts.isConstructorDeclaration(fn) ? fn.parent : (bindingOf(fn) ?? fn);
  const targets = new Set<ts.Node>([own, fn]);
  const member = memberOfScript(fn);
  if (member) targets.add(member).add(member.parent);
  if (isCommonExport(fn.parent)) targets.add(fn.parent).add(fn.parent.left);
  const holder = own.parent as ts.Node | undefined;
  if (holder && ts.isClassLike(holder) && !ts.isConstructorDeclaration(fn))
    addOverridden(oracle, holder, nameOf(fn) ?? "", targets, 0);
  return targets;
}

function addOverridden(
  oracle: Oracle,
  holder: ts.ClassLikeDeclaration | ts.InterfaceDeclaration,
  name: string,
  targets: Set<ts.Node>,
  depth: number,
): void {
  if (depth > 6) return;
  for (const clause of holder.heritageClauses ?? []) {
    for (const base of clause.types) {
      const { members, holder: parent } = oracle.inherited(base, name);
      for (const declaration of members) targets.add(declaration);
      const isClass = parent && (ts.isClassLike(parent) || ts.isInterfaceDeclaration(parent));
      if (isClass && parent !== holder) addOverridden(oracle, parent, name, targets, depth + 1);
    }
  }
}

/** `exports.f = …`, `module.exports = …`, `module.exports.f = …` in a script. */
export function isCommonExport(node: ts.Node): node is ts.BinaryExpression {
  return (
    ts.isBinaryExpression(node) &&
    node.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    /\.[cm]?jsx?$/.test(node.getSourceFile().fileName) &&
    /^(module\.)?exports(\.[\w$]+)?$/.test(node.left.getText())
  );
}

/** A name in what a script exports, which nobody calls there: `module.exports = { f, g: h }`. */
function isExportedName(name: ts.Identifier): boolean {
  if (isCommonExport(name.parent)) return name.parent.right === name;
  const object = name.parent.parent;
  return ts.isObjectLiteralExpression(object) && isCommonExport(object.parent);
}

/**
 * Whether a method overrides something declared outside the program's own sources: a framework may
 * call it.
 */
export function overridesForeign(oracle: Oracle, fn: FunctionWithBody): boolean {
  return [...declarationsOf(oracle, fn)].some((d) => d.getSourceFile().isDeclarationFile);
}
