/**
 * Used there: whether the function or class that is handed a value goes on using it and never frees
 * it, as a pass does with the textures it draws: who made it still has to. Used where fields and
 * shared variables are asked who ends them.
 */
import ts from "typescript";
import { isHolder } from "../../owner.ts";
import { callsNamed } from "../program/call-index.ts";
import { heirsOf } from "../program/class-makers.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { onlyUsed } from "../fresh/fresh-variables.ts";
import { isLent } from "./holding.ts";
import { visitVerb } from "../flow/mention-events.ts";
import { fieldOfThis } from "../objects/members.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { isTarget, memberName, unwrap, type CallLike } from "../program/syntax.ts";

const furthest = 3;

/** Whether a value in the hands of a call is only used there, now or later. */
export function isUsedThere(
  session: Session,
  mention: ts.Expression,
  owned: Owned,
  depth = 0,
): boolean {
  const { owner } = owned;
  const isKind = owner.args === "borrow" || isHolder(owner, session.settings);
  if (owner.policy !== "generic" || !isKind || depth > furthest) return false;
  const { kind, node, literal, top } = fateOf(mention);
  if (kind !== "argument") return false;
  const call = node as CallLike;
  const callee = session.oracle.callee(call);
  if (session.oracle.is(callee, owner.holders, owner) || isLent(callee, owner)) return true;
  const at = call.arguments?.findIndex((argument) => argument === top) ?? -1;
  const parameter = callee.body?.parameters[at];
  if (!parameter || parameter.dotDotDotToken) return false;
  if (literal && ts.isIdentifier(parameter.name))
    return isPartUsed(session, parameter, parameter.name, keyOf(mention), owned, depth);
  const name = literal ? takenFrom(parameter, literal, mention) : parameter;
  if (!name || !ts.isIdentifier(name.name)) return false;
  if (name === parameter && isKeptAsField(parameter))
    return isFieldUsed(session, parameter.parent.parent, name.name.text, owned, depth);
  return isNameUsed(session, name, name.name, owned, depth);
}

/** `private readonly out: GPUTexture` among the parameters of a constructor. */
const isKeptAsField = (
  parameter: ts.ParameterDeclaration,
): parameter is ts.ParameterDeclaration & { parent: ts.ConstructorDeclaration } =>
  ts.isParameterPropertyDeclaration(parameter, parameter.parent);

/** The name under which a function takes a property out of the record that it is given. */
function takenFrom(
  { name: pattern }: ts.ParameterDeclaration,
  literal: ts.Node,
  mention: ts.Expression,
): ts.BindingElement | undefined {
  if (!ts.isObjectBindingPattern(pattern) || mention.parent.parent !== literal) return undefined;
  const key = keyOf(mention);
  return pattern.elements.find(
    (e) => !e.dotDotDotToken && memberName(e.propertyName ?? e.name) === key,
  );
}

/** The key under which a literal has a value: `out` of `{ out }` and of `{ out: this.target }`. */
const keyOf = (mention: ts.Expression): string =>
  ts.isPropertyAssignment(mention.parent) ? memberName(mention.parent.name) : mention.getText();

/** Whether a function takes one thing after the other out of a record and only uses that one. */
function isPartUsed(
  session: Session,
  parameter: ts.ParameterDeclaration,
  name: ts.Identifier,
  key: string,
  owned: Owned,
  depth: number,
): boolean {
  return referencesTo(session.oracle, parameter, name, parameter.parent).every((use) => {
    const { parent } = use;
    if (use === name) return true;
    if (!ts.isPropertyAccessExpression(parent) || parent.expression !== use) return false;
    return parent.name.text !== key || isUseKept(session, parent, owned, depth);
  });
}

/** Whether a function only uses what a name stands for, or keeps it in a field only used. */
function isNameUsed(
  session: Session,
  declaration: ts.ParameterDeclaration | ts.BindingElement,
  name: ts.Identifier,
  owned: Owned,
  depth: number,
): boolean {
  const fn = enclosingFunction(name) ?? declaration.getSourceFile();
  return referencesTo(session.oracle, declaration, name, fn).every(
    (use) => use === name || isUseKept(session, use, owned, depth),
  );
}

/** Whether a mention only uses a value, or puts it into a field that is only used. */
function isUseKept(session: Session, use: ts.Expression, owned: Owned, depth: number): boolean {
  if (isTarget(use)) return false;
  const { kind, node, literal } = fateOf(use);
  const store = kind === "assigned" && !literal ? (node as ts.BinaryExpression) : undefined;
  const field = store && fieldOfThis(store.left);
  if (!field) return isUsed(session, use, owned, depth);
  const holder = ts.findAncestor(field, ts.isClassLike);
  return !!holder && isFieldUsed(session, holder, field.name.text, owned, depth);
}

function isUsed(session: Session, use: ts.Expression, owned: Owned, depth: number): boolean {
  const { effect, fate } = session.transfer(use);
  if (effect === "visits") return visitVerb(session, fate) === "use"; // `parts.forEach(end)`
  return onlyUsed(session, use) || isUsedThere(session, use, owned, depth + 1);
}

/** Whether a class and those that extend it only use what one of its fields holds. */
function isFieldUsed(
  session: Session,
  node: ts.ClassLikeDeclaration,
  field: string,
  owned: Owned,
  depth: number,
): boolean {
  if (isEndedByName(session, field)) return false;
  return [node, ...heirsOf(session.oracle, node)].every((holder) => {
    let isOnlyUsed = true;
    const visit = (inner: ts.Node): void => {
      const mention = fieldOfThis(inner);
      if (mention?.name.text === field && !isTarget(mention))
        isOnlyUsed &&= isUsed(session, mention, owned, depth);
      if (isOnlyUsed) ts.forEachChild(inner, visit);
    };
    ts.forEachChild(holder, visit);
    return isOnlyUsed;
  });
}

/** Whether somebody destroys what a field of that name holds: `pass.out.destroy()`. */
const isEndedByName = (session: Session, field: string): boolean =>
  callsNamed(session.oracle, "destroy").some(({ expression }) => {
    const on = ts.isPropertyAccessExpression(expression)
      ? unwrap(expression.expression)
      : undefined;
    if (!on || !ts.isPropertyAccessExpression(on) || fieldOfThis(on)) return false;
    return on.name.text === field;
  });
