/**
 * Taken out: `const x = xs.shift()!; log(x.size)`, what is taken out of a list and then only looked
 * at. Such a list may be one of things to do that others hold: it counts where all that is put into
 * it is its own. Used by `removals.ts`.
 */
import ts from "typescript";
import { isHolder } from "../../owner.ts";
import { objectOwnsElements } from "../objects/ended-elements.ts";
import { enclosingFunction, fateOf } from "../transfer/fate.ts";
import { isOwnList, onlyUsed } from "../fresh/fresh-variables.ts";
import { putInto } from "./inner-lists.ts";
import { endsByName, isCompared } from "../transfer/looked-at.ts";
import { effectInside } from "../transfer/mention.ts";
import { visitVerb } from "../flow/mention-events.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import { samePlace } from "../program/same-place.ts";
import type { Session } from "../session.ts";
import { isUsing, isUsingList, someWithin, unwrap, variableName } from "../program/syntax.ts";
import { nameOf } from "../program/call-sites.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** Whether what a call takes out of a list is out of reach when its function ends. */
export function isLostWhenTaken(session: Session, taken: ts.CallExpression): boolean {
  const fate = fateOf(taken);
  if (fate.kind === "dropped") return !isEndedByName(session, taken);
  const target = taken.expression;
  if (!ts.isPropertyAccessExpression(target) || !holdsOwn(session, target.expression)) return false;
  if (fate.kind === "bound" && ts.isVariableDeclaration(fate.node))
    return namesOnlyLook(session, fate.node);
  const looks = ["receiver", "read", "element", "operand", "argument", "iterated"].includes(
    fate.kind,
  );
  return looks && staysUnnamed(session, taken);
}

/**
 * `xs.splice(xs.indexOf(x), 1); x.dispose();`: the function has what it takes out by its name; of
 * things of an interface, who gives it one has.
 */
function isEndedByName(session: Session, taken: ts.CallExpression): boolean {
  const home = enclosingFunction(taken);
  const [at] = taken.arguments;
  if (!home || !at) return false;
  const value = valueSought(session, at);
  if (!value) return false;
  const source = session.oracle.declarationAt(value);
  const type = source && ts.isParameter(source) && source.parent === home ? source.type : undefined;
  const kind = type && ts.isTypeReferenceNode(type) && session.oracle.declarationAt(type.typeName);
  const owner = kind && ts.isInterfaceDeclaration(kind) && session.oracle.ownedAt(value)?.owner;
  return (
    (owner && isHolder(owner, session.settings)) ||
    endsByName(session, value, home) ||
    endsPart(session, value, home)
  );
}

/** `sprite.texture.destroy()`: what the object of a name has is ended. */
function endsPart(session: Session, value: ts.Identifier, home: ts.Node): boolean {
  const source = session.oracle.declarationAt(value);
  const name = source && variableName(source);
  if (!name) return false;
  return referencesTo(session.oracle, source, name, home).some((mention) => {
    let part: ts.Expression = mention;
    while (ts.isPropertyAccessExpression(part.parent) && part.parent.expression === part) {
      part = part.parent;
      if (session.transfer(part).effect === "disposes") return true;
    }
    return false;
  });
}

/** The `x` of `xs.indexOf(x)`, or of a constant that is given that. */
function valueSought(session: Session, index: ts.Expression): ts.Identifier | undefined {
  const bare = unwrap(index);
  if (ts.isIdentifier(bare)) {
    const source = session.oracle.declarationAt(bare);
    const given = source && ts.isVariableDeclaration(source) ? source.initializer : undefined;
    return given && !ts.isIdentifier(unwrap(given)) ? valueSought(session, given) : undefined;
  }
  if (!ts.isCallExpression(bare) || !ts.isPropertyAccessExpression(bare.expression))
    return undefined;
  const [sought] = bare.arguments;
  const isSearch = /^(indexOf|lastIndexOf)$/.test(bare.expression.name.text);
  return isSearch && sought && ts.isIdentifier(sought) ? sought : undefined;
}

/** Whether the names that a declaration gives what it is made of only look at it. */
function namesOnlyLook(session: Session, declaration: ts.VariableDeclaration): boolean {
  if (isUsing(declaration)) return false;
  const root = enclosingFunction(declaration) ?? declaration.getSourceFile();
  return boundNames(declaration.name, declaration).every(
    ({ id, declaration: at }) =>
      !session.oracle.ownedAt(id) ||
      referencesTo(session.oracle, at, id, root).every(
        (name) => name === id || (!isCompared(name) && staysUnnamed(session, name)),
      ),
  );
}

