/**
 * Finds the TypeScript in what people read: fences marked `ts` in Markdown pages, and in the
 * docstrings of source files. Called by the snippet test; pure functions of the text.
 *
 * A comment right before a fence says how it is treated, several things with `;` between them:
 *
 *     <!-- snippet: continues -->           goes on where the page's last snippet ended
 *     <!-- snippet: not run, it waits -->   is compiled only, and why
 *
 * In a table with a column "Tenure", the code of each of its cells is a snippet, too, and the names
 * of the entry points are imported. Code of other libraries stands in fences of other languages,
 * `js` too, and is left alone.
 */

/** One piece of code with the place it stands at. */
export interface Snippet {
  /** The page or source file, relative to the repository. */
  readonly file: string;
  /** Line of the first line of code, counted from 1. */
  readonly line: number;
  readonly code: string;
  /** Begins with the code of the snippet before it. */
  readonly continues: boolean;
  /** Why it is not run; undefined when it is. */
  readonly notRun: string | undefined;
  /** Stands where import lines would only be noise: in a docstring, in a table. */
  readonly bare: boolean;
}

const DIRECTIVE = /^<!-- snippet: (.*) -->$/;

/** The snippets of a Markdown page. @throws Error for a directive that says nothing known */
export function snippetsOfPage(file: string, text: string): Snippet[] {
  const lines = text.split("\n");
  return [...fences(file, lines, 0, false), ...cells(file, lines)];
}

/** One snippet for each table that has a column for us, a block of code for each row. */
function cells(file: string, lines: readonly string[]): Snippet[] {
  return lines.flatMap((line, at) => {
    const column = cellsOf(line).indexOf("Tenure");
    if (column < 0 || !/^\|[ :|-]+\|$/.test(lines[at + 1] ?? "")) return [];
    const rows = lines.slice(at + 2);
    const end = rows.findIndex((row) => !row.startsWith("|"));
    const blocks = rows.slice(0, end < 0 ? undefined : end).map((row) => {
      const code = [...(cellsOf(row)[column] ?? "").matchAll(/`([^`]+)`/g)];
      return `{ ${code.map(([, one = ""]) => one.replaceAll("\\|", "|")).join("; ")} }`;
    });
    const place = { file, line: at + 3, code: blocks.join("\n") };
    return [{ ...place, bare: true, continues: false, notRun: undefined }];
  });
}

/** The cells of a line of a table; `\|` is no border. */
function cellsOf(line: string): string[] {
  if (!line.startsWith("|")) return [];
  return line
    .slice(1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** The snippets in the docstrings of a source file. @throws Error as `snippetsOfPage` does */
export function snippetsOfSource(file: string, text: string): Snippet[] {
  const found: Snippet[] = [];
  for (const comment of text.matchAll(/\/\*\*[\s\S]*?\*\//g)) {
    if (!comment[0].includes("```ts")) continue;
    const lines = comment[0].split("\n").map((line) => line.replace(/^\s*\* ?/, ""));
    const before = text.slice(0, comment.index).split("\n").length - 1;
    found.push(...fences(file, lines, before, true));
  }
  return found;
}

/** @param before lines of the file in front of the first of `lines` */
function fences(file: string, lines: readonly string[], before: number, bare: boolean): Snippet[] {
  const found: Snippet[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, mark, language] = /^(`{3,})(\w*)/.exec(lines[at] ?? "") ?? [];
    if (mark === undefined) continue;
    const end = lines.indexOf(mark, at + 1);
    if (end < 0) throw new Error(`${file}:${before + at + 1}: the code block has no end`);
    if (language === "ts") {
      const place = `${file}:${before + at + 1}`;
      const code = lines.slice(at + 1, end).join("\n");
      const words = directive(place, lines.slice(0, at));
      found.push({ file, line: before + at + 2, code, bare, ...words });
    }
    at = end;
  }
  return found;
}

/** What the last line that is not empty says, when it is a directive. */
function directive(place: string, above: readonly string[]): Pick<Snippet, "continues" | "notRun"> {
  const last = above.findLast((line) => line.trim() !== "") ?? "";
  const words =
    DIRECTIVE.exec(last)?.[1]
      ?.split(";")
      .map((word) => word.trim()) ?? [];
  let continues = false;
  let notRun: string | undefined;
  for (const word of words) {
    const reason = /^not run, (.+)$/.exec(word)?.[1];
    if (word === "continues") continues = true;
    else if (reason !== undefined) notRun = reason;
    else
      throw new Error(
        `${place}: expected "continues" or "not run, and why" in the comment, got "${word}"`,
      );
  }
  return { continues, notRun };
}
