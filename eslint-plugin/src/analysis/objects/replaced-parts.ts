/**
 * Replaced parts: a field of an object that a function or a script has made and uses, which gets
 * something else: `const box = new Box(); …; box.model = older;`, where the class makes what the
 * field holds at first, and ends it. What it held is lost. Used by the rule about overwritten
 * values; a new object that nothing was done with yet is in `made-over.ts`, one that the function
 * finds in `overwritten-places.ts`.
 */
import ts from "typescript";
import { isAnything } from "../../owner.ts";
import type { LostStore } from "../lists/lost-stores.ts";
import { referencesTo } from "../program/references.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import {
  hasBody,
  isNullish,
  isTarget,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { fieldOfThis } from "./members.ts";
import { deedOf, isTested, mentionsOfField, reaches } from "./overwritten-places.ts";
import { isUnconditional } from "./taken-fields.ts";

/** Every such assignment of a file. */
export function replacedParts(session: Session, file: ts.SourceFile): LostStore[] {
  const { oracle } = session;
  return oracle.facts.assignments(file).flatMap((node): LostStore[] => {
    const { left, right, operatorToken } = node;
    if (operatorToken.kind !== ts.SyntaxKind.EqualsToken || isNullish(unwrap(right))) return [];
    if (!ts.isPropertyAccessExpression(left) || !ts.isIdentifier(left.expression)) return [];
    const made = newIn(session, oracle.declarationAt(left.expression));
    if (!made || enclosingFunction(made) !== enclosingFunction(node)) return [];
    const owned = oracle.ownedAt(left);
    const field = owned && oracle.declarationAt(left.name);
    if (!field || owned.nullable || isAnything(owned.owner)) return [];
    if (owned.owner.policy === "scoped" || !isMadeAtFirst(session, field, left.name.text))
      return [];
    const mentions = mentionsOfField(session, field, left.name.text);
    return mayLackScope(session, node) && isLost(session, node, mentions) ? [{ node, owned }] : [];
  });
}

/** The `new Box()` of `const box = new Box()`, which nothing else has, by no other name. */
function newIn(
  { oracle }: Session,
  declaration: ts.Declaration | undefined,
): ts.NewExpression | undefined {
  if (!declaration || !ts.isVariableDeclaration(declaration) || !declaration.initializer)
    return undefined;
  const { name } = declaration;
  const isConstant = ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const;
  const isExported = ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export;
  const made = unwrap(declaration.initializer);
  if (!isConstant || isExported || !ts.isNewExpression(made) || !ts.isIdentifier(name))
    return undefined;
  const root = enclosingFunction(declaration) ?? declaration.getSourceFile();
  const isMember = ({ parent }: ts.Node, id: ts.Node): boolean =>
    ts.isPropertyAccessExpression(parent) && parent.expression === id;
  const ids = referencesTo(oracle, declaration, name, root);
  return ids.every((id) => id === name || isMember(id, id)) ? made : undefined;
}

/** Whether a class makes what its field holds at first, where it is declared or in any case. */
function isMadeAtFirst(session: Session, field: ts.Declaration, name: string): boolean {
  if (field.getSourceFile().isDeclarationFile || ts.isAccessor(field)) return false;
  const isFresh = (value: ts.Expression): boolean => session.freshness(value) === "fresh";
  if (ts.isPropertyDeclaration(field) && field.initializer) return isFresh(field.initializer);
  const holder = ts.findAncestor(field, ts.isClassLike);
  const constructor = holder?.members.find((m) => ts.isConstructorDeclaration(m) && m.body);
  if (!constructor || !hasBody(constructor)) return false;
  return constructor.body.statements.some((statement) => {
    const store = ts.isExpressionStatement(statement) ? statement.expression : undefined;
    return (
      store !== undefined &&
      ts.isBinaryExpression(store) &&
      fieldOfThis(store.left)?.name.text === name &&
      isFresh(store.right)
    );
  });
}

/** Whether the class ends the field, and nothing before an assignment has had it in hand. */
function isLost(
  session: Session,
  node: ts.BinaryExpression,
  mentions: readonly ts.Expression[],
): boolean {
  const home = enclosingFunction(node);
  const others = mentions.filter((m) => !isTarget(m));
  const deeds = new Map(others.map((m) => [m, deedOf(session, m)]));
  const ended = others.filter((m) => deeds.get(m) === "ends");
  if (others.some((m) => deeds.get(m) === "other")) return false;
  if (!ended.some((m) => enclosingFunction(m) !== home && isUnconditional(m))) return false;
  const isOfOther = (m: ts.Expression): boolean =>
    ts.isPropertyAccessExpression(m) && m.getText() !== node.left.getText();
  const here = others.filter((m) => enclosingFunction(m) === home && !isOfOther(m));
  if (here.some((m) => deeds.get(m) === "ends" || isTested(m))) return false;
  const touches = (fn: ts.Node): boolean =>
    [...ended, ...mentions.filter(isTarget)].some((m) => m !== node.left && within(m, fn));
  const isLater = (call: ts.Node): boolean => comesLater(call, node);
  const seen = new Set<ts.Node>(home ? [home] : []);
  return !statementsOf(home ?? node.getSourceFile()).some((statement) =>
    reaches(session, statement, touches, isLater, seen),
  );
}

/** What a function or a script does itself; what it declares runs where it is called. */
function statementsOf(home: FunctionWithBody | ts.Node): readonly ts.Node[] {
  const body = hasBody(home) ? home.body : home;
  const all = ts.isSourceFile(body) || ts.isBlock(body) ? body.statements : [body];
  return all.filter((s) => !ts.isFunctionDeclaration(s) && !ts.isClassDeclaration(s));
}

/** Whether a call runs after an assignment, and not again before it; or makes the object. */
function comesLater(call: ts.Node, node: ts.Node): boolean {
  if (ts.isNewExpression(call)) return true;
  if (call.pos < node.end) return false;
  const turn = ts.findAncestor(node, (at) => ts.isIterationStatement(at, false));
  return !turn || !within(call, turn);
}
