/**
 * Class makers: the classes that extend a class of the program, and where the program makes
 * instances of any of them. Used by `made-again.ts` and the verbs about endings.
 */
import ts from "typescript";
import { callsNamed, sourcesOf, tellsOf } from "./call-index.ts";
import { grouped } from "./field-index.ts";
import type { Oracle } from "./oracle.ts";
import { baseOf } from "./syntax.ts";

/** The classes of a program by the name of what they extend. */
function heirsByName(
  program: ts.Program,
  facts: Oracle["facts"],
): ReadonlyMap<string, readonly ts.ClassLikeDeclaration[]> {
  const found = new Map<string, ts.ClassLikeDeclaration[]>();
  for (const node of facts.of(program, sourcesOf).flatMap((file) => facts.classes(file))) {
    const base = baseOf(node)?.expression;
    const name = base && (ts.isPropertyAccessExpression(base) ? base.name : base).getText();
    if (name !== undefined) found.set(name, [...(found.get(name) ?? []), node]);
  }
  return found;
}

/** The classes of the program that extend a class, directly or not. */
export function heirsOf(
  oracle: Oracle,
  node: ts.ClassLikeDeclaration,
): ReadonlySet<ts.ClassLikeDeclaration> {
  const found = new Set<ts.ClassLikeDeclaration>();
  const all = oracle.facts.of(oracle.program, heirsByName);
  const visit = (base: ts.ClassLikeDeclaration): void => {
    for (const heir of all.get(base.name?.text ?? "") ?? []) {
      const named = baseOf(heir)?.expression;
      if (!tellsOf(heir, node)) continue;
      if (found.has(heir) || !named || oracle.declarationAt(named) !== base) continue;
      found.add(heir);
      visit(heir);
    }
  };
  visit(node);
  return found;
}

interface Implementing {
  holder: ts.ClassLikeDeclaration;
  /** How it names the interface. */
  name: ts.Identifier;
}

/** What the classes of a program say they implement, by its name. */
const implementersByName = (
  program: ts.Program,
  facts: Oracle["facts"],
): ReadonlyMap<string, readonly Implementing[]> =>
  grouped(
    facts
      .of(program, sourcesOf)
      .flatMap((file) => facts.classes(file))
      .flatMap((holder) =>
        (holder.heritageClauses ?? [])
          .filter(({ token }) => token === ts.SyntaxKind.ImplementsKeyword)
          .flatMap(({ types }) => types)
          .flatMap(({ expression: name }) => (ts.isIdentifier(name) ? [{ holder, name }] : [])),
      ),
    ({ name }) => name.text,
  );

/** The classes of the program that say they implement a type. */
export const implementersOf = (
  oracle: Oracle,
  node: ts.InterfaceDeclaration | ts.TypeAliasDeclaration,
): readonly ts.ClassLikeDeclaration[] =>
  (oracle.facts.of(oracle.program, implementersByName).get(node.name.text) ?? []).flatMap(
    ({ holder, name }) =>
      tellsOf(holder, node) && oracle.declarationAt(name) === node ? [holder] : [],
  );

/** Every `new` of a class, or of one that extends it. */
export function makersOf(oracle: Oracle, node: ts.ClassLikeDeclaration): ts.NewExpression[] {
  return [node, ...heirsOf(oracle, node)].flatMap((made) =>
    callsNamed(oracle, made.name?.text ?? "").filter(
      (call): call is ts.NewExpression =>
        ts.isNewExpression(call) && oracle.declarationAt(call.expression) === made,
    ),
  );
}

/** The class of whose object something is a part, made when that is. */
export function madeWithObject(at: ts.Node): ts.ClassLikeDeclaration | undefined {
  const home = ts.findAncestor(at, (n) => ts.isFunctionLike(n) || ts.isPropertyDeclaration(n));
  const isMaking = home && (ts.isConstructorDeclaration(home) || ts.isPropertyDeclaration(home));
  if (!isMaking || !ts.isClassLike(home.parent)) return undefined;
  return isInStatic(at, home.parent) ? undefined : home.parent;
}

/** Whether something of a class stands in a static member, whose `this` is the class. */
export function isInStatic(at: ts.Node, node: ts.ClassLikeDeclaration): boolean {
  const member = ts.findAncestor(at, (n) => n.parent === node) as ts.Declaration | undefined;
  return (
    member !== undefined && (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Static) !== 0
  );
}
