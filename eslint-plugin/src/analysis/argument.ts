/**
 * Arguments: describes a call and one of its arguments for the table in `transfer.ts`: tags,
 * settings, the callee's body by its summary. Reached through `session.effect`.
 */
import ts from "typescript";
import type { Owner } from "../owner.ts";
import { builtinArgument } from "./containers.ts";
import { disposesArguments } from "./disposes.ts";
import { isEndedAfter } from "./ended-after.ts";
import { argumentOf } from "./fate.ts";
import { holdsOn, isLent } from "./holding.ts";
import { keptBy } from "./keeps.ts";
import type { Callee, Owned } from "./oracle.ts";
import type { ParameterEffect, Session } from "./session.ts";
import { fieldEffect } from "./summary.ts";
import { memberName, unwrap, type CallLike, type FunctionWithBody } from "./syntax.ts";
import { transferArgument, type Argument, type Effect } from "./transfer.ts";

/** What a call does to one of its arguments, or to a value inside a literal among them. */
export function effectOf(session: Session, call: CallLike, node: ts.Node): Effect {
  const place = argumentOf(call, node);
  const owned = session.oracle.ownedAt(node);
  if (!place || !owned) return "unknown";
  return transferArgument(describe(session, call, node, place, owned));
}

interface Place {
  argument: ts.Expression;
  index: number;
}

function describe(
  session: Session,
  call: CallLike,
  node: ts.Node,
  place: Place,
  owned: Owned,
): Argument {
  const { oracle } = session;
  const callee = oracle.callee(call);
  const { owner } = owned;
  const { tags } = callee;
  const name = parameterName(callee, place.index);
  return {
    taggedTakes: tags.keeps || (name !== "" && tags.takes.includes(name)),
    taggedBorrows: name !== "" && tags.borrows.includes(name),
    get freeing() {
      return disposesArguments(session, call, owned);
    },
    get taking() {
      return owner.takes.some(
        (t) => t.args.includes(place.index) && oracle.is(callee, [t.callee], owner),
      );
    },
    get keeping() {
      return ts.isCallExpression(call) && keptBy(session, call, callee, owned) !== undefined;
    },
    first: place.index === 0,
    get held() {
      return holdsOn(session, call, owner);
    },
    get lent() {
      return isLent(callee, owner);
    },
    builtin: callee.builtin ? builtinArgument(callee.name) : null,
    ofOwner: callee.member === owner && owner.args !== "transfer",
    get body() {
      return callee.body ? bodyEffect(session, callee.body, place, node, owned) : null;
    },
    get contract() {
      return borrowsByContract(session, call, callee, owner);
    },
    get endedAfter() {
      return isEndedAfter(session, call, node, owned);
    },
  };
}

function parameterName(callee: Callee, index: number): string {
  const declaration = callee.declaration as Partial<ts.SignatureDeclaration> | undefined;
  const parameter = declaration?.parameters?.[index];
  return parameter && ts.isIdentifier(parameter.name) ? parameter.name.text : "";
}

function bodyEffect(
  session: Session,
  body: FunctionWithBody,
  place: Place,
  node: ts.Node,
  owned: Owned,
): Effect {
  const { parameters } = body;
  const last = parameters[parameters.length - 1];
  const isRest = last?.dotDotDotToken !== undefined && place.index >= parameters.length;
  const index = isRest ? parameters.length - 1 : place.index;
  const parameter = parameters[index];
  if (!parameter) return "borrows"; // more arguments than the function looks at
  const argument = unwrap(place.argument);
  if (ts.isObjectLiteralExpression(argument) && argument !== node) {
    const property = argument.properties.find(
      (p) =>
        (ts.isPropertyAssignment(p) && unwrap(p.initializer) === node) ||
        (ts.isShorthandPropertyAssignment(p) && p.name === node),
    );
    if (!property?.name || isRest) return "unknown";
    const field = memberName(property.name);
    return field === ""
      ? "unknown"
      : fromParameter(session, body, fieldEffect(session, body, parameter, field), owned);
  }
  const effect = session.summary(body).parameters[index];
  return effect ? fromParameter(session, body, effect, owned) : "borrows";
}

function fromParameter(
  session: Session,
  body: FunctionWithBody,
  effect: ParameterEffect,
  owned: Owned,
): Effect {
  if (effect.disposes) return "disposes";
  if (effect.stores) return "takes";
  if (!effect.returns) return "borrows";
  if (ts.isConstructorDeclaration(body)) return "takes";
  return session.summary(body).result === "borrowed" && owned.shape === "one"
    ? "passes"
    : "unknown";
}

/** Whether the owner's protocol says that functions of its library only look at what they get. */
const borrowsByContract = (
  session: Session,
  call: CallLike,
  callee: Callee,
  owner: Owner,
): boolean =>
  owner.args !== "transfer" &&
  !ts.isNewExpression(call) &&
  owner.policy !== "generic" &&
  session.oracle.fromLibrary(callee, owner);
