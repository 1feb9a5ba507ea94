/**
 * Slot losses: which stores the dataflow found to lose what a slot held. Where the slot may as well
 * be empty, as it is before its first store, it takes a sign that the function runs again. Used by
 * the rule about overwritten values.
 */
import ts from "typescript";
import { sourcesFor } from "../program/call-index.ts";
import { callSitesOf, nameOf } from "../program/call-sites.ts";
import { functionAround, handedTo } from "../transfer/callbacks.ts";
import { isEmptied, isEmptiedBetween } from "../lists/emptied-between.ts";
import { isGuardedAlike, isGuardedAround } from "../objects/guarded-alike.ts";
import { isFlaggedDead } from "../objects/live-flags.ts";
import { referencesTo } from "../program/references.ts";
import { filledBy, mayBeEndedBefore } from "../objects/ended-by-callers.ts";
import { classMade, endingsOf, endsDevice, isDevice } from "../objects/endings.ts";
import { isSecondTry } from "../program/second-tries.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { accessesByName } from "../program/field-index.ts";
import type { Problem } from "./flow.ts";
import { givesOthers, givesPart } from "../lists/left-out.ts";
import { isGoneWithDevice } from "../objects/gone-devices.ts";
import type { LostStore } from "../lists/lost-stores.ts";
import { asksForDevice, takesDevice } from "../trails/made-again.ts";
import { isStillEmpty } from "../objects/still-empty.ts";
import { reach } from "../objects/class-reach.ts";
import { fieldOfThis } from "../objects/members.ts";
import { mayLackScope } from "../scopes/open-scopes.ts";
import { isDetaching, isKeptForGood } from "../transfer/keeps.ts";
import { isAskedByCallers } from "../objects/overwritten-places.ts";
import { storesOf } from "../program/pattern-stores.ts";
import { isCalledInLoop, isOffered, runsOften, surelyRunsOften } from "../trails/runs-often.ts";
import { isHolder, type Owner } from "../../owner.ts";
import type { Session } from "../session.ts";
import { mayEndByOtherName } from "./other-names.ts";
import { isEffect, leaves } from "./slot-touches.ts";
import { isStore, type Slot } from "./slots.ts";
import {
  calleeNameNode,
  hasBody,
  isEmptyContainer,
  isEquality,
  isInLoop,
  isNullish,
  isTarget,
  someWithin,
  unwrap,
  valueGiven,
  within,
  type CallLike,
} from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** The losing assignments among the problems of a file. */
export function lostBySlots(session: Session, problems: readonly Problem[]): LostStore[] {
  return problems.flatMap((problem): LostStore[] => {
    if (problem.kind !== "loss") return [];
    const { node, cell, surely } = problem;
    if (!cell.slot || !ts.isBinaryExpression(node) || !isStore(node)) return [];
    const { slot } = cell;
    if (slot.kind === "ref" && slot.mentions.every((m) => isShown(session, m))) return [];
    if (!outlivesScopes(session, slot) || isOfNewDevice(session, slot, node)) return [];
    const around = functionAround(session, node);
    if (around && mayEndByOtherName(session, slot, around)) return [];
    const { owned } = slot;
    const stored = storesOf(node).find(({ place }) => slot.mentions.includes(place));
    if (!stored) return [];
    const { place: held, value } = stored;
    if (isNullish(value) || isEmptyContainer(value)) {
      if (isFirstFill(slot, node) && !surely && !comesAgain(session, slot, node)) return [];
      if (isEndOfItself(session, slot, node) || goesWithItsDevice(session, slot, node)) return [];
      if (isStillEmpty(session, slot, node)) return [];
      if (slot.makes.every((made) => isSecondTry(made, node))) return [];
      return fillsOnly(node) || isOnlyLocal(session, slot) ? [] : [{ node, owned }];
    }
    if (isEndedByCallers(session, slot, node)) return [];
    if (owned.shape === "many" && givesOthers(session, node.right, node.left))
      return [{ node, owned }];
    if (owned.shape === "many" && givesPart(session, node.right, node.left))
      return [{ node, owned, part: true }];
    if (owned.shape === "many" && !isMadeAnew(session, slot, node)) return [];
    const home = functionAround(session, node);
    if (home && mayBeEndedBefore(session, home, filledBy(slot.mentions))) return [];
    if (isFlaggedDead(session, slot, node)) return [];
    if (surely || slot.atOnce) return [{ node, owned, held }];
    const again = comesAgain(session, slot, node) && !isStartedAnew(session, slot, node);
    if (home && isEmptiedBetween(session, home, slot.mentions)) return [];
    if (home && hasBody(home) && isAskedByCallers(session, home, slot.mentions)) return [];
    if (!again || fillsSeveral(node) || isOnlyLocal(session, slot)) return [];
    if (home && isGuardedAround(node, home, slot.label)) return [];
    if (isToggled(slot, node) || isGuardedAlike(session, node, endsOf(session, slot))) return [];
    return [{ node, owned, held }];
  });
}

