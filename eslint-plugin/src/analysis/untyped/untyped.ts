/**
 * Untyped code: what plain JavaScript gets from a library whose types the program does not have,
 * and what a value without a type is by the way it is made and used. Told by the names the owner's
 * settings list. Used by the oracle alone, and only where TypeScript knows no type at all.
 */
import ts from "typescript";
import type { Owner } from "../../owner.ts";
import { functionHanded } from "../program/callee.ts";
import { fateOf, returnsOf, type Fate } from "../transfer/fate.ts";
import { Fixpoint } from "../program/fixpoint.ts";
import { isDescribed, isLibraryCall, isOfNamesake } from "./library-names.ts";
import { takenFor } from "./mixed.ts";
import { isSameOwned, several, single, type Owned } from "../program/ownership.ts";
import { boundNames } from "../program/references.ts";
import {
  assignedTo,
  calleeNameNode,
  hasBody,
  isEmptyContainer,
  isNullish,
  unwrap,
  valuesOf,
  type CallLike,
} from "../program/syntax.ts";
import {
  byUse,
  elementOf,
  joinsOwned,
  listOfSuch,
  ownedParameter,
  usesOf,
} from "./untyped-parameters.ts";
import { isForModel } from "./for-models.ts";
import { assignedNames } from "./globals.ts";
import { isFromSource } from "./sources.ts";
import { ownedField, type FieldContext } from "./untyped-fields.ts";
import { ownedBySaying, ownedByType } from "./untyped-annotations.ts";
import { ownedRef, ownedState } from "./untyped-hooks.ts";
import { ownedByPattern, ownedOfEntry, valuesPut } from "./untyped-patterns.ts";
import { ownedByAccess } from "./untyped-records.ts";

/** What is needed to know of the program. */
export type UntypedContext = FieldContext;

/** What expressions of no known type own; a variable made of nothing but itself owns nothing. */
export const guesses = (context: () => UntypedContext): Fixpoint<ts.Node, Owned | null> =>
  new Fixpoint({
    bottom: () => null,
    compute: (node) => ownedByName(context(), node),
    same: isSameOwned,
    unknown: () => null,
  });

/** What an expression of no known type owns by the names it is made and used with. */
function ownedByName(context: UntypedContext, node: ts.Node): Owned | null {
  if (ts.isIdentifier(node)) return ownedVariable(context, node);
  if (!ts.isExpression(node)) return null;
  const value = unwrap(node);
  if (value !== node) return context.ownedAt(value);
  if (ts.isCallExpression(value)) return ownedCall(context, value);
  if (ts.isArrayLiteralExpression(value)) return ownedList(context, value.elements);
  if (ts.isConditionalExpression(value))
    return ownedChoice(context, value.whenTrue, value.whenFalse);
  if (ts.isBinaryExpression(value) && isChoice(value.operatorToken.kind))
    return ownedChoice(context, value.left, value.right);
  if (ts.isPropertyAccessExpression(value))
    return ownedField(context, value) ?? ownedRef(context, value) ?? ownedByAccess(context, value);
  if (!ts.isElementAccessExpression(value)) return null;
  const list = context.ownedAt(value.expression);
  return list?.shape === "many" ? elementOf(list) : null;
}

const ownedChoice = (context: UntypedContext, a: ts.Expression, b: ts.Expression): Owned | null =>
  context.ownedAt(a) ?? context.ownedAt(b);
const isChoice = (operator: ts.SyntaxKind): boolean =>
  operator === ts.SyntaxKind.BarBarToken || operator === ts.SyntaxKind.QuestionQuestionToken;

function ownedList(context: UntypedContext, values: readonly ts.Expression[]): Owned | null {
  for (const value of values) {
    const owned = context.ownedAt(ts.isSpreadElement(value) ? value.expression : value);
    const list = owned && listOfSuch(owned);
    if (list) return list;
  }
  return null;
}

// ---- calls ----

