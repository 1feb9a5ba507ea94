/**
 * `npm run bench -- <name> …`: runs the named benchmarks and prints their tables; `--save` also
 * writes each under `results/`, named after the adapter. A benchmark is a file here whose `run()`
 * takes the other flags and returns markdown. Figures are ratios of things measured side by side in
 * one process.
 */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const here = import.meta.dirname;

/** Files and folders that export `run`, by name; the lint bench lives with the plugin. */
async function available(): Promise<Map<string, string>> {
  const found = new Map([["lint", join(here, "../../eslint-plugin/bench/main.ts")]]);
  for (const entry of await readdir(here, { withFileTypes: true })) {
    if (entry.isFile() && entry.name.endsWith(".ts") && entry.name !== "main.ts")
      found.set(entry.name.slice(0, -3), join(here, entry.name));
    if (entry.isDirectory() && (await readdir(join(here, entry.name))).includes("main.ts"))
      found.set(entry.name, join(here, entry.name, "main.ts"));
  }
  return found;
}

function versions(): string {
  const require = createRequire(import.meta.url);
  const { version } = require("webgpu/package.json") as { version: string };
  return (
    `Node ${process.versions.node}, webgpu ${version}, ${cpus().length} × ` +
    (cpus()[0]?.model.trim() ?? "unknown processor")
  );
}

const args = process.argv.slice(2),
  save = args.includes("--save"),
  names = args.filter((a) => !a.startsWith("--")),
  flags = args.filter((a) => a.startsWith("--") && a !== "--save");
const benches = await available();
const unknown = names.filter((n) => !benches.has(n));
if (names.length === 0 || unknown.length > 0) {
  if (unknown.length > 0)
    console.error(`bench: expected a known benchmark, got ${unknown.join(", ")}`);
  console.error(`usage: npm run bench -- <${[...benches.keys()].join("|")}> … [--save]`);
  process.exitCode = 1;
} else {
  for (const name of names) {
    const { run } = (await import(pathToFileURL(benches.get(name)!).href)) as {
      run: (flags: readonly string[]) => Promise<string>;
    };
    const table = await run(flags);
    const text = `# ${name}\n\n${versions()}\n\n${table.trim()}\n`;
    console.log(text);
    if (save) {
      const { init } = await import("tenure");
      const { architecture, name: called } = await init();
      // Mesa's software rasterizers all say "software"
      const family = architecture === "software" ? /^\w+/.exec(called)?.[0] : architecture;
      const adapter = (family ?? "software").replace(/\W+/g, "-");
      await mkdir(join(here, "results"), { recursive: true });
      await writeFile(join(here, "results", `${name}-${adapter}.md`), text);
    }
  }
}
