/**
 * Verb "is fresh": whether the value of an expression is new and owned by the code that evaluates
 * it. Reached through `session.freshness`. Tags win over settings, settings over bodies, bodies
 * over the owner's default.
 */
import ts from "typescript";
import { isDisposer } from "./disposes.ts";
import { enclosingFunction, fateOf, returnsOf } from "./fate.ts";
import { nameGates } from "./names.ts";
import type { Callee, Owned } from "./oracle.ts";
import { hasBody, unwrap, type CallLike, type FunctionWithBody } from "./syntax.ts";
import { referencesTo } from "./references.ts";
import type { Freshness, Session } from "./session.ts";

/** Joins what two paths give. */
export function joinFreshness(a: Freshness, b: Freshness): Freshness {
  if (a === b || b === "never") return a;
  if (a === "never") return b;
  return a === "unknown" || b === "unknown" ? "unknown" : "mixed";
}
const joinAll = (all: readonly Freshness[]): Freshness =>
  all.length === 0 ? "unknown" : all.reduce(joinFreshness);

const nullish = (node: ts.Expression): boolean =>
  node.kind === ts.SyntaxKind.NullKeyword || (ts.isIdentifier(node) && node.text === "undefined");

export function freshness(session: Session, expression: ts.Expression): Freshness {
  const node = unwrap(expression);
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) return callFreshness(session, node);
  if (ts.isConditionalExpression(node)) return joinArms(session, [node.whenTrue, node.whenFalse]);
  if (ts.isBinaryExpression(node)) {
    const operator = node.operatorToken.kind;
    if (operator === ts.SyntaxKind.BarBarToken || operator === ts.SyntaxKind.QuestionQuestionToken)
      return joinArms(session, [node.left, node.right]);
    if (
      operator === ts.SyntaxKind.AmpersandAmpersandToken ||
      operator === ts.SyntaxKind.CommaToken ||
      operator === ts.SyntaxKind.EqualsToken
    )
      return freshness(session, node.right);
    return "unknown";
  }
  if (ts.isIdentifier(node)) return nullish(node) ? "unknown" : variableFreshness(session, node);
  if (ts.isPropertyAccessExpression(node))
    return readIsFresh(session, node) ? "fresh" : propertyFreshness(session, node);
  if (ts.isElementAccessExpression(node)) return "borrowed";
  if (ts.isArrayLiteralExpression(node)) return literalFreshness(session, node.elements);
  if (ts.isObjectLiteralExpression(node)) {
    const values = node.properties.flatMap((p) =>
      ts.isPropertyAssignment(p)
        ? [p.initializer]
        : ts.isShorthandPropertyAssignment(p)
          ? [p.name]
          : [],
    );
    return values.length < node.properties.length ? "unknown" : literalFreshness(session, values);
  }
  return node.kind === ts.SyntaxKind.ThisKeyword ? "borrowed" : "unknown";
}

/** `cond ? a : null` is as fresh as `a`. */
function joinArms(session: Session, arms: ts.Expression[]): Freshness {
  return joinAll(arms.filter((a) => !nullish(unwrap(a))).map((a) => freshness(session, a)));
}

function literalFreshness(session: Session, values: readonly ts.Expression[]): Freshness {
  const owned = values.filter((v) => !ts.isSpreadElement(v) && session.oracle.ownedAt(v));
  if (values.some((v) => ts.isSpreadElement(v) && session.oracle.ownedAt(v.expression)))
    return "unknown";
  return owned.length === 0 ? "unknown" : joinAll(owned.map((v) => freshness(session, v)));
}

