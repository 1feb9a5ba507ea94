/**
 * Holders: classes of the program that keep owned values in fields and have a method that frees
 * them. Somebody must end their instances. Used by the oracle, which asks for the ownership of the
 * fields in turn.
 */
import ts from "typescript";
import type { Owned } from "./ownership.ts";
import { isPrivate } from "./syntax.ts";

const endings = ["dispose", "destroy", "[Symbol.dispose]", "[Symbol.asyncDispose]"];

/**
 * Whether a class is a holder: one of its endings reads a field that holds something owned.
 *
 * @param ownedAt the ownership of a field, by its name node
 */
export function isHolderClass(
  node: ts.ClassLikeDeclaration,
  ownedAt: (name: ts.Node) => Owned | null,
): boolean {
  const bodies = new Map(
    node.members.flatMap((m) =>
      ts.isMethodDeclaration(m) && m.body ? [[m.name.getText(), m.body] as const] : [],
    ),
  );
  const ends = node.members.flatMap((m) =>
    m.name && endings.includes(m.name.getText()) && !isPrivate(m)
      ? (bodies.get(m.name.getText()) ?? [])
      : [],
  );
  if (ends.length === 0) return false;
  const fields = ownedFields(node, (name) => {
    const found = ownedAt(name);
    return found !== null && Array.isArray(found.owner.types) && found.shape !== "record";
  });
  return fields.size > 0 && ends.some(readerOf(fields, bodies));
}

/** The fields that hold owned values, parameter properties among them. */
function ownedFields(
  node: ts.ClassLikeDeclaration,
  isOwned: (name: ts.Node) => boolean,
): ReadonlySet<string> {
  const fields = new Set<string>();
  for (const m of node.members) {
    if (ts.isPropertyDeclaration(m)) {
      const isStatic = ts.getCombinedModifierFlags(m) & ts.ModifierFlags.Static;
      if (!isStatic && isOwned(m.name)) fields.add(m.name.getText());
    } else if (ts.isConstructorDeclaration(m)) {
      for (const p of m.parameters)
        if (ts.isParameterPropertyDeclaration(p, m) && isOwned(p.name))
          fields.add(p.name.getText());
    }
  }
  return fields;
}

/** Tells whether a body reads one of the fields, itself or through methods of the class. */
function readerOf(
  fields: ReadonlySet<string>,
  bodies: ReadonlyMap<string, ts.Node>,
): (body: ts.Node) => boolean {
  const seen = new Set<ts.Node>();
  const reads = (body: ts.Node): boolean => {
    if (seen.has(body)) return false;
    seen.add(body);
    const visit = (n: ts.Node): boolean => {
      if (ts.isPropertyAccessExpression(n) && n.expression.kind === ts.SyntaxKind.ThisKeyword) {
        const next = bodies.get(n.name.text);
        if (fields.has(n.name.text) || (next && reads(next))) return true;
      }
      return ts.forEachChild(n, (c) => visit(c) || undefined) ?? false;
    };
    return visit(body);
  };
  return reads;
}
