/**
 * Mentions: describes an expression that has an owned value for the table in `transfer.ts`, and
 * gives the effect together with where the value went. Reached through `session.transfer`.
 */
import ts from "typescript";
import {
  builtinArgument,
  containerMethod,
  isPresenceFilter,
  isPromiseMember,
  type ContainerMethod,
} from "../program/containers.ts";
import { functionHanded, givesThis } from "../program/callee.ts";
import { handedTo } from "./callbacks.ts";
import { callsDisposeSymbol, isDisposer } from "./disposes.ts";
import { enclosingFunction, fateOf, type Fate } from "./fate.ts";
import { handsOut } from "./hands-out.ts";
import { holdsOn } from "./holding.ts";
import { givesLivePart } from "./live-parts.ts";
import { callFreshness } from "../fresh/is-fresh.ts";
import { isAnything, isHolder, isLoose, type Owner } from "../../owner.ts";
import type { Oracle, Owned } from "../program/oracle.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import type { Session } from "../session.ts";
import { hasBody, isTarget, isUsing, someWithin, unwrap } from "../program/syntax.ts";
import type { CallLike, FunctionWithBody } from "../program/syntax.ts";
import { namesDescriptor } from "./made-with.ts";
import { onlyLooksAt, transfer, type Effect, type Mention } from "./transfer.ts";
import { makesParts, storesAlias } from "./keeps.ts";

/** What a mention does to the value, and the construct that does it. */
export interface Transfer {
  effect: Effect;
  fate: Fate;
  /**
   * For `passes` and `moves`: the call, which gives the same value. For `enters`: the access, which
   * is a mention of the value inside.
   */
  next: ts.Expression | undefined;
}

/**
 * The effect of one mention.
 *
 * @param owned what the mention owns; asked for when not given
 * @param temporary whether `node` makes the value, rather than naming it
 */
export function transferOf(
  session: Session,
  node: ts.Expression,
  owned: Owned | null = session.oracle.ownedAt(node),
  temporary = false,
): Transfer {
  const fate = fateOf(node);
  if (!owned) return { effect: "unknown", fate, next: undefined };
  const effect = transfer(new Described(session, node, fate, owned, temporary));
  const leadsOn = effect === "passes" || effect === "moves" || effect === "enters";
  return { effect, fate, next: leadsOn ? (fate.node as ts.Expression) : undefined };
}

/** A mention as the table sees it; what is dear to know is asked for by the rows that need it. */
class Described implements Mention {
  readonly shape: Owned["shape"];
  readonly #session: Session;
  readonly #node: ts.Expression;
  readonly fate: Fate;
  readonly #owned: Owned;
  readonly temporary: boolean;

  constructor(session: Session, node: ts.Expression, fate: Fate, owned: Owned, temporary: boolean) {
    this.#session = session;
    this.#node = node;
    this.fate = fate;
    this.#owned = owned;
    this.shape = owned.shape;
    this.temporary = temporary;
  }

