/**
 * Half ended: records that leave their place, `const old = this.cloud; … this.cloud = …`, or that
 * the end of an object goes through, of which a function ends some fields and only looks at others.
 * Who ends one field of a record owns what is given to the others in the same way. Used by the rule
 * that requires disposal; `partial-records.ts` tells of records that the class itself makes.
 */
import ts from "typescript";
import { listEmptied } from "../program/containers.ts";
import { leftOutOf } from "../lists/partial-records.ts";
import { leftByClosures, leftInFile } from "./left-behind.ts";
import { endsInside } from "../flow/slot-touches.ts";
import { endsElements } from "./ended-elements.ts";
import { endingsOf } from "./endings.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import { runWith } from "./own-calls.ts";
import { areAlike, fieldsBeside } from "./records-made.ts";
import { mayListOthers } from "./left-fields.ts";
import { reach } from "./class-reach.ts";
import { fieldOfThis, ownedMembers } from "./members.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import {
  isNullish,
  isTarget,
  isUsing,
  memberName,
  someWithin,
  unwrap,
  within,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** A field of a record that stays behind where others of it are ended. */
export interface HalfEnded {
  /** How the field is written: `old.weights`. */
  label: string;
  /** How one is written that is ended. */
  other: string;
  /** Where the record is deleted, or that field ended; of several, the last. */
  at: ts.Expression;
  owned: Owned;
}

/** The first such field of every record that a function of a file has a name for. */
export function halfEnded(session: Session, file: ts.SourceFile): HalfEnded[] {
  return session.oracle.facts.variables(file).flatMap((node) => halfOf(session, node) ?? []);
}

function halfOf(session: Session, node: ts.VariableDeclaration): HalfEnded | undefined {
  const home = enclosingFunction(node);
  const place = home && sourceOf(session, node, home);
  if (!home || !place || isUsing(node)) return undefined;
  const { name, declaration } = firstOf(node, place);
  const roots = leavingIn(session, node, place, home);
  const owned = roots && session.oracle.ownedAt(name);
  if (!roots || owned?.shape !== "record") return undefined;
  const parts = new Parts(session, home, place);
  parts.bound(name, declaration);
  const ended = [...parts.ended].at(-1);
  if (parts.whole || !ended) return undefined;
  const [other, at] = ended;
  const file = node.getSourceFile();
  const fields = [...owned.fields, ...fieldsBeside(session, name, owned, [...parts.ended.keys()])];
  const left = fields.filter((name) => !parts.ended.has(name) && !parts.kept.has(name));
  if (left.length === 0) return undefined;
  const from = loopOf(node)?.expression ?? node;
  const isOther = (m: ts.Expression): boolean => !within(m, from) && !leavesAlone(session, m);
  if (roots.some((root) => mentionsOf(session, place, root).some(isOther))) return undefined;
  const told = new Set(toldOf(session, place, roots));
  const field = left.find((f) => !told.has(f) && areAlike(session, file, owned, other, f));
  if (field === undefined || !mayBeOut(session, node)) return undefined;
  const label = ts.isIdentifier(name) ? `${name.text}.${field}` : field;
  return { label, other: at.getText(), at: deletedIn(session, place, home) ?? at, owned };
}

/** The fields that the rule about members tells of: those of literals that a place is given. */
function toldOf(session: Session, place: ts.Expression, roots: readonly ts.Node[]): string[] {
  const field = fieldOfThis(place);
  const owner = field && ts.findAncestor(field, ts.isClassLike);
  const mentions = roots.flatMap((root) => mentionsOf(session, place, root));
  const member = owner && ownedMembers(session, owner).find((m) => m.name === field?.name.text);
  const told = member ? leftOutOf(session, { ...member, label: "", mentions }) : [];
  const file = place.getSourceFile();
  const isOf = ({ label }: { label: string }): boolean => label.startsWith(place.getText());
  if (ts.isIdentifier(place))
    told.push(...[...leftInFile(session, file), ...leftByClosures(session, file)].filter(isOf));
  return told.map(({ label }) => label.slice(label.lastIndexOf(".") + 1));
}

/** `delete this.parts[name]`, where a record is lost by that. */
function deletedIn(
  session: Session,
  place: ts.Expression,
  home: ts.Node,
): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  someWithin(home, (at) => {
    if (ts.isDeleteExpression(at) && samePlace(session.oracle, at.expression, place)) found = at;
    return found !== undefined;
  });
  return found;
}

