/**
 * What `tenure-inspect` does with its arguments: what is wrong with them in one line, before
 * anything is written; else the page of a trace file. Called by `cli.ts`. Reads the named file and
 * the bundles with source maps that it names; writes the page only.
 */
import { readFileSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { parseTrace } from "./check.ts";
import { inspectorHTML } from "./render.ts";

const usage = `tenure-inspect trace.json [-o page.html] [-r dist]

Makes one page, for any browser, of what JSON.stringify(memory.chromeTrace()) gave.
  -o, --out FILE   the page; without it the name of the trace with .html
  -r, --root DIR   the folder a server served when the program ran in a browser, with its .map files
  -h, --help       this text
`;

/** What the command prints, and its exit code. */
export interface Outcome {
  readonly text: string;
  readonly code: number;
}

/**
 * Runs the command.
 * @param args what follows its name
 * @param page the page without a trace; the built one when left out
 * @throws TraceError for a file that is no trace
 * @throws Error for other arguments than it takes, and for files that cannot be read or written
 */
export function inspect(args: readonly string[], page?: string): Outcome {
  const { values, positionals } = parsed(args);
  const [trace, more] = positionals;
  if (values.help === true) return { text: usage, code: 0 };
  if (trace === undefined) return { text: usage, code: 2 };
  if (more !== undefined) throw refusal("one trace", `${trace} and ${more}`, "name one at a time");
  const { root } = values;
  if (root !== undefined && !(statSync(root, { throwIfNoEntry: false })?.isDirectory() ?? false))
    throw refusal("a folder after --root", quoted(root), "name the folder that was served");
  const file = parseTrace(tried("a readable trace", trace, () => readFileSync(trace, "utf8")));
  const out = values.out ?? `${trace.replace(/\.json$/, "")}.html`;
  if (isSame(trace, out))
    throw refusal("another file than the trace after --out", quoted(out), "leave it out");
  const html = inspectorHTML(file, { ...(root && { root }), ...(page && { page }) });
  tried("a page that can be written", out, () => {
    writeFileSync(out, html);
  });
  return { text: `${out}\n`, code: 0 };
}

const options = {
  out: { type: "string", short: "o" },
  root: { type: "string", short: "r" },
  help: { type: "boolean", short: "h" },
} as const;

function parsed(args: readonly string[]): ReturnType<typeof parse> {
  try {
    return parse(args);
  } catch (error) {
    const [said = ""] = (error as Error).message.split(/\. |\n/);
    const got = said.charAt(0).toLowerCase() + said.slice(1);
    throw refusal("what --help lists", got, "try --help");
  }
}

const parse = (args: readonly string[]) =>
  parseArgs({ args: [...args], allowPositionals: true, options });

function tried<T>(expected: string, file: string, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    const [said = ""] = (error as Error).message.split(",");
    throw refusal(expected, `${quoted(file)} (${said})`, "name another");
  }
}

function isSame(file: string, other: string): boolean {
  const there = statSync(other, { throwIfNoEntry: false }) !== undefined;
  return there && realpathSync(file) === realpathSync(other);
}

function refusal(expected: string, got: string, remedy: string): Error {
  return new Error(`tenure-inspect: expected ${expected}, got ${got}; ${remedy}`);
}

const quoted = (text: string): string => JSON.stringify(text);
