/**
 * Closure events: what a nested function does to the variables of the function around it, when it
 * is made. Used by `paths.ts` when the nested function ends.
 */
import ts from "typescript";
import { callSitesOf } from "../program/call-sites.ts";
import { handedTo, runsThere } from "../transfer/callbacks.ts";
import type { Frame, Verb } from "./events.ts";
import { filling, nothingPut, putAt } from "./filled-lists.ts";
import { enclosingFunction, fateOf, type Fate } from "../transfer/fate.ts";
import { isVisitedInList, visitVerb } from "./mention-events.ts";
import { effectInside, transferOf } from "../transfer/mention.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, hasBody, isTarget, isUsing, someWithin } from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Adds what a nested function does to the variables of the frame around it. */
export function captured(session: Session, frame: Frame, fn: ts.Node): void {
  if (frame.cells.names.size === 0) return;
  for (const cell of frame.cells.all) {
    if (!cell.declaration || !cell.name || cell.label.includes(".")) continue;
    // what nobody else frees at its end either is the listener's
    const listens = cell.owned.owner.policy === "generic";
    const mode = modeOf(session, frame, fn, listens);
    const forLife = mode === "later" && handles(fn) && runsOnce(session, frame.root);
    const ids = referencesTo(session.oracle, cell.declaration, cell.name, fn);
    const [first] = ids;
    if (!first) continue;
    const leaves =
      mode === "helper" && ids.some((id) => outlivesHelper(session, frame, fn, id, listens));
    const fills = cell.kind === "local" && (mode === "inline" || (mode === "helper" && !leaves));
    const filled = fills ? filling(session, cell.owned, ids) : nothingPut;
    const others = ids.filter((id) => !filled.has(id));
    const verb = leaves ? "escape" : worst(others.map((id) => captureVerb(session, id)));
    if (verb === "use" && (mode === "outlives" || mode === "later"))
      frame.emit({ kind: "capture", cell, node: first, by: fn });
    if (mode === "later" && verb === "use" && !forLife) {
      cell.captured = true; // it only looks, so that somebody else must free it
      cell.seen.add("use");
      continue;
    }
    if (mode === "outlives" || mode === "later") {
      frame.all(cell, "escape", fn);
      continue;
    }
    for (const [id, value] of filled)
      if (mode === "inline") frame.own(cell, value, putAt(session, id), true, false);
      else if (verb !== "escape") frame.filledBy(fn, cell, value);
    if (verb === null) continue;
    if (mode === "inline") frame.all(cell, verb, first, undefined, verb !== "dispose");
    else if (verb !== "use") frame.all(cell, "escape", fn);
    else cell.seen.add("use");
  }
}

/**
 * `inline`: runs where it stands; `later`: handed to something that calls it later and gives
 * nothing back; `helper`: called by name only; `outlives`: anything else. With `listens` a listener
 * keeps what it uses.
 */
function modeOf(
  session: Session,
  frame: Frame,
  fn: ts.Node,
  listens: boolean,
): "inline" | "later" | "helper" | "outlives" {
  const host = handedTo(fn);
  if (!host) return isHelper(session, frame, fn, listens) ? "helper" : "outlives";
  const mode = session.callback(host, fn);
  if (mode === "later" && fateOf(host).kind === "dropped")
    return listens && handles(fn) ? "outlives" : "later";
  return mode === "inline" || mode === "scoped" ? "inline" : "outlives";
}

/** Whether a mention stands in a function that a helper makes and that may outlive its call. */
function outlivesHelper(
  session: Session,
  frame: Frame,
  helper: ts.Node,
  id: ts.Node,
  listens: boolean,
): boolean {
  let inner: ts.Node | undefined = enclosingFunction(id);
  while (inner && inner !== helper) {
    if (modeOf(session, frame, inner, listens) === "outlives") return true;
    inner = enclosingFunction(inner);
  }
  return false;
}

/** Whether a function is handed to something that calls it again and again. */
function handles(fn: ts.Node): boolean {
  const host = handedTo(fn);
  const name = host && calleeNameNode(host)?.text;
  return (
    (name !== undefined &&
      /^(on|addListener|addEventListener|subscribe|setInterval)$/.test(name)) ||
    (name === "requestAnimationFrame" && asksAgain(fn))
  );
}

