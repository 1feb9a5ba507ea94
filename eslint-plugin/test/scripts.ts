/**
 * Cases of plain JavaScript: each is a script for the preset `tfjs`, with `// ~ rule` on a line
 * that has exactly that report. Used by the tests of plain JavaScript.
 */
import { assert, lint, lines, projectDir } from "./tester.ts";

/** Makes a test of each script; of each piece of TypeScript, where `file` says so. */
export function addScripts(
  test: (name: string, body: () => void) => void,
  scripts: Readonly<Record<string, string>>,
  file = "script.js",
): void {
  for (const [name, code] of Object.entries(scripts))
    test(name, () => {
      const wanted = code
        .split("\n")
        .flatMap((line, i) => [...line.matchAll(/ ~ (\S+)/g)].map((m) => `${i + 1} ${m[1]}`));
      const found = lint(code, {
        settings: { presets: ["tfjs"] },
        file: `${projectDir}${file}`,
      }).filter((m) => !m.ruleId?.startsWith("tenure/prefer-"));
      assert.equal(
        found.map((m) => `${m.line} ${m.ruleId?.replace("tenure/", "")}`),
        wanted,
        lines(found).join("\n"),
      );
    });
}
