/**
 * Rule `prefer-sequential`: a `forward` that only passes its input through the class's own layers,
 * one after the other. `Sequential` does that and disposes every intermediate.
 */
import ts from "typescript";
import type { Session } from "../analysis/session.ts";
import { unwrap } from "../analysis/program/syntax.ts";
import { rule } from "../create-rule.ts";

type Id = "sequential";

/** Prefer `Sequential` to a `forward` that only chains layers. */
export const preferSequential = rule<Id, { minimumLayers: number }>({
  name: "prefer-sequential",
  description: "Prefer `Sequential` to a `forward` that only chains layers",
  type: "suggestion",
  config: "all",
  messages: {
    sequential:
      "`{{ name }}` only chains {{ count }} layers; a `Sequential` does that and frees " +
      "each intermediate.",
  },
  options: {
    minimumLayers: {
      type: "integer",
      minimum: 2,
      description: "From how many layers on to report.",
    },
  },
  defaults: { minimumLayers: 2 },
  check(file, options, report) {
    const visit = (node: ts.Node): void => {
      ts.forEachChild(node, visit);
      if (
        !ts.isMethodDeclaration(node) ||
        !node.body ||
        !/^(forward|call)$/.test(node.name.getText()) ||
        node.parameters.length !== 1
      )
        return;
      const parameter = node.parameters[0]!;
      if (
        !ts.isIdentifier(parameter.name) ||
        file.session.oracle.ownedAt(parameter.name)?.shape !== "one"
      )
        return;
      const count = chain(file.session, node.body, parameter.name.text);
      if (count >= options.minimumLayers)
        report({
          mark: { start: node.name.getStart(), end: node.name.getEnd() },
          messageId: "sequential",
          data: { name: node.name.getText(), count: String(count) },
        });
    };
    visit(file.file);
  },
});

/** How many layers a body chains, or 0 when it does anything else. */
function chain(session: Session, body: ts.ConciseBody, input: string): number {
  if (!ts.isBlock(body)) return result(session, body, input);
  let current = input,
    layers = 0;
  for (const statement of body.statements) {
    if (ts.isReturnStatement(statement))
      return statement.expression && statement === body.statements[body.statements.length - 1]
        ? add(layers, result(session, statement.expression, current))
        : 0;
    if (!ts.isVariableStatement(statement) || statement.declarationList.declarations.length !== 1)
      return 0;
    const declaration = statement.declarationList.declarations[0]!;
    if (!ts.isIdentifier(declaration.name) || !declaration.initializer) return 0;
    const count = nested(declaration.initializer, current);
    if (count === 0) return 0;
    layers += count;
    current = declaration.name.text;
  }
  return 0;
}

/** What is returned: layers around layers, in a scope or without: `scoped(() => …)`. */
function result(session: Session, expression: ts.Expression, input: string): number {
  const bare = unwrap(expression);
  const [inner] = ts.isCallExpression(bare) ? bare.arguments : [];
  if (!ts.isCallExpression(bare) || !inner || !ts.isArrowFunction(inner))
    return nested(bare, input);
  const isScope = bare.arguments.length === 1 && session.callback(bare, inner) === "scoped";
  return isScope && !inner.modifiers ? chain(session, inner.body, input) : 0;
}

const add = (a: number, b: number): number => (b === 0 ? 0 : a + b);

/** `this.b.forward(this.a.forward(x))` is two layers on `x`. */
function nested(expression: ts.Expression, input: string): number {
  const bare = unwrap(expression);
  if (!ts.isCallExpression(bare) || bare.arguments.length !== 1 || !isLayer(bare.expression))
    return 0;
  const argument = unwrap(bare.arguments[0]!);
  if (ts.isIdentifier(argument)) return argument.text === input ? 1 : 0;
  return add(1, nested(argument, input));
}

/** `this.layer.forward`, `this.layer.call`, `this.layer.apply`. */
function isLayer(callee: ts.Expression): boolean {
  if (!ts.isPropertyAccessExpression(callee) || !/^(forward|call|apply)$/.test(callee.name.text))
    return false;
  return (
    ts.isPropertyAccessExpression(callee.expression) &&
    callee.expression.expression.kind === ts.SyntaxKind.ThisKeyword
  );
}
