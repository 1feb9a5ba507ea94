/**
 * Left parameters: what a function is given for good and keeps or ends, but for one way:
 * `submit(x) { if (this.isClosed) return; this.queue.push(x); }`, or `if (a) keep(x); else if (b)
 * put(x);`, where every caller makes the value for the call alone. Used by the rule that requires
 * disposal.
 */
import ts from "typescript";
import { hasProtocol } from "../../owner.ts";
import { callSitesOf } from "../program/call-sites.ts";
import type { Owned } from "../program/oracle.ts";
import { calledInWords } from "../program/tags.ts";
import { referencesTo } from "../program/references.ts";
import {
  hasBody,
  isEquality,
  someWithin,
  unwrap,
  valuesOf,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { areApart } from "../program/ways.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { isInline } from "../flow/closures.ts";
import { isTakenOver } from "../flow/taken-over.ts";
import { handedTo } from "./callbacks.ts";
import { enclosingFunction } from "./fate.ts";
import { effectInside } from "./mention.ts";
import { onlyLooksAt } from "./transfer.ts";

/** A parameter that one way out of its function leaves. */
export interface LeftParameter {
  name: ts.Identifier;
  /** `t`, or `finding.window` of a record that has one such field. */
  label: string;
  owned: Owned;
  /** The early way out; none where the arms of a choice leave out one case. */
  exit: ts.ReturnStatement | undefined;
}

/** Every such parameter of a file. */
export function leftParameters(session: Session, file: ts.SourceFile): LeftParameter[] {
  return session.oracle.facts.functions(file).flatMap((fn) => {
    const ways = waysPast(fn);
    return ways.length === 0 ? [] : fn.parameters.flatMap((p) => leftOf(session, fn, p, ways));
  });
}

function leftOf(
  session: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
  ways: readonly ts.IfStatement[],
): LeftParameter[] {
  const { name, initializer, dotDotDotToken: rest, questionToken } = parameter;
  if (initializer ?? rest ?? questionToken) return [];
  const isSaid = saysTaken(session, fn, parameter);
  if (!ts.isIdentifier(name))
    return isSaid && ts.isObjectBindingPattern(name)
      ? name.elements.flatMap(({ name: part }) =>
          ts.isIdentifier(part) ? leftNamed(session, fn, part, ways, isSaid) : [],
        )
      : [];
  return leftNamed(session, fn, name, ways, isSaid);
}

/** Whether a function says of a parameter that it takes it over, by the name of its type too. */
function saysTaken(
  { oracle }: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
): boolean {
  const called = calledInWords(parameter);
  return called !== undefined && oracle.tags(fn).takes.includes(called);
}

function leftNamed(
  session: Session,
  fn: FunctionWithBody,
  name: ts.Identifier,
  ways: readonly ts.IfStatement[],
  isSaid: boolean,
): LeftParameter[] {
  const owned = session.oracle.ownedAt(name);
  if (!owned || owned.shape === "many" || owned.nullable || !hasProtocol(owned.owner)) return [];
  const isRecord = owned.shape === "record";
  const ids = referencesTo(session.oracle, name.parent as ts.Declaration, name, fn).filter(
    (id) => id !== name && !comparesField(session, id),
  );
  const isLook = (id: ts.Identifier): boolean =>
    (isSaid || !isFlag(id)) && onlyLooksAt(effectInside(session, session.transfer(id)));
  const deeds = ids.filter((id) => !isLook(id));
  const [first] = deeds;
  if (!first) return [];
  const early = ways.find((way) => !way.elseStatement && way.end <= first.pos);
  const exit = early && returnIn(early.thenStatement);
  const isLeft = exit
    ? deeds.some((id) => isGone(session, id, fn))
    : ways.some((choice) => isLeftByChoice(session, choice, deeds));
  if (!isLeft) return [];
  const index = fn.parameters.findIndex((p) => p.name === name);
  if (isSaid ? !mayLackScope(session, exit ?? fn.body) : !isMadeForCalls(session, fn, index))
    return [];
  const [field, ...others] = isRecord ? owned.fields : [];
  const label = field !== undefined && others.length === 0 ? `${name.text}.${field}` : name.text;
  return [{ name, label, owned, exit }];
}

/** `finding.score <= least`: says nothing of whether somebody has the value itself. */
function comparesField({ oracle }: Session, { parent: field }: ts.Identifier): boolean {
  if (!ts.isPropertyAccessExpression(field) || oracle.ownedAt(field)) return false;
  const { parent } = field;
  return ts.isBinaryExpression(parent) && /^([<>]=?|[!=]==?)$/.test(parent.operatorToken.getText());
}

/** `if (finding.done) return;`: what the value says of itself may be that somebody has it. */
const isFlag = ({ parent: field }: ts.Identifier): boolean =>
  ts.isPropertyAccessExpression(field) &&
  (ts.isIfStatement(field.parent) ||
    ts.isPrefixUnaryExpression(field.parent) ||
    isShort(field.parent));

/** Among the statements of a body: `if (isClosed) return;`, `if (a) …; else if (b) …;`. */
function waysPast({ body }: FunctionWithBody): ts.IfStatement[] {
  if (!ts.isBlock(body)) return [];
  return body.statements.flatMap((s) =>
    ts.isIfStatement(s) && (s.elseStatement ?? returnIn(s.thenStatement)) ? [s] : [],
  );
}

/** `if (where === "front") …; else if (where === "back") …;`: there may be no other. */
function asksForKind(choice: ts.IfStatement): boolean {
  const asked = unwrap(choice.expression);
  if (!ts.isBinaryExpression(asked) || !isEquality(asked)) return false;
  const next = choice.elseStatement;
  const same = (at: ts.IfStatement): boolean => {
    const other = unwrap(at.expression);
    return ts.isBinaryExpression(other) && other.left.getText() === asked.left.getText();
  };
  return next !== undefined && ts.isIfStatement(next) && same(next);
}

/** Whether every arm of a choice keeps or ends a value, of which there is none for other cases. */
function isLeftByChoice(
  session: Session,
  choice: ts.IfStatement,
  ids: readonly ts.Identifier[],
): boolean {
  const arms = [choice.thenStatement];
  let last = choice.elseStatement;
  for (; last && ts.isIfStatement(last); last = last.elseStatement) arms.push(last.thenStatement);
  if (last || arms.length < 2 || asksForKind(choice)) return false;
  const isIn = (arm: ts.Statement): boolean =>
    ids.some((id) => within(id, arm) && isGone(session, id, arm));
  return arms.every(isIn) && ids.every((id) => arms.some((arm) => within(id, arm)));
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
function isGone(session: Session, id: ts.Identifier, place: ts.Node): boolean {
  if (!/^(disposes|stores|takes)$/.test(session.transfer(id).effect)) return false;
  for (let at: ts.Node = id; at !== place; at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) || ts.isConditionalExpression(parent)) return false;
    if (ts.isIterationStatement(parent, false) || ts.isCaseOrDefaultClause(parent)) return false;
    if (ts.isTryStatement(parent) || isShort(parent)) return false;
    if (parent !== place && ts.isFunctionLike(parent) && !runsAtOnce(session, parent)) return false;
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

/** Whether all that call a function make a value for it that has no name, or a record of such. */
function isMadeForCalls(session: Session, fn: FunctionWithBody, index: number): boolean {
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  const given = calls.map((call) => call.arguments?.[index]);
  const isMade = (value: ts.Expression | undefined): value is ts.Expression => {
    const made = value && unwrap(value);
    if (!made) return false;
    if (ts.isObjectLiteralExpression(made)) return isMadeRecord(session, made);
    const isCall = ts.isCallExpression(made) || ts.isNewExpression(made);
    return isCall && session.freshness(made) === "fresh";
  };
  return (
    values.length === 0 &&
    given.length > 0 &&
    given.every(isMade) &&
    given.some((value) => !within(value, fn) && mayLackScope(session, value))
  );
}

/** `{ score, window: x.clone() }`, or with names of values that nobody speaks of afterwards. */
function isMadeRecord(session: Session, record: ts.ObjectLiteralExpression): boolean {
  if (record.properties.some(ts.isSpreadAssignment)) return false;
  const parts = valuesOf(record).filter((part) => session.oracle.ownedAt(part));
  return parts.length > 0 && parts.every((part) => isLastOf(session, unwrap(part)));
}

/** Whether a value is new, and what has its name for now is left with it. */
function isLastOf(session: Session, value: ts.Expression): boolean {
  const { oracle } = session;
  if (!ts.isIdentifier(value))
    return ts.isCallExpression(value) && session.freshness(value) === "fresh";
  const made = oracle.declarationAt(value);
  const owned = oracle.ownedAt(value);
  const home = enclosingFunction(value);
  if (!made || !owned || !home || enclosingFunction(made) !== home) return false;
  const name = (made as ts.NamedDeclaration).name;
  if (!name || !ts.isIdentifier(name)) return false;
  const start = ts.isVariableDeclaration(made) ? made.initializer : undefined;
  const isConstant = (ts.getCombinedNodeFlags(made) & ts.NodeFlags.Const) !== 0;
  const isNew = start && isConstant && session.freshness(start) === "fresh";
  if (!isNew && !isTakenOver(session, made, owned)) return false;
  const again = ts.findAncestor(value, (n) => ts.isIterationStatement(n, false));
  if (again && !within(made, again)) return false;
  return referencesTo(oracle, made, name, home).every(
    (id) =>
      id === name ||
      id === value ||
      areApart(id, value) ||
      (id.pos < value.pos && onlyLooksAt(session.transfer(id).effect)),
  );
}
