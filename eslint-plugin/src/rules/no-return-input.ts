/**
 * Rule `no-return-input`: a function that otherwise returns fresh values returns a parameter, a
 * field or a table element itself. The caller then cannot know whether to dispose the result; the
 * protocol is to return a fresh alias.
 */
import ts from "typescript";
import { mayLackScope } from "../analysis/scopes/open-scopes.ts";
import type { FileAnalysis } from "../analysis/analyse.ts";
import { returnsOf } from "../analysis/transfer/fate.ts";
import { isKept } from "../analysis/fresh/fresh-results.ts";
import type { Session } from "../analysis/session.ts";
import { unwrap, within, type FunctionWithBody } from "../analysis/program/syntax.ts";
import { handedTo } from "../analysis/transfer/callbacks.ts";
import { rule, spanOf, type Finding } from "../create-rule.ts";

type Id = "input" | "stored" | "alias" | "freshBorrowed";

/** Disallow returning an input or a stored tensor where a fresh one is expected. */
export const noReturnInput = rule<Id, { identities: string[] }>({
  name: "no-return-input",
  description: "Disallow returning an input or a stored tensor where a fresh one is expected",
  type: "problem",
  config: "recommended",
  hasSuggestions: true,
  messages: {
    input:
      "`{{ name }}` belongs to the caller, but callers of `{{ fn }}` dispose what it " +
      "returns; return a fresh alias: `{{ name }}.{{ alias }}()`.",
    stored:
      "`{{ name }}` stays stored here, but callers of `{{ fn }}` dispose what it " +
      "returns; return a fresh alias: `{{ name }}.{{ alias }}()`.",
    alias: "Return `{{ name }}.{{ alias }}()`.",
    freshBorrowed:
      "Nobody disposes what `{{ fn }}` returns (`@borrowed`), but this {{ noun }} is fresh; " +
      "store it, or document the function with `@fresh`.",
  },
  options: {
    identities: {
      type: "array",
      items: { type: "string" },
      description: "Names of functions that are meant to return what they are given.",
    },
  },
  defaults: { identities: [] },
  check(file, options, report) {
    for (const node of file.facts.functions(file.file))
      if (!ts.isConstructorDeclaration(node)) checkFunction(file, node, options.identities, report);
  },
});

/** `cond ? a : b` returns both. */
function arms(value: ts.Expression): ts.Expression[] {
  const bare = unwrap(value);
  if (ts.isConditionalExpression(bare)) return [...arms(bare.whenTrue), ...arms(bare.whenFalse)];
  if (
    ts.isBinaryExpression(bare) &&
    (bare.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken ||
      bare.operatorToken.kind === ts.SyntaxKind.BarBarToken)
  )
    return [...arms(bare.left), ...arms(bare.right)];
  return [bare];
}

const isLiteral = (node: ts.Node): boolean =>
  ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node);

function checkFunction(
  file: FileAnalysis,
  fn: FunctionWithBody,
  identities: string[],
  report: (finding: Finding<Id>) => void,
): void {
  if (fn.asteriskToken || handedTo(fn) || ts.isGetAccessor(fn) || ts.isSetAccessor(fn)) return;
  const { session } = file;
  const values = file.facts
    .of(fn, returnsOf)
    .flatMap(arms)
    .filter((v) => !isLiteral(v) && session.oracle.ownedAt(v)?.shape === "one");
  const owner = values[0] && session.oracle.ownedAt(values[0])?.owner;
  if (!owner || owner.policy === "generic" || owner.alias === "") return;
  const tags = session.oracle.tags(fn);
  const name = functionName(fn);
  const isHandedOver = (value: ts.Expression): boolean =>
    session.freshness(value) === "fresh" && !isKept(session, fn, value);
  if (tags.borrowed) {
    for (const value of values)
      if (isHandedOver(value))
        report({
          mark: spanOf(value),
          messageId: "freshBorrowed",
          data: { fn: name === "" ? "this function" : name, noun: owner.noun },
        });
  }
  if (tags.borrowed || identities.includes(name) || isGeneric(fn)) return;
  const fresh = tags.fresh || values.some(isHandedOver);
  const promised =
    owner.policy === "protocol" && /^(forward|call)$/.test(name) && ts.isMethodDeclaration(fn);
  // a function that only hands back its input is an identity, and callers see that
  if (!fresh && !promised) return;
  if (owner.policy === "scoped" && !mayLackScope(session, fn.body)) return;
  for (const value of values) {
    const kind = kindOf(file, value, fn);
    if (!kind) continue;
    const text = value.getText();
    const whole = ts.isNonNullExpression(value.parent) ? value.parent : value;
    report({
      mark: spanOf(value),
      messageId: kind,
      data: { name: text, fn: name === "" ? "this function" : name, alias: owner.alias },
      suggest: [
        {
          messageId: "alias",
          data: { name: text, alias: owner.alias },
          fix: (fixer) =>
            fixer.insertTextAfterRange([whole.getStart(), whole.getEnd()], `.${owner.alias}()`),
        },
      ],
    });
  }
}

const functionName = (fn: ts.Node): string => {
  const holder = ts.isArrowFunction(fn) || ts.isFunctionExpression(fn) ? fn.parent : fn;
  const name = (holder as Partial<ts.NamedDeclaration>).name;
  return name && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) ? name.text : "";
};
/** `<T>(x: T) => T` promises the same object. */
const isGeneric = (fn: FunctionWithBody): boolean =>
  fn.type !== undefined &&
  ts.isTypeReferenceNode(fn.type) &&
  (fn.typeParameters ?? []).some((p) => p.name.text === fn.type?.getText());

function kindOf(
  file: FileAnalysis,
  value: ts.Expression,
  fn: FunctionWithBody,
): "input" | "stored" | undefined {
  const { session } = file;
  if (ts.isIdentifier(value)) {
    const declaration = session.oracle.declarationAt(value);
    if (declaration && isSharedConstant(session, declaration, fn)) return "stored";
    if (
      !declaration ||
      !ts.isParameter(declaration) ||
      declaration.parent !== fn ||
      session.freshness(value) !== "borrowed"
    )
      return undefined;
    return takenHere(session.oracle.tags(fn).takes, value.text) ? undefined : "input";
  }
  if (ts.isPropertyAccessExpression(value))
    return value.expression.kind === ts.SyntaxKind.ThisKeyword &&
      session.freshness(value) === "borrowed"
      ? "stored"
      : undefined;
  if (!ts.isElementAccessExpression(value)) return undefined;
  const base = value.expression;
  if (ts.isPropertyAccessExpression(base))
    return base.expression.kind === ts.SyntaxKind.ThisKeyword ? "stored" : undefined;
  const declaration = ts.isIdentifier(base) ? session.oracle.declarationAt(base) : undefined;
  return declaration &&
    ts.isVariableDeclaration(declaration) &&
    ts.isSourceFile(declaration.parent.parent.parent)
    ? "stored"
    : undefined;
}

/** A constant of the function around this one, or of the module, which others look at as well. */
const isSharedConstant = (
  session: Session,
  declaration: ts.Declaration,
  fn: FunctionWithBody,
): boolean =>
  ts.isVariableDeclaration(declaration) &&
  (ts.getCombinedNodeFlags(declaration) & (ts.NodeFlags.Const | ts.NodeFlags.Using)) !== 0 &&
  declaration.initializer !== undefined &&
  !within(declaration, fn) &&
  declaration.getSourceFile() === fn.getSourceFile() &&
  mayLackScope(session, fn.body);

const takenHere = (takes: readonly string[], name: string): boolean => takes.includes(name);
