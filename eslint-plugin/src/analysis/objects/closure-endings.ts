/**
 * Closure endings: a function that returns an object of functions is a class written otherwise. The
 * variables they share are its fields, and one of the functions ends the object. Which one that is,
 * and which variables it leaves. Used by `left-behind.ts`.
 */
import ts from "typescript";
import { isAnything, isHolder, type Owner } from "../../owner.ts";
import { functionHanded } from "../program/callee.ts";
import { closing, endsDevice, isDevice } from "./endings.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { leftOutOf } from "../lists/partial-records.ts";
import type { Session } from "../session.ts";
import { leaves } from "../flow/slot-touches.ts";
import { slotsOfVariable, type Slot } from "../flow/slots.ts";
import {
  hasBody,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { givenTo } from "../untyped/untyped-records.ts";

/** What ends the object that a function returns. */
export interface ClosureEnding {
  name: string;
  body: ts.Node;
  /** It and the functions it calls. */
  run: ReadonlySet<ts.Node>;
}

/** What such an end leaves: a variable, or a field of a record in one. */
export interface LeftShared {
  label: string;
  at: ts.Expression;
  owner: Owner;
}

/** The ending of the one object that a function returns: by its name, or because it ends values. */
export function closureEnding(session: Session, fn: FunctionWithBody): ClosureEnding | undefined {
  const values = session.oracle.facts.of(fn, returnsOf);
  const literals = values.map((value) => literalOf(session, unwrap(value)));
  const [literal] = literals;
  if (!literal || literals.some((other) => other !== literal)) return undefined;
  const all = literal.properties.flatMap((property): ClosureEnding[] => {
    const name = property.name && memberName(property.name);
    if (name === undefined || !(isFinal(name) || closing.test(name))) return [];
    const given = givenTo(property);
    const body = given ? functionHanded(session.oracle, given) : property;
    if (!body || !hasBody(body)) return [];
    return [{ name, body, run: functionsRun(session, body) }];
  });
  const named = all.filter(({ name }) => isFinal(name));
  const found = named.length > 0 ? named : all.filter(({ run }) => endsSomething(session, run));
  const [first] = found;
  return first && { ...first, run: new Set(found.flatMap(({ run }) => [...run])) };
}

/** Whether a name says that an object is done with. */
export const isFinal = (name: string): boolean =>
  /^(dispose|destroy|@@dispose|@@asyncDispose)$/.test(name);

/** The object literal that a value is, or that a variable is given. */
export function literalOf(
  session: Session,
  value: ts.Node,
): ts.ObjectLiteralExpression | undefined {
  if (ts.isObjectLiteralExpression(value)) return value;
  const declaration = ts.isIdentifier(value) ? session.oracle.declarationAt(value) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration) || !declaration.initializer)
    return undefined;
  const initial = unwrap(declaration.initializer);
  return ts.isObjectLiteralExpression(initial) ? initial : undefined;
}

/** A function and those of its file that it calls or names, directly or not. */
export function functionsRun(session: Session, start: ts.Node): ReadonlySet<ts.Node> {
  const { facts, program } = session.oracle;
  const known = facts.once(program, functionsRun, () => new Map<ts.Node, readonly ts.Node[]>());
  const found = new Set([start]);
  for (const fn of found) {
    let next = known.get(fn);
    if (!next) known.set(fn, (next = functionsNamed(session, fn)));
    for (const other of next) found.add(other);
  }
  return found;
}

/** The functions of a file that one of them calls or names. */
function functionsNamed({ oracle }: Session, fn: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    const called = ts.isCallExpression(node) ? oracle.callee(node).body : undefined;
    const named = ts.isIdentifier(node) ? functionHanded(oracle, node) : undefined;
    for (const next of [called, named])
      if (next?.getSourceFile() === fn.getSourceFile()) found.push(next);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(fn, visit);
  return found;
}

const endsSomething = (session: Session, run: ReadonlySet<ts.Node>): boolean =>
  [...run].some((fn) =>
    someWithin(
      fn,
      (at) =>
        (ts.isIdentifier(at) || ts.isPropertyAccessExpression(at)) &&
        session.transfer(at).effect === "disposes",
    ),
  );

