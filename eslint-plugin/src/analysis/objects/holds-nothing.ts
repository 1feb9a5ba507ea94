/**
 * Holds nothing: whether an instance of a class with a base of the library, which frees what such a
 * class holds, has nothing to free: an activation is a module like any other and has no parameter.
 * Used by `is-fresh.ts`.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import type { Session } from "../session.ts";
import { baseOf, someWithin } from "../program/syntax.ts";

/** Whether what `new` makes holds nothing that its base would free. */
export function holdsNothing(session: Session, made: ts.NewExpression, owner: Owner): boolean {
  if (owner.managers.length === 0) return false;
  let at: ts.Expression | undefined = made.expression;
  for (let depth = 0; at && depth < 8; depth++) {
    const node = session.oracle.declarationAt(at);
    if (!node || !ts.isClassLike(node)) return false;
    const { name } = node;
    if (name && owner.managers.includes(name.text)) return depth > 0 && isGivenNothing(node);
    if (!isBare(node)) return false;
    at = baseOf(node)?.expression;
  }
  return false;
}

/** A base that takes nothing to hold when it is made, as lists of layers and optimizers do. */
const isGivenNothing = ({ members }: ts.ClassLikeDeclaration): boolean =>
  members.every((m) => !ts.isConstructorDeclaration(m) || m.parameters.length === 0);

/** A class of declared numbers and names, or one written without a word about `this`. */
function isBare(node: ts.ClassLikeDeclaration): boolean {
  const isDeclared = node.getSourceFile().isDeclarationFile;
  const isThis = (n: ts.Node): boolean => n.kind === ts.SyntaxKind.ThisKeyword;
  if (!isDeclared && someWithin(node, isThis)) return false;
  return node.members.every((m) => {
    if (!ts.isPropertyDeclaration(m)) return isDeclared || !ts.isConstructorDeclaration(m);
    if (ts.isPrivateIdentifier(m.name)) return false;
    return isDeclared && m.type !== undefined && plain.has(m.type.kind);
  });
}

const plain: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.NumberKeyword,
  ts.SyntaxKind.BooleanKeyword,
  ts.SyntaxKind.StringKeyword,
]);
