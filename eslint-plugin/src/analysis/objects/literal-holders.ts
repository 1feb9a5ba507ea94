/**
 * Literal holders: objects that a function returns with functions of their own, one of which ends
 * values that they share. They are instances of a class written otherwise, and somebody must end
 * them. Syntax, and what variables hold; used by `holders.ts` while types are being classified.
 */
import ts from "typescript";
import { nameOf } from "../program/call-sites.ts";
import { enclosingFunction, returnsOf } from "../transfer/fate.ts";
import { endsAt, getsNothing } from "./field-deeds.ts";
import { sourcesOf, tellsOf } from "../program/call-index.ts";
import { puts } from "../program/containers.ts";
import { elementsByName, grouped } from "../program/field-index.ts";
import type { Oracle } from "../program/oracle.ts";
import type { Owned } from "../program/ownership.ts";
import {
  hasBody,
  isTarget,
  memberName,
  someWithin,
  unwrap,
  type FunctionWithBody,
} from "../program/syntax.ts";
import { givenTo } from "../untyped/untyped-records.ts";

/** What is asked about the names in such functions. */
interface LiteralQuestions {
  ownedAt(name: ts.Node): Owned | null;
  declarationAt(node: ts.Node): ts.Declaration | undefined;
  /** Whether a name is that of a method that ends an object. */
  isEndingName(name: string): boolean;
  /** Whether who ends a value is agreed on. */
  counts(owned: Owned): boolean;
}

/** An interface, what a name stands for: `type Pass = { dispose(): void }`, or has none. */
export type NamedType = ts.InterfaceDeclaration | ts.TypeLiteralNode;

/** Whether a declaration is that of such a type; without a name it is the result of a function. */
export const isNamedType = (node: ts.Node): node is NamedType =>
  ts.isInterfaceDeclaration(node) ||
  (ts.isTypeLiteralNode(node) &&
    (ts.isTypeAliasDeclaration(node.parent) ||
      givenBy(node) !== undefined ||
      tableOf(node) !== undefined));

/** What says the name of such a type. */
export const namedBy = (
  node: NamedType,
): ts.InterfaceDeclaration | ts.TypeAliasDeclaration | undefined => {
  if (ts.isInterfaceDeclaration(node)) return node;
  return ts.isTypeAliasDeclaration(node.parent) ? node.parent : undefined;
};

/** The function that says it gives such a type, or a promise of it: `(): { end(): void } => …`. */
function givenBy(node: ts.TypeLiteralNode): FunctionWithBody | undefined {
  let type: ts.Node = node;
  const isPart = ({ parent }: ts.Node): boolean =>
    ts.isIntersectionTypeNode(parent) ||
    (ts.isTypeReferenceNode(parent) && parent.typeName.getText() === "Promise");
  while (isPart(type)) type = type.parent;
  const { parent } = type;
  return hasBody(parent) && parent.type === type ? parent : undefined;
}

/** The list or table of which each is such a type: `#all = new Map<string, { end(): void }>()`. */
function tableOf(node: ts.TypeLiteralNode): ts.Declaration | undefined {
  const { parent } = node;
  const isEach =
    ts.isArrayTypeNode(parent) ||
    (ts.isTypeReferenceNode(parent) && /^(Map|Set|Array)$/.test(parent.typeName.getText())) ||
    (ts.isNewExpression(parent) && /^(Map|Set)$/.test(parent.expression.getText()));
  if (!isEach) return undefined;
  for (let at: ts.Node = parent; !ts.isStatement(at) && !ts.isSourceFile(at); at = at.parent) {
    if (ts.isPropertyDeclaration(at) || ts.isVariableDeclaration(at)) return at;
    if (ts.isFunctionLike(at) || ts.isTypeLiteralNode(at)) return undefined;
  }
  return undefined;
}