/**
 * `let line = zeros(…); return { push() { line.dispose(); line = …; }, destroy() {} }`: the values
 * that closures share, and that their end leaves.
 */
export function leftShared(
  session: Session,
  fn: FunctionWithBody,
  ending: ClosureEnding,
): LeftShared[] {
  return session.oracle.facts.variables(fn.getSourceFile()).flatMap((declaration) => {
    if (enclosingFunction(declaration) !== fn || mayNotRunOnce(declaration, fn)) return [];
    const slots = slotsOfVariable(session, declaration).filter((s) =>
      isDue(session, s, fn, ending),
    );
    const [whole] = slots;
    if (whole?.kind === "variable") return leftOf(session, whole, ending);
    return slots.flatMap((slot) => leftOf(session, slot, ending));
  });
}

/** What of one slot an ending leaves. */
export function leftOf(session: Session, slot: Slot, { run }: ClosureEnding): LeftShared[] {
  const { label, owned, mentions, makes } = slot;
  const { owner } = owned;
  const ended = mentions.filter((m) => isWithin(m, run));
  if (ended.some((m) => isTarget(m) || !leaves(session, m)))
    return makes.flatMap((at) =>
      leftOutOf(session, { label, at, owned, mentions: ended }).map((part) => ({ ...part, owner })),
    );
  const [at] = makes;
  return at ? [{ label, at, owner }] : [];
}

/** Whether a node stands in one of some functions. */
export const isWithin = (node: ts.Node, run: ReadonlySet<ts.Node>): boolean =>
  [...run].some((fn) => within(node, fn));

/** Whether closures share what a slot holds, and nobody else may end it. */
export function isDue(session: Session, slot: Slot, fn: ts.Node, { run }: ClosureEnding): boolean {
  const { owned, makes, mentions } = slot;
  const { owner } = owned;
  const isLeft = owner.policy === "generic" && [...run].some((at) => endsDevice(session, at));
  const isGeneric = owner.policy === "generic" && !isHolder(owner, session.settings);
  if (isLeft || (isGeneric && !endsOneByOne(session, makes, run))) return false;
  if (!makes.some((at) => mayLackScope(session, at))) return false;
  if (mentions.every((m) => enclosingFunction(m) === fn)) return false;
  const isEnded = mentions.some((m) => !leaves(session, m));
  if (isEnded && isAnything(owner)) return false;
  const others = mentions.filter((m) => !isWithin(m, run));
  if ((isGeneric || owned.shape !== "many") && others.some((m) => isEndedForGood(session, slot, m)))
    return false;
  return mentions.every((m) => {
    const isOut = fateOf(m).kind === "returned" && !fateOf(m).conditional;
    return !isOut || (isEnded && enclosingFunction(m) !== fn);
  });
}

/** Whether an end ends GPU objects one by one. */
const endsOneByOne = (
  session: Session,
  makes: readonly ts.Expression[],
  run: ReadonlySet<ts.Node>,
): boolean => endsSomething(session, run) && !makes.some((at) => isDevice(session, at));

/** Whether a mention ends or hands on what a slot holds, in a function that does not fill it. */
function isEndedForGood(session: Session, slot: Slot, mention: ts.Expression): boolean {
  const place = enclosingFunction(mention);
  if (leaves(session, mention)) return false;
  return !slot.mentions.some((m) => enclosingFunction(m) === place && fills(session, m));
}

/** Whether a mention is given something, be it null, or something is put into it. */
const fills = (session: Session, mention: ts.Expression): boolean =>
  isTarget(mention) || session.transfer(mention).effect === "receives";

/** Whether a node below a function stands in a loop or where something may throw before it. */
export const mayNotRunOnce = (node: ts.Node, fn: ts.Node): boolean => {
  for (let at = node.parent; at !== fn; at = at.parent)
    if (ts.isIterationStatement(at, false) || ts.isTryStatement(at)) return true;
  return false;
};
