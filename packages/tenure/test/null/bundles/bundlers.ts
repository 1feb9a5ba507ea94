/**
 * Bundles programs that import the package, as applications do: tree-shaken, minified, from source.
 * Used by the bundle tests. The files it writes lie in a temporary folder, which its caller
 * removes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { type Plugin, rollup } from "rollup";

const home = fileURLToPath(new URL("../../../", import.meta.url));
/** Node 20 knows no `using`. */
const target = "node20";

interface Manifest {
  readonly sideEffects: readonly string[];
  readonly exports: Readonly<Record<string, { readonly "tenure:source": string }>>;
}
const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as Manifest;

/** Makes one file of a program, and writes it to `file`. */
export type Bundler = (program: string, file: string) => Promise<void>;

async function withEsbuild(program: string, file: string): Promise<void> {
  await esbuild.build({
    stdin: { contents: program, resolveDir: home, loader: "ts" },
    outfile: file,
    bundle: true,
    minify: true,
    treeShaking: true,
    format: "esm",
    platform: "node",
    target,
    conditions: ["tenure:source"],
    logLevel: "silent",
  });
}

/** What Rollup needs to read TypeScript, and to know which modules have effects on import. */
function typescript(program: string): Plugin {
  const entry = join(home, "program.ts");
  return {
    name: "typescript",
    resolveId(source, importer) {
      if (source === entry) return { id: entry, moduleSideEffects: true };
      const path = source.startsWith("tenure") ? exported(source) : relativeTo(source, importer);
      if (path === undefined) return null;
      const moduleSideEffects = manifest.sideEffects.includes(`./${relative(home, path)}`);
      return { id: path, moduleSideEffects };
    },
    async load(id) {
      const text = id === entry ? program : readFileSync(id, "utf8");
      const { code } = await esbuild.transform(text, { loader: "ts", target });
      return code;
    },
  };
}

function exported(source: string): string | undefined {
  const target = manifest.exports[source.replace(/^tenure/, ".")];
  return target === undefined ? undefined : join(home, target["tenure:source"]);
}

function relativeTo(source: string, importer: string | undefined): string | undefined {
  if (importer === undefined || !source.startsWith(".")) return undefined;
  return resolve(dirname(importer), source);
}

async function withRollup(program: string, file: string): Promise<void> {
  const bundle = await rollup({
    input: join(home, "program.ts"),
    plugins: [typescript(program)],
    treeshake: true,
  });
  const { output } = await bundle.generate({ format: "es", inlineDynamicImports: true });
  const { code } = await esbuild.transform(output[0].code, { minify: true, target });
  writeFileSync(file, code);
  await bundle.close();
}

/** The bundlers, by name. */
export const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: withEsbuild,
  rollup: withRollup,
};

/** Loads a bundle and runs what it exports as `run`. */
export async function runBundle(file: string): Promise<unknown> {
  const bundle = (await import(pathToFileURL(file).href)) as { run: () => Promise<unknown> };
  return bundle.run();
}