function ownedCall(context: UntypedContext, call: ts.CallExpression): Owned | null {
  const name = calleeNameNode(call)?.text ?? "";
  const said = ownedBySaying(context, call);
  if (said) return said;
  for (const owner of context.owners) {
    const { makes, lists } = owner.untyped;
    if (isOfNamesake(context, call, owner)) continue;
    const library = isLibraryCall(context, call, owner);
    if (library && isScope(owner, name)) return ownedResult(context, call.arguments.at(-1));
    if (library && owner.keep.functions.includes(name)) return handedBack(context, owner, call);
    const record = library && owner.untyped.records.find(({ callee }) => callee === name);
    if (record) return { ...single(owner), shape: "record", fields: record.fields };
    const shape = makes.includes(name) ? single : lists.includes(name) ? several : undefined;
    if (shape && (library || isMethodOf(context, call, owner))) return shape(owner);
    if (lists.includes(name) && isOfModel(context, call, owner)) return several(owner);
    if (isMarkedCall(context, call, owner) || isOperation(context, call, owner))
      return single(owner);
    if (isFromSource(context, call, owner)) return single(owner);
    if (isDescribed(context, call, owner)) return single(owner);
    if (enclosesByName(context, call, owner) && asksForResult(call, owner)) return single(owner);
    const { runs, looks } = owner.untyped;
    if (
      (runs.includes(name) &&
        (isOfModel(context, call, owner) || isOfLibrary(context, call, owner))) ||
      (looks.includes(name) && givesMarked(context, call, owner))
    )
      return takenFor(call, context) === "many" ? several(owner) : single(owner);
  }
  const callee = calleeNameNode(call);
  const made = name === "useMemo" ? call.arguments[0] : undefined;
  return (
    ownedOfList(context, call) ??
    ownedResult(context, made && functionHanded(context, made)) ??
    ownedResult(context, callee && functionOf(context.declarationAt(callee))) ??
    ownedResult(context, context.methodOf(call))
  );
}

/** What the methods of lists give: `xs.map((x) => tf.scalar(x))`, `tensors.pop()`. */
function ownedOfList(context: UntypedContext, call: ts.CallExpression): Owned | null {
  const { expression } = call;
  const [first, second] = call.arguments;
  if (!ts.isPropertyAccessExpression(expression)) return null;
  const { text } = expression.name;
  const made = text === "from" ? second : text === "map" || text === "flatMap" ? first : undefined;
  if (made) {
    const owned = ownedResult(context, functionHanded(context, made));
    return owned && several(owned.owner);
  }
  if (text === "all" && first) return context.ownedAt(first);
  if (text === "values" && first) return listOf(context, first);
  if (!parting.has(text) && !taking.has(text)) return null;
  const list = context.ownedAt(expression.expression);
  if (list?.shape !== "many") return null;
  return taking.has(text) ? elementOf(list) : { ...list, nullable: false };
}
/** What `Object.values(table)` gives. */
function listOf(context: UntypedContext, table: ts.Expression): Owned | null {
  const held = context.ownedAt(table);
  return held?.shape === "many" ? held : null;
}
const parting = new Set(["values", "filter", "slice", "splice", "concat", "reverse", "sort"]);
const taking = new Set(["pop", "shift", "at", "find", "findLast", "get"]);

/** `tf.keep(x)`: what it is handed: a value of the library's even where `x` tells nothing. */
const handedBack = (
  context: UntypedContext,
  owner: Owner,
  call: ts.CallExpression,
): Owned | null => {
  const [first] = call.arguments;
  return first ? (context.ownedAt(first) ?? single(owner)) : null;
};

const isScope = (owner: Owner, name: string): boolean =>
  owner.scopes.some((s) => "callee" in s && s.callee === name);

/** What a function of no known type gives, by what it returns. */
function ownedResult(context: UntypedContext, fn: ts.Node | undefined): Owned | null {
  if (!hasBody(fn) || fn.asteriskToken) return null;
  for (const value of returnsOf(fn)) {
    const owned = context.ownedAt(value);
    if (owned) return owned;
  }
  return null;
}

