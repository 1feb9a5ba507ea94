/**
 * Fate: where the value of an expression goes, found by climbing from the expression to the first
 * construct that does something with it. Wrappers that hand the value on unchanged (`as`, `!`,
 * `await`, parentheses, `?:`, `??`, `,`) are transparent. Pure syntax; used by every verb and by
 * the dataflow.
 */
import ts from "typescript";
import { literalUnder, passesOn, type CallLike } from "../program/syntax.ts";

/** Where the value of an expression goes. */
export interface Fate {
  kind:
    | "dropped"
    | "receiver"
    | "read"
    | "element"
    | "argument"
    | "bound"
    | "assigned"
    | "returned"
    | "yielded"
    | "thrown"
    | "field"
    | "iterated"
    | "operand"
    | "called"
    | "spread"
    | "unknown";
  /**
   * The construct that receives the value: the call, declaration, assignment, return statement, …
   */
  node: ts.Node;
  /** The outermost expression that still has the value, below `node`. */
  top: ts.Expression;
  /** Passed through `?:`, `&&`, `||` or `??`: another value may arrive in its place. */
  conditional: boolean;
  awaited: boolean;
  /** Passed through an array or object literal, which now holds it. */
  literal: ts.ArrayLiteralExpression | ts.ObjectLiteralExpression | null;
  /** For `receiver` and `read`: the member's name. */
  member: string;
}

/** The first construct above an expression that does something with its value. */
export function fateOf(start: ts.Expression): Fate {
  const fate: Fate = {
    kind: "unknown",
    node: start,
    top: start,
    conditional: false,
    awaited: false,
    literal: null,
    member: "",
  };
  let node: ts.Expression = start;
  for (;;) {
    const parent: ts.Node = node.parent;
    const up = climb(node, parent, fate);
    if (!up) break;
    node = up;
  }
  fate.top = node;
  return fate;
}

const settle = (fate: Fate, kind: Fate["kind"], node: ts.Node, member = ""): null => {
  fate.kind = kind;
  fate.node = node;
  fate.member = member;
  return null;
};

/** Constructs that settle a fate by themselves. */
const ends: ReadonlyMap<ts.SyntaxKind, Fate["kind"]> = new Map([
  [ts.SyntaxKind.VariableDeclaration, "bound"],
  [ts.SyntaxKind.Parameter, "bound"],
  [ts.SyntaxKind.BindingElement, "bound"],
  [ts.SyntaxKind.PropertyDeclaration, "field"],
  [ts.SyntaxKind.ExportAssignment, "field"],
  [ts.SyntaxKind.ExpressionStatement, "dropped"],
  [ts.SyntaxKind.VoidExpression, "dropped"],
  [ts.SyntaxKind.ReturnStatement, "returned"],
  [ts.SyntaxKind.ArrowFunction, "returned"],
  [ts.SyntaxKind.YieldExpression, "yielded"],
  [ts.SyntaxKind.ThrowStatement, "thrown"],
  [ts.SyntaxKind.TemplateSpan, "operand"],
  [ts.SyntaxKind.PrefixUnaryExpression, "operand"],
  [ts.SyntaxKind.PostfixUnaryExpression, "operand"],
  [ts.SyntaxKind.TypeOfExpression, "operand"],
  [ts.SyntaxKind.IfStatement, "operand"],
  [ts.SyntaxKind.WhileStatement, "operand"],
  [ts.SyntaxKind.DoStatement, "operand"],
  [ts.SyntaxKind.SwitchStatement, "operand"],
  [ts.SyntaxKind.CaseClause, "operand"],
  [ts.SyntaxKind.ForInStatement, "operand"],
]);

/** One step: the parent expression that has the same value, or null once the fate is settled. */
function climb(node: ts.Expression, parent: ts.Node, fate: Fate): ts.Expression | null {
  switch (parent.kind) {
    case ts.SyntaxKind.ParenthesizedExpression:
    case ts.SyntaxKind.AsExpression:
    case ts.SyntaxKind.SatisfiesExpression:
    case ts.SyntaxKind.NonNullExpression:
    case ts.SyntaxKind.TypeAssertionExpression:
      return parent as ts.Expression;
    case ts.SyntaxKind.AwaitExpression:
      fate.awaited = true;
      return parent as ts.Expression;
    case ts.SyntaxKind.ConditionalExpression:
      if ((parent as ts.ConditionalExpression).condition === node)
        return settle(fate, "operand", parent);
      fate.conditional = true;
      return parent as ts.Expression;
    case ts.SyntaxKind.BinaryExpression:
      return climbBinary(node, parent as ts.BinaryExpression, fate);
    case ts.SyntaxKind.ArrayLiteralExpression:
      if (isAssignmentPattern(parent as ts.ArrayLiteralExpression))
        return settle(fate, "unknown", parent);
      fate.literal = parent as ts.ArrayLiteralExpression;
      return parent as ts.Expression;
    case ts.SyntaxKind.SpreadElement:
      if (ts.isArrayLiteralExpression(parent.parent)) return parent as ts.Expression;
      return settleArgument(parent as ts.Expression, parent.parent, fate);
    case ts.SyntaxKind.PropertyAssignment:
    case ts.SyntaxKind.ShorthandPropertyAssignment:
    case ts.SyntaxKind.SpreadAssignment:
      if (isAssignmentPattern(parent.parent as ts.ObjectLiteralExpression))
        return settle(fate, "unknown", parent.parent);
      fate.literal = parent.parent as ts.ObjectLiteralExpression;
      return parent.parent as ts.Expression;
    case ts.SyntaxKind.PropertyAccessExpression:
      return climbAccess(parent as ts.PropertyAccessExpression, fate);
    case ts.SyntaxKind.ElementAccessExpression:
      return settle(
        fate,
        (parent as ts.ElementAccessExpression).expression === node ? "element" : "operand",
        parent,
      );
    case ts.SyntaxKind.CallExpression:
    case ts.SyntaxKind.NewExpression:
      return settleArgument(node, parent, fate);
    case ts.SyntaxKind.ForOfStatement: {
      const iterated = (parent as ts.ForOfStatement).expression === node;
      return settle(fate, iterated ? "iterated" : "unknown", parent);
    }
    case ts.SyntaxKind.ForStatement: {
      const tested = (parent as ts.ForStatement).condition === node;
      return settle(fate, tested ? "operand" : "dropped", parent);
    }
    default:
      return settle(fate, ends.get(parent.kind) ?? "unknown", parent);
  }
}

