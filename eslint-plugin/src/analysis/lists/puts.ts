/**
 * Puts: `table.set(key, value)` and `table[key] = value`, each as what is put where. Used by the
 * verbs about what tables lose.
 */
import ts from "typescript";
import type { Facts } from "../program/facts.ts";
import { unwrap } from "../program/syntax.ts";

/** A value that is put into a table under a key. */
export interface Put {
  node: ts.CallExpression | ts.BinaryExpression;
  table: ts.Expression;
  key: ts.Expression;
  value: ts.Expression;
}

/** Every value of a file that is put into a table, calls first. */
export const putsIn = (facts: Facts, file: ts.SourceFile): readonly Put[] => [
  ...facts.calls(file).flatMap((call) => putByCall(call) ?? []),
  ...facts.assignments(file).flatMap((store) => putByStore(store) ?? []),
];

/** What an expression puts into a table. */
export const putAt = (node: ts.Expression): Put | undefined =>
  ts.isCallExpression(node)
    ? putByCall(node)
    : ts.isBinaryExpression(node)
      ? putByStore(node)
      : undefined;

/** `table.set(key, value)`. */
function putByCall(call: ts.CallExpression): Put | undefined {
  const { expression } = call;
  const [key, value] = call.arguments;
  return ts.isPropertyAccessExpression(expression) &&
    expression.name.text === "set" &&
    key &&
    value &&
    call.arguments.length === 2
    ? { node: call, table: expression.expression, key: unwrap(key), value }
    : undefined;
}

/** `table[key] = value`. */
function putByStore(store: ts.BinaryExpression): Put | undefined {
  const { left, right } = store;
  return ts.isElementAccessExpression(left) &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken
    ? { node: store, table: left.expression, key: unwrap(left.argumentExpression), value: right }
    : undefined;
}
