/**
 * Recall on leaks planted in programs that use Tenure (`planted/`): every edited program is linted
 * with the rules of `recommended` and of `strict`. A leak is found when a report stands on one of
 * its lines that the program without it does not have. Reports on the programs as they are count as
 * false alarms. Used by `main.ts`.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import parser from "@typescript-eslint/parser";
import tenure from "eslint-plugin-tenure";
import { lintFiles, type Report } from "./linting.ts";
import { installDeclarations } from "../test/declarations.ts";
import { folder, lots, readProgram, type Program } from "./planted-edits.ts";
import { programMaker } from "./programs.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const configs = ["recommended", "strict"] as const;

interface Tally {
  all: number;
  found: number;
  strict: number;
}

/**
 * The tables as Markdown.
 *
 * @param only lots (`1`, `2`) or programs; all of them when empty
 */
export function plantedRecall(only: readonly string[] = []): string {
  const target = mkdtempSync(join(tmpdir(), "tenure-planted-"));
  try {
    layProject(target);
    const lint = linter(target);
    const wanted = (name: string, lot: number): boolean =>
      only.length === 0 || only.includes(name) || only.includes(String(lot));
    return lots
      .map((names, i) => ({ lot: i + 1, names: names.filter((name) => wanted(name, i + 1)) }))
      .filter(({ names }) => names.length > 0)
      .map(({ lot, names }) => recallOf(lot, names.map(readProgram), lint))
      .join("\n\n");
  } finally {
    parser.clearCaches();
    rmSync(target, { recursive: true, force: true });
  }
}

/** A user's project: the programs, and the declarations of the package. */
function layProject(target: string): void {
  cpSync(folder, target, { recursive: true });
  installDeclarations(target);
  for (const types of ["@types", "@webgpu"])
    symlinkSync(join(root, "node_modules", types), join(target, "node_modules", types));
  const { include } = JSON.parse(readFileSync(join(folder, "tsconfig.json"), "utf8")) as {
    include: string[];
  };
  const compilerOptions = { allowJs: true, checkJs: true, customConditions: [] };
  const tsconfig = { extends: join(root, "tsconfig.base.json"), compilerOptions, include };
  writeFileSync(join(target, "tsconfig.json"), JSON.stringify(tsconfig));
}

type Lint = (program: Program, text: string) => readonly (readonly Report[])[];

/** The reports of each configuration on a program with another text. */
function linter(at: string): Lint {
  const programOf = programMaker(true),
    tsconfig = join(at, "tsconfig.json");
  return ({ file }, text) => {
    writeFileSync(join(at, file), text);
    const program = programOf(tsconfig);
    return configs.map((config) => {
      const { reports, fatal } = lintFiles({ tsconfig, program }, [join(at, file)], "tenure", {
        rules: tenure.configs[config].rules,
        config,
      });
      if (fatal.length > 0) throw new Error(`lint: ${fatal.join("\n")}`);
      return reports;
    });
  };
}

const share = ({ all, found, strict }: Tally): string =>
  `${String(all)} | ${String(found)} | ${String(strict)}`;

function recallOf(lot: number, programs: readonly Program[], lint: Lint): string {
  const kinds = new Map<string, Tally>(),
    sum: Tally = { all: 0, found: 0, strict: 0 };
  const missed: string[] = [],
    alarms: string[] = [],
    rows: string[] = [];
  for (const program of programs) {
    const before = lint(program, program.text);
    before.forEach((reports, i) =>
      alarms.push(...reports.map((r) => `${configs[i] ?? ""}: ${rowOf(program, r)}`)),
    );
    const own: Tally = { all: 0, found: 0, strict: 0 };
    for (const [i, { kind, text, lines }] of program.edits.entries()) {
      const after = lint(program, text).map((reports, c) => added(before[c] ?? [], reports));
      const [found = false, strict = false] = after.map((rs) => rs.some((r) => lines.has(r.line)));
      const tally = kinds.get(kind) ?? { all: 0, found: 0, strict: 0 };
      kinds.set(kind, tally);
      for (const t of [own, sum, tally]) {
        t.all++;
        if (found) t.found++;
        if (strict) t.strict++;
      }
      if (!found)
        missed.push(
          `- ${program.name} ${String(i + 1)}, ${kind}${strict ? " (found with `strict`)" : ""}` +
            (after[1] ?? []).map((r) => `; ${rowOf(program, r)}`).join(""),
        );
    }
    lint(program, program.text); // the others are linted beside the program as it is
    rows.push(`| ${program.name} | ${share(own)} |`);
  }
  const head = "| leaks | `recommended` | `strict` |\n| --- | --: | --: | --: |\n";
  return (
    `## Lot ${String(lot)}\n\n${String(sum.found)} of ${String(sum.all)} found, ` +
    `${String(sum.strict)} with \`strict\`; ${String(alarms.length)} false alarms.\n\n` +
    `| program ${head}${rows.join("\n")}\n\n| kind ${head}` +
    [...kinds].map(([kind, tally]) => `| ${kind} | ${share(tally)} |`).join("\n") +
    `\n\nMissed:\n\n${missed.join("\n")}\n\nFalse alarms:\n\n${alarms.join("\n")}`
  );
}

const rowOf = ({ name }: Program, r: Report): string =>
  `${name}:${String(r.line)}:${r.rule} \`${r.text}\``;

/** What is reported now and was not before, by rule and text of the line. */
function added(before: readonly Report[], after: readonly Report[]): Report[] {
  const left = before.map((r) => `${r.rule}|${r.text}`);
  return after.filter((r) => {
    const i = left.indexOf(`${r.rule}|${r.text}`);
    if (i >= 0) left.splice(i, 1);
    return i < 0;
  });
}
