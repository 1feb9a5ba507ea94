/**
 * Arguments: describes a call and one of its arguments for the table in `transfer.ts`: tags,
 * settings, the callee's body by its summary. Reached through `session.effect`.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { asksPackage } from "./asked-packages.ts";
import { builtinArgument, puts } from "../program/containers.ts";
import { disposesArguments } from "./disposes.ts";
import { isEndedAfter, isEndedByCallback } from "./ended-after.ts";
import { endsGathered } from "./ends-given.ts";
import { argumentOf, fateOf } from "./fate.ts";
import { lendsToHanded } from "./handed-functions.ts";
import { isMadeByLibrary } from "../fresh/is-fresh.ts";
import { isHeldHere } from "./held-here.ts";
import { holdsListed, holdsOn, isLent } from "./holding.ts";
import { keptBy } from "./keeps.ts";
import { isLentTo, namesOver, parameterName, pathWithin } from "./lending.ts";
import type { Callee, Owned } from "../program/oracle.ts";
import { functionsOf, implementationsSeen } from "../program/possible-callees.ts";
import { ownedMember } from "../program/ownership.ts";
import type { ParameterEffect, Session } from "../session.ts";
import { fieldEffect } from "./summary.ts";
import { endsInside } from "../flow/slot-touches.ts";
import {
  hasBody,
  someWithin,
  unwrap,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { transferArgument, type Argument, type Effect } from "./transfer.ts";

/** What a call does to one of its arguments, or to a value inside a literal among them. */
export function effectOf(
  session: Session,
  call: CallLike,
  node: ts.Node,
  owned: Owned | null = session.oracle.ownedAt(node),
): Effect {
  const place = argumentOf(call, node);
  if (!place || !owned) return "unknown";
  const open = call.arguments?.slice(0, place.index + 1).some(ts.isSpreadElement) === true;
  return transferArgument(new Described(session, call, node, { ...place, open }, owned));
}

interface Place {
  argument: ts.Expression;
  index: number;
  /** A spread before it, or it is one: it may stand anywhere from there on. */
  open: boolean;
}

