/**
 * Trail places: what it means for a trail that its value is put into a place: everybody who has the
 * variable, or the object whose part is written, has it from then on. Used by `trails.ts` and
 * `trail-calls.ts`.
 */
import ts from "typescript";
import { puts, putValues } from "../program/containers.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { returnsOf } from "../transfer/fate.ts";
import { setterBeside } from "../program/setters.ts";
import {
  hasBody,
  isNullish,
  isTarget,
  someWithin,
  unwrap,
  type CallLike,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { isOfModule } from "./module-tables.ts";
import { inField, isField } from "./trail-fields.ts";
import { leadsTo, nameOf, visits, type Path } from "./trail-path.ts";
import { callsOf } from "./trail-calls.ts";
import type { Trail } from "./trails.ts";

/** Something is put into a place that an expression names. */
export function store(trail: Trail, target: ts.Expression, path: Path): void {
  const place = unwrap(target);
  if (ts.isIdentifier(place)) {
    const declaration = trail.session.oracle.declarationAt(place);
    const name = declaration && (declaration as ts.NamedDeclaration).name;
    if (declaration && name && ts.isIdentifier(name)) trail.named(declaration, name, path);
    else trail.stop();
  } else if (ts.isPropertyAccessExpression(place)) into(trail, place, path);
  else if (ts.isElementAccessExpression(place)) into(trail, place.expression, ["*", ...path]);
  else if (ts.isArrayLiteralExpression(place)) {
    if (path[0] === "*") for (const e of place.elements) unpack(trail, e, path.slice(1));
  } else if (ts.isObjectLiteralExpression(place)) {
    for (const p of place.properties)
      if (ts.isShorthandPropertyAssignment(p)) {
        if (leadsTo(p.name.text, path)) store(trail, p.name, path.slice(1));
      } else if (ts.isPropertyAssignment(p)) {
        if (leadsTo(nameOf(p.name), path)) unpack(trail, p.initializer, path.slice(1));
      } else trail.stop();
  } else trail.stop();
}

function unpack(trail: Trail, target: ts.Expression, path: Path): void {
  if (ts.isOmittedExpression(target)) return;
  const isDefault =
    ts.isBinaryExpression(target) && target.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  store(trail, isDefault ? target.left : target, path);
}

/**
 * The object that an expression names has the value under a path from now on; so has everybody
 * else who has the object.
 */
export function into(trail: Trail, object: ts.Expression, path: Path): void {
  const node = unwrap(object);
  trail.later(node, path, "into", () => {
    intoBare(trail, node, path);
  });
}

function intoBare(trail: Trail, node: ts.Expression, path: Path): void {
  const { oracle } = trail.session;
  if (ts.isPropertyAccessExpression(node)) {
    const field = oracle.declarationAt(node.name);
    const setter = field && setterBeside(field);
    if (setter) for (const { name } of setter.parameters) trail.bind(name, path);
    else if (field && isField(field)) inField(trail, field, path);
    else if (node.expression.kind === ts.SyntaxKind.ThisKeyword) trail.stop();
    else into(trail, node.expression, [node.name.text, ...path]);
  } else if (ts.isElementAccessExpression(node)) into(trail, node.expression, ["*", ...path]);
  else if (ts.isIdentifier(node)) intoNamed(trail, node, path);
  else if (ts.isConditionalExpression(node)) {
    into(trail, node.whenTrue, path);
    into(trail, node.whenFalse, path);
  } else if (ts.isBinaryExpression(node)) {
    into(trail, node.right, path);
    if (node.operatorToken.kind !== ts.SyntaxKind.EqualsToken) into(trail, node.left, path);
  } else if (ts.isCallExpression(node)) intoGiven(trail, node, path);
  else if (ts.isArrayLiteralExpression(node)) {
    if (path[0] === "*" && path.length > 1)
      for (const e of node.elements)
        if (ts.isSpreadElement(e)) into(trail, e.expression, path);
        else into(trail, e, path.slice(1)); // `const path = [root]`
  } else if (!isNullish(node) && !ts.isObjectLiteralExpression(node) && !ts.isNewExpression(node))
    trail.stop();
}

/** `path.push(next)`: what a list got by such a call has what is put into its elements. */
function intoElements(trail: Trail, list: ts.Declaration, path: Path): void {
  const { oracle } = trail.session;
  for (const { expression: on, arguments: given } of oracle.facts.calls(list.getSourceFile())) {
    if (!ts.isPropertyAccessExpression(on) || !puts(on.name.text)) continue;
    if (!ts.isIdentifier(on.expression) || oracle.declarationAt(on.expression) !== list) continue;
    for (const value of putValues(on.name.text, given))
      if (!ts.isSpreadElement(value)) into(trail, value, path.slice(1));
  }
}

function intoNamed(trail: Trail, id: ts.Identifier, path: Path): void {
  const { oracle } = trail.session;
  const declaration = oracle.declarationAt(id);
  const name = declaration && (declaration as ts.NamedDeclaration).name;
  if (!declaration || !name || !ts.isIdentifier(name)) {
    trail.stop();
    return;
  }
  trail.named(declaration, name, path);
  if (isOfModule(declaration)) trail.fills.push(id);
  if (ts.isParameter(declaration)) intoGivenTo(trail, declaration, path);
  else if (ts.isVariableDeclaration(declaration)) {
    const { initializer, parent } = declaration;
    if (initializer) into(trail, initializer, path);
    if (path[0] === "*" && path.length > 1) intoElements(trail, declaration, path);
    const loop = parent.parent;
    if (ts.isForOfStatement(loop) && loop.initializer === parent)
      into(trail, loop.expression, ["*", ...path]);
  } else if (ts.isBindingElement(declaration)) intoSource(trail, declaration, path);
  else trail.stop();
  const file = declaration.getSourceFile();
  for (const { left, right } of oracle.facts.assignments(file))
    if (ts.isIdentifier(left) && oracle.declarationAt(left) === declaration)
      into(trail, right, path);
}

/** What a pattern takes its names from. */
function intoSource(
  trail: Trail,
  { parent, name, propertyName, dotDotDotToken }: ts.BindingElement,
  path: Path,
): void {
  const key = ts.isArrayBindingPattern(parent) ? "*" : nameOf(propertyName ?? name);
  const inner = dotDotDotToken ? path : [key, ...path];
  const holder = parent.parent;
  if (ts.isBindingElement(holder)) intoSource(trail, holder, inner);
  else if (ts.isParameter(holder)) intoGivenTo(trail, holder, inner);
  else {
    const loop = holder.parent.parent;
    if (holder.initializer) into(trail, holder.initializer, inner);
    else if (ts.isForOfStatement(loop)) into(trail, loop.expression, ["*", ...inner]);
    else trail.stop();
  }
}

/** What the callers of a function give for a parameter. */
function intoGivenTo(trail: Trail, parameter: ts.ParameterDeclaration, path: Path): void {
  const fn = parameter.parent;
  const host = handedTo(fn);
  if (host) {
    intoListOf(trail, host, fn.parameters.indexOf(parameter), path);
    return;
  }
  const calls = hasBody(fn) ? callsOf(trail, fn) : undefined;
  const at = fn.parameters.indexOf(parameter);
  // a function that nothing here calls is for others, who have the object
  if (!calls || calls.length === 0 || parameter.dotDotDotToken) trail.stop();
  for (const call of calls ?? []) {
    const given = call.arguments?.[at];
    if (given) into(trail, given, path);
  }
}

/** `parts.forEach((part) => (part.points = made))`: who has the list has it then. */
function intoListOf(trail: Trail, host: CallLike, index: number, path: Path): void {
  const { builtin, name, receiver } = trail.session.oracle.callee(host);
  if (builtin && receiver && visits.test(name) && index === 0)
    into(trail, receiver, ["*", ...path]);
  else trail.stop();
}

function intoGiven(trail: Trail, call: ts.CallExpression, path: Path): void {
  const { body, builtin, declaration, name, receiver } = trail.session.oracle.callee(call);
  const isOfLibrary = declaration?.getSourceFile().isDeclarationFile === true;
  if (body) for (const given of returnsOf(body)) into(trail, given, path);
  else if (builtin && receiver && /^(get|at|find|findLast)$/.test(name))
    into(trail, receiver, ["*", ...path]);
  else if (builtin && receiver && !isOfObject(call, name) && /^(values|reverse|sort)$/.test(name))
    into(trail, receiver, path);
  else if (builtin && receiver && isOfObject(call, name)) {
    const inner = name === "values" ? path : path.slice(1); // an entry is a key and a value
    for (const record of call.arguments) into(trail, record, inner);
  } else if (builtin) {
    if (!/^(map|filter|slice|from|splice|concat)$/.test(name)) trail.stop();
  } else if (!trail.isWhole || (!isOfLibrary && !/^(use|create)Ref$/.test(name))) trail.stop();
}

/** `Object.values(record)`, `Object.entries(record)`. */
const isOfObject = ({ expression }: ts.CallExpression, name: string): boolean =>
  (name === "values" || name === "entries") && expression.getText() === `Object.${name}`;

/** `out = out.dataSync(); return out;`: the name is that of something that nobody owns by now. */
export function isOfAnother({ oracle }: Session, id: ts.Identifier): boolean {
  for (let at: ts.Node = id; !ts.isFunctionLike(at) && !ts.isSourceFile(at); at = at.parent) {
    if (!ts.isBlock(at.parent) || !ts.isStatement(at)) continue;
    const { statements } = at.parent;
    const before = statements.slice(0, statements.indexOf(at));
    const last = before.findLast((s) => someWithin(s, (n) => isWrite(n, id.text)));
    const store = last && ts.isExpressionStatement(last) ? last.expression : undefined;
    if (store && ts.isBinaryExpression(store) && isWrite(store.left, id.text))
      return !oracle.ownedAt(store.right);
    if (last) return false;
  }
  return false;
}

/** The `x` of `x = …`. */
const isWrite = (node: ts.Node, name: string): boolean =>
  ts.isIdentifier(node) && node.text === name && isTarget(node);
