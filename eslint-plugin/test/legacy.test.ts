/**
 * Old code bases: the report that counts leaks by file and function, the baseline file written from
 * it, and the `legacy` config, which warns about what the baseline does not have. Writes a small
 * project for each case.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import { suite } from "uvu";
import { baselineText, readBaseline } from "../src/baseline.ts";
import plugin, { SettingsError } from "../src/index.ts";
import { countsOf, reportLeaks, reportText } from "../src/report/leak-report.ts";
import { installDeclarations } from "./declarations.ts";
import { assert } from "./tester.ts";

const test = suite("old code bases");
const old: Record<string, string> = {
  "src/train.ts": `import type { Tensor } from "tenure";
export function norm(x: Tensor): Tensor {
  return x.mul(x).sum();
}
export class Trainer {
  step(x: Tensor): number {
    const y = x.neg();
    return y.mul(y).size;
  }
}
`,
  "src/fine.ts": "export const one = 1;\n",
  "tsconfig.json": JSON.stringify({
    compilerOptions: { target: "es2022", lib: ["es2023", "esnext.disposable"], types: [] },
    include: ["**/*"],
  }),
};

/** Runs a check in a folder with the old project in it. */
function inProject(check: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "tenure-legacy-"));
  try {
    for (const [path, text] of Object.entries(old)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    installDeclarations(folder);
    check(folder);
  } finally {
    parser.clearCaches();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the `legacy` config says of the one file with leaks. */
function legacy(folder: string): Linter.LintMessage[] {
  parser.clearCaches();
  const file = join(folder, "src/train.ts");
  const parserOptions = {
    project: [join(folder, "tsconfig.json")],
    tsconfigRootDir: folder,
    disallowAutomaticSingleRunInference: true, // files are linted twice
  };
  const config = {
    ...plugin.configs.legacy,
    languageOptions: { parser, parserOptions },
    settings: { tenure: { baseline: "tenure-baseline.json" } },
  };
  const linter = new Linter({ cwd: folder });
  return linter.verify(readFileSync(file, "utf8"), [config] as never, { filename: file });
}

test("leaks are counted by file, function and rule", () => {
  inProject((folder) => {
    const report = reportLeaks(join(folder, "tsconfig.json"), { presets: ["tenure"] });
    assert.is(
      reportText(report),
      [
        "    3  src/train.ts",
        "        2  step()",
        "        1  norm()",
        "",
        "    2  no-leaked-temporary",
        "    1  require-disposal",
        "",
        "3 reports in 1 of 2 files",
        "",
      ].join("\n"),
    );
    const part = reportLeaks(join(folder, "tsconfig.json"), {}, [join(folder, "src/fine.ts")]);
    assert.is(reportText(part), "0 reports in 0 of 1 files\n");
    const leak =
      "src/train.ts:3 `mul(x)` is never disposed; hoist it into `using`, or open a scope.";
    assert.ok(reportText(report, true).startsWith(`${leak} (no-leaked-temporary)\n`));
    assert.throws(() => reportLeaks(join(folder, "none.json"), {}), /expected a tsconfig\.json/);
    assert.throws(
      () => reportLeaks(join(folder, "tsconfig.json"), {}, ["nowhere"]),
      /expected files of \S*tsconfig\.json at nowhere, got none; name the tsconfig\.json/,
    );
  });
});

test("scripts without a tsconfig.json have a leak report", () => {
  inProject((folder) => {
    rmSync(join(folder, "tsconfig.json"));
    rmSync(join(folder, "src"), { recursive: true });
    mkdirSync(join(folder, "src"));
    writeFileSync(
      join(folder, "src/size.js"),
      'import { zeros } from "tenure";\nexport const size = () => zeros([2]).size;\n',
    );
    const report = reportLeaks(join(folder, "tsconfig.json"), {});
    assert.equal([report.files, report.leaks.map((l) => l.rule)], [1, ["no-leaked-temporary"]]);
  });
});

test("an old code base starts at zero and hears of what is added", () => {
  inProject((folder) => {
    const report = reportLeaks(join(folder, "tsconfig.json"), { presets: ["tenure"] });
    writeFileSync(join(folder, "tenure-baseline.json"), baselineText(countsOf(report)));
    assert.equal(legacy(folder), []);
    const added = "export function more(x: Tensor): number {\n  return x.exp().size;\n}\n";
    writeFileSync(join(folder, "src/train.ts"), old["src/train.ts"] + added);
    const found = legacy(folder);
    assert.equal(
      found.map((m) => [m.line, m.severity, m.ruleId]),
      [3, 8, 12].map((line) => [line, 1, "tenure/no-leaked-temporary"]),
    );
  });
});

test("a missing or broken baseline is one message", () => {
  inProject((folder) => {
    assert.match(legacy(folder)[0]?.message ?? "", /expected a baseline file at tenure-baseline/);
    assert.is(legacy(folder).length, 1);
    for (const text of ["{", "[]", '{"version":2,"files":{}}', '{"version":1,"files":{"a":3}}']) {
      writeFileSync(join(folder, "b.json"), text);
      assert.throws(
        () => readBaseline("b.json", folder),
        (e: unknown) => e instanceof SettingsError && e.message.includes("b.json, got "),
      );
    }
  });
});

test("the report leaves out tests unless asked, and what comments say of other rules", () => {
  inProject((folder) => {
    const project = join(folder, "tsconfig.json");
    const leaky = old["src/train.ts"] ?? "";
    mkdirSync(join(folder, "test"));
    writeFileSync(join(folder, "test/more.ts"), leaky);
    writeFileSync(join(folder, "src/train_test.ts"), leaky);
    writeFileSync(join(folder, "src/fine.ts"), "/* eslint foo/bar: error */\nexport {};\n");
    const plain = reportLeaks(project, {});
    assert.equal(Object.keys(countsOf(plain)), ["src/train.ts"]);
    assert.is(plain.files, 2);
    parser.clearCaches();
    assert.is(reportLeaks(project, {}, [], true).leaks.length, plain.leaks.length * 3);
  });
});
test.run();
