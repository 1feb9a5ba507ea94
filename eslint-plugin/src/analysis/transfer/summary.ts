/**
 * Function summaries: what a function does to each parameter (borrows, disposes, stores, returns,
 * calls) and whether its result is fresh. Read from bodies only, on demand; functions that call
 * each other are solved together; what does not settle is unknown. See `session.summary`.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { handedTo } from "./callbacks.ts";
import { isInline, isLeftTo } from "../flow/closures.ts";
import { builtinArgument } from "../program/containers.ts";
import { callsDisposeSymbol } from "./disposes.ts";
import { enclosingFunction, fateOf, type Fate } from "./fate.ts";
import { Fixpoint } from "../program/fixpoint.ts";
import { resultFreshness } from "../fresh/fresh-results.ts";
import { isAttached } from "./keeps.ts";
import { isMadeToEnd } from "../objects/left-fields.ts";
import type { Transfer } from "./mention.ts";
import { namesOf } from "./pattern-parts.ts";
import {
  asSaid,
  calleeNameNode,
  memberName,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { lexicallyScoped } from "../scopes/open-scopes.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  sameSummary,
  type CallMode,
  type ParameterEffect,
  type Session,
  type Summary,
} from "../session.ts";

/** Builds the summaries of one session; they live as long as the program. */
export class Summaries {
  readonly #solver: Fixpoint<FunctionWithBody, Summary>;

  constructor(session: () => Session) {
    this.#solver = new Fixpoint({
      bottom: () => ({ result: "never", parameters: [] }),
      compute: (fn) => summarise(session(), fn),
      same: sameSummary,
      unknown: (fn) => ({
        result: "unknown",
        parameters: fn.parameters.map(() => ({ ...untouched, stores: true, returns: true })),
      }),
    });
  }

  /** Whether no summary is being worked out, so that none is an estimate. */
  get isIdle(): boolean {
    return this.#solver.isIdle;
  }

  /** The summary of a function; an estimate while a group of recursive functions is solved. */
  of(fn: FunctionWithBody): Summary {
    return this.#solver.get(fn);
  }
}

const untouched: ParameterEffect = {
  ...{ disposes: false, stores: false, returns: false, givesBack: false },
  calls: null,
};

function summarise(session: Session, fn: FunctionWithBody): Summary {
  const outer = { ...session.asking };
  // what the caller asks about is no business of the body
  Object.assign(session.asking, {
    expressions: new Set(),
    variables: new Set(),
    lent: new Set(),
  });
  try {
    const tags = session.oracle.tags(fn);
    const parameters = fn.parameters.map((p) =>
      parameterEffect(session, fn, p, tags.takes, tags.borrows),
    );
    if (tags.fresh) return { result: "fresh", parameters };
    if (tags.borrowed) return { result: "borrowed", parameters };
    return { result: resultFreshness(session, fn), parameters };
  } finally {
    Object.assign(session.asking, outer);
  }
}

/** What a body does to a parameter, whatever its tags say. */
export const bodyEffect = (
  session: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
): ParameterEffect => parameterEffect(session, fn, parameter, [], []);

/**
 * What a body does to one field of a parameter: what a caller hands in as `{ field: value }`. A
 * body that asks this about itself gets no answer: it may keep the value.
 */
export function fieldEffect(
  session: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
  field: string,
): ParameterEffect {
  const { name: pattern } = parameter;
  const { expressions } = session.asking;
  const effect: ParameterEffect = { ...untouched };
  if (expressions.has(pattern) || ts.isParameterPropertyDeclaration(parameter, fn))
    return { ...effect, stores: true };
  expressions.add(pattern);
  try {
    if (ts.isIdentifier(pattern)) {
      for (const id of referencesTo(
        session.oracle,
        pattern.parent as ts.Declaration,
        pattern,
        fn,
      )) {
        const access = id.parent;
        const reads = ts.isPropertyAccessExpression(access) && access.expression === id;
        if (!reads) effect.stores ||= id !== pattern && keepsField(session, id, field);
        else if (access.name.text === field) note(session, fn, access, effect, 0);
      }
      return effect;
    }
    const elements = [...pattern.elements].flatMap((e) => (ts.isBindingElement(e) ? [e] : []));
    const element = elements.find((e) => memberName(e.propertyName ?? e.name) === field);
    if (!element) return { ...effect, stores: elements.some((e) => e.dotDotDotToken) };
    if (!ts.isIdentifier(element.name)) return { ...effect, stores: true };
    follow(session, fn, element.name, element, effect, 0);
    return effect;
  } finally {
    expressions.delete(pattern);
  }
}