  get target(): boolean {
    return isTarget(this.#node);
  }
  get disposer(): boolean {
    const { owner, shape } = this.#owned;
    if (isDisposer(this.#owned, this.fate.member)) return true;
    return (
      shape === "one" &&
      isHolder(owner, this.#session.settings) &&
      this.#session.oracle.endsWhatIsHeld(this.fate.node as CallLike)
    );
  }
  get keeper(): boolean {
    return this.#owned.owner.keep.methods.includes(this.fate.member);
  }
  get safe(): boolean {
    return this.#owned.owner.safeAfterDispose.includes(this.fate.member);
  }
  get shared(): boolean {
    if (this.shape !== "one") return false;
    const { owner } = this.#owned;
    const { member } = this.fate;
    return owner.shares.includes(member) || adoptsOthers(this.#session, this.fate, owner);
  }
  get parted(): boolean {
    return this.shape === "one" && handsOnPart(this.#session, this.fate, this.#owned.owner);
  }
  get unpacked(): boolean {
    const { name } = this.fate.node as ts.VariableDeclaration;
    if (!ts.isObjectBindingPattern(name) || isLoose(this.#owned.owner)) return false;
    const names = boundNames(name, this.fate.node as ts.VariableDeclaration);
    return names.every(({ id }) => this.#session.oracle.ownedAt(id) === null);
  }
  get parting(): boolean {
    const isListed = this.fate.literal !== null && !ts.isSpreadElement(this.#node.parent);
    return !isListed && makesParts(this.#session, this.#node, this.#owned);
  }
  get promise(): boolean {
    return isPromiseMember(this.fate.member);
  }
  get symbolDispose(): boolean {
    return callsDisposeSymbol(this.fate);
  }
  get container(): ContainerMethod {
    const { member, node } = this.fate;
    if (isPresenceFilter(node)) return "views";
    const staysWhole = isCut(this.fate) || isThinnedAt(this.#node, this.fate);
    return containerMethod(member, staysWhole || sumsUp(this.#session, this.fate));
  }
  get held(): boolean {
    return holdsOn(this.#session, this.fate.node as CallLike, this.#owned.owner);
  }
  get itself(): boolean {
    const call = this.fate.node as ts.CallExpression;
    const { owner } = this.#owned;
    if (owner.calls === "fresh" || isAnything(owner) || fateOf(call).kind === "dropped")
      return false;
    const callee = this.#session.oracle.callee(call);
    return callee.member === owner && givesThis(callee);
  }
  get chained(): boolean {
    const call = this.fate.node as ts.CallExpression;
    if (livesOn(this.#session, call, this.#owned.owner)) return true;
    if (isAnything(this.#owned.owner) && givesLivePart(this.#session, call)) return true;
    if (handsItselfOn(this.#session, call, this.#owned)) return true;
    return this.temporary
      ? mayKeepReceiver(this.#session, call, this.#owned)
      : mayGiveItself(this.#session, call, this.#owned);
  }
  get left(): Mention["left"] {
    const { left } = this.fate.node as ts.BinaryExpression;
    if (storesAlias(this.#owned.owner, left)) return "alias";
    return ts.isIdentifier(left) ? "name" : "place";
  }
  get inner(): boolean {
    const { node } = this.fate;
    return ts.isPropertyAccessExpression(node) && this.#session.oracle.ownedAt(node) !== null;
  }
  get keys(): boolean {
    return ts.isForInStatement(this.fate.node);
  }
  get argument(): Effect {
    return this.#session.effect(this.fate.node as CallLike, this.#node);
  }
}

/** `ts.reduce((sum, t) => sum + t.size, 0)`: a look at each, for something that nobody owns. */
function sumsUp(session: Session, { node, member }: Fate): boolean {
  if (!/^reduce(Right)?$/.test(member) || !ts.isCallExpression(node)) return false;
  const [first] = node.arguments;
  const fn = first && functionHanded(session.oracle, first);
  const each = fn && session.summary(fn).parameters[1];
  if (!each || each.disposes || each.stores || each.returns) return false;
  return session.oracle.ownedAt(node) === null;
}

/** `ts.splice(n)`: takes what comes after some. */
function isCut({ node, member }: Fate): boolean {
  if (member !== "splice") return false;
  const [from, ...more] = ts.isCallExpression(node) ? node.arguments : [];
  return from !== undefined && more.length === 0 && !/^0$/.test(from.getText());
}

/**
 * `if (ts.length > 3) ts.shift()`: some stay, whatever becomes of the one that is taken out. Not
 * `while (ts.length > 1)`, after which the last one is reached by its place.
 */
function isThinnedAt(list: ts.Expression, { node, member }: Fate): boolean {
  if (!/^(pop|shift|splice)$/.test(member)) return false;
  const test = ts.findAncestor(
    node,
    (at): at is ts.IfStatement | ts.WhileStatement =>
      ts.isIfStatement(at) || ts.isWhileStatement(at),
  );
  if (!test || enclosingFunction(test) !== enclosingFunction(node)) return false;
  const length = `${list.getText()}.length`;
  return someWithin(test.expression, (at) => {
    if (!ts.isBinaryExpression(at) || at.left.getText() !== length) return false;
    const operator = at.operatorToken.getText();
    const last = ts.isWhileStatement(test) ? 1 : 0;
    const least = ts.isNumericLiteral(at.right) ? Number(at.right.text) : Infinity;
    return (operator === ">" && least > last) || (operator === ">=" && least > last + 1);
  });
}

/** `model.add(base)`: what it is given was not made for it, and goes on without it. */
function adoptsOthers(session: Session, { member, node }: Fate, owner: Owner): boolean {
  if (!owner.adopts.includes(member) || !ts.isCallExpression(node)) return false;
  return node.arguments.some((argument) => {
    const bare = unwrap(argument);
    const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
    const named = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
    const made = named ? unwrap(named) : bare;
    return !ts.isCallExpression(made) || session.oracle.ownedAt(made)?.owner === owner;
  });
}

/**
 * `request(url, { stream: t.outer })`, `const port = channel.port2`: a part of a resource that is
 * an object, or the number that stands for it, goes on to somebody.
 */
function handsOnPart(session: Session, { node, member }: Fate, owner: Owner): boolean {
  if (!isLoose(owner)) return false;
  if (owner.safeAfterDispose.includes(member)) return false;
  let part = node as ts.Expression;
  let fate = fateOf(part);
  while (fate.kind === "read") {
    part = fate.node as ts.Expression;
    fate = fateOf(part);
  }
  const inText = ts.isTemplateSpan(part.parent);
  const goes = inText || /^(argument|bound|assigned|returned|yielded|field)$/.test(fate.kind);
  if (!goes) return false;
  const { oracle } = session;
  const name = ts.isPropertyAccessExpression(part) ? part.name.text : "";
  const whole = oracle.gives(part, "object") || oracle.gives(part, "anything");
  if (!whole && !namesDescriptor(name) && !(isAnything(owner) && standsFor.test(name)))
    return false;
  if (inText) return true;
  if (isOnlyLentPart(session, part, fate)) return false;
  if (fate.kind !== "argument") return true;
  const callee = oracle.callee(fate.node as CallLike);
  return !callee.builtin || builtinArgument(callee.name) !== "borrows";
}

/** `x.add(t.state)`: a part that has an end of its own goes to code that only looks at it. */
function isOnlyLentPart(session: Session, part: ts.Expression, fate: Fate): boolean {
  if (fate.kind !== "argument" && fate.kind !== "bound") return false;
  const owned = session.oracle.ownedAt(part);
  if (!owned) return false;
  const found = transferOf(session, part, owned);
  if (onlyLooksAt(found.effect)) return true;
  const named = found.effect === "aliases" ? boundTo(found) : undefined;
  return named !== undefined && isOnlyRead(session, named);
}

/** By which others find a resource: the name of a table, the path of a folder. */
const standsFor = /^(name|id|path|url|uri|key|port|host|file_?name|dir|folder|directory)$/i;

/** What else a method is called that ends something, or has it ended. */
const sounds = new RegExp(
  "^(unlock|free|unsubscribe|unload|disconnect|shut_?down|stop|cancel|abort|kill|clean_?up|" +
    "tear_?down|revoke|detach|exit|quit|finish|complete)",
  "i",
);

/** What a method is called that sets something going, which may go on by itself. */
const starts = new RegExp(
  "^(start|listen|run|serve|watch|play|connect|attach|mount|install|register|observe|enable|" +
    "launch|boot|activate|init|schedule|on|once|bind|hook)([A-Z_]|$)",
);

/**
 * `lock.unlock()`, `patch.on("hide", () => …)`, `server.listen()`: a resource that is ended by
 * another name, or is given a function to call later, or set going, for which it lives on.
 */
function livesOn(session: Session, call: ts.CallExpression, owner: Owner): boolean {
  if (!isLoose(owner)) return false;
  const { oracle } = session;
  const { expression, arguments: given } = call;
  const { body } = oracle.callee(call);
  const text = ts.isPropertyAccessExpression(expression) ? expression.name.text : "";
  const isKept = (a: ts.Expression, i: number): boolean =>
    (ts.isArrowFunction(unwrap(a)) || ts.isFunctionExpression(unwrap(a))) &&
    session.callback(call, a) !== "scoped" &&
    (!body || starts.test(text) || !isOnlyCalled(oracle, body, i));
  if (given.some(isKept)) return true;
  if (text === "") return false;
  if (sounds.test(text)) return true;
  if (!isAnything(owner)) return false;
  return body ? oracle.facts.of(body, handsOut) : starts.test(text);
}

/** `apply(x, onStep) { …; onStep?.(x); }`: a function that is given one calls it there itself. */
function isOnlyCalled(oracle: Oracle, fn: FunctionWithBody, index: number): boolean {
  const parameter = fn.parameters[index];
  if (!parameter || parameter.dotDotDotToken || !ts.isIdentifier(parameter.name)) return false;
  return referencesTo(oracle, parameter, parameter.name, fn).every(
    (id) => id === parameter.name || (fateOf(id).kind === "called" && enclosingFunction(id) === fn),
  );
}

/** `buffer.fill(device)`, whose body does `device.register(this)`: somebody else knows it. */
function handsItselfOn(session: Session, call: ts.CallExpression, { owner }: Owned): boolean {
  const { body } = owner.policy === "generic" ? session.oracle.callee(call) : {};
  if (!body || !ts.isClassElement(body)) return false;
  const handsOn = (node: ts.Node): boolean =>
    node.kind === ts.SyntaxKind.ThisKeyword &&
    fateOf(node as ts.Expression).kind === "argument" &&
    !onlyLooksAt(session.transfer(node as ts.Expression).effect);
  return someWithin(body, handsOn);
}

/** A fluent method of a resource that may give the resource itself. */
function mayGiveItself(session: Session, call: ts.CallExpression, { owner }: Owned): boolean {
  return (
    isLoose(owner) &&
    session.oracle.ownedAt(call)?.owner === owner &&
    fateOf(call).kind !== "dropped" &&
    (isForItself(call) || mayGiveThis(session, call))
  );
}

/** `texture = await texture.load(url)`: what it gives stands for it from then on. */
function isForItself(call: ts.CallExpression): boolean {
  const { expression } = call;
  const { kind, node } = fateOf(call);
  return (
    kind === "assigned" &&
    ts.isBinaryExpression(node) &&
    ts.isPropertyAccessExpression(expression) &&
    node.left.getText() === expression.expression.getText()
  );
}

/** Whether a method that is called may give what it is called on: not if its body never says so. */
function mayGiveThis(session: Session, call: ts.CallExpression, depth = 0): boolean {
  const { body } = session.oracle.callee(call);
  if (!body || depth > furthest || !ts.isMethodDeclaration(body)) return true;
  const isWhole = (at: ts.Node): boolean =>
    at.kind === ts.SyntaxKind.ThisKeyword &&
    !(
      (ts.isPropertyAccessExpression(at.parent) || ts.isElementAccessExpression(at.parent)) &&
      at.parent.expression === at
    );
  return (
    someWithin(body, isWhole) ||
    someWithin(
      body,
      (at) =>
        ts.isCallExpression(at) &&
        ts.isPropertyAccessExpression(at.expression) &&
        at.expression.expression.kind === ts.SyntaxKind.ThisKeyword &&
        mayGiveThis(session, at, depth + 1),
    )
  );
}

/** How many calls deep a method is followed that may give its object. */
const furthest = 3;

/** A method called on a temporary: builders keep or return it, strangers do who knows what. */
function mayKeepReceiver(session: Session, call: ts.CallExpression, { owner }: Owned): boolean {
  const callee = session.oracle.callee(call);
  if (callee.member !== owner) return isLoose(owner) || !callee.declaration;
  if (callee.tags.takes.length > 0 || callee.tags.keeps) return true;
  return session.oracle.ownedAt(call) !== null && callFreshness(session, call) !== "fresh";
}

/**
 * The effect on a value inside a container or record, with the container's own when the expression
 * does not speak of what is inside.
 */
export function effectInside(session: Session, found: Transfer): Effect {
  if (found.effect !== "enters" || !found.next) return found.effect;
  const inner = session.oracle.ownedAt(found.next);
  if (isTarget(found.next)) return "nothing";
  if (inner) {
    const deeper = transferOf(session, found.next, inner);
    const named = deeper.effect === "aliases" && inner.shape !== "many" && boundTo(deeper);
    return named && isOnlyRead(session, named) ? "borrows" : effectInside(session, deeper);
  }
  const { kind } = fateOf(found.next);
  return kind === "operand" || kind === "read" ? "nothing" : "unknown";
}

/** The variable a declaration gives the value to, by one name. */
function boundTo({ fate }: Transfer): NamedVariable | undefined {
  const { node } = fate;
  return ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && !isUsing(node)
    ? (node as NamedVariable)
    : undefined;
}
type NamedVariable = ts.VariableDeclaration & { name: ts.Identifier };

/** Whether a variable that names an element is read, asked or lent, where it is or at once. */
function isOnlyRead(session: Session, declaration: NamedVariable): boolean {
  const home = enclosingFunction(declaration);
  const ids = referencesTo(
    session.oracle,
    declaration,
    declaration.name,
    home ?? declaration.getSourceFile(),
  );
  return ids.every(
    (id) =>
      runsIn(session, id, home) &&
      !isTarget(id) &&
      onlyLooksAt(effectInside(session, transferOf(session, id))),
  );
}

/** Whether a mention stands in a function, or in callbacks that run where it does. */
function runsIn(session: Session, mention: ts.Node, home: ts.Node | undefined): boolean {
  let fn = enclosingFunction(mention);
  while (fn && fn !== home) {
    const host = handedTo(fn);
    const mode = host && hasBody(fn) ? session.callback(host, fn) : null;
    if (mode !== "inline" && mode !== "scoped") return false;
    fn = enclosingFunction(fn);
  }
  return fn === home;
}
