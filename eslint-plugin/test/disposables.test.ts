/**
 * The preset for anything disposable, on the ways in which programs hand such values around: each
 * case says which rules must report.
 */
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, typeErrors } from "./tester.ts";

const test = suite("disposables");
const io =
  `export class Handle implements Disposable { read(): string { return "x"; } ` +
  `[Symbol.dispose](): void { console.log("gone"); } }\nconst openHandle = () => new Handle();\n`;

const disposables = (name: string, code: string, expected: string[]): void => {
  test(name, () => {
    assert.equal(typeErrors(io + code), []);
    const settings = { presets: ["disposable"] };
    const found = lint(io + code, { settings, rules: plugin.configs.recommended.rules });
    const rules = found.map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
    assert.equal(rules, expected, lines(found).join("\n"));
  });
};

const scope =
  "class Scope { #all = new Set<Disposable>(); manage = <T extends Disposable>(x: T): T => { " +
  "this.#all.add(x); return x; }; }\n";
disposables(
  "a scope that manages what it hands back",
  `${scope}export function f(s: Scope) { const h = s.manage(openHandle()); return h.read(); }`,
  [],
);
disposables("a value of its own", "export const f = () => { const h = openHandle(); h.read(); };", [
  "require-disposal",
]);
disposables(
  "a result that is wrapped, at once or by another function",
  "class Ok<T> { constructor(readonly value: T) {} }\nconst ok = <T>(value: T): Ok<T> => new " +
    "Ok(value);\nconst pass = <T>(value: T) => ok(value);\nexport function f() { return " +
    "ok(openHandle()); }\nexport function g() { return pass(openHandle()); }",
  [],
);
test.run();
