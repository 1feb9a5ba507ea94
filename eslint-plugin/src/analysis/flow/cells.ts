/**
 * Cells: the local variables the dataflow follows, one per declaration, or one per field for an
 * object of owned fields, plus "places" such as `this.w` or `vars[v]` which are only watched for
 * use after dispose. Used by `events.ts` and `flow.ts`.
 */
import ts from "typescript";
import type { Facts } from "../program/facts.ts";
import { fateOf } from "../transfer/fate.ts";
import type { Oracle, Owned } from "../program/oracle.ts";
import { puts } from "../program/containers.ts";
import { listOf, ownedMember } from "../program/ownership.ts";
import { boundNames, referencesTo } from "../program/references.ts";
import { unwrap } from "../program/syntax.ts";
import type { Slot, Slots } from "./slots.ts";
import type { Variants } from "./variants.ts";

/** A variable, a field of one, or a place that the dataflow follows. */
export interface Cell {
  index: number;
  /** How messages call it: `t`, `out.age`, `vars[v]`. */
  label: string;
  owned: Owned;
  declaration: ts.Declaration | undefined;
  name: ts.Identifier | undefined;
  kind: "local" | "using" | "parameter" | "place" | "slot";
  /** For a slot: which it is. */
  slot: Slot | undefined;
  /** The records that a slot may hold, where all are written out. */
  variants: Variants | undefined;
  /** For a constant that is only looked at: the slot that holds what it names. */
  nameOf: Cell | undefined;
  /** A function that outlives the block looks at it. */
  captured: boolean;
  /** For a record variable: the cells of its fields, by name. */
  fields: ReadonlyMap<string, Cell> | undefined;
  /** Names somebody else's record, perhaps: what goes into a field is not the variable's. */
  isLent: boolean;
  /** Kinds of events seen anywhere in the function; the `using` fix needs "own" and "use" only. */
  seen: Set<string>;
  /** How many places dispose it. */
  disposals: number;
  /** The places that dispose it or hand it on, under another name too. */
  endings: Set<ts.Node>;
}

/** The cells of one function body (or of the module level). */
export class Cells {
  readonly all: Cell[] = [];
  readonly names = new Set<string>();
  private readonly byDeclaration = new Map<ts.Node, Cell>();
  private readonly places = new Map<string, Cell>();
  /** The slots that are followed, see `slots.ts`. */
  readonly slots: Cell[] = [];
  private watched: ReadonlySet<string> | undefined;
  private readonly oracle: Oracle;
  private readonly root: ts.Node;
  private readonly known: Slots;

  constructor(oracle: Oracle, root: ts.Node, known: Slots) {
    this.oracle = oracle;
    this.root = root;
    this.known = known;
    if (ts.isFunctionLike(root))
      for (const p of root.parameters) this.declare(p.name, p, "parameter");
    for (const node of oracle.facts.of(root.getSourceFile(), variablesByHome).get(root) ?? [])
      this.declare(
        node.name,
        node,
        ts.getCombinedNodeFlags(node) & ts.NodeFlags.Using ? "using" : "local",
      );
  }

  private declare(
    name: ts.BindingName,
    declaration: ts.VariableDeclaration | ts.ParameterDeclaration,
    kind: Cell["kind"],
  ): void {
    // `const` and `await using` share flag bits: Using = 4, Const = 2, AwaitUsing = 6
    const flags = ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.AwaitUsing;
    const real =
      kind === "parameter"
        ? kind
        : flags === ts.NodeFlags.Using || flags === ts.NodeFlags.AwaitUsing
          ? "using"
          : "local";
    for (const { id, declaration: at } of boundNames(name, declaration)) {
      const owned = this.oracle.ownedAt(id) ?? this.assignedType(at, id) ?? this.filledType(at, id);
      if (!owned || (owned.shape === "record" && this.isKeyed(at, id))) continue;
      const cell = this.make(id.text, owned, real, at, id);
      this.names.add(id.text);
      this.byDeclaration.set(at, cell);
      if (owned.shape === "record") {
        cell.fields = new Map(
          owned.fields
            .map((f) => [f, ownedMember(owned, f)] as const)
            // a record in a record is followed as a whole
            .map(([f, part]) => [f, this.make(`${id.text}.${f}`, part, real, at, id)]),
        );
      }
    }
  }

