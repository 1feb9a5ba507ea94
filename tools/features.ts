/**
 * Writes FEATURES.md: what there is, beside PyTorch, TorchSharp, TensorFlow.js and jax-js. Our side
 * is read from the exports, the Tensor class and the op records; the others' names come from
 * tools/features/table.txt. Something of ours without a row is an error, and so is a row that names
 * something we don't have. Run by `npm run features`; tools/test/features.test.ts checks that the
 * file is what this would write.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as core from "tenure";
import * as data from "tenure/data";
import * as nn from "tenure/nn";
import * as optim from "tenure/optim";
import * as scheduler from "tenure/scheduler";
import * as testing from "tenure/testing";
import { type AnyOp, uniqueName } from "../packages/tenure/src/ops/op.ts";
import { deliberate } from "../packages/tenure/test/oracle/deliberate.ts";
import { allOps } from "../packages/tenure/test/op-records.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** What a table is checked against. */
export interface Ours {
  /** Everything a user can name: `t.add`, `concat`, `nn.Linear`, `F.linear`, `optim.Adam`. */
  readonly names: ReadonlySet<string>;
  readonly records: readonly AnyOp[];
}

/** The library as it is. */
export function ours(): Ours {
  const all = (prefix: string, module: object): string[] =>
    Object.keys(module).map((name) => prefix + name);
  const names = [
    ...methodNames(core.Tensor.prototype).map((name) => `t.${name}`),
    ...all("", core),
    ...all("nn.", nn),
    ...all("F.", nn.functional),
    ...all("init.", nn.init),
    ...all("optim.", optim),
    ...all("data.", data),
    ...all("scheduler.", scheduler),
    ...all("testing.", testing),
  ];
  return { names: new Set(names), records: allOps() };
}

/** Methods and properties of a class and of those it extends, each once, the base's first. */
function methodNames(prototype: object): string[] {
  const base: unknown = Object.getPrototypeOf(prototype);
  const inherited =
    typeof base === "object" && base !== null && base !== Object.prototype ? methodNames(base) : [];
  return [...new Set([...inherited, ...Object.getOwnPropertyNames(prototype)])];
}

/** The text of the data file. */
export function table(): string {
  return readFileSync(join(folder, "features", "table.txt"), "utf8");
}

/** Whose names stand beside ours, in the order of the columns. */
const OTHERS = ["PyTorch", "TorchSharp", "TF.js", "jax-js"] as const;

interface Row {
  readonly what: string;
  readonly own: readonly string[];
  readonly others: readonly string[];
  readonly records: readonly string[];
}

/** A name, or a remark in parentheses. */
const remark = (name: string): boolean => name.startsWith("(");

/** `(a remark)` stays one word. */
function words(text: string): string[] {
  return text.match(/\([^)]*\)|\S+/g) ?? [];
}

function parseRow(line: string): Row {
  const [what = "", own = "", ...rest] = line.split("|").map((cell) => cell.trim());
  const others = OTHERS.length;
  if (what === "" || rest.length < others || rest.length > others + 1)
    throw new Error(
      `features: expected "what | ours | ${OTHERS.join(" | ")} | records", got ${line}`,
    );
  return {
    what,
    own: words(own),
    others: rest.slice(0, others),
    records: words(rest[others] ?? ""),
  };
}

/**
 * `add` for `addScalar_`, `conv2d` for `conv2dBackwardInput`: records that belong to another one.
 */
function stem(id: string): string {
  return id
    .replace(/_$/, "")
    .replace(/Scalar$/, "")
    .replace(/(Backward(Input|Weight)?|Curvature)$/, "");
}

/** Everything that is wrong: names that do not exist, exports and records without a row. */
export function problems(text: string, { names, records }: Ours): string[] {
  const wrong: string[] = [];
  const claimed = new Set<string>();
  const stems = new Set<string>();
  const known = new Set(records.map(uniqueName));
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const row: Row = line.startsWith("- ")
      ? { what: "", own: words(line.slice(2)), others: [], records: [] }
      : parseRow(line);
    for (const name of row.own) {
      if (remark(name)) continue;
      if (!names.has(name)) wrong.push(`${name}, in the row "${row.what}", does not exist`);
      claimed.add(name);
      if (names.has(`${name}_`)) claimed.add(`${name}_`); // the same, in place
      stems.add(lastPart(name));
    }
    for (const record of row.records) {
      if (!known.has(record))
        wrong.push(`the op record ${record}, in the row "${row.what}", does not exist`);
      stems.add(record);
    }
  }
  for (const name of names) if (!claimed.has(name)) wrong.push(`${name} has no row`);
  for (const id of known)
    if (!stems.has(stem(id)) && !stems.has(id)) wrong.push(`the op record ${id} has no row`);
  return wrong;
}

