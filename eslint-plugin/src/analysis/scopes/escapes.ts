/**
 * Escapes: fresh values of a scope that are put where they outlive it: values without a name by
 * where they go (`consume.ts`), values of variables by what the dataflow saw leave (`flow.ts`),
 * values that a function looks at which runs after the scope. Read by `no-escape-from-scope`.
 */
import ts from "typescript";
import { markOf, type FreshValue } from "../fresh/consume.ts";
import { isCarriedOut } from "./carried.ts";
import { handedTo } from "../transfer/callbacks.ts";
import { puts } from "../program/containers.ts";
import { functionHanded } from "../program/callee.ts";
import { enclosingFunction, fateOf, returnsOf } from "../transfer/fate.ts";
import type { Problem } from "../flow/flow.ts";
import { isDeclaredOutside, scopeAround, type OpenScope } from "./open-scopes.ts";
import type { Owned } from "../program/oracle.ts";
import { referencesTo } from "../program/references.ts";
import { keptForCallers, type KeptForCallers } from "./kept-for-callers.ts";
import { keptInside, makerKeeps, mentionedLater, rescued, usedUpInside } from "./rescues.ts";
import type { Session } from "../session.ts";
import { calleeNameNode, isAsync, rootOf } from "../program/syntax.ts";

/** A value that outlives its scope. */
export interface Escape {
  how: "assigned" | "field" | "pushed" | "returned" | "captured";
  mark: { start: number; end: number };
  /** The expression that would have to be moved out of the scope. */
  at: ts.Expression;
  /** What holds it afterwards, or the variable that the later function looks at. */
  name: string;
  owned: Owned;
  scope: OpenScope;
}
type Leaving = Extract<Problem, { kind: "leaves" }>;
/** Where a value goes, when it goes out of a scope. */
type Way = Pick<Escape, "how" | "name">;

/** Every value of a file that outlives its scope. */
export function escapesOf(
  session: Session,
  file: ts.SourceFile,
  fresh: readonly FreshValue[],
  problems: readonly Problem[],
): Escape[] {
  const leaving = problems.filter((p) => p.kind === "leaves");
  const found = [
    ...fresh.map((value) => unnamed(session, value)),
    ...leaving.map((problem) => named(session, problem)),
    ...keptForCallers(session, file).map(ofCallers),
  ];
  return found.filter((e) => e !== null && !isExempt(session, e)) as Escape[];
}

/** Types whose values no scope frees: variables of TF.js, `ws.map((w) => tf.variable(w))`. */
function isExempt({ oracle }: Session, { at, owned }: Escape): boolean {
  const { outsideScopes } = owned.owner;
  const isMap = ts.isCallExpression(at) && calleeNameNode(at)?.text === "map";
  const [callback] = isMap ? at.arguments : [];
  const fn = callback && functionHanded(oracle, callback);
  const made = fn ? returnsOf(fn) : [at];
  return outsideScopes.length > 0 && made.every((v) => outsideScopes.includes(oracle.typeName(v)));
}

/** What the scopes of those who call a function free. */
function ofCallers({ value, table, owned, fn }: KeptForCallers): Escape {
  const scope = { region: fn, opening: fn, variable: null, movesResultOut: false };
  const mark = { start: value.getStart(), end: value.getEnd() };
  return { how: "pushed", name: table.getText(), mark, at: value, owned, scope };
}

const isScoped = ({ owner, shape }: Owned): boolean =>
  owner.scopes.length > 0 && shape !== "record";

/** Whether what makes a value also moves, detaches or keeps it, or carries it out of the scope. */
const leaves = (session: Session, value: ts.Expression, owned: Owned, scope: OpenScope): boolean =>
  makerKeeps(session, value, owned, scope) || isCarriedOut(session, value, scope);

// ---- values without a name ----

function unnamed(session: Session, value: FreshValue): Escape | null {
  const { node, owned, outcome, fate } = value;
  const isGone = outcome === "returned" || outcome === "assigned" || outcome === "kept";
  if (!isGone || !isScoped(owned)) return null;
  const scope = scopeAround(session, node);
  if (!scope || leaves(session, node, owned, scope)) return null;
  const way =
    outcome === "returned"
      ? returned(scope, fate.node)
      : outcome === "assigned"
        ? assigned(session, scope, fate.node)
        : fate.kind === "argument" && pushed(session, scope, fate.node);
  return way ? { ...way, mark: markOf(node), at: node, owned, scope } : null;
}

/**
 * `return t` from a scope that does not move its result out. A callback's `return`, as in
 * `noGrad(() => { …; return t; })`, stays inside.
 */
const returned = (scope: OpenScope, node: ts.Node): Way | null =>
  scope.movesResultOut || !ts.isReturnStatement(node) || !endsIn(node, scope.region)
    ? null
    : { how: "returned", name: "" };

