/**
 * Moved fields: `const old = this.x; this.x = null; …; old.dispose();`: what a function takes out
 * of a field, or out of a variable around it, and ends itself is its own from there on, so that an
 * early way out leaves it behind. Used by `value-events.ts`.
 */
import ts from "typescript";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import { isTarget, someWithin, unwrap } from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { endsHere } from "../transfer/ended-after.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";
import { visitVerb } from "./mention-events.ts";
import { asksAbout } from "./taken-over.ts";

/** Whether a constant takes what a field holds, which its function then ends at its end. */
export function isMovedFrom(
  session: Session,
  declaration: ts.VariableDeclaration,
  owned: Owned,
): boolean {
  const { name, initializer } = declaration;
  const home = enclosingFunction(declaration);
  if (!initializer || !home || !ts.isIdentifier(name) || owned.shape === "record") return false;
  if (!(ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)) return false;
  const statement = declaration.parent.parent;
  const block = statement.parent;
  if (!ts.isVariableStatement(statement) || !ts.isBlock(block)) return false;
  const place = unwrap(initializer);
  if (!isOuter(session, place, home)) return false;
  const next = block.statements[block.statements.indexOf(statement) + 1];
  if (!next || !isRefilled(session, next, place, name)) return false;
  const ids = referencesTo(session.oracle, declaration, name, home).filter((id) => id !== name);
  const ends = (id: ts.Identifier): boolean =>
    owned.shape === "many" ? endsEach(session, id) : endsHere(session, id, owned);
  const isLook = (id: ts.Identifier): boolean =>
    !isTarget(id) && onlyLooksAt(effectInside(session, session.transfer(id)));
  if (!ids.every((id) => enclosingFunction(id) === home && (ends(id) || isLook(id)))) return false;
  const end = ids.find((id) => ends(id) && ts.findAncestor(id, ts.isStatement)?.parent === block);
  if (!end) return false;
  const between = block.statements.filter((s) => s.pos > statement.pos && s.end <= end.pos);
  const names = [name.text, ...namesFrom(block, [name.text, place.getText()])];
  return !between.some((s) => asksAbout(s, names) || asksObject(s));
}

/** The `n` of `const n = all.length`, beside `all` or the field that it was. */
const namesFrom = (block: ts.Block, places: readonly string[]): string[] =>
  block.statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) =>
    declarationList.declarations.flatMap(({ name, initializer }) => {
      const speaks = (at: ts.Node): boolean => places.includes(at.getText());
      return initializer && someWithin(initializer, speaks) ? [name.getText()] : [];
    }),
  );

/** `if (!this.isOwn) return`: a flag of the object may say whose it is. */
const asksObject = (statement: ts.Statement): boolean =>
  someWithin(
    statement,
    (at) =>
      ts.isIfStatement(at) &&
      someWithin(at.expression, (inner) => inner.kind === ts.SyntaxKind.ThisKeyword),
  );

/** `this.x`, or a variable of a function around this one or of the module. */
function isOuter({ oracle }: Session, place: ts.Expression, home: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(place))
    return place.expression.kind === ts.SyntaxKind.ThisKeyword;
  const source = ts.isIdentifier(place) ? oracle.declarationAt(place) : undefined;
  return (
    source !== undefined && ts.isVariableDeclaration(source) && enclosingFunction(source) !== home
  );
}

/** `this.x = null;`, and not `this.x = keep(old);`. */
function isRefilled(
  session: Session,
  next: ts.Statement,
  place: ts.Expression,
  name: ts.Identifier,
): boolean {
  if (!ts.isExpressionStatement(next) || !ts.isBinaryExpression(next.expression)) return false;
  const { left, right, operatorToken: sign } = next.expression;
  const speaks = (at: ts.Node): boolean => ts.isIdentifier(at) && at.text === name.text;
  return (
    sign.kind === ts.SyntaxKind.EqualsToken &&
    samePlace(session.oracle, left, place) &&
    !someWithin(right, speaks)
  );
}

/** `for (const t of taken) t.dispose()`, `taken.forEach((t) => t.dispose())`. */
function endsEach(session: Session, id: ts.Identifier): boolean {
  const { effect, fate } = session.transfer(id);
  return effect === "visits" && visitVerb(session, fate) === "dispose";
}
