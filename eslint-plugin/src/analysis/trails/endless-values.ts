/**
 * Endless values: what a program makes and gives on, into fields, lists, records and through its
 * functions, and that nothing ends wherever it may get to. Used by the rule for values that are
 * never disposed; `trails.ts` follows them.
 */
import ts from "typescript";
import { handedTo } from "../transfer/callbacks.ts";
import type { FreshValue, Outcome } from "../fresh/consume.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import { endingsOf, endsDevice, goesWithDevice, isDevice } from "../objects/endings.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { scopeCallback } from "../transfer/keeps.ts";
import { ownedMembers, type Member } from "../objects/members.ts";
import type { Owned } from "../program/oracle.ts";
import { isAnything, isHolder } from "../../owner.ts";
import { scopeObjectAt } from "../scopes/scope-objects.ts";
import type { Session } from "../session.ts";
import { baseOf, hasBody, unwrap, within, isStatic, type CallLike } from "../program/syntax.ts";
import { cleanedEffect } from "./cleaned-effects.ts";
import { earlyExit } from "../transfer/early-ends.ts";
import { asksForDevice, isMadeAgain } from "./made-again.ts";
import { isReplaced, isToReplace } from "./trail-ends.ts";
import { isDoneAgain, isOfModule } from "./module-tables.ts";
import type { Path } from "./trail-path.ts";
import { fieldNameOf, isDueAnEnd, isEndedFromOutside, isField } from "./trail-fields.ts";
import { Trail } from "./trails.ts";

/** A value that nothing ends. */
export interface EndlessValue {
  /** Where it is made. */
  made: ts.Expression;
  owned: Owned;
  /** The names, and what it passes through, in the file. */
  trail: readonly ts.Node[];
  /** The name to look at, in the same file: that of the field or variable that has it. */
  at: ts.Node;
  /** `this.x`, `x`; none for what has no name. */
  label: string;
  isField: boolean;
  /** Where it is ended, as messages say it. */
  where: string;
}

/** The values of a file that nothing in the program ends, one for each place. */
export function endlessValues(session: Session, fresh: readonly FreshValue[]): EndlessValue[] {
  const found = new Map<ts.Node, EndlessValue>();
  for (const value of fresh)
    for (const endless of endlessIn(session, value)) {
      if (!found.has(endless.at)) found.set(endless.at, endless);
    }
  return [...found.values()];
}

function endlessIn(session: Session, { node, owned, outcome }: FreshValue): EndlessValue[] {
  const { settings } = session;
  const isProtocol = settings.owners.some(({ policy }) => policy === "protocol");
  const countsAll = isProtocol || settings.untilExit === "reported";
  if (isAnything(owned.owner) || (isHolder(owned.owner, settings) && !countsAll)) return [];
  if (!goesOn.has(outcome) || ts.isPropertyAccessExpression(node)) return [];
  const isInitial = ts.findAncestor(node, ts.isPropertyDeclaration) !== undefined;
  if (!enclosingFunction(node) && !isInitial) return [];
  const asksLastEnd = owned.owner.policy === "generic";
  const isOfEffect = isMadeByEffect(session, node);
  const isOfPassing = owned.owner.policy === "generic" && isOfPassingObject(session, node);
  return pathsTo(owned).flatMap((path) => {
    const trail = new Trail(session, owned, isOfEffect || isOfPassing);
    let where = "nowhere";
    let isEndedEarly = false;
    let isReplacing = false;
    const counts = (end: ts.Node): boolean => {
      const exit = earlyExit(end, node);
      isEndedEarly ||= exit !== undefined;
      if (exit) where = `only when line ${String(lineOf(exit))} ${wordFor(exit)}`;
      else if (!asksLastEnd || !isReplaced(session, end, node)) return true;
      else {
        where = "only to replace it";
        isReplacing = true;
      }
      return false;
    };
    // most values end, and nothing else need be asked of them
    if (!trail.isEndless(node, path, counts) || !isOutOfScopes(session, node, trail)) return [];
    if (owned.owner.policy === "generic" && endsWithDevice(session, node)) return [];
    const isInTable = [...trail.places.keys()].some(isOfModule);
    if (isInTable && !trail.fills.some((at) => isDoneAgain(session, at))) return [];
    const file = node.getSourceFile();
    const place = placeOf(trail, file);
    const mayLast = owned.owner.policy === "generic" && !countsAll && !isOfEffect;
    const isOfField = place !== undefined && isField(place);
    const isDue = isReplacing && place !== undefined && isDueAnEnd(session, place);
    if (isReplacing && !countsAll && !isDue) return [];
    if (
      (isOfField || !(isOfPassing || isDue)) &&
      isExcused(session, place, node, mayLast || owned.owner.lost === "repeated")
    )
      return [];
    const nodes = [...trail.places.keys(), ...trail.nodes].filter(
      (n) => n.getSourceFile() === file && !isMadeIntoAnother(session, n),
    );
    const name = isEndedEarly ? firstName(node) : undefined;
    return [{ made: node, owned, where, trail: nodes, ...named(name ?? place, node) }];
  });
}

