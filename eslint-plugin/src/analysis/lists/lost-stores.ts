/**
 * Lost lists: assignments to a variable that lose the values its list held, where nothing has
 * disposed or kept them. Used by the rule about overwritten values, which reports only where no
 * scope would free them.
 */
import ts from "typescript";
import { putValues } from "../program/containers.ts";
import { givesPart } from "./left-out.ts";
import { effectInside } from "../transfer/mention.ts";
import { lostInnerLists } from "./inner-lists.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { isEmptyContainer, isNullish, unwrap, within } from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** An assignment that loses a value. */
export interface LostStore {
  node: ts.BinaryExpression;
  owned: Owned;
  /** How the old value is written, where that is not as the left side is. */
  held?: ts.Expression;
  /** Part of a list takes the place of the whole. */
  part?: boolean;
}

/** Every assignment of a file that loses what its left side held. */
export function lostStores(session: Session, file: ts.SourceFile): LostStore[] {
  const { facts } = session.oracle;
  return [
    ...facts.variables(file).flatMap((node) => lostLists(session, node)),
    ...lostInnerLists(session, file),
  ];
}

const isAssignment = (node: ts.Node): node is ts.BinaryExpression =>
  ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;

const isNothing = (value: ts.Expression): boolean =>
  isNullish(unwrap(value)) || isEmptyContainer(unwrap(value));

/**
 * `frames = []` or `frames = frames.slice(1)` in a function, where `frames` starts empty, is given
 * fresh values one by one, and is only looked at elsewhere.
 */
function lostLists(session: Session, declaration: ts.VariableDeclaration): LostStore[] {
  const { name, initializer } = declaration;
  const flags = ts.getCombinedNodeFlags(declaration);
  if (!ts.isIdentifier(name) || !(flags & ts.NodeFlags.Let) || !initializer) return [];
  if (!isEmptyContainer(unwrap(initializer)) || isExportedVariable(declaration)) return [];
  const owned = session.oracle.ownedAt(name);
  if (owned?.shape !== "many") return [];
  const home = enclosingFunction(declaration);
  const stores: ts.BinaryExpression[] = [];
  let at: ts.Expression | undefined;
  const root = home ?? declaration.getSourceFile();
  for (const id of referencesTo(session.oracle, declaration, name, root)) {
    if (id === name) continue;
    const put = putInto(session, id);
    if (isAssignment(id.parent) && id.parent.left === id) stores.push(id.parent);
    else if (put) at = put;
    else if (stores.some((s) => within(id, s.right))) continue;
    else if (!onlyLooksAt(effectInside(session, session.transfer(id)))) return [];
  }
  if (!at || !mayLackScope(session, at)) return [];
  const part = (s: ts.BinaryExpression): boolean => givesPart(session, s.right, s.left);
  if (!stores.every((s) => isNothing(s.right) || part(s))) return [];
  return stores.flatMap((node): LostStore[] => {
    const place = enclosingFunction(node);
    return place && place !== home ? [{ node, owned, part: part(node) }] : [];
  });
}

/** The last fresh value that `frames.push(t)` puts into a list, where all of them are fresh. */
function putInto(session: Session, list: ts.Identifier): ts.Expression | undefined {
  const { effect, fate } = session.transfer(list);
  if (effect !== "receives" || !ts.isCallExpression(fate.node)) return undefined;
  const values = putValues(fate.member, fate.node.arguments);
  return values.every((v) => session.freshness(v) === "fresh") ? values.at(-1) : undefined;
}

const isExportedVariable = (declaration: ts.VariableDeclaration): boolean =>
  (ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Export) !== 0;