function functionOf(declaration: ts.Declaration | undefined): ts.Node | undefined {
  if (!declaration) return undefined;
  const holds = ts.isVariableDeclaration(declaration) || ts.isPropertyAssignment(declaration);
  if (holds && declaration.initializer) return unwrap(declaration.initializer);
  return assignedTo(declaration) ?? declaration;
}

const isMethodOf = (
  context: UntypedContext,
  { expression }: ts.CallExpression,
  owner: Owner,
): boolean =>
  ts.isPropertyAccessExpression(expression) &&
  context.ownedAt(expression.expression)?.owner === owner;

/** `model.getWeights()` of what is known to be a model of the same library. */
function isOfModel(
  context: UntypedContext,
  { expression }: ts.CallExpression,
  { library }: Owner,
): boolean {
  if (!ts.isPropertyAccessExpression(expression)) return false;
  const model = context.ownedAt(expression.expression)?.owner;
  return model?.policy === "generic" && model.library.some((name) => library.includes(name));
}

/** `optimizer.minimize(f)`: a method that runs a function in a scope, known by its name alone. */
export const enclosesByName = (context: UntypedContext, call: CallLike, owner: Owner): boolean => {
  const name = calleeNameNode(call);
  return (
    name !== undefined &&
    owner.untyped.encloses.includes(name.text) &&
    context.declarationAt(name) === undefined
  );
};

/** `optimizer.minimize(f, true)`: it gives what the function made. */
const asksForResult = (call: ts.CallExpression, { freshWhen }: Owner): boolean =>
  freshWhen.some(
    ({ callee, arg }) =>
      callee === calleeNameNode(call)?.text &&
      call.arguments[arg]?.kind === ts.SyntaxKind.TrueKeyword,
  );

const looking = ({ untyped: { runs, looks, wants } }: Owner): ReadonlySet<string> =>
  new Set([...runs, ...looks, ...wants]);

/** `model.predict(t)`: a method, known by its name, of something that says nothing of itself. */
function looksAtOwned(context: UntypedContext, call: CallLike, owner: Owner): boolean {
  const name = calleeNameNode(call);
  return (
    name !== undefined &&
    ts.isCallExpression(call) &&
    ts.isPropertyAccessExpression(call.expression) &&
    context.facts.of(owner, looking).has(name.text) &&
    !hasBody(functionOf(context.declarationAt(name))) &&
    call.arguments.some((a) => givesOwned(context, a, owner))
  );
}

/**
 * Whether a method of something that says nothing of itself is the library's: by what it is given,
 * by what its result is asked, or because only such values have it.
 */
export const isOfLibrary = (context: UntypedContext, call: CallLike, owner: Owner): boolean =>
  looksAtOwned(context, call, owner) ||
  (ts.isCallExpression(call) &&
    (givesMarked(context, call, owner) ||
      isMarkedCall(context, call, owner) ||
      isOperation(context, call, owner)));

/**
 * `x.slice(a, b).expandDims(0)`, `x.mul(t)`: a method of an unknown value whose name the library
 * has, and whose result is used as only such values are, or which is given one.
 */
function isOperation(context: UntypedContext, call: ts.CallExpression, owner: Owner): boolean {
  const { makes, marks } = owner.untyped;
  const { expression } = call;
  if (!ts.isPropertyAccessExpression(expression) || !makes.includes(expression.name.text))
    return false;
  if (context.declarationAt(expression.name)) return false;
  if (joinsOwned(context, call, owner)) return true;
  const { kind, member, node } = fateOf(call);
  if (kind === "bound" && ts.isVariableDeclaration(node))
    return isAskedAs(context, node, methodsOf(call), owner);
  if (kind === "argument") return isForModel(context, node, expression.name.text, owner);
  if (kind !== "receiver" || !ts.isCallExpression(node)) return false;
  return marks.includes(member) || isOperation(context, node, owner);
}

