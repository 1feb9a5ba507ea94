/**
 * Kept functions: what a program puts where a called function comes from: a field that is assigned,
 * `this.onFrame?.(t)`, a table, `kernels[name](t)`, or a list of listeners, `for (const tell of
 * this.listeners) tell(t)`. Used by `handed-functions.ts`.
 */
import ts from "typescript";
import { handedTo } from "./callbacks.ts";
import { loopOfTurn } from "./fate.ts";
import { putInto } from "../lists/inner-lists.ts";
import { sourcesOf } from "../program/call-index.ts";
import { accessesByName } from "../program/field-index.ts";
import { isNullish, isTarget, unwrap, unwrapCallee, valuesOf } from "../program/syntax.ts";
import type { Session } from "../session.ts";

/** All that the program puts there, functions or names of some; nothing where it is not known. */
export function functionsKept(session: Session, call: ts.CallExpression): readonly ts.Expression[] {
  const target = unwrapCallee(call.expression);
  const list = listOf(session, target);
  if (list) return [...written(session, list), ...putInto(session, list)];
  if (!ts.isPropertyAccessExpression(target)) return [];
  const field = session.oracle.symbolAt(target.name)?.valueDeclaration;
  if (!field || !(ts.isPropertyDeclaration(field) || ts.isPropertyAssignment(field))) return [];
  const first = field.initializer && !isNullish(unwrap(field.initializer)) && field.initializer;
  return [...(first ? [first] : []), ...assignedTo(session, target.name, field)];
}

/** What a constant table begins with: `const kernels = { box: (t) => …, … }`. */
function written({ oracle }: Session, list: ts.Expression): readonly ts.Expression[] {
  const source = ts.isIdentifier(list) ? oracle.declarationAt(list) : undefined;
  const value =
    source && ts.isVariableDeclaration(source) && source.initializer && unwrap(source.initializer);
  if (!value) return [];
  if (ts.isArrayLiteralExpression(value)) return value.elements;
  const values = ts.isObjectLiteralExpression(value) ? valuesOf(value) : [];
  // what a spread gives is not seen
  const isAll = ts.isObjectLiteralExpression(value) && values.length === value.properties.length;
  return isAll ? values : [];
}

/** What any file assigns to a property: `player.onFrame = show`. */
const assignedTo = (
  { oracle }: Session,
  { text }: ts.MemberName,
  field: ts.Declaration,
): ts.Expression[] =>
  oracle.facts
    .of(oracle.program, sourcesOf)
    .flatMap((file) => oracle.facts.of(file, accessesByName).get(text) ?? [])
    .flatMap((access) => {
      const { name, parent: store } = access;
      const isStore = isTarget(access) && ts.isBinaryExpression(store);
      if (!isStore || oracle.symbolAt(name)?.valueDeclaration !== field) return [];
      return isNullish(unwrap(store.right)) ? [] : [store.right];
    });

/** The list that a function is one of: of a loop or a `forEach` over it, or by its key. */
function listOf(
  { oracle }: Session,
  target: ts.Expression,
): ts.PropertyAccessExpression | ts.Identifier | undefined {
  if (ts.isElementAccessExpression(target)) return place(target.expression);
  if (ts.isCallExpression(target) && ts.isPropertyAccessExpression(target.expression))
    return /^(get|at)$/.test(target.expression.name.text)
      ? place(target.expression.expression)
      : undefined;
  const source = ts.isIdentifier(target) ? oracle.declarationAt(target) : undefined;
  const turns = loopOfTurn(source);
  if (turns) return place(turns.expression);
  if (!source || !ts.isParameter(source) || source.parent.parameters[0] !== source)
    return undefined;
  const by = handedTo(source.parent);
  const isEach = by && ts.isPropertyAccessExpression(by.expression);
  return isEach && by.expression.name.text === "forEach"
    ? place(by.expression.expression)
    : undefined;
}

/** `this.#listeners` of itself, of `[...this.#listeners]`, and of `this.#listeners.values()`. */
function place(list: ts.Expression): ts.PropertyAccessExpression | ts.Identifier | undefined {
  const bare = unwrap(list);
  if (ts.isPropertyAccessExpression(bare) || ts.isIdentifier(bare)) return bare;
  if (ts.isElementAccessExpression(bare)) return place(bare.expression);
  if (ts.isArrayLiteralExpression(bare)) {
    const [only] = bare.elements;
    return bare.elements.length === 1 && only && ts.isSpreadElement(only)
      ? place(only.expression)
      : undefined;
  }
  const isView =
    ts.isCallExpression(bare) &&
    ts.isPropertyAccessExpression(bare.expression) &&
    /^(values|slice|get)$/.test(bare.expression.name.text);
  return isView ? place(bare.expression.expression) : undefined;
}
