/**
 * Where a disposal or a tidy can be taken out of code with TensorFlow.js: the calls in a file, each
 * with the text without it, and whether tensors are then left behind, as far as types and the
 * callers in the program tell. Nothing here asks the plugin. Used by `deletions.ts`.
 */
import ts from "typescript";
import { type ScopedFunctions, enclosingFunction, nameOfCall } from "./scoped-functions.ts";

/** One call that can be taken out. */
export interface Site {
  line: number;
  /** What is taken out: `dispose`, `tidy`, or `member`, a disposal of a field in an end. */
  kind: "dispose" | "tidy" | "member";
  /** The file without it, each other line where it was. */
  text: string;
  /** Names the function it stands in. */
  within: string;
}

/** The sites of a file whose deletion leaves tensors behind. */
export function sitesOf(source: ts.SourceFile, scoped: ScopedFunctions): Site[] {
  const found: Site[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const cut = disposalCut(node, scoped.checker) ?? tidyCut(node, scoped.checker);
      const owner = outermostFunction(node);
      if (cut && owner && !scoped.isScoped(node)) {
        found.push({
          line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
          kind: cut.kind,
          text: withCut(source.text, cut),
          within: String(owner.pos),
        });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Stretches of the text that go, and what comes in their place. */
interface Cut {
  kind: Site["kind"];
  parts: { start: number; end: number; put: string }[];
}

function withCut(text: string, { parts }: Cut): string {
  let out = "",
    at = 0;
  for (const { start, end, put } of parts) {
    const lines = text.slice(start, end).split("\n").length - put.split("\n").length;
    out += text.slice(at, start) + put + "\n".repeat(Math.max(0, lines));
    at = end;
  }
  return out + text.slice(at);
}

/** The named function or method around a node: callbacks count to what they stand in. */
function outermostFunction(node: ts.Node): ts.Node | undefined {
  let last: ts.Node | undefined;
  for (let at = enclosingFunction(node); at; at = enclosingFunction(at)) {
    last = at;
    if (!ts.isArrowFunction(at) && !ts.isFunctionExpression(at)) break;
  }
  return last;
}

// ---- disposals ----

const ends = /^(dispose|destroy|close|cleanup|clear|reset|stop|unload|end|release)/i;

function disposalCut(call: ts.CallExpression, checker: ts.TypeChecker): Cut | undefined {
  const statement = call.parent;
  if (nameOfCall(call) !== "dispose") return undefined;
  const target = disposedBy(call, checker);
  if (target && isParameter(target, checker)) return undefined;
  const inArrow = ts.isArrowFunction(statement) && statement.body === call;
  if (!target || (!ts.isExpressionStatement(statement) && !inArrow)) return undefined;
  const cut = inArrow ? call : statement;
  const method = enclosingFunction(call);
  const isMember =
    ts.isPropertyAccessExpression(target) &&
    target.expression.kind === ts.SyntaxKind.ThisKeyword &&
    method?.name !== undefined &&
    ends.test(method.name.getText());
  // what is made only to be disposed of stays as it is
  const kept = ts.isCallExpression(bare(target)) ? `${target.getText()};` : ";";
  return {
    kind: isMember ? "member" : "dispose",
    parts: [{ start: cut.getStart(), end: cut.getEnd(), put: inArrow ? "undefined" : kept }],
  };
}

/** The tensor, or record of tensors, that a call of the library ends. */
function disposedBy(call: ts.CallExpression, checker: ts.TypeChecker): ts.Expression | undefined {
  const [only] = call.arguments;
  if (only) return isOfLibrary(call, checker) && call.arguments.length === 1 ? only : undefined;
  const on = ts.isPropertyAccessExpression(call.expression)
    ? call.expression.expression
    : undefined;
  return on && isTensor(checker.getTypeAtLocation(on)) ? on : undefined;
}

/** Whether a value is what a named function is given: callers own what it no longer ends. */
function isParameter(value: ts.Expression, checker: ts.TypeChecker): boolean {
  const declared = checker.getSymbolAtLocation(value)?.valueDeclaration;
  const parameter = declared && ts.findAncestor(declared, ts.isParameter);
  return parameter !== undefined && !ts.isCallExpression(parameter.parent.parent);
}

/** Whether a type, or one of those it may be, is a tensor of the library. */
function isTensor(type: ts.Type): boolean {
  if (type.isUnion()) return type.types.some(isTensor);
  return type.getProperty("dataId") !== undefined && type.getProperty("dispose") !== undefined;
}

function isOfLibrary(call: ts.CallExpression, checker: ts.TypeChecker): boolean {
  const file = checker.getResolvedSignature(call)?.declaration?.getSourceFile().fileName ?? "";
  return file.includes("@tensorflow");
}

// ---- scopes ----

function tidyCut(call: ts.CallExpression, checker: ts.TypeChecker): Cut | undefined {
  const body = call.arguments.at(-1);
  if (nameOfCall(call) !== "tidy" || !body || !isOfLibrary(call, checker)) return undefined;
  if (!isBody(body)) return undefined;
  if (!leavesBehind(body, checker)) return undefined;
  const parent = call.parent,
    block = body.body;
  const cut = (start: number, end: number, before: string, after: string): Cut => ({
    kind: "tidy",
    parts: [
      { start, end: block.getStart(), put: before },
      { start: block.getEnd(), end, put: after },
    ],
  });
  const whole = [parent.getStart(), parent.getEnd()] as const;
  if (!ts.isBlock(block)) return cut(call.getStart(), call.getEnd(), "(", ")");
  if (ts.isReturnStatement(parent)) return cut(...whole, "", "");
  if (ts.isExpressionStatement(parent) && returnsOf(body).length === 0)
    return cut(...whole, "", "");
  return cut(call.getStart(), call.getEnd(), "(() => ", ")()");
}

type Body = ts.ArrowFunction | ts.FunctionExpression;
const isBody = (node: ts.Node): node is Body =>
  ts.isArrowFunction(node) || ts.isFunctionExpression(node);

/** Whether the function makes a tensor of the library that it neither returns nor ends. */
function leavesBehind(body: Body, checker: ts.TypeChecker): boolean {
  const given = new Set<ts.Node>();
  const give = (value: ts.Expression): void => {
    const plain = bare(value);
    given.add(plain);
    if (ts.isArrayLiteralExpression(plain)) plain.elements.forEach(give);
    if (ts.isCallExpression(plain))
      for (const callback of plain.arguments)
        if (isBody(callback)) returnsOf(callback).forEach(give);
    if (ts.isConditionalExpression(plain)) [plain.whenTrue, plain.whenFalse].forEach(give);
    if (ts.isObjectLiteralExpression(plain))
      for (const p of plain.properties) {
        if (ts.isPropertyAssignment(p)) give(p.initializer);
        if (ts.isShorthandPropertyAssignment(p)) giveName(p.name.text);
      }
    if (ts.isIdentifier(plain)) giveName(plain.text);
  };
  const named = new Set<string>();
  const giveName = (name: string): void => {
    if (named.has(name)) return;
    named.add(name);
    eachWithin(body, (node) => {
      if (ts.isVariableDeclaration(node) && node.name.getText() === name && node.initializer)
        give(node.initializer);
    });
  };
  for (const value of returnsOf(body)) give(value);
  eachWithin(body, (node) => {
    if (ts.isCallExpression(node) && nameOfCall(node) === "keep") node.arguments.forEach(give);
  });
  let left = false;
  eachWithin(body, (node) => {
    if (!ts.isCallExpression(node) || given.has(node) || !isOfLibrary(node, checker)) return;
    if (keeping.has(nameOfCall(node) ?? "")) return;
    if (!isTensor(checker.getTypeAtLocation(node))) return;
    left = true;
  });
  return left;
}

/** An expression without what stands around it for the types alone. */
function bare(value: ts.Expression): ts.Expression {
  const wrapped =
    ts.isParenthesizedExpression(value) ||
    ts.isAsExpression(value) ||
    ts.isNonNullExpression(value) ||
    ts.isTypeAssertionExpression(value);
  return wrapped ? bare(value.expression) : value;
}

/** Calls of the library whose result is not the scope's to end, or is that of the call within. */
const keeping = new Set(["keep", "variable", "tidy", "read", "getWeights", "minimize", "assign"]);

function eachWithin(node: ts.Node, seen: (node: ts.Node) => void): void {
  ts.forEachChild(node, (child) => {
    seen(child);
    eachWithin(child, seen);
  });
}

function returnsOf(body: Body): ts.Expression[] {
  if (!ts.isBlock(body.body)) return [body.body];
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isReturnStatement(node) && node.expression) found.push(node.expression);
    if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit);
  };
  visit(body.body);
  return found;
}
