/**
 * Globals: names that a script assigns and nobody declares, which live as long as the page. Used by
 * `untyped.ts`, which asks what they hold, and by `slots.ts`.
 */
import ts from "typescript";
import { sourcesOf } from "../program/call-index.ts";
import type { Facts } from "../program/facts.ts";
import type { Oracle } from "../program/oracle.ts";
import { isScript } from "../program/syntax.ts";

/** The plain assignments to names in a file, by the name. */
export function assignedNames(
  file: ts.SourceFile,
  facts: Facts,
): ReadonlyMap<string, readonly ts.BinaryExpression[]> {
  const found = new Map<string, ts.BinaryExpression[]>();
  for (const node of facts.assignments(file)) {
    if (!ts.isIdentifier(node.left)) continue;
    const list = found.get(node.left.text);
    if (list) list.push(node);
    else found.set(node.left.text, [node]);
  }
  return found;
}

/** The undeclared names that a script alone speaks of and assigns, with every mention of each. */
export function globalsOf(oracle: Oracle, file: ts.SourceFile): ts.Identifier[][] {
  if (!isScript(file)) return [];
  const names = [...oracle.facts.of(file, assignedNames)]
    .filter(([, [first]]) => first && oracle.declarationAt(first.left) === undefined)
    .map(([name]) => name);
  if (names.length === 0) return [];
  const others = sourcesOf(oracle.program).filter((f) => f !== file);
  const ids = oracle.facts.nodes<ts.Identifier>(file, ts.SyntaxKind.Identifier);
  return names
    .filter((name) => !others.some((f) => f.text.includes(name)))
    .map((name) => ids.filter((id) => id.text === name && !isMemberName(id)))
    .filter((mentions) => mentions.every((id) => oracle.declarationAt(id) === undefined));
}

const isMemberName = (id: ts.Identifier): boolean =>
  (ts.isPropertyAccessExpression(id.parent) || ts.isPropertyAssignment(id.parent)) &&
  id.parent.name === id;
