/**
 * Made with: what a resource is made with may say that somebody else ends it: a signal that ends it
 * when it aborts, a descriptor that the caller opened and closes, somebody who keeps it from then
 * on. Used by `is-fresh.ts`, for resources about which nobody agreed on a protocol.
 */
import ts from "typescript";
import { isAnything, isLoose, type Owner } from "../../owner.ts";
import { enclosingFunction } from "./fate.ts";
import { wholesIn } from "./handed-this.ts";
import { isOwed } from "./owed.ts";
import type { Session } from "../session.ts";
import { baseOf, memberName, rootOf, unwrap } from "../program/syntax.ts";

const descriptor = /^(fd|handle|descriptor|ptr|pointer|address)$/i;

/** Whether a name is that of a number which stands for something that is open. */
export const namesDescriptor = (name: string): boolean => descriptor.test(name);

/** Whether what `new` makes is ended by another hand than that of who makes it. */
export function endedByOthers(session: Session, made: ts.NewExpression, owner: Owner): boolean {
  if (!isLoose(owner)) return false;
  if (needsNoEnd(session, made) || isKeptWhenMade(session, made)) return true;
  const given = (made.arguments ?? []).map(unwrap);
  if (given[0]?.kind === ts.SyntaxKind.ThisKeyword && given.length === 1) return true; // a view
  const isGiven = given.some(
    (argument, at) => isSignal(session, argument) || isDescriptor(session, made, argument, at),
  );
  return isGiven || (isAnything(owner) && !isOwed(session, made));
}

/** `constructor(world) { world.add(this); }`, where the world keeps what is added. */
function isKeptWhenMade(session: Session, made: ts.NewExpression): boolean {
  const { body } = session.oracle.callee(made);
  if (!body || !ts.isConstructorDeclaration(body)) return false;
  return session.oracle.facts
    .of(body, wholesIn)
    .some(
      (self) =>
        isHandedToOther(session, self, body) &&
        /^(stores|takes)$/.test(session.transfer(self as ts.Expression).effect),
    );
}

/** `world.add(this)`, where `world` was given to the constructor: no part of the object. */
function isHandedToOther({ oracle }: Session, self: ts.Node, constructor: ts.Node): boolean {
  const call = self.parent;
  if (!ts.isCallExpression(call) || call.arguments.length !== 1) return false;
  const root = ts.isPropertyAccessExpression(call.expression)
    ? rootOf(call.expression.expression)
    : undefined;
  const source = root && ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  return source !== undefined && ts.isParameter(source) && source.parent === constructor;
}

/** `class Constant extends Handle { dispose() {} }`: an end that does nothing any more. */
function needsNoEnd({ oracle }: Session, made: ts.NewExpression): boolean {
  const found = oracle.declarationAt(made.expression);
  if (!found || !ts.isClassLike(found)) return false;
  if (!baseOf(found)) return false;
  const ends = found.members.flatMap((m) =>
    ts.isMethodDeclaration(m) && m.body && /^(dispose|@@(async)?dispose)$/i.test(memberName(m.name))
      ? [m.body]
      : [],
  );
  return ends.length > 0 && ends.every(({ statements }) => statements.length === 0);
}

/** `new Watchdog({ signal })`, `new Job(task, signal)`. */
function isSignal(session: Session, argument: ts.Expression): boolean {
  if (!ts.isObjectLiteralExpression(argument))
    return ts.isIdentifier(argument) && session.oracle.typeName(argument) === "AbortSignal";
  return argument.properties.some((p) => p.name && memberName(p.name) === "signal");
}

/** `(fd) => new FileHandle(fd)`: a name for what the caller has. */
function isDescriptor(
  { oracle }: Session,
  made: ts.NewExpression,
  argument: ts.Expression,
  at: number,
): boolean {
  if (!ts.isIdentifier(argument)) return false;
  const declaration = oracle.callee(made).declaration as
    Partial<ts.SignatureDeclaration> | undefined;
  const name = declaration?.parameters?.[at]?.name;
  if (!name || !ts.isIdentifier(name) || !namesDescriptor(name.text)) return false;
  const source = oracle.declarationAt(argument);
  return (
    source !== undefined && ts.isParameter(source) && source.parent === enclosingFunction(made)
  );
}
