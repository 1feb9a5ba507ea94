/**
 * Left locals: an object of a class that one function makes, asks for something and leaves, while
 * nobody else has it: what it keeps is then out of reach. Used by `made-again.ts`.
 */
import ts from "typescript";
import { handsOut } from "./hands-out.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { lineage } from "./holders.ts";
import { referencesTo } from "./references.ts";
import type { Session } from "./session.ts";
import { calleeNameNode, memberName, someWithin } from "./syntax.ts";

/** `const reader = new Reader(device); return await reader.read(buffer);`. */
export function isLeftHere(
  session: Session,
  made: ts.NewExpression,
  node: ts.ClassLikeDeclaration,
): boolean {
  const { kind, node: bound } = fateOf(made);
  if (kind !== "bound" || !ts.isVariableDeclaration(bound) || !ts.isIdentifier(bound.name))
    return false;
  const { name } = bound;
  const home = enclosingFunction(bound);
  if (!home || lineage(node, session.oracle).some(keepsItself)) return false;
  const uses = referencesTo(session.oracle, bound, name, home).filter((id) => id !== name);
  return (
    uses.length > 0 &&
    uses.every((id) => enclosingFunction(id) === home && isOnlyAsked(session, id))
  );
}

/** `reader.run()`, `reader.count()`: what it gives back is nothing, or data of the language. */
function isOnlyAsked(session: Session, id: ts.Identifier): boolean {
  const { kind, node } = fateOf(id);
  if (kind === "read") return session.oracle.gives(node, "number");
  if (kind !== "receiver" || !ts.isCallExpression(node)) return false;
  return isUnused(node) || session.oracle.gives(node, "number") || givesData(session, node);
}

/** `reader.run();`, `await reader.run();`. */
function isUnused(call: ts.CallExpression): boolean {
  const value = ts.isAwaitExpression(call.parent) ? call.parent : call;
  return ts.isExpressionStatement(value.parent);
}

/** Numbers in a list, awaited perhaps: no object of the program or of the device. */
function givesData({ oracle }: Session, call: ts.CallExpression): boolean {
  const declarations = oracle.declarationsAt(call);
  const isData = (d: ts.Declaration): boolean =>
    (ts.isInterfaceDeclaration(d) || ts.isVariableDeclaration(d)) &&
    /^(\w+Array|ArrayBuffer|Date)$/.test(d.name.getText());
  return declarations.length > 0 && declarations.every(isData);
}

/** Calls that run a function given to them and then forget it. */
const passing = new RegExp(
  "^(map|forEach|filter|some|every|reduce|find(Index)?|sort|flatMap|from|then|catch|" +
    "finally|Promise)$",
);

/** Whether a class has its object known elsewhere: it hands itself, or what knows of it, on. */
function keepsItself(node: ts.ClassLikeDeclaration): boolean {
  const methods = new Set(
    node.members.flatMap((m) => (ts.isMethodDeclaration(m) ? [memberName(m.name)] : [])),
  );
  return node.members.some((m) => handsOut(m) || someWithin(m, (n) => isKnowing(n, methods)));
}

/** `() => this.frame()` that is kept or handed to who knows whom, and `this.frame` not called. */
function isKnowing(node: ts.Node, methods: ReadonlySet<string>): boolean {
  if (ts.isArrowFunction(node)) {
    const host = node.parent;
    const isPassing =
      (ts.isCallExpression(host) || ts.isNewExpression(host)) &&
      passing.test(calleeNameNode(host)?.text ?? "");
    return !isPassing && someWithin(node, (n) => n.kind === ts.SyntaxKind.ThisKeyword);
  }
  return (
    ts.isPropertyAccessExpression(node) &&
    node.expression.kind === ts.SyntaxKind.ThisKeyword &&
    methods.has(node.name.text) &&
    !(ts.isCallExpression(node.parent) && node.parent.expression === node)
  );
}
