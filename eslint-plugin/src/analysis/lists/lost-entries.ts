/**
 * Lost entries: values that a table in a field loses when it is given another under the same key.
 * Where a method fills the table by a name it is given, its calls tell the name, and whether they
 * come again. Resources that need no scope; the others are in `replaced-entries.ts`. Used by the
 * rule about overwritten values.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { mayBeEndedBefore } from "../objects/ended-by-callers.ts";
import { soundsFreeing } from "../objects/endings.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { recurs } from "../trails/made-again.ts";
import { fieldOfThis, mentionsField } from "../objects/members.ts";
import { putsIn } from "./puts.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { handedTo } from "../transfer/callbacks.ts";
import {
  calleeNameNode,
  hasBody,
  isEquality,
  isNullish,
  isTarget,
  someWithin,
  unwrap,
  within,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";

/** A call or an assignment that puts a value into a table where another may be. */
export interface LostEntry {
  /** What a report marks. */
  call: ts.Expression;
  /** The table, `this.textures`. */
  table: string;
  owned: Owned;
}

/** Every such call or assignment of a file. */
export function lostEntries(session: Session, file: ts.SourceFile): LostEntry[] {
  return putsIn(session.oracle.facts, file).flatMap(({ node, table: place, key, value }) => {
    const table = fieldOfThis(place);
    const home = ts.findAncestor(node, ts.isMethodDeclaration);
    const holder = home?.parent;
    if (!table || !home || !hasBody(home) || !holder || !ts.isClassLike(holder)) return [];
    const isCall = ts.isCallExpression(node);
    if (isCall && enclosingFunction(node) !== home) return [];
    if (isCall && session.oracle.ownedAt(table)?.shape !== "many") return [];
    const owned = session.oracle.ownedAt(value);
    if (owned?.owner.policy !== "generic" || owned.shape !== "one") return [];
    if (session.freshness(value) !== "fresh") return [];
    const field = table.name.text;
    if (asksFor(holder, home, field, node)) return [];
    const again = isCall
      ? comesAgain(session, node, key, home, holder, field)
      : isCounted(session, key) && !isForFirst(node, home) && recurs(session, node) && !frees(home);
    const speaks = (at: ts.Node): boolean => fieldOfThis(at)?.name.text === field && !isTarget(at);
    if (!again || mayBeEndedBefore(session, home, { speaks })) return [];
    return [{ call: node, table: table.getText(), owned }];
  });
}

/** `if (!this.ready) { this.ready = true; … }`, `if (this.ready) return;`: done once. */
function isForFirst(put: ts.Node, home: ts.Node): boolean {
  const isFirst = (test: ts.Expression): boolean => {
    const asked = unwrap(test);
    if (ts.isPrefixUnaryExpression(asked)) return true;
    return ts.isBinaryExpression(asked) && isEquality(asked) && isNullish(asked.right);
  };
  for (let at = put; at !== home; at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && at === parent.thenStatement && isFirst(parent.expression))
      return true;
    if (!ts.isBlock(parent)) continue;
    const before = parent.statements.filter(({ end }) => end <= at.pos);
    if (before.some((s) => ts.isIfStatement(s) && isFlag(s.expression) && returns(s))) return true;
  }
  return false;
}

const isFlag = (test: ts.Expression): boolean =>
  ts.isIdentifier(test) || ts.isPropertyAccessExpression(test);

const returns = ({ thenStatement }: ts.IfStatement): boolean =>
  someWithin(thenStatement, ts.isReturnStatement);

/** A key that is the same each time: a text, a number, or one that a loop counts from a number. */
function isCounted({ oracle }: Session, key: ts.Expression): boolean {
  if (ts.isStringLiteralLike(key) || ts.isNumericLiteral(key)) return true;
  const counter = ts.isIdentifier(key) ? oracle.declarationAt(key) : undefined;
  if (!counter) return false;
  if (ts.isParameter(counter)) {
    const host = handedTo(counter.parent);
    return host !== undefined && counter.parent.parameters[1] === counter && isVisit(host);
  }
  return (
    ts.isVariableDeclaration(counter) &&
    ts.isForStatement(counter.parent.parent) &&
    counter.initializer !== undefined &&
    ts.isNumericLiteral(counter.initializer)
  );
}

const isVisit = (host: CallLike): boolean =>
  /^(forEach|map)$/.test(calleeNameNode(host)?.text ?? "");

/**
 * Whether a method, or one it calls, speaks of the table elsewhere: it may have freed the old. What
 * is said after an assignment speaks of the new.
 */
function asksFor(
  node: ts.ClassLikeDeclaration,
  home: ts.ClassElement,
  field: string,
  put: ts.Node,
): boolean {
  const seen = new Set<ts.Node>();
  const asks = (member: ts.Node): boolean => {
    if (seen.has(member)) return false;
    seen.add(member);
    const visit = (inner: ts.Node): boolean => {
      const named = fieldOfThis(inner)?.name.text;
      if (named === field) return !isOfPut(inner, put, home);
      const called = node.members.find((m) => m.name !== undefined && m.name.getText() === named);
      if (named !== undefined && called && asks(called)) return true;
      return ts.forEachChild(inner, (child) => visit(child) || undefined) ?? false;
    };
    return visit(member);
  };
  return asks(home);
}

/** A mention that belongs to an assignment by key, or that comes after it in its method. */
function isOfPut(mention: ts.Node, put: ts.Node, home: ts.Node): boolean {
  if (ts.isCallExpression(put)) return within(mention, put);
  const element = mention.parent;
  const isOther = ts.isElementAccessExpression(element) && isTarget(element);
  return isOther || (mention.pos >= put.pos && within(mention, home));
}

/** Whether the same key comes again: it is a text, or what a call gives that comes again. */
function comesAgain(
  session: Session,
  call: ts.CallExpression,
  key: ts.Expression,
  home: FunctionWithBody,
  node: ts.ClassLikeDeclaration,
  field: string,
): boolean {
  if (ts.isStringLiteralLike(key)) return recurs(session, call);
  const parameter = ts.isIdentifier(key) ? session.oracle.declarationAt(key) : undefined;
  if (!parameter || !ts.isParameter(parameter) || parameter.parent !== home) return false;
  const index = home.parameters.indexOf(parameter);
  return callSitesOf(session.oracle, home, "program").calls.some((site) => {
    const given = site.arguments?.[index];
    const caller = enclosingFunction(site);
    if (!given || !ts.isStringLiteralLike(given) || within(site, home)) return false;
    if (!caller || !hasBody(caller) || frees(caller)) return false;
    const own = caller.parent === node && mentionsField(session.oracle.facts, caller, field);
    return !own && recurs(session, site);
  });
}

/** Whether a function calls something that sounds as if it freed what there was. */
const frees = (fn: ts.Node): boolean =>
  someWithin(fn, (node) => ts.isCallExpression(node) && soundsFreeing(node));
