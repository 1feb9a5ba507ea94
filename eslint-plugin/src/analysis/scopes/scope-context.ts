/**
 * Scope context: whether values made at a place belong to an open dispose scope. Scopes are
 * dynamic, so a function is "in" when every call site in the program is; exported functions nobody
 * calls are entry points and "out". Callbacks count as called where their callee calls them.
 * Reached through `session.scopeAt`; `unknown` keeps rules silent.
 */
import ts from "typescript";
import { eventOf, functionValue, handedTo } from "../transfer/callbacks.ts";
import { callsNamed, indexFile, isTestFile, sourcesOf } from "../program/call-index.ts";
import {
  bindingOf,
  callSitesOf,
  callsByProperty,
  isCommonExport,
  memberOfScript,
  nameOf,
  overridesForeign,
} from "../program/call-sites.ts";
import { isOfferedByName } from "../program/entry-points.ts";
import { isOfferedMember } from "../program/object-members.ts";
import { isExported } from "../program/exported.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { Fixpoint } from "../program/fixpoint.ts";
import {
  isMemberName,
  isNamedSurely,
  isOfLibrary,
  methodName,
  nameInScript,
} from "../untyped/script-names.ts";
import {
  hasBody,
  unwrap,
  type CallLike,
  type FunctionWithBody,
  within,
} from "../program/syntax.ts";
import type { Divided, ScopeState, Session } from "../session.ts";
import { callsThrough, countsOnNoScope, isLayerCall } from "./layer-calls.ts";
import { isLoss } from "./losses.ts";
import { lexicallyScoped } from "./open-scopes.ts";
import { programScopes } from "./program-scopes.ts";
import { afterAwait, isPastScope, waitsBefore } from "./past-waits.ts";
import { isStranger } from "./strangers.ts";
import { mayRunInScope } from "./scope-reach.ts";

/** A place from which a function is entered. */
interface Entry {
  node: ts.Node;
  state: ScopeState | "never";
}

/** The settings that speak once of a function whose callers are divided. */
const reportsOnce: ReadonlySet<string> = new Set(["callers", "once"]);

/** Answers where scopes are open, for one session. */
export class ScopeContext {
  readonly #solver: Fixpoint<FunctionWithBody, ScopeState | "never">;
  readonly #session: () => Session;

