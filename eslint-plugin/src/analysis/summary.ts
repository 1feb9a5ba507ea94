/**
 * Function summaries: what a function does to each parameter (borrows, disposes, stores, returns,
 * calls) and whether its result is fresh. Read from bodies only, on demand; functions that call each
 * other are solved together by `fixpoint.ts`, and what does not settle is unknown. Reached through
 * `session.summary`.
 */
import ts from "typescript";
import { callsDisposeSymbol, disposesArguments, isDisposer } from "./disposes.ts";
import { enclosingFunction, fateOf, type Fate } from "./fate.ts";
import { Fixpoint } from "./fixpoint.ts";
import { resultFreshness } from "./is-fresh.ts";
import type { CallLike, FunctionWithBody } from "./syntax.ts";
import { boundNames, referencesTo } from "./references.ts";
import type { CallMode, ParameterEffect, Session, Summary } from "./session.ts";
import { callbackMode, handedTo, storesAlias } from "./takes.ts";

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

  /** The summary of a function; an estimate while a group of recursive functions is solved. */
  of(fn: FunctionWithBody): Summary {
    return this.#solver.get(fn);
  }
}

const untouched: ParameterEffect = { disposes: false, stores: false, returns: false, calls: null };

function summarise(session: Session, fn: FunctionWithBody): Summary {
  const outer = session.asking.expressions;
  session.asking.expressions = new Set(); // what the caller asks about is no business of the body
  try {
    const tags = session.oracle.tags(fn);
    const parameters = fn.parameters.map((p) =>
      parameterEffect(session, fn, p, tags.takes, tags.borrows),
    );
    if (tags.fresh) return { result: "fresh", parameters };
    if (tags.borrowed) return { result: "borrowed", parameters };
    return { result: resultFreshness(session, fn), parameters };
  } finally {
    session.asking.expressions = outer;
  }
}

const sameSummary = (a: Summary, b: Summary): boolean =>
  a.result === b.result &&
  a.parameters.length === b.parameters.length &&
  a.parameters.every((effect, i) => {
    const other = b.parameters[i];
    return (
      other !== undefined &&
      effect.disposes === other.disposes &&
      effect.stores === other.stores &&
      effect.returns === other.returns &&
      effect.calls === other.calls
    );
  });

/** What a body does to a parameter, whatever its tags say. */
export const bodyEffect = (
  session: Session,
  fn: FunctionWithBody,
  parameter: ts.ParameterDeclaration,
): ParameterEffect => parameterEffect(session, fn, parameter, [], []);

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
  if (takes.includes(name)) return { ...effect, stores: true };
  if (ts.isParameterPropertyDeclaration(parameter, fn)) effect.stores = true;
  for (const { id, declaration } of boundNames(parameter.name, parameter))
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
    note(session, fn, id, fateOf(id), effect, hops);
  }
}

function note(
  session: Session,
  fn: FunctionWithBody,
  id: ts.Identifier,
  fate: Fate,
  effect: ParameterEffect,
  hops: number,
): void {
  const owned = session.oracle.ownedAt(id);
  const closure = enclosingFunction(id);
  if (
    closure !== fn &&
    closure &&
    fate.kind !== "called" &&
    owned &&
    escapesInClosure(session, fn, closure)
  )
    effect.stores = true;
  switch (fate.kind) {
    case "called":
      effect.calls = mergeModes(effect.calls, callMode(session, fn, fate.node));
      return;
    case "receiver":
      if (owned && isDisposer(owned, fate.member)) effect.disposes = true;
      else noteReceiver(session, fate, effect);
      return;
    case "element":
      if (owned && callsDisposeSymbol(fate)) effect.disposes = true;
      else noteElement(session, fate, effect);
      return;
    case "argument":
      noteArgument(session, id, fate, effect);
      return;
    case "returned":
      if (closure === fn || (closure && inlineIn(session, closure))) effect.returns = true;
      else effect.stores = true;
      return;
    case "yielded":
    case "field":
    case "thrown":
      effect.stores = true;
      return;
    case "assigned":
      noteAssigned(session, fn, fate, effect, hops);
      return;
    case "bound":
      noteBound(session, fn, fate, effect, hops);
      return;
    case "iterated":
      noteLoop(session, fn, fate.node as ts.ForOfStatement, effect, hops);
      return;
    case "unknown":
      if (owned) effect.stores = true;
      return;
    default:
      return;
  }
}

/** `xs.forEach(x => x.dispose())` and friends dispose of what the array holds. */
function noteReceiver(session: Session, fate: Fate, effect: ParameterEffect): void {
  const call = fate.node as ts.CallExpression;
  if (fate.member === "moveToOuter" || fate.member === "moveTo") {
    const up = fateOf(call);
    if (up.kind === "returned") effect.returns = true;
  }
  for (const argument of call.arguments) {
    if (!ts.isArrowFunction(argument) && !ts.isFunctionExpression(argument)) continue;
    if (!["forEach", "map"].includes(fate.member)) continue;
    const inner = session.summary(argument).parameters[0];
    if (inner?.disposes) effect.disposes = true;
    if (inner?.stores) effect.stores = true;
  }
}

