/**
 * A leak report as text for people: files with the most leaks first, their functions and lines
 * below, then the rules. Used by `report/cli.ts`; owns nothing.
 */
import type { FoundLeak, LeakReport } from "./leak-report.ts";

/**
 * The report as text.
 *
 * @param list whether each leak stands before the counts, with its message
 */
export function reportText(report: LeakReport, list = false): string {
  const { files, leaks, unread, presets } = report;
  const byFile = tally(leaks, (l) => l.file);
  const counts = byFile.flatMap(([file, found]) => [
    row(found, file),
    ...tally(found, nameOf).map(([name, own]) => `    ${row(own, name)}: ${linesOf(own)}`),
  ]);
  const rules = tally(leaks, (l) => l.rule).map(([rule, found]) => row(found, rule));
  const each = leaks.map((l) => `${l.file}:${l.line} ${l.message} (${l.rule})`);
  const missed = unread.map(({ file, reason }) => `${file}: ${reason}`);
  const looked = presets.length > 0 ? `, read with --preset ${presets.join(" --preset ")}` : "";
  return [
    ...(list ? [...section(each), ...section(missed)] : []),
    ...section(counts),
    ...section(rules),
    `${counted(leaks.length, "report")} in ${byFile.length} of ${files} files${looked}`,
    ...(unread.length > 0 && !list
      ? [`${counted(unread.length, "file")} could not be read; --list says why`]
      : []),
    "",
  ].join("\n");
}

const section = (lines: readonly string[]): string[] => (lines.length > 0 ? [...lines, ""] : []);

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

const nameOf = (leak: FoundLeak): string =>
  leak.function === "" ? "(module)" : `${leak.function}()`;

const linesOf = (leaks: readonly FoundLeak[]): string =>
  `line${leaks.length === 1 ? "" : "s"} ${leaks.map((l) => l.line).join(", ")}`;

const row = (leaks: readonly FoundLeak[], name: string): string =>
  `${String(leaks.length).padStart(5)}  ${name}`;

/** The leaks of each key, most of them first, then by name. */
function tally(
  leaks: readonly FoundLeak[],
  key: (l: FoundLeak) => string,
): [string, FoundLeak[]][] {
  const groups = new Map<string, FoundLeak[]>();
  for (const leak of leaks) groups.set(key(leak), [...(groups.get(key(leak)) ?? []), leak]);
  return [...groups].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1));
}