/** The objects that are written where they are put into a list or table. */
function literalsIntoTable(
  oracle: Oracle,
  table: ts.Declaration,
  { members }: ts.TypeLiteralNode,
  isEndingName: (name: string) => boolean,
): ts.ObjectLiteralExpression[] {
  const { facts } = oracle;
  // `const { end } = all.get(name)`: an end that has a name of its own is not followed
  const taken = facts.of(table.getSourceFile(), elementsByName);
  const isTaken = (name: string): boolean => isEndingName(name) && taken.has(name);
  if (members.some(({ name }) => name && isTaken(memberName(name)))) return [];
  return facts.calls(table.getSourceFile()).flatMap(({ expression: on, arguments: given }) => {
    if (!ts.isPropertyAccessExpression(on) || !puts(on.name.text)) return [];
    const place = unwrap(on.expression);
    const name = ts.isPropertyAccessExpression(place) ? place.name : place;
    if (oracle.declarationAt(name) !== table) return [];
    return given.map(unwrap).filter(ts.isObjectLiteralExpression);
  });
}

/** The objects that functions of the program return under the name of a type, or put into it. */
export function literalsOf(
  oracle: Oracle,
  node: NamedType,
  isEndingName: (name: string) => boolean,
): ts.ObjectLiteralExpression[] {
  const declaration = namedBy(node);
  const { facts, program } = oracle;
  if (ts.isTypeLiteralNode(node)) {
    const table = tableOf(node);
    if (table) return literalsIntoTable(oracle, table, node, isEndingName);
  }
  const own = ts.isTypeLiteralNode(node) ? givenBy(node) : undefined;
  const makers = declaration
    ? (facts.of(program, makersByName).get(declaration.name.text) ?? [])
        .filter(({ name }) => oracle.declarationAt(name) === declaration)
        .map(({ fn }) => fn)
        .filter((fn) => tellsOf(fn, node)) // tests make stand-ins
    : [];
  return [...(own ? [own] : []), ...makers].flatMap((fn) =>
    returnsOf(fn).flatMap((given) => literalsIn(oracle, given)),
  );
}

/**
 * An object that is written, there or where the function names it, or what `Object.assign(draw, {
 * dispose })` writes of one.
 */
function literalsIn(oracle: Oracle, value: ts.Expression): ts.ObjectLiteralExpression[] {
  const bare = unwrap(value);
  if (ts.isObjectLiteralExpression(bare)) return [bare];
  const source = ts.isIdentifier(bare) ? oracle.declarationAt(bare) : undefined;
  if (source && ts.isVariableDeclaration(source) && source.initializer) {
    const initial = unwrap(source.initializer);
    const isOwn = enclosingFunction(source) === enclosingFunction(bare);
    return isOwn && ts.isObjectLiteralExpression(initial) ? [initial] : [];
  }
  return ts.isCallExpression(bare) && bare.expression.getText() === "Object.assign"
    ? bare.arguments.map(unwrap).filter(ts.isObjectLiteralExpression)
    : [];
}

/** A function, and the name of the type that it says it gives. */
interface Maker {
  fn: FunctionWithBody;
  name: ts.Identifier;
}

/** The functions of a program by the name of what they give. */
const makersByName = (
  program: ts.Program,
  facts: Oracle["facts"],
): ReadonlyMap<string, readonly Maker[]> => {
  const files = facts.of(program, sourcesOf);
  const aliases = new Map(files.flatMap((file) => facts.of(file, functionTypes)));
  return grouped(
    files
      .flatMap((file) => facts.functions(file))
      .flatMap((fn): Maker[] => {
        const name = nameOfResult(fn.type ?? givenType(fn, aliases));
        return name ? [{ fn, name }] : [];
      }),
    ({ name }) => name.text,
  );
};

/** `type Create = (d: GPUDevice) => Painter`: what functions give that are said to be such. */
const functionTypes = (file: ts.SourceFile): readonly (readonly [string, ts.TypeNode])[] =>
  file.statements.flatMap((at) =>
    ts.isTypeAliasDeclaration(at) && ts.isFunctionTypeNode(at.type)
      ? [[at.name.text, at.type.type] as const]
      : [],
  );

/** `const create: Create = (d) => …`. */
function givenType(
  { parent }: FunctionWithBody,
  aliases: ReadonlyMap<string, ts.TypeNode>,
): ts.TypeNode | undefined {
  const type = ts.isVariableDeclaration(parent) ? parent.type : undefined;
  return type && ts.isTypeReferenceNode(type) ? aliases.get(type.typeName.getText()) : undefined;
}

