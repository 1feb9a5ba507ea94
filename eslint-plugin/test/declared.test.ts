/**
 * Declared types: what `declared.ts` says of a variable without asking TypeScript must be what
 * TypeScript says; where declarations do not settle it, it says nothing.
 */
import ts from "typescript";
import { suite } from "uvu";
import { Checker } from "../src/analysis/program/checker.ts";
import { declaredVariable } from "../src/analysis/program/declared.ts";
import { assert } from "./tester.ts";

const test = suite("declared types");

const head = `class Item { id = 1; part: Item | null = null }
class Shelf extends Array<Item> {}
class Own { map(use: (x: Own) => void): void { use(this); } }
declare const list: Item[], fixed: readonly Item[], pair: [Item, Own], maybe: Item[] | undefined;
declare const mixed: (Item | Own)[], shelf: Shelf, own: Own, later: AsyncIterable<Item>;
declare const set: Set<Item>; declare function items(): Item[];
`;

/** What all programs have, read once. */
const libraries = new Map<string, ts.SourceFile | undefined>();

/** The declared type of `it` in some code, and what TypeScript says. */
function typesOf(code: string): { declared: string | null; asked: string } {
  const host = ts.createCompilerHost({});
  const read = host.getSourceFile.bind(host);
  const file = ts.createSourceFile("a.ts", head + code, ts.ScriptTarget.ES2022, true);
  host.getSourceFile = (name, ...rest) => {
    if (name === "a.ts") return file;
    if (!libraries.has(name)) libraries.set(name, read(name, ...rest));
    return libraries.get(name);
  };
  const options = { target: ts.ScriptTarget.ES2022, strict: true, types: [] };
  const program = ts.createProgram(["a.ts"], options, host);
  const checker = new Checker(program, () => false);
  let declaration: ts.VariableDeclaration | ts.ParameterDeclaration | undefined;
  const visit = (node: ts.Node): void => {
    const isVariable = ts.isVariableDeclaration(node) || ts.isParameter(node);
    if (isVariable && node.name.getText() === "it") declaration = node;
    ts.forEachChild(node, visit);
  };
  visit(file);
  assert.ok(declaration, code);
  const found = declaredVariable(checker, declaration, () => null);
  const text = (type: ts.Type): string => program.getTypeChecker().typeToString(type);
  return { declared: found && text(found), asked: text(checker.typeAt(declaration.name)) };
}

const settled = [
  "for (const it of list) void it;",
  "for (let it of fixed) it = new Item();",
  "for (const it of (list as Item[])!) void it;",
  "list.forEach((it) => void it);",
  "fixed.map(function (it, i) { return i; });",
  "function f(xs: readonly Item[]) { return xs.filter((it) => it.id > 0); }",
];
for (const code of settled)
  test(code, () => {
    const { declared, asked } = typesOf(code);
    assert.is(declared, "Item");
    assert.is(asked, "Item");
  });

const open = [
  "for (const it of it) void it;",
  "for (const it of (it)!) void it;",
  "for (var it of other) for (var other of it) void other;",
  "for (const it of pair) void it;",
  "for (const it of mixed) void it;",
  "for (const it of shelf) void it;",
  "for (const it of set) void it;",
  "for (const it of maybe ?? []) void it;",
  "async function f() { for await (const it of later) void it; }",
  "for (const it in list) void it;",
  "list.map((x, it) => it);",
  "list.map(function (this: Item, it) { return it; });",
  "list.reduce((it) => it);",
  "own.map((it) => void it);",
  "shelf.map((it) => it);",
  "list.map(String, (it: Item) => it.id);".replace(": Item", ""),
];
for (const code of open)
  test(`left to TypeScript: ${code}`, () => {
    const { declared } = typesOf(code);
    assert.is(declared, null);
  });

test.run();
