/**
 * Handed functions: `fn(t)` where `fn` is a function that the caller hands in, a parameter or a
 * field of one. Where an owner's protocol says that functions only look at what they get, so does
 * this one: all that are handed in, where the program shows them, or one that gives something back.
 * Used by the description of arguments.
 */
import ts from "typescript";
import { functionHanded } from "../program/callee.ts";
import { callSitesOf } from "../program/call-sites.ts";
import { givenBy } from "../program/possible-callees.ts";
import { endsHere } from "./ended-after.ts";
import { enclosingFunction, fateOf } from "./fate.ts";
import { functionsKept } from "./kept-functions.ts";
import type { Owner } from "../../owner.ts";
import type { Session } from "../session.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  hasBody,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  unwrapCallee,
  type CallLike,
  type FunctionWithBody,
} from "../program/syntax.ts";

/** Whether a call of a function that is handed in only looks at its argument of that index. */
export function lendsToHanded(
  session: Session,
  call: CallLike,
  index: number,
  owner: Owner,
): boolean {
  if (!ts.isCallExpression(call)) return false;
  const at = handedIn(session, call);
  if (at && isReplaced(session, at.parameter)) return false;
  const seen = new Set<ts.Node>();
  const handed = at ? functionsGiven(session, at, seen) : [];
  const kept = handed.length > 0 ? [] : functionsKept(session, call);
  const given =
    handed.length > 0 ? handed : kept.flatMap((value) => functionsFor(session, value, seen));
  const isSeen = kept.length === 0 || given.some((fn) => fn && speaksOf(fn, index));
  if (given.some((fn) => fn && !looksOnly(session, fn, index))) return false;
  if (given.length > 0 && !given.includes(undefined) && isSeen) return true;
  if (at === undefined)
    return owner.policy === "protocol" && isOfType(session, call) && gives(session, call);
  return owner.policy === "protocol" ? givesBack(session, call) : isScored(session, call, index);
}

/** `step(t)` of `const step = table[name](2)`, `this.step(t)` of a field that holds a function. */
function isOfType({ oracle }: Session, call: ts.CallExpression): boolean {
  const { body, declaration } = oracle.callee(call);
  if (body || !declaration || declaration.getSourceFile().isDeclarationFile) return false;
  if (ts.isVariableDeclaration(declaration))
    return (ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const) !== 0;
  const isField = ts.isPropertyDeclaration(declaration) || ts.isPropertySignature(declaration);
  return isField || ts.isParameter(declaration);
}

/**
 * `const score = train(model); if (score > most) best = model; else model.dispose();`: what gives a
 * number for a value did not take it, as the function goes on to end it.
 */
function isScored(session: Session, call: ts.CallExpression, index: number): boolean {
  const { oracle } = session;
  const score = ts.findAncestor(call, ts.isVariableDeclaration);
  const given = call.arguments[index];
  const source = given && ts.isIdentifier(given) ? oracle.declarationAt(given) : undefined;
  const home = enclosingFunction(call);
  if (!score || !source || !ts.isVariableDeclaration(source) || !home) return false;
  if (!ts.isIdentifier(source.name) || enclosingFunction(score) !== home) return false;
  if (!oracle.gives(score.name, "number")) return false;
  const owned = oracle.ownedAt(source.name);
  return (
    owned !== null &&
    referencesTo(oracle, source, source.name, home).some(
      (id) => id.pos > call.end && endsHere(session, id, owned),
    )
  );
}

/** `models.map(score)`: whether a function that is handed in, and goes on to a walk, only looks. */
export function lendsEach(session: Session, walk: ts.CallExpression, owner: Owner): boolean {
  const [first] = walk.arguments;
  const at = first && handedAs(session, unwrap(first));
  if (!at || session.oracle.ownedAt(walk)) return false;
  if (owner.policy !== "protocol" && !givesPlain(at.parameter)) return false;
  if (isReplaced(session, at.parameter)) return false;
  return functionsGiven(session, at, new Set()).every((fn) => !fn || looksOnly(session, fn, 0));
}

/** `(score: (m: Model) => Promise<number>)`: nothing that could be an owner of what it gets. */
const givesPlain = ({ type }: ts.ParameterDeclaration): boolean =>
  type !== undefined &&
  ts.isFunctionTypeNode(type) &&
  /^(Promise<)?(number|boolean|string)>?$/.test(type.type.getText());

/**
 * `listener(this.#last)`: what an object goes on holding is shown to a function that it is handed,
 * or that it has in a list of such.
 */
export function isShownTo(session: Session, mention: ts.Expression): boolean {
  const { kind, node } = fateOf(mention);
  const owner = session.oracle.ownedAt(mention)?.owner;
  if (kind !== "argument" || !ts.isCallExpression(node) || owner?.policy !== "protocol")
    return false;
  const name = unwrapCallee(node.expression);
  const source = ts.isIdentifier(name) ? session.oracle.declarationAt(name) : undefined;
  if (!source) return false;
  return ts.isParameter(source) || (ts.isVariableDeclaration(source) && !source.initializer);
}

/** A parameter that is a function, or an object or list with functions in it. */
interface Handed {
  parameter: ts.ParameterDeclaration;
  /** The name of a function in an object. */
  field?: string | undefined;
}