/** `add` of `t.add`. */
function lastPart(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/**
 * What the records say of an op: how it is computed, whether gradients flow, whether there is an
 * in-place form.
 */
function facts(row: Row, { names, records }: Ours): string {
  const of = (names: readonly string[]): AnyOp[] =>
    names.flatMap((name) => records.find((record) => uniqueName(record) === name) ?? []);
  const main = of(row.own.map(lastPart));
  const own = [...main, ...of(row.records)];
  if (own.length === 0) return "";
  const found = [kindOf(own)];
  if (main.length > 0 && main.every((record) => record.vjp !== undefined)) found.push("gradient");
  const inplace = row.own.filter((name) => names.has(`${name}_`));
  if (inplace.length > 0)
    found.push(
      inplace.length === row.own.length
        ? "in place"
        : `in place ${inplace.map(lastPart).join(" ")}`,
    );
  return found.join(", ");
}

/** How all of some records are computed. */
function kindOf(records: readonly AnyOp[]): string {
  if (records.every((record) => record.facts.elementwise === true)) return "elementwise";
  if (records.every((record) => record.view !== undefined)) return "view";
  if (records.every((record) => record.facts.reduces === true)) return "reduction";
  return "kernel";
}

function code(names: readonly string[]): string {
  return names.map((name) => (remark(name) ? name.slice(1, -1) : `\`${name}\``)).join(" ");
}

/** Others' names are separated by commas and may carry a remark in parentheses. */
function foreign(cell: string): string {
  if (cell === "") return "";
  const parts = cell.split(/,(?![^(]*\))/).map((part) => {
    const [, name = "", note = ""] = /^([^(]*)(\(.*\))?$/.exec(part.trim()) ?? [];
    const plain = name.trim();
    const isName = plain !== "" && !/[ …]/.test(plain);
    return [isName ? `\`${plain}\`` : plain, note].filter((text) => text !== "").join(" ");
  });
  return parts.join(" ");
}

const INTRODUCTION = [
  "# Features",
  "",
  "<!-- Written by `npm run features` from the exports, the op records " +
    "and tools/features/table.txt. -->",
  "",
  "What there is, beside what PyTorch 2, TorchSharp 0.107, TensorFlow.js 4.22 and " +
    "jax-js 0.1.23 call the same thing. An empty cell means: not there, as far as their " +
    "sources say.",
  "PyTorch's names are below `torch`: `nn.Linear` is `torch.nn.Linear`; `Tensor.expand` is " +
    "only a method.",
  "`t.` is a method of a tensor (`t.add_` works in place), `F.` is `functional` and `init.` is " +
    "`init` of `tenure/nn`; the other prefixes are the entry points. The column *computed* is",
  "read from the op records: one dispatch unless fused with others; *gradient* means that the " +
    "record has a gradient rule. Functions and layers without a record are composed of others.",
];

/** The whole page. @throws Error listing what is wrong with the table */
export function features(text: string, library: Ours): string {
  const wrong = problems(text, library);
  if (wrong.length > 0)
    throw new Error(
      `features: tools/features/table.txt does not fit the library:\n  ${wrong.join("\n  ")}`,
    );
  const lines = [...INTRODUCTION];
  let rows = 0;
  let here = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith("# ")) {
      lines.push(
        "",
        `#${line}`,
        "",
        `| | Tenure | computed | ${OTHERS.join(" | ")} |`,
        `| --- | --- | --- |${OTHERS.map(() => " --- |").join("")}`,
      );
      continue;
    }
    if (line === "" || line.startsWith("- ")) continue;
    const row = parseRow(line);
    rows++;
    if (row.own.length > 0) here++;
    const cells = [row.what, code(row.own), facts(row, library), ...row.others.map(foreign)];
    lines.push(`| ${cells.join(" | ")} |`.replace(/ +\|/g, " |"));
  }
  lines.push(
    "",
    "## Where answers differ from PyTorch",
    "",
    "The numeric oracle (packages/tenure/test/oracle) compares " +
      "forward values and gradients with PyTorch's; these differ on purpose.",
    "",
    "| | why |",
    "| --- | --- |",
    ...deliberate.map(({ what, reason }) => `| ${what} | ${reason} |`),
  );
  const visible = library.records.filter((r) => stem(uniqueName(r)) === uniqueName(r)).length;
  lines.push(
    "",
    `${here} of ${rows} rows are filled by Tenure. ` +
      `Behind them are ${library.records.length} op records, ` +
      `${visible} of them neither gradients nor other forms of an op.`,
    "",
  );
  return lines.join("\n");
}

if (resolve(process.argv[1] ?? "") === fileURLToPath(import.meta.url)) {
  writeFileSync(join(folder, "..", "FEATURES.md"), features(table(), ours()));
  console.log("FEATURES.md written");
}
