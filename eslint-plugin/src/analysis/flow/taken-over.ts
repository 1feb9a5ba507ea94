/**
 * Taken over: what a function takes out of a list, or is yielded or given for good, and ends itself
 * at the end of the block: `for (const { input } of jobs.splice(0)) { …; input.dispose(); }`. It is
 * the function's all along, so that an early way out leaves it behind. Used by `value-events.ts`
 * and `paths.ts`.
 */
import ts from "typescript";
import type { Cell } from "./cells.ts";
import type { Frame } from "./events.ts";
import { callSitesOf } from "../program/call-sites.ts";
import type { Owned } from "../program/oracle.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import {
  hasBody,
  isTarget,
  someWithin,
  unwrap,
  within,
  type FunctionWithBody,
} from "../program/syntax.ts";
import type { Session } from "../session.ts";
import { endsHere } from "../transfer/ended-after.ts";
import { enclosingFunction, fateOf, loopOfTurn } from "../transfer/fate.ts";
import { effectInside } from "../transfer/mention.ts";
import { onlyLooksAt } from "../transfer/transfer.ts";

/** A variable that is never written again. */
type Named = (ts.VariableDeclaration | ts.BindingElement) & { name: ts.Identifier };

/**
 * Whether a constant that is not made here is the function's own nevertheless, or a field of it:
 * `for await (const shot of shots()) { …; shot.image.dispose(); }`.
 */
export function isTakenOver(
  session: Session,
  declaration: ts.Node,
  owned: Owned,
  field?: string,
): boolean {
  if (!isNamed(declaration) || owned.shape !== "one") return false;
  const whole = ts.isBindingElement(declaration)
    ? ts.walkUpBindingElementsAndPatterns(declaration)
    : declaration;
  const home = enclosingFunction(declaration);
  if (!home || !ts.isVariableDeclaration(whole)) return false;
  if (field === undefined && isOfLastLoop(session, declaration, whole, home)) return true;
  if (!isTaken(session, whole)) return false;
  if (isWholeHandedOn(session, whole, home)) return false;
  const loop = ts.isForOfStatement(whole.parent.parent) ? whole.parent.parent : undefined;
  const block = loop ? loop.statement : whole.parent.parent.parent;
  if (!ts.isBlock(block)) return false;
  const mentions = referencesTo(session.oracle, declaration, declaration.name, home);
  const end = mentions.find((id) => {
    const part = field === undefined ? id : fieldAt(id, field);
    return part !== undefined && endsHere(session, part, owned) && isLastOf(id, block);
  });
  if (!end) return false;
  const names = boundNames(whole.name, whole).map(({ id }) => id.text);
  return !block.statements.some(
    (s) => s.pos > whole.pos && s.pos < end.pos && asksAbout(s, [...names, ...givenFrom(whole)]),
  );
}

/**
 * `for (const w of windows) …` of a list that the function has made and only looks at but for this
 * loop: what a turn leaves nobody has in hand again.
 */
function isOfLastLoop(
  session: Session,
  declaration: Named,
  whole: ts.VariableDeclaration,
  home: ts.Node,
): boolean {
  const loop = loopOfTurn(whole);
  const list = loop && listOf(declaration, loop);
  const made = list && session.oracle.declarationAt(list);
  if (!made || !isNamed(made) || enclosingFunction(made) !== home) return false;
  const again = ts.findAncestor(loop.parent, (n) => ts.isIterationStatement(n, false));
  if (again && !within(made, again)) return false;
  if (session.oracle.ownedAt(list)?.shape !== "many" || session.freshness(list) !== "fresh")
    return false;
  const isLook = (id: ts.Identifier): boolean =>
    onlyLooksAt(effectInside(session, session.transfer(id)));
  if (
    !referencesTo(session.oracle, made, made.name, home).every(
      (id) => id === list || id === made.name || isLook(id),
    )
  )
    return false;
  // a loop that only looks leaves all of the list
  const { statement } = loop;
  return referencesTo(session.oracle, declaration, declaration.name, statement).some(
    (id) => !isLook(id),
  );
}