/** Whether a device is asked for, or a value made where its device or an owner's is destroyed. */
function endsWithDevice(session: Session, node: CallLike): boolean {
  if (isDevice(session, node)) return cleanedEffect(node) === undefined;
  const around: ts.Node[] = [];
  for (let at = enclosingFunction(node); at; at = enclosingFunction(at)) around.push(at);
  const holder = ts.findAncestor(node, ts.isClassLike);
  if (around.some((at) => endsDevice(session, at, (end) => !earlyExit(end, node)))) return true;
  return holder !== undefined && goesWithDevice(session, holder);
}

/** Whether an effect with a clean-up makes a value on a device that others have. */
function isMadeByEffect(session: Session, node: ts.Node): boolean {
  const effect = cleanedEffect(node);
  return effect !== undefined && !asksForDevice(session, effect);
}

/** Whether no scope frees a value: it is made outside of any, or as what a scope gives. */
function isOutOfScopes(session: Session, node: CallLike, { owned, hasLeft }: Trail): boolean {
  const { receiver } = session.oracle.callee(node);
  if (receiver && scopeObjectAt(session, receiver)) return false;
  // what they hold is made by others, and counts there
  const type = ts.isNewExpression(node) ? session.oracle.typeName(node) : "";
  if (/^(Promise|Map|Set)$/.test(type)) return false;
  const state = session.scopeAt(node);
  return state === "out" || (state === "in" && hasLeft && isInCallback(session, node, owned));
}

/**
 * A field that its class itself fills, where that has no end: only strict projects ask for one.
 * What may last as long as the program counts where a class that has an end forgets it.
 */
function isExcused(
  session: Session,
  place: ts.Declaration | undefined,
  made: ts.Node,
  mayLast: boolean,
): boolean {
  const holder = place && isField(place) ? ts.findAncestor(place, ts.isClassLike) : undefined;
  if (holder === undefined) return mayLast;
  const isOwn = within(made, holder) && !baseOf(holder) && isFilledHere(session, holder, place);
  if (!mayLast && !isOwn) return false;
  return endingsOf(holder).length === 0 && !isEndedFromOutside(session, holder);
}

/**
 * Whether it is made, for a bind group to know, by a constructor or a static method of a class
 * without an end, the objects of which come and go.
 */
function isOfPassingObject(session: Session, made: ts.Node): boolean {
  const home = enclosingFunction(made);
  if (!home || !hasBody(home) || !ts.isClassLike(home.parent)) return false;
  const { parent: node } = home;
  const isNew = (value: ts.Expression): boolean => ts.isNewExpression(unwrap(value));
  const isMaker = isStatic(home) && returnsOf(home).every(isNew);
  if (!ts.isConstructorDeclaration(home) && !isMaker) return false;
  if (baseOf(node) || endingsOf(node).length > 0 || goesWithDevice(session, node)) return false;
  return isMadeAgain(session, node) || isOfferedByName(session.oracle, node);
}

/** Whether a class itself puts into a field what it makes; others may give it to `new`. */
function isFilledHere(
  session: Session,
  holder: ts.ClassLikeDeclaration,
  place: ts.Declaration | undefined,
): boolean {
  if (session.settings.untilExit === "allowed") return true;
  const all = ownedMembers(session, holder);
  return place !== undefined && all.some(({ name }) => name === fieldNameOf(place));
}

/**
 * Whether something ends what a class puts into a field, there or wherever it gets to, and not only
 * to put another in its place.
 */
export const isEndedSomewhere = (session: Session, { name, makes }: Member): boolean =>
  makes.some((at) => {
    const owned = session.oracle.ownedAt(at);
    if (!owned) return false;
    const ends = pathsTo(owned).flatMap((path) => new Trail(session, owned).endsOf(at, path));
    return ends.some((end) => !isToReplace(session, end, name, makes));
  });

/** The variable that a value is made for. */
export function firstName(made: ts.Expression): ts.VariableDeclaration | undefined {
  const { kind, node } = fateOf(made);
  return kind === "bound" && ts.isVariableDeclaration(node) && ts.isIdentifier(node.name)
    ? node
    : undefined;
}