  constructor(session: () => Session) {
    this.#session = session;
    this.#solver = new Fixpoint({
      bottom: () => "never",
      compute: (fn) => this.compute(session(), fn),
      same: (a, b) => a === b,
      unknown: () => "unknown",
    });
  }

  /** Whether no state is being worked out, so that none is an estimate. */
  get isIdle(): boolean {
    return this.#solver.isIdle;
  }

  /** Whether values made at a node belong to an open scope. */
  at(node: ts.Node): ScopeState {
    const session = this.#session();
    const found = this.stateAt(session, node);
    if (found === "never") return "unknown"; // called by itself alone
    if (found === "mixed") return waitsPastScopes(session, node) ? "out" : found;
    return found === "unknown" && isBeyondScopes(session, node) ? "out" : found;
  }

  /**
   * The function whose callers decide what becomes of a value made at a node: where they are
   * divided, with those that have no scope.
   */
  dividedAt(node: ts.Node): Divided | null {
    const session = this.#session();
    if (this.at(node) !== "mixed") return null;
    const fn = activation(node);
    if (!hasBody(fn)) return null;
    const found = new Set<ts.Node>();
    this.addLacking(session, fn, found, new Set());
    const lacking = [...found].filter((site) => isNamedSurely(session, site));
    return { fn, lacking: lacking.sort(byPlace) };
  }

  /** Adds the places from which a function is entered without a scope. */
  private addLacking(
    session: Session,
    fn: FunctionWithBody,
    into: Set<ts.Node>,
    seen: Set<ts.Node>,
  ): void {
    if (seen.has(fn)) return;
    seen.add(fn);
    for (const { node, state } of this.entered(session, fn)) {
      const caller = state === "mixed" ? activation(node) : undefined;
      if (state === "out") into.add(node);
      else if (hasBody(caller)) this.addLacking(session, caller, into, seen);
    }
  }

  private stateAt(session: Session, node: ts.Node): ScopeState | "never" {
    const fn = boundary(node);
    if (lexicallyScoped(session, node, undefined)) return "in";
    if (!fn || !ts.isFunctionLike(fn)) return "out";
    const found = hasBody(fn) ? this.#solver.get(fn) : "unknown";
    if (found === "in" && isPastScope(session, node, fn)) return "out";
    const open = found === "unknown" || found === "mixed";
    return open && afterAwait(session, node, fn) ? "out" : found;
  }

  private compute(session: Session, fn: FunctionWithBody): ScopeState | "never" {
    if (session.oracle.tags(fn).scoped || isLayerCall(session, fn)) return "in";
    const host = handedTo(fn);
    if (host) return this.ofCallback(session, host, fn);
    if (session.settings.scopeInference === "off") return "out";
    if (isLoss(session, fn) && !this.isCalledOutside(session, fn)) return "in";
    return this.ofNamed(session, fn);
  }

  /** The state inside a function handed directly to a call. */
  private ofCallback(session: Session, host: CallLike, fn: ts.Node): ScopeState | "never" {
    const mode = session.callback(host, fn);
    if (mode === "scoped") return "in";
    if (mode === "inline") return this.stateAt(session, host);
    return mode === "later" ? "out" : this.ofStranger(session, host);
  }

  /**
   * The state inside a function that a stranger calls, at once or later: an untyped or installed
   * function whose module does not know the library opens none of its scopes.
   */
  private ofStranger(session: Session, host: CallLike): ScopeState | "never" {
    return isStranger(session, host) && this.stateAt(session, host) === "out" ? "out" : "unknown";
  }

  private ofNamed(session: Session, fn: FunctionWithBody): ScopeState | "never" {
    const { settings } = session;
    const { exportedFunctions, scopeInference } = settings;
    if (nameOf(fn) === undefined || memberOfScript(fn)) return this.ofAnonymous(session, fn);
    const entered = this.entered(session, fn);
    const states = entered.map((e) => e.state);
    const found = this.ofEntered(session, fn, entered);
    if (scopeInference !== "program" || !reportsOnce.has(exportedFunctions)) return found;
    if (states.includes("mixed")) return "mixed";
    if (found !== "out" || (exportedFunctions === "once" && isEntry(session, fn)))
      return found === "out" ? "mixed" : found;
    return states.includes("in") ? this.ofDivided(session, fn, entered) : found;
  }

  /**
   * The state of a function with callers in scopes and without, or that somebody unseen may call: a
   * call by name alone may be one of another function, and shows neither.
   */
  private ofDivided(
    session: Session,
    fn: FunctionWithBody,
    entered: readonly Entry[],
  ): ScopeState | "never" {
    const sure = entered.filter((e) => isNamedSurely(session, e.node));
    const states = sure.map((e) => e.state);
    if (!states.includes("in")) return states.includes("out") ? "out" : "unknown";
    return this.ofEntered(session, fn, sure) === "out" ? "mixed" : "unknown";
  }

  private isCalledOutside(session: Session, fn: FunctionWithBody): boolean {
    const { calls } = callSitesOf(session.oracle, fn, "program");
    const sure = calls.filter((call) => isNamedSurely(session, call) && !within(call, fn));
    return sure.some((call) => this.stateAt(session, call) === "out");
  }

  /** The places a function is called from or handed on at, with the scopes there. */
  private entered(session: Session, fn: FunctionWithBody): Entry[] {
    const { oracle, settings } = session;
    const sites = callSitesOf(oracle, fn, settings.scopeInference === "file" ? "file" : "program");
    const inTest = isTestFile(fn.getSourceFile());
    const counts = (node: ts.Node): boolean =>
      !within(node, fn) && (inTest || !isTestFile(node.getSourceFile()));
    const calls = sites.calls.filter((c) => isNamedSurely(session, c) || !isOfLibrary(session, c));
    const run = [...calls, ...callsThrough(session, fn), ...sites.reads].filter(counts);
    return [
      ...run.map((node) => ({ node, state: this.stateAt(session, node) })),
      ...sites.values.filter(counts).map((node) => ({ node, state: this.ofValue(session, node) })),
    ];
  }

  private ofEntered(
    session: Session,
    fn: FunctionWithBody,
    entered: readonly Entry[],
  ): ScopeState | "never" {
    const { oracle, settings } = session;
    const states = entered.map((e) => e.state);
    if (states.includes("out")) return "out";
    if (
      settings.exportedFunctions !== "assume-scoped" &&
      settings.scopeInference === "program" &&
      isOffered(
        session,
        fn,
        entered.map((e) => e.node),
      )
    )
      return "out";
    if (states.includes("unknown")) {
      const entry =
        isEntry(session, fn) &&
        settings.exportedFunctions !== "assume-scoped" &&
        settings.scopeInference === "program";
      return entry && !states.includes("in") ? "out" : "unknown";
    }
    if (states.length > 0 && states.every((state) => state === "never")) return "never";
    if (states.length > 0)
      return settings.scopeInference === "file" && isEntry(session, fn) ? "unknown" : "in";
    const accessor = ts.isGetAccessor(fn) || ts.isSetAccessor(fn); // read and written unseen
    if (accessor && !(ts.isSetAccessor(fn) && isExported(session.oracle.facts, fn)))
      return "unknown";
    if (overridesForeign(oracle, fn) && !countsOnNoScope(session, fn)) return "unknown";
    if (isEntry(session, fn))
      return settings.exportedFunctions !== "assume-scoped" ? "out" : "unknown";
    return isObjectMember(fn) ? "unknown" : "out";
  }

  /** A function used as a value: where it is handed to decides. */
  private ofValue(session: Session, value: ts.Node): ScopeState | "never" {
    const expression = functionValue(value);
    const isShown = ts.isJsxExpression(expression.parent);
    if (isShown || eventOf(expression) !== undefined) return "out"; // the event loop calls it
    const fate = fateOf(expression);
    if (fate.kind === "returned" && fate.literal)
      return (
        this.ofTakenOut(session, value, fate.node) ?? this.ofReturnedObject(session, fate.node)
      );
    if (fate.kind === "argument" && fate.literal && runsInScope(session, fate.node as CallLike))
      return "in"; // `op({ add_ })`
    if (fate.kind !== "argument" || fate.literal) return "unknown";
    const mode = session.callback(fate.node as CallLike, expression);
    if (mode === "scoped") return "in";
    if (mode === "inline") return this.stateAt(session, fate.node);
    return mode === "later" ? "out" : this.ofStranger(session, fate.node as CallLike);
  }

  private givesOwned(session: Session, fn: FunctionWithBody): boolean {
    return session.oracle.ownedResult(fn) !== null;
  }

  /** What `make` returns, `{ f }`: `f` is where it is called, `const { f } = make(); f()`. */
  private ofTakenOut(
    session: Session,
    value: ts.Node,
    node: ts.Node,
  ): ScopeState | "never" | undefined {
    const maker = enclosingFunction(node);
    if (!maker || !ts.isIdentifier(value)) return undefined;
    const states = callsNamed(session.oracle, value.text)
      .filter((call) => isTakenFrom(session, call, maker))
      .map((call) => this.stateAt(session, call));
    if (states.includes("out")) return "out";
    if (!isEntry(session, maker)) states.push(...this.statesByProperty(session, value));
    return states.length > 0 && states.every((s) => s === "in") ? "in" : undefined;
  }

  /** `const made = make(); made.f()`. */
  private statesByProperty(session: Session, value: ts.Node): (ScopeState | "never")[] {
    return callsByProperty(session.oracle, value).map((call) => this.stateAt(session, call));
  }

  /**
   * A function in an object that an exported function returns, or one that a framework is given, is
   * part of what the module offers.
   */
  private ofReturnedObject(session: Session, node: ts.Node): ScopeState {
    const maker = enclosingFunction(node) ?? node;
    const host = handedTo(maker);
    if (host && runsInScope(session, host)) return "in"; // the gradient function of `customGrad`
    if (session.settings.exportedFunctions === "assume-scoped") return "unknown";
    const given = host && !enclosingFunction(host) && isStranger(session, host);
    return given || isEntry(session, maker) ? "out" : "unknown";
  }

  /**
   * A method known by its name alone: every call of that name may be one of it, but for those of
   * what the object keeps: `this.model.predict(t)` in `predict()`.
   */
  private ofMethod(session: Session, fn: ts.Node, name: string): ScopeState {
    const calls = callsNamed(session.oracle, name).filter(
      (call) => !within(call, fn) && !isOfLibrary(session, call),
    );
    const states = calls.map((call) => this.stateAt(session, call));
    if (states.length === 0 || states.includes("out")) return "out";
    return states.every((state) => state === "in") ? "in" : "unknown";
  }

  /** A function that a script assigns to a name nobody declares: where that name is used. */
  private ofScript(session: Session, fn: ts.Node, name: string): ScopeState {
    const { facts, program } = session.oracle;
    const calls = callsNamed(session.oracle, name)
      .filter((call) => ts.isIdentifier(call.expression) && !within(call, fn))
      .map((call) => this.stateAt(session, call));
    const values = facts
      .of(program, sourcesOf)
      .flatMap((f) => facts.of(f, indexFile).values.get(name) ?? [])
      .filter((id) => !within(id, fn) && !isMemberName(id))
      .map((id) => this.ofValue(session, id));
    const states = [...calls, ...values];
    if (states.length === 0 || states.includes("out")) return "out";
    return states.every((state) => state === "in") ? "in" : "unknown";
  }

  /**
   * A function expression with no name that is not handed to a call: returned, stored, in a
   * literal.
   */
  private ofAnonymous(session: Session, fn: FunctionWithBody): ScopeState {
    if (eventOf(fn) !== undefined) return "out"; // the event loop calls it
    if (session.settings.exportedFunctions !== "assume-scoped" && isCommonExport(fn.parent))
      return "out";
    const { parent } = fn;
    const isGiven =
      ts.isReturnStatement(parent) || (ts.isArrowFunction(parent) && parent.body === fn);
    if (isGiven && !this.givesOwned(session, fn)) return this.ofReturnedObject(session, fn);
    const method = methodName(fn);
    if (method !== undefined) return this.ofMethod(session, fn, method);
    const name = nameInScript(session, fn);
    if (name) return this.ofScript(session, fn, name.text);
    return bindingOf(fn) || ts.isClassStaticBlockDeclaration(fn.parent) ? "out" : "unknown";
  }
}