  /** `bands[key].dispose()`: which field of a record that is, nobody knows. */
  private isKeyed(declaration: ts.Declaration, id: ts.Identifier): boolean {
    return referencesTo(this.oracle, declaration, id, this.root).some(
      ({ parent }) =>
        ts.isElementAccessExpression(parent) && !ts.isStringLiteralLike(parent.argumentExpression),
    );
  }

  /** What has no owned type of its own, as `let x;` or a parameter: its first assignment tells. */
  private assignedType(declaration: ts.Declaration, id: ts.Identifier): Owned | null {
    if (!takesAnything(declaration)) return null;
    for (const use of referencesTo(this.oracle, declaration, id, this.root)) {
      const { parent } = use;
      if (
        !ts.isBinaryExpression(parent) ||
        parent.left !== use ||
        parent.operatorToken.kind !== ts.SyntaxKind.EqualsToken
      )
        continue;
      const owned = this.oracle.ownedAt(parent.right);
      if (owned) return owned;
    }
    return null;
  }

  /** `const xs = [];`: what is put into it tells. */
  private filledType(declaration: ts.Declaration, id: ts.Identifier): Owned | null {
    if (!ts.isVariableDeclaration(declaration) || declaration.type) return null;
    const start = declaration.initializer && unwrap(declaration.initializer);
    if (!start || !ts.isArrayLiteralExpression(start) || start.elements.length > 0) return null;
    let found: Owned | null = null;
    for (const { parent: access } of referencesTo(this.oracle, declaration, id, this.root)) {
      if (!ts.isPropertyAccessExpression(access) || !puts(access.name.text)) continue;
      for (const value of ts.isCallExpression(access.parent) ? access.parent.arguments : []) {
        const owned = this.oracle.ownedAt(value);
        if (!owned || (found && found.owner !== owned.owner)) return null;
        found ??= listOf(owned);
      }
    }
    return found;
  }

  private make(
    label: string,
    owned: Owned,
    kind: Cell["kind"],
    declaration?: ts.Declaration,
    name?: ts.Identifier,
  ): Cell {
    const cell: Cell = {
      index: this.all.length,
      label,
      owned,
      kind,
      slot: undefined,
      variants: undefined,
      nameOf: undefined,
      captured: false,
      isLent: false,
      declaration,
      name,
      fields: undefined,
      seen: new Set(),
      disposals: 0,
      endings: new Set(),
    };
    this.all.push(cell);
    return cell;
  }

  at(id: ts.Identifier): Cell | undefined {
    if (!this.names.has(id.text)) return undefined;
    const declaration = this.oracle.declarationAt(id);
    return declaration && this.byDeclaration.get(declaration);
  }

  of(declaration: ts.Node): Cell | undefined {
    return this.byDeclaration.get(declaration);
  }

  /** Follows a slot from here on. */
  follow(slot: Slot, variants: Variants | undefined): void {
    const cell = this.make(slot.label, slot.owned, "slot");
    cell.slot = slot;
    cell.variants = variants;
    this.slots.push(cell);
  }

  /** The slot that an expression speaks of, if it is followed. */
  slotAt(node: ts.Node): Cell | undefined {
    const slot = this.slots.length > 0 ? this.known.at(node) : undefined;
    return slot && this.slots.find((cell) => cell.slot === slot);
  }

  /** The place an access expression names, when it is built of names, `this` and literals only. */
  place(access: ts.Expression): Cell | undefined {
    const key = placeKey(access);
    if (key === undefined) return undefined;
    const known = this.places.get(key);
    if (known) return known;
    if (!(this.watched ??= watchedPlaces(this.root)).has(key)) return undefined;
    const owned = this.oracle.ownedAt(access);
    if (owned?.shape !== "one" || owned.owner.freshProperties.some((p) => key.endsWith(`.${p}`)))
      return undefined;
    const cell = this.make(key, owned, "place");
    this.places.set(key, cell);
    return cell;
  }

