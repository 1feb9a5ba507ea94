/**
 * Field index: where a file asks for a field by its name, in accesses and in patterns, kept among
 * the facts of the file. Used by the files about trails and by `gives-away.ts`.
 */
import ts from "typescript";
import type { Facts } from "./facts.ts";
import { nameOf } from "../trails/trail-path.ts";

/** Nodes by name. */
export function grouped<N>(
  nodes: readonly N[],
  nameOf: (node: N) => string,
): ReadonlyMap<string, N[]> {
  const found = new Map<string, N[]>();
  for (const node of nodes) {
    const name = nameOf(node);
    const list = found.get(name);
    if (list) list.push(node);
    else found.set(name, [node]);
  }
  return found;
}

/** The accesses of a file by the names they ask for. */
export const accessesByName = (
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, ts.PropertyAccessExpression[]> =>
  grouped(
    facts.nodes<ts.PropertyAccessExpression>(file, ts.SyntaxKind.PropertyAccessExpression),
    (access) => access.name.text,
  );

/** The names that patterns of a file take out of objects. */
export const elementsByName = (
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, ts.BindingElement[]> =>
  grouped(
    facts
      .nodes<ts.BindingElement>(file, ts.SyntaxKind.BindingElement)
      .filter(({ parent }) => ts.isObjectBindingPattern(parent)),
    ({ propertyName, name }) => nameOf(propertyName ?? name),
  );
