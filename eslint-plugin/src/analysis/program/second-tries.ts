/**
 * Second tries: whether a place is only come to because another threw, so that what is made there
 * takes the place of nothing: `try { d = await a(); } catch { d = await b(); }`, and the same with
 * a flag that says how it went. Pure questions about syntax; used by the rule about overwritten
 * values.
 */
import ts from "typescript";
import { assigns, someWithin, unwrap, within } from "./syntax.ts";

/** Whether a second value is made where the making of the first threw. */
export const isSecondTry = (first: ts.Node, second: ts.Node): boolean =>
  isInItsCatch(first, second) || isByFlag(first, second);

/** `try { d = await a(); ok = true; } catch { d = await b(); }`. */
function isInItsCatch(first: ts.Node, second: ts.Node): boolean {
  const around = ts.findAncestor(second, ts.isCatchClause)?.parent;
  const rest = around ? restOfTry(first, around) : undefined;
  return rest?.every(isQuiet) ?? false;
}

/** What a `try` does after the statement that makes a value, if that is one of its own. */
function restOfTry(made: ts.Node, { tryBlock }: ts.TryStatement): ts.Statement[] | undefined {
  if (!within(made, tryBlock)) return undefined;
  const { statements } = tryBlock;
  const at = statements.findIndex((s) => within(made, s));
  return statements[at] && ts.isExpressionStatement(statements[at])
    ? statements.slice(at + 1)
    : undefined;
}

/** `console.log(x);`, `ok = true;`: what throws nothing. */
const isQuiet = (statement: ts.Statement): boolean => {
  if (!ts.isExpressionStatement(statement)) return false;
  const { expression } = statement;
  return ts.isCallExpression(expression)
    ? /^console\./.test(expression.expression.getText())
    : ts.isBinaryExpression(expression) &&
        ts.isIdentifier(expression.left) &&
        assigns(expression.operatorToken.kind) &&
        isConstant(unwrap(expression.right));
};

const isConstant = (node: ts.Expression): boolean =>
  literalOf(node) !== undefined || ts.isLiteralExpression(node) || ts.isIdentifier(node);

/** `try { d = a(); ok = true; } catch {}` before `if (!ok) d = b();`. */
function isByFlag(first: ts.Node, second: ts.Node): boolean {
  const home = ts.findAncestor(first, ts.isFunctionLike) ?? first.getSourceFile();
  for (let at = second; at !== home && !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (!ts.isIfStatement(parent) || at === parent.expression || within(first, parent)) continue;
    const asked = flagIn(parent.expression);
    const found = at === parent.thenStatement ? asked?.isSet : asked && !asked.isSet;
    if (asked && saysItThrew(first, parent, home, asked.flag, found === true)) return true;
  }
  return false;
}

/** `ok`, `!ok`, `ok === false`. */
function flagIn(test: ts.Expression): { flag: string; isSet: boolean } | undefined {
  const asked = unwrap(test);
  if (ts.isIdentifier(asked)) return { flag: asked.text, isSet: true };
  if (ts.isPrefixUnaryExpression(asked) && asked.operator === ts.SyntaxKind.ExclamationToken) {
    const inner = flagIn(asked.operand);
    return inner && { ...inner, isSet: !inner.isSet };
  }
  if (!ts.isBinaryExpression(asked) || !ts.isIdentifier(asked.left)) return undefined;
  const value = literalOf(asked.right);
  return /^===?$/.test(asked.operatorToken.getText()) && value !== undefined
    ? { flag: asked.left.text, isSet: value }
    : undefined;
}

/** Whether a flag has a value at a test only where the making of a value before it threw. */
function saysItThrew(
  made: ts.Node,
  test: ts.IfStatement,
  home: ts.Node,
  flag: string,
  isSet: boolean,
): boolean {
  const around = ts.findAncestor(made, (at) => ts.isTryStatement(at) && within(made, at.tryBlock));
  const tried = around as ts.TryStatement | undefined;
  const rest = tried && within(tried, home) ? restOfTry(made, tried) : undefined;
  if (!tried?.catchClause || !rest) return false;
  const { start, sets } = historyOf(flag, home, test.pos);
  // the `try` says that it went well, and nothing takes it back
  const later = sets.filter(({ node }) => node.pos >= made.end);
  const says = rest.findIndex(
    (s) => ts.isExpressionStatement(s) && setOf(s.expression)?.flag === flag,
  );
  if (says >= 0 && later.every(({ value }) => value === !isSet))
    return rest.slice(0, says).every(isQuiet);
  // or the `catch` says that it did not, and nothing else says so
  const { catchClause } = tried;
  const isOfCatch = sets.every(({ node }) => within(node, catchClause));
  return start === !isSet && rest.every(isQuiet) && isOfCatch;
}

/** What a flag is given first, and then up to a place. */
function historyOf(
  flag: string,
  home: ts.Node,
  end: number,
): { start: boolean | undefined; sets: Flag[] } {
  const sets: Flag[] = [];
  let start: boolean | undefined;
  someWithin(home, (node) => {
    const isMade = ts.isVariableDeclaration(node) && node.name.getText() === flag;
    if (isMade && node.initializer) start = literalOf(node.initializer);
    const set = setOf(node);
    if (set?.flag === flag && node.end <= end) sets.push(set);
    return false;
  });
  return { start, sets };
}

interface Flag {
  node: ts.Node;
  flag: string;
  value: boolean | undefined;
}

/** `ok = true`. */
function setOf(node: ts.Node): Flag | undefined {
  if (!ts.isBinaryExpression(node) || !assigns(node.operatorToken.kind)) return undefined;
  if (!ts.isIdentifier(node.left)) return undefined;
  const value =
    node.operatorToken.kind === ts.SyntaxKind.EqualsToken ? literalOf(node.right) : undefined;
  return { node, flag: node.left.text, value };
}

const literalOf = (node: ts.Expression): boolean | undefined => {
  const { kind } = unwrap(node);
  if (kind === ts.SyntaxKind.TrueKeyword) return true;
  return kind === ts.SyntaxKind.FalseKeyword ? false : undefined;
};
