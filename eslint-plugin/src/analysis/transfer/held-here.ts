/**
 * Held here: `const average = follow(net)`, where what `follow` gives are functions that go on
 * looking at `net`. While only the caller asks them, nobody else has the value. Used by the
 * description of arguments.
 */
import ts from "typescript";
import { isInline } from "../flow/closures.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { effectInside } from "./mention.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import type { CallLike, FunctionWithBody } from "../program/syntax.ts";
import { onlyLooksAt } from "./transfer.ts";

/** Whether a value that a function is given is only looked at, by it and by what it gives. */
export function isHeldHere(
  session: Session,
  call: CallLike,
  body: FunctionWithBody,
  parameter: ts.ParameterDeclaration | undefined,
): boolean {
  if (!parameter || !ts.isIdentifier(parameter.name) || ts.isConstructorDeclaration(body))
    return false;
  const mentions = referencesTo(session.oracle, parameter, parameter.name, body);
  const inner = mentions.flatMap((id) => closureAround(session, body, id) ?? []);
  return (
    inner.length > 0 &&
    staysHere(session, call) &&
    inner.every((closure) => isGivenOut(body, closure)) &&
    mentions.every((id) => onlyLooksAt(effectInside(session, session.transfer(id))))
  );
}

/** The function within another that a mention stands in, but for those that run at once. */
function closureAround(
  session: Session,
  maker: ts.Node,
  id: ts.Node,
): ts.SignatureDeclaration | undefined {
  let closure = enclosingFunction(id);
  while (closure && closure !== maker && isInline(session, closure))
    closure = enclosingFunction(closure);
  return closure === maker ? undefined : closure;
}

/** Whether a function is what another gives to its caller, or a member of that. */
function isGivenOut(maker: ts.Node, closure: ts.SignatureDeclaration): boolean {
  if (enclosingFunction(closure) !== maker) return false;
  const member = ts.isPropertyAssignment(closure.parent) ? closure.parent : closure;
  const whole = ts.isObjectLiteralExpression(member.parent) ? member.parent : closure;
  return ts.isExpression(whole) && fateOf(whole).kind === "returned";
}

/** Whether what a call gives has a name here of which only members are called, or none. */
function staysHere(session: Session, call: CallLike): boolean {
  const { kind, node, conditional } = fateOf(call);
  if (kind === "dropped") return true;
  const home = enclosingFunction(call);
  if (kind !== "bound" || conditional || !home || !ts.isVariableDeclaration(node)) return false;
  const isWhole = ts.isIdentifier(node.name);
  return boundNames(node.name, node).every(({ id: name, declaration }) =>
    referencesTo(session.oracle, declaration, name, home).every((id) => {
      if (id === name) return true;
      const at = enclosingFunction(id);
      if (at !== home && !(at && isInline(session, at))) return false;
      const { kind: use, member } = fateOf(id);
      return isWhole ? use === "receiver" && member !== "" : use === "called";
    }),
  );
}
