/**
 * Full pools: `release(b) { if (this.#free.length < most) this.#free.push(b); }`, where `acquire()`
 * takes from that list or makes another: what does not fit is left by its last owner. Used by the
 * rule that requires disposal.
 */
import ts from "typescript";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import {
  hasBody,
  isEmptyContainer,
  isNullish,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { onlyLooksAt } from "./transfer.ts";

/** A parameter that a way through its function leaves. */
export interface Unpooled {
  name: ts.Identifier;
  owned: Owned;
}

/** Every such parameter of a file. */
export function leftByPools(session: Session, file: ts.SourceFile): Unpooled[] {
  return session.oracle.facts.functions(file).flatMap((fn) =>
    fn.parameters.flatMap(({ name, initializer, dotDotDotToken: rest }) => {
      if (!ts.isIdentifier(name) || (initializer ?? rest) || !ts.isBlock(fn.body)) return [];
      const owned = session.oracle.ownedAt(name);
      if (!owned || owned.nullable) return [];
      const ids = referencesTo(session.oracle, name.parent as ts.Declaration, name, fn);
      const mentions = ids.filter((id) => id !== name);
      const isPooled = mentions.some((id) => isPutBack(session, id, fn));
      return isPooled && leaves(session, fn.body.statements, mentions).some(isLeft)
        ? [{ name, owned }]
        : [];
    }),
  );
}

/** Whether a mention puts the value into a list that another function takes it out of. */
function isPutBack(session: Session, id: ts.Identifier, fn: FunctionWithBody): boolean {
  const { kind, node } = fateOf(id);
  if (kind !== "argument" || !ts.isCallExpression(node)) return false;
  const list = ts.isPropertyAccessExpression(node.expression) ? node.expression : undefined;
  if (list?.name.text !== "push" || !session.oracle.callee(node).builtin) return false;
  const place = placeOf(session, list.expression);
  const root = ts.findAncestor(fn, (n) => ts.isClassLike(n) || (n !== fn && hasBody(n)));
  return someWithin(root ?? fn.getSourceFile(), (at) => {
    if (!ts.isCallExpression(at) || !ts.isPropertyAccessExpression(at.expression)) return false;
    const { name, expression } = at.expression;
    const taker = enclosingFunction(at);
    return (
      /^(pop|shift)$/.test(name.text) &&
      placeOf(session, expression) === place &&
      taker !== undefined &&
      taker !== fn &&
      makes(session, taker, at)
    );
  });
}

/** How a list is written: `this.free`, and `this.free.get` for `this.free.get(key) ?? []`. */
function placeOf(session: Session, list: ts.Expression, hops = 0): string {
  const bare = unwrap(list);
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  const made = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
  if (made && hops < 2 && !isEmptyContainer(unwrap(made))) return placeOf(session, made, hops + 1);
  if (ts.isBinaryExpression(bare)) return placeOf(session, bare.left, hops);
  if (!ts.isCallExpression(bare) || !ts.isPropertyAccessExpression(bare.expression))
    return bare.getText();
  return bare.expression.name.text === "get" ? bare.expression.getText() : bare.getText();
}

/** Whether a function makes a value where it finds none: `free.pop() ?? make()`. */
const makes = (session: Session, fn: ts.Node, found: ts.Node): boolean =>
  someWithin(fn, (at) => {
    if (!ts.isCallExpression(at) || within(found, at)) return false;
    const { kind } = fateOf(at);
    return (
      session.oracle.ownedAt(at) !== null && kind !== "dropped" && session.freshness(at) === "fresh"
    );
  });

/** How a way through some statements ends: with the value gone, at a `return`, for want of room. */
interface Way {
  gone: boolean;
  ended: boolean;
  full: boolean;
}
const isLeft = ({ gone, full }: Way): boolean => !gone && full;

/**
 * The ways through statements, of those that ask only how much there is; none, when others decide.
 */
function leaves(
  session: Session,
  statements: readonly ts.Statement[],
  mentions: readonly ts.Identifier[],
): Way[] {
  let open: Way[] = [...plain];
  const closed: Way[] = [];
  for (const statement of statements) {
    const next: Way[] = [];
    for (const way of open) {
      if (way.gone) {
        closed.push(way);
        continue;
      }
      const found = waysOf(session, statement, mentions);
      if (!found) return [];
      for (const w of found)
        (w.ended || w.gone ? closed : next).push({ ...w, full: w.full || way.full });
    }
    open = next;
  }
  return [...open, ...closed];
}

function waysOf(
  session: Session,
  statement: ts.Statement,
  mentions: readonly ts.Identifier[],
): Way[] | undefined {
  const inside = mentions.filter((id) => within(id, statement));
  if (ts.isBlock(statement)) {
    const ways = leaves(session, statement.statements, mentions);
    return ways.length > 0 ? ways : undefined;
  }
  if (ts.isIfStatement(statement)) {
    const { expression, thenStatement, elseStatement } = statement;
    const full = asksForRoom(expression);
    if (mentions.some((id) => within(id, expression))) return undefined;
    if (!full && !isFlag(expression) && !isFound(expression)) return undefined;
    const yes = waysOf(session, thenStatement, mentions);
    const no = elseStatement ? waysOf(session, elseStatement, mentions) : [...plain];
    if (!yes || !no) return undefined;
    const all = [...yes, ...no].map((way) => ({ ...way, full: way.full || full }));
    // a flag may say that somebody else has it
    return full || all.every((way) => way.gone || !way.ended) ? all : undefined;
  }
  if (ts.isReturnStatement(statement))
    // what is returned may say that it did not take it
    return statement.expression ? undefined : [{ gone: false, ended: true, full: false }];
  const gone = inside.some((id) => !onlyLooksAt(session.transfer(id).effect));
  if (ts.isExpressionStatement(statement)) return [{ gone, ended: false, full: false }];
  return gone ? undefined : [...plain];
}
const plain: readonly Way[] = [{ gone: false, ended: false, full: false }];

/** `this.#free.length < this.#most`: asks how many there are. */
function asksForRoom(test: ts.Expression): boolean {
  const bare = unwrap(test);
  if (!ts.isBinaryExpression(bare)) return false;
  const sign = bare.operatorToken.getText();
  if (/^(&&|\|\|)$/.test(sign))
    return [bare.left, bare.right].every((t) => asksForRoom(t) || isFlag(t));
  const counts = /\.(length|size)\b/.test(bare.getText());
  return /^[<>]=?$/.test(sign) && counts && !someWithin(bare, ts.isCallExpression);
}

/** `closed`, `!this.#isOpen`. */
function isFlag(test: ts.Expression): boolean {
  const bare = unwrap(test);
  if (ts.isPrefixUnaryExpression(bare)) return isFlag(bare.operand);
  return ts.isIdentifier(bare) || ts.isPropertyAccessExpression(bare);
}

/** `next !== undefined`. */
function isFound(test: ts.Expression): boolean {
  const bare = unwrap(test);
  return ts.isBinaryExpression(bare) && isFlag(bare.left) && isNullish(unwrap(bare.right));
}
