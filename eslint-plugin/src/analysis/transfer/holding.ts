/**
 * Holding: calls whose result goes on using what they are given or asked of, such as a bind group
 * its buffers and a view its texture. Where the result outlives the function, the value must too:
 * it is not this code's to free. Used by the descriptions of mentions and arguments.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import type { Callee } from "../program/callee.ts";
import { callsByProperty, callSitesOf } from "../program/call-sites.ts";
import { argumentOf, enclosingFunction, fateOf } from "./fate.ts";
import type { Owned } from "../program/oracle.ts";
import { recurs } from "../trails/made-again.ts";
import { referencesTo } from "../program/references.ts";
import { isForChange } from "../trails/for-changes.ts";
import { runsOften, surelyRunsOften } from "../trails/runs-often.ts";
import type { Session } from "../session.ts";
import {
  isAsync,
  baseOf,
  hasBody,
  isTarget,
  rootOf,
  someWithin,
  unwrap,
  within,
  type CallLike,
} from "../program/syntax.ts";

const mostHops = 6;

/** Whether a call's result uses its arguments or receiver and outlives the function. */
export function holdsOn(session: Session, call: CallLike, owner: Owner, hops = 0): boolean {
  if (owner.holders.length === 0 && owner.recorders.length === 0) return false;
  if (session.oracle.is(session.oracle.callee(call), owner.holders, owner))
    return hops >= mostHops || outlives(session, call, owner, hops + 1);
  return isRecorded(session, call, owner, hops);
}

/** `bundle.setVertexBuffer(0, b)`: what `bundle.finish()` gives goes on using `b`. */
function isRecorded(session: Session, call: CallLike, owner: Owner, hops: number): boolean {
  const called = unwrap(call.expression);
  if (owner.recorders.length === 0 || !ts.isPropertyAccessExpression(called)) return false;
  return recordersAt(session, called.expression, owner).some(
    (at) => hops >= mostHops || variableOutlives(session, at, owner, hops + 1, resultOf),
  );
}

/** The recorders that a name means; of a parameter, those that callers give. */
function recordersAt(
  session: Session,
  name: ts.Expression,
  owner: Owner,
  isGiven = false,
): ts.VariableDeclaration[] {
  const { oracle } = session;
  const recorder = unwrap(name);
  const at = ts.isIdentifier(recorder) ? oracle.declarationAt(recorder) : undefined;
  if (at && ts.isParameter(at) && !isGiven && hasBody(at.parent)) {
    const index = at.parent.parameters.indexOf(at);
    return callSitesOf(oracle, at.parent, "program").calls.flatMap(({ arguments: given }) => {
      const value = given?.[index];
      return value ? recordersAt(session, value, owner, true) : [];
    });
  }
  if (!at || !ts.isVariableDeclaration(at) || !at.initializer) return [];
  const made = unwrap(at.initializer);
  const records =
    ts.isCallExpression(made) && oracle.is(oracle.callee(made), owner.recorders, owner);
  return records ? [at] : [];
}

/** What a method gives that is called on a name; otherwise the name itself. */
function resultOf(name: ts.Identifier): ts.Expression {
  const { kind, node } = fateOf(name);
  return kind === "receiver" ? (node as ts.Expression) : name;
}

/** Whether a function makes something that goes on using values it also gives to its caller. */
export function mayHold(session: Session, body: ts.Node, owner: Owner): boolean {
  if (owner.holders.length === 0) return false;
  return someWithin(
    body,
    (node) =>
      ts.isCallExpression(node) &&
      session.oracle.is(session.oracle.callee(node), owner.holders, owner),
  );
}

/**
 * Whether a call hands a value in a list, or several as one object, to a helper that makes
 * something which goes on using such values, and gives it back: `describe([[{ buffer }]],
 * device).bindGroups`, `passes(context, textures).main`.
 */
