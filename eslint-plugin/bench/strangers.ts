/**
 * `npm run bench -- lint --stranger=owner/name[@commit],… [--preset=webgpu|tfjs]`, with
 * `--config=strict` by the settings of that: what a preset reports on all source files of public
 * programs, at their newest commit where none is given; with `tfjs` on those that people write, as
 * `samples.ts` calls them. Each report is printed with its key, as verdicts are kept by, and the
 * lines around it. Used by `main.ts` and by who judges code that the plugin was not developed with.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { newestOf, repository } from "./corpus.ts";
import type { Config } from "./linting.ts";
import { lintProgram } from "./objects.ts";
import { lintSample } from "./samples.ts";

/** The presets that programs of strangers can be linted with. */
export const strangerPresets = ["webgpu", "disposable", "tfjs"] as const;
/** One of them. */
export type StrangerPreset = (typeof strangerPresets)[number];

/** Lints the programs with a preset and gives each report with its surroundings. */
export function strangers(
  names: readonly string[],
  preset: StrangerPreset,
  config: Config,
): string {
  const out = names.map((name) => {
    const [repo = "", given] = name.split("@");
    const from = repository(repo);
    if ("missing" in from) return `## ${repo}\n\nskipped: ${from.missing}`;
    const commit = given ?? newestOf(from.git);
    const found =
      preset === "tfjs"
        ? lintSample(`${repo}@${commit}`, config)
        : lintProgram({ repo, commit, preset, folders: ["."] }, true, config);
    if (typeof found === "string") return `## ${repo}\n\nskipped: ${found}`;
    const { reports, files, lines, folder } = found;
    const size = `${String(files)} files, ${String(lines)} lines`;
    const texts = reports.map(
      (r) =>
        `${repo}@${commit}:${r.file}:${String(r.line)}:${r.rule}\n  ${r.message}\n` +
        around(join(folder, r.file), r.line),
    );
    const count = `${String(reports.length)} reports`;
    return [`## ${repo}@${commit}, ${size}, ${count}`, ...texts].join("\n\n");
  });
  return out.join("\n\n");
}

/** The line of a report between its neighbours. */
function around(file: string, line: number): string {
  const lines = readFileSync(file, "utf8").split("\n");
  const first = Math.max(1, line - 5);
  return lines
    .slice(first - 1, line + 5)
    .map((text, i) => `${first + i === line ? ">" : " "} ${String(first + i)} ${text}`)
    .join("\n");
}