/** A property whose every read gives a fresh value (`p.grad`), by settings or `@fresh` tag. */
export function readIsFresh(session: Session, node: ts.PropertyAccessExpression): boolean {
  const { text } = node.name;
  if (
    !session.settings.owners.some((o) => o.freshProperties.includes(text)) &&
    !nameGates(session.oracle.program).getters.has(text)
  )
    return false;
  const owned = session.oracle.ownedAt(node);
  if (!owned) return false;
  if (ts.isBinaryExpression(node.parent) && node.parent.left === node) return false;
  if (owned.owner.freshProperties.includes(node.name.text))
    return session.oracle.ownedAt(node.expression)?.owner === owned.owner;
  const declaration = session.oracle.declarationAt(node.name);
  if (!declaration || !ts.isGetAccessorDeclaration(declaration)) return false;
  const tags = session.oracle.tags(declaration);
  return (
    tags.fresh ||
    (!tags.borrowed && hasBody(declaration) && session.summary(declaration).result === "fresh")
  );
}

function propertyFreshness(session: Session, node: ts.PropertyAccessExpression): Freshness {
  const owned = session.oracle.ownedAt(node);
  return owned &&
    owned.shape !== "one" &&
    ts.isPropertyAccessExpression(node) &&
    isLocalRecord(session, node.expression)
    ? "unknown"
    : "borrowed";
}
const isLocalRecord = (session: Session, node: ts.Expression): boolean =>
  session.oracle.ownedAt(node)?.shape === "record";

