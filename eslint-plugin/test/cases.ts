/**
 * Reads the hand-written cases of `fixtures/cases/<rule>.txt` and tests them: every `// ~ text`
 * marks a line on which the rule must report a message with that text, `// ~other-rule text` one of
 * another rule; nothing else may be reported. Then every fix and suggestion is applied, must
 * compile, must cure what it was offered for and must bring nothing new. Used by `rules/*.test.ts`.
 */
import { readFileSync } from "node:fs";
import { suite } from "uvu";
import type { Linter } from "eslint";
import { applied, assert, everyRule, fixed, lint, typeErrors } from "./tester.ts";

const header = `import {
  Tensor, DisposeScope, autocast, checkpoint, concat, newDisposeScope, noGrad, oneHot, randn,
  scoped, scopedAsync, stack, sync, tensor, where, zeros,
} from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { Dropout, Linear, Module, ModuleList, PReLU, ReLU, Sequential } from "tenure/nn";
import { SGD } from "tenure/optim";
`;

/** One hand-written case. */
export interface Case {
  name: string;
  code: string;
  expected: { line: number; rule: string; text: string }[];
}

/** The cases of a rule. */
export function readCases(rule: string): Case[] {
  const text = readFileSync(new URL(`./fixtures/cases/${rule}.txt`, import.meta.url), "utf8");
  return text
    .split(/^\/\/\/\/ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf("\n");
      const code = header + part.slice(end + 1);
      const expected = code.split("\n").flatMap((line, i) =>
        [...line.matchAll(/\/\/ ~([a-z-]*) ?(.*)$/g)].map((m) => ({
          line: i + 1,
          rule: m[1] === "" ? rule : (m[1] ?? rule),
          text: m[2] ?? "",
        })),
      );
      return { name: part.slice(0, end), code, expected };
    });
}

/** Rules that judge style would comment on nearly every case. */
const style = ["prefer-using", "prefer-sequential"];
const idOf = (m: Linter.LintMessage): string => (m.ruleId ?? "fatal").replace("tenure/", "");

/** Whether a message is one sentence of at most 140 characters. */
const isShort = (message: string): boolean =>
  message.length <= 140 && message.endsWith(".") && !/[.!?] [A-Z`]/.test(message);

/** Tests the cases of a rule and every fix offered for them. */
export function testCases(rule: string): void {
  const test = suite(rule);
  const rules = Object.fromEntries(
    Object.entries(everyRule).filter(
      ([id]) => id === `tenure/${rule}` || !style.includes(id.replace("tenure/", "")),
    ),
  );
  for (const { name, code, expected } of readCases(rule)) {
    let linted: Linter.LintMessage[] | undefined;
    const reports = (): Linter.LintMessage[] => (linted ??= lint(code, { rules }));
    test(name, () => {
      assert.equal(typeErrors(code), [], "the case itself compiles");
      const found = reports();
      assert.equal(
        found.map((m) => `${String(m.line)} ${idOf(m)}`).sort(),
        expected.map((e) => `${String(e.line)} ${e.rule}`).sort(),
        found.map((m) => `${String(m.line)}: ${m.message}`).join("\n"),
      );
      for (const { message } of found)
        assert.ok(isShort(message), `at most one short sentence: ${message}`);
      for (const { line, rule: id, text } of expected) {
        const message = found.find(
          (m) => m.line === line && idOf(m) === id && m.message.includes(text),
        );
        assert.ok(
          message,
          `line ${String(line)} says "${text}": ${found.map((m) => m.message).join(" | ")}`,
        );
      }
    });
    if (expected.length > 0)
      test(`${name}: fixes`, () => {
        tryFixes(code, rules, reports());
      });
  }
  test.run();
}

/** What a cure may show that was there before, by rule. */
const revealedBy: Record<string, string[]> = {
  // leaving an input to its caller may show that the caller forgets it
  "no-dispose-parameter": ["require-disposal", "no-leaked-temporary"],
  // what leaves every scope must be freed by hand
  "no-escape-from-scope": ["require-disposal"],
};

/** Applies each suggestion and the autofix of a text that has these reports. */
function tryFixes(
  code: string,
  rules: Record<string, unknown>,
  before: readonly Linter.LintMessage[],
): void {
  for (const message of before) {
    for (const suggestion of message.suggestions ?? []) {
      const out = applied(code, suggestion);
      assert.equal(typeErrors(out), [], `"${suggestion.desc}" compiles:\n${out}`);
      const after = lint(out, { rules });
      const count = (list: readonly Linter.LintMessage[], id: string): number =>
        list.filter((m) => idOf(m) === id).length;
      assert.ok(
        count(after, idOf(message)) < count(before, idOf(message)),
        `"${suggestion.desc}" cures ${message.message}\n${out}\n` +
          after.map((m) => m.message).join("\n"),
      );
      const revealed = revealedBy[idOf(message)] ?? [];
      const fresh = after.filter(
        (m) => !revealed.includes(idOf(m)) && count(after, idOf(m)) > count(before, idOf(m)),
      );
      assert.equal(
        fresh.map((m) => `${idOf(m)}: ${m.message}`),
        [],
        `"${suggestion.desc}" brings nothing new:\n${out}`,
      );
    }
  }
  if (!before.some((m) => m.fix)) return;
  const once = fixed(code, { rules });
  assert.equal(typeErrors(once), [], `the fixed text compiles:\n${once}`);
  assert.is(fixed(once, { rules }), once, "fixing again changes nothing");
}
