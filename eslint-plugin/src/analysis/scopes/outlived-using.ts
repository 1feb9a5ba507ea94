/**
 * Outlived `using`: variables whose values end with their block, while a list, table or field that
 * outlives the block has been given them: `using t = x.neg(); this.rows.push(t);`. Used by the rule
 * about uses after disposal.
 */
import ts from "typescript";
import { puts } from "../program/containers.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import {
  isTarget,
  isUsing,
  rootOf,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";

/** A mention that puts the value where it is after it has ended. */
export interface Outlived {
  declaration: ts.VariableDeclaration;
  mention: ts.Identifier;
  /** What holds it then, as the function speaks of it. */
  holder: ts.Expression;
}

/** Every value of a file that its holder outlives. */
export function outlivedUsings(session: Session, file: ts.SourceFile): Outlived[] {
  return session.oracle.facts.variables(file).flatMap((declaration) => {
    const { name } = declaration;
    if (!ts.isIdentifier(name) || !isUsing(declaration)) return [];
    const owned = session.oracle.ownedAt(name);
    if (owned?.shape !== "one" || owned.owner.policy !== "protocol") return [];
    const block = ts.findAncestor(declaration, ts.isBlock);
    const home = enclosingFunction(declaration);
    if (!block || !home) return [];
    return referencesTo(session.oracle, declaration, name, block).flatMap((mention) => {
      if (mention === name || enclosingFunction(mention) !== home) return [];
      const holder = holderOf(session, mention);
      if (!holder || !outlives(session, holder, block)) return [];
      return isLeftThere(session, holder, block) ? [{ declaration, mention, holder }] : [];
    });
  });
}

/** What a mention puts a value into: the list of `list.push(t)`, the `queue` of `queue.add(t)`. */
function holderOf(session: Session, mention: ts.Identifier): ts.Expression | undefined {
  const list = listGiven(session, mention);
  if (list) return list;
  const { kind, node, literal } = fateOf(mention);
  if (kind !== "argument" || literal || !ts.isCallExpression(node)) return undefined;
  const { body, receiver } = session.oracle.callee(node);
  const index = node.arguments.findIndex((argument) => unwrap(argument) === mention);
  const parameter = index < 0 ? undefined : body?.parameters[index];
  if (!body || !receiver || !parameter || !ts.isIdentifier(parameter.name)) return undefined;
  return referencesTo(session.oracle, parameter, parameter.name, body).some((id) => {
    const inner = enclosingFunction(id) === body ? listGiven(session, id) : undefined;
    return (
      inner !== undefined &&
      isOfObject(session, inner, body) &&
      !someWithin(body.body, (at) => emptiesAgain(session, at, inner))
    );
  })
    ? receiver
    : undefined;
}

/** The list or table that a value, or a record with it, is put into. */
function listGiven(session: Session, id: ts.Identifier): ts.Expression | undefined {
  const { kind, node, member, literal } = fateOf(id);
  if (kind !== "argument" || !ts.isCallExpression(node)) return undefined;
  if (literal && !ts.isObjectLiteralExpression(literal)) return undefined;
  const { receiver, builtin, name } = session.oracle.callee(node);
  if (!receiver || !builtin || !puts(name) || member === "concat") return undefined;
  return /^Weak/.test(session.oracle.typeName(receiver)) ? undefined : receiver;
}

/** `this.rows`, or a variable of the closures that a function belongs to. */
function isOfObject({ oracle }: Session, list: ts.Expression, fn: FunctionWithBody): boolean {
  const root = rootOf(list);
  if (root.kind === ts.SyntaxKind.ThisKeyword) return true;
  const source = ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  return source !== undefined && ts.isVariableDeclaration(source) && !within(source, fn);
}

/** `this.rows.splice(0)`, `this.rows = []`, `this.flush()`: nothing may be there afterwards. */
function emptiesAgain(session: Session, at: ts.Node, list: ts.Expression): boolean {
  if (at.kind === ts.SyntaxKind.ThisKeyword) return mayTakeOut(session, at, list);
  if (!ts.isIdentifier(at) && !ts.isPropertyAccessExpression(at)) return false;
  if (at === list || !samePlace(session.oracle, at, list)) return false;
  const { kind, member, node } = fateOf(at);
  if (kind === "receiver") return /^(clear|splice|pop|delete)$/.test(member);
  return isTarget(at) || (kind === "read" && isTarget(node));
}

/** Whether a place is there when a block has ended. */
function outlives({ oracle }: Session, holder: ts.Expression, block: ts.Block): boolean {
  const root = rootOf(holder);
  if (root.kind === ts.SyntaxKind.ThisKeyword) return true;
  const source = ts.isIdentifier(root) ? oracle.declarationAt(root) : undefined;
  if (!source || within(source, block)) return false;
  if (ts.isParameter(source)) return true;
  return ts.isVariableDeclaration(source) && !ts.isForOfStatement(source.parent.parent);
}

/** Whether the block does nothing else with what holds a value, which may take it back out. */
function isLeftThere(session: Session, holder: ts.Expression, block: ts.Block): boolean {
  const root = rootOf(holder);
  const isOther = (node: ts.Node): boolean => {
    if (node === holder) return false;
    if (root.kind === ts.SyntaxKind.ThisKeyword && node.kind === root.kind)
      return mayTakeOut(session, node, holder);
    return (
      (ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) &&
      !within(node, holder) &&
      samePlace(session.oracle, node, holder) &&
      !isHarmless(session, node)
    );
  };
  return !someWithin(block, isOther);
}

/** `this.flush()`, or `this` as a whole, that may speak of the list. */
function mayTakeOut({ oracle }: Session, self: ts.Node, holder: ts.Expression): boolean {
  const { parent } = self;
  if (within(self, holder)) return false;
  if (!ts.isPropertyAccessExpression(parent)) return true;
  if (!ts.isCallExpression(parent.parent) || parent.parent.expression !== parent) return false;
  const { body } = oracle.callee(parent.parent);
  const field = ts.isPropertyAccessExpression(holder) ? holder.name.text : undefined;
  if (field === undefined) return parent.parent.expression !== holder.parent;
  return !body || someWithin(body, (at) => ts.isMemberName(at) && at.text === field);
}

/** `list.push(other)`, `list.length`: leaves there what is there. */
function isHarmless({ oracle }: Session, list: ts.Expression): boolean {
  const { kind, member, node } = fateOf(list);
  if (kind === "read" || kind === "operand") return !isTarget(node);
  return kind === "receiver" && ts.isCallExpression(node) && oracle.callee(node).builtin
    ? puts(member) || /^(has|get|at|includes|indexOf)$/.test(member)
    : false;
}
