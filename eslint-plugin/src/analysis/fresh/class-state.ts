/**
 * Class state: fresh values that a class component keeps between renders by `this.setState({ image
 * })`, and that nothing in the class ends or hands on. Told by the names of the framework. Used by
 * the rule about members, beside `component-state.ts`.
 */
import ts from "typescript";
import { isEndedByName, promiseOf, type KeptState } from "./component-state.ts";
import { calledBy, soundsLikeDisposal } from "../transfer/disposes.ts";
import { returnsOf } from "../transfer/fate.ts";
import type { Session } from "../session.ts";
import { baseOf, hasBody, isSelf, memberName, someWithin, unwrap } from "../program/syntax.ts";

/** Every value the class components of a file keep and never end. */
export function keptByClasses(session: Session, file: ts.SourceFile): KeptState[] {
  return session.oracle.facts.calls(file).flatMap((call) => {
    const component = isSetState(call) ? ts.findAncestor(call, ts.isClassLike) : undefined;
    const given = call.arguments?.[0];
    if (!component || !given) return [];
    return literalsOf(unwrap(given)).flatMap(({ properties }) =>
      properties.flatMap((property): KeptState[] => {
        if (!ts.isPropertyAssignment(property) && !ts.isShorthandPropertyAssignment(property))
          return [];
        const name = memberName(property.name);
        const given = ts.isPropertyAssignment(property) ? property.initializer : property.name;
        const value = promiseOf(session, given) ?? given;
        const owned = session.oracle.ownedAt(value);
        if (name === undefined || !owned || owned.owner.lost === "repeated") return [];
        if (session.freshness(value) !== "fresh" || session.scopeAt(value) === "in") return [];
        if (isEndedByName(session, unwrap(value))) return [];
        return isEndedBy(session, component, name)
          ? []
          : [{ label: `state.${name}`, value, owned }];
      }),
    );
  });
}

const isSetState = ({ expression }: ts.CallExpression | ts.NewExpression): boolean =>
  ts.isPropertyAccessExpression(expression) &&
  isSelf(expression.expression) &&
  expression.name.text === "setState";

/** What a call of `setState` is given: an object, or those that a function returns. */
const literalsOf = (given: ts.Expression): ts.ObjectLiteralExpression[] =>
  (hasBody(given) ? returnsOf(given).map(unwrap) : [given]).filter(ts.isObjectLiteralExpression);

/** Whether a class or one that it extends may end what its state has under a name. */
function isEndedBy(session: Session, component: ts.ClassLikeDeclaration, name: string): boolean {
  if (isEnded(component, name)) return true;
  const base = baseOf(component)?.expression;
  const extended = base && ts.isIdentifier(base) && session.oracle.declarationAt(base);
  return extended && ts.isClassLike(extended) && !extended.getSourceFile().isDeclarationFile
    ? isEndedBy(session, extended, name)
    : false;
}

/**
 * Whether a class may end or hand on what its state has under a name: `this.state.image.dispose()`,
 * `show(image)`, `<Picture image={image}>`.
 */
function isEnded(component: ts.ClassLikeDeclaration, name: string): boolean {
  return someWithin(component, (node) => {
    if (isWholeState(node) || isHandedWhole(node)) return true;
    if (!ts.isIdentifier(node) || node.text !== name) return false;
    const { parent } = node;
    if (ts.isPropertyAssignment(parent) && parent.name === node) return false; // it is given
    if (ts.isShorthandPropertyAssignment(parent)) return !isGiven(parent);
    const isRead = ts.isPropertyAccessExpression(parent) && parent.name === node;
    return isHandedOn(isRead ? parent : node);
  });
}

/** `tf.dispose(this.state)`, `this.state[name]`: all that the state has, under whatever name. */
const isWholeState = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) &&
  node.expression.kind === ts.SyntaxKind.ThisKeyword &&
  node.name.text === "state" &&
  (ts.isElementAccessExpression(node.parent) || isHandedOn(node));

/** `free(this)`: a function that gets the whole component. */
const isHandedWhole = ({ kind, parent }: ts.Node): boolean =>
  kind === ts.SyntaxKind.ThisKeyword &&
  ts.isCallExpression(parent) &&
  soundsLikeDisposal(calledBy(parent));

const isGiven = (property: ts.Node): boolean =>
  ts.findAncestor(property, (at) => ts.isCallExpression(at) && isSetState(at)) !== undefined;

function isHandedOn(node: ts.Expression): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.expression === node)
    return soundsLikeDisposal(parent.name.text);
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent)) return parent.expression !== node;
  return (
    ts.isJsxExpression(parent) ||
    ts.isReturnStatement(parent) ||
    ts.isSpreadElement(parent) ||
    (ts.isBinaryExpression(parent) &&
      parent.right === node &&
      parent.operatorToken.kind === ts.SyntaxKind.EqualsToken) ||
    ts.isArrayLiteralExpression(parent)
  );
}
