/**
 * Endless objects: objects of functions that keep GPU objects and offer no end, made again and
 * again as the program runs: `return { draw() {… vertices …} }`. They are classes without `destroy`
 * written otherwise. Used by the rule about members.
 */
import ts from "typescript";
import { callSitesOf, nameOf } from "../program/call-sites.ts";
import { mayNotRunOnce } from "../objects/closure-endings.ts";
import { endsDevice, freeing } from "../objects/endings.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { freshOwned, isLentOrUsed } from "../objects/left-behind.ts";
import { isCalledForMore } from "./made-again.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { isTarget, memberName, unwrap, type FunctionWithBody } from "../program/syntax.ts";

/** A value that only closures know of, which offer nothing to end it. */
export interface Endless {
  label: string;
  at: ts.Expression;
  noun: string;
  /** The function that makes the object. */
  maker: string;
}

/** The first such value of every function of a file that makes such objects. */
export function endlessObjects(session: Session, file: ts.SourceFile): Endless[] {
  return session.oracle.facts.functions(file).flatMap((fn) => {
    const maker = nameOf(fn);
    const first = maker === undefined ? undefined : keptByObjectOf(session, fn);
    if (maker === undefined || !first) return [];
    const { calls } = callSitesOf(session.oracle, fn, "program");
    const counts = session.settings.untilExit === "reported" || isCalledForMore(session, calls);
    return counts ? [{ ...first, maker }] : [];
  });
}

/** The first value that the objects of functions which a function gives keep without an end. */
export function keptByObjectOf(
  session: Session,
  fn: FunctionWithBody,
): Omit<Endless, "maker"> | undefined {
  if (!givesEndless(session, fn) || endsDevice(session, fn)) return undefined;
  const [first] = session.oracle.facts
    .variables(fn.getSourceFile())
    .filter((v) => enclosingFunction(v) === fn && !mayNotRunOnce(v, fn))
    .flatMap((v) => keptByClosures(session, fn, v) ?? []);
  return first;
}

/** Whether all that a function returns are objects of functions of which none may free anything. */
export function givesEndless(session: Session, fn: FunctionWithBody): boolean {
  const values = session.oracle.facts.of(fn, returnsOf).map(unwrap);
  return (
    values.length > 0 &&
    values.every(
      (value) =>
        ts.isObjectLiteralExpression(value) &&
        value.properties.length > 0 &&
        value.properties.every((p) => p.name !== undefined && !freeing.test(memberName(p.name))),
    )
  );
}

/** A local value that closures use and nobody ends or hands on. */
function keptByClosures(
  session: Session,
  fn: FunctionWithBody,
  declaration: ts.VariableDeclaration,
): Omit<Endless, "maker"> | undefined {
  const { name, initializer } = declaration;
  if (!initializer || !ts.isIdentifier(name)) return undefined;
  const owned = freshOwned(session, initializer);
  if (!owned) return undefined;
  const uses = referencesTo(session.oracle, declaration, name, fn);
  const isKept = uses.some((id) => enclosingFunction(id) !== fn);
  const stays = (id: ts.Identifier): boolean =>
    !isTarget(id) && fateOf(id).literal === null && isLentOrUsed(session, id, owned);
  if (!isKept || !uses.every(stays)) return undefined;
  return { label: name.text, at: initializer, noun: owned.owner.noun };
}