/** Whether a mention looks at a value or at what is in it, be it one by one. */
function staysUnnamed(session: Session, mention: ts.Expression): boolean {
  if (isCompared(mention) || !innerOnlyLookedAt(session, mention)) return false;
  const { kind, member, node } = fateOf(mention);
  if (kind === "iterated" && ts.isForOfStatement(node)) {
    const list = node.initializer;
    if (!ts.isVariableDeclarationList(list) || isUsingList(list)) return false;
    return list.declarations.every((turn) => namesOnlyLook(session, turn));
  }
  if (kind === "read" && member === "length") return true;
  const found = session.transfer(mention);
  if (found.effect === "visits") return visitVerb(session, found.fate) === "use";
  return onlyLooksAt(effectInside(session, found));
}

/** `turn.entry.state.dispose()`, `kept.push(turn.entry.state)`: of what is in a part, the same. */
function innerOnlyLookedAt(session: Session, mention: ts.Expression): boolean {
  let part: ts.Expression = mention;
  let depth = 0;
  while (isAccessOf(part.parent, part)) {
    part = part.parent;
    if (!ts.isPropertyAccessExpression(part) || ++depth < 2) continue;
    const { effect, fate } = session.transfer(part);
    if (!onlyLooksAt(effect) && fate.kind !== "operand") return false;
  }
  return true;
}

const isAccessOf = (
  node: ts.Node,
  part: ts.Expression,
): node is ts.PropertyAccessExpression | ts.NonNullExpression =>
  (ts.isPropertyAccessExpression(node) || ts.isNonNullExpression(node)) && node.expression === part;

/** Whether all that a list is known to be given is made for it, or its class ends what it holds. */
function holdsOwn(session: Session, list: ts.Expression): boolean {
  if (isOwnList(session, list)) return false; // a local one: what is taken out is followed
  if (!ts.isIdentifier(list) && !ts.isPropertyAccessExpression(list)) return false;
  if (objectOwnsElements(session, list)) return true;
  const values = putInto(session, list);
  return (
    values.length > 0 &&
    values.every((v) => session.freshness(v) === "fresh" && !hasOtherPlace(session, v)) &&
    !isReplaced(session, list)
  );
}

/** `all.set(id, t); order.push(t)`: a value that another place may have, too. */
function hasOtherPlace(session: Session, value: ts.Expression): boolean {
  const bare = unwrap(value);
  if (ts.isObjectLiteralExpression(bare))
    return bare.properties.some((p) =>
      ts.isPropertyAssignment(p)
        ? hasOtherPlace(session, p.initializer)
        : ts.isShorthandPropertyAssignment(p) &&
          session.oracle.ownedAt(p.name) !== null &&
          hasOtherPlace(session, p.name),
    );
  const source = ts.isIdentifier(bare) ? session.oracle.declarationAt(bare) : undefined;
  const name = source && variableName(source);
  if (!name) return false;
  const root = enclosingFunction(value) ?? value.getSourceFile();
  return referencesTo(session.oracle, source, name, root).some(
    (id) => id !== bare && id !== name && !onlyUsed(session, id),
  );
}

/** `xs = others`: the list may have come from somebody with all that it holds. */
function isReplaced(session: Session, list: ts.Expression): boolean {
  return session.oracle.facts
    .assignments(list.getSourceFile())
    .some(
      ({ left, right }) =>
        samePlace(session.oracle, left, list) &&
        session.oracle.ownedAt(right) !== null &&
        session.freshness(right) === "borrowed",
    );
}

/** `const { outbox } = peer; …; peer.outbox.length = 0;`: a name for the list has it in hand. */
export function isUnpacked(container: ts.Expression): boolean {
  const home = enclosingFunction(container);
  if (!home || !ts.isPropertyAccessExpression(container)) return false;
  const { text } = container.name;
  const isName = (node: ts.Node): boolean =>
    ts.isBindingElement(node) &&
    ts.isObjectBindingPattern(node.parent) &&
    nameOf(node.propertyName ?? node.name) === text;
  return someWithin(home, isName);
}
