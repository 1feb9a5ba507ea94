/**
 * `npm run reliability -- <harness>`: runs one harness and prints its record; `--save` writes it to
 * `records/`. Each harness is a folder whose `main.ts` exports `run`. docs/reliability.md says what
 * each of them shows.
 */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string" },
    every: { type: "string", default: "1" },
    mode: { type: "string" },
    kind: { type: "string" },
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

const here = import.meta.dirname;
const harnesses = (await readdir(here)).filter((name) => existsSync(join(here, name, "main.ts")));
const [name] = positionals;
if (name === undefined || !harnesses.includes(name)) {
  console.error(`usage: npm run reliability -- <${harnesses.join("|")}> [--seed n] [--count n]`);
  process.exitCode = 1;
} else {
  const { run } = (await import(pathToFileURL(join(here, name, "main.ts")).href)) as {
    run: (options: HarnessOptions) => Promise<string>;
  };
  const started = performance.now();
  const table = await run({
    ...values,
    seed: Number(values.seed),
    count: values.count === undefined ? undefined : Number(values.count),
    every: Number(values.every),
    mode: values.mode,
    kind: values.kind,
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const text = `# ${name}\n\nNode ${process.versions.node}, ${seconds} s.\n\n${table.trim()}\n`;
  console.log(text);
  if (values.save) {
    await mkdir(join(here, "records"), { recursive: true });
    await writeFile(join(here, "records", `${name}.md`), text);
  }
  process.exit();
}
