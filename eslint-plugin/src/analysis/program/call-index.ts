/**
 * Call index: the calls of a file by the name they call, and the names used for their value, kept
 * among the facts of the file. Used by `call-sites.ts`, `program-scopes.ts` and the oracle.
 */
import ts from "typescript";
import { eventOf, functionValue } from "../transfer/callbacks.ts";
import type { Facts } from "./facts.ts";
import type { CallLike } from "./syntax.ts";

interface FileIndex {
  calls: Map<string, CallLike[]>;
  values: Map<string, ts.Identifier[]>;
}
const add = <T>(map: Map<string, T[]>, key: string, value: T): void => {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
};

/** The calls of a file, and the names in it that are used as values. */
export function indexFile(file: ts.SourceFile, facts: Facts): FileIndex {
  const { CallExpression, NewExpression, Identifier } = ts.SyntaxKind;
  const index: FileIndex = { calls: new Map(), values: new Map() };
  for (const node of facts.nodes<CallLike>(file, CallExpression, NewExpression)) {
    const target = node.expression;
    if (ts.isIdentifier(target)) add(index.calls, target.text, node);
    else if (ts.isPropertyAccessExpression(target)) add(index.calls, target.name.text, node);
  }
  for (const node of facts.nodes<ts.Identifier>(file, Identifier))
    if (isValueUse(node)) add(index.values, node.text, node);
  return index;
}

/** The files of a program that people write. */
export const sourcesOf = (program: ts.Program): readonly ts.SourceFile[] =>
  program.getSourceFiles().filter((f) => !f.isDeclarationFile);

/**
 * The files that say how what stands at a node is used: tests call everything from anywhere, end it
 * by hand and make stand-ins of it, which tells nothing of the program.
 */
export const sourcesFor = (
  { program, facts }: { readonly program: ts.Program; readonly facts: Facts },
  at: ts.Node,
): readonly ts.SourceFile[] =>
  facts.of(program, isTestFile(at.getSourceFile()) ? sourcesOf : sourcesWithoutTests);

/** Whether what a file says counts for another: a test tells of tests alone. */
export const tellsOf = (teller: ts.Node, of: ts.Node): boolean =>
  isTestFile(of.getSourceFile()) || !isTestFile(teller.getSourceFile());

const sourcesWithoutTests = (program: ts.Program, facts: Facts): readonly ts.SourceFile[] =>
  facts.of(program, sourcesOf).filter((file) => !isTestFile(file));

/** Whether a file is a test, by its name or its folder. */
export const isTestFile = (file: ts.SourceFile): boolean =>
  /[._-](test|spec)\.[cm]?[jt]sx?$|[\\/](tests?|__tests__|specs?)[\\/]/.test(file.fileName);

/**
 * A name used for its value, not called and not declared: the function may then be called by
 * anybody.
 */
function isValueUse(id: ts.Identifier): boolean {
  let node: ts.Node = id;
  if (ts.isPropertyAccessExpression(node.parent)) {
    if (node.parent.name !== node) return false;
    node = node.parent;
  }
  const value = functionValue(node);
  if (value !== node) return isCallArgument(value) || eventOf(value) !== undefined;
  const parent = node.parent;
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return parent.expression !== node;
  if (
    ts.isPropertyAssignment(parent) ||
    ts.isVariableDeclaration(parent) ||
    ts.isPropertyDeclaration(parent)
  )
    return parent.initializer === node;
  if (ts.isBinaryExpression(parent))
    return parent.right === node && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  return (
    ts.isReturnStatement(parent) ||
    ts.isShorthandPropertyAssignment(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isJsxExpression(parent) ||
    ts.isConditionalExpression(parent) ||
    ts.isArrowFunction(parent) ||
    ts.isSpreadAssignment(parent)
  );
}

const isCallArgument = (value: ts.Expression): boolean =>
  ts.isCallExpression(value.parent) && value.parent.expression !== value;

/** Every call in the program's own sources of something by a name. */
export const callsNamed = (
  { program, facts }: { readonly program: ts.Program; readonly facts: Facts },
  name: string,
): CallLike[] =>
  facts.of(program, sourcesOf).flatMap((f) => facts.of(f, indexFile).calls.get(name) ?? []);