/** Whether a node's function is the one that the region is, or stands in: no callback inside. */
function endsIn(node: ts.Node, region: ts.Node): boolean {
  const home = enclosingFunction(node);
  return home === region || home === enclosingFunction(region);
}

function assigned(session: Session, scope: OpenScope, node: ts.Node): Way | null {
  if (!ts.isBinaryExpression(node)) return null;
  const { left } = node;
  if (ts.isIdentifier(left)) {
    const stays =
      !isDeclaredOutside(session, left, scope) ||
      rescued(session, left, scope) ||
      usedUpInside(session, left, scope);
    return stays ? null : { how: "assigned", name: left.text };
  }
  const isElement = ts.isElementAccessExpression(left);
  if (!isElement && !ts.isPropertyAccessExpression(left)) return null;
  const root = rootOf(left);
  const container = isElement ? left.expression : left;
  if (!isOuter(session, root, scope) || mentionedLater(session, left, scope)) return null;
  if (isElement && mentionedLater(session, container, scope)) return null;
  if (isElement && ts.isIdentifier(root) && rescued(session, root, scope)) return null;
  return { how: "field", name: container.getText() };
}

/** `out.push(t)` where `out` outlives the scope. */
function pushed(session: Session, scope: OpenScope, call: ts.Node): Way | null {
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return null;
  const { name, expression: list } = call.expression;
  if (!puts(name.text) || !session.oracle.callee(call).builtin) return null;
  const root = rootOf(list);
  if (!isOuter(session, root, scope)) return null;
  if (ts.isIdentifier(root)) {
    if (rescued(session, root, scope)) return null;
    if (isLocal(session, root) && usedUpInside(session, root, scope)) return null;
  }
  return { how: "pushed", name: list.getText() };
}

const isOuter = (session: Session, root: ts.Node, scope: OpenScope): boolean =>
  root.kind === ts.SyntaxKind.ThisKeyword ||
  (ts.isIdentifier(root) && isDeclaredOutside(session, root, scope));

const isLocal = ({ oracle }: Session, id: ts.Identifier): boolean => {
  const at = oracle.declarationAt(id);
  return at !== undefined && enclosingFunction(at) !== undefined;
};

// ---- values of variables ----

function named(session: Session, { site, node, cell, by }: Leaving): Escape | null {
  const { value } = site;
  const { declaration, name } = cell;
  if (!isScoped(cell.owned) || cell.label.includes(".") || !declaration || !name) return null;
  const scope = scopeAround(session, value);
  if (!scope || !within(declaration, scope.region) || leaves(session, value, cell.owned, scope))
    return null;
  const way = by
    ? captured(session, scope, by, cell.label)
    : wayOf(session, scope, node, cell.owned);
  if (!way) return null;
  const others = referencesTo(session.oracle, declaration, name, scope.region);
  if (others.some((id) => id !== node && keptInside(session, id, cell.owned, way.how, scope)))
    return null;
  const mention = ts.isBinaryExpression(node) ? node.right : node;
  return {
    ...way,
    mark: { start: mention.getStart(), end: mention.getEnd() },
    at: by ? value : (mention as ts.Expression),
    owned: cell.owned,
    scope,
  };
}

/** Where one mention of a variable puts the value. */
function wayOf(session: Session, scope: OpenScope, node: ts.Node, owned: Owned): Way | null {
  if (ts.isBinaryExpression(node)) return assigned(session, scope, node);
  if (!ts.isIdentifier(node)) return null;
  const { effect, fate } = session.transfer(node);
  if (owned.shape !== "one" && effect !== "returns") return null;
  if (effect === "returns") return returned(scope, fate.node);
  if (fate.literal || fate.conditional) return null;
  if (fate.kind === "assigned" && (effect === "aliases" || effect === "stores"))
    return assigned(session, scope, fate.node);
  return fate.kind === "argument" && effect === "takes" ? pushed(session, scope, fate.node) : null;
}

/** `return () => t.data()`, `setTimeout(() => t.print())`: a function that runs after the scope. */
function captured(session: Session, scope: OpenScope, by: ts.Node, label: string): Way | null {
  const home = enclosingFunction(by);
  const way: Way = { how: "captured", name: label };
  if (handedTo(by)) return isAsync(home) ? null : way;
  const fate = fateOf(by as ts.Expression);
  if (fate.kind === "returned") return endsIn(by, scope.region) ? way : null;
  if (fate.kind !== "assigned" || !ts.isBinaryExpression(fate.node)) return null;
  return isOuter(session, rootOf(fate.node.left), scope) ? way : null;
}

const within = (node: ts.Node, region: ts.Node): boolean =>
  node.pos >= region.pos && node.end <= region.end;