const endsOf = (session: Session, { mentions }: Slot): ts.Expression[] =>
  mentions.filter((m) => session.transfer(m).effect === "disposes");

/**
 * `if (on === this.on) return; if (on) this.x = make(); else { …; this.x = null; }`: filled where
 * it was empty, since a function goes on only for what is not so already.
 */
function isToggled({ mentions }: Slot, node: ts.Node): boolean {
  const test = ts.findAncestor(node, ts.isIfStatement);
  if (!test?.elseStatement || !ts.isBlock(test.parent)) return false;
  const given = unwrap(test.expression);
  const switched = ts.isPrefixUnaryExpression(given) ? unwrap(given.operand) : given;
  if (!ts.isIdentifier(switched)) return false;
  const other = within(node, test.thenStatement) ? test.elseStatement : test.thenStatement;
  const isEmptiedThere = mentions.some((m) => within(m, other) && isEmptied(m));
  const speaks = (at: ts.Node): boolean => ts.isIdentifier(at) && at.text === switched.text;
  const isGuard = (at: ts.Statement): boolean =>
    at.end <= test.pos &&
    ts.isIfStatement(at) &&
    ts.isBinaryExpression(at.expression) &&
    isEquality(at.expression) &&
    someWithin(at.expression, speaks) &&
    someWithin(at.thenStatement, ts.isReturnStatement);
  return isEmptiedThere && test.parent.statements.some(isGuard);
}

/** `grid.cells.destroy(); grid.resize(w);`: who has it made anew ends what the field held. */
function isEndedByCallers(session: Session, slot: Slot, node: ts.Node): boolean {
  const { oracle } = session;
  const { kind, label, owned, mentions } = slot;
  const home = functionAround(session, node);
  const remakes = home && nameOf(home);
  const name = label.slice(label.lastIndexOf(".") + 1);
  if (kind !== "field" || name.startsWith("#") || remakes === undefined) return false;
  const own = mentions.map((m) =>
    ts.isPropertyAccessExpression(m) ? oracle.declarationAt(m.name) : undefined,
  );
  const isEnd = (access: ts.PropertyAccessExpression): boolean => {
    const { kind: use, member } = fateOf(access);
    const caller = enclosingFunction(access);
    if (use !== "receiver" || !owned.owner.dispose.methods.includes(member)) return false;
    return caller !== undefined && callsNamedIn(caller, remakes);
  };
  const isOf = (access: ts.PropertyAccessExpression): boolean => {
    const known = oracle.declarationAt(access.name);
    return !mentions.includes(access) && (known === undefined || own.includes(known));
  };
  const { facts } = oracle;
  return sourcesFor(oracle, node).some((file) =>
    facts
      .of(file, accessesByName)
      .get(name)
      ?.some((at) => (isEnd(at) || isEndedAndEmptied(at, owned.owner)) && isOf(at)),
  );
}

/** `dispose(layer.loss); layer.loss = null;`: who uses an object has what its field held. */
function isEndedAndEmptied(access: ts.PropertyAccessExpression, { dispose }: Owner): boolean {
  const home = enclosingFunction(access);
  if (!home || !isEmptied(access)) return false;
  const text = access.getText();
  return someWithin(home, (at) => {
    if (!ts.isPropertyAccessExpression(at) || at.getText() !== text) return false;
    const { kind, node, member } = fateOf(at);
    if (kind === "receiver") return dispose.methods.includes(member);
    const called = kind === "argument" ? calleeNameNode(node as CallLike)?.text : undefined;
    return called !== undefined && dispose.methods.includes(called);
  });
}

const callsNamedIn = (fn: ts.Node, name: string): boolean =>
  someWithin(fn, (at) => ts.isCallExpression(at) && calleeNameNode(at)?.text === name);

/** `recover() { … requestDevice(); this.buffer = null; }`: it is gone with the device before. */
const isOfNewDevice = (session: Session, { owned, makes }: Slot, node: ts.Node): boolean => {
  const home = owned.owner.policy === "generic" ? enclosingFunction(node) : undefined;
  if (!home) return false;
  return isGoneWithDevice(session, node, makes) || asksForDevice(session, home, node);
};