/** Whether an object may lose a field to whoever it is handed to, here by its name. */
function keepsField(session: Session, id: ts.Node, field: string): boolean {
  const call = id.parent;
  if (!ts.isCallExpression(call)) return true;
  const { body } = session.oracle.callee(call);
  const parameter = body?.parameters[call.arguments.indexOf(id as ts.Expression)];
  if (!body || !parameter || parameter.dotDotDotToken) return true;
  const inner = fieldEffect(session, body, parameter, field);
  return inner.stores || inner.disposes || inner.returns;
}

function parameterEffect(
  session: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
  takes: readonly string[],
  borrows: readonly string[],
): ParameterEffect {
  const effect: ParameterEffect = { ...untouched };
  const name = ts.isIdentifier(parameter.name) ? parameter.name.text : "";
  if (borrows.includes(name)) return effect;
  if (takes.includes(name)) {
    const { stores, returns } = bodyEffect(session, fn, parameter);
    return { ...effect, stores: true, givesBack: returns && !stores };
  }
  if (ts.isParameterPropertyDeclaration(parameter, fn)) effect.stores = true;
  for (const { id, declaration } of namesOf(session, parameter))
    follow(session, fn, id, declaration, effect, 0);
  return effect;
}

/** Adds to `effect` what the body does to one variable that holds the parameter's value. */
function follow(
  session: Session,
  fn: FunctionWithBody,
  name: ts.Identifier,
  declaration: ts.Declaration,
  effect: ParameterEffect,
  hops: number,
): void {
  for (const id of referencesTo(session.oracle, declaration, name, fn)) {
    if (effect.stores && effect.disposes) return;
    note(session, fn, id, effect, hops);
  }
}

function note(
  session: Session,
  fn: FunctionWithBody,
  id: ts.Expression,
  effect: ParameterEffect,
  hops: number,
): void {
  const closure = enclosingFunction(id);
  const owned = session.oracle.ownedAt(id);
  const { kind, node } = fateOf(id);
  if (kind === "called") {
    effect.calls = mergeModes(effect.calls, callMode(session, fn, node));
    return;
  }
  if (closure !== fn && closure && owned && isLeftTo(session, fn, closure, id))
    effect.stores = true;
  if (!owned && kind === "element") {
    effect.disposes ||= callsDisposeSymbol(fateOf(id));
    notePicked(session, fn, node as ts.Expression, effect, hops);
    return;
  }
  if (!owned && kind === "receiver") return noteUnknownList(session, id, effect);
  if (owned || kind !== "argument") {
    noteTransfer(session, fn, id, session.transfer(id), effect, hops);
    return;
  }
  const call = node as CallLike;
  const isHandedBack = builtinArgument(calleeNameNode(call)?.text ?? "") === "passes";
  if (isHandedBack && hops < 3 && session.oracle.callee(call).builtin)
    return note(session, fn, asSaid(call), effect, hops + 1);
  effect.stores ||= putsAway(node as CallLike) || isPartOfResult(session, node as CallLike, id);
  const mode = session.callback(node as CallLike, id);
  if (mode !== "unknown") effect.calls = mergeModes(effect.calls, mode); // else perhaps in a scope
}

/** `return new Ok(value)`, `return ok(value)` of a `T`: what is returned keeps it. */
function isPartOfResult(session: Session, call: CallLike, id: ts.Expression): boolean {
  if (fateOf(call).kind !== "returned") return false;
  if (ts.isNewExpression(call)) return true;
  const { body } = session.oracle.callee(call);
  const kept = body && session.summary(body).parameters[call.arguments.indexOf(id)];
  return kept !== undefined && (kept.stores || kept.returns);
}

