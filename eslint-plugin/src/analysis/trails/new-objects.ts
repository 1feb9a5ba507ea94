/**
 * New objects: whether a method is called on an object that was made just before, so that what the
 * method fills was empty. Used by `runs-often.ts`.
 */
import ts from "typescript";
import { isAssignment, someWithin, unwrap } from "../program/syntax.ts";

/**
 * `model = new Model(device); await model.init();`, `new Model(device).init()`: an object of its
 * own each time.
 */
export function isOnNew(site: ts.Node): boolean {
  if (!ts.isCallExpression(site) || !ts.isPropertyAccessExpression(site.expression)) return false;
  const { expression: receiver } = site.expression;
  if (ts.isNewExpression(unwrap(receiver))) return true;
  const on = receiver.getText();
  for (let at: ts.Node = site; !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (ts.isIterationStatement(parent, false) || ts.isFunctionLike(parent)) return false;
    if (!ts.isBlock(parent) && !ts.isSourceFile(parent)) continue;
    const given = givenIn(
      parent.statements.filter((s) => s.end <= at.pos),
      on,
    );
    if (given) return given === "new";
  }
  return false;
}

/** What statements give a place last, whichever way they go. */
function givenIn(statements: readonly ts.Statement[], place: string): "new" | "other" | undefined {
  for (const statement of [...statements].reverse()) {
    const given = givenBy(statement, place);
    if (given) return given;
  }
  return undefined;
}

function givenBy(statement: ts.Statement, place: string): "new" | "other" | undefined {
  if (ts.isBlock(statement)) return givenIn(statement.statements, place);
  if (ts.isIfStatement(statement) && statement.elseStatement) {
    const { thenStatement, elseStatement } = statement;
    const [first, second] = [givenBy(thenStatement, place), givenBy(elseStatement, place)];
    return first === second ? first : "other";
  }
  const isStore = (node: ts.Node): node is ts.BinaryExpression =>
    ts.isBinaryExpression(node) && isAssignment(node) && node.left.getText() === place;
  const store = ts.isExpressionStatement(statement) ? statement.expression : undefined;
  if (store && isStore(store)) return ts.isNewExpression(unwrap(store.right)) ? "new" : "other";
  return someWithin(statement, isStore) ? "other" : undefined;
}
