/**
 * Packages that are asked: `await yolo(image, model)`, `await faceapi.detectAllFaces(t).run()`. A
 * function of somebody else's package, of which one waits for what it finds out, looks at what it
 * is given: whoever asks it has to end that. Used by `argument.ts`.
 */
import ts from "typescript";
import type { Callee, Owned } from "../program/oracle.ts";
import { hasBody, someWithin, unwrap, type CallLike } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { bindingOf } from "../untyped/library-names.ts";
import { samePlace } from "../program/same-place.ts";
import { soundsLikeDisposal } from "./disposes.ts";
import { fateOf } from "./fate.ts";

/** Names of functions that keep what they are given, pass it on or end it. */
const keeping = new RegExp(
  "^(acquire|add|append|assign|attach|batch|build|cache|capture|clear|commit|create|delay|" +
    "delete|deliver|destroy|dispatch|dispose|emit|enqueue|feed|fire|free|from|give|hold|" +
    "insert|keep|load|make|memoize|memorize|merge|notify|offer|own|pipe|post|provide|" +
    "publish|push|put|queue|record|register|release|remember|remove|restore|retain|save|" +
    "schedule|send|set|share|stash|store|submit|swap|tidy|track|transfer|update|upsert|use|" +
    "wrap|write)([A-Z_\\d]|$)",
);

/** Whether a call waits for what another package finds out about the value it is given. */
export function asksPackage(
  session: Session,
  call: CallLike,
  callee: Callee,
  { owner, shape }: Owned,
): boolean {
  if (owner.policy === "generic" || owner.policy === "protocol" || shape !== "one") return false;
  if (!ts.isCallExpression(call) || keeping.test(callee.name) || !isAwaited(call)) return false;
  const file = callee.declaration?.getSourceFile();
  const isDeclared = file && callee.declaration !== undefined && !isImport(callee.declaration);
  const from = isDeclared ? undefined : moduleOf(session, call.expression);
  const isForeign = isDeclared
    ? file.isDeclarationFile && /[\\/]node_modules[\\/]/.test(file.fileName)
    : from !== undefined && !/^[./]|^[@~]\//.test(from);
  return isForeign && !isAnswerEnded(session, call); // which may be, or hold, what was given
}

const isImport = (node: ts.Node): boolean =>
  ts.isImportClause(node) || ts.isImportSpecifier(node) || ts.isNamespaceImport(node);

/** `await f(t)`, `await f(t).withNames()`, `f(t).then(…)`. */
function isAwaited(call: ts.Expression): boolean {
  const { kind, node, member, awaited } = fateOf(call);
  if (awaited || (kind === "receiver" && member === "then")) return true;
  return kind === "receiver" && ts.isCallExpression(node) && isAwaited(node);
}

/** `const t = await delay(make()); t.dispose();`, `this.set = await load(t)`, which is ended. */
function isAnswerEnded({ oracle }: Session, call: ts.Expression): boolean {
  const { kind, node } = fateOf(call);
  const place = kind === "bound" && ts.isVariableDeclaration(node) ? node.name : undefined;
  const field = kind === "assigned" && ts.isBinaryExpression(node) ? node.left : undefined;
  const root = ts.findAncestor(call, field ? ts.isClassLike : hasBody) ?? call.getSourceFile();
  const isSame = (at: ts.Node): boolean =>
    place && ts.isIdentifier(place)
      ? ts.isIdentifier(at) && at.text === place.text
      : field !== undefined && ts.isExpression(at) && samePlace(oracle, at, field);
  return someWithin(
    root,
    (at) =>
      ts.isPropertyAccessExpression(at) &&
      soundsLikeDisposal(at.name.text) &&
      isSame(at.expression),
  );
}

/** How many steps lead from a name to its module at most. */
const deepest = 12;

/** The module from which comes what an expression starts with; nothing where that isn't seen. */
function moduleOf(session: Session, node: ts.Expression, depth = 0): string | undefined {
  const value = unwrap(node);
  if (depth > deepest) return undefined;
  if (ts.isAwaitExpression(value) || ts.isPropertyAccessExpression(value))
    return moduleOf(session, value.expression, depth + 1);
  if (ts.isCallExpression(value) || ts.isNewExpression(value)) {
    const [first] = value.arguments ?? [];
    const { expression } = value;
    const isRequire = ts.isIdentifier(expression) && expression.text === "require";
    if (!isRequire && expression.kind !== ts.SyntaxKind.ImportKeyword)
      return moduleOf(session, expression, depth + 1);
    return first && ts.isStringLiteralLike(first) ? first.text : undefined;
  }
  if (!ts.isIdentifier(value)) return undefined;
  let holder: ts.Node | undefined = bindingOf(session.oracle, value);
  while (holder && !ts.isVariableDeclaration(holder) && !ts.isImportDeclaration(holder)) {
    if (ts.isSourceFile(holder) || ts.isFunctionLike(holder)) return undefined;
    holder = holder.parent;
  }
  if (!holder) return undefined;
  if (ts.isVariableDeclaration(holder))
    return holder.initializer && moduleOf(session, holder.initializer, depth + 1);
  const { moduleSpecifier: from } = holder;
  return ts.isStringLiteral(from) ? from.text : undefined;
}
