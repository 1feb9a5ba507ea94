/**
 * Variants: the records that a slot may hold, as they are written where it is given one, and which
 * of them a test leaves: after `if (state.kind === "on") return;` it is one of those whose kind is
 * another, after `if (state.texture) return;` one without a texture. A slot whose remaining
 * variants hold nothing is empty. Used by `slot-events.ts`, which gives the variants to the cell,
 * and by `refined.ts`.
 */
import ts from "typescript";
import { referencesTo } from "../program/references.ts";
import {
  isAssignment,
  isEquality,
  isNullish,
  isTarget,
  memberName,
  unwrap,
  valueGiven,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { fateOf } from "../transfer/fate.ts";
import { choiceArms } from "./gathers.ts";
import type { Slot } from "./slots.ts";

/** A record that a slot is given. */
export interface Variant {
  /** What each of its parts is given, by name. */
  parts: ReadonlyMap<string, ts.Expression>;
  /** The names of the parts that hold owned values. */
  holds: readonly string[];
  /** The names of those that surely do. */
  surely: readonly string[];
}

/** The variants of a slot, and the parts of which these say nothing, since they change. */
export interface Variants {
  all: readonly Variant[];
  changing: ReadonlySet<string>;
}

/** What a test says when control goes on: `test`, or whether it is the same as `other`. */
export interface Answer {
  test: ts.Expression;
  /** For the clause of a `switch` on `test`. */
  other?: ts.Expression;
  truth: boolean;
}

// ---- what a slot is given ----

/** The variants of a slot that is only given records that are written out. */
export function variantsOf(session: Session, slot: Slot): Variants | undefined {
  if (slot.kind === "ref" || slot.owned.shape !== "record") return undefined;
  const values = valuesOf(session, slot)?.flatMap(choices);
  if (!values || values.length === 0) return undefined;
  const all: Variant[] = [];
  for (const value of values) {
    if (isNullish(value)) continue;
    const variant = ts.isObjectLiteralExpression(value) ? variantOf(session, value) : undefined;
    if (!variant) return undefined;
    all.push(variant);
  }
  const changing = new Set<string>();
  for (const { name, value } of slot.mentions.flatMap((m) => partsStored(session, m))) {
    if (value && session.oracle.ownedAt(value)) return undefined;
    const holding = all.filter(({ holds }) => holds.includes(name));
    if (!value || !isNullish(value) || holding.length === 0) changing.add(name);
    // `state.a = null`, where the `b` of the same record goes on
    else if (holding.some(({ holds }) => holds.length > 1)) return undefined;
  }
  return { all, changing };
}

/** Everything that a slot is given; nothing where that is not all written in the file. */
function valuesOf({ oracle }: Session, { mentions }: Slot): ts.Expression[] | undefined {
  const [first] = mentions;
  if (!first) return undefined;
  const place = ts.isPropertyAccessExpression(first) ? first.name : first;
  const declaration = oracle.declarationAt(place);
  const isWritten =
    !declaration ||
    ts.isVariableDeclaration(declaration) ||
    ts.isPropertyDeclaration(declaration) ||
    ts.isPropertyAssignment(declaration);
  if (!isWritten && !ts.isPropertyAccessExpression(declaration) && !isAssignment(declaration))
    return undefined;
  const start = isWritten ? declaration?.initializer : undefined;
  const found = start ? [unwrap(start)] : [];
  for (const { parent } of mentions.filter(isTarget)) {
    if (!ts.isBinaryExpression(parent)) return undefined;
    found.push(valueGiven(parent));
  }
  return found;
}

/** `on ? { … } : { … }`: either. */
function choices(value: ts.Expression): ts.Expression[] {
  const bare = unwrap(value);
  return choiceArms(bare)?.flatMap(choices) ?? [bare];
}

/** What a literal says of its parts, where it names all of them. */
function variantOf(
  { oracle }: Session,
  { properties }: ts.ObjectLiteralExpression,
): Variant | undefined {
  const parts = new Map<string, ts.Expression>();
  for (const property of properties) {
    const value = ts.isPropertyAssignment(property)
      ? unwrap(property.initializer)
      : ts.isShorthandPropertyAssignment(property)
        ? property.name
        : undefined;
    const name = property.name ? memberName(property.name) : "";
    if (!value || name === "") return undefined;
    parts.set(name, value);
  }
  const owned = [...parts].flatMap(([name, value]) => {
    const found = oracle.ownedAt(value);
    return found ? [{ name, found }] : [];
  });
  return {
    parts,
    holds: owned.map(({ name }) => name),
    surely: owned.flatMap(({ name, found }) => (found.nullable ? [] : [name])),
  };
}

/** `state.frames = 0`, `state.frames++`, under the name of a constant too. */
function partsStored(
  { oracle }: Session,
  mention: ts.Expression,
): { name: string; value: ts.Expression | undefined }[] {
  const { kind, node } = fateOf(mention);
  const named = kind === "bound" && ts.isVariableDeclaration(node) ? node : undefined;
  const names =
    named && ts.isIdentifier(named.name)
      ? referencesTo(oracle, named, named.name, mention.getSourceFile())
      : [];
  return [mention, ...names].flatMap((place) => {
    const { node: part, kind: use } = fateOf(place);
    if (use !== "read" || !ts.isPropertyAccessExpression(part)) return [];
    const { parent } = part;
    const isCounted =
      (ts.isPrefixUnaryExpression(parent) || ts.isPostfixUnaryExpression(parent)) &&
      /^(\+\+|--)$/.test(ts.tokenToString(parent.operator) ?? "");
    if (!isTarget(part) && !isCounted && !ts.isDeleteExpression(parent)) return [];
    const store = ts.isBinaryExpression(parent) ? valueGiven(parent) : undefined;
    return [{ name: part.name.text, value: store }];
  });
}

// ---- what a test leaves of it ----

/** Whether all the variants that an answer leaves of a slot hold nothing. */
export function leavesNothing(
  { all, changing }: Variants,
  answer: Answer,
  isSlot: (place: ts.Expression) => boolean,
): boolean {
  const asked = askedOf(answer, isSlot);
  if (!asked || changing.has(asked.part)) return false;
  const left = all.filter((variant) => asked.says(variant) !== !asked.truth);
  return left.length < all.length && left.every(({ holds }) => holds.length === 0);
}

/** A question about one part of a record. */
interface Asked {
  part: string;
  truth: boolean;
  /** What it says of a variant; nothing where that is not known. */
  says: (variant: Variant) => boolean | undefined;
}

function askedOf(
  { test, other, truth }: Answer,
  isSlot: (place: ts.Expression) => boolean,
): Asked | undefined {
  const bare = unwrap(test);
  const partOf = (at: ts.Expression): string | undefined => {
    const access = unwrap(at);
    return ts.isPropertyAccessExpression(access) && isSlot(unwrap(access.expression))
      ? access.name.text
      : undefined;
  };
  const compared = (one: ts.Expression, two: ts.Expression, same: boolean): Asked | undefined => {
    const [part, value] = [partOf(one), unwrap(two)];
    return part === undefined
      ? undefined
      : { part, truth: same, says: (variant) => isSame(variant, part, value) };
  };
  if (other) return compared(bare, other, truth);
  if (ts.isPrefixUnaryExpression(bare) && bare.operator === ts.SyntaxKind.ExclamationToken)
    return askedOf({ test: bare.operand, truth: !truth }, isSlot);
  const part = partOf(bare);
  if (part !== undefined) return { part, truth, says: (v) => isThere(v, part) };
  if (!ts.isBinaryExpression(bare)) return undefined;
  const { left, right, operatorToken } = bare;
  if (isEquality(bare)) {
    const same = operatorToken.getText().startsWith("=") === truth;
    return compared(left, right, same) ?? compared(right, left, same);
  }
  const isIn = operatorToken.kind === ts.SyntaxKind.InKeyword && isSlot(unwrap(right));
  const name = ts.isStringLiteralLike(left) ? left.text : undefined;
  if (!isIn || name === undefined) return undefined;
  return { part: name, truth, says: ({ parts }) => parts.has(name) };
}

/** Whether a part of a variant is as good as `true`. */
function isThere({ parts, surely }: Variant, name: string): boolean | undefined {
  const value = parts.get(name);
  if (!value || isNullish(value)) return false;
  if (surely.includes(name)) return true;
  const known = constantOf(value);
  if (known !== undefined) return known !== "false" && known !== "0" && known !== '""';
  return ts.isObjectLiteralExpression(value) || ts.isArrayLiteralExpression(value) || undefined;
}

/** Whether a part of a variant is the same as something. */
function isSame({ parts, surely }: Variant, name: string, to: ts.Expression): boolean | undefined {
  const value = parts.get(name);
  const other = constantOf(to);
  // `=== null` may well be asked of what is not there
  if (!value || isNullish(value)) return isNullish(to) || (other === undefined ? undefined : false);
  const known = constantOf(value);
  if (isNullish(to)) return known !== undefined || surely.includes(name) ? false : undefined;
  if (known !== undefined && other !== undefined) return known === other;
  if (!areConstants(value, to)) return undefined;
  return value.getText() === to.getText();
}

/** What a literal stands for. */
function constantOf(value: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(value)) return JSON.stringify(value.text);
  if (ts.isNumericLiteral(value)) return value.text;
  const isTruth =
    value.kind === ts.SyntaxKind.TrueKeyword || value.kind === ts.SyntaxKind.FalseKeyword;
  return isTruth ? value.getText() : undefined;
}

/** `Kind.Idle` and `Kind.On`, `IDLE` and `ON`: constants, told apart by their names. */
function areConstants(one: ts.Expression, two: ts.Expression): boolean {
  if (ts.isIdentifier(one) && ts.isIdentifier(two))
    return isConstantName.test(one.text) && isConstantName.test(two.text);
  if (!ts.isPropertyAccessExpression(one) || !ts.isPropertyAccessExpression(two)) return false;
  const [kind, other] = [one.expression, two.expression];
  return ts.isIdentifier(kind) && /^[A-Z]/.test(kind.text) && kind.text === other.getText();
}
const isConstantName = /^[A-Z][A-Z0-9_]*$/;
