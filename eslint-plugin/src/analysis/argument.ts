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
import { holdsListed, holdsOn, isLent } from "./holding.ts";
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
  return transferArgument(new Described(session, call, node, place, owned));
}

interface Place {
  argument: ts.Expression;
  index: number;
}

/** A call and an argument as the table sees them; what is dear to know is asked for. */
class Described implements Argument {
  readonly taggedTakes: boolean;
  readonly taggedBorrows: boolean;
  readonly first: boolean;
  readonly builtin: Effect | null;
  readonly #session: Session;
  readonly #call: CallLike;
  readonly #node: ts.Node;
  readonly #place: Place;
  readonly #owned: Owned;
  readonly #callee: Callee;

  constructor(session: Session, call: CallLike, node: ts.Node, place: Place, owned: Owned) {
    this.#session = session;
    this.#call = call;
    this.#node = node;
    this.#place = place;
    this.#owned = owned;
    this.#callee = session.oracle.callee(call);
    const { tags, builtin, name: called } = this.#callee;
    const name = parameterName(this.#callee, place.index);
    this.taggedTakes = tags.keeps || (name !== "" && tags.takes.includes(name));
    this.taggedBorrows = name !== "" && tags.borrows.includes(name);
    this.first = place.index === 0;
    this.builtin = builtin ? builtinArgument(called) : null;
  }

  get freeing(): boolean {
    return disposesArguments(this.#session, this.#call, this.#owned);
  }
  get taking(): boolean {
    const { owner } = this.#owned;
    return owner.takes.some(
      (t) =>
        t.args.includes(this.#place.index) &&
        this.#session.oracle.is(this.#callee, [t.callee], owner),
    );
  }
  get keeping(): boolean {
    const call = this.#call;
    return (
      ts.isCallExpression(call) &&
      keptBy(this.#session, call, this.#callee, this.#owned) !== undefined
    );
  }
  get held(): boolean {
    const { owner } = this.#owned;
    return (
      holdsOn(this.#session, this.#call, owner) ||
      holdsListed(this.#session, this.#call, this.#node, owner)
    );
  }
  get lent(): boolean {
    return isLent(this.#callee, this.#owned.owner);
  }
  get ofOwner(): boolean {
    const { owner } = this.#owned;
    return this.#callee.member === owner && owner.args !== "transfer";
  }
  get body(): Effect | null {
    const { body } = this.#callee;
    if (!body) return null;
    const effect = bodyEffect(this.#session, body, this.#place, this.#node, this.#owned);
    const unclear = effect === "borrows" && isLoose(this.#session, body, this.#place, this.#owned);
    return unclear ? "unknown" : effect;
  }
  get contract(): boolean {
    return borrowsByContract(this.#session, this.#call, this.#callee, this.#owned.owner);
  }
  get endedAfter(): boolean {
    return isEndedAfter(this.#session, this.#call, this.#node, this.#owned);
  }
}

function parameterName(callee: Callee, index: number): string {
  const declaration = callee.declaration as Partial<ts.SignatureDeclaration> | undefined;
  const parameter = declaration?.parameters?.[index];
  return parameter && ts.isIdentifier(parameter.name) ? parameter.name.text : "";
}

/** `add(...parts: (Part | Part[])[])`: a parameter of which the type does not say what it is. */
function isLoose(
  { oracle }: Session,
  { parameters }: FunctionWithBody,
  { index }: Place,
  { owner }: Owned,
): boolean {
  const parameter = parameters[index] ?? parameters.at(-1);
  if (owner.args !== "transfer" || !parameter?.type) return false;
  return parameter.dotDotDotToken !== undefined || oracle.ownedAt(parameter.name)?.owner !== owner;
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
