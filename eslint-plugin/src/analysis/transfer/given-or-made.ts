/**
 * Given or made: `this.weights = weights ?? ones(…)`, or a parameter with a default value. What is
 * given may stay the caller's, but what is made where nothing is given has no other owner than the
 * object that keeps it. Used by the rule about members and by `left-behind.ts`.
 */
import ts from "typescript";
import { isAnything } from "../../owner.ts";
import { isDevice } from "../objects/endings.ts";
import { enclosingFunction } from "./fate.ts";
import { onlyUsed } from "../fresh/fresh-variables.ts";
import { fieldOfThis, isHandled, type Member } from "../objects/members.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import {
  isAssignment,
  isTarget,
  memberName,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";

/** A value that is made where none is given. */
export interface MadeInstead {
  at: ts.Expression;
  owned: Owned;
}

/**
 * The fields of a class that its constructor fills with what it is given or makes, and that no
 * method ends or hands on.
 */
export function fieldsGivenOrMade(session: Session, node: ts.ClassLikeDeclaration): Member[] {
  const found = new Map<string, Member>();
  const note = (name: string, value: ts.Expression): void => {
    const made = madeInstead(session, value);
    if (!made || found.has(name) || isHandled(session, node, name)) return;
    found.set(name, { name, ...made, makes: [made.at], atOnce: true, inConstructor: true });
  };
  const visit = (inner: ts.Node): void => {
    if (ts.isFunctionLike(inner) || ts.isClassLike(inner)) return;
    const field = isTarget(inner) ? fieldOfThis(inner) : undefined;
    if (field && ts.isBinaryExpression(field.parent)) note(field.name.text, field.parent.right);
    ts.forEachChild(inner, visit);
  };
  for (const member of node.members) {
    if (!ts.isConstructorDeclaration(member) || !member.body) continue;
    for (const p of member.parameters)
      if (ts.isParameterPropertyDeclaration(p, member) && ts.isIdentifier(p.name))
        note(memberName(p.name), p.name);
    ts.forEachChild(member.body, visit);
  }
  return [...found.values()];
}

/** The default values of a function's parameters that only closures use, and nobody ends. */
export function defaultsOfClosures(
  session: Session,
  fn: FunctionWithBody,
): { label: string; made: MadeInstead }[] {
  return fn.parameters.flatMap((parameter) => {
    const { name } = parameter;
    if (!ts.isIdentifier(name)) return [];
    const made = defaultOf(session, parameter);
    const uses = referencesTo(session.oracle, parameter, name, fn).filter((id) => id !== name);
    const isKept = uses.some((id) => enclosingFunction(id) !== fn);
    return made && isKept && uses.every((id) => onlyUsed(session, id))
      ? [{ label: name.text, made }]
      : [];
  });
}

/** What of `given ?? make()`, or of a parameter with a default, is made where nothing is given. */
export function madeInstead(session: Session, value: ts.Expression): MadeInstead | undefined {
  const bare = unwrap(value);
  if (ts.isIdentifier(bare)) {
    const source = session.oracle.declarationAt(bare);
    return source && (ts.isParameter(source) || isElementOfParameter(source))
      ? defaultOf(session, source)
      : undefined;
  }
  if (!ts.isBinaryExpression(bare)) return undefined;
  const { kind } = bare.operatorToken;
  const chooses =
    kind === ts.SyntaxKind.QuestionQuestionToken || kind === ts.SyntaxKind.BarBarToken;
  return chooses ? madeAt(session, bare.right) : undefined;
}

const isElementOfParameter = (node: ts.Declaration): node is ts.BindingElement =>
  ts.isBindingElement(node) && ts.isParameter(ts.walkUpBindingElementsAndPatterns(node));

const defaultOf = (
  session: Session,
  { initializer }: ts.ParameterDeclaration | ts.BindingElement,
): MadeInstead | undefined => initializer && madeAt(session, initializer);

function madeAt(session: Session, value: ts.Expression): MadeInstead | undefined {
  const owned = session.oracle.ownedAt(value);
  if (!owned || isAnything(owned.owner) || isDevice(session, value)) return undefined;
  if (isAssignment(unwrap(value))) return undefined; // `given ?? (this.own = make())`
  return session.freshness(value) === "fresh" ? { at: unwrap(value), owned } : undefined;
}