export function holdsListed(
  session: Session,
  call: CallLike,
  value: ts.Node,
  { owner, shape }: Owned,
): boolean {
  if (owner.holders.length === 0) return false;
  const list = ts.findAncestor(value, (n) => n === call || ts.isArrayLiteralExpression(n));
  const { body } = session.oracle.callee(call);
  return (
    (list !== call || shape === "record") &&
    body !== undefined &&
    !isAsync(body) &&
    (session.oracle.gives(call, "object") || session.oracle.gives(call, "anything")) &&
    session.oracle.ownedAt(call)?.shape !== "one" && // a buffer holds no other
    mayHold(session, body, owner) &&
    outlives(session, call, owner, 1)
  );
}

/** Whether the value of an expression may be used when the function it stands in has returned. */
function outlives(session: Session, node: ts.Expression, owner: Owner, hops: number): boolean {
  const fate = fateOf(node);
  switch (fate.kind) {
    case "bound":
      return variableOutlives(session, fate.node, owner, hops);
    case "argument": {
      const call = fate.node as CallLike;
      if (holdsOn(session, call, owner, hops)) return true;
      const callee = session.oracle.callee(call);
      return !isLent(callee, owner) && keepsGiven(session, call, node, callee, owner, hops);
    }
    case "receiver":
      return holdsOn(session, fate.node as CallLike, owner, hops);
    case "read":
    case "element":
      return hops >= mostHops || outlives(session, fate.node as ts.Expression, owner, hops + 1);
    case "operand":
    case "dropped":
    case "called":
      return false;
    case "returned":
      return hops >= mostHops || !isReplacedByCallers(session, node);
    case "assigned": {
      const local = ts.isBinaryExpression(fate.node) && localOf(session, fate.node.left);
      if (local && hops < mostHops) return variableOutlives(session, local, owner, hops + 1);
      return !isReplaced(session, node);
    }
    default:
      return !isTarget(node) && !isReplaced(session, node);
  }
}

/** The function's own variable of an assignment: `let view; view = texture.createView();`. */
function localOf(session: Session, place: ts.Expression): ts.VariableDeclaration | undefined {
  const at = ts.isIdentifier(place) ? session.oracle.declarationAt(place) : undefined;
  const isLocal = at && enclosingFunction(at) === enclosingFunction(place);
  return isLocal && ts.isVariableDeclaration(at) ? at : undefined;
}

/** Whether a function may keep what it is given: `pass.use(group)` only sets it. */
function keepsGiven(
  session: Session,
  call: CallLike,
  given: ts.Expression,
  { body }: Callee,
  owner: Owner,
  hops: number,
): boolean {
  const parameter = body?.parameters[argumentOf(call, given)?.index ?? -1];
  if (!body || !parameter || parameter.dotDotDotToken || isAsync(body) || hops >= mostHops)
    return true;
  if (ts.isParameterPropertyDeclaration(parameter, parameter.parent)) return true;
  const { name } = parameter;
  if (!ts.isIdentifier(name)) return true;
  return referencesTo(session.oracle, parameter, name, body).some(
    (id) =>
      id !== name && (enclosingFunction(id) !== body || outlives(session, id, owner, hops + 1)),
  );
}

/**
 * `resize() { this.view = device.createTexture(…).createView(); }`: the place holds another each
 * time, and of the last nothing leads to what it used. So do `this.pass = { depth: { view } }` and
 * `this.views.depth = …`.
 */
