/**
 * Left locals: an object of a class that one function makes, asks for something and leaves, while
 * nobody else has it: what it keeps is then out of reach. Used by `made-again.ts`.
 */
import ts from "typescript";
import { isInline } from "../flow/closures.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { handsOut } from "../transfer/hands-out.ts";
import { lineage } from "../objects/holders.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { memberName, someWithin } from "../program/syntax.ts";

/** `const reader = new Reader(device); return await reader.read(buffer);`. */
export function isLeftHere(session: Session, made: ts.NewExpression): boolean {
  const { kind, node: bound } = fateOf(made);
  if (kind !== "bound" || !ts.isVariableDeclaration(bound) || !ts.isIdentifier(bound.name))
    return false;
  const { name } = bound;
  const home = enclosingFunction(bound);
  if (!home) return false;
  const uses = referencesTo(session.oracle, bound, name, home).filter((id) => id !== name);
  return (
    uses.length > 0 &&
    uses.every((id) => enclosingFunction(id) === home && isOnlyAsked(session, id)) &&
    !mayBeKnown(session, made)
  );
}

/** `reader.run()`, `reader.count`: what it gives back is nothing, or data of the language. */
function isOnlyAsked(session: Session, id: ts.Identifier): boolean {
  const { kind, node, literal } = fateOf(id);
  if (literal) return false;
  if (kind === "read") return session.oracle.gives(node, "number");
  if (kind !== "receiver" || !ts.isCallExpression(node)) return false;
  return (
    fateOf(node).kind === "dropped" ||
    session.oracle.gives(node, "number") ||
    givesData(session, node)
  );
}

/** Numbers in a list, awaited perhaps: no object of the program or of the device. */
function givesData({ oracle }: Session, call: ts.CallExpression): boolean {
  const declarations = oracle.declarationsAt(call);
  const isData = (d: ts.Declaration): boolean =>
    (ts.isInterfaceDeclaration(d) || ts.isVariableDeclaration(d)) &&
    /^(\w+Array|ArrayBuffer|Date)$/.test(d.name.getText());
  return declarations.length > 0 && declarations.every(isData);
}

/** Whether the class of a new object may hand it, or what knows of it, to somebody. */
function mayBeKnown(session: Session, { expression }: ts.NewExpression): boolean {
  const node = session.oracle.declarationAt(expression);
  if (!node || !ts.isClassLike(node)) return true;
  return lineage(node, session.oracle).some((one) => {
    const methods = new Set(
      one.members.flatMap((m) => (m.name && isFunction(m) ? [memberName(m.name)] : [])),
    );
    return one.members.some(
      (m) => handsOut(m) || someWithin(m, (n) => isKnowing(session, n, methods)),
    );
  });
}

/** A method, or a field that is an arrow function from the start. */
const isFunction = (member: ts.ClassElement): boolean =>
  ts.isMethodDeclaration(member) ||
  (ts.isPropertyDeclaration(member) &&
    member.initializer !== undefined &&
    ts.isArrowFunction(member.initializer));

/** `() => this.frame()` that is kept or called later, and `this.frame` that is not called. */
function isKnowing(session: Session, node: ts.Node, methods: ReadonlySet<string>): boolean {
  if (ts.isArrowFunction(node))
    return (
      !ts.isPropertyDeclaration(node.parent) &&
      !isInline(session, node) &&
      someWithin(node, (n) => n.kind === ts.SyntaxKind.ThisKeyword)
    );
  return (
    ts.isPropertyAccessExpression(node) &&
    node.expression.kind === ts.SyntaxKind.ThisKeyword &&
    methods.has(node.name.text) &&
    !(ts.isCallExpression(node.parent) && node.parent.expression === node)
  );
}