/** `list[i]` of a `T[]`: what it is only the caller knows, and may get it back. */
function notePicked(
  session: Session,
  fn: FunctionWithBody,
  element: ts.Expression,
  effect: ParameterEffect,
  hops: number,
): void {
  const fate = fateOf(element);
  if (fate.kind === "returned") noteReturn(session, fn, element, effect);
  else if (fate.kind === "bound") noteBound(session, fn, fate, effect, hops);
  else if (fate.kind === "assigned") noteAssigned(session, fn, fate, effect, hops);
  else if (fate.kind === "argument") effect.stores ||= putsAway(fate.node as CallLike);
}
const putsAway = (call: CallLike): boolean =>
  builtinArgument(calleeNameNode(call)?.text ?? "") === "takes";

/**
 * `list.map(…)` of a `T[]`, `t.dispose()` of a `t` of some type: what a callback gives or
 * keeps may be what the caller owns.
 */
function noteUnknownList(session: Session, id: ts.Expression, effect: ParameterEffect): void {
  const { member, node } = fateOf(id);
  const isEnd = session.settings.owners.some(({ dispose }) => dispose.methods.includes(member));
  if (isEnd) effect.disposes = true;
  if (parts.has(member)) effect.stores = true;
  const callback = (node as ts.CallExpression).arguments[0];
  const fn = callback && functionHanded(session.oracle, callback);
  const inner = fn && session.summary(fn).parameters[member === "reduce" ? 1 : 0];
  if (inner?.disposes) effect.disposes = true;
  if (inner?.stores || inner?.returns) effect.stores = true;
}
const parts = new Set([
  ...["slice", "concat", "filter", "values", "entries", "reverse", "flat", "find", "at", "pop"],
  ...["shift", "splice"],
]);

/** Adds one mention of an owned value to what the function does to its parameter. */
function noteTransfer(
  session: Session,
  fn: FunctionWithBody,
  id: ts.Expression,
  found: Transfer,
  effect: ParameterEffect,
  hops: number,
): void {
  const { fate, next } = found;
  switch (fate.kind) {
    case "bound":
      return noteBound(session, fn, fate, effect, hops);
    case "iterated":
      return noteLoop(session, fn, fate.node as ts.ForOfStatement, effect, hops);
    case "returned":
      return noteReturn(session, fn, id, effect);
    case "assigned":
      if (found.effect !== "borrows") noteAssigned(session, fn, fate, effect, hops);
      return;
    default:
      break;
  }
  switch (found.effect) {
    case "disposes":
      effect.disposes = true;
      return;
    case "returns": // yielded
    case "takes":
    case "stores":
      effect.stores = true;
      return;
    case "moves":
    case "passes":
      if (fate.kind === "argument") effect.stores ||= isAttached(session, fate.node);
      if (next && hops < 3) note(session, fn, next, effect, hops + 1);
      return;
    case "visits":
      noteVisits(session, fate.node as ts.CallExpression, effect);
      return;
    case "enters":
      if (next) noteElement(session, fn, next, effect, hops);
      return;
    case "unknown":
      // reported where it stands, if it ends nothing
      if (fate.kind === "receiver" && fate.member === "clear") effect.disposes ||= isMadeToEnd(fn);
      if (fate.kind === "argument" || fate.kind === "unknown" || isPartOf(session, id, fate))
        effect.stores ||= session.oracle.ownedAt(id) !== null;
      return;
    default:
      return;
  }
}

/** `return result.value`: who gets a part of a resource may end the whole by it. */
const isPartOf = ({ oracle }: Session, id: ts.Expression, { kind }: Fate): boolean =>
  kind === "read" && oracle.ownedAt(id)?.owner.args === "transfer";

function noteReturn(
  session: Session,
  fn: FunctionWithBody,
  id: ts.Expression,
  effect: ParameterEffect,
): void {
  const closure = enclosingFunction(id);
  if (closure === fn || (closure && isInline(session, closure))) effect.returns = true;
  else effect.stores = true;
}