/** The parameter that a called function is, or that has it in a field. */
const handedIn = (session: Session, call: ts.CallExpression): Handed | undefined =>
  handedAs(session, unwrapCallee(call.expression));

function handedAs(session: Session, value: ts.Expression): Handed | undefined {
  let target = value;
  let field: string | undefined;
  if (ts.isPropertyAccessExpression(target)) {
    field = target.name.text;
    target = unwrap(target.expression);
  }
  if (!ts.isIdentifier(target)) return undefined;
  let at: ts.Node | undefined = session.oracle.declarationAt(target);
  const list = at && field === undefined ? listWalked(at) : undefined;
  if (list) at = session.oracle.declarationAt(list);
  if (at && ts.isBindingElement(at) && field === undefined) field = fieldTaken(at);
  while (at && (ts.isBindingElement(at) || ts.isObjectBindingPattern(at))) at = at.parent;
  return at && ts.isParameter(at) && ts.isFunctionLike(at.parent)
    ? { parameter: at, field }
    : undefined;
}

/** The name that a pattern of a parameter takes. */
const fieldTaken = ({ name, propertyName, parent }: ts.BindingElement): string =>
  ts.isParameter(parent.parent) ? (propertyName ?? name).getText() : "";

/** The `steps` of `for (const step of steps)`. */
function listWalked(at: ts.Node): ts.Identifier | undefined {
  const loop = ts.isVariableDeclaration(at) ? at.parent.parent : undefined;
  if (!loop || !ts.isForOfStatement(loop)) return undefined;
  const list = unwrap(loop.expression);
  return ts.isIdentifier(list) ? list : undefined;
}

/** `fn = (t) => …`: another function takes the place of the one that is handed in. */
const isReplaced = ({ oracle }: Session, parameter: ts.ParameterDeclaration): boolean =>
  boundNames(parameter.name, parameter).some(({ id, declaration }) =>
    referencesTo(oracle, declaration, id, parameter.parent).some((m) => m !== id && isTarget(m)),
  );

/**
 * The functions the program hands in for a parameter that is one, also by way of functions that
 * hand on what they are handed; undefined for an unseen one.
 */
function functionsGiven(session: Session, { parameter, field }: Handed, seen: Set<ts.Node>): Given {
  const { parent, dotDotDotToken } = parameter;
  if (!hasBody(parent) || seen.has(parameter)) return [];
  seen.add(parameter);
  const { calls } = callSitesOf(session.oracle, parent, "program");
  const at = parent.parameters.findIndex((p) => p === parameter);
  return calls.flatMap((site) =>
    (site.arguments ?? [])
      .slice(at, dotDotDotToken ? undefined : at + 1)
      .flatMap((argument) =>
        field === undefined
          ? functionsFor(session, argument, seen)
          : fieldGiven(session, unwrap(argument), field),
      ),
  );
}

/** The function that an object literal has under a name. */
function fieldGiven({ oracle }: Session, given: ts.Expression, field: string): Given {
  if (!ts.isObjectLiteralExpression(given)) return [undefined];
  if (given.properties.some((p) => !p.name || ts.isComputedPropertyName(p.name)))
    return [undefined];
  return given.properties.flatMap((property) => {
    if (!property.name || memberName(property.name) !== field) return [];
    if (hasBody(property)) return [property];
    return ts.isPropertyAssignment(property)
      ? [functionHanded(oracle, property.initializer)]
      : [functionHanded(oracle, property.name as ts.Identifier)];
  });
}

/** The functions that a value may be: itself, or those that a parameter stands for. */
function functionsFor(session: Session, value: ts.Expression, seen: Set<ts.Node>): Given {
  const bare = unwrap(value);
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  if (!source || !ts.isParameter(source)) {
    const known = functionHanded(session.oracle, value);
    return known ? [known] : (givenBy(session.oracle, bare) ?? [undefined]);
  }
  if (isReplaced(session, source)) return [undefined];
  const given = functionsGiven(session, { parameter: source }, seen);
  return given.length > 0 ? given : [undefined];
}

type Given = readonly (FunctionWithBody | undefined)[];

/** Whether a function leaves what it gets where it was, or to its own caller. */
function looksOnly(session: Session, fn: FunctionWithBody, index: number): boolean {
  const effect = session.summary(fn).parameters[index];
  return !effect || !(effect.disposes || effect.stores || effect.returns);
}

/** Whether a function has something to do with what it gets: `onFrame = () => {}` says nothing. */
function speaksOf(fn: FunctionWithBody, index: number): boolean {
  const names = fn.parameters.slice(index, index + 1).flatMap((p) => boundNames(p.name, p));
  return names.some(({ id }) =>
    someWithin(fn.body, (node) => ts.isIdentifier(node) && node.text === id.text),
  );
}

/** Whether a call gives a value or a number: a function that only takes gives nothing back. */
const givesBack = (session: Session, call: ts.CallExpression): boolean =>
  gives(session, call) ||
  session.oracle.gives(ts.isAwaitExpression(call.parent) ? call.parent : call, "number");

const gives = ({ oracle }: Session, call: ts.CallExpression): boolean =>
  oracle.ownedAt(call) !== null;