/** `this.device.destroy(); this.b = null;`, `this.device = device; …`: gone with its device. */
function goesWithItsDevice(session: Session, { owned, makes }: Slot, node: ts.Node): boolean {
  const home = owned.owner.policy === "generic" ? enclosingFunction(node) : undefined;
  if (!home || makes.some((made) => isDevice(session, made))) return false;
  return endsDevice(session, home) || takesDevice(session, home);
}

/**
 * `this.rows = load()`: another list that has nothing of the one before. Where nobody agreed on who
 * ends rows, something must end some; of what a library has a function for, everybody knows.
 */
function isMadeAnew(
  session: Session,
  { mentions, owned }: Slot,
  node: ts.BinaryExpression,
): boolean {
  const value = valueGiven(node);
  if (mentions.some((m) => within(m, node.right))) return false;
  const { owner } = owned;
  const isAgreedOn =
    owner.policy !== "generic" ||
    owner.dispose.functions.length > 0 || // `tf.dispose(models)`
    isHolder(owner, session.settings);
  if (!isAgreedOn && mentions.every((m) => leaves(session, m)) && !isWrittenOut(value))
    return false;
  return session.freshness(value) === "fresh";
}

/** `[make(), make()]`: what nobody else has had in hand, not even the list. */
const isWrittenOut = (value: ts.Expression): boolean => {
  const list = unwrap(value);
  return (
    ts.isArrayLiteralExpression(list) && list.elements.every((e) => ts.isCallExpression(unwrap(e)))
  );
};

/** `this.rows = []; for (…) this.rows.push(make());`: makes the list as a whole. */
const isFirstFill = ({ makes }: Slot, node: ts.Node): boolean => {
  const home = enclosingFunction(node);
  return makes.some((at) => at.pos >= node.end && enclosingFunction(at) === home);
};

/**
 * Made where there may be no scope, or kept for good; where nothing is known of that, ended by hand
 * elsewhere.
 */
function outlivesScopes(session: Session, { makes, mentions, owned }: Slot): boolean {
  const { owner } = owned;
  if (makes.some((at) => mayLackScope(session, at) || isKeptForGood(session, at, owner)))
    return true;
  // `this.x = x.neg(); … tf.keep(this.x);`
  if (mentions.some((m) => isDetaching(session, session.transfer(m).fate.node, owner))) return true;
  const isUnknown = makes.every((at) => session.scopeAt(at) === "unknown");
  return isUnknown && mentions.some((m) => session.transfer(m).effect === "disposes");
}

/** Given or looked at: a ref of which nothing else is said is kept, see `component-state.ts`. */
function isShown(session: Session, mention: ts.Expression): boolean {
  const { effect, fate } = session.transfer(mention);
  return isTarget(mention) || onlyLooksAt(effect) || fate.kind === "read";
}

/**
 * `if (xs === null) { xs = x; ys = y; }`: what is filled where another is found empty is, too. And
 * `if (this.device !== device) b = device.make()`: what another device made goes with that one.
 */
function fillsSeveral(node: ts.BinaryExpression): boolean {
  const block = node.parent.parent;
  const test = block.parent;
  if (!ts.isBlock(block) || !ts.isIfStatement(test) || test.thenStatement !== block) return false;
  const given = block.statements.flatMap((s) =>
    ts.isExpressionStatement(s) && ts.isBinaryExpression(s.expression) && isStore(s.expression)
      ? [s.expression.left.getText()]
      : [],
  );
  return findsEmpty(test.expression, given, makerOf(valueGiven(node)));
}

/** The `device` of `device.make()`. */
function makerOf(value: ts.Expression): string | undefined {
  const made = unwrap(value);
  if (!ts.isCallExpression(made) || !ts.isPropertyAccessExpression(made.expression))
    return undefined;
  return made.expression.expression.getText();
}

/**
 * Whether a test that holds finds one of some places empty, or filled by another maker: of `a || b`
 * each must say so.
 */
