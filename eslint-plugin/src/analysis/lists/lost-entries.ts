/**
 * Lost entries: values that a table in a field loses when it is given another under the same key.
 * Where a method fills the table by a name it is given, its calls tell the name, and whether they
 * come again. Resources that need no scope; the others are in `replaced-entries.ts`. Used by the
 * rule about overwritten values.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { freeing } from "../objects/endings.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { recurs } from "../trails/made-again.ts";
import { fieldOfThis, mentionsField } from "../objects/members.ts";
import type { Owned } from "../program/oracle.ts";
import type { Session } from "../session.ts";
import { hasBody, someWithin, unwrap, within, type FunctionWithBody } from "../program/syntax.ts";

/** A call or an assignment that puts a value into a table where another may be. */
export interface LostEntry {
  /** What a report marks. */
  call: ts.Expression;
  /** The table, `this.textures`. */
  table: string;
  owned: Owned;
}

/** Every such call of a file. */
export function lostEntries(session: Session, file: ts.SourceFile): LostEntry[] {
  return session.oracle.facts.calls(file).flatMap((call) => {
    const table = tableOf(call);
    const home = enclosingFunction(call);
    const node = home?.parent;
    const [key, value] = call.arguments;
    if (
      !table ||
      !home ||
      !ts.isMethodDeclaration(home) ||
      !hasBody(home) ||
      !node ||
      !ts.isClassLike(node)
    )
      return [];
    if (!key || !value || session.oracle.ownedAt(table)?.shape !== "many") return [];
    const owned = session.oracle.ownedAt(value);
    if (owned?.owner.policy !== "generic" || session.freshness(value) !== "fresh") return [];
    const field = table.name.text;
    if (asksFor(node, home, field, table)) return [];
    return comesAgain(session, call, unwrap(key), home, node, field)
      ? [{ call, table: table.getText(), owned }]
      : [];
  });
}

/** `this.table` of `this.table.set(key, value)`. */
function tableOf({
  expression,
  arguments: args,
}: ts.CallExpression): ts.PropertyAccessExpression | undefined {
  if (!ts.isPropertyAccessExpression(expression) || expression.name.text !== "set")
    return undefined;
  return args.length === 2 ? fieldOfThis(expression.expression) : undefined;
}

/** Whether a method, or one it calls, speaks of the table elsewhere: it may have freed the old. */
function asksFor(
  node: ts.ClassLikeDeclaration,
  home: ts.ClassElement,
  field: string,
  table: ts.Node,
): boolean {
  const seen = new Set<ts.Node>();
  const asks = (member: ts.Node): boolean => {
    if (seen.has(member)) return false;
    seen.add(member);
    const visit = (inner: ts.Node): boolean => {
      const named = inner === table ? undefined : fieldOfThis(inner)?.name.text;
      if (named === field) return true;
      const called = node.members.find((m) => m.name !== undefined && m.name.getText() === named);
      if (named !== undefined && called && asks(called)) return true;
      return ts.forEachChild(inner, (child) => visit(child) || undefined) ?? false;
    };
    return visit(member);
  };
  return asks(home);
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
  someWithin(fn, (node) => ts.isCallExpression(node) && freeing.test(node.expression.getText()));
