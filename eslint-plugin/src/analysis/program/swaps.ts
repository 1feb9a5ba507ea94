/**
 * Swaps: statements after which some places hold what the others did, so that each still owns one
 * value: `[this.a, this.b] = [this.b, this.a]`, `const t = this.a; this.a = this.b; this.b = t;`.
 * Read where it is asked whether a field gives away what it holds.
 */
import ts from "typescript";

/** Whether a mention of a place only changes places with another. */
export const isSwapped = (mention: ts.Node): boolean => isInPatterns(mention) || isInTurn(mention);

/** `[a, b] = [b, a]`: the same places at both sides. */
function isInPatterns({ parent }: ts.Node): boolean {
  if (!ts.isArrayLiteralExpression(parent)) return false;
  const store = parent.parent;
  if (!isStore(store)) return false;
  const { left, right } = store;
  if (!ts.isArrayLiteralExpression(left) || !ts.isArrayLiteralExpression(right)) return false;
  const textsOf = ({ elements }: ts.ArrayLiteralExpression): string =>
    elements
      .map((e) => e.getText())
      .sort()
      .join();
  return left.elements.every(isPlace) && textsOf(left) === textsOf(right);
}

/** Whether a mention of `a` or `b` stands in `const t = a; a = b; b = t;`. */
function isInTurn(mention: ts.Node): boolean {
  const statement = ts.findAncestor(mention, ts.isStatement);
  const block = statement?.parent;
  if (!statement || !block || !(ts.isBlock(block) || ts.isSourceFile(block))) return false;
  const { statements } = block;
  const at = statements.indexOf(statement);
  for (let first = at; first >= 0 && first > at - 5; first--) {
    const kept = keptBy(statements[first]);
    if (kept) return at <= first + turnLength(statements.slice(first + 1), kept);
  }
  return false;
}

/** What `const t = a;` keeps, and the name of that. */
function keptBy(statement: ts.Statement | undefined): { place: string; name: string } | undefined {
  if (!statement || !ts.isVariableStatement(statement)) return undefined;
  const [kept, ...others] = statement.declarationList.declarations;
  return kept?.initializer && others.length === 0 && isPlace(kept.initializer)
    ? { place: kept.initializer.getText(), name: kept.name.getText() }
    : undefined;
}

/** How many stores put each place's value into the one before, the last of them what was kept. */
function turnLength(
  statements: readonly ts.Statement[],
  { place, name }: { place: string; name: string },
): number {
  let open = place;
  for (const [i, statement] of statements.entries()) {
    const store = ts.isExpressionStatement(statement) ? statement.expression : statement;
    if (!isStore(store) || store.left.getText() !== open) return -1;
    open = store.right.getText();
    if (open === name) return i + 1;
    if (!isPlace(store.right)) return -1;
  }
  return -1;
}

const isPlace = (node: ts.Node): boolean =>
  ts.isIdentifier(node) || ts.isPropertyAccessExpression(node);

const isStore = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
