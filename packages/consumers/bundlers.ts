/**
 * Bundles programs that import the package, as applications do: installed from its tarball,
 * tree-shaken, minified. Used by the bundle tests. What it writes lies in the caller's project.
 */
import { join } from "node:path";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import { build as viteBuild } from "vite";
import webpack from "webpack";

/** Node 20 knows no `using`. */
const target = "node20";

/** Makes one module `to` of the module `from`; both lie in the project. */
export type Bundler = (project: string, from: string, to: string) => Promise<void>;

const withEsbuild: Bundler = async (project, from, to) => {
  await esbuild.build({
    entryPoints: [join(project, from)],
    outfile: join(project, to),
    absWorkingDir: project,
    bundle: true,
    minify: true,
    treeShaking: true,
    format: "esm",
    platform: "neutral",
    target,
    logLevel: "silent",
  });
};

const withRollup: Bundler = async (project, from, to) => {
  await using bundle = await rollup({
    input: join(project, from),
    plugins: [nodeResolve({ rootDir: project })],
    onwarn(warning) {
      throw new Error(warning.message);
    },
  });
  const { output } = await bundle.generate({ format: "es", inlineDynamicImports: true });
  const [{ code }] = output;
  await esbuild.build({
    stdin: { contents: code },
    outfile: join(project, to),
    minify: true,
    target,
    logLevel: "silent",
  });
};

/** An application's build, as `vite build` makes it (Rolldown inside), with one module out. */
const withVite: Bundler = async (project, from, to) => {
  await viteBuild({
    root: project,
    configFile: false,
    logLevel: "error",
    build: {
      target,
      minify: true,
      outDir: project,
      emptyOutDir: false,
      lib: { entry: join(project, from), formats: ["es"], fileName: () => to },
    },
  });
};

/** As `webpack` builds for a mode; modules are texts for `eval` in that of development. */
const withWebpack =
  (mode: "production" | "development"): Bundler =>
  (project, from, to) =>
    new Promise((resolve, reject) => {
      webpack(
        {
          mode,
          context: project,
          entry: join(project, from),
          target: ["web", "es2022"],
          experiments: { outputModule: true },
          output: { path: project, filename: to, library: { type: "module" } },
          performance: false,
          devtool: mode === "development" && "eval",
        },
        (error, stats) => {
          if (error !== null) reject(error);
          else if (stats?.hasErrors() || stats?.hasWarnings()) reject(new Error(stats.toString()));
          else resolve();
        },
      );
    });

/** The bundlers, by name. */
export const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: withEsbuild,
  Rollup: withRollup,
  Vite: withVite,
  webpack: withWebpack("production"),
};

/** What `webpack serve` loads. */
export const webpackForDevelopment = withWebpack("development");
