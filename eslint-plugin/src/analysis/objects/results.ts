/**
 * Results: fields that belong to whoever uses an object: what a function takes out of one that it
 * ends itself, `const { result } = bake; bake.dispose(); return result;`, the end rightly leaves.
 * Used by the rule about members.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import { referencesTo } from "../program/references.ts";
import { memberName, someWithin, within } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { onlyUsed } from "../fresh/fresh-variables.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import type { Ending } from "./endings.ts";
import type { Member } from "./members.ts";

/** Whether somebody takes a field out of an object of a class that it then ends. */
export function isResult(
  session: Session,
  node: ts.ClassLikeDeclaration,
  { name }: Member,
  endings: readonly Ending[],
): boolean {
  const { oracle } = session;
  const ends = endings.map(({ member }) => memberName(member.name));
  const own = node.name?.text ?? "";
  const isOfClass = (at: ts.Node): boolean => {
    const found = oracle.declarationAt(at);
    return found ? within(found, node) : own !== "" && at.getSourceFile().text.includes(own);
  };
  const isObject = (at: ts.Expression): boolean => {
    const type = oracle.typeName(at);
    return type === own || ((type === "" || type === "any") && isOfClass(at));
  };
  const isEnded = (object: string, at: ts.Node): boolean =>
    someWithin(
      enclosingFunction(at) ?? at.getSourceFile(),
      (n) =>
        ts.isCallExpression(n) &&
        ts.isPropertyAccessExpression(n.expression) &&
        ends.includes(n.expression.name.text) &&
        n.expression.expression.getText() === object,
    );
  return sourcesFor(oracle, node).some((file) => {
    const accesses = oracle.facts.of(file, accessesByName).get(name) ?? [];
    const elements = oracle.facts.of(file, elementsByName).get(name) ?? [];
    return (
      accesses.some(
        (access) =>
          !within(access, node) &&
          isTakenOut(session, access) &&
          isOfClass(access.name) &&
          isEnded(access.expression.getText(), access),
      ) ||
      elements.some((element) => {
        const { parent: pattern } = element;
        const { initializer } = pattern.parent;
        return (
          initializer !== undefined &&
          !isOnlyUsed(session, element) &&
          !within(pattern, node) &&
          isObject(initializer) &&
          isEnded(initializer.getText(), pattern)
        );
      })
    );
  });
}

/** `return model.output`, `this.output = model.output`: not to work with it under another name. */
function isTakenOut(session: Session, access: ts.Expression): boolean {
  const { kind, node } = fateOf(access);
  if (kind === "bound") return !ts.isVariableDeclaration(node) || !isOnlyUsed(session, node);
  return kind === "returned" || kind === "assigned";
}

/** `const { rack } = desk; rack.start();`: a name that is only to work with. */
function isOnlyUsed(
  session: Session,
  declaration: ts.VariableDeclaration | ts.BindingElement,
): boolean {
  const { name } = declaration;
  const home = enclosingFunction(declaration);
  if (!ts.isIdentifier(name) || !home) return false;
  return referencesTo(session.oracle, declaration, name, home).every(
    (id) => id === name || onlyUsed(session, id),
  );
}