function findsEmpty(test: ts.Expression, places: readonly string[], maker?: string): boolean {
  const asked = unwrap(test);
  if (ts.isPrefixUnaryExpression(asked)) return places.includes(asked.operand.getText());
  if (!ts.isBinaryExpression(asked)) return false;
  const { left, right, operatorToken } = asked;
  const operator = operatorToken.getText();
  const finds = (side: ts.Expression): boolean => findsEmpty(side, places, maker);
  if (operator === "&&") return finds(left) || finds(right);
  if (operator === "||") return finds(left) && finds(right);
  if (/^!={1,2}$/.test(operator) && maker !== undefined)
    if (left.getText() === maker || right.getText() === maker) return !isNullish(right);
  return /^={2,3}$/.test(operator) && isNullish(right) && places.includes(left.getText());
}

/** `this.rows ??= []`: a store that only fills what is empty. */
const fillsOnly = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind !== ts.SyntaxKind.EqualsToken;

/** Whether a store runs more than once. What may last is mostly loaded once, whatever may call. */
function comesAgain(session: Session, slot: Slot, node: ts.Node): boolean {
  const { owned, home } = slot;
  const place = functionAround(session, node);
  if (!place || isDoneOnce(place)) return false;
  const isDirect = place === enclosingFunction(node);
  // each time another slot
  if (!isDirect && (place === home || ts.isConstructorDeclaration(place))) return false;
  const { lost, policy } = owned.owner;
  const isOften =
    lost === "repeated"
      ? surelyRunsOften(session, place)
      : runsOften(session, place, policy === "protocol");
  return (
    isOften ||
    (isDirect && isInLoop(node, place)) ||
    (isDirect && isEffectAgain(place)) || // what an effect waits for, its cleanup may end
    replacesAnother(session, place) ||
    isOfferedAgain(session, slot, place)
  );
}

/**
 * `load(url)` of an exported class, which others may call for the next one, too. And `train(data)`
 * where the class ends what it has trained.
 */
function isOfferedAgain(session: Session, slot: Slot, fn: ts.Node): boolean {
  if (!hasBody(fn) || fn.parameters.length === 0 || !isOffered(session, fn)) return false;
  const name = nameOf(fn) ?? "";
  if (starts.test(name)) return false;
  if (fn.parameters.every((p) => isDevice(session, p.name as ts.Identifier))) return false;
  if (!/^(load|open|import|read)([A-Z_]|$)/.test(name) && endsOf(session, slot).length === 0)
    return false;
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  return calls.length + values.length === 0;
}
/** Names of methods that start an object. */
const starts = new RegExp(
  "^(init|start|set_?up|mount|connect|attach|warm|boot|create|begin|acquire|enable|enter|build|" +
    "prepare|alloc|configure|compile|register|on_?(add|attach|mount|enter|init|start))",
  "i",
);

/** Whether every function that fills a slot ends what it put there before it returns. */
function isOnlyLocal(session: Session, slot: Slot): boolean {
  const ends = endsOf(session, slot).filter((m) => ts.isExpressionStatement(statementOf(m)));
  return slot.mentions.every((store) => {
    if (!isTarget(store)) return true;
    const home = enclosingFunction(store);
    const given = ts.findAncestor(store, ts.isBinaryExpression);
    if (!home || !given || isNullish(valueGiven(given))) return true;
    return isEndedHere(store, home, [...ends, ...endsOfName(session, valueGiven(given), home)]);
  });
}

/** `const t = make(); this.x = t; …; t.dispose();`: the ends of what is stored by its name. */
function endsOfName(session: Session, value: ts.Expression, home: ts.Node): ts.Expression[] {
  const given = unwrap(value);
  const declaration = ts.isIdentifier(given) ? session.oracle.declarationAt(given) : undefined;
  if (!declaration || !ts.isVariableDeclaration(declaration)) return [];
  if (!ts.isIdentifier(declaration.name) || !within(declaration, home)) return [];
  return referencesTo(session.oracle, declaration, declaration.name, home).filter(
    (at) => session.transfer(at).effect === "disposes" && ts.isExpressionStatement(statementOf(at)),
  );
}

/** Whether on every way from a store out of its function something ends what was stored. */
function isEndedHere(store: ts.Node, home: ts.Node, ends: readonly ts.Expression[]): boolean {
  const own = ends.filter((end) => end.pos >= store.end && enclosingFunction(end) === home);
  /** Where the end is sure to come, once the way has got there. */
  const coveredBy = (end: ts.Node): ts.Node => {
    const statement = statementOf(end);
    const { parent } = statement;
    if (!ts.isBlock(parent) && !ts.isCaseOrDefaultClause(parent)) return statement;
    const isLast = ts.isTryStatement(parent.parent) && parent.parent.finallyBlock === parent;
    return isLast ? parent.parent : parent;
  };
  const isCovered = (way: ts.Node): boolean =>
    own.some((end) => {
      const around = coveredBy(end);
      return within(way, around) && (end.end <= way.pos || ts.isTryStatement(around));
    });
  return own.some((end) => {
    const around = coveredBy(end);
    const isReached = within(store, ts.isTryStatement(around) ? around.parent : around);
    const isWayOut = (node: ts.Node): boolean =>
      node.pos >= store.end && node.end <= end.pos && leavesHere(node, home);
    return isReached && !someWithin(home, (node) => isWayOut(node) && !isCovered(node));
  });
}

