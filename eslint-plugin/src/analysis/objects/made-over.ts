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
import { isNullish, isTarget, memberName, someWithin, unwrap } from "../program/syntax.ts";
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
    if (!ts.isPropertyAccessExpression(left) || !ts.isIdentifier(left.expression)) return [];
    const declaration = oracle.declarationAt(left.expression);
    const made = declaration && newIn(declaration);
    const home = enclosingFunction(node);
    if (!made || !home || enclosingFunction(made) !== home) return [];
    const { body } = oracle.callee(made);
    if (!body || !ts.isConstructorDeclaration(body)) return [];
    const value = filledWith(session, body, left.name.text);
    const owned = value && oracle.ownedAt(value);
    if (!owned || isAnything(owned.owner) || session.freshness(value) !== "fresh") return [];
    if (!isUntouched(session, declaration, node) || !mayLackScope(session, node)) return [];
    return [{ node, owned }];
  });
}

/** The `new Player()` of `const copy = new Player()`. */
function newIn(declaration: ts.Declaration): ts.NewExpression | undefined {
  if (!ts.isVariableDeclaration(declaration) || !declaration.initializer) return undefined;
  const made = unwrap(declaration.initializer);
  return ts.isNewExpression(made) ? made : undefined;
}

/** What a constructor puts into a field in any case, where nothing else has it then. */
function filledWith(
  session: Session,
  constructor: ts.ConstructorDeclaration,
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
  if (constructor.parent.members.some((m) => isSetter(m, field))) return undefined;
  if (someWithin(constructor, others)) return undefined;
  const [store] = stores;
  if (!store || stores.length > 1 || store.parent.parent !== constructor.body) return undefined;
  const value = unwrap(store.right);
  return ts.isCallExpression(value) || ts.isNewExpression(value) ? value : undefined;
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
    const { parent } = id;
    if (!ts.isPropertyAccessExpression(parent)) return false;
    return isTarget(parent) || (kind === "read" && onlyReads(node));
  });
}

/** `copy.size + 1`: asks for a number or the like, and calls nothing. */
const onlyReads = (read: ts.Node): boolean =>
  ts.isExpression(read) && !/^(receiver|argument|bound|assigned)$/.test(fateOf(read).kind);