function variableFreshness(session: Session, id: ts.Identifier): Freshness {
  const declaration = session.oracle.declarationAt(id);
  if (!declaration) return "unknown";
  if (ts.isParameter(declaration)) {
    const fn = declaration.parent;
    if (!hasBody(fn) || !ts.isIdentifier(declaration.name)) return "borrowed";
    return assignmentsTo(session, declaration, declaration.name, fn).length > 0
      ? "unknown"
      : "borrowed";
  }
  if (ts.isBindingElement(declaration)) return bindingFreshness(session, declaration);
  if (!ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
    return "unknown";
  const root = enclosingFunction(declaration);
  if (root !== enclosingFunction(id)) return "borrowed";
  if (ts.isForOfStatement(declaration.parent.parent))
    return freshness(session, declaration.parent.parent.expression);
  const values = root ? assignmentsTo(session, declaration, declaration.name, root) : [];
  if (
    root &&
    values.length === 0 &&
    declaration.initializer &&
    isEmptyContainer(unwrap(declaration.initializer))
  )
    return filledFreshness(session, declaration, declaration.name, root);
  if (declaration.initializer && !nullish(unwrap(declaration.initializer)))
    values.push(declaration.initializer);
  return joinAll(values.filter((v) => !nullish(unwrap(v))).map((v) => guarded(session, v)));
}

const isEmptyContainer = (node: ts.Expression): boolean =>
  (ts.isArrayLiteralExpression(node) && node.elements.length === 0) ||
  (ts.isNewExpression(node) &&
    (node.arguments ?? []).length === 0 &&
    /^(Map|Set|Array)$/.test(node.expression.getText()));

/**
 * A local list or table that starts empty is as fresh as what is put into it, as long as that is
 * put nowhere else.
 */
function filledFreshness(
  session: Session,
  declaration: ts.VariableDeclaration,
  name: ts.Identifier,
  root: ts.Node,
): Freshness {
  const found: Freshness[] = [];
  for (const id of referencesTo(session.oracle, declaration, name, root)) {
    const fate = fateOf(id);
    if (
      fate.kind === "receiver" &&
      ts.isCallExpression(fate.node) &&
      ["push", "unshift", "set", "add"].includes(fate.member)
    ) {
      const values = fate.member === "set" ? fate.node.arguments.slice(1) : fate.node.arguments;
      for (const value of values)
        found.push(ts.isSpreadElement(value) ? "unknown" : putFreshness(session, value, root));
    } else if (
      fate.kind === "element" &&
      ts.isBinaryExpression(fate.node.parent) &&
      fate.node.parent.left === fate.node
    ) {
      found.push(putFreshness(session, fate.node.parent.right, root));
    } else if (
      !["returned", "read", "operand", "element", "iterated"].includes(fate.kind) &&
      !(fate.kind === "argument" && session.effect(fate.node as CallLike, id) === "borrows")
    )
      return "unknown";
    if (fate.literal) return "unknown";
  }
  return joinAll(found);
}

/** A variable that is put into one place and only looked at elsewhere belongs to that place. */
function putFreshness(session: Session, value: ts.Expression, root: ts.Node): Freshness {
  const bare = unwrap(value);
  if (!ts.isIdentifier(bare)) return guarded(session, value);
  const declaration = session.oracle.declarationAt(bare);
  if (
    !declaration ||
    !ts.isVariableDeclaration(declaration) ||
    !ts.isIdentifier(declaration.name) ||
    isUsing(declaration)
  )
    return "unknown";
  return referencesTo(session.oracle, declaration, declaration.name, root).every(
    (id) => id === bare || onlyUsed(session, id),
  )
    ? guarded(session, bare)
    : "unknown";
}

/** Read, asked or lent, and neither disposed nor handed on. */
function onlyUsed(session: Session, id: ts.Identifier): boolean {
  const fate = fateOf(id),
    owned = session.oracle.ownedAt(id);
  return (
    fate.kind === "operand" ||
    fate.kind === "read" ||
    (fate.kind === "receiver" &&
      owned !== null &&
      !isDisposer(owned, fate.member) &&
      !owned.owner.keep.methods.includes(fate.member)) ||
    (fate.kind === "argument" && session.effect(fate.node as CallLike, id) === "borrows")
  );
}

/** `const` shares its bits with `using` and `await using`. */
function isUsing(declaration: ts.VariableDeclaration): boolean {
  const kind = ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.AwaitUsing;
  return kind === ts.NodeFlags.Using || kind === ts.NodeFlags.AwaitUsing;
}

function bindingFreshness(session: Session, element: ts.BindingElement): Freshness {
  let holder: ts.Node = element;
  while (
    ts.isBindingElement(holder) ||
    ts.isObjectBindingPattern(holder) ||
    ts.isArrayBindingPattern(holder)
  )
    holder = holder.parent;
  return ts.isVariableDeclaration(holder) && holder.initializer
    ? freshness(session, holder.initializer)
    : "borrowed";
}

/** `x = x.add(y)` in terms of itself must end, and adds nothing to what else `x` is given. */
function guarded(session: Session, value: ts.Expression): Freshness {
  const { expressions } = session.asking;
  if (expressions.has(value)) return "never";
  expressions.add(value);
  try {
    return freshness(session, value);
  } finally {
    expressions.delete(value);
  }
}

function assignmentsTo(
  session: Session,
  declaration: ts.Declaration,
  name: ts.Identifier,
  root: ts.Node,
): ts.Expression[] {
  return referencesTo(session.oracle, declaration, name, root)
    .map((id) => id.parent)
    .filter(
      (p): p is ts.BinaryExpression =>
        ts.isBinaryExpression(p) &&
        p.operatorToken.kind === ts.SyntaxKind.EqualsToken &&
        ts.isIdentifier(p.left) &&
        p.left.text === name.text,
    )
    .map((p) => p.right);
}

// ---- calls ----

export function callFreshness(session: Session, call: CallLike): Freshness {
  const { oracle } = session;
  const owned = oracle.ownedAt(call);
  if (!owned) return "unknown";
  const callee = oracle.callee(call);
  if (call.expression.kind === ts.SyntaxKind.SuperKeyword) return "unknown";
  if (ts.isNewExpression(call))
    return owned.shape === "one" ? "fresh" : builtinFreshness(session, call, callee);
  const { owner } = owned;
  if (callee.tags.fresh) return "fresh";
  if (callee.tags.borrowed) return "borrowed";
  if (oracle.is(callee, owner.borrows, owner)) return "borrowed";
  if (oracle.is(callee, owner.fresh, owner)) return "fresh";
  const kept = keptBy(session, call, callee, owned);
  if (kept) return freshness(session, kept);
  const callback = scopeCallback(session, call, callee, owned);
  if (callback) return callbackFreshness(session, callback);
  if (callee.builtin) return builtinFreshness(session, call, callee);
  if (callee.member === owner) return owner.calls === "fresh" ? "fresh" : "unknown";
  if (callee.body) {
    const found = session.summary(callee.body).result;
    const handedBack =
      found === "borrowed" ? returnedArgument(session, call, callee.body) : undefined;
    if (handedBack) return freshness(session, handedBack);
    return found === "unknown" && owner.calls === "fresh" && !mayBeStored(callee)
      ? "unknown"
      : found;
  }
  return defaultFreshness(session, callee, owned);
}

/** The argument a function always returns unchanged: its result is as fresh as that. */
export function returnedArgument(
  session: Session,
  call: CallLike,
  body: ts.FunctionLikeDeclaration & { body: ts.Node },
): ts.Expression | undefined {
  const values = returnsOf(body)
    .map(unwrap)
    .filter((v) => !nullish(v));
  const declarations = new Set(
    values.map((v) => (ts.isIdentifier(v) ? session.oracle.declarationAt(v) : undefined)),
  );
  const [only] = declarations;
  if (declarations.size !== 1 || !only || !ts.isParameter(only) || only.parent !== body)
    return undefined;
  return call.arguments?.[body.parameters.indexOf(only)];
}

const mayBeStored = (callee: Callee): boolean =>
  callee.body !== undefined && ts.isGetAccessor(callee.body);

function defaultFreshness(session: Session, callee: Callee, { owner, shape }: Owned): Freshness {
  if (owner.calls !== "fresh") return owner.calls === "identity" ? "borrowed" : "unknown";
  const library = session.oracle.fromLibrary(callee, owner);
  if (library) return "fresh";
  if (shape !== "one" || !callee.declaration) return shape === "one" ? "fresh" : "unknown";
  return returnsTypeParameter(callee) || looksLikeLookup(callee.name) ? "unknown" : "fresh";
}

/** Outside the owner's package, `<T>(x: T): T` is an identity far more often than an operation. */
function returnsTypeParameter(callee: Callee): boolean {
  const declaration = callee.declaration as Partial<ts.SignatureDeclaration> | undefined;
  const type = declaration?.type;
  return (
    type !== undefined &&
    ts.isTypeReferenceNode(type) &&
    ts.isIdentifier(type.typeName) &&
    (declaration?.typeParameters ?? []).some(
      (p) => p.name.text === (type.typeName as ts.Identifier).text,
    )
  );
}
const looksLikeLookup = (name: string): boolean =>
  /^(get|lookup|find|peek|current)([A-Z]|$)/.test(name);

/**
 * The expression a keeping call (`keep(t)`, `t.moveToOuter()`, `scope.detach(t)`) hands back
 * unchanged.
 */
export function keptBy(
  session: Session,
  call: ts.CallExpression,
  callee: Callee,
  { owner }: Owned,
): ts.Expression | undefined {
  const { oracle } = session;
  if (
    callee.receiver &&
    owner.keep.methods.includes(callee.name) &&
    oracle.ownedAt(callee.receiver)?.owner === owner
  )
    return callee.receiver;
  const first = call.arguments[0];
  if (
    first &&
    owner.keep.functions.length > 0 &&
    oracle.ownedAt(first)?.owner === owner &&
    oracle.is(callee, owner.keep.functions, owner)
  )
    return first;
  return undefined;
}

/** The callback of a scope function that moves its result out, or of one that runs it inline. */
export function scopeCallback(
  session: Session,
  call: ts.CallExpression,
  callee: Callee,
  { owner }: Owned,
): ts.Expression | undefined {
  const functions = call.arguments.filter((a) => hasBody(unwrap(a)));
  const last = functions[functions.length - 1];
  if (!last) return undefined;
  const scopes = owner.scopes.flatMap((s) =>
    "callee" in s && s.movesResultOut !== false ? [s.callee] : [],
  );
  return session.oracle.is(callee, scopes, owner) ||
    session.oracle.is(callee, owner.runsInline, owner)
    ? last
    : undefined;
}

function callbackFreshness(session: Session, callback: ts.Expression): Freshness {
  const fn = unwrap(callback);
  return hasBody(fn) ? session.summary(fn).result : "unknown";
}

function builtinFreshness(session: Session, call: CallLike, callee: Callee): Freshness {
  const first = call.arguments?.[0];
  switch (callee.name) {
    case "map":
    case "flatMap":
      return first ? callbackFreshness(session, first) : "unknown";
    case "from":
      return call.arguments?.[1] ? callbackFreshness(session, call.arguments[1]) : "unknown";
    case "all":
    case "resolve":
      return first ? freshness(session, first) : "unknown";
    case "reduce":
    case "pop":
    case "shift":
    case "splice":
    case "slice":
    case "concat":
    case "filter":
    case "then":
      return "unknown";
    default:
      return "borrowed";
  }
}

/**
 * What each turn of a `for … of` gets: from a generator with a body what it yields and lets go,
 * from anything else what it holds.
 */
export function elementFreshness(session: Session, iterated: ts.Expression): Freshness {
  const call = unwrap(iterated);
  const callee = ts.isCallExpression(call) ? session.oracle.callee(call) : undefined;
  if (!callee?.body?.asteriskToken) return freshness(session, iterated);
  if (callee.tags.fresh) return "fresh";
  return callee.tags.borrowed ? "borrowed" : yieldedFreshness(session, callee.body);
}

function yieldedFreshness(session: Session, fn: FunctionWithBody): Freshness {
  const found: Freshness[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    if (ts.isYieldExpression(node))
      found.push(
        node.expression && !node.asteriskToken ? letGo(session, node.expression, fn) : "unknown",
      );
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(fn.body, visit);
  return joinAll(found);
}

/**
 * A yielded value is the consumer's when it is fresh and the generator does nothing else with it.
 */
function letGo(session: Session, value: ts.Expression, fn: FunctionWithBody): Freshness {
  const bare = unwrap(value);
  if (ts.isObjectLiteralExpression(bare) || ts.isArrayLiteralExpression(bare)) {
    const parts = ts.isArrayLiteralExpression(bare)
      ? [...bare.elements]
      : bare.properties.flatMap((p) =>
          ts.isPropertyAssignment(p)
            ? [p.initializer]
            : ts.isShorthandPropertyAssignment(p)
              ? [p.name]
              : [],
        );
    if (parts.some((p) => session.oracle.ownedAt(p) && letGo(session, p, fn) !== "fresh"))
      return "unknown";
    return guarded(session, bare);
  }
  if (!ts.isIdentifier(bare)) return guarded(session, bare);
  const declaration = session.oracle.declarationAt(bare);
  if (!declaration || !ts.isVariableDeclaration(declaration) || !ts.isIdentifier(declaration.name))
    return "unknown";
  if (isUsing(declaration)) return "borrowed";
  const only = referencesTo(session.oracle, declaration, declaration.name, fn).every(
    (id) => fateOf(id).kind === "yielded" || onlyUsed(session, id),
  );
  return only ? guarded(session, bare) : "unknown";
}

/**
 * The join over every returned expression; generators and functions without returns give no answer.
 */
export function resultFreshness(
  session: Session,
  fn: ts.FunctionLikeDeclaration & { body: ts.Node },
): Freshness {
  if (fn.asteriskToken) return "unknown";
  const values = returnsOf(fn).filter((v) => !nullish(unwrap(v)) && session.oracle.ownedAt(v));
  return joinAll(values.map((v) => guarded(session, v)));
}
