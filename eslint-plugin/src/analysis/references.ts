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

/** The identifiers below a node that may be variables, by name. */
function namesBelow(root: ts.Node): ReadonlyMap<string, readonly ts.Identifier[]> {
  const found = new Map<string, ts.Identifier[]>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const parent = node.parent;
      const isName =
        (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
        (ts.isPropertyAssignment(parent) && parent.name === node);
      if (!isName) {
        const list = found.get(node.text);
        if (list) list.push(node);
        else found.set(node.text, [node]);
      }
      return;
    }
    if (ts.isTypeNode(node)) return;
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(root, visit);
  return found;
}

/** Identifiers below `root` that refer to `declaration`, the declaring name itself left out. */
export function referencesTo(
  oracle: References,
  declaration: ts.Declaration,
  name: ts.Identifier,
  root: ts.Node,
): ts.Identifier[] {
  return (oracle.facts.of(root, namesBelow).get(name.text) ?? []).filter(
    (id) => id !== name && oracle.declarationAt(id) === declaration,
  );
}

/** The identifiers a binding name declares, with their declarations. */
export function boundNames(
  name: ts.BindingName,
  declaration: ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement,
): { id: ts.Identifier; declaration: ts.Declaration }[] {
  if (ts.isIdentifier(name)) return [{ id: name, declaration }];
  return name.elements.flatMap((e) => (ts.isBindingElement(e) ? boundNames(e.name, e) : []));
}
