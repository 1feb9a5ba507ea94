/**
 * Endings: the methods by which others end an object of a class, and what those free. Also whether
 * a class that keeps owned values has no such method, or one that nobody calls. Used by the rule
 * about members.
 */
import ts from "typescript";
import type { Facts } from "../program/facts.ts";
import { callsNamed } from "../program/call-index.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { disposesArguments, isDisposer } from "../transfer/disposes.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { heirsOf, isInStatic, madeWithObject, makersOf } from "../program/class-makers.ts";
import { lineage } from "./holders.ts";
import { reach } from "./class-reach.ts";
import {
  fieldOfThis,
  mentionsField,
  ownedMembers,
  sharedElsewhere,
  type Member,
} from "./members.ts";
import { isAnything, isHolder } from "../../owner.ts";
import type { Owned } from "../program/oracle.ts";
import { pausesOf } from "./pauses.ts";
import type { Session } from "../session.ts";
import {
  baseOf,
  calleeNameNode,
  hasBody,
  isPrivate,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  isStatic,
} from "../program/syntax.ts";

/** A method, or a field that holds a function, after which an object is done with. */
export interface Ending {
  member: ts.ClassElement & { name: ts.PropertyName };
  body: ts.Block;
  /** The object may begin again afterwards. */
  pauses?: true;
}

/** Names that say an object is done with. */
const names = ["dispose", "destroy", "@@dispose", "@@asyncDispose"];
/** What else people call a method that frees what an object holds. */
export const freeing = new RegExp(
  "dispose|destroy|release|free|close|clean|tear_?down|unload|terminate|shut_?down|deinit|delete|" +
    "finali[sz]e|reset|stop|clear|remove|unmount|detach|evict|kill",
  "i",
);

/** Whether a call sounds as if it freed something: `t.release()`, not `t.detach().clone()`. */
export function soundsFreeing(call: ts.CallExpression): boolean {
  const { expression } = call;
  const isLast = call.arguments.length === 0 && fateOf(call).kind !== "dropped";
  const text = expression.getText().replace(/\.(detach\(\)|detachFromScope\b)/g, "");
  return freeing.test(isLast ? text.replace(/\.detach$/, "") : text);
}

const isCallable = (member: ts.ClassElement): boolean =>
  ts.isMethodDeclaration(member) ||
  (ts.isPropertyDeclaration(member) &&
    member.initializer !== undefined &&
    ts.isFunctionLike(unwrap(member.initializer)));

/** The endings of a class that others can call and that are written out. */
export function endingsOf(
  node: ts.ClassLikeDeclaration,
  more: readonly string[] = [],
): readonly Ending[] {
  return node.members.flatMap((member) => {
    const body = bodyOf(member);
    const { name } = member;
    if (!name || !body || isPrivate(member) || isUnwritten(body)) return [];
    const written = memberName(name);
    if (!names.includes(written.replace(/^D/, "d")) && !more.includes(written)) return [];
    return [{ member: member as Ending["member"], body }];
  });
}

/** The methods after which an object is done with: by their names, by deed, by who calls them. */
export function methodsThatEnd(
  session: Session,
  node: ts.ClassLikeDeclaration,
  members: readonly Member[],
): readonly Ending[] {
  const { owned } = members[0]!;
  const named = disposers(node, owned);
  if (named.length > 0) return named;
  if (isAnything(owned.owner)) return [];
  const closing = closersOf(session, node);
  if (closing.length > 0) return closing;
  const { policy, managers } = owned.owner;
  const keepsOwned = isHolder(owned.owner, session.settings);
  if (policy === "generic" && managers.length === 0 && !keepsOwned)
    return endingsByDeed(session, node, members, 2);
  const byDeed = endingsByDeed(session, node, members);
  if (byDeed.length > 0) return byDeed;
  const hooks = hooksOf(session, node);
  return hooks.length > 0 ? hooks : pausesOf(session, node, members);
}

/** What an object goes on living after. */
const pauses = new Set(["clear", "reset", "stop", "end"]);

/** The methods that a framework calls when it is done with a component. */
const unmounting = ["componentWillUnmount", "disconnectedCallback", "ngOnDestroy"];

/** The methods that end the object's life, for others to call. */
const disposers = (node: ts.ClassLikeDeclaration, { owner }: Owned): readonly Ending[] =>
  endingsOf(node, [...unmounting, ...owner.dispose.methods.filter((name) => !pauses.has(name))]);