/** Whether a call calls a name that a pattern takes out of what a function returns. */
function isTakenFrom(session: Session, call: CallLike, maker: ts.Node): boolean {
  const declaration = session.oracle.declarationAt(call.expression);
  if (!declaration || !ts.isBindingElement(declaration) || declaration.propertyName) return false;
  const holder: ts.Node = declaration.parent.parent;
  const made =
    ts.isVariableDeclaration(holder) && holder.initializer ? unwrap(holder.initializer) : undefined;
  return (
    made !== undefined && ts.isCallExpression(made) && session.oracle.callee(made).body === maker
  );
}

/**
 * Whether no scope that the program opens can enclose a node, whoever calls its function: there is
 * none, all of them end before the function has waited, or what runs in them never comes to it.
 */
function isBeyondScopes(session: Session, node: ts.Node): boolean {
  const { exportedFunctions, scopeInference } = session.settings;
  if (exportedFunctions === "assume-scoped" || scopeInference !== "program") return false;
  return (
    !programScopes(session).any || waitsPastScopes(session, node) || !mayRunInScope(session, node)
  );
}

/** Whether a function has waited before a node, and no scope of the program outlasts that. */
function waitsPastScopes(session: Session, node: ts.Node): boolean {
  const fn = boundary(node);
  return hasBody(fn) && waitsBefore(fn.body, node) && !programScopes(session).lasting;
}

