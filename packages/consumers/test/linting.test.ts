/**
 * The linter as people get it: the packed plugin in a folder of its own, with ESLint beside it.
 * Every config, the baseline of an old code base, the report command, and plain JavaScript whose
 * library comes from a script tag.
 */
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Project, pack } from "../packed.ts";

const test = suite("packed linter");
const modules = join(import.meta.dirname, "../../../node_modules");
const declarations = `declare module "tenure" {
  export class Tensor { private brand: unknown; readonly size: number;
    moveToOuter(): this; detachFromScope(): this; readonly isDisposed: boolean; alias(): Tensor;
    neg(): Tensor; exp(): Tensor; dispose(): void; [Symbol.dispose](): void }
}`;
const leak = `import type { Tensor } from "tenure";
export function f(x: Tensor): number { const y = x.neg(); return y.size; }
`;
const byHand = `import type { Tensor } from "tenure";
const sizes: number[] = [];
export function g(x: Tensor): void { const y = x.neg(); sizes.push(y.size); y.dispose(); }
`;
const files = {
  "types.d.ts": declarations,
  ...{ "recommended.ts": leak, "tidy.ts": byHand, "strict.ts": byHand },
  ...{ "legacy.ts": leak, "old.ts": leak },
  "page.js":
    "function run(x) { const y = tf.tensor([x]); return y.shape; }\nonclick = () => run(1);\n",
  "tsconfig.json": JSON.stringify({
    compilerOptions: {
      ...{ target: "es2022", module: "esnext", moduleResolution: "bundler", types: [] },
      ...{ lib: ["es2023", "esnext.disposable"], strict: true, allowJs: true, noEmit: true },
    },
    include: ["*"],
  }),
  "eslint.config.mjs": `import tenure from "eslint-plugin-tenure";
const { recommended, strict, legacy } = tenure.configs;
const languageOptions = { parser: tenure.parser,
  parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } };
const of = (config, files, settings = {}) =>
  ({ ...config, files, languageOptions, settings: { tenure: settings } });
export default [
  of(recommended, ["recommended.ts", "tidy.ts"]),
  of(strict, ["strict.ts"]),
  of(legacy, ["legacy.ts"]),
  of(legacy, ["old.ts"], { baseline: "leaks.json" }),
  of(recommended, ["page.js"], { presets: ["tfjs"] }),
];
`,
};

test("configs, baseline and report work from the tarball", async () => {
  using made = new Project();
  made.install("eslint-plugin-tenure", await pack("eslint-plugin-tenure"));
  mkdirSync(join(made.folder, "node_modules/@typescript-eslint"));
  for (const name of ["eslint", "typescript", "@typescript-eslint/utils"])
    symlinkSync(join(modules, name), join(made.folder, "node_modules", name));
  for (const [path, text] of Object.entries(files)) made.write(path, text);

  const report = join(made.folder, "node_modules/eslint-plugin-tenure/dist/report/cli.js");
  const told = await made.run(process.execPath, [report, "--write-baseline", "leaks.json"]);
  assert.match(told, /old\.ts/, "the report names files");

  const names = Object.keys(files).filter((f) => /^(?!types).*\.(ts|js)$/.test(f));
  const script = made.write(
    "run.mjs",
    `import { ESLint } from "eslint";
const results = await new ESLint().lintFiles(${JSON.stringify(names)});
for (const { filePath, messages } of results) for (const m of messages)
  console.log(filePath.split(/[\\\\/]/).pop(), m.severity, m.ruleId ?? m.message);
`,
  );
  const found = await made.run(process.execPath, [script]);
  assert.equal(found.trim().split("\n").sort(), [
    "legacy.ts 1 tenure/require-disposal",
    "page.js 2 tenure/require-disposal",
    "recommended.ts 2 tenure/require-disposal",
    "strict.ts 2 tenure/prefer-using",
  ]);
});

test.run();