/** Names of methods that end an object when they end something that it holds. */
export const closing = new RegExp(
  "^(on_?)?(destroy|dispose)(_?(all|resources))?$|" +
    "^(close|end|shut_?down|terminate|tear_?down|clean_?up|unload|release|free)$",
  "i",
);

/** Methods that are called as if they closed the object, and end a value. */
function closersOf(session: Session, node: ts.ClassLikeDeclaration): readonly Ending[] {
  const called = node.members.flatMap((m) =>
    m.name && closing.test(memberName(m.name)) ? [memberName(m.name)] : [],
  );
  const ends = (at: ts.Node): boolean =>
    ts.isExpression(at) &&
    (ts.isIdentifier(at) || ts.isPropertyAccessExpression(at)) &&
    session.transfer(at).effect === "disposes";
  return endingsOf(node, called).filter(({ member }) =>
    [...reach(session.oracle, node, [member])].some((m) => someWithin(m, ends)),
  );
}

/**
 * The methods of a class that an ending of its base calls: `abstract release()`, which `dispose()`
 * of the base runs.
 */
function hooksOf(session: Session, node: ts.ClassLikeDeclaration): readonly Ending[] {
  const own = node.members.flatMap((member) =>
    ts.isMethodDeclaration(member) && member.body ? [{ member, body: member.body }] : [],
  );
  let base = baseOf(node);
  for (let depth = 0; base && depth < 6; depth++) {
    const holder = session.oracle.declarationAt(base.expression);
    if (!holder || !ts.isClassLike(holder) || holder.getSourceFile().isDeclarationFile) return [];
    const run = endingsOf(holder).flatMap((e) => [...reach(session.oracle, holder, [e.member])]);
    const calls = (name: string): boolean =>
      run.some((m) => someWithin(m, (at) => fieldOfThis(at)?.name.text === name));
    const found = own.filter(({ member }) => calls(memberName(member.name)));
    if (found.length > 0) return found;
    base = baseOf(holder);
  }
  return [];
}

/**
 * Methods that end an object by what they do, whatever they are called: they end a field that only
 * the constructor fills, or some of those, and leave it so.
 */
function endingsByDeed(
  session: Session,
  node: ts.ClassLikeDeclaration,
  members: readonly Member[],
  least = 1,
): readonly Ending[] {
  const lasting = members.filter((m) => m.atOnce && !isSetLater(node, m.name));
  return node.members.flatMap((member) => {
    const body = bodyOf(member);
    const { name } = member;
    if (!name || !body || isPrivate(member) || isStatic(member)) return [];
    const run = [...reach(session.oracle, node, [member])];
    const isEnded = (m: Member): boolean =>
      run.some((at) =>
        someWithin(at, (n) => ts.isExpressionStatement(n) && isEndOf(session, n, m)),
      );
    const ends = lasting.filter(isEnded).length >= least;
    return ends ? [{ member: member as Ending["member"], body }] : [];
  });
}

const isSetLater = (node: ts.ClassLikeDeclaration, field: string): boolean =>
  node.members.some(
    (m) =>
      !ts.isConstructorDeclaration(m) &&
      someWithin(m, (n) => fieldOfThis(n)?.name.text === field && isTarget(n)),
  );

/** `this.x.dispose();`, `dispose(this.x);` */
function isEndOf(session: Session, statement: ts.Statement, { name, owned }: Member): boolean {
  if (!ts.isExpressionStatement(statement)) return false;
  const call = unwrap(statement.expression);
  if (!ts.isCallExpression(call)) return false;
  const isField = (n: ts.Node): boolean => fieldOfThis(n)?.name.text === name;
  const { expression } = call;
  if (ts.isPropertyAccessExpression(expression) && isField(expression.expression))
    return isDisposer(owned, expression.name.text);
  return call.arguments.some(isField) && disposesArguments(session, call, owned);
}

function bodyOf(member: ts.ClassElement): ts.Block | undefined {
  if (ts.isMethodDeclaration(member)) return member.body;
  if (!ts.isPropertyDeclaration(member) || !member.initializer) return undefined;
  const value = unwrap(member.initializer);
  const isFunction = ts.isArrowFunction(value) || ts.isFunctionExpression(value);
  return isFunction && ts.isBlock(value.body) ? value.body : undefined;
}

