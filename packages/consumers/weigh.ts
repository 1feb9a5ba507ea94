/**
 * What packages add to a page, in gzipped bytes of minified bundles as esbuild splits them: what a
 * page loads before its script runs, and what it loads while it does. Used by the sizes and hosts
 * tests, which hold the ceilings, and by page-sizes.ts, which measures others in the same way. Owns
 * nothing; nothing is written to disk but the program.
 */
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import type { Project } from "./packed.ts";

/** A file that a page may load. */
export interface PageFile {
  readonly path: string;
  readonly contents: Uint8Array;
  /** Bytes after gzip. */
  readonly bytes: number;
  /** Modules in it that take any room, below the package's `dist`. */
  readonly modules: readonly string[];
}

/** A program, bundled for pages. */
export interface Bundled {
  /** What comes before the script runs. */
  readonly first: readonly PageFile[];
  /** That, and what `import()` may ask for. */
  readonly all: readonly PageFile[];
  /**
   * What is loaded once each of some modules was asked for, by a part of their paths. @throws
   * Error for a module that no file begins with
   */
  readonly with: (modules: readonly string[]) => readonly PageFile[];
}

/** Bytes of some files together. */
export function bytesOf(files: readonly PageFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Their modules. */
export function modulesOf(files: readonly PageFile[]): string[] {
  return files.flatMap(({ modules }) => modules);
}

/** Bundles a program of a project. */
export async function bundled(project: Project, name: string, code: string): Promise<Bundled> {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [project.write(`${name}.js`, code)],
    outdir: join(project.folder, "out"),
    absWorkingDir: project.folder,
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    metafile: true,
    write: false,
    external: ["webgpu", "tenure-software-gpu"],
    logLevel: "silent",
  });
  const { outputs } = metafile;
  const files = new Map(
    outputFiles.map(({ path: absolute, contents }): [string, PageFile] => {
      const path = relative(project.folder, absolute);
      const bytes = gzipSync(contents, { level: 9 }).length;
      return [path, { path, contents, bytes, modules: modulesIn(outputs[path]) }];
    }),
  );
  /** The files that some lead to, with `import()` or without. */
  const loaded = (roots: readonly string[], lazily: boolean): PageFile[] => {
    const paths = new Set(roots);
    for (const path of paths)
      for (const { path: next, kind } of outputs[path]?.imports ?? [])
        if (lazily || kind === "import-statement") paths.add(next);
    return [...files.values()].filter(({ path }) => paths.has(path));
  };
  const entry = `out/${name}.js`;
  const fileOf = (module: string): string => {
    const found = Object.entries(outputs).find(([, o]) => o.entryPoint?.includes(module));
    if (found === undefined) throw new Error(`no file of ${name} begins with ${module}`);
    return found[0];
  };
  return {
    first: loaded([entry], false),
    all: loaded([entry], true),
    with: (modules) => loaded([entry, ...modules.map(fileOf)], false),
  };
}

function modulesIn(output: esbuild.Metafile["outputs"][string] | undefined): string[] {
  return Object.entries(output?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [path.replace(/^.*tenure\/dist\//, "")] : [],
  );
}

/**
 * One program of the table: what it does, and the parts of the package that it loads for it on a
 * GPU where nothing was tuned.
 */
export interface Weighed {
  readonly program: string;
  /** What comes with the device, and after it. */
  readonly parts: readonly string[];
  /** What comes besides on a software adapter, such as Chromium's in tests. */
  readonly onSoftware?: readonly string[];
}

const engine = "parts/engine-part.js";
const main = "parts/main-part.js";
const images = "parts/images-part.js";
const products = "parts/products-part.js";
const convolutions = "parts/convolutions-part.js";
const entries = ["tenure", "tenure/nn", "tenure/optim", "tenure/data", "tenure/scheduler"];
const step = (model: string): string => `
  const model = ${model};
  const optimizer = new SGD(model.parameters(), { lr: 0.1 });
  const labels = tensor([1, 2], { dtype: "int32" });
  const loss = new CrossEntropyLoss().call(model.call(input), labels);
  loss.backward();
  optimizer.step();
  await loss.item();`;

/** Programs of users: each does what it weighs, and then tells the page. */
export const programs = {
  "a tensor": {
    program: `import { tensor } from "tenure";
      await tensor([1, 2]).add(1).data();`,
    parts: [engine],
  },
  "an MLP's step": {
    program: `import { ones, tensor } from "tenure";
      import { CrossEntropyLoss, Linear, ReLU, Sequential } from "tenure/nn";
      import { SGD } from "tenure/optim";
      const input = ones([2, 8]);
      ${step("new Sequential(new Linear(8, 16), new ReLU(), new Linear(16, 4))")}`,
    parts: [engine, main],
    onSoftware: [products],
  },
  "a CNN's step": {
    program: `import { ones, tensor } from "tenure";
      import { Conv2d, CrossEntropyLoss, Flatten, Linear, MaxPool2d, ReLU } from "tenure/nn";
      import { Sequential } from "tenure/nn";
      import { SGD } from "tenure/optim";
      const input = ones([2, 1, 8, 8]);
      ${step(`new Sequential(
        new Conv2d(1, 4, 3, { padding: 1 }), new ReLU(), new MaxPool2d(2),
        new Flatten(), new Linear(64, 4),
      )`)}`,
    parts: [engine, main, images],
    onSoftware: [products, convolutions],
  },
  everything: {
    program: `${entries.map((entry, i) => `import * as e${i} from "${entry}";`).join("\n")}
      globalThis.everything = [${entries.map((_, i) => `e${i}`).join()}];`,
    parts: [
      engine,
      main,
      images,
      "parts/functions-part.js",
      "parts/resizing-part.js",
      "parts/sequences-part.js",
      "parts/transformers-part.js",
      "parts/budgets-part.js",
    ],
  },
} satisfies Readonly<Record<string, Weighed>>;
