/**
 * `npm run reliability -- <harness>`: runs one harness and prints its record; `--save` writes it to
 * `records/`. Each harness is a folder whose `main.ts` exports `run`, or `pieces` where its work
 * can be divided: `--workers n` runs n processes beside each other, `--resume file` keeps the
 * finished pieces there and goes on after them. docs/reliability.md says what each harness shows.
 */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { type Pieces, pieceOptions, runPieces } from "./pieces.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string" },
    every: { type: "string", default: "1" },
    mode: { type: "string" },
    kind: { type: "string" },
    workers: { type: "string", default: "1" },
    resume: { type: "string" },
    piece: { type: "boolean", default: false },
    save: { type: "boolean", default: false },
  },
});

/** What a harness is told. Each reads what concerns it. */
export interface HarnessOptions {
  /** Where its random numbers start. */
  readonly seed: number;
  /** How many cases; `undefined` for as many as the record has. */
  readonly count: number | undefined;
  /** Every n-th case only. */
  readonly every: number;
  readonly mode: string | undefined;
  readonly kind: string | undefined;
}

/** What a folder's `main.ts` exports: one of the two. */
interface Harness {
  readonly run?: (options: HarnessOptions) => Promise<string>;
  readonly pieces?: Pieces<unknown>;
}

const here = import.meta.dirname;
const harnesses = (await readdir(here)).filter((name) => existsSync(join(here, name, "main.ts")));
const [name] = positionals;
if (name === undefined || !harnesses.includes(name)) {
  console.error(`usage: npm run reliability -- <${harnesses.join("|")}> [--seed n] [--count n]`);
  process.exitCode = 1;
} else {
  const harness = (await import(pathToFileURL(join(here, name, "main.ts")).href)) as Harness;
  if (values.piece) await sendPiece(harness);
  else await record(name, harness);
  process.exit();
}

/** Runs what a parent process asked for. */
async function sendPiece({ pieces }: Harness): Promise<void> {
  const result = await pieces?.run(pieceOptions());
  await new Promise((sent) => process.send?.(result, sent));
}

/** Runs a harness, prints its record and saves it where that was asked for. */
async function record(name: string, { run, pieces }: Harness): Promise<void> {
  const options: HarnessOptions = {
    seed: Number(values.seed),
    count: values.count === undefined ? undefined : Number(values.count),
    every: Number(values.every),
    mode: values.mode,
    kind: values.kind,
  };
  const started = performance.now();
  const table =
    pieces === undefined
      ? ((await run?.(options)) ?? "")
      : await runPieces(name, pieces, options, {
          workers: Number(values.workers),
          resume: values.resume,
        });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const text = `# ${name}\n\nNode ${process.versions.node}, ${seconds} s.\n\n${table.trim()}\n`;
  console.log(text);
  if (!values.save) return;
  await mkdir(join(here, "records"), { recursive: true });
  await writeFile(join(here, "records", `${name}.md`), text);
}
