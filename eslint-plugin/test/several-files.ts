/**
 * Lints one file of a program of several, written to a folder of its own. Used by the tests about
 * what one file must know of the others.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import plugin from "../src/index.ts";
import type { TenureSettings } from "../src/index.ts";
import { installDeclarations } from "./declarations.ts";

/** Lints one file of a workspace written for the occasion; gives the rules that reported. */
export function lintOne(
  files: Record<string, string>,
  file: string,
  settings?: TenureSettings,
): string[] {
  const dir = mkdtempSync(join(tmpdir(), "tenure-files-"));
  try {
    const all = {
      ...files,
      "tsconfig.json": JSON.stringify({
        compilerOptions: {
          target: "es2022",
          module: "esnext",
          moduleResolution: "bundler",
          allowImportingTsExtensions: true,
          noEmit: true,
          lib: ["es2023", "esnext.disposable"],
          allowJs: true,
          strict: true,
          types: [],
        },
        include: ["**/*"],
      }),
    };
    for (const [path, text] of Object.entries(all)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    installDeclarations(dir);
    const linter = new Linter({ cwd: dir });
    const config = {
      files: ["**/*.ts", "**/*.js"],
      languageOptions: {
        parser,
        parserOptions: {
          project: ["./tsconfig.json"],
          tsconfigRootDir: dir,
          disallowAutomaticSingleRunInference: true,
        },
      },
      plugins: { tenure: plugin },
      settings: { tenure: settings },
      rules: plugin.configs.recommended.rules,
    };
    return linter
      .verify(files[file] ?? "", [config] as never, { filename: join(dir, file) })
      .map((m) => (m.ruleId ?? m.message).replace("tenure/", ""));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