function noteElement(session: Session, fate: Fate, effect: ParameterEffect): void {
  const access = fate.node as ts.ElementAccessExpression;
  const owned = session.oracle.ownedAt(access);
  if (!owned) return;
  const inner = fateOf(access);
  if (inner.kind === "receiver" && isDisposer(owned, inner.member)) effect.disposes = true;
  if (inner.kind === "argument") {
    const handed = disposesArguments(session, inner.node as CallLike, owned)
      ? "disposes"
      : session.effect(inner.node as CallLike, access);
    if (handed === "disposes") effect.disposes = true;
    else if (handed === "takes") effect.stores = true;
  }
  if (inner.kind === "returned") effect.returns = true;
  if (
    inner.kind === "field" ||
    inner.kind === "yielded" ||
    (inner.kind === "assigned" && !ts.isIdentifier((inner.node as ts.BinaryExpression).left))
  )
    effect.stores = true;
}

function noteArgument(
  session: Session,
  id: ts.Identifier,
  fate: Fate,
  effect: ParameterEffect,
): void {
  const call = fate.node as CallLike;
  if (session.oracle.ownedAt(id)) {
    const inner = session.effect(call, id);
    if (inner === "disposes") effect.disposes = true;
    else if (inner === "takes" || inner === "unknown") effect.stores = true;
    else if (inner === "identity" && fateOf(call).kind === "returned") effect.returns = true;
    return;
  }
  const mode = session.callback(call, id);
  // stored, perhaps to be called in a scope
  if (mode !== "unknown") effect.calls = mergeModes(effect.calls, mode);
}

function noteAssigned(
  session: Session,
  fn: FunctionWithBody,
  fate: Fate,
  effect: ParameterEffect,
  hops: number,
): void {
  const { left } = fate.node as ts.BinaryExpression;
  if (session.settings.owners.some((o) => storesAlias(o, left))) return;
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

/** Whether a `using` scope of the same function is open at a node. */
export function lexicallyScoped(
  session: Session,
  node: ts.Node,
  stop: ts.Node | undefined,
): boolean {
  let current = node;
  while ((current.parent as ts.Node | undefined) && current !== stop) {
    const parent = current.parent;
    if (
      (ts.isBlock(parent) ||
        ts.isSourceFile(parent) ||
        ts.isCaseOrDefaultClause(parent) ||
        ts.isModuleBlock(parent)) &&
      opensBefore(session, parent.statements, current)
    )
      return true;
    if (ts.isFunctionLike(current)) return false;
    current = parent;
  }
  return false;
}

function opensBefore(
  session: Session,
  statements: readonly ts.Statement[],
  until: ts.Node,
): boolean {
  let open = 0;
  for (const statement of statements) {
    if (statement === until || statement.pos >= until.pos) break;
    open = Math.max(0, open + opens(session, statement));
  }
  return open > 0;
}

/** +1 when a statement opens a scope for the rest of its block, -1 when it ends one. */
export function opens(session: Session, statement: ts.Statement): number {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.some(
      (d) => d.initializer && opensScope(session, d.initializer),
    )
      ? 1
      : 0;
  if (!ts.isExpressionStatement(statement)) return 0;
  const call = statement.expression;
  if (!ts.isCallExpression(call)) return 0;
  const { name } = session.oracle.callee(call);
  for (const owner of session.settings.owners) {
    for (const scope of owner.scopes) {
      if (!("begin" in scope)) continue;
      if (scope.begin === name) return 1;
      if (scope.end === name) return -1;
    }
  }
  return 0;
}

/** Whether an expression opens a scope object (`newDisposeScope()`), held by `using` or not. */
export function opensScope(session: Session, expression: ts.Expression): boolean {
  let call: ts.Expression = expression;
  while (
    ts.isParenthesizedExpression(call) ||
    ts.isAsExpression(call) ||
    ts.isNonNullExpression(call)
  )
    call = call.expression;
  if (!ts.isCallExpression(call)) return false;
  const callee = session.oracle.callee(call);
  return session.settings.owners.some((o) =>
    o.scopes.some((s) => "using" in s && session.oracle.is(callee, [s.using], o)),
  );
}

/**
 * Whether a nested function runs only while its maker runs, so that what it captures does not
 * outlive it.
 */
function inlineIn(session: Session, closure: ts.SignatureDeclaration): boolean {
  const host = handedTo(closure);
  return host !== undefined && ["inline", "scoped"].includes(callbackMode(session, host, closure));
}

function escapesInClosure(
  session: Session,
  fn: FunctionWithBody,
  closure: ts.SignatureDeclaration,
): boolean {
  let current: ts.SignatureDeclaration | undefined = closure;
  while (current && current !== fn) {
    const host = handedTo(current);
    if (!host)
      return !(
        ts.isFunctionDeclaration(current) ||
        (ts.isVariableDeclaration(current.parent) && hasOnlyCalls(session, current.parent, fn))
      );
    if (!inlineIn(session, current)) return true;
    current = enclosingFunction(host);
  }
  return false;
}

function hasOnlyCalls(session: Session, declaration: ts.VariableDeclaration, fn: ts.Node): boolean {
  const { name } = declaration;
  return (
    ts.isIdentifier(name) &&
    referencesTo(session.oracle, declaration, name, fn).every((id) => fateOf(id).kind === "called")
  );
}