/** `Painter`, or `Promise<Painter>`. */
function nameOfResult(type: ts.TypeNode | undefined): ts.Identifier | undefined {
  if (!type || !ts.isTypeReferenceNode(type) || !ts.isIdentifier(type.typeName)) return undefined;
  const [first] = type.typeArguments ?? [];
  return type.typeName.text === "Promise" && first ? nameOfResult(first) : type.typeName;
}

/** The name of what ends an object that a function returns. */
export function endingOfLiteral(
  literal: ts.ObjectLiteralExpression,
  ask: LiteralQuestions,
): string | undefined {
  const home = enclosingFunction(literal);
  if (!home || /^use[A-Z]/.test(nameOf(home) ?? "")) return undefined; // a hook ends with its host
  for (const property of literal.properties) {
    const name = property.name && memberName(property.name);
    if (name === undefined || !ask.isEndingName(name)) continue;
    const fn = functionOf(property, ask);
    if (!fn?.parameters.every((p) => p.initializer ?? p.questionToken)) continue;
    if (endsShared(functionsRun(fn, home, ask), home, ask))
      return /^(dispose|@@dispose|@@asyncDispose)$/.test(name) ? "dispose" : name;
  }
  return undefined;
}

function functionOf(
  property: ts.ObjectLiteralElementLike,
  ask: LiteralQuestions,
): FunctionWithBody | undefined {
  if (hasBody(property)) return ts.isMethodDeclaration(property) ? property : undefined;
  const given = givenTo(property);
  const bare = given && unwrap(given);
  return bare && functionAt(bare, ask);
}

/** A function, or the one that a name stands for. */
function functionAt(node: ts.Node, ask: LiteralQuestions): FunctionWithBody | undefined {
  if (hasBody(node)) return node;
  const declaration = ts.isIdentifier(node) ? ask.declarationAt(node) : undefined;
  if (!declaration || hasBody(declaration)) return declaration;
  const initial = ts.isVariableDeclaration(declaration) && declaration.initializer;
  const bare = initial && unwrap(initial);
  return bare && hasBody(bare) ? bare : undefined;
}

/** A function and those of its home that it calls. */
function functionsRun(
  start: FunctionWithBody,
  home: ts.Node,
  ask: LiteralQuestions,
): ReadonlySet<FunctionWithBody> {
  const found = new Set<FunctionWithBody>();
  const add = (fn: FunctionWithBody): void => {
    if (found.has(fn)) return;
    found.add(fn);
    const visit = (node: ts.Node): void => {
      const next = ts.isCallExpression(node) ? functionAt(node.expression, ask) : undefined;
      if (next && enclosingFunction(next) === home) add(next);
      ts.forEachChild(node, visit);
    };
    ts.forEachChild(fn, visit);
  };
  add(start);
  return found;
}

/** Whether functions end what a variable of their home holds, and give it nothing new. */
function endsShared(
  run: ReadonlySet<FunctionWithBody>,
  home: ts.Node,
  ask: LiteralQuestions,
): boolean {
  const kept = new Set<ts.Declaration>();
  const ended = new Set<ts.Declaration>();
  const note = (id: ts.Identifier, fn: FunctionWithBody): void => {
    const declaration = ask.declarationAt(id);
    if (!declaration || !isVariableOf(declaration, home)) return;
    if (isTarget(id)) {
      if (!getsNothing(id)) kept.add(declaration);
      return;
    }
    const owned = ask.ownedAt(id);
    if (owned && ask.counts(owned) && endsAt(id, fn, owned)) ended.add(declaration);
  };
  for (const fn of run)
    someWithin(fn, (node) => {
      if (ts.isIdentifier(node)) note(node, fn);
      return false;
    });
  return [...ended].some((declaration) => !kept.has(declaration));
}

const isVariableOf = (node: ts.Declaration, home: ts.Node): boolean =>
  (ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node)) &&
  enclosingFunction(node) === home;
