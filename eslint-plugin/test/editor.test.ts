/**
 * An editor's session over ESLint's Node API with `projectService`: open a file, edit it, look at
 * the marks, take a suggestion, save, look again.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import parser from "@typescript-eslint/parser";
import { ESLint } from "eslint";
import { suite } from "uvu";
import plugin from "../src/index.ts";
import { applied, assert } from "./tester.ts";

const test = suite("editor session");
test("open, edit, mark, fix, clean", async () => {
  const dir = mkdtempSync(join(tmpdir(), "tenure-editor-"));
  try {
    writeFileSync(
      join(dir, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "es2022",
          module: "esnext",
          moduleResolution: "bundler",
          lib: ["es2023", "esnext.disposable", "dom"],
          strict: true,
          types: [],
        },
        include: ["*.ts"],
      }),
    );
    writeFileSync(
      join(dir, "tenure.d.ts"),
      readFileSync(new URL("./fixtures/tenure.d.ts", import.meta.url), "utf8"),
    );
    const path = join(dir, "train.ts");
    const start =
      `import { newDisposeScope, type Tensor } from "tenure";\n\nexport async function ` +
      "accuracy(predicted: Tensor, labels: Tensor): Promise<number> {\n  return 0;\n}\n";
    writeFileSync(path, start);
    writeFileSync(
      join(dir, "main.ts"),
      `import { accuracy } from "./train.ts";\nexport const run = accuracy;\n`,
    );
    const eslint = new ESLint({
      cwd: dir,
      overrideConfigFile: true,
      overrideConfig: [
        {
          files: ["**/*.ts"],
          languageOptions: {
            parser,
            parserOptions: { projectService: true, tsconfigRootDir: dir },
          },
        },
        plugin.configs.recommended,
      ] as never,
    });
    const lint = async (text: string): Promise<ESLint.LintResult["messages"]> =>
      (await eslint.lintText(text, { filePath: path }))[0]?.messages ?? [];

    assert.equal(await lint(start), [], "opened clean");
    const typed = start.replace(
      "return 0;",
      "let total = 0;\n  total += await predicted.argMax(1).eq(labels).sum().item();\n  " +
        "const unused = predicted.neg();\n  return total;",
    );
    const marks = await lint(typed);
    const lines = typed.split("\n");
    const marked = marks.map((m) => lines[m.line - 1]?.slice(m.column - 1, (m.endColumn ?? 1) - 1));
    assert.equal(
      marked,
      ["argMax(1)", "neg()"],
      "a mark starts at the leaking method's name, not at the chain",
    );
    assert.ok(marks.every((m) => m.line === m.endLine));
    assert.ok(marks.every((m) => lines[m.line - 1]!.slice(0, m.column - 1).endsWith(".")));

    const hoisted = applied(typed, marks[0]!.suggestions![0]!);
    const after = await lint(hoisted);
    assert.equal(
      after.map((m) => m.ruleId),
      ["tenure/require-disposal"],
      "the suggestion cured the chain",
    );
    const saved = after[0]!.fix!;
    const done = hoisted.slice(0, saved.range[0]) + saved.text + hoisted.slice(saved.range[1]);
    assert.ok(done.includes("using unused = predicted.neg();"));
    assert.equal(await lint(done), [], "clean after the fix");

    // half-typed code on the way must not end the session
    for (const half of [
      done.slice(0, -30),
      done.replace("am.eq(labels)", "am.eq("),
      `${done}\nexport function`,
    ]) {
      const messages = await lint(half);
      assert.ok(messages.every((m) => m.fatal === true || m.ruleId !== null));
    }
    assert.equal(await lint(done), [], "and clean again");

    // a caller elsewhere changes the answer for a helper here
    const helper =
      `${done}function helper(x: Tensor): Tensor { return x.neg().exp(); }\nexport ` +
      "function outside(x: Tensor): Tensor { return helper(x); }\n";
    assert.equal(
      (await lint(helper)).map((m) => m.ruleId),
      ["tenure/no-leaked-temporary"],
    );
    const scoped = helper.replace(
      "{ return helper(x); }",
      "{ using s = newDisposeScope(); return s.moveToOuter(helper(x)); }",
    );
    assert.equal(await lint(scoped), []);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
test.run();