/** `throw new Error("not implemented")` and nothing else. */
const isUnwritten = ({ statements: [first] }: ts.Block): boolean =>
  first !== undefined && ts.isThrowStatement(first);

/** The class of which an expression makes an instance: `new X()`, `await X.create()`. */
export function classMade(
  session: Session,
  value: ts.Expression,
): ts.ClassLikeDeclaration | undefined {
  const node = unwrap(value);
  const target = ts.isNewExpression(node)
    ? node.expression
    : ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)
      ? node.expression.expression
      : undefined;
  const found = target && session.oracle.declarationAt(target);
  if (!found || !ts.isClassLike(found) || found.getSourceFile().isDeclarationFile) return undefined;
  const name = found.name?.text;
  const gives = ts.isNewExpression(node) || givesOwn(session, node, name);
  return gives ? found : undefined;
}

/** `X.create()` gives an `X`, or the promise of one. */
function givesOwn(session: Session, call: ts.Expression, name: string | undefined): boolean {
  if (name === undefined || !ts.isCallExpression(call)) return false;
  const { body } = session.oracle.callee(call);
  if (
    !body ||
    !ts.isMethodDeclaration(body) ||
    !/^(create|make|build|new|init)/i.test(body.name.getText())
  )
    return false;
  const type = body.type?.getText() ?? name;
  return type === name || type === `Promise<${name}>`;
}

/**
 * The values a class keeps that nobody can end: it made them, has no method that sounds as if it
 * freed them, and no class above or below it that may. A device that it asked for does not count.
 */
export function endlessMembers(session: Session, node: ts.ClassLikeDeclaration): Member[] {
  const line = lineage(node, session.oracle);
  if (baseOf(line[line.length - 1]!)) return []; // who knows what it does
  const owned = ownedMembers(session, node).filter(
    (m) =>
      m.owned.owner.policy === "generic" &&
      !isDevice(session, m.at) &&
      !isInStatic(m.at, node) &&
      !sharedElsewhere(session, node, m.name),
  );
  if (owned.length === 0) return [];
  const all = [...line, ...heirsOf(session.oracle, node)];
  return all.some((c) => mayFree(session, c, owned)) ? [] : owned;
}

/** Names that may speak of something else than of what the object holds. */
const vague = /^(clear|reset|stop|remove|delete|evict|kill|close|detach)/i;

/** Whether a class has a method that may free some values, by its name. */
function mayFree(
  session: Session,
  node: ts.ClassLikeDeclaration,
  values: readonly Member[],
): boolean {
  const { facts } = session.oracle;
  return node.members.some((m) => {
    const name = m.name && isCallable(m) ? m.name.getText() : "";
    if (!freeing.test(name)) return false;
    if (!vague.test(name)) return true;
    return [...reach(session.oracle, node, [m])].some((r) =>
      values.some((v) => mentionsField(facts, r, v.name)),
    );
  });
}

/** Whether an expression gives a device, which frees all it made when it is destroyed. */
export const isDevice = (session: Session, node: ts.Expression): boolean => {
  const made = unwrap(node);
  const called = ts.isCallExpression(made) ? calleeNameNode(made)?.text : undefined;
  const asker = ts.isCallExpression(made) ? made.expression : undefined;
  if (/^(catch|finally)$/.test(called ?? "") && asker && ts.isPropertyAccessExpression(asker))
    return isDevice(session, asker.expression); // `adapter.requestDevice().catch(() => null)`
  if (called === "requestDevice" || session.oracle.typeName(made) === "GPUDevice") return true;
  const name = ts.isPropertyAccessExpression(made) ? made.name : made;
  return /device$/i.test(name.getText()) && session.oracle.gives(made, "anything");
};

const deepest = 3;

/**
 * Whether code destroys a device, itself or through methods of objects: then all is freed.
 *
 * @param counts whether a call of the code itself counts
 */
export function endsDevice(
  session: Session,
  body: ts.Node,
  counts = (_end: ts.CallExpression): boolean => true,
  depth = 0,
): boolean {
  return someWithin(body, (node) => {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
    const { name, expression } = node.expression;
    if (name.text === "destroy" && isDevice(session, expression)) return counts(node);
    const inner = freeing.test(name.text) ? session.oracle.callee(node).body : undefined;
    const isNew = inner !== undefined && inner !== body && depth < deepest;
    return isNew && endsDevice(session, inner, undefined, depth + 1) && counts(node);
  });
}

