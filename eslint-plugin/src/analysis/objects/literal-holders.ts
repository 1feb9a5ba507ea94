/**
 * Literal holders: objects that a function returns with functions of their own, one of which ends
 * values that they share. They are instances of a class written otherwise, and somebody must end
 * them. Syntax, and what variables hold; used by `holders.ts` while types are being classified.
 */
import ts from "typescript";
import { nameOf } from "../program/call-sites.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import { endsAt, getsNothing } from "./field-deeds.ts";
import type { Owned } from "../program/ownership.ts";
import {
  hasBody,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { givenTo } from "../untyped/untyped-records.ts";

/** What is asked about the names in such functions. */
interface LiteralQuestions {
  ownedAt(name: ts.Node): Owned | null;
  declarationAt(node: ts.Node): ts.Declaration | undefined;
  /** Whether a name is that of a method that ends an object. */
  isEndingName(name: string): boolean;
  /** Whether who ends a value is agreed on. */
  counts(owned: Owned): boolean;
}

/** The objects that functions of a file return under the name of an interface. */
export function literalsOf(node: ts.InterfaceDeclaration): ts.ObjectLiteralExpression[] {
  const found: ts.ObjectLiteralExpression[] = [];
  const visit = (inner: ts.Node): void => {
    if (hasBody(inner) && inner.type && isNameOf(inner.type, node))
      for (const value of returnsOf(inner)) {
        const bare = unwrap(value);
        if (ts.isObjectLiteralExpression(bare)) found.push(bare);
      }
    ts.forEachChild(inner, visit);
  };
  visit(node.getSourceFile());
  return found;
}

/** `Painter`, or `Promise<Painter>`. */
function isNameOf(type: ts.TypeNode, node: ts.InterfaceDeclaration): boolean {
  if (!ts.isTypeReferenceNode(type) || !ts.isIdentifier(type.typeName)) return false;
  const [first] = type.typeArguments ?? [];
  return type.typeName.text === "Promise" && first
    ? isNameOf(first, node)
    : type.typeName.text === node.name.text;
}

/** The name of what ends an object that a function returns. */
export function endingOfLiteral(
  literal: ts.ObjectLiteralExpression,
  ask: LiteralQuestions,
): string | undefined {
  const home = enclosingFunction(literal);
  if (!home || /^use[A-Z]/.test(nameOf(home) ?? "")) return undefined; // a hook ends with its host
  for (const property of literal.properties) {
    const name = property.name && memberName(property.name);
    if (name === undefined || !ask.isEndingName(name)) continue;
    const fn = functionOf(property, ask);
    if (!fn?.parameters.every((p) => p.initializer ?? p.questionToken)) continue;
    if (endsShared(functionsRun(fn, home, ask), home, ask))
      return /^(dispose|@@dispose|@@asyncDispose)$/.test(name) ? "dispose" : name;
  }
  return undefined;
}

function functionOf(
  property: ts.ObjectLiteralElementLike,
  ask: LiteralQuestions,
): FunctionWithBody | undefined {
  if (hasBody(property)) return ts.isMethodDeclaration(property) ? property : undefined;
  const given = givenTo(property);
  const bare = given && unwrap(given);
  return bare && functionAt(bare, ask);
}

/** A function, or the one that a name stands for. */
function functionAt(node: ts.Node, ask: LiteralQuestions): FunctionWithBody | undefined {
  if (hasBody(node)) return node;
  const declaration = ts.isIdentifier(node) ? ask.declarationAt(node) : undefined;
  if (!declaration || hasBody(declaration)) return declaration;
  const initial = ts.isVariableDeclaration(declaration) && declaration.initializer;
  const bare = initial && unwrap(initial);
  return bare && hasBody(bare) ? bare : undefined;
}

/** A function and those of its home that it calls. */
function functionsRun(
  start: FunctionWithBody,
  home: ts.Node,
  ask: LiteralQuestions,
): ReadonlySet<FunctionWithBody> {
  const found = new Set<FunctionWithBody>();
  const add = (fn: FunctionWithBody): void => {
    if (found.has(fn)) return;
    found.add(fn);
    const visit = (node: ts.Node): void => {
      const next = ts.isCallExpression(node) ? functionAt(node.expression, ask) : undefined;
      if (next && enclosingFunction(next) === home) add(next);
      ts.forEachChild(node, visit);
    };
    ts.forEachChild(fn, visit);
  };
  add(start);
  return found;
}

/** Whether functions end what a variable of their home holds, and give it nothing new. */
function endsShared(
  run: ReadonlySet<FunctionWithBody>,
  home: ts.Node,
  ask: LiteralQuestions,
): boolean {
  const kept = new Set<ts.Declaration>();
  const ended = new Set<ts.Declaration>();
  const note = (id: ts.Identifier, fn: FunctionWithBody): void => {
    const declaration = ask.declarationAt(id);
    if (!declaration || !isVariableOf(declaration, home)) return;
    if (isTarget(id)) {
      if (!getsNothing(id)) kept.add(declaration);
      return;
    }
    const owned = ask.ownedAt(id);
    if (owned && ask.counts(owned) && endsAt(id, fn, owned)) ended.add(declaration);
  };
  for (const fn of run)
    someWithin(fn, (node) => {
      if (ts.isIdentifier(node)) note(node, fn);
      return false;
    });
  return [...ended].some((declaration) => !kept.has(declaration));
}

const isVariableOf = (node: ts.Declaration, home: ts.Node): boolean =>
  (ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node)) &&
  enclosingFunction(node) === home;
