/**
 * Reads tables of Markdown, and the comments that say from which results file a table is:
 *
 *     <!-- results: packages/bench/results/memory-swiftshader.md
 *          table: Memory against recomputation
 *          columns: batch; planned MB; share
 *          rows: ^32 -->
 *
 * `table` is the heading above it (the first table of the file without it), `columns` are some of
 * its columns, `rows` an expression that matches a row's text. Called by `tools/results.ts` and the
 * test beside it; pure functions of the text.
 */

/** A table with its place: lines `from` to `to` of a page, `to` not included. */
export interface Table {
  readonly from: number;
  readonly to: number;
  /** The cells, without the line that sets the alignment. */
  readonly rows: readonly (readonly string[])[];
  /** `---:` and its like, one per column. */
  readonly alignment: readonly string[];
  /** The text of the heading above. */
  readonly heading: string;
}

/** What a comment asks for. */
export interface Request {
  readonly file: string;
  readonly table?: string;
  readonly columns?: readonly string[];
  readonly rows?: RegExp;
}

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());

/** The tables of a page, in order; code blocks have none. */
export function tablesOf(text: string): Table[] {
  const lines = text.split("\n");
  const found: Table[] = [];
  let heading = "";
  let fenced = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (/^\s*```/.test(line)) fenced = !fenced;
    heading = (fenced ? undefined : /^#+ (.*)/.exec(line)?.[1]) ?? heading;
    if (fenced || !line.startsWith("|") || !/^\|[ :|-]+\|$/.test(lines[at + 1] ?? "")) continue;
    let to = at + 2;
    while (lines[to]?.startsWith("|") === true) to++;
    const rows = [line, ...lines.slice(at + 2, to)].map(cellsOf);
    found.push({ from: at, to, rows, heading, alignment: cellsOf(lines[at + 1] ?? "") });
    at = to - 1;
  }
  return found;
}

/** What the comment right above a table asks for. @throws Error for a field nobody knows */
export function requestAbove(text: string, { from }: Table): Request | undefined {
  const above = text.split("\n").slice(0, from).join("\n");
  const body = /<!-- results: ((?:(?!-->)[\s\S])*?) -->\s*$/.exec(above)?.[1];
  if (body === undefined) return undefined;
  const [file = "", ...fields] = body.split("\n").map((line) => line.trim());
  let request: Request = { file };
  for (const field of fields) {
    const [, name, value = ""] = /^(\w+): (.*)$/.exec(field) ?? [];
    if (name === "table") request = { ...request, table: value };
    else if (name === "columns") request = { ...request, columns: value.split("; ") };
    else if (name === "rows") request = { ...request, rows: new RegExp(value) };
    else throw new Error(`results: expected table, columns or rows, got "${field}"`);
  }
  return request;
}

/** The table that was asked for. @throws Error when the file has none like it */
export function pick(results: string, request: Request): Pick<Table, "rows" | "alignment"> {
  const tables = tablesOf(results);
  const table =
    request.table === undefined ? tables[0] : tables.find((one) => one.heading === request.table);
  if (table === undefined)
    throw new Error(`results: expected a table "${request.table ?? "1"}" in ${request.file}`);
  const [header = [], ...body] = table.rows;
  const columns = (request.columns ?? header).map((name) => {
    const column = header.indexOf(name);
    if (column < 0) throw new Error(`results: expected one of ${header.join("; ")}, got "${name}"`);
    return column;
  });
  const kept = body.filter((row) => request.rows?.test(row.join(" ")) !== false);
  const select = (row: readonly string[]): string[] => columns.map((column) => row[column] ?? "");
  return { rows: [header, ...kept].map(select), alignment: select(table.alignment) };
}

/** Whether at least half of what a table says are figures. */
export function hasFigures({ rows }: Table): boolean {
  const cells = rows.slice(1).flatMap((row) => row.slice(1));
  const figure = /^[−-]?[\d.,]+ ?(?:%|×|[kMG]i?B|B|ms|µs|ns|s|GFLOP\/s|GB\/s)?$/;
  return cells.filter((cell) => figure.test(cell)).length * 2 >= Math.max(cells.length, 1);
}