/** Whether no scope frees what a function has in hand; who calls a `[Symbol.dispose]` is unseen. */
function mayBeOut(session: Session, node: ts.Node): boolean {
  const home = enclosingFunction(node);
  const isUnseen =
    home &&
    ts.isMethodDeclaration(home) &&
    memberName(home.name).startsWith("@@") &&
    session.scopeAt(node) === "unknown";
  return isUnseen === true || mayLackScope(session, node);
}

/** The `old` of `const [old] = xs.splice(0, 1)`, or else what a declaration names. */
function firstOf(
  node: ts.VariableDeclaration,
  place: ts.Expression,
): { name: ts.BindingName; declaration: ts.VariableDeclaration | ts.BindingElement } {
  const only =
    ts.isArrayBindingPattern(node.name) && node.name.elements.length === 1
      ? node.name.elements[0]
      : undefined;
  const isOne =
    ts.isCallExpression(place) && place.arguments[1] && place.arguments[1].getText() === "1";
  return isOne && only && ts.isBindingElement(only) && !only.dotDotDotToken
    ? { name: only.name, declaration: only }
    : { name: node.name, declaration: node };
}

/** The place that a declaration names, or the call that takes something out of one. */
function sourceOf(
  session: Session,
  node: ts.VariableDeclaration,
  home: ts.Node,
): ts.Expression | undefined {
  const initializer = node.initializer ?? firstGiven(session, node, home);
  const loop = loopOf(node);
  if (loop) return walkedIn(loop);
  let value = initializer && unwrap(initializer);
  if (value && ts.isBinaryExpression(value) && isNullish(unwrap(value.right)))
    value = unwrap(value.left);
  const isPlace =
    value &&
    (ts.isPropertyAccessExpression(value) ||
      ts.isElementAccessExpression(value) ||
      ts.isCallExpression(value));
  return isPlace ? value : undefined;
}

/** The `xs.shift()` of `let x; while ((x = xs.shift())) …`. */
function firstGiven(
  { oracle }: Session,
  node: ts.VariableDeclaration,
  home: ts.Node,
): ts.Expression | undefined {
  const { name } = node;
  if (!ts.isIdentifier(name) || loopOf(node)) return undefined;
  const store = referencesTo(oracle, node, name, home).find(isTarget)?.parent;
  return store && ts.isBinaryExpression(store) && ts.isCallExpression(unwrap(store.right))
    ? store.right
    : undefined;
}

const loopOf = ({ parent: { parent } }: ts.VariableDeclaration): ts.ForOfStatement | undefined =>
  ts.isForOfStatement(parent) ? parent : undefined;

/** The list or table that a loop goes over, `xs`, `xs.values()`, or the `xs.splice(0)` it takes. */
function walkedIn({ expression }: ts.ForOfStatement): ts.Expression {
  const list = unwrap(expression);
  const called = ts.isCallExpression(list) ? unwrap(list.expression) : undefined;
  return called && ts.isPropertyAccessExpression(called) && called.name.text === "values"
    ? unwrap(called.expression)
    : list;
}

/** Where the place must not be spoken of otherwise, when what it held leaves it. */
function leavingIn(
  session: Session,
  node: ts.VariableDeclaration,
  place: ts.Expression,
  home: ts.Node,
): readonly ts.Node[] | undefined {
  if (ts.isCallExpression(place)) return isTaken(session, place, home) ? [] : undefined;
  const isLeft = (at: ts.Node): boolean =>
    at.pos > node.end &&
    ((ts.isDeleteExpression(at) && samePlace(session.oracle, at.expression, place)) ||
      (ts.isBinaryExpression(at) &&
        at.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
        samePlace(session.oracle, at.left, place)) ||
      isEmptied(session, at, place));
  const field = fieldOfThis(place);
  const owner = field && ts.findAncestor(home, ts.isClassLike);
  const isOwn = owner !== undefined && ts.isClassElement(home);
  if (someWithin(home, isLeft)) return isOwn ? [...runWith(owner, home)] : [home];
  if (!owner) return undefined;
  const endings = endingsOf(owner).map(({ member }) => member);
  const reached = [...reach(session.oracle, owner, endings)];
  return reached.includes(home) ? reached : undefined;
}

/** `xs.pop()`, `xs.splice(0, 1)`, and `xs.get(key)` beside `xs.delete(key)`. */
function isTaken(session: Session, call: ts.CallExpression, home: ts.Node): boolean {
  const { expression: on } = call;
  const [key] = call.arguments;
  if (!ts.isPropertyAccessExpression(on) || !/^(pop|shift|splice|get)$/.test(on.name.text))
    return false;
  if (!session.oracle.callee(call).builtin) return false; // asked late: it needs types
  if (on.name.text !== "get") return true;
  if (!key) return false;
  return someWithin(home, (at) => {
    if (!ts.isCallExpression(at) || !ts.isPropertyAccessExpression(at.expression)) return false;
    const { name, expression: table } = at.expression;
    const [other] = at.arguments;
    if (at.pos < call.end || !/^(set|delete)$/.test(name.text) || !other) return false;
    return samePlace(session.oracle, table, on.expression) && samePlace(session.oracle, other, key);
  });
}