/** The methods of a chain, last first: `add` and `mul` of `x.mul(2).add(y)`. */
function methodsOf({ expression }: ts.CallExpression): string[] {
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const inner = unwrap(expression.expression);
  return [expression.name.text, ...(ts.isCallExpression(inner) ? methodsOf(inner) : [])];
}

/**
 * `const row = x.slice(a, b); row.dataSync()`: the variable is asked what only such values are.
 * What is reckoned with and then disposed is one as well: `const d = x.sub(y); d.dispose()`.
 */
const isAskedAs = (
  context: UntypedContext,
  declaration: ts.VariableDeclaration,
  methods: readonly string[],
  { untyped, dispose }: Owner,
): boolean =>
  usesOf(context, declaration).some((id) => {
    const { kind, member, node } = fateOf(id);
    if (kind === "argument") return isJoinedTo(node, id, untyped);
    if (kind !== "receiver") return false;
    const isEnded =
      dispose.methods.includes(member) && methods.some((m) => untyped.joins.includes(m));
    return isEnded || untyped.marks.includes(member);
  });

/** `x.matMul(t)`: given to a method that only such values have, and that joins two of them. */
const isJoinedTo = (
  node: ts.Node,
  id: ts.Identifier,
  { marks, joins }: Owner["untyped"],
): boolean => {
  const name =
    ts.isCallExpression(node) && node.arguments[0] === id ? calleeNameNode(node)?.text : "";
  return name !== undefined && marks.includes(name) && joins.includes(name);
};

/** `logits.argMax(-1)`: a method that gives a value and that only such values have. */
function isMarkedCall(
  context: UntypedContext,
  { expression }: ts.CallExpression,
  { untyped }: Owner,
): boolean {
  if (!ts.isPropertyAccessExpression(expression)) return false;
  const { name } = expression;
  return (
    untyped.makes.includes(name.text) &&
    untyped.marks.includes(name.text) &&
    context.declarationAt(name) === undefined
  );
}

/** `model.predict(rows).dataSync()`: what a run gives is asked what only such values are. */
function givesMarked(context: UntypedContext, call: ts.CallExpression, owner: Owner): boolean {
  const name = calleeNameNode(call);
  if (!ts.isPropertyAccessExpression(call.expression) || !name) return false;
  const { runs, looks } = owner.untyped;
  if (!runs.includes(name.text) && !looks.includes(name.text)) return false;
  if (hasBody(functionOf(context.declarationAt(name)))) return false;
  const isMarked = ({ kind, member, node }: Fate): boolean =>
    kind === "receiver" &&
    (owner.untyped.marks.includes(member) ||
      (runs.includes(name.text) &&
        owner.untyped.answers.includes(member) &&
        ts.isAwaitExpression(node.parent)));
  const isWanted = ({ kind, node, literal }: Fate): boolean =>
    kind === "argument" &&
    literal === null &&
    ts.isCallExpression(node) &&
    owner.untyped.wants.includes(calleeNameNode(node)?.text ?? "");
  const fate = fateOf(call);
  if (isMarked(fate) || isWanted(fate)) return true;
  const isAsked = (id: ts.Identifier): boolean => {
    const use = fateOf(id);
    return (
      isMarked(use) ||
      isWanted(use) ||
      (use.kind === "element" && isMarked(fateOf(use.node as ts.Expression)))
    );
  };
  if (fate.kind !== "bound" || !ts.isVariableDeclaration(fate.node)) return false;
  const names = boundNames(fate.node.name, fate.node);
  return names.some(({ declaration }) => usesOf(context, declaration).some(isAsked));
}

/** An argument that is one, or an object with one among its values: the named inputs of a model. */
const givesOwned = (context: UntypedContext, argument: ts.Expression, owner: Owner): boolean =>
  context.ownedAt(argument)?.owner === owner ||
  (ts.isObjectLiteralExpression(argument) &&
    valuesOf(argument).some((v) => context.ownedAt(v)?.owner === owner));

