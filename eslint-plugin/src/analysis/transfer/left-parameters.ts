/**
 * Left parameters: what a function is given for good and keeps or ends, but for an early way out:
 * `submit(x) { if (this.isClosed) return; this.queue.push(x); }`, where every caller makes the
 * value for the call alone. Used by the rule that requires disposal.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { hasBody, someWithin, unwrap, within, type FunctionWithBody } from "../program/syntax.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { isInline } from "../flow/closures.ts";
import { handedTo } from "./callbacks.ts";

/** A parameter that one way out of its function leaves. */
export interface LeftParameter {
  name: ts.Identifier;
  owned: Owned;
  exit: ts.ReturnStatement;
}

/** Every such parameter of a file. */
export function leftParameters(session: Session, file: ts.SourceFile): LeftParameter[] {
  return session.oracle.facts.functions(file).flatMap((fn) => {
    const exits = earlyExits(fn);
    return exits.length === 0 ? [] : fn.parameters.flatMap((p) => leftOf(session, fn, p, exits));
  });
}

function leftOf(
  session: Session,
  fn: FunctionWithBody,
  { name, initializer, dotDotDotToken: rest, questionToken }: ts.ParameterDeclaration,
  exits: readonly ts.IfStatement[],
): LeftParameter[] {
  if (!ts.isIdentifier(name) || (initializer ?? rest ?? questionToken)) return [];
  const owned = session.oracle.ownedAt(name);
  if (owned?.shape !== "one" || owned.nullable || owned.owner.policy !== "protocol") return [];
  const ids = referencesTo(session.oracle, name.parent as ts.Declaration, name, fn).filter(
    (id) => id !== name,
  );
  const [first] = ids;
  const early = exits.find((exit) => first !== undefined && exit.end <= first.pos);
  const exit = early && returnIn(early.thenStatement);
  if (!exit || !ids.some((id) => isGone(session, id, fn))) return [];
  const index = fn.parameters.findIndex((p) => p.name === name);
  return isMadeForCalls(session, fn, index) ? [{ name, owned, exit }] : [];
}

/** `if (isClosed) return;` among the statements of a body, before anything else is decided. */
function earlyExits({ body }: FunctionWithBody): ts.IfStatement[] {
  if (!ts.isBlock(body)) return [];
  return body.statements.flatMap((s) =>
    ts.isIfStatement(s) && !s.elseStatement && returnIn(s.thenStatement) ? [s] : [],
  );
}

/** The `return` that an arm ends in, which asks nobody of the program, who might end it. */
function returnIn(arm: ts.Statement): ts.ReturnStatement | undefined {
  const last = ts.isBlock(arm) ? arm.statements.at(-1) : arm;
  const asks = (node: ts.Node): boolean =>
    (ts.isCallExpression(node) || ts.isNewExpression(node)) &&
    !/^(console|Promise|Math|Number|String|Error)\b/.test(node.expression.getText());
  return last && ts.isReturnStatement(last) && !someWithin(arm, asks) ? last : undefined;
}

/** Whether a mention ends or keeps the value on every way that comes as far as that. */
function isGone(session: Session, id: ts.Identifier, fn: FunctionWithBody): boolean {
  if (!/^(disposes|stores|takes)$/.test(session.transfer(id).effect)) return false;
  for (let at: ts.Node = id; at !== fn; at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) || ts.isConditionalExpression(parent)) return false;
    if (ts.isIterationStatement(parent, false) || ts.isCaseOrDefaultClause(parent)) return false;
    if (ts.isTryStatement(parent) || isShort(parent)) return false;
    if (parent !== fn && ts.isFunctionLike(parent) && !runsAtOnce(session, parent)) return false;
  }
  return true;
}

const isShort = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) && /^(&&|\|\||\?\?)=?$/.test(node.operatorToken.getText());

/** `new Promise((resolve) => …)`, `xs.forEach((x) => …)`. */
function runsAtOnce(session: Session, fn: ts.Node): boolean {
  const host = handedTo(fn);
  if (!host || !hasBody(fn)) return false;
  const isPromise = ts.isNewExpression(host) && host.expression.getText() === "Promise";
  return isPromise || isInline(session, fn);
}

/** Whether all that call a function make a value for it that has no name. */
function isMadeForCalls(session: Session, fn: FunctionWithBody, index: number): boolean {
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  const given = calls.map((call) => call.arguments?.[index]);
  const isMade = (value: ts.Expression | undefined): value is ts.Expression => {
    const made = value && unwrap(value);
    const isCall = made && (ts.isCallExpression(made) || ts.isNewExpression(made));
    return isCall === true && session.freshness(made) === "fresh";
  };
  return (
    values.length === 0 &&
    given.length > 0 &&
    given.every(isMade) &&
    given.some((value) => !within(value, fn) && mayLackScope(session, value))
  );
}