const lineOf = (node: ts.Node): number =>
  node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1;

const wordFor = (exit: ts.Node): string => (ts.isThrowStatement(exit) ? "throws" : "leaves");

/** What becomes of a value that somebody may end later. */
export const goesOn: ReadonlySet<Outcome> = new Set([
  "bound",
  "assigned",
  "returned",
  "kept",
  "unknown",
]);

/** The single values in what a call gives: itself, those of a list or of the fields of a record. */
export function pathsTo({ shape, fields, inner, each, mixed }: Owned): readonly Path[] {
  if (mixed) return [];
  if (shape === "one") return [[]];
  if (shape === "many") return each ? [] : [["*"]];
  return fields.flatMap((field) => {
    const part = inner?.get(field);
    return part ? pathsTo(part).map((path) => [field, ...path]) : [[field]];
  });
}

/** `cast(x, "int32")`, `x.neg()`: a report there is one on what is made of the value. */
function isMadeIntoAnother(session: Session, node: ts.Node): boolean {
  if (!ts.isIdentifier(node)) return false;
  const { kind, node: call } = fateOf(node);
  if (kind !== "receiver" && kind !== "argument") return false;
  return ts.isCallExpression(call) && session.freshness(call) === "fresh";
}

/** Whether a report stands on what a value passes through. */
export function isTold(
  { trail }: EndlessValue,
  told: readonly { start: number; end: number }[],
): boolean {
  const names = trail.flatMap((node) => {
    const { parent } = node;
    if (ts.isConditionalExpression(parent)) return parent;
    const isAsked = ts.isPropertyAccessExpression(parent) && parent.expression === node;
    return [nameOf(node) ?? [], isAsked ? parent.name : []].flat();
  });
  return told.some(({ start, end }) =>
    names.some((name) => name.getStart() < end && start < name.getEnd()),
  );
}

/** What one sees of a node: its name. */
function nameOf(node: ts.Node): ts.Node | undefined {
  if (ts.isIdentifier(node)) return node;
  if (ts.isPropertyAccessExpression(node)) return node.name;
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) return nameOf(node.expression);
  return (node as Partial<ts.NamedDeclaration>).name;
}

/**
 * What to look at: the field or variable that holds the value itself, or else one that holds what
 * has it. Of fields the first, which is that of the owner; of variables the last, which is the
 * farthest from where the value is made, but for names that a callback gives it for its own use.
 */
function placeOf({ places }: Trail, file: ts.SourceFile): ts.Declaration | undefined {
  const here = [...places].filter(([place]) => place.getSourceFile() === file);
  const direct = here.filter(([, path]) => path.length === 0).map(([place]) => place);
  const all = here.map(([place]) => place);
  return (
    direct.find(isField) ??
    direct.findLast((place) => isVariable(place) && !isInnerName(place, direct)) ??
    all.find(isField) ??
    all.findLast(isVariable) ??
    all.find((place) => ts.isVariableDeclaration(place)) ??
    all.find((place) => ts.isBindingElement(place) && !ts.findAncestor(place, ts.isParameter))
  );
}

/** Whether a name stands in a function inside that of another, which has the value before it. */
function isInnerName(place: ts.Declaration, places: readonly ts.Declaration[]): boolean {
  const inner = enclosingFunction(place);
  return places.slice(0, places.indexOf(place)).some((earlier) => {
    const outer = enclosingFunction(earlier);
    return inner && outer && inner !== outer && isVariable(earlier) && within(inner, outer);
  });
}

const isVariable = (place: ts.Declaration): boolean =>
  ts.isVariableDeclaration(place) && !ts.isForOfStatement(place.parent.parent);

/** Where a place has its name, and how it is called. Scripts declare fields by `this.x = …`. */
function named(
  place: ts.Declaration | undefined,
  made: ts.Expression,
): Pick<EndlessValue, "at" | "label" | "isField"> {
  const target = place && ts.isBinaryExpression(place) ? place.left : place;
  const at = target && (target as ts.NamedDeclaration).name;
  if (!place || !at) return { at: made, label: "", isField: false };
  const text = at.getText();
  return isField(place)
    ? { at, label: `this.${text}`, isField: true }
    : { at, label: text, isField: false };
}

/** Whether the scope of a value is that of a callback whose result leaves it. */
function isInCallback(session: Session, node: ts.Node, owned: Owned): boolean {
  const fn = enclosingFunction(node);
  const call = fn && hasBody(fn) ? handedTo(fn) : undefined;
  return (
    call !== undefined &&
    ts.isCallExpression(call) &&
    scopeCallback(session, call, session.oracle.callee(call), owned) !== undefined
  );
}
