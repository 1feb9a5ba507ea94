/**
 * Everything that changes lives in objects that compose.ts builds. No module of the library has a
 * variable, or a collection that something is put into, besides base/realm.ts with its one. Allowed
 * at module level are constants, and tables: collections whose type is read-only.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { suite } from "uvu";
import * as assert from "uvu/assert";

const test = suite("module state");
const source = fileURLToPath(new URL("../../src", import.meta.url));
/** The file with the one variable of the library. */
const realm = join("base", "realm.ts");

/** Types whose values cannot be changed through the name they are declared with. */
const readOnly = /^(readonly |ReadonlyMap<|ReadonlySet<|ReadonlyArray<|Readonly<)/;
const collections = new Set(["Map", "Set", "WeakMap", "WeakSet", "FinalizationRegistry", "Array"]);

/** Variables and mutable collections that a module declares at its top level. */
function stateOf(file: string, text: string): string[] {
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  return tree.statements.filter(ts.isVariableStatement).flatMap((statement) => {
    const { declarations, flags } = statement.declarationList;
    const isConstant = (flags & ts.NodeFlags.Const) !== 0;
    return declarations
      .filter((declaration) => !isConstant || isMutable(declaration, text))
      .map(({ name }) => `${file}: ${name.getText(tree)}`);
  });
}

function isMutable({ name, type, initializer }: ts.VariableDeclaration, text: string): boolean {
  if (type !== undefined && readOnly.test(type.getText())) return false;
  if (initializer === undefined) return false;
  if (ts.isNewExpression(initializer)) {
    return ts.isIdentifier(initializer.expression) && collections.has(initializer.expression.text);
  }
  if (!ts.isObjectLiteralExpression(initializer) && !ts.isArrayLiteralExpression(initializer))
    return false;
  return ts.isIdentifier(name) && isWritten(name.text, text);
}

/** Whether a module assigns to a part of an object, or calls what changes a list. */
function isWritten(name: string, text: string): boolean {
  const part = String.raw`\b${name}(\.\w+|\[[^\]]*\])*`;
  const assigned = new RegExp(
    String.raw`(?<![.\w])${part}(\.\w+|\[[^\]]*\])\s*(=[^=>]|\+\+|--|[-+*/|&?]{1,2}=)`,
  );
  const changed = new RegExp(
    String.raw`(?<![.\w])${name}\.(push|pop|shift|unshift|splice|sort|reverse|fill)\(`,
  );
  return assigned.test(text) || changed.test(text);
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(source, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

test("no module but base/realm.ts has state", () => {
  const state = filesBelow("")
    .filter((file) => file !== realm)
    .flatMap((file) => stateOf(file, readFileSync(join(source, file), "utf8")));
  assert.equal(state, []);
});

test("no module declares into another", () => {
  const files = filesBelow("").filter((file) =>
    /^declare (module|global)\b/m.test(readFileSync(join(source, file), "utf8")),
  );
  assert.equal(files, []);
});

test("variables, collections and objects that change are found; tables are not", () => {
  const found = stateOf(
    "a.ts",
    `let count = 0;
     export let shared: string | null = null;
     const seen = new Map<string, number>();
     const marked = new WeakSet<object>();
     const list: number[] = [];
     const flags = { on: false };
     const total = { bytes: 0 };
     const table: ReadonlyMap<string, number> = new Map([["a", 1]]);
     const names: readonly string[] = ["a"];
     const limits = { most: 4 };
     export function f(): void {
       let local = 0;
       list.push(local++);
       flags.on = limits.most === 4;
       total.bytes += 1;
     }`,
  );
  assert.equal(found, [
    "a.ts: count",
    "a.ts: shared",
    "a.ts: seen",
    "a.ts: marked",
    "a.ts: list",
    "a.ts: flags",
    "a.ts: total",
  ]);
});

test.run();