const statementOf = (node: ts.Node): ts.Node => ts.findAncestor(node, ts.isStatement) ?? node;

/** A `return`, `break` or `continue` of a function itself. */
const leavesHere = (node: ts.Node, home: ts.Node): boolean =>
  (ts.isReturnStatement(node) || ts.isBreakOrContinueStatement(node)) &&
  enclosingFunction(node) === home;

/** `this.h?.dispose(); this.h = x; this.g = y;`: what ends one place to fill it comes again. */
function replacesAnother(session: Session, place: ts.Node): boolean {
  if (ts.isConstructorDeclaration(place)) return false;
  const ended = new Set<string>();
  return someWithin(place, (node) => {
    const field = fieldOfThis(node);
    if (!field || enclosingFunction(node) !== place) return false;
    const text = node.getText();
    if (isTarget(node)) return ended.has(text);
    if (session.transfer(node as ts.Expression).effect === "disposes") ended.add(text);
    return false;
  });
}

/**
 * Whether a method that starts an object fills a field which an ending of the object frees:
 * `init()` after `dispose()`.
 */
function isStartedAnew(session: Session, { kind, mentions, holder }: Slot, node: ts.Node): boolean {
  const place = functionAround(session, node);
  if (kind !== "field" || !place || !ts.isClassLike(holder)) return false;
  if (!/^#?_?(init|start|set_?up|mount|open)/i.test(nameOf(place) ?? "")) return false;
  if (isCalledInLoop(session, place)) return false;
  const endings = endingsOf(holder).map(({ member }) => member);
  const reached = [...reach(session.oracle, holder, endings)];
  return mentions.some((m) => !leaves(session, m) && reached.some((member) => within(m, member)));
}

/** `if (this.ready) return; … this.ready = true;`, and nobody says that it is not any more. */
function isDoneOnce(fn: ts.Node): boolean {
  if (!hasBody(fn) || !ts.isBlock(fn.body)) return false;
  const first = fn.body.statements.find(ts.isIfStatement);
  if (!first || !isReturn(first.thenStatement)) return false;
  const flag = first.expression.getText();
  const isSet = (inner: ts.Node): inner is ts.BinaryExpression =>
    ts.isBinaryExpression(inner) &&
    inner.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    inner.left.getText() === flag;
  const isEmpty = ({ right }: ts.BinaryExpression): boolean =>
    isNullish(right) || right.kind === ts.SyntaxKind.FalseKeyword;
  const isBefore = (at: ts.Node): boolean =>
    ts.findAncestor(at, ts.isConstructorDeclaration) !== undefined;
  const undoes = (at: ts.Node): boolean =>
    isSet(at) && (isEmpty(at) || !within(at, fn)) && !isBefore(at);
  return (
    someWithin(fn, (at) => isSet(at) && !isEmpty(at)) && !someWithin(fn.getSourceFile(), undoes)
  );
}

const isReturn = (at: ts.Statement): boolean => {
  const only = ts.isBlock(at) && at.statements.length === 1 ? at.statements[0] : at;
  return only !== undefined && ts.isReturnStatement(only);
};

/** `destroy() { …; Context.instance = null; }`: what has just been ended lets go of itself. */
function isEndOfItself(session: Session, { makes }: Slot, node: ts.Node): boolean {
  const holder = ts.findAncestor(node, ts.isClassLike);
  if (!holder || !endingsOf(holder).some(({ member }) => within(node, member))) return false;
  return makes.some((made) => ts.isNewExpression(made) && classMade(session, made) === holder);
}

/** `useEffect(() => { … }, [size])`: runs again when an input changes. */
function isEffectAgain(fn: ts.Node): boolean {
  const host = handedTo(fn);
  const [first, inputs] = host?.arguments ?? [];
  if (!host || first !== fn || !isEffect(host)) return false;
  return !inputs || (ts.isArrayLiteralExpression(inputs) && inputs.elements.length > 0);
}
