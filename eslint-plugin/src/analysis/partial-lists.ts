/**
 * Partial lists: local lists of fresh values of which some elements are disposed by their index and
 * others only looked at. The dataflow follows a list as a whole and is silent once an element is
 * freed; here each index is asked for. Used by the rule that requires disposal.
 */
import ts from "typescript";
import { enclosingFunction, fateOf } from "./fate.ts";
import type { Owned } from "./oracle.ts";
import { referencesTo } from "./references.ts";
import type { Session } from "./session.ts";
import { unwrap } from "./syntax.ts";
import { onlyLooksAt } from "./transfer.ts";

/** An element that is left behind where others of its list are disposed. */
export interface LeftElement {
  /** How it is written: `boxes[1]`. */
  label: string;
  /** The expression that makes the list. */
  value: ts.Expression;
  owned: Owned;
}

/** The first such element of every list of a file. */
export function leftElements(session: Session, file: ts.SourceFile): LeftElement[] {
  const found: LeftElement[] = [];
  for (const node of session.oracle.facts.variables(file)) {
    const left = leftIn(session, node);
    if (left && session.scopeAt(left.value) === "out") found.push(left);
  }
  return found;
}

function leftIn(session: Session, declaration: ts.VariableDeclaration): LeftElement | undefined {
  const { name, initializer } = declaration;
  const home = enclosingFunction(declaration);
  if (!home || !initializer || !ts.isIdentifier(name)) return undefined;
  const owned = session.oracle.ownedAt(name);
  if (owned?.shape !== "many" || session.freshness(initializer) !== "fresh") return undefined;
  const looked = new Set<string>(),
    ended = new Set<string>();
  for (const id of referencesTo(session.oracle, declaration, name, home)) {
    const index = indexOf(id);
    if (index === undefined) {
      if (fateOf(id).kind !== "operand" && fateOf(id).member !== "length") return undefined;
      continue;
    }
    const { effect } = session.transfer(id.parent as ts.Expression);
    if (effect === "disposes") ended.add(index);
    else if (onlyLooksAt(effect) && enclosingFunction(id) === home) looked.add(index);
    else return undefined;
  }
  const left = [...looked].find((index) => !ended.has(index));
  return ended.size > 0 && left !== undefined
    ? { label: `${name.text}[${left}]`, value: unwrap(initializer), owned }
    : undefined;
}

/** The number in `list[2]`. */
function indexOf(id: ts.Identifier): string | undefined {
  const { parent } = id;
  return ts.isElementAccessExpression(parent) &&
    parent.expression === id &&
    ts.isNumericLiteral(parent.argumentExpression)
    ? parent.argumentExpression.text
    : undefined;
}
