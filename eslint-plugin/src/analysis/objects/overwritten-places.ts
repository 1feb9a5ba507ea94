/**
 * Overwritten places: fields, and variables that functions share, which one function fills without
 * a look at what they hold, though another ends that by hand. Who ends a place owns what is in it,
 * so that what stood there before is lost. Flow-insensitive: any end, test or other name in the
 * function itself, in what it calls or in what calls it, silences. Used by the rule about
 * overwritten values, after all rules have checked.
 */
import ts from "typescript";
import { sourcesFor, sourcesOf } from "../program/call-index.ts";
import { callSitesOf, nameOf } from "../program/call-sites.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { isEmptied, isEmptiedBetween } from "../lists/emptied-between.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import { isExported } from "../program/exported.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import { accessesByName, elementsByName } from "../program/field-index.ts";
import { isCompared } from "../transfer/looked-at.ts";
import { isDetaching } from "../transfer/keeps.ts";
import type { LostStore } from "../lists/lost-stores.ts";
import { managed } from "./members.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { effectInside } from "../transfer/mention.ts";
import { visitVerb } from "../flow/mention-events.ts";
import type { Oracle, Owned } from "../program/oracle.ts";
import { isAnything } from "../../owner.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import { runsOften } from "../trails/runs-often.ts";
import type { Session } from "../session.ts";
import { endsInside, walkTogether } from "../flow/slot-touches.ts";
import {
  hasBody,
  isEmptyContainer,
  isNullish,
  isTarget,
  memberName,
  rootOf,
  someWithin,
  unwrap,
  within,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { getsNothing } from "./field-deeds.ts";
import { isGuardedAlike } from "./guarded-alike.ts";
import { filledBy, mayBeEndedBefore, objectOf } from "./ended-by-callers.ts";
import { isChainedTwice } from "./chained-twice.ts";
import { mayEnd } from "../trails/trail-closures.ts";
import { isUnconditional } from "./taken-fields.ts";
import { isField, isHidden } from "../trails/trail-fields.ts";
import { onlyLooksAt, type Effect } from "../transfer/transfer.ts";
import { isFilledAt, isForBetter } from "../program/better.ts";
import { leaves, testAround } from "../program/ways.ts";

/** What a mention does with what a place holds. */
export type Deed = "looks" | "ends" | "other";

/** A place, and everything that speaks of it in the program. */
interface Place {
  declaration: ts.Declaration;
  mentions: readonly ts.Expression[];
  owned: Owned;
}

const furthest = 3;
/** Whoever calls more functions than this, directly or not, is left alone. */
const mostCalls = 40;

/** The assignments of a file by which places lose what they held. */
export function overwrittenPlaces(session: Session, file: ts.SourceFile): LostStore[] {
  if (!session.settings.owners.some(({ policy }) => policy === "protocol")) return [];
  return session.oracle.facts.assignments(file).flatMap((node) => {
    const home = enclosingFunction(node);
    if (node.operatorToken.kind !== ts.SyntaxKind.EqualsToken || !hasBody(home)) return [];
    if (ts.isConstructorDeclaration(home)) return [];
    const value = unwrap(node.right);
    if (isNullish(value) || isEmptyContainer(value) || keepsRest(value)) return [];
    const place = placeOf(session, node.left, home);
    return place && isLost(session, place, node, home) ? [{ node, owned: place.owned }] : [];
  });
}

function placeOf(session: Session, left: ts.Expression, home: ts.Node): Place | undefined {
  const { oracle } = session;
  const isName = ts.isIdentifier(left);
  if (!isName && !ts.isPropertyAccessExpression(left)) return undefined;
  if (!isName && !mayBeEnded(oracle, left.name.text)) return undefined; // asks for no types
  const owned = oracle.ownedAt(left);
  if (!owned || isAnything(owned.owner)) return undefined;
  const declaration = oracle.declarationAt(isName ? left : left.name);
  if (!declaration || declaration.getSourceFile().isDeclarationFile) return undefined;
  if (isName) {
    if (!ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
      return undefined;
    const owner = enclosingFunction(declaration);
    if (!owner || owner === home || !within(home, owner)) return undefined;
    const mentions = referencesTo(oracle, declaration, declaration.name, owner);
    return { declaration, owned, mentions: mentions.filter((id) => id !== declaration.name) };
  }
  if (!isField(declaration) && !ts.isPropertySignature(declaration)) return undefined;
  if (isOpen(session, declaration, left.name.text)) return undefined;
  if (!isOfOthers(session, left.expression)) return undefined;
  return { declaration, owned, mentions: mentionsOfField(session, declaration, left.name.text) };
}

/** Whether anything of the program may end a field of a name, as far as it is written. */
const mayBeEnded = (oracle: Oracle, name: string): boolean =>
  oracle.facts
    .of(oracle.program, sourcesOf)
    .some(
      (file) =>
        oracle.facts.of(file, elementsByName).has(name) ||
        (oracle.facts.of(file, accessesByName).get(name) ?? []).some(mayBeEndedAt),
    );

/** Not `x.size = 3` and `x.size + 1`: it or a field receives an end, or something has it. */
function mayBeEndedAt({ parent }: ts.PropertyAccessExpression): boolean {
  if (ts.isPropertyAccessExpression(parent))
    return [parent, parent.parent].some(
      (at) => ts.isPropertyAccessExpression(at) && (mayEnd(at.name.text) || isWalker(at)),
    );
  return !ts.isBinaryExpression(parent) || /^[?|&]/.test(parent.operatorToken.getText());
}

const isWalker = ({ name }: ts.PropertyAccessExpression): boolean =>
  /^(values|entries|forEach|map|splice|pop|shift|clear|delete)$/.test(name.text);

/** Whether others than the program may end what a field holds. */
function isOpen({ oracle }: Session, field: ts.Declaration, name: string): boolean {
  const holder = ts.findAncestor(
    field,
    (n): n is ts.ClassLikeDeclaration | ts.InterfaceDeclaration =>
      ts.isClassLike(n) || ts.isInterfaceDeclaration(n),
  );
  if (holder === undefined || isHidden(field, name)) return false;
  return ts.isInterfaceDeclaration(holder)
    ? isOfferedByName(oracle, holder)
    : isExported(oracle.facts, holder);
}

/** Whether an object is one that the function finds, and has not made itself. */
function isOfOthers(session: Session, object: ts.Expression): boolean {
  const root = rootOf(object);
  if (root.kind === ts.SyntaxKind.ThisKeyword) return true;
  const source = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  if (!source) return false;
  if (ts.isParameter(source) || ts.isClassLike(source)) return true;
  if (!ts.isVariableDeclaration(source)) return ts.isBindingElement(source);
  const { initializer, parent } = source;
  if (ts.isForOfStatement(parent.parent)) return true;
  if (!initializer) return false;
  const made = unwrap(initializer);
  if (ts.isIdentifier(made) || ts.isPropertyAccessExpression(made)) return true;
  if (ts.isElementAccessExpression(made)) return true;
  if (!ts.isCallExpression(made)) return false;
  const { body } = session.oracle.callee(made);
  if (!body) return isFound(made);
  const isMethod = ts.isPropertyAccessExpression(made.expression);
  return session.oracle.facts
    .of(body, returnsOf)
    .every((at) => (isMethod && ts.isIdentifier(unwrap(at))) || isFound(unwrap(at)));
}

/** `stack.find(isWanted)`, `layers.get(name)`. */
const isFound = (made: ts.Expression): boolean =>
  ts.isCallExpression(made) &&
  ts.isPropertyAccessExpression(made.expression) &&
  /^(get|find|at|findLast)$/.test(made.expression.name.text);

/** Everything of a program that speaks of a field, by whatever object. */
export function mentionsOfField(
  { oracle }: Session,
  declaration: ts.Declaration,
  name: string,
): ts.Expression[] {
  const { parent } = declaration;
  const holder = ts.isConstructorDeclaration(parent) ? parent.parent : parent;
  return sourcesFor(oracle, declaration).flatMap((file) => {
    const accesses = oracle.facts.of(file, accessesByName).get(name) ?? [];
    const elements = oracle.facts.of(file, elementsByName).get(name) ?? [];
    const own = accesses.filter((at) => oracle.declarationAt(at.name) === declaration);
    const isOf = ({ parent: pattern }: ts.BindingElement): boolean => {
      const { initializer } = pattern.parent;
      const holders = oracle.declarationsAt(initializer ?? pattern);
      return holders.length === 0 || holders.includes(holder as ts.Declaration);
    };
    const taken = elements.flatMap((element) =>
      ts.isIdentifier(element.name) && isOf(element)
        ? referencesTo(
            oracle,
            element,
            element.name,
            enclosingFunction(element) ?? element.getSourceFile(),
          ).filter((id) => id !== element.name)
        : [],
    );
    return [...own, ...taken];
  });
}

function isLost(
  session: Session,
  place: Place,
  node: ts.BinaryExpression,
  home: FunctionWithBody,
): boolean {
  const { mentions, declaration, owned } = place;
  const others = mentions.filter((m) => !isTarget(m));
  const deeds = new Map(others.map((m) => [m, deedOf(session, m)]));
  const at = (fn: ts.Node): ts.Expression[] => others.filter((m) => within(m, fn));
  const isEnded = (m: ts.Expression): boolean =>
    deeds.get(m) === "ends" && !within(m, home) && isUnconditional(m);
  const isNew = session.freshness(node.right) === "fresh" && mayLackScope(session, node);
  if ((isNew || others.some(isEnded)) && at(home).length === 0 && isUnconditional(node.left)) {
    const speaks = (fn: ts.Node): boolean => mentions.some((m) => within(m, fn));
    if (!reaches(session, home, speaks, () => false, new Set([home])))
      if (isChainedTwice(session, home, mentions)) return true;
  }
  if (others.some((m) => deeds.get(m) === "other")) return false;
  const ended = others.filter((m) => deeds.get(m) === "ends");
  if (!ended.some(isEnded) && !isManagedPart(session, place)) return false;
  const isAsked = (m: ts.Expression): boolean =>
    isTested(m) || (owned.shape !== "one" && testAround(m) !== undefined);
  const tests = at(home).filter((m) => isAsked(m) && !within(m, node.right));
  const isFilled = tests.length > 0 && isFilledAt(tests, node);
  if (at(home).some((m) => deeds.get(m) === "ends")) return false;
  if (tests.length > 0 && !isFilled && !isForBetter(tests, node)) return false;
  const touches = (fn: ts.Node): boolean =>
    ended.some((m) => within(m, fn)) ||
    mentions.some((m) => isTarget(m) && m !== node.left && within(m, fn));
  const found = finderOf(session, node.left); // what gives the object may end another one's
  const isFinder = (call: ts.Node): boolean => found !== undefined && within(call, found);
  if (reaches(session, home, touches, isFinder, new Set([home]))) return false;
  if (isEndedByCallers(session, home, ended, mentions)) return false;
  if (isAskedByCallers(session, home, others)) return false;
  const isOfThis =
    ts.isIdentifier(node.left) || rootOf(node.left).kind === ts.SyntaxKind.ThisKeyword;
  if (isOfThis && mayBeEndedBefore(session, home, filledBy(mentions))) return false;
  if (isFilled) return true;
  if (isGuardedAlike(session, node, ended)) return false;
  if (!owned.nullable && isFilledAtFirst(declaration, mentions)) return true;
  if (mentions.some((m) => isEmptied(m) && !isInEnding(m))) return false;
  if (startsAnew.test(nameOf(home) ?? "") || isEmptiedBetween(session, home, mentions))
    return false;
  const isBefore = (m: ts.Node): boolean => m.pos < node.pos || within(m, node);
  return at(home).some(isBefore) || isHook(session, home) || runsOften(session, home, true);
}

/** `registerHook((gradient) => …)`, `onStep(…)`: called for whatever happens. */
function isHook({ oracle }: Session, home: ts.Node): boolean {
  const host = handedTo(home);
  return host !== undefined && /^(on[A-Z]|register|subscribe|tap)/.test(oracle.callee(host).name);
}

/** A part of a module, which the module ends with itself. */
function isManagedPart(session: Session, { declaration, owned }: Place): boolean {
  const holder = declaration.parent;
  return ts.isClassLike(holder) && managed(session, holder, owned.owner.managers);
}

/** Names of functions that fill what an ending has emptied. */
const startsAnew = /^#?_?(init|start|set_?up|mount|open|begin|load|build|create|make)/i;

/** What a mention does with what a place holds. */
export function deedOf(session: Session, mention: ts.Expression, depth = 0): Deed {
  const found = session.transfer(mention);
  const { effect, fate } = found;
  if (effect === "disposes" || removes(mention)) return "ends";
  if (isWrittenAnew(mention)) return "looks";
  const together = walkTogether(fate);
  if (together) return endsInside(together) ? "ends" : "looks";
  if (effect === "returns" && depth > 0) return "other";
  if (effect === "visits") return deedOfVisit(visitVerb(session, fate));
  const walked = walkOf(mention);
  if (walked) return deedOfVisit(visitVerb(session, fateOf(walked)));
  if (fate.kind === "bound" && ts.isVariableDeclaration(fate.node) && depth < furthest)
    return deedOfNames(session, fate.node, depth);
  if (effect === "enters") return deedInside(effectInside(session, found));
  if (effect === "moves" && ts.isExpressionStatement(fate.node.parent)) return "looks";
  const isKept = effect === "passes" || effect === "takes";
  const owner = isKept ? session.oracle.ownedAt(mention)?.owner : undefined;
  if (owner && isDetaching(session, fate.node, owner)) return "looks";
  const isLook = onlyLooksAt(effect) || /^(receives|returns)$/.test(effect) || fate.kind === "read";
  return isLook && !isCompared(mention) ? "looks" : "other";
}

/** `this.xs.pop()`, `this.xs.splice(0)`: takes out of a list. */
const removes = ({ parent }: ts.Node): boolean =>
  ts.isPropertyAccessExpression(parent) &&
  ts.isCallExpression(parent.parent) &&
  /^(pop|shift|splice|delete|clear)$/.test(parent.name.text);

/** `this.x = { ...this.x, size: 3 }`: all but one field at most stays, see `replaced-fields.ts`. */
const keepsRest = (value: ts.Expression): boolean =>
  ts.isObjectLiteralExpression(value) &&
  value.properties.some((p) => ts.isSpreadAssignment(p) && isWrittenAnew(p.expression));

/** `this.x = { ...this.x, a }`: the rest goes where it was. */
function isWrittenAnew(mention: ts.Expression): boolean {
  const store = ts.isSpreadAssignment(mention.parent) ? mention.parent.parent.parent : undefined;
  return (
    store !== undefined &&
    ts.isBinaryExpression(store) &&
    store.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    store.left.getText() === mention.getText()
  );
}

const deedInside = (effect: Effect): Deed =>
  effect === "disposes" ? "ends" : onlyLooksAt(effect) ? "looks" : "other";

const deedOfVisit = (verb: string): Deed =>
  verb === "dispose" ? "ends" : verb === "use" ? "looks" : "other";

/** `for (const t of table?.values() ?? [])`: the call that is walked. */
function walkOf({ parent }: ts.Node): ts.Expression | undefined {
  if (!ts.isPropertyAccessExpression(parent) || parent.name.text !== "values") return undefined;
  const call = parent.parent;
  return ts.isCallExpression(call) && fateOf(call).kind === "iterated" ? call : undefined;
}

/** What becomes of a value under the names that a declaration gives it. */
function deedOfNames(session: Session, node: ts.VariableDeclaration, depth: number): Deed {
  const flags = ts.getCombinedNodeFlags(node) & ts.NodeFlags.AwaitUsing;
  if (flags === ts.NodeFlags.Using || flags === ts.NodeFlags.AwaitUsing) return "ends";
  if (flags !== ts.NodeFlags.Const) return "other";
  const home = enclosingFunction(node) ?? node.getSourceFile();
  const deeds = boundNames(node.name, node).flatMap(({ id, declaration }) =>
    referencesTo(session.oracle, declaration, id, home)
      .filter((at) => at !== id)
      .map((at) => deedOf(session, at, depth + 1)),
  );
  if (deeds.includes("ends")) return "ends";
  return deeds.every((deed) => deed === "looks") ? "looks" : "other";
}

/** `if (this.x)`, `this.x === null`, `this.x ?? y`: asks whether there is something. */
export function isTested(mention: ts.Expression): boolean {
  let node: ts.Node = mention;
  while (ts.isParenthesizedExpression(node.parent) || ts.isNonNullExpression(node.parent))
    node = node.parent;
  const { parent } = node;
  if (ts.isPrefixUnaryExpression(parent) || ts.isIfStatement(parent)) return true;
  if (ts.isConditionalExpression(parent)) return parent.condition === node;
  return ts.isBinaryExpression(parent) && parent.operatorToken.kind !== ts.SyntaxKind.EqualsToken;
}

/** Whether a function calls one of the program, directly or not, of which something holds. */
export function reaches(
  session: Session,
  fn: ts.Node,
  holds: (fn: ts.Node) => boolean,
  except: (call: ts.Node) => boolean,
  seen: Set<ts.Node>,
): boolean {
  if (seen.size > mostCalls) return true;
  return someWithin(fn, (node) => {
    if ((!ts.isCallExpression(node) && !ts.isNewExpression(node)) || except(node)) return false;
    const { body } = session.oracle.callee(node);
    if (!body || seen.has(body)) return false;
    seen.add(body);
    return holds(body) || reaches(session, body, holds, except, seen);
  });
}

/** What gives the object whose field is assigned: `of(client)` for `session` in `session.last`. */
function finderOf({ oracle }: Session, left: ts.Expression): ts.Expression | undefined {
  const root = rootOf(left);
  const source = ts.isIdentifier(root) && root !== left ? oracle.declarationAt(root) : undefined;
  return source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
}

/** Whether a function that calls one, or hands it to a call, ends what the place holds first. */
function isEndedByCallers(
  session: Session,
  fn: FunctionWithBody,
  ended: readonly ts.Expression[],
  mentions: readonly ts.Expression[],
): boolean {
  const host = handedTo(fn);
  const { calls } = callSitesOf(session.oracle, fn, "program");
  const isFilled = (end: ts.Expression, body: ts.Node): boolean =>
    mentions.some((m) => isTarget(m) && !getsNothing(m) && m.pos > end.pos && within(m, body));
  const endsIn = (body: ts.Node): boolean =>
    ended.some((m) => within(m, body) && !isFilled(m, body));
  return [...calls, ...(host ? [host] : [])].some((call) => {
    const around = enclosingFunction(call);
    if (!around || around === fn) return false;
    if (ended.some((m) => enclosingFunction(m) === around)) return true;
    return someWithin(around, (other) => {
      if (!ts.isCallExpression(other) || other.pos >= call.pos) return false;
      const { body } = session.oracle.callee(other);
      return body !== undefined && endsIn(body) && objectOf(other) === objectOf(call);
    });
  });
}

/** Whether all callers of a function ask first what a place holds: `if (!this.x) this.make();`. */
export function isAskedByCallers(
  session: Session,
  fn: FunctionWithBody,
  mentions: readonly ts.Expression[],
): boolean {
  const tests = mentions.filter(isTested);
  if (tests.length === 0) return false;
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  const isAsked = (call: CallLike): boolean => {
    const around = enclosingFunction(call);
    return tests.some(
      (m) => enclosingFunction(m) === around && m.pos < call.pos && decides(m, call),
    );
  };
  return calls.length > 0 && values.length === 0 && calls.every(isAsked);
}

/** Whether what is done hangs on a test: `if (a) f();`, `a && f()`, `if (!a) return;`. */
function decides(test: ts.Expression, done: ts.Node): boolean {
  const at = ts.findAncestor(
    test,
    (n) => ts.isIfStatement(n) || ts.isConditionalExpression(n) || isShort(n),
  );
  if (!at) return false;
  return within(done, at) || (ts.isIfStatement(at) && leaves(at.thenStatement));
}

const isShort = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) && /^(&&|\|\||\?\?)$/.test(node.operatorToken.getText());

/** Whether a place has something from the start: it is declared with it, or by a record's type. */
function isFilledAtFirst(declaration: ts.Declaration, mentions: readonly ts.Expression[]): boolean {
  if (ts.isPropertySignature(declaration)) return declaration.questionToken === undefined;
  if (ts.isParameter(declaration)) return true;
  const { initializer } = declaration as ts.PropertyDeclaration | ts.VariableDeclaration;
  if (initializer && !isNullish(unwrap(initializer)) && !isEmptyContainer(unwrap(initializer)))
    return true;
  return mentions.some((m) => {
    const home = enclosingFunction(m);
    return isTarget(m) && home !== undefined && ts.isConstructorDeclaration(home);
  });
}

const isInEnding = (mention: ts.Node): boolean => {
  const home = enclosingFunction(mention);
  const name = home && ts.isClassElement(home) && home.name ? memberName(home.name) : "";
  return mayEnd(name !== "" ? name : ((home && nameOf(home)) ?? ""));
};
