/**
 * Sums up the figures of many files: the table by area, and the list of what is over the limits.
 * Called by `tools/figures.ts`; pure functions.
 */
import { areasOf } from "./areas.ts";
import { type FileFigures, MAX_COLUMNS } from "./measure.ts";

/** What no file may exceed; the last holds for an area as a whole. Medians are only shown. */
export const LIMITS = {
  /** Lines of one file. */
  fileLines: 450,
  /** Lines of one function, nested ones included. */
  functionLines: 80,
  /** Non-null assertions per 1,000 lines of an area. */
  assertionsPerThousand: 30,
} as const;

/** Areas that are held to the limit that only makes sense for many files together. */
const HELD = new Set(["tenure", "eslint-plugin"]);

/** Programs that the lint plugin is measured on: they stay as strangers wrote them. */
const MEASURED = "eslint-plugin/bench/planted/";

/** One breach of a limit, where it is known at which line. */
export interface Offender {
  readonly file: string;
  readonly line: number;
  readonly what: string;
}

/** Everything in one file that is over a limit. */
export function offendersOf(figures: FileFigures): Offender[] {
  const { file } = figures;
  const found: Offender[] = [];
  const add = (line: number, what: string): void => {
    found.push({ file, line, what });
  };
  if (figures.lines > LIMITS.fileLines)
    add(1, `file has ${figures.lines} lines, over ${LIMITS.fileLines}`);
  for (const { name, line, lines } of figures.functions)
    if (lines > LIMITS.functionLines && !file.startsWith(MEASURED))
      add(line, `${name} has ${lines} lines, over ${LIMITS.functionLines}`);
  for (const { line, what } of figures.longLines) add(line, `${what}, over ${MAX_COLUMNS}`);
  for (const { line, what } of figures.anyCasts) add(line, what);
  if (!areasOf(file).includes("tests") && !file.startsWith(MEASURED))
    for (const { line, what } of figures.undocumented) add(line, `${what} has no docstring`);
  return found.sort((a, b) => a.line - b.line);
}

/** The figures of an area. */
export interface AreaFigures {
  readonly area: string;
  readonly files: number;
  readonly lines: number;
  readonly fileLines: Spread;
  readonly functions: number;
  readonly functionLines: Spread;
  readonly longLines: number;
  readonly casts: number;
  readonly anyCasts: number;
  readonly doubleCasts: number;
  readonly assertionsPerThousand: number;
  readonly exports: number;
  /** Share of the exports with a docstring, in percent; 100 where nothing is exported. */
  readonly documented: number;
}

/** Median, ninth decile and largest of a list of numbers; zeros for an empty list. */
export interface Spread {
  readonly median: number;
  readonly p90: number;
  readonly max: number;
}

/** Sums up by area, in the order in which the areas first appear, the wholes after their parts. */
export function sumUp(files: readonly FileFigures[]): AreaFigures[] {
  const areas = new Map<string, FileFigures[]>();
  for (const figures of files)
    for (const area of areasOf(figures.file))
      areas.set(area, [...(areas.get(area) ?? []), figures]);
  const rank = (area: string): number =>
    area === "tests" ? 3 : area.startsWith("tenure/") ? 0 : area === "tenure" ? 1 : 2;
  return [...areas]
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([area, parts]) => sumArea(area, parts));
}

function sumArea(area: string, files: readonly FileFigures[]): AreaFigures {
  const total = (count: (figures: FileFigures) => number): number =>
    files.reduce((sum, figures) => sum + count(figures), 0);
  const lines = total((figures) => figures.lines);
  const functions = files.flatMap((figures) => figures.functions);
  const exports = total((figures) => figures.exports);
  const undocumented = total((figures) => figures.undocumented.length);
  return {
    area,
    files: files.length,
    lines,
    fileLines: spread(files.map((figures) => figures.lines)),
    functions: functions.length,
    functionLines: spread(functions.map((each) => each.lines)),
    longLines: total((figures) => figures.longLines.length),
    casts: total((figures) => figures.casts),
    anyCasts: total((figures) => figures.anyCasts.length),
    doubleCasts: total((figures) => figures.doubleCasts.length),
    assertionsPerThousand: (1000 * total((figures) => figures.assertions.length)) / lines,
    exports,
    documented: exports === 0 ? 100 : (100 * (exports - undocumented)) / exports,
  };
}

function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), p90: at(0.9), max: at(1) };
}

/** Where an area as a whole is over a limit, one line each. */
export function areaBreaches(rows: readonly AreaFigures[]): string[] {
  const limit = LIMITS.assertionsPerThousand;
  return rows
    .filter(({ area, assertionsPerThousand }) => HELD.has(area) && assertionsPerThousand > limit)
    .map(({ area, assertionsPerThousand }) => {
      const found = assertionsPerThousand.toFixed(0);
      return `${area}: \`!\` per 1,000 lines is ${found}, over ${limit}`;
    });
}

const COLUMNS: readonly (readonly [string, (row: AreaFigures) => string])[] = [
  ["files", (row) => String(row.files)],
  ["lines", (row) => String(row.lines)],
  ["per file", (row) => spreadText(row.fileLines)],
  ["functions", (row) => String(row.functions)],
  ["lines each", (row) => spreadText(row.functionLines)],
  [`>${MAX_COLUMNS}`, (row) => String(row.longLines)],
  ["casts", (row) => String(row.casts)],
  ["any", (row) => String(row.anyCasts)],
  ["unknown", (row) => String(row.doubleCasts)],
  ["!/1000", (row) => row.assertionsPerThousand.toFixed(0)],
  ["exports", (row) => String(row.exports)],
  ["doc %", (row) => String(Math.floor(row.documented))],
];

function spreadText({ median, p90, max }: Spread): string {
  return `${median}/${p90}/${max}`;
}

/** The table, one line per area below its heading. Spreads are median/p90/max. */
export function tableOf(rows: readonly AreaFigures[]): string[] {
  const width = Math.max(4, ...rows.map((row) => row.area.length));
  const cells = [
    COLUMNS.map(([heading]) => heading),
    ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row))),
  ];
  const widths = COLUMNS.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const names = ["area", ...rows.map((row) => row.area)];
  return cells.map((row, index) => {
    const figures = row.map((cell, column) => cell.padStart(widths[column] ?? 0));
    return [(names[index] ?? "").padEnd(width), ...figures].join("  ");
  });
}
