/**
 * Made over: a field of a new object that its constructor fills, and that is given something else
 * at once: `const copy = new Player(); copy.brain = this.brain.clone();`. What the constructor made
 * for it is lost. Used by the rule about overwritten values.
 */
import ts from "typescript";
import { isAnything } from "../../owner.ts";
import type { LostStore } from "../lists/lost-stores.ts";
import { fieldOfThis } from "./members.ts";
import { referencesTo } from "../program/references.ts";
import {
  isNullish,
  isTarget,
  memberName,
  rootOf,
  someWithin,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Every such assignment of a file. */
export function madeOver(session: Session, file: ts.SourceFile): LostStore[] {
  const { oracle } = session;
  return oracle.facts.assignments(file).flatMap((node): LostStore[] => {
    const { left, right, operatorToken } = node;
    if (operatorToken.kind !== ts.SyntaxKind.EqualsToken || isNullish(unwrap(right))) return [];
    const root = rootOf(left);
    const fields = fieldsBelow(left, root);
    if (fields.length === 0 || fields.length > 3 || !ts.isIdentifier(root)) return [];
    const declaration = oracle.declarationAt(root);
    const made = declaration && newIn(declaration);
    const home = enclosingFunction(node);
    if (!made || !home || enclosingFunction(made) !== home) return [];
    const value = heldBy(session, made, fields);
    const owned = value && oracle.ownedAt(value);
    if (!owned || isAnything(owned.owner) || session.freshness(value) !== "fresh") return [];
    if (!isUntouched(session, declaration, node) || !mayLackScope(session, node)) return [];
    return [{ node, owned }];
  });
}

/** The fields of `copy.brain.weights`, outermost first. */
function fieldsBelow(place: ts.Expression, root: ts.Expression): string[] {
  const found: string[] = [];
  for (let at = place; at !== root; at = at.expression) {
    if (!ts.isPropertyAccessExpression(at)) return [];
    found.unshift(at.name.text);
  }
  return found;
}

/** The `new Player()` of `const copy = new Player()`. */
function newIn(declaration: ts.Declaration): ts.NewExpression | undefined {
  if (!ts.isVariableDeclaration(declaration) || !declaration.initializer) return undefined;
  const made = unwrap(declaration.initializer);
  return ts.isNewExpression(made) ? made : undefined;
}

/** What a new object has made for a field, or for one of an object that it makes for itself. */
function heldBy(
  session: Session,
  made: ts.NewExpression,
  [field, ...inner]: readonly string[],
): ts.Expression | undefined {
  const { body } = session.oracle.callee(made);
  if (!body || field === undefined || !body.body) return undefined;
  const given = filledWith(session, body, field);
  const value = given && chosenFor(session, body, made, given);
  if (!value || inner.length === 0) return value;
  return ts.isNewExpression(value) ? heldBy(session, value, inner) : undefined;
}

/** What a constructor puts into a field in any case, where nothing else has it then. */
function filledWith(
  session: Session,
  constructor: FunctionWithBody,
  field: string,
): ts.Expression | undefined {
  const stores: ts.BinaryExpression[] = [];
  const others = (node: ts.Node): boolean => {
    if (fieldOfThis(node)?.name.text !== field) return false;
    const store = node.parent;
    const isPlain = isTarget(node) && ts.isBinaryExpression(store);
    if (isPlain && ts.isExpressionStatement(store.parent)) stores.push(store);
    return isPlain ? false : !onlyLooksAt(session.transfer(node as ts.Expression).effect);
  };
  const { parent } = constructor;
  if (ts.isClassLike(parent) && parent.members.some((m) => isSetter(m, field))) return undefined;
  if (someWithin(constructor, others)) return undefined;
  const [store] = stores;
  if (!store || stores.length > 1 || store.parent.parent !== constructor.body) return undefined;
  return unwrap(store.right);
}

/** What `given ?? make()` is for a call that gives nothing, or a new value; what is made there. */
function chosenFor(
  session: Session,
  { parameters }: FunctionWithBody,
  call: ts.NewExpression,
  value: ts.Expression,
): ts.Expression | undefined {
  const given: readonly ts.Expression[] = call.arguments ?? [];
  if (ts.isCallExpression(value) || ts.isNewExpression(value)) return value;
  if (!ts.isBinaryExpression(value) || given.some((g) => ts.isSpreadElement(g))) return undefined;
  const { operatorToken, left } = value;
  const isChoice = /^(\|\||\?\?)$/.test(operatorToken.getText());
  const source = ts.isIdentifier(left) ? session.oracle.declarationAt(left) : undefined;
  const at = parameters.findIndex((p) => p === source && !p.initializer && !p.dotDotDotToken);
  if (!isChoice || at < 0) return undefined;
  const argument = given[at] && unwrap(given[at]);
  const chosen = !argument || isNullish(argument) ? unwrap(value.right) : argument;
  return ts.isCallExpression(chosen) || ts.isNewExpression(chosen) ? chosen : undefined;
}

const isSetter = (member: ts.ClassElement, field: string): boolean =>
  ts.isSetAccessorDeclaration(member) && memberName(member.name) === field;

/** Whether nothing is done with a new object before an assignment but to give it other fields. */
function isUntouched(
  { oracle }: Session,
  declaration: ts.Declaration,
  store: ts.BinaryExpression,
): boolean {
  const { name } = declaration as ts.VariableDeclaration;
  const home = enclosingFunction(declaration);
  if (!home || !ts.isIdentifier(name)) return false;
  return referencesTo(oracle, declaration, name, home).every((id) => {
    if (id === name || id.pos >= store.pos) return true;
    const { kind, node } = fateOf(id);
    if (!ts.isPropertyAccessExpression(id.parent)) return false;
    let top: ts.Node = id;
    while (ts.isPropertyAccessExpression(top.parent)) top = top.parent;
    return isTarget(top) || (kind === "read" && onlyReads(node));
  });
}

/** `copy.size + 1`, `copy.at.x`: asks for a number or the like, and calls nothing. */
function onlyReads(read: ts.Node): boolean {
  if (!ts.isExpression(read)) return false;
  const { kind, node } = fateOf(read);
  if (kind === "read" && node !== read) return onlyReads(node);
  return !/^(receiver|argument|bound|assigned)$/.test(kind);
}