function isEmptied(session: Session, at: ts.Node, list: ts.Expression): boolean {
  const emptied = listEmptied(at);
  return emptied !== undefined && samePlace(session.oracle, emptied, list);
}

/** Whether what speaks of a place looks at it, gives it another value or empties it. */
function leavesAlone(session: Session, mention: ts.Expression): boolean {
  const { kind, member } = fateOf(mention);
  if (isTarget(mention) || kind === "operand" || ts.isDeleteExpression(mention.parent)) return true;
  if (/^(clear|fill|length|size)$/.test(member)) return true;
  return onlyLooksAt(effectInside(session, session.transfer(mention)));
}

function mentionsOf(session: Session, place: ts.Expression, root: ts.Node): ts.Expression[] {
  const found: ts.Expression[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === place.kind && samePlace(session.oracle, node as ts.Expression, place))
      found.push(node as ts.Expression);
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

/** What a function does to the fields of a record that it has names for. */
class Parts {
  readonly ended = new Map<string, ts.Expression>();
  /** Fields that are handed on or kept. */
  readonly kept = new Set<string>();
  /** Something else is done with the record, or it goes on with other values. */
  whole = false;

  readonly #session: Session;
  readonly #home: ts.Node;
  readonly #place: ts.Expression;

  constructor(session: Session, home: ts.Node, place: ts.Expression) {
    this.#session = session;
    this.#home = home;
    this.#place = place;
  }

  /** Names for a record, or for its fields. */
  bound(name: ts.BindingName, declaration: ts.Declaration): void {
    if (ts.isIdentifier(name)) {
      for (const id of this.#referencesOf(name, declaration)) this.#record(id);
      return;
    }
    for (const element of name.elements) {
      const isField = ts.isBindingElement(element) && !element.dotDotDotToken;
      if (!isField || ts.isArrayBindingPattern(name) || !ts.isIdentifier(element.name)) {
        this.whole = true;
        return;
      }
      const field = memberName(element.propertyName ?? element.name);
      for (const id of this.#referencesOf(element.name, element)) this.#field(field, id);
    }
  }

  #record(id: ts.Expression): void {
    let { parent } = id;
    while (ts.isNonNullExpression(parent) || ts.isParenthesizedExpression(parent))
      parent = parent.parent;
    if (ts.isPropertyAccessExpression(parent)) return this.#field(parent.name.text, parent);
    if (isTarget(id) && this.#isNext(parent)) return;
    const { kind, node } = fateOf(id);
    const isPattern = kind === "bound" && ts.isVariableDeclaration(node) && !isUsing(node);
    if (isPattern && ts.isObjectBindingPattern(node.name)) this.bound(node.name, node);
    else this.whole ||= kind !== "operand" && !this.#isLent(id);
  }

  /** `job = jobs.shift()`, where the first came from there, too. */
  #isNext(store: ts.Node): boolean {
    return (
      ts.isBinaryExpression(store) &&
      ts.isCallExpression(this.#place) &&
      unwrap(store.right).getText() === this.#place.getText()
    );
  }

  /** `motion.correct(old, at)`: a call that looks at the record and keeps none of it. */
  #isLent(id: ts.Expression): boolean {
    return fateOf(id).kind === "argument" && onlyLooksAt(this.#session.transfer(id).effect);
  }

  #field(field: string, mention: ts.Expression): void {
    const { kind, node, literal } = fateOf(mention);
    const isBound = kind === "bound" && ts.isVariableDeclaration(node);
    if (isTarget(mention)) this.whole = true;
    else if (isBound && isUsing(node)) this.ended.set(field, mention);
    else if (literal && kind === "iterated" && endsInside(node)) this.ended.set(field, mention);
    else if (endsElements(this.#session, mention)) {
      if (mayListOthers(this.#session, mention)) this.whole = true;
      else this.ended.set(field, mention);
    } else if (kind === "operand") return;
    else if (!onlyLooksAt(effectInside(this.#session, this.#session.transfer(mention))))
      this.kept.add(field);
  }

  #referencesOf(name: ts.Identifier, declaration: ts.Declaration): readonly ts.Identifier[] {
    return referencesTo(this.#session.oracle, declaration, name, this.#home);
  }
}
