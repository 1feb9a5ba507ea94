/**
 * Programs in TypeScript with what the rule about overwritten values says of them. Used by the
 * tests of that rule that look at whole programs.
 */
import type { Test } from "uvu";
import { assert, lines, lint } from "./tester.ts";

const rules = { "tenure/no-overwritten-tensor": "error" };
const imports = 'import { type Tensor, concat, ones, rand, scoped, topK, zeros } from "tenure";\n';

/** What is reported of a program below its imports. */
const reports = (code: string): string[] => lines(lint(imports + code.trim(), { rules }));

/** Adds programs to a suite: some with the reports on them, and some that are right. */
export const losses = (
  test: Test,
): {
  invalid: (title: string, code: string, ...found: string[]) => void;
  valid: (title: string, code: string) => void;
} => ({
  invalid(title, code, ...found) {
    test(title, () => {
      assert.equal(
        reports(code),
        found.map((f) => f.replace(":", " no-overwritten-tensor:")),
      );
    });
  },
  valid(title, code) {
    test(`${title}, right`, () => {
      assert.equal(reports(code), []);
    });
  },
});