/** The name of the list whose elements a loop gives a name: `w` or `[i, w]` of `entries()`. */
function listOf(declaration: Named, { expression }: ts.ForOfStatement): ts.Identifier | undefined {
  const source = unwrap(expression);
  if (ts.isVariableDeclaration(declaration)) return ts.isIdentifier(source) ? source : undefined;
  const { parent } = declaration;
  if (!ts.isArrayBindingPattern(parent) || parent.elements[1] !== declaration) return undefined;
  if (!ts.isVariableDeclaration(parent.parent) || !ts.isCallExpression(source)) return undefined;
  const { expression: asked } = source;
  const isOfList = ts.isPropertyAccessExpression(asked) && asked.name.text === "entries";
  return isOfList && ts.isIdentifier(asked.expression) ? asked.expression : undefined;
}

/** `shot.image`, where a mention of `shot` is asked for that field. */
const fieldAt = ({ parent }: ts.Identifier, field: string): ts.Expression | undefined =>
  ts.isPropertyAccessExpression(parent) && parent.name.text === field ? parent : undefined;

/** `const [r, g] = parts;`, after which nobody ends `parts` as a whole. */
export function isLastUse(
  session: Session,
  { root }: Frame,
  cell: Cell,
  use: ts.Expression,
): boolean {
  const { declaration, name } = cell;
  if (!declaration || !name) return false;
  return referencesTo(session.oracle, declaration, name, root).every(
    (id) => id.pos <= use.pos || onlyLooksAt(effectInside(session, session.transfer(id))),
  );
}

/** Parameters that every caller gives something new, and that the function ends at its end. */
export function takenParameters(session: Session, frame: Frame): void {
  const { root, cells } = frame;
  if (!hasBody(root) || !ts.isBlock(root.body)) return;
  const { body, parameters } = root;
  for (const parameter of parameters) {
    const { name } = parameter;
    const cell = cells.of(parameter);
    if (!cell || cell.owned.shape !== "one" || !ts.isIdentifier(name)) continue;
    if (parameter.initializer || parameter.dotDotDotToken) continue;
    const mentions = referencesTo(session.oracle, parameter, name, root);
    if (mentions.some(isTarget)) continue;
    const end = mentions.find((id) => endsHere(session, id, cell.owned) && isLastOf(id, body));
    const before = end ? body.statements.filter((s) => s.end < end.pos) : [];
    const names = parameters.flatMap((p) => boundNames(p.name, p).map(({ id }) => id.text));
    const ways = before.filter(hasWayOut);
    if (ways.length === 0 || ways.some((s) => asksAbout(s, names) || saysSo(s))) continue;
    if (isGivenForGood(session, root, parameters.indexOf(parameter)))
      frame.own(cell, name, parameter, true, cell.owned.nullable);
  }
}

/** `return false`: what tells the caller that the function did not take what it was given. */
const saysSo = (statement: ts.Statement): boolean =>
  someWithin(statement, (node) => ts.isReturnStatement(node) && node.expression !== undefined);

/** Whether all that call a function give it something new, which they do not speak of again. */
function isGivenForGood(session: Session, fn: FunctionWithBody, index: number): boolean {
  const { calls, values } = callSitesOf(session.oracle, fn, "program");
  return (
    calls.length > 0 &&
    values.length === 0 &&
    calls.every(({ arguments: given }) => {
      const value = given?.[index];
      return value !== undefined && isLeft(session, unwrap(value));
    })
  );
}

/** `model.predict(x)`, or the last mention of a constant that holds it. */
function isLeft(session: Session, value: ts.Expression): boolean {
  if (!ts.isIdentifier(value)) return session.freshness(value) === "fresh";
  const made = session.oracle.declarationAt(value);
  const home = enclosingFunction(value);
  if (!made || !isNamed(made) || !ts.isVariableDeclaration(made) || !home) return false;
  if (!made.initializer || session.freshness(made.initializer) !== "fresh") return false;
  if (enclosingFunction(made) !== home) return false;
  return referencesTo(session.oracle, made, made.name, home).every((id) => id.pos <= value.pos);
}

const isNamed = (node: ts.Node): node is Named =>
  (ts.isVariableDeclaration(node) || ts.isBindingElement(node)) &&
  ts.isIdentifier(node.name) &&
  !(ts.isBindingElement(node) && (node.initializer || node.dotDotDotToken)) &&
  (ts.getCombinedNodeFlags(node) & ts.NodeFlags.Const) !== 0;

