/**
 * Refilled records: a field of a class that holds a record, of which a method ends a part each time
 * before it puts the next record there: `this.best?.image.dispose(); this.best = { image };`. So
 * the part is the class's own, whoever made it, and the end of the class still owes the last one.
 * Used by the rule about members.
 */
import ts from "typescript";
import { endingsOf, type Ending } from "./endings.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { reach } from "./class-reach.ts";
import { mentionsField } from "./members.ts";
import type { Owned } from "../program/oracle.ts";
import { deedOf } from "./overwritten-places.ts";
import type { Session } from "../session.ts";
import { isEmptyContainer, isEquality, isNullish, isTarget, unwrap } from "../program/syntax.ts";
import { fieldsOf, isHidden, keptMembers, type Field } from "./taken-fields.ts";

/** A part of a record that the endings of a class leave. */
export interface LeftPart {
  /** How messages call it: `this.best.image`. */
  label: string;
  /** Where the field is declared. */
  at: ts.PropertyDeclaration;
  owned: Owned;
  ending: Ending;
}

/** The parts of refilled records that the endings of a class never speak of. */
export function leftParts(session: Session, node: ts.ClassLikeDeclaration): LeftPart[] {
  const { facts } = session.oracle;
  const endings = endingsOf(node);
  const [ending] = endings;
  if (!ending) return [];
  const starts = endings.map(({ member }) => member);
  const run = [...reach(session.oracle, node, starts)];
  const fields = facts
    .of(node, fieldsOf)
    .filter(({ name }) => !run.some((member) => mentionsField(facts, member, name)));
  return fields.flatMap((field): LeftPart[] => {
    const end = endOfPart(session, field);
    const owned = end && session.oracle.ownedAt(end);
    if (!owned || owned.owner.policy !== "protocol" || !isHidden(session, field)) return [];
    if (keptMembers(session, node).some(({ name }) => name === field.name)) return [];
    return [{ label: `this.${field.name}.${end.name.text}`, at: field.member, owned, ending }];
  });
}

/** Where the one part of a record is ended that is: before each store of another record. */
function endOfPart(session: Session, field: Field): ts.PropertyAccessExpression | undefined {
  const ends: ts.PropertyAccessExpression[] = [];
  for (const mention of field.mentions) {
    const { parent } = mention;
    if (isTarget(mention) || isCompared(mention)) continue;
    if (!ts.isPropertyAccessExpression(parent) || parent.expression !== mention) return undefined;
    const deed = session.oracle.ownedAt(parent) ? deedOf(session, parent) : "looks";
    const isGivenOut = session.transfer(parent).effect === "returns";
    if (deed === "other" || isGivenOut || isTarget(parent)) return undefined;
    if (deed === "ends") ends.push(parent);
  }
  const [end] = ends;
  if (!end || ends.some(({ name }) => name.text !== end.name.text)) return undefined;
  const given = field.stores.filter((v) => !isNullish(unwrap(v)) && !isEmptyContainer(unwrap(v)));
  const isRefilled =
    given.every((value) => ends.some((at) => comesBefore(at, value))) &&
    ends.every((at) => given.some((value) => comesBefore(at, value)));
  return given.length > 0 && isRefilled ? end : undefined;
}

/** Whether the statements of one block end a part and then give the field another record. */
function comesBefore(end: ts.Node, value: ts.Expression): boolean {
  const ended = ts.findAncestor(end, ts.isExpressionStatement);
  const store = ts.findAncestor(value, ts.isExpressionStatement);
  if (!ended || !store || enclosingFunction(end) !== enclosingFunction(value)) return false;
  return ended.parent === store.parent && ended.pos < store.pos;
}

/** `this.best === null`. */
const isCompared = ({ parent }: ts.Node): boolean =>
  ts.isBinaryExpression(parent) && isEquality(parent);