  /**
   * Places whose meaning changes when a name is assigned (or, for "this", when anybody may have
   * assigned a field).
   */
  placesMentioning(name: string): Cell[] {
    if (this.places.size === 0) return [];
    const word = new RegExp(`(^|[^\\w$.])${name.replace(/\$/g, "\\$")}($|[^\\w$])`);
    return [...this.places].filter(([key]) => word.test(key)).map(([, cell]) => cell);
  }
}

/** Whether others reach what a cell holds: a place, a slot, a field of what the caller gave. */
export const isOfCaller = ({ kind, label, name }: Cell): boolean =>
  kind === "place" ||
  kind === "slot" ||
  (kind === "parameter" && name !== undefined && label !== name.text);

/** Variables at module level live as long as the program; nobody expects them to be freed. */
export function isLocalLife({ declaration: at }: Cell): boolean {
  if (!at) return false;
  let node: ts.Node | undefined = at.parent;
  while (node && !ts.isBlock(node) && !ts.isFunctionLike(node) && !ts.isCaseOrDefaultClause(node)) {
    if (ts.isSourceFile(node) || ts.isModuleBlock(node)) return false;
    node = node.parent;
  }
  return node !== undefined;
}

/** Whether a variable without an owned type may be given an owned value later. */
function takesAnything(declaration: ts.Declaration): boolean {
  if (ts.isParameter(declaration)) return !declaration.dotDotDotToken;
  if (!ts.isVariableDeclaration(declaration)) return false;
  const isAny = !declaration.type || declaration.type.kind === ts.SyntaxKind.AnyKeyword;
  return isAny && !declaration.initializer && !ts.isForOfStatement(declaration.parent.parent);
}

/** The variables of a file by the function, static block or file that they belong to. */
function variablesByHome(
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<ts.Node, readonly ts.VariableDeclaration[]> {
  const found = new Map<ts.Node, ts.VariableDeclaration[]>();
  for (const node of facts.variables(file)) {
    let home: ts.Node = node.parent;
    while (
      !ts.isFunctionLike(home) &&
      !ts.isClassStaticBlockDeclaration(home) &&
      !ts.isSourceFile(home)
    )
      home = home.parent;
    const list = found.get(home);
    if (list) list.push(node);
    else found.set(home, [node]);
  }
  return found;
}

/**
 * The places worth watching: mentioned twice at least, and handed to a call, given another name or
 * asked to end in between.
 */
function watchedPlaces(root: ts.Node): ReadonlySet<string> {
  const once = new Set<string>(),
    twice = new Set<string>(),
    ended = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) || ts.isTypeNode(node)) return;
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) {
      const key = placeKey(node);
      if (key !== undefined) {
        (once.has(key) ? twice : once).add(key);
        const { kind } = fateOf(node);
        if (kind !== "read" && kind !== "operand" && kind !== "unknown") ended.add(key);
      }
    }
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(root, visit);
  for (const key of twice) if (!ended.has(key)) twice.delete(key);
  return twice;
}

function placeKey(node: ts.Expression): string | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    const base = baseKey(node.expression);
    return base === undefined ? undefined : `${base}.${node.name.text}`;
  }
  if (!ts.isElementAccessExpression(node)) return undefined;
  const base = baseKey(node.expression);
  const index = node.argumentExpression;
  const simple =
    ts.isIdentifier(index) || ts.isStringLiteralLike(index) || ts.isNumericLiteral(index);
  return base === undefined || !simple ? undefined : `${base}[${index.getText()}]`;
}
const baseKey = (node: ts.Expression): string | undefined =>
  ts.isIdentifier(node)
    ? node.text
    : node.kind === ts.SyntaxKind.ThisKeyword
      ? "this"
      : ts.isNonNullExpression(node)
        ? baseKey(node.expression)
        : placeKey(node);
