/**
 * Script slots: fields of objects that scripts make without a class, by a function that is called
 * with `new` and the methods of its prototype: `Grid.prototype.resize = function (n) { this.cells =
 * make(n); }`. They own what they hold as the fields of a class do. Used by `slots.ts`.
 */
import ts from "typescript";
import { accessesByName } from "../program/field-index.ts";
import { sourcesFor } from "../program/call-index.ts";
import { fieldOfThis } from "../objects/members.ts";
import { nameOf } from "../program/call-sites.ts";
import { enclosingFunction } from "../transfer/fate.ts";
import type { Session } from "../session.ts";
import { isScript, isTarget, memberName, prototypeOf, isStatic } from "../program/syntax.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** A field of the objects that one function makes. */
interface ScriptField {
  /** What the script says of it, in the order of the file. */
  mentions: ts.PropertyAccessExpression[];
  /** The function that makes the objects; the file where that is not seen. */
  holder: ts.Node;
}

/** The fields of what the functions of a script make. */
export function scriptFields(session: Session, file: ts.SourceFile): ScriptField[] {
  if (!isScript(file)) return [];
  const { facts } = session.oracle;
  const found = new Map<string, ts.PropertyAccessExpression[]>();
  for (const node of facts.nodes<ts.PropertyAccessExpression>(
    file,
    ts.SyntaxKind.PropertyAccessExpression,
  )) {
    const maker = fieldOfThis(node) ? makerOf(node) : classNamed(session, node);
    if (maker === undefined) continue;
    const key = `${maker}.${node.name.text}`;
    found.set(key, [...(found.get(key) ?? []), node]);
  }
  return [...found]
    .filter(([, mentions]) => mentions.some(isTarget) && !isEndedFromOutside(session, mentions))
    .map(([key, mentions]) => ({ mentions, holder: makerNamed(mentions, key) ?? file }));
}

/** The function itself, where it is the one that one of the mentions stands in. */
const makerNamed = (
  mentions: readonly ts.PropertyAccessExpression[],
  key: string,
): ts.Node | undefined =>
  mentions
    .map((mention) => enclosingFunction(mention))
    .find((fn) => fn !== undefined && key.startsWith(`${nameOf(fn) ?? ""}.`));

/** The class of `Grid.cells`, a field of the class itself that nothing declares. */
function classNamed(
  { oracle }: Session,
  { expression, name }: ts.PropertyAccessExpression,
): string | undefined {
  if (!ts.isIdentifier(expression)) return undefined;
  const at = oracle.declarationAt(expression);
  if (!at || !ts.isClassLike(at) || at.getSourceFile() !== expression.getSourceFile())
    return undefined;
  const isWritten = at.members.some(
    (member) => member.name && isStatic(member) && memberName(member.name) === name.text,
  );
  return isWritten ? undefined : `static ${expression.text}`;
}

/** The function that makes what `this` is, by its name; nothing in a class or an object literal. */
function makerOf(self: ts.Node): string | undefined {
  for (let at: ts.Node = self.parent; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isClassLike(at)) return undefined;
    if (ts.isClassElement(at) && isStatic(at) && ts.isClassLike(at.parent) && at.parent.name)
      return `static ${at.parent.name.text}`;
    if (!ts.isFunctionLike(at) || ts.isArrowFunction(at)) continue;
    const { parent } = at;
    if (ts.isFunctionDeclaration(at)) return at.name?.text;
    if (ts.isVariableDeclaration(parent)) return parent.name.getText();
    const literal = ts.isPropertyAssignment(parent) ? parent.parent : parent;
    const store = ts.isObjectLiteralExpression(literal) ? literal.parent : parent;
    if (!ts.isBinaryExpression(store)) return undefined;
    const { left } = store;
    const own = prototypeOf(left);
    if (own) return own.getText();
    if (ts.isPropertyAccessExpression(left) && left.name.text === "prototype")
      return left.expression.getText();
    if (!fieldOfThis(left)) return undefined; // `this.draw = function () {…}` is a method of it
  }
  return undefined;
}

/** Whether others do more with a field of that name than look at it and give it a value. */
function isEndedFromOutside(
  session: Session,
  mentions: readonly ts.PropertyAccessExpression[],
): boolean {
  const { facts } = session.oracle;
  const [first] = mentions;
  if (!first) return false;
  return sourcesFor(session.oracle, first).some((file) =>
    (facts.of(file, accessesByName).get(first.name.text) ?? []).some(
      (at) =>
        !fieldOfThis(at) &&
        !mentions.includes(at) &&
        !isTarget(at) &&
        !onlyLooksAt(session.transfer(at).effect),
    ),
  );
}
