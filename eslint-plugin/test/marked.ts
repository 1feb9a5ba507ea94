/**
 * Programs of which the lines marked with `// !` are reported with `recommended`, or with
 * `strict`, and no others. Those about TensorFlow.js are plain JavaScript. Used by the tests that
 * are written so.
 */
import type { Test } from "uvu";
import plugin from "../src/index.ts";
import { assert, lines, lint, projectDir } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

/** A function that adds a program to a suite. */
export const marked =
  (test: Test) =>
  (
    name: string,
    code: string,
    preset: "tenure" | "tfjs" | "webgpu" = "tenure",
    config: "recommended" | "strict" = "recommended",
  ): void => {
    test(name, () => {
      const expected = code.split("\n").flatMap((l, i) => (l.includes("// !") ? [i + 1] : []));
      const text = preset === "webgpu" ? code + gpuTypes : code;
      const file = preset === "tfjs" ? { file: `${projectDir}script.js` } : {};
      const { rules } = plugin.configs[config];
      const untilExit = config === "strict" ? "reported" : "allowed";
      const settings = { presets: [preset], untilExit } as const;
      const found = lines(lint(text, { rules, settings, ...file }));
      const reported = [...new Set(found.map((line) => parseInt(line, 10)))];
      assert.equal(reported, expected, found.join("\n"));
    });
  };