/** `requestAnimationFrame(function frame() { …; requestAnimationFrame(frame); })`. */
const asksAgain = (fn: ts.Node): boolean =>
  ts.isFunctionExpression(fn) &&
  someWithin(
    fn.body,
    (node) =>
      ts.isCallExpression(node) &&
      node.arguments.some((a) => ts.isIdentifier(a) && a.text === fn.name?.text),
  );

/** The main function of a program: called once, at module level. What it sets up stays for good. */
function runsOnce(session: Session, root: ts.Node): boolean {
  if (!hasBody(root)) return false;
  const { calls, values } = callSitesOf(session.oracle, root, "program");
  return (
    calls.length === 1 &&
    values.length === 0 &&
    calls.every((c) => enclosingFunction(c) === undefined)
  );
}

function worst(verbs: readonly (Verb | null)[]): Verb | null {
  if (verbs.includes("escape")) return "escape";
  if (verbs.includes("dispose")) return "dispose";
  return verbs.includes("use") ? "use" : null;
}

/** What one mention in a nested function does; null for what may be asked of a disposed value. */
function captureVerb(session: Session, id: ts.Identifier): Verb | null {
  const owned = session.oracle.ownedAt(id);
  if (!owned || isTarget(id)) return "escape";
  const found = transferOf(session, id, owned);
  // `[a, b].map((t) => …)`
  if (isVisitedInList(owned, found.fate)) return visitVerb(session, found.fate);
  const effect = effectInside(session, found);
  if (owned.shape === "record" && isOnlyTakenApart(session, found.fate)) return "use";
  const looks = found.fate.kind === "read" && onlyLooksAt(effect);
  if (owned.shape === "record" && found.fate.kind !== "argument" && !looks) return "escape";
  if (effect === "disposes" && found.effect !== "enters") return "dispose";
  if (effect === "nothing") return null;
  return onlyLooksAt(effect) ? "use" : "escape";
}

/** `const { mean, cov } = belief;`, where nothing but a look is taken at what it names. */
function isOnlyTakenApart(session: Session, { kind, node, literal, conditional }: Fate): boolean {
  if (kind !== "bound" || literal || conditional) return false;
  if (!ts.isVariableDeclaration(node) || !ts.isObjectBindingPattern(node.name) || isUsing(node))
    return false;
  const home = enclosingFunction(node);
  if (!home || node.name.elements.some((e) => e.dotDotDotToken ?? e.initializer)) return false;
  return boundNames(node.name, node).every(({ id, declaration }) =>
    referencesTo(session.oracle, declaration, id, home).every((mention) =>
      onlyLooksAt(effectInside(session, session.transfer(mention))),
    ),
  );
}

/**
 * A local function that only runs where it is named, in the function that made it or in such
 * another: what outlives its maker and runs it keeps what it uses.
 */
function isHelper(
  session: Session,
  frame: Frame,
  fn: ts.Node,
  listens: boolean,
  asked = new Set<ts.Node>(),
): boolean {
  const holder = ts.isVariableDeclaration(fn.parent) ? fn.parent : undefined;
  const declaration = ts.isFunctionDeclaration(fn) ? fn : holder;
  const name = declaration?.name;
  if (!declaration || !name || !ts.isIdentifier(name)) return false;
  asked.add(fn);
  return referencesTo(session.oracle, declaration, name, frame.root).every(
    (id) => runsThere(session, id) && !isKeptBy(session, frame, id, listens, asked),
  );
}

/**
 * Whether a place in a nested function is reached after the function of the frame has ended. The
 * functions in `asked` are answered for elsewhere: helpers may call one another. One that has
 * itself called later goes on for good, `requestAnimationFrame((now) => frame(now))` in `frame`.
 */
function isKeptBy(
  session: Session,
  frame: Frame,
  id: ts.Node,
  listens: boolean,
  asked: Set<ts.Node>,
): boolean {
  let isLater = false;
  for (let at = enclosingFunction(id); at && at !== frame.root; at = enclosingFunction(at)) {
    if (asked.has(at)) return isLater && listens;
    const mode = handedTo(at) ? modeOf(session, frame, at, listens) : "helper";
    if (mode === "outlives") return true;
    if (mode === "helper" && !isHelper(session, frame, at, listens, asked)) return true;
    isLater ||= mode === "later";
  }
  return false;
}