/** `xs.forEach(x => x.dispose())` and friends do to all what the callback does to one. */
function noteVisits(session: Session, call: ts.CallExpression, effect: ParameterEffect): void {
  const [callback] = call.arguments;
  const fn = callback && functionHanded(session.oracle, callback);
  const inner = fn && session.summary(fn).parameters[0];
  if (inner?.disposes) effect.disposes = true;
  if (inner?.stores) effect.stores = true;
}

/** What happens to one element happens to the container. */
function noteElement(
  session: Session,
  fn: FunctionWithBody,
  access: ts.Expression,
  effect: ParameterEffect,
  hops: number,
): void {
  const found = session.transfer(access);
  const { left } = found.fate.node as Partial<ts.BinaryExpression>;
  // `for (const t of [game.boards, game.moves])`
  if (found.fate.kind === "iterated")
    return noteLoop(session, fn, found.fate.node as ts.ForOfStatement, effect, hops);
  switch (found.effect) {
    case "disposes":
      effect.disposes = true;
      return;
    case "returns":
      if (found.fate.kind === "returned") effect.returns = true;
      else effect.stores = true;
      return;
    case "takes":
    case "stores":
      effect.stores = true;
      return;
    case "aliases":
      if (found.fate.kind === "assigned" && left && !ts.isIdentifier(left)) effect.stores = true;
      if (found.fate.kind === "bound") noteBound(session, fn, found.fate, effect, hops);
      return;
    default:
      return;
  }
}

function noteAssigned(
  session: Session,
  fn: FunctionWithBody,
  fate: Fate,
  effect: ParameterEffect,
  hops: number,
): void {
  const { left } = fate.node as ts.BinaryExpression;
  if (!ts.isIdentifier(left)) {
    effect.stores = true;
    return;
  }
  const declaration = session.oracle.declarationAt(left);
  if (!declaration || enclosingFunction(declaration) !== fn) effect.stores = true;
  else if (ts.isVariableDeclaration(declaration) && ts.isIdentifier(declaration.name) && hops < 3)
    follow(session, fn, declaration.name, declaration, effect, hops + 1);
}

function noteBound(
  session: Session,
  fn: FunctionWithBody,
  fate: Fate,
  effect: ParameterEffect,
  hops: number,
): void {
  const declaration = fate.node as
    ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement;
  if (
    ts.isVariableDeclaration(declaration) &&
    ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Using
  ) {
    effect.disposes = true;
    return;
  }
  if (fate.conditional || hops >= 3) return;
  for (const { id, declaration: inner } of boundNames(declaration.name, declaration))
    follow(session, fn, id, inner, effect, hops + 1);
}

function noteLoop(
  session: Session,
  fn: FunctionWithBody,
  loop: ts.ForOfStatement,
  effect: ParameterEffect,
  hops: number,
): void {
  if (!ts.isVariableDeclarationList(loop.initializer) || hops >= 3) return;
  for (const declaration of loop.initializer.declarations) {
    for (const { id, declaration: inner } of boundNames(declaration.name, declaration))
      follow(session, fn, id, inner, effect, hops + 1);
  }
}

const rank: Record<CallMode, number> = { scoped: 0, inline: 1, later: 2 };
const mergeModes = (a: CallMode | null, b: CallMode): CallMode =>
  a === null || rank[b] > rank[a] ? b : a;

/**
 * How the body calls a function parameter: inside a scope it opens, inline, or from a closure that
 * runs later.
 */
function callMode(session: Session, fn: FunctionWithBody, call: ts.Node): CallMode {
  let mode: CallMode = lexicallyScoped(session, call, fn) ? "scoped" : "inline";
  let closure = enclosingFunction(call);
  while (closure && closure !== fn) {
    const host = handedTo(closure);
    const how = host ? session.callback(host, closure) : "later";
    if (how === "scoped") mode = "scoped";
    else if (how !== "inline" && mode !== "scoped") return "later";
    closure = enclosingFunction(host ?? closure);
  }
  return mode;
}
