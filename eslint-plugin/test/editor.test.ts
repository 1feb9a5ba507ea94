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

const tsconfig = {
  compilerOptions: {
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2023", "esnext.disposable", "dom"],
    strict: true,
    types: [],
  },
  include: ["*.ts"],
};
const start =
  `import { newDisposeScope, type Tensor } from "tenure";\n\nexport async function ` +
  "accuracy(predicted: Tensor, labels: Tensor): Promise<number> {\n  return 0;\n}\n";
const typed = start.replace(
  "return 0;",
  "let total = 0;\n  total += await predicted.argMax(1).eq(labels).sum().item();\n  " +
    "const unused = predicted.neg();\n  return total;",
);

/** A folder with a program, and what an editor does to its file `train.ts`. */
class Editor {
  readonly #dir = mkdtempSync(join(tmpdir(), "tenure-editor-"));
  readonly #path = join(this.#dir, "train.ts");
  readonly #eslint: ESLint;

  constructor() {
    const write = (name: string, text: string): void => writeFileSync(join(this.#dir, name), text);
    write("tsconfig.json", JSON.stringify(tsconfig));
    const types = new URL("./fixtures/tenure.d.ts", import.meta.url);
    write("tenure.d.ts", readFileSync(types, "utf8"));
    write("train.ts", start);
    write("main.ts", `import { accuracy } from "./train.ts";\nexport const run = accuracy;\n`);
    this.#eslint = new ESLint({
      cwd: this.#dir,
      overrideConfigFile: true,
      overrideConfig: [
        {
          files: ["**/*.ts"],
          languageOptions: {
            parser,
            parserOptions: { projectService: true, tsconfigRootDir: this.#dir },
          },
        },
        plugin.configs.recommended,
      ] as never,
    });
  }

  async lint(text: string): Promise<ESLint.LintResult["messages"]> {
    const [result] = await this.#eslint.lintText(text, { filePath: this.#path });
    return result?.messages ?? [];
  }

  /** Takes the first suggestion of the first mark, then saves, which applies the autofix. */
  async cure(text: string): Promise<string> {
    const hoisted = applied(text, (await this.lint(text))[0]!.suggestions![0]!);
    const after = await this.lint(hoisted);
    assert.equal(
      after.map((m) => m.ruleId),
      ["tenure/require-disposal"],
      "the suggestion cured the chain",
    );
    return applied(hoisted, { fix: after[0]!.fix! });
  }

  close(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

const inEditor = (name: string, body: (editor: Editor) => Promise<void>): void => {
  test(name, async () => {
    const editor = new Editor();
    try {
      assert.equal(await editor.lint(start), [], "opened clean");
      await body(editor);
    } finally {
      editor.close();
    }
  });
};

inEditor("a mark covers the leaking method, not the chain", async (editor) => {
  const marks = await editor.lint(typed);
  const lines = typed.split("\n");
  const marked = marks.map((m) => lines[m.line - 1]?.slice(m.column - 1, (m.endColumn ?? 1) - 1));
  assert.equal(marked, ["argMax(1)", "neg()"]);
  assert.ok(marks.every((m) => m.line === m.endLine));
  assert.ok(marks.every((m) => lines[m.line - 1]!.slice(0, m.column - 1).endsWith(".")));
});

inEditor("clean after the fixes, and after half-typed code", async (editor) => {
  const done = await editor.cure(typed);
  assert.ok(done.includes("using unused = predicted.neg();"));
  assert.equal(await editor.lint(done), [], "clean after the fix");
  for (const half of [
    done.slice(0, -30),
    done.replace("am.eq(labels)", "am.eq("),
    `${done}\nexport function`,
  ]) {
    const messages = await editor.lint(half);
    assert.ok(messages.every((m) => m.fatal === true || m.ruleId !== null));
  }
  assert.equal(await editor.lint(done), [], "and clean again");
});

inEditor("a caller elsewhere changes the answer for a helper", async (editor) => {
  const helper =
    `${await editor.cure(typed)}function helper(x: Tensor): Tensor { return x.neg().exp(); }\n` +
    "export function outside(x: Tensor): Tensor { return helper(x); }\n";
  assert.equal(
    (await editor.lint(helper)).map((m) => m.ruleId),
    ["tenure/no-leaked-temporary"],
  );
  const scoped = helper.replace(
    "{ return helper(x); }",
    "{ using s = newDisposeScope(); return s.moveToOuter(helper(x)); }",
  );
  assert.equal(await editor.lint(scoped), []);
});
test.run();