/** Whether a declaration takes out of a list, perhaps by way of another, or is what is yielded. */
function isTaken({ oracle }: Session, declaration: ts.VariableDeclaration): boolean {
  const loop = loopOfTurn(declaration);
  const source = declaration.initializer ?? loop?.expression;
  const bare = source && unwrap(source);
  if (!bare) return false;
  if (ts.isIdentifier(bare)) {
    const from = oracle.declarationAt(bare);
    const given = from && ts.isVariableDeclaration(from) ? from.initializer : undefined;
    if (given && takesOut(unwrap(given))) return true;
  }
  return takesOut(bare) || (loop !== undefined && isStream(oracle, loop));
}

/** `jobs.shift()`, `jobs.splice(0, n)`. */
const takesOut = (value: ts.Expression): boolean =>
  ts.isCallExpression(value) &&
  ts.isPropertyAccessExpression(value.expression) &&
  /^(pop|shift|splice)$/.test(value.expression.name.text);

/** What is given once and kept by nobody, as lists and tables keep what they hold. */
const isStream = (oracle: Session["oracle"], loop: ts.ForOfStatement): boolean =>
  loop.awaitModifier !== undefined || oracle.typeName(loop.expression) === "Generator";

/** `queue.push(job)` beside `const { input } = job`: the record may go where it came from. */
function isWholeHandedOn(
  { oracle }: Session,
  { initializer }: ts.VariableDeclaration,
  home: ts.Node,
): boolean {
  const bare = initializer && unwrap(initializer);
  const source = bare && ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  if (!source || !ts.isVariableDeclaration(source) || !ts.isIdentifier(source.name)) return false;
  const { name } = source;
  return referencesTo(oracle, source, name, home).some(
    (id) => id !== name && id !== bare && /^(argument|returned|assigned)$/.test(fateOf(id).kind),
  );
}

/** What the values that a pattern takes apart come from: `job` of `const { input } = job`. */
function givenFrom({ initializer }: ts.VariableDeclaration): string[] {
  const bare = initializer && unwrap(initializer);
  return bare && ts.isIdentifier(bare) ? [bare.text] : [];
}

/** Whether a place is a statement of a block, or of the `try` or the `finally` of one. */
function isLastOf(id: ts.Identifier, block: ts.Block): boolean {
  const statement = ts.findAncestor(id, ts.isStatement);
  if (!statement || !ts.isExpressionStatement(statement)) return false;
  const { parent } = statement;
  if (parent === block) return true;
  return (
    ts.isBlock(parent) &&
    ts.isTryStatement(parent.parent) &&
    parent.parent.parent === block &&
    parent.parent.catchClause?.block !== parent
  );
}

/** `if (job.isCancelled) continue`: a way out for a reason that may have ended the value before. */
export function asksAbout(statement: ts.Statement, names: readonly string[]): boolean {
  const speaks = (node: ts.Node): boolean =>
    ts.isIdentifier(node) && names.includes(node.text) && !isOfShape(node);
  return someWithin(
    statement,
    (node) =>
      (ts.isIfStatement(node) || ts.isSwitchStatement(node)) &&
      hasWayOut(node) &&
      someWithin(node.expression, speaks),
  );
}

/** Whether a way out stands somewhere in a statement. */
const hasWayOut = (statement: ts.Node): boolean =>
  someWithin(
    statement,
    (node) =>
      ts.isReturnStatement(node) ||
      ts.isThrowStatement(node) ||
      ts.isBreakOrContinueStatement(node),
  );

/** `input.shape[0] > 3`, `input.width === 0`: says nothing of whether somebody has it. */
const isOfShape = ({ parent }: ts.Identifier): boolean =>
  ts.isPropertyAccessExpression(parent) &&
  /^(shape|rank|size|dtype|width|height|byteLength|length)$/.test(parent.name.text);

/** `xs = xs.slice(1)` of a list that starts with what is its own. */
export function isRestOf(
  session: Session,
  frame: Frame,
  cell: Cell,
  value: ts.Expression,
): boolean {
  const { declaration } = cell;
  if (cell.kind !== "local" || !declaration || !ts.isVariableDeclaration(declaration)) return false;
  if (!ts.isCallExpression(value) || !ts.isPropertyAccessExpression(value.expression)) return false;
  const { expression: on, name } = value.expression;
  const isSame = ts.isIdentifier(on) && frame.cells.at(on) === cell;
  if (!isSame || !/^(slice|filter)$/.test(name.text) || !declaration.initializer) return false;
  return session.freshness(declaration.initializer) === "fresh";
}
