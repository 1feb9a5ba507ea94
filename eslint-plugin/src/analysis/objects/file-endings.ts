/**
 * File endings: functions by which others end what a file keeps in its own variables, in an object
 * of functions, or in static fields: `export function dispose() { … }`. These are classes with one
 * instance; what their ending leaves is lost. Used by `left-behind.ts`.
 */
import ts from "typescript";
import { nameOf } from "../program/call-sites.ts";
import {
  functionsRun,
  isDue,
  isWithin,
  leftOf,
  type ClosureEnding,
  type LeftShared,
} from "./closure-endings.ts";
import { closing } from "./endings.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import { isMadeToEnd } from "./left-fields.ts";
import type { Session } from "../session.ts";
import { leaves } from "../flow/slot-touches.ts";
import { slotsOfVariable, staticSlots, type Slot } from "../flow/slots.ts";
import {
  isEmptyContainer,
  isNullish,
  isTarget,
  memberName,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";

/** What an ending of a file leaves. */
export interface LeftInFile extends LeftShared {
  ending: string;
}

/** Places that live as long as the file, and what stands around their functions. */
interface Group {
  home: ts.Node;
  slots: readonly Slot[];
}

/** A function that ends some of a group. */
interface FileEnding extends ClosureEnding {
  fn: FunctionWithBody;
}

/** What the endings of a file leave of what it keeps. */
export function leftByFile(session: Session, file: ts.SourceFile): LeftInFile[] {
  const ends = session.oracle.facts
    .functions(file)
    .filter((fn) => enclosingFunction(fn) === undefined && endingName(fn) !== undefined);
  if (ends.length === 0) return [];
  return groupsOf(session, file).flatMap((group) => leftOfGroup(session, group, ends));
}

/** The name of a function that ends an object, or all that a file keeps. */
function endingName(fn: FunctionWithBody): string | undefined {
  const name = fn.name && !ts.isIdentifier(fn.name) ? memberName(fn.name) : nameOf(fn);
  if (name === undefined) return undefined;
  return isMadeToEnd(fn) || closing.test(name) || name.startsWith("@@") ? name : undefined;
}

function groupsOf(session: Session, file: ts.SourceFile): Group[] {
  const { facts } = session.oracle;
  const variables: Slot[] = [];
  const groups: Group[] = [{ home: file, slots: variables }];
  for (const declaration of facts.variables(file)) {
    if (enclosingFunction(declaration)) continue;
    const slots = slotsOfVariable(session, declaration);
    variables.push(...slots.filter(({ kind }) => kind === "variable"));
    if (declaration.initializer)
      groups.push({
        home: unwrap(declaration.initializer),
        slots: slots.filter(({ kind }) => kind === "property"),
      });
  }
  for (const node of facts.classes(file))
    groups.push({ home: node, slots: staticSlots(session, node) });
  return groups.filter(({ slots }) => slots.length > 0);
}

function leftOfGroup(
  session: Session,
  { home, slots }: Group,
  ends: readonly FunctionWithBody[],
): LeftInFile[] {
  const all = ends
    .filter((fn) => ts.isSourceFile(home) || holderOf(fn) === home)
    .map((fn): FileEnding => {
      return { fn, name: endingName(fn) ?? "", body: fn, run: functionsRun(session, fn) };
    });
  const endings = all.filter(
    (e) =>
      slots.some((slot) => endsIn(session, slot, e.run)) &&
      !all.some((other) => other !== e && other.run.has(e.fn)),
  );
  const [only] = endings;
  return slots.flatMap((slot) => {
    if (!slot.makes.some((at) => enclosingFunction(at) !== undefined)) return []; // lasts
    const mayEnd = endings.length === 1 && (!ts.isSourceFile(home) || !namesThing(only?.name));
    const ending = mayEnd ? only : endings.find((e) => areTogether(session, slot, slots, e));
    if (!ending || !isDue(session, slot, home, ending)) return [];
    if (isEndedElsewhere(session, slot, ending)) return [];
    return leftOf(session, slot, ending).map((left) => ({ ...left, ending: ending.name }));
  });
}

/** Whether a function beside an ending ends what a place holds, and fills it with nothing. */
function isEndedElsewhere(session: Session, slot: Slot, { run }: FileEnding): boolean {
  return slot.mentions.some((m) => {
    if (isWithin(m, run) || isTarget(m) || leaves(session, m)) return false;
    const place = enclosingFunction(m);
    return !slot.mentions.some((o) => enclosingFunction(o) === place && fills(session, o));
  });
}

/** Whether a mention gives a place something to hold. */
function fills(session: Session, mention: ts.Expression): boolean {
  if (!isTarget(mention)) return session.transfer(mention).effect === "receives";
  const { parent } = mention;
  const value = ts.isBinaryExpression(parent) ? unwrap(parent.right) : mention;
  return !isNullish(value) && !isEmptyContainer(value);
}

/** The class or the object that a function is a member of. */
const holderOf = (fn: ts.Node): ts.Node =>
  ts.isPropertyAssignment(fn.parent) || ts.isPropertyDeclaration(fn.parent)
    ? fn.parent.parent
    : fn.parent;

/** `disposeModel`, and not `disposeAll`: what it ends may not be all. */
const namesThing = (name = ""): boolean =>
  /[a-z][A-Z]/.test(name) && !/(All|Everything|Up|Down|Resources)$/.test(name);

const endsIn = (session: Session, { mentions }: Slot, run: ReadonlySet<ts.Node>): boolean =>
  mentions.some((m) => isWithin(m, run) && !isTarget(m) && !leaves(session, m));

const fillsIn = (session: Session, { mentions }: Slot, run: ReadonlySet<ts.Node>): boolean =>
  mentions.some((m) => isWithin(m, run) && fills(session, m));

/** Whether some function fills a place and what an ending ends, or asks for that end. */
function areTogether(
  session: Session,
  slot: Slot,
  slots: readonly Slot[],
  { fn: end, run: ended }: FileEnding,
): boolean {
  const others = slots.filter((other) => other !== slot && endsIn(session, other, ended));
  return session.oracle.facts.functions(end.getSourceFile()).some((fn) => {
    if (fn === end || ended.has(fn)) return false;
    const run = functionsRun(session, fn);
    if (!fillsIn(session, slot, run)) return false;
    return run.has(end) || others.some((other) => fillsIn(session, other, run));
  });
}
