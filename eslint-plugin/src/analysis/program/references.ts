/**
 * References: the identifiers inside a function or block that mean one local variable. Used by the
 * summaries and the dataflow, which ask for the same bodies again and again, so names are indexed
 * once per body.
 */
import ts from "typescript";
import type { Facts } from "./facts.ts";

/** What finding references needs of the oracle. */
export interface References {
  readonly facts: Facts;
  declarationAt(node: ts.Node): ts.Declaration | undefined;
}

/** The identifiers of a file that may be variables, by name, in the order of the file. */
function namesIn(file: ts.SourceFile, facts: Facts): ReadonlyMap<string, readonly ts.Identifier[]> {
  const found = new Map<string, ts.Identifier[]>();
  for (const node of facts.nodes<ts.Identifier>(file, ts.SyntaxKind.Identifier)) {
    const { parent, text } = node;
    const isName =
      (ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent)) &&
      parent.name === node;
    if (isName) continue;
    const list = found.get(text);
    if (list) list.push(node);
    else found.set(text, [node]);
  }
  for (const list of found.values()) list.sort((a, b) => a.pos - b.pos);
  return found;
}

/** Identifiers below `root` that refer to `declaration`, the declaring name itself left out. */
export function referencesTo(
  oracle: References,
  declaration: ts.Declaration,
  name: ts.Identifier,
  root: ts.Node,
): ts.Identifier[] {
  const all = oracle.facts.of(root.getSourceFile(), namesIn).get(name.text) ?? [];
  const found: ts.Identifier[] = [];
  for (let i = firstFrom(all, root.pos); i < all.length; i++) {
    const id = all[i];
    if (!id || id.end > root.end) break;
    if (id !== name && oracle.declarationAt(id) === declaration) found.push(id);
  }
  return found;
}

/** The place of the first of some identifiers, which are in the order of the file, after `pos`. */
function firstFrom(all: readonly ts.Identifier[], pos: number): number {
  let low = 0,
    high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((all[middle]?.pos ?? 0) < pos) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A name, and what declares it. */
export interface Bound {
  id: ts.Identifier;
  declaration: ts.Declaration;
}

/** The identifiers a binding name declares, with their declarations. */
export function boundNames(
  name: ts.BindingName,
  declaration: ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement,
): Bound[] {
  if (ts.isIdentifier(name)) return [{ id: name, declaration }];
  return name.elements.flatMap((e) => (ts.isBindingElement(e) ? boundNames(e.name, e) : []));
}