/** A call and an argument as the table sees them; what is dear to know is asked for. */
class Described implements Argument {
  readonly taggedTakes: boolean;
  readonly taggedBorrows: boolean;
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
    const { tags, name: called } = this.#callee;
    const name = parameterName(this.#callee, place.index);
    const takes = name !== "" && tags.takes.includes(name);
    this.taggedTakes = tags.keeps || (takes && !givesBack(session, this.#callee, place.index));
    this.taggedBorrows = name !== "" && tags.borrows.includes(name);
    const isFirst = place.index === 0;
    const [into] = call.arguments ?? [];
    const isOld = into !== undefined && !ts.isObjectLiteralExpression(unwrap(into));
    const isBuiltin = this.#callee.builtin || isListed(this.#callee, owned);
    const isKey = isFirst && isWeak(session, this.#callee);
    const known = isBuiltin && !isKey ? builtinArgument(called, !isFirst && isOld) : null;
    this.builtin = isKey ? "nothing" : known;
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
    return this.#kept() !== undefined;
  }
  get handedBack(): boolean {
    return this.#kept() === this.#place.argument;
  }
  #kept(): ts.Expression | undefined {
    const call = this.#call;
    if (!ts.isCallExpression(call)) return undefined;
    return keptBy(this.#session, call, this.#callee, this.#owned);
  }
  get held(): boolean {
    const { owner } = this.#owned;
    return (
      holdsOn(this.#session, this.#call, owner) ||
      holdsListed(this.#session, this.#call, this.#node, this.#owned)
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
    const found = bodyEffect(this.#session, body, this.#place, this.#node, this.#owned);
    const isOpen = found === "takes" || found === "unknown";
    const parameter = body.parameters[this.#place.index];
    return isOpen && isHeldHere(this.#session, this.#call, body, parameter) ? "borrows" : found;
  }
  get contract(): boolean {
    return borrowsByContract(this.#session, this.#call, this.#callee, this.#owned.owner);
  }
  get overridden(): Effect | null {
    const method = overrideOf(this.#session, this.#callee);
    if (!method) return null;
    return bodyEffect(this.#session, method, this.#place, this.#node, this.#owned);
  }
  get handed(): boolean {
    return (
      lendsToHanded(this.#session, this.#call, this.#place.index, this.#owned.owner) ||
      this.#isLentToAll()
    );
  }
  get asked(): boolean {
    return asksPackage(this.#session, this.#call, this.#callee, this.#owned);
  }
  get endedByCallback(): boolean {
    return isEndedByCallback(this.#session, this.#call, this.#node, this.#owned);
  }
  get endedAfter(): boolean {
    return isEndedAfter(this.#session, this.#call, this.#node, this.#owned);
  }

  get claimed(): boolean {
    const { name, body, receiver } = this.#callee;
    const isGeneric = this.#owned.owner.policy === "generic";
    const looks = /^(assert|invariant)$/.test(name) || (isGeneric && looking.test(name));
    return looks && !body && !receiver && fateOf(this.#call).kind === "dropped";
  }

  /**
   * `pass.apply(t)`, where all that write such a method only look, as the protocol asks, and
   * `augment(t)` of a constant for which a function is made, `const augment = compose(a, b)`.
   */
  #isLentToAll(): boolean {
    const { declaration } = this.#callee;
    if (!declaration || this.#owned.owner.policy !== "protocol") return false;
    const { oracle } = this.#session;
    const all = ts.isVariableDeclaration(declaration)
      ? functionsOf(oracle, declaration)
      : implementationsSeen(oracle, declaration);
    const looks = (fn: FunctionWithBody): boolean =>
      bodyEffect(this.#session, fn, this.#place, this.#node, this.#owned) === "borrows";
    const possible = all?.filter((fn) => !this.#isOfOtherType(fn)) ?? [];
    return possible.length > 0 && possible.every(looks);
  }

  /** Whether a function can't be the one that is called: its parameter is something else. */
  #isOfOtherType({ parameters }: FunctionWithBody): boolean {
    const name = parameters[this.#place.index]?.name;
    const taken = name && this.#session.oracle.ownedAt(name);
    const { owner, shape } = this.#owned;
    return Boolean(taken && !taken.mixed && (taken.owner !== owner || taken.shape !== shape));
  }
}

/** Names of functions that do something with an object once, and do not keep it. */
const looking =
  /^(draw|render|encode|write|upload|copy|blit|dispatch|fill|clear|read|dump|print|log)([A-Z_]|$)/;

/** `lists.get(key).push(t)`: nobody knows the type of the list, but its method says what it is. */
const isListed = ({ declaration, library, receiver, name }: Callee, { owner }: Owned): boolean =>
  declaration === undefined &&
  library === undefined &&
  receiver !== undefined &&
  owner.policy === "generic" &&
  puts(name);

/** `seen.add(t)`, `sizes.set(t, 3)` of a weak set or map: nobody gets the key from it. */
const isWeak = ({ oracle }: Session, { builtin, name, receiver }: Callee): boolean =>
  builtin &&
  receiver !== undefined &&
  puts(name) &&
  /^Weak(Map|Set)$/.test(oracle.typeName(receiver));

/** Whether a function that takes a value does nothing but give it back. */
const givesBack = (session: Session, { body }: Callee, index: number): boolean =>
  body !== undefined && session.summary(body).parameters[index]?.givesBack === true;

/** `add(...parts: (Part | Part[])[])`: a parameter of which the type does not say what it is. */
const isLoose = (
  { oracle }: Session,
  parameter: ts.ParameterDeclaration,
  { owner }: Owned,
): boolean =>
  owner.args === "transfer" &&
  parameter.type !== undefined &&
  (parameter.dotDotDotToken !== undefined || oracle.ownedAt(parameter.name)?.owner !== owner);

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
  if (!parameter) {
    if (endsGathered(session, body, place.open ? undefined : place.index, owned)) return "disposes";
    // more arguments than the function looks at
    return last && isLoose(session, last, owned) ? "unknown" : "borrows";
  }
  const { argument } = place;
  if (ts.isObjectLiteralExpression(unwrap(argument)) && unwrap(argument) !== node)
    return isRest ? "unknown" : insideEffect(session, body, parameter, argument, node, owned);
  const effect = session.summary(body).parameters[index];
  const seen = effect ? fromParameter(session, body, effect, owned) : "borrows";
  const isGathered = seen === "borrows" && parameter.dotDotDotToken !== undefined;
  const at = place.open ? undefined : place.index - index;
  const found = isGathered && endsGathered(session, body, at, owned) ? "disposes" : seen;
  if (found === "borrows" && owned.shape === "record" && walksToEnd(body, parameter))
    return "unknown";
  const loose = isLoose(session, parameter, owned);
  const isRecord = owned.shape === "record";
  if (found === "borrows" ? !loose : found === "disposes" || !isRecord) return found;
  const areLooks = isRecord
    ? areLent(session, body, parameter, owned)
    : isLentTo(session, body, parameter, [], owned);
  return areLooks ? "borrows" : found === "borrows" ? "unknown" : found;
}

/** The method that the library runs for a call of its own: `forward` for `model.call(batch)`. */
function overrideOf(
  session: Session,
  { name, receiver, body }: Callee,
): FunctionWithBody | undefined {
  if (body || !receiver) return undefined;
  for (const { method } of session.settings.owners
    .flatMap((owner) => owner.overrides)
    .filter(({ calledBy }) => calledBy.includes(name))) {
    const written = session.oracle.memberAt(receiver, method)?.valueDeclaration;
    if (hasBody(written)) return written;
  }
  return undefined;
}

/** `for (const t of [...entry.read, ...entry.write]) t.destroy();`: ends lists of a record. */
function walksToEnd(body: FunctionWithBody, { name }: ts.ParameterDeclaration): boolean {
  if (!ts.isIdentifier(name)) return false;
  const isOfIt = (node: ts.Node): boolean =>
    someWithin(node, (n) => ts.isIdentifier(n) && n.text === name.text);
  return someWithin(body, (node) => {
    if (ts.isForOfStatement(node)) return isOfIt(node.expression) && endsInside(node);
    return (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      /^(forEach|map)$/.test(node.expression.name.text) &&
      isOfIt(node.expression.expression) &&
      endsInside(node)
    );
  });
}

/** What a function does to a value that is handed to it inside a record. */
function insideEffect(
  session: Session,
  body: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
  argument: ts.Expression,
  node: ts.Node,
  owned: Owned,
): Effect {
  if (ts.isSpreadAssignment(node.parent)) {
    const over = namesOver(node.parent);
    const isDirect = node.parent.parent === unwrap(argument) && owned.shape === "record";
    const others = owned.fields.filter((f) => !over.includes(f));
    const left = { ...owned, fields: others };
    return isDirect && areLent(session, body, parameter, left) ? "borrows" : "unknown";
  }
  const path = pathWithin(node as ts.Expression, argument);
  const [field, ...deeper] = path === "over" ? [] : (path ?? []);
  if (!path || path === "over" || field === undefined) return "unknown";
  const isLent =
    owned.shape === "record"
      ? areLent(session, body, parameter, owned, path)
      : isLentTo(session, body, parameter, path, owned);
  if (isLent) return "borrows";
  if (deeper.length > 0) return "unknown";
  const effect = fieldEffect(session, body, parameter, field);
  const found = fromParameter(session, body, effect, owned);
  return found === "borrows" && isLoose(session, parameter, owned) ? "unknown" : found;
}

/** Whether a function only looks at the fields of a record that it is given. */
const areLent = (
  session: Session,
  body: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
  record: Owned,
  path: readonly string[] = [],
): boolean =>
  record.fields.every((field) =>
    isLentTo(session, body, parameter, [...path, field], ownedMember(record, field)),
  );

function fromParameter(
  session: Session,
  body: FunctionWithBody,
  effect: ParameterEffect,
  owned: Owned,
): Effect {
  if (effect.disposes) return "disposes";
  if (effect.givesBack) return owned.shape === "one" ? "passes" : "unknown";
  if (effect.stores) return "takes";
  if (!effect.returns) return "borrows";
  if (ts.isConstructorDeclaration(body)) return "takes";
  // `({ latent, visits })`: who has the record has what is in it
  const isPart = session.oracle.ownedResult(body)?.shape === "record";
  return session.summary(body).result === "borrowed" && owned.shape === "one" && !isPart
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
  owner.policy !== "generic" &&
  (owner.policy === "protocol" || !ts.isNewExpression(call)) &&
  (session.oracle.fromLibrary(callee, owner) || isMadeByLibrary(session, callee, owner));