/** Whether somebody unseen may call a function: the module exports it, or an object it is in. */
const isEntry = (session: Session, fn: ts.Node): boolean =>
  isExported(session.oracle.facts, fn) ||
  isOfferedMember(session, fn, (call) => isStranger(session, call));

/** The function whose callers a node depends on: the callbacks it runs at once are part of it. */
function activation(node: ts.Node): ts.Node | undefined {
  let fn = boundary(node);
  for (let host = fn && handedTo(fn); host; host = fn && handedTo(fn)) fn = boundary(host);
  return fn;
}

/** Files by name, and nodes of one file by their order. */
const byPlace = (a: ts.Node, b: ts.Node): number =>
  a.getSourceFile().fileName.localeCompare(b.getSourceFile().fileName) || a.pos - b.pos;

/** The function, or undefined at module level, whose activation a node belongs to. */
function boundary(node: ts.Node): ts.Node | undefined {
  let current: ts.Node | undefined = node.parent;
  let child = node;
  while (current) {
    if (ts.isFunctionLike(current)) return current;
    // a field initialiser runs in the constructor; a static one with the class
    if (ts.isPropertyDeclaration(current) && current.initializer === child) {
      const constructor = current.parent.members.find(
        (m) => ts.isConstructorDeclaration(m) && m.body !== undefined,
      );
      return constructor ?? undefined;
    }
    child = current;
    current = current.parent;
  }
  return undefined;
}

/**
 * Whether code outside its package calls a function, or could: a function that the package exports,
 * a method that another package calls.
 */
function isOffered(session: Session, fn: FunctionWithBody, sites: readonly ts.Node[]): boolean {
  const { oracle } = session;
  if (!isExported(oracle.facts, fn) || overridesForeign(oracle, fn)) return false;
  if (isOfferedByName(oracle, bindingOf(fn) ?? fn)) return true;
  const own = oracle.packageOf(fn.getSourceFile());
  return own !== "" && sites.some((s) => ![own, ""].includes(oracle.packageOf(s.getSourceFile())));
}

/** Whether a function runs what it is given inside a scope of its own, by settings. */
const runsInScope = (session: Session, call: CallLike): boolean =>
  session.settings.owners.some((o) =>
    session.oracle.is(session.oracle.callee(call), o.runsInScope, o),
  );

const isObjectMember = (fn: ts.Node): boolean =>
  ts.isObjectLiteralExpression(fn.parent) ||
  bindingOf(fn)?.kind === ts.SyntaxKind.PropertyAssignment;