function isReplaced(session: Session, node: ts.Expression): boolean {
  const store = ts.findAncestor(node, (n) => n !== node && !isLiteralPart(n));
  if (!store || !ts.isBinaryExpression(store)) return false;
  if (store.operatorToken.kind !== ts.SyntaxKind.EqualsToken) return false;
  const fn = enclosingFunction(store);
  const { left } = store;
  if (!fn || !within(node, store.right) || !ts.isExpressionStatement(store.parent)) return false;
  const place = left.getText();
  const asks = (at: ts.Node): boolean =>
    (ts.isIfStatement(at) || ts.isConditionalExpression(at) || ts.isBinaryExpression(at)) &&
    someWithin(at, (inner) => !isStored(inner) && inner.getText() === place);
  if (someWithin(fn, asks)) return false;
  if (isForChange(store, fn)) return isOuter(session, fn, rootOf(left), true);
  const again = (): boolean => recurs(session, store) || surelyRunsOften(session, fn);
  if (/^this(\.[\w#$]+)+$/.test(place)) return again();
  const root = rootOf(left);
  if (!isOuter(session, fn, root)) return false;
  if (ts.isIdentifier(left)) return again();
  return isOfModule(session, root) && runsOften(session, fn);
}

/** `entries[0].resource = view;` of a list or record that a module keeps. */
function isOfModule(session: Session, root: ts.Node): boolean {
  const declaration = ts.isIdentifier(root) ? session.oracle.declarationAt(root) : undefined;
  return (
    declaration !== undefined &&
    ts.isVariableDeclaration(declaration) &&
    enclosingFunction(declaration) === undefined
  );
}

/** Whether a name is of the object or of outside of a function, or of what that is given. */
function isOuter(session: Session, fn: ts.Node, name: ts.Node, orGiven = false): boolean {
  if (!ts.isIdentifier(name)) return name.kind === ts.SyntaxKind.ThisKeyword;
  const declaration = session.oracle.declarationAt(name);
  if (!declaration) return false;
  if (enclosingFunction(declaration) !== fn || !orGiven)
    return enclosingFunction(declaration) !== fn;
  // `const depth = descriptor.depthStencilAttachment;` is a part of it
  const from = ts.isVariableDeclaration(declaration) && declaration.initializer;
  const part = from ? unwrap(from) : undefined;
  if (part && (ts.isPropertyAccessExpression(part) || ts.isElementAccessExpression(part)))
    return isOuter(session, fn, rootOf(part), true);
  return ts.isParameter(declaration);
}

/** `resize() { this.view = this.makeView(); }`: who asks for it puts it in the last one's place. */
function isReplacedByCallers(session: Session, node: ts.Node): boolean {
  const fn = enclosingFunction(node);
  if (!hasBody(fn)) return false;
  const { oracle } = session;
  const { calls, values } = callSitesOf(oracle, fn, "program");
  return [...calls, ...values.flatMap((value) => callsByProperty(oracle, value))].some((call) =>
    isReplaced(session, call),
  );
}

/** Between a value and the record that it is a part of. */
const isLiteralPart = (node: ts.Node): boolean =>
  ts.isPropertyAssignment(node) ||
  ts.isObjectLiteralExpression(node) ||
  ts.isArrayLiteralExpression(node) ||
  (ts.isExpression(node) && unwrap(node) !== node);

/** The place of an assignment that stands by itself. */
const isStored = (node: ts.Node): boolean => {
  const { parent } = node;
  return (
    ts.isBinaryExpression(parent) &&
    parent.left === node &&
    parent.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
    ts.isExpressionStatement(parent.parent)
  );
};

/** @param used what of a mention of the variable is followed; the mention when not given */
function variableOutlives(
  session: Session,
  at: ts.Node,
  owner: Owner,
  hops: number,
  used: (mention: ts.Identifier) => ts.Expression = (mention) => mention,
): boolean {
  const fn = enclosingFunction(at);
  const region = fn ?? ts.findAncestor(at, ts.isBlock); // what a module declares stays
  if (!region || !ts.isVariableDeclaration(at) || !ts.isIdentifier(at.name)) return true;
  return referencesTo(session.oracle, at, at.name, region).some(
    (id) => enclosingFunction(id) !== fn || outlives(session, used(id), owner, hops),
  );
}

/**
 * Whether a method is of a type that never keeps what it is given (`GPUQueue.writeBuffer`), or a
 * constructor of the library makes something that uses it and never ends it (`new StepLR(o)`).
 */
export function isLent(
  { declaration, name }: Pick<Callee, "declaration" | "name">,
  { borrowers, untyped }: Owner,
): boolean {
  if (!declaration && untyped.lent.includes(name)) return true;
  if (borrowers.length === 0 || !declaration) return false;
  const isNamed = (name: string | undefined): boolean =>
    name !== undefined && borrowers.some((b) => name.startsWith(b));
  if (ts.isClassLike(declaration))
    return (
      declaration.getSourceFile().isDeclarationFile &&
      (isNamed(declaration.name?.text) || isNamed(baseOf(declaration)?.expression.getText()))
    );
  const holder = declaration.parent;
  return ts.isInterfaceDeclaration(holder) && isNamed(holder.name.text);
}