const isTest = /\.(test|spec)\.[cm]?[jt]sx?$/;

/** Whether nobody in the program calls an ending of a class, so that its instances stay. */
export function isNeverEnded(session: Session, node: ts.ClassLikeDeclaration): boolean {
  if ((node.heritageClauses ?? []).length > 0) return false;
  return endingsOf(node).every(({ member }) =>
    callsNamed(session.oracle, memberName(member.name)).every((call) => {
      if (isTest.test(call.getSourceFile().fileName)) return true; // says nothing of the program
      const { declaration, member: owner } = session.oracle.callee(call);
      if (owner && Array.isArray(owner.types) && owner.types.length > 0) return true;
      return declaration !== undefined && declaration !== member && isElsewhere(declaration);
    }),
  );
}

/** Whether a method surely belongs to something else than a class of the program it is not in. */
const isElsewhere = (called: ts.Declaration): boolean =>
  called.getSourceFile().isDeclarationFile ||
  ts.isClassLike(called.parent) ||
  ts.isObjectLiteralExpression(called.parent);

/** `this.mask = null`: a setter that has a field in hand. */
export const isSetBy = (
  facts: Facts,
  node: ts.ClassLikeDeclaration,
  field: string,
  methods: ReadonlySet<ts.Node>,
): boolean =>
  node.members
    .filter((m) => ts.isSetAccessorDeclaration(m) && mentionsField(facts, m, field))
    .some(
      (m) => m.name && [...methods].some((by) => mentionsField(facts, by, memberName(m.name!))),
    );

/** Whether a field is declared by the base class, whose own `dispose()` is called. */
export function leftToBase(
  { oracle }: Session,
  node: ts.ClassLikeDeclaration,
  field: string,
  reached: ReadonlySet<ts.Node>,
): boolean {
  if (node.members.some((m) => m.name !== undefined && memberName(m.name) === field)) return false;
  const isSuper = (child: ts.Node): boolean => child.kind === ts.SyntaxKind.SuperKeyword;
  if (![...reached].some((m) => someWithin(m, isSuper))) return false;
  const [, ...bases] = lineage(node, oracle);
  const last = bases.at(-1);
  const mayKnow = (at: ts.Node): boolean =>
    at.kind === ts.SyntaxKind.ThisKeyword &&
    (!ts.isPropertyAccessExpression(at.parent) || at.parent.name.text === field);
  return (
    last === undefined || baseOf(last) !== undefined || bases.some((b) => someWithin(b, mayKnow))
  );
}

/** Whether nobody else ends what a field holds, though others have it in hand: nobody ever does. */
export function isOnlyLent(session: Session, { at }: Member): boolean {
  const made = classMade(session, at);
  return made !== undefined && isNeverEnded(session, made);
}

/**
 * Whether what a class keeps goes with its device: it destroys that itself, or its instances are
 * parts from the start of objects which do so.
 */
export function goesWithDevice(
  session: Session,
  node: ts.ClassLikeDeclaration,
  depth = 0,
): boolean {
  if (node.members.some((m) => endsDevice(session, m)) || endsBesideDevice(session, node))
    return true;
  const makers = depth < deepest ? makersOf(session.oracle, node) : [];
  return (
    makers.length > 0 &&
    makers.every((call) => {
      const owner = madeWithObject(call);
      return owner !== undefined && owner !== node && goesWithDevice(session, owner, depth + 1);
    })
  );
}

/** `this.renderer.dispose(); this.device.destroy();`: whoever ends an object ends a device, too. */
function endsBesideDevice(session: Session, node: ts.ClassLikeDeclaration): boolean {
  const { oracle } = session;
  const calls = endingsOf(node).flatMap(({ body: { parent } }) => {
    const all = hasBody(parent) ? callSitesOf(oracle, parent, "program").calls : [];
    // those of the same name where nothing is known of the object may be of anything
    const known = all.filter((call) => oracle.callee(call).body === parent);
    return known.length > 0 ? known : all;
  });
  const callers = calls.map(enclosingFunction);
  return callers.length > 0 && callers.every((fn) => fn !== undefined && endsDevice(session, fn));
}
