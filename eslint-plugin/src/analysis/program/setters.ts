/**
 * Setters: the `set` of a property, and the field in which a class keeps what is stored in it. Used
 * by `members.ts` and `trail-places.ts`.
 */
import ts from "typescript";
import { memberName } from "./syntax.ts";

/** The `set` of a property that has one: what is stored in it goes there. */
export function setterBeside(member: ts.Declaration): ts.SetAccessorDeclaration | undefined {
  if (ts.isSetAccessorDeclaration(member)) return member;
  if (!ts.isGetAccessorDeclaration(member) || !ts.isClassLike(member.parent)) return undefined;
  return setterOf(member.parent, memberName(member.name));
}

/** The `#x` of `set x(value) { this.#x = value; }`; the name itself where it has no setter. */
export function storedIn(node: ts.ClassLikeDeclaration, name: string): string | undefined {
  const setter = setterOf(node, name);
  if (!setter) return name;
  const given = setter.parameters[0]?.name.getText();
  for (const statement of setter.body?.statements ?? []) {
    const store = ts.isExpressionStatement(statement) ? statement.expression : undefined;
    if (!store || !ts.isBinaryExpression(store) || store.right.getText() !== given) continue;
    const { left, operatorToken } = store;
    const isOfThis =
      ts.isPropertyAccessExpression(left) && left.expression.kind === ts.SyntaxKind.ThisKeyword;
    if (isOfThis && operatorToken.kind === ts.SyntaxKind.EqualsToken) return left.name.text;
  }
  return undefined;
}

const setterOf = (
  node: ts.ClassLikeDeclaration,
  name: string,
): ts.SetAccessorDeclaration | undefined =>
  node.members.filter(ts.isSetAccessorDeclaration).find((m) => memberName(m.name) === name);
