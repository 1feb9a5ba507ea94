/**
 * Live flags: a flag beside a place that says whether what the place holds is alive:
 * `if (!this.resident) { this.texture = make(); this.resident = true; }`, where the flag is taken
 * back only beside an end: `this.texture.destroy(); this.resident = false;`. Such a store finds
 * nothing that lives. Used by the verbs about what assignments lose.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { accessesByName } from "../program/field-index.ts";
import { referencesTo } from "../program/references.ts";
import { isTarget, unwrap, variableName, within } from "../program/syntax.ts";
import { leaves } from "../program/ways.ts";
import type { Session } from "../session.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Slot } from "../flow/slots.ts";

/** A flag, and the value that it has on the way to a node. */
interface Asked {
  flag: ts.Expression;
  value: boolean;
}

/** Whether a store is only come to where a flag says that what the slot held has been ended. */
export function isFlaggedDead(session: Session, slot: Slot, store: ts.Node): boolean {
  const home = enclosingFunction(store);
  return (
    home !== undefined && askedBefore(store, home).some((at) => tells(session, slot, store, at))
  );
}

/** What tests say of flags, on the way to a node. */
function askedBefore(node: ts.Node, home: ts.Node): Asked[] {
  const found: Asked[] = [];
  for (let at = node; at !== home && !ts.isSourceFile(at); at = at.parent) {
    const { parent } = at;
    if (ts.isIfStatement(parent) && at !== parent.expression)
      found.push(...asked(parent.expression, at === parent.thenStatement));
    if (!ts.isBlock(parent)) continue;
    for (const statement of parent.statements)
      if (ts.isIfStatement(statement) && statement.end <= at.pos && leaves(statement.thenStatement))
        found.push(...asked(statement.expression, false));
  }
  return found;
}

/** What the answer to a test says: `on`, `!on`, `on === false`, `on && …` where that holds. */
function asked(test: ts.Expression, truth: boolean): Asked[] {
  const bare = unwrap(test);
  if (ts.isIdentifier(bare) || ts.isPropertyAccessExpression(bare))
    return [{ flag: bare, value: truth }];
  if (ts.isPrefixUnaryExpression(bare))
    return bare.operator === ts.SyntaxKind.ExclamationToken ? asked(bare.operand, !truth) : [];
  if (!ts.isBinaryExpression(bare)) return [];
  const { left, right, operatorToken } = bare;
  const operator = operatorToken.getText();
  if (operator === (truth ? "&&" : "||")) return [...asked(left, truth), ...asked(right, truth)];
  const known = literalOf(right);
  if (known === undefined || !/^[!=]==?$/.test(operator)) return [];
  return asked(left, known === (operator.startsWith("=") === truth));
}

/** Whether a flag that has a value tells that what a slot held has been ended. */
function tells(session: Session, slot: Slot, store: ts.Node, { flag, value }: Asked): boolean {
  const { oracle } = session;
  const isField = ts.isPropertyAccessExpression(flag);
  if (isField && flag.expression.kind !== ts.SyntaxKind.ThisKeyword) return false;
  const declaration = oracle.declarationAt(isField ? flag.name : flag);
  if (!declaration || oracle.ownedAt(flag)) return false;
  const sets = setsOf(session, flag, declaration);
  if (!sets?.every(({ given }) => given !== undefined)) return false;
  const isFirst = ({ node }: FlagSet): boolean => isSetUp(node, slot);
  const starts = sets.filter(isFirst);
  if (slot.atOnce && !(starts.length > 0 && starts.every(({ given }) => given !== value)))
    return false;
  const later = sets.filter((set) => !isFirst(set));
  const ends = slot.mentions.filter((m) => session.transfer(m).effect === "disposes");
  const dead = later.filter(({ given }) => given === value);
  if (dead.length === 0 || !dead.every(({ node }) => ends.some((end) => areBeside(end, node))))
    return false;
  const revives = (at: ts.Node): boolean =>
    later.some(({ node, given }) => given !== value && isAround(node, at));
  // `this.x.destroy(); this.x = make();` leaves it as alive as it was
  const isReplaced = (at: ts.Node): boolean => {
    const fn = enclosingFunction(at);
    const isHere = (other: ts.Node): boolean => enclosingFunction(other) === fn;
    return ends.some((e) => e.pos < at.pos && isHere(e)) && !dead.some(({ node }) => isHere(node));
  };
  return (
    revives(store) &&
    slot.mentions
      .filter((m) => isTarget(m) && m.parent !== store && !isSetUp(m, slot))
      .every((m) => revives(m) || isReplaced(m))
  );
}

/** Where a flag is given a value, and which; nothing for one that is computed. */
interface FlagSet {
  node: ts.Node;
  given: boolean | undefined;
}

/** Everything that a flag is given. */
function setsOf(
  { oracle }: Session,
  flag: ts.Expression,
  declaration: ts.Declaration,
): FlagSet[] | undefined {
  const { initializer } = declaration as Partial<ts.VariableDeclaration>;
  const start = initializer ? [{ node: declaration, given: literalOf(initializer) }] : [];
  const name = variableName(declaration);
  const mentions = ts.isPropertyAccessExpression(flag)
    ? sourcesFor(oracle, declaration).flatMap((file) =>
        (oracle.facts.of(file, accessesByName).get(flag.name.text) ?? []).filter(
          (at) => oracle.declarationAt(at.name) === declaration,
        ),
      )
    : name && ts.isVariableDeclaration(declaration)
      ? referencesTo(oracle, declaration, name, declaration.getSourceFile())
      : undefined;
  return (
    mentions && [
      ...start,
      ...mentions.filter(isTarget).map(({ parent }) => ({
        node: parent,
        given:
          ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
            ? literalOf(parent.right)
            : undefined,
      })),
    ]
  );
}

const literalOf = (node: ts.Expression): boolean | undefined => {
  const { kind } = unwrap(node);
  if (kind === ts.SyntaxKind.TrueKeyword) return true;
  return kind === ts.SyntaxKind.FalseKeyword ? false : undefined;
};

/** Where the object is made, or in the function whose variable the slot is. */
function isSetUp(node: ts.Node, { home }: Slot): boolean {
  if (ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) return true;
  const fn = enclosingFunction(node);
  return fn === undefined || fn === home || ts.isConstructorDeclaration(fn);
}

/** `this.x.destroy(); this.alive = false;`: statements of one block. */
const areBeside = (one: ts.Node, other: ts.Node): boolean =>
  blockOf(one) !== undefined && blockOf(one) === blockOf(other);

/** Whether who comes to a place comes to a statement as well, which stands beside or around it. */
const isAround = (statement: ts.Node, at: ts.Node): boolean => {
  const block = blockOf(statement);
  return (
    block !== undefined &&
    within(at, block) &&
    enclosingFunction(at) === enclosingFunction(statement)
  );
};

/** The block that the statement is in which an expression is. */
function blockOf(node: ts.Node): ts.Node | undefined {
  const statement = ts.findAncestor(node, ts.isStatement);
  return statement && ts.isExpressionStatement(statement) && ts.isBlock(statement.parent)
    ? statement.parent
    : undefined;
}
