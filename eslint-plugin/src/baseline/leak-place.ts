/**
 * Where a leak stands, in words that outlive edits around it: the function, and the piece of code
 * without its spaces. Used by the rules, which compare what they find with a baseline file, and by
 * `report/`, which writes one. Owns nothing.
 */
import ts from "typescript";
import { nameOf } from "../analysis/program/call-sites.ts";

/** Where a leak stands. */
export interface LeakPlace {
  /** The named function around it, with its class; empty at module level. */
  function: string;
  /** The beginning of the code that is marked, as no formatter changes it. */
  code: string;
}

/** How much of a marked piece is kept: a callback may be as long as a file. */
const longest = 80;

/** The code of a piece as it is on every system and after every formatter. */
export const plainCode = (text: string): string =>
  text
    .replace(/\s+/g, "")
    .replace(/,(?=[)\]}])/g, "")
    .replace(/['"`]/g, "'")
    .slice(0, longest);

/** The innermost function with a name around a position; empty where there is none. */
export function functionAt(source: ts.SourceFile, position: number): string {
  let name = "";
  const visit = (node: ts.Node): void => {
    if (node.pos > position || node.end <= position) return;
    name = qualified(node) ?? name;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return name;
}

/** The names of all functions of a file, as `functionAt` gives them. */
export function functionsOf(source: ts.SourceFile): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    const name = qualified(node);
    if (name !== undefined) names.add(name);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/** The name of a function, that of a member behind its class: `Trainer.step`. */
function qualified(node: ts.Node): string | undefined {
  if (!ts.isFunctionLike(node)) return undefined;
  if (ts.isConstructorDeclaration(node)) return `new ${nameOf(node) ?? "class"}`;
  const name = nameOf(node);
  const holder = ts.isClassElement(node) ? node.parent : node.parent.parent;
  const owner = ts.isClassLike(holder) ? holder.name?.text : undefined;
  return name === undefined || owner === undefined ? name : `${owner}.${name}`;
}
