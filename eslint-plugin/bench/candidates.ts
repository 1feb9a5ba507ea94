/**
 * Lists changes of a git folder that may fix a leak, for a person to judge: lines that free a value
 * the file already made and did not free, and scopes put around code that was already there. Run
 * by hand: `node --import tsx eslint-plugin/bench/candidates.ts FOLDER [tensor|gpu]`. What is
 * judged to be a fix goes into `fixes.txt`, with the lines named here.
 */
import { execFileSync } from "node:child_process";
import { pathToFileURL } from "node:url";

/** A change to one file that may fix a leak. */
export interface Candidate {
  commit: string;
  date: string;
  subject: string;
  path: string;
  /** What is freed, or `scope`. */
  names: string[];
  /** Lines of the file before the change on which these stand, from 1. */
  lines: number[];
  /** The lines added that free something. */
  frees: string[];
}

const freeing = {
  tensor: /dispose\(|disposeIntermediateTensorInfo\(|tidy\(/,
  gpu: /\.destroy\(\)|\?\.destroy\(\)/,
};
type Owned = keyof typeof freeing;
const generated = ["node_modules", "dist", "build", "vendor", "lib", "libs", "docs", "public"];
const pathspecs = [
  ...["*.ts", "*.tsx", "*.js", "*.jsx", "*.mjs"],
  ...["*.min.js", "*bundle*.js", "*.esm.js", "*.umd.js", "*.d.ts"].map((g) => `:!${g}`),
  ...["*_test.*", "*.test.*", "*.spec.*"].map((g) => `:!${g}`),
  ...[...generated, "third_party", "test", "tests", "__tests__"].map(
    (f) => `:(exclude,glob)**/${f}/**`,
  ),
];
/** How far a scope reaches and how far back a value may have been made: lines. */
const reach = 150;

const git = (folder: string, args: readonly string[]): string =>
  execFileSync("git", ["-C", folder, ...args], {
    maxBuffer: 1 << 29,
    stdio: ["ignore", "pipe", "ignore"],
  }).toString("latin1");

/** The candidates of one git folder; `owned` says which calls free. */
export function candidates(folder: string, owned: Owned): Candidate[] {
  const match = `-G${freeing[owned].source}`;
  const commits = git(folder, [
    "log",
    "--no-merges",
    "--format=%h",
    "-E",
    match,
    "--",
    ...pathspecs,
  ])
    .split("\n")
    .filter((c) => c !== "");
  return commits.flatMap((commit) => inCommit(folder, commit, owned));
}

function inCommit(folder: string, commit: string, owned: Owned): Candidate[] {
  const format = ["--format=%as\u0002%s", "-U0", "-w", "--no-renames", "-E"];
  const match = `-G${freeing[owned].source}`;
  const [head = "", ...files] = git(folder, [
    "show",
    ...format,
    match,
    commit,
    "--",
    ...pathspecs,
  ]).split(/^diff --git /m);
  const [date = "", subject = ""] = head.trim().split("\u0002");
  return files.flatMap((diff) => {
    const path = /^--- a\/(.+)$/m.exec(diff)?.[1];
    if (path === undefined || files.length > 30) return [];
    const before = fileBefore(folder, commit, path);
    const found = inFile(diff, before, freeing[owned]);
    return found.lines.length > 0 ? [{ commit, date, subject, path, ...found }] : [];
  });
}

/** The lines of a file before a commit; none where git does not have it, as in shallow clones. */
function fileBefore(folder: string, commit: string, path: string): string[] {
  try {
    return git(folder, ["show", `${commit}^:${path}`]).split("\n");
  } catch {
    return [];
  }
}

function inFile(
  diff: string,
  before: readonly string[],
  frees: RegExp,
): Pick<Candidate, "names" | "lines" | "frees"> {
  const names = new Set<string>(),
    lines = new Set<number>(),
    freed: string[] = [];
  const removed = new Set([...diff.matchAll(/^-(.*)$/gm)].map((m) => (m[1] ?? "").trim()));
  for (const hunk of diff.split(/^(?=@@ )/m).slice(1)) {
    const at = Number(/^@@ -(\d+)/.exec(hunk)?.[1]);
    const added = hunk.split("\n").filter((l) => l.startsWith("+"));
    const grown = added.length - hunk.split("\n").filter((l) => l.startsWith("-")).length;
    for (const raw of added) {
      const line = raw.slice(1).trim();
      if (line.includes("tidy(") && grown > 2) continue;
      if (!frees.test(line) || removed.has(line) || /^(\/\/|\*)/.test(line)) continue;
      const found = line.includes("tidy(") ? scoped(before, at) : freedNames(line, before, at);
      if (found.lines.length === 0) continue;
      found.names.forEach((n) => names.add(n));
      found.lines.forEach((l) => lines.add(l));
      freed.push(line);
    }
  }
  return { names: [...names], lines: [...lines].sort((a, b) => a - b), frees: freed };
}

/** The code already there that a new scope goes around: to the end of its block. */
function scoped(before: readonly string[], at: number): { names: string[]; lines: number[] } {
  const indent = (line: string): number => line.search(/\S/);
  const first = before.findIndex((l, i) => i >= at - 1 && indent(l) >= 0);
  const lines: number[] = [];
  for (let i = first; i >= 0 && i < Math.min(before.length, first + reach); i++) {
    const line = before[i] ?? "";
    if (indent(line) >= 0 && indent(line) < indent(before[first] ?? "")) break;
    lines.push(i + 1);
  }
  return { names: ["scope"], lines };
}

/** Names in a call that frees, where the file made them before and freed them nowhere near. */
function freedNames(
  line: string,
  before: readonly string[],
  at: number,
): { names: string[]; lines: number[] } {
  const inner = /(?:dispose|disposeIntermediateTensorInfo)\((.*)\)/.exec(line)?.[1] ?? "";
  const receiver = /([\w.$\][]+?)\??\.(?:dispose|destroy)\(/.exec(line)?.[1] ?? "";
  const plain = /^(tf|tfc|tfl|this|tensorflow|faceapi\.tf|human\.tf|backend)$/;
  const words = [receiver, ...inner.split(/[^\w.$]+/)]
    .map((w) => w.replace(/\[.*$|^\.+|\.(xs|ys|value)$/g, ""))
    .filter((w) => /^[\w.$]+$/.test(w) && !plain.test(w) && !/^(true|false|null|\d+)$/.test(w));
  const names: string[] = [],
    lines: number[] = [];
  for (const word of new Set(words)) {
    const whole = word.replace(/^this\./, "");
    const own = word.startsWith("this.");
    const here = new RegExp(`(?<![\\w$])${whole.replaceAll(/[.$]/g, "\\$&")}(?![\\w$])`);
    const from = own ? 0 : Math.max(0, at - reach);
    const near = before.slice(from, own ? before.length : at + reach);
    const made = near.some((l) => here.test(l) && /[=:]|\bfor\b|=>/.test(l));
    const freedBefore = near.some((l) => here.test(l) && /dispose|destroy/.test(l));
    if (!made || freedBefore) continue;
    names.push(word);
    near.forEach((l, i) => {
      if (here.test(l) && !/^\s*(\/\/|\*)/.test(l)) lines.push(from + i + 1);
    });
  }
  return { names, lines };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [, , folder = ".", owned = "tensor"] = process.argv;
  for (const c of candidates(folder, owned === "gpu" ? "gpu" : "tensor"))
    console.log(
      [
        ...[c.commit, c.path, c.lines.join(","), c.names.join(" ")],
        ...[c.date, c.subject, c.frees.map((f) => f.slice(0, 90)).join(" | ")],
      ].join("\t"),
    );
}