function climbBinary(
  node: ts.Expression,
  parent: ts.BinaryExpression,
  fate: Fate,
): ts.Expression | null {
  const operator = parent.operatorToken.kind;
  if (operator === ts.SyntaxKind.CommaToken)
    return parent.right === node ? parent : settle(fate, "dropped", parent);
  const logical =
    operator === ts.SyntaxKind.BarBarToken || operator === ts.SyntaxKind.QuestionQuestionToken;
  if (logical || (operator === ts.SyntaxKind.AmpersandAmpersandToken && parent.right === node)) {
    fate.conditional = true;
    return parent;
  }
  const assigns =
    operator === ts.SyntaxKind.EqualsToken ||
    operator === ts.SyntaxKind.BarBarEqualsToken ||
    operator === ts.SyntaxKind.AmpersandAmpersandEqualsToken ||
    operator === ts.SyntaxKind.QuestionQuestionEqualsToken;
  if (assigns && parent.right === node) {
    if (operator !== ts.SyntaxKind.EqualsToken) fate.conditional = true;
    return settle(fate, "assigned", parent);
  }
  return settle(fate, assigns ? "unknown" : "operand", parent);
}

function climbAccess(access: ts.PropertyAccessExpression, fate: Fate): ts.Expression | null {
  let top: ts.Expression = access;
  while (ts.isParenthesizedExpression(top.parent) || ts.isNonNullExpression(top.parent))
    top = top.parent;
  const called = ts.isCallExpression(top.parent) && top.parent.expression === top;
  const list = called && passesOn(access) ? literalUnder(access.expression) : undefined;
  if (list && list === fate.literal && !isSpreadIn(list, fate.node))
    return top.parent as ts.Expression;
  return settle(fate, called ? "receiver" : "read", called ? top.parent : access, access.name.text);
}

/** Whether a list is spread in a literal: what becomes of its elements is told by themselves. */
const isSpreadIn = (list: ts.ArrayLiteralExpression, start: ts.Node): boolean =>
  list.elements.some((e) => ts.isSpreadElement(e) && e.pos <= start.pos && start.end <= e.end);

function settleArgument(node: ts.Expression, parent: ts.Node, fate: Fate): null {
  if (!ts.isCallExpression(parent) && !ts.isNewExpression(parent))
    return settle(fate, "unknown", parent);
  return settle(fate, parent.expression === node ? "called" : "argument", parent);
}

/** Whether an array literal is the left side of a destructuring assignment. */
function isAssignmentPattern(
  node: ts.ArrayLiteralExpression | ts.ObjectLiteralExpression,
): boolean {
  const parent = node.parent;
  return (
    (ts.isBinaryExpression(parent) &&
      parent.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
      parent.left === node) ||
    (ts.isForOfStatement(parent) && parent.initializer === node)
  );
}

/** The argument expression of a call that contains a node, and its position. */
export function argumentOf(
  call: CallLike,
  node: ts.Node,
): { argument: ts.Expression; index: number } | undefined {
  let current = node;
  while (current.parent !== call && (current.parent as ts.Node | undefined))
    current = current.parent;
  const index = call.arguments?.indexOf(current as ts.Expression) ?? -1;
  const argument = call.arguments?.[index];
  return argument && { argument, index };
}

/** The function whose body a node runs in (initialisers of class fields count as their class's). */
export function enclosingFunction(node: ts.Node): ts.SignatureDeclaration | undefined {
  let current = node.parent as ts.Node | undefined;
  while (current && !ts.isFunctionLike(current)) {
    if (ts.isClassStaticBlockDeclaration(current)) return undefined;
    current = current.parent;
  }
  return current;
}

/** All `return` values of a function body, nested functions left out. */
export function returnsOf(fn: ts.FunctionLikeDeclaration & { body: ts.Node }): ts.Expression[] {
  if (ts.isArrowFunction(fn) && !ts.isBlock(fn.body)) return [fn.body];
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isReturnStatement(node)) {
      if (node.expression) found.push(node.expression);
    } else if (!ts.isFunctionLike(node) && !ts.isClassLike(node)) ts.forEachChild(node, visit);
  };
  ts.forEachChild(fn.body, visit);
  return found;
}

/** The loop that declares a name for what each turn is about: `for (const x of xs)`. */
export function loopOfTurn(declaration: ts.Node | undefined): ts.ForOfStatement | undefined {
  const list = declaration?.parent;
  return list && ts.isVariableDeclarationList(list) && ts.isForOfStatement(list.parent)
    ? list.parent
    : undefined;
}

/** The loop that goes over a list or table, or over what its `values()` and their like give. */
export function loopOver(list: ts.Expression): ts.ForOfStatement | undefined {
  const { kind, member, node } = fateOf(list);
  const isView = kind === "receiver" && /^(values|entries|keys)$/.test(member);
  const fate = isView ? fateOf(node as ts.Expression) : fateOf(list);
  return fate.kind === "iterated" && ts.isForOfStatement(fate.node) ? fate.node : undefined;
}
