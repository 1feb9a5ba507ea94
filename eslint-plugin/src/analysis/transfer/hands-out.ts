/**
 * Hands out: whether an object gives itself to somebody while it is made or asked for something:
 * `parent.add(this)`, `scope.onEnd(() => this.dispose())`. Whoever has it then may end it. Used by
 * `owed.ts` and by the verbs about mentions; looks at syntax and at what a class extends.
 */
import ts from "typescript";
import type { Oracle } from "../program/oracle.ts";
import { baseOf, hasBody, rootOf, within } from "../program/syntax.ts";

/** Whether making an instance of a class, or of what it extends, hands the instance out. */
export function handsOutWhenMade(oracle: Oracle, node: ts.ClassLikeDeclaration, hops = 0): boolean {
  if (oracle.facts.of(node, madeAloud)) return true;
  const base = baseOf(node)?.expression;
  const parent =
    base && oracle.declarationAt(ts.isPropertyAccessExpression(base) ? base.name : base);
  return (
    parent !== undefined &&
    parent !== node &&
    ts.isClassLike(parent) &&
    hops < 6 &&
    handsOutWhenMade(oracle, parent, hops + 1)
  );
}

function madeAloud(node: ts.ClassLikeDeclaration): boolean {
  const first = node.members.filter(
    (m) =>
      (ts.isConstructorDeclaration(m) && m.body !== undefined) ||
      (ts.isPropertyDeclaration(m) &&
        m.initializer !== undefined &&
        !hasBody(m.initializer) &&
        !(ts.getCombinedModifierFlags(m) & ts.ModifierFlags.Static)),
  );
  const called = new Set(first.flatMap((m) => ownCalls(m)));
  const methods = node.members.filter(
    (m) => ts.isMethodDeclaration(m) && m.body && called.has(m.name.getText()),
  );
  return [...first, ...methods].some(handsOut);
}

/** The methods of its own that a member calls. */
function ownCalls(member: ts.Node): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      node.expression.expression.kind === ts.SyntaxKind.ThisKeyword
    )
      found.push(node.expression.name.text);
    ts.forEachChild(node, visit);
  };
  visit(member);
  return found;
}

/** Whether a member hands its object to somebody, or has somebody call what ends it. */
export function handsOut(member: ts.Node): boolean {
  const visit = (node: ts.Node): boolean => {
    if (ts.isClassLike(node) || ts.isFunctionDeclaration(node) || ts.isFunctionExpression(node))
      return false; // another `this`
    if (node.kind === ts.SyntaxKind.ThisKeyword && (isGiven(node) || endsLater(node, member)))
      return true;
    return ts.forEachChild(node, visit) ?? false;
  };
  return ts.forEachChild(member, visit) ?? false;
}

/** `parent.add(this)`, `{ owner: this }`, `self = this`; not `this.part = new Part(this)`. */
function isGiven(self: ts.Node): boolean {
  let node = self;
  while (
    ts.isParenthesizedExpression(node.parent) ||
    ts.isAsExpression(node.parent) ||
    ts.isNonNullExpression(node.parent)
  )
    node = node.parent;
  const { parent } = node;
  if (ts.isNewExpression(parent)) return !isOwnPart(parent);
  if (ts.isCallExpression(parent))
    return parent.expression !== node && !/\.(bind|call|apply)$/.test(parent.expression.getText());
  if (ts.isBinaryExpression(parent))
    return parent.operatorToken.kind === ts.SyntaxKind.EqualsToken && parent.right === node;
  return (
    ts.isArrayLiteralExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isVariableDeclaration(parent) ||
    ts.isSpreadElement(parent)
  );
}

/** Whether what `new` makes is put into a field of the object that makes it. */
function isOwnPart({ parent }: ts.NewExpression): boolean {
  if (ts.isPropertyDeclaration(parent)) return true;
  return (
    ts.isBinaryExpression(parent) &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isPropertyAccessExpression(parent.left) &&
    rootOf(parent.left).kind === ts.SyntaxKind.ThisKeyword
  );
}

const ends = new RegExp(
  "^(_|#)?(async)?(dispose|close|destroy|release|end|terminate|stop|abort|cancel|clean_?up|" +
    "tear_?down|free|shut_?down|unsubscribe)",
  "i",
);

/** `setTimeout(() => this.close(), ms)`, `signal.onabort(this.dispose.bind(this))`. */
function endsLater(self: ts.Node, member: ts.Node): boolean {
  let node = self;
  while (
    (ts.isPropertyAccessExpression(node.parent) || ts.isElementAccessExpression(node.parent)) &&
    node.parent.expression === node
  )
    node = node.parent;
  const last = ts.isPropertyAccessExpression(node)
    ? node.name.text
    : ts.isElementAccessExpression(node)
      ? node.argumentExpression.getText().replace(/^Symbol\./, "")
      : "";
  if (!ends.test(last)) return false;
  for (let at = node.parent; at !== member && within(at, member); at = at.parent) {
    const given =
      ts.isCallExpression(at.parent) && at.parent.arguments.some((a) => (a as ts.Node) === at);
    const isLater = ts.isArrowFunction(at) || at === node.parent;
    if (given && isLater) return true;
  }
  return false;
}
