/**
 * A small old code base in a folder of its own, for the tests of the report, of baseline files and
 * of the `legacy` config. Each call makes the folder and removes it.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import parser from "@typescript-eslint/parser";
import { Linter } from "eslint";
import ts from "typescript";
import { baselineText } from "../src/baseline/baseline.ts";
import plugin from "../src/index.ts";
import { baselineOf, reportLeaks } from "../src/report/leak-report.ts";
import type { LeakReport, ReportRequest } from "../src/report/leak-report.ts";
import { installDeclarations } from "./declarations.ts";

/** What the old code base consists of. */
export const oldFiles: Readonly<Record<string, string>> = {
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
/** The one file of it that has leaks. */
export const leaky = oldFiles["src/train.ts"] ?? "";
/** How baseline files are called here. */
export const baselineName = "tenure-baseline.json";

/** A code base on the disk. */
export class OldCode implements Disposable {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "tenure-legacy-")));

  constructor(files: Readonly<Record<string, string>> = oldFiles) {
    for (const [path, text] of Object.entries(files)) this.write(path, text);
    installDeclarations(this.folder);
  }

  /** The whole path of a file. */
  at(path: string): string {
    return join(this.folder, path);
  }
  /** Writes a file. */
  write(path: string, text: string): void {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), text);
  }
  /** Puts a file elsewhere. */
  move(from: string, to: string): void {
    const text = readFileSync(this.at(from), "utf8");
    rmSync(this.at(from));
    this.write(to, text);
  }

  /** What the report finds. */
  report(asked: Partial<ReportRequest> = {}): LeakReport {
    parser.clearCaches();
    const standard: ReportRequest = {
      ...{ folder: this.folder, paths: [], presets: ["tenure"], tests: false },
      progress: () => undefined,
    };
    return reportLeaks({ ...standard, ...asked });
  }
  /** Writes a baseline of what there is. */
  keepAll(name = baselineName): void {
    const leaks = baselineOf(this.report(), this.folder, dirname(this.at(name)));
    this.write(name, baselineText(leaks));
  }

  /** What the `legacy` config says of a file, as lines. */
  legacy(path = "src/train.ts", more: Partial<LegacyOptions> = {}): string[] {
    parser.clearCaches();
    const { cwd = this.folder, baseline = baselineName, text } = more;
    const file = this.at(path);
    const code = text ?? ts.sys.readFile(file) ?? "";
    const parserOptions = {
      programs: [programOf([file], new Map([[file, code]]))],
      disallowAutomaticSingleRunInference: true, // files are linted twice
    };
    const config = {
      ...plugin.configs.legacy,
      languageOptions: { parser, parserOptions },
      settings: { tenure: { baseline } },
    };
    const found = new Linter({ cwd }).verify(code, [config] as never, { filename: file });
    return found.map((m) =>
      m.messageId === "setup" ? m.message : `${String(m.line)} ${m.ruleId ?? m.message}`,
    );
  }

  [Symbol.dispose](): void {
    parser.clearCaches();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: [],
};
/** What never changes is read once for all programs. */
const libraries = new Map<string, ts.SourceFile | undefined>();

/** A program of some files with the texts they are given. */
function programOf(files: readonly string[], texts: ReadonlyMap<string, string>): ts.Program {
  const host = ts.createCompilerHost(options, true);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, language) => {
    const text = texts.get(name);
    if (text !== undefined) return ts.createSourceFile(name, text, language, true);
    if (!/[\\/](node_modules|fixtures)[\\/]/.test(name)) return read(name, language);
    if (!libraries.has(name)) libraries.set(name, read(name, language));
    return libraries.get(name);
  };
  return ts.createProgram(files, options, host);
}

interface LegacyOptions {
  cwd: string;
  baseline: string | null;
  /** What an editor has that is not saved. */
  text: string;
}