// ---- variables ----

/** A variable is what it is first given, or what it is used as. */
function ownedVariable(context: UntypedContext, id: ts.Identifier): Owned | null {
  const parent: ts.Node = id.parent;
  const isName =
    (ts.isVariableDeclaration(parent) || ts.isBindingElement(parent) || ts.isParameter(parent)) &&
    parent.name === id;
  const declaration = isName ? parent : context.declarationAt(id);
  if (!declaration) return ownedGlobal(context, id);
  if (ts.isBindingElement(declaration)) return ownedElement(context, declaration);
  if (ts.isParameter(declaration)) return ownedParameter(context, declaration);
  if (!ts.isVariableDeclaration(declaration)) return null;
  const said = ownedByType(context, declaration.type);
  if (said) return said;
  return ownedInitially(context, declaration) ?? byUse(context, declaration);
}

/** A name that a script assigns and nobody declares. */
function ownedGlobal(context: UntypedContext, id: ts.Identifier): Owned | null {
  const stores = context.facts.of(id.getSourceFile(), assignedNames).get(id.text) ?? [];
  for (const { right: value } of stores) {
    const owned = context.ownedAt(value);
    if (owned) return owned;
  }
  return null;
}

function ownedInitially(
  context: UntypedContext,
  declaration: ts.VariableDeclaration,
): Owned | null {
  const value = declaration.initializer && unwrap(declaration.initializer);
  if (value && isEmptyContainer(value)) return ownedList(context, valuesPut(context, declaration));
  if (value && !isNullish(value)) {
    const owned = context.ownedAt(value);
    if (owned || isConstant(declaration)) return owned;
  }
  const { parent } = declaration.parent;
  if (ts.isForOfStatement(parent)) {
    const list = context.ownedAt(parent.expression);
    return list?.shape === "many" ? elementOf(list) : null;
  }
  for (const id of usesOf(context, declaration)) {
    const { parent: store } = id;
    const isGiven =
      ts.isBinaryExpression(store) &&
      store.left === id &&
      store.operatorToken.kind === ts.SyntaxKind.EqualsToken;
    const owned = isGiven ? context.ownedAt(store.right) : null;
    if (owned) return value ? { ...owned, nullable: true } : owned;
  }
  return null;
}

const isConstant = (declaration: ts.VariableDeclaration): boolean =>
  (ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const) !== 0;

/** `const [a, b] = tf.split(…)`, or a name that is used as a value. */
function ownedElement(context: UntypedContext, element: ts.BindingElement): Owned | null {
  const { parent: pattern } = element;
  const holder: ts.Node = pattern.parent;
  if (
    ts.isArrayBindingPattern(pattern) &&
    ts.isVariableDeclaration(holder) &&
    holder.initializer &&
    !element.dotDotDotToken
  ) {
    const value = unwrap(holder.initializer);
    const list = context.ownedAt(value);
    const given = list ? placesGiven(context, value, pattern.elements.indexOf(element)) : [];
    if (given.some((place) => !context.ownedAt(place))) return null; // `[xs, ys, words]`
    if (list) return list.shape === "many" ? elementOf(list) : null;
  }
  return (
    ownedOfEntry(context, element) ??
    ownedByPattern(context, element) ??
    ownedState(context, element) ??
    byUse(context, element)
  );
}

/** What stands at one place of the lists that a value is written as, or a call returns. */
function placesGiven(context: UntypedContext, value: ts.Expression, at: number): ts.Expression[] {
  const callee = ts.isCallExpression(value) ? calleeNameNode(value) : undefined;
  const fn = callee && functionOf(context.declarationAt(callee));
  const lists = fn && hasBody(fn) ? returnsOf(fn).map(unwrap) : [value];
  return lists.flatMap((list) =>
    ts.isArrayLiteralExpression(list) && !list.elements.some(ts.isSpreadElement)
      ? (list.elements[at] ?? [])
      : [],
  );
}
