/**
 * How the plugin is built: the type checker is asked in one file, names of container methods are
 * listed in one, and rules reach the analysis through its session.
 */
import { readdirSync, readFileSync } from "node:fs";
import { suite } from "uvu";
import { assert } from "./tester.ts";

const test = suite("structure");
const root = new URL("../src/", import.meta.url);
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".ts"))
  .map((f) => ({ name: f.replaceAll("\\", "/"), text: readFileSync(new URL(f, root), "utf8") }));

const filesWith = (pattern: RegExp): string[] =>
  sources.filter(({ text }) => pattern.test(text)).map(({ name }) => name);

test("the type checker is asked in one file only", () => {
  assert.equal(filesWith(/\bTypeChecker\b|\bgetTypeChecker\b/), ["analysis/program/checker.ts"]);
  const question = /\.(getTypeAtLocation|getSymbolAtLocation|getTypeOfSymbol|getExportsOfModule)\(/;
  assert.equal(filesWith(question), ["analysis/program/checker.ts"]);
});

test("the methods that put a value into a container are listed in one file only", () => {
  assert.equal(filesWith(/"push", "unshift"/), ["analysis/program/containers.ts"]);
});

test("rules ask for no types", () => {
  const asks = sources.filter(
    ({ name, text }) => name.startsWith("rules/") && /\bts\.Type\b|getProperty\(/.test(text),
  );
  assert.equal(
    asks.map(({ name }) => name),
    [],
  );
});

test.run();
