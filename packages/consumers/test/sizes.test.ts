/**
 * What the package adds to a page: gzipped bytes of minified bundles, made from its tarball. The
 * ceilings lie a little above what was measured; raise one only for what users get for it.
 */
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pack, Project } from "../packed.ts";

const test = suite("sizes");
const project = new Project();
test.before(async () => {
  project.install("tenure", await pack("tenure"));
});
test.after(() => {
  project[Symbol.dispose]();
});

interface Bundled {
  /** Bytes after gzip of what a page loads before its script runs, and with what follows. */
  readonly initial: number;
  readonly total: number;
  /** Modules in each of them, below the package's `dist`. */
  readonly first: readonly string[];
  readonly modules: readonly string[];
}

async function bundled(name: string, code: string): Promise<Bundled> {
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
    logLevel: "silent",
  });
  const { outputs } = metafile;
  const weights = new Map(
    outputFiles.map(({ path, contents }) => [
      relative(project.folder, path),
      gzipSync(contents, { level: 9 }).length,
    ]),
  );
  /** Files that the entry leads to, with `import()` or without. */
  const loaded = (lazily: boolean): string[] => {
    const files = new Set([`out/${name}.js`]);
    for (const file of files)
      for (const { path, kind } of outputs[file]?.imports ?? [])
        if (lazily || kind === "import-statement") files.add(path);
    return [...files].filter((file) => weights.has(file));
  };
  const size = (files: readonly string[]): number =>
    files.reduce((sum, file) => sum + (weights.get(file) ?? 0), 0);
  const modules = (files: readonly string[]): string[] =>
    files.flatMap((file) =>
      Object.entries(outputs[file]?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) =>
        bytesInOutput > 0 ? [path.replace(/^.*tenure\/dist\//, "")] : [],
      ),
    );
  const [first, all] = [loaded(false), loaded(true)];
  return {
    initial: size(first),
    total: size(all),
    first: modules(first),
    modules: modules(all),
  };
}

/**
 * One row of the table: a program, and the most that it may weigh in KB (1,000 bytes) before it
 * runs, and with what is loaded for the first device.
 */
interface Row {
  readonly program: string;
  readonly initial: number;
  readonly total: number;
}

const entries = ["tenure", "tenure/nn", "tenure/optim", "tenure/data", "tenure/scheduler"];
const everything = entries.map((entry, i) => `import * as e${i} from "${entry}";`).join("\n");
const rows = {
  "an error": {
    program: 'import { ShapeError } from "tenure"; console.log(ShapeError);',
    initial: 0.65,
    total: 0.65,
  },
  tensor: {
    program: 'import { tensor } from "tenure"; console.log(tensor);',
    initial: 56,
    total: 125,
  },
  training: {
    program: `import { Linear, Sequential } from "tenure/nn"; import { SGD } from "tenure/optim";
      console.log(Linear, Sequential, SGD);`,
    initial: 63,
    total: 132,
  },
  everything: {
    program: `${everything} console.log(${entries.map((_, i) => `e${i}`).join()});`,
    initial: 208,
    total: 219,
  },
} satisfies Readonly<Record<string, Row>>;

for (const [name, row] of Object.entries(rows))
  test(`${name}: at most ${row.initial} KB, and ${row.total} KB with a device`, async () => {
    const found = await bundled(name.replace(" ", "-"), row.program);
    for (const part of ["initial", "total"] as const) {
      const [size, most] = [found[part] / 1000, row[part]];
      assert.ok(size <= most, `${part}: ${size.toFixed(2)} KB`);
      assert.ok(size > most * 0.9, `${part}: ${size.toFixed(2)} KB: lower the ceiling`);
    }
  });

test("what runs programs is loaded with the first device", async () => {
  const running = (modules: readonly string[]): string[] =>
    modules
      .filter((path) => /^(kernels|planner|device|runtime)\//.test(path))
      .filter((path) => !path.startsWith("runtime/") || /\/(compile|lower|engine)\./.test(path))
      .filter((path) => !/\/(shapes|counters|device-choice)\./.test(path));
  const { first, modules } = await bundled("training", rows.training.program);
  assert.equal(running(first), []);
  assert.ok(running(modules).length > 50);
});

test("a program that imports the engine loads nothing later", async () => {
  const { program, total: most } = rows.tensor;
  const found = await bundled("engine", `import "tenure/engine"; ${program}`);
  const { initial, total, first, modules } = found;
  assert.equal([...first].sort(), [...modules].sort());
  assert.ok(total - initial < 200, `${total - initial} bytes`); // a name for what is there
  assert.ok(total < most * 1000 && total > most * 900, `${total} bytes`);
});

test("planning under a budget comes with the scheduler only", async () => {
  const budgeted = (modules: readonly string[]): string[] =>
    modules.filter((path) => /^planner\/(recompute|swap|pipeline)/.test(path));
  const { modules } = await bundled("training", rows.training.program);
  assert.equal(budgeted(modules), []);
  assert.ok(modules.some((path) => path.startsWith("planner/")));
  const scheduling = await bundled(
    "scheduling",
    'import { Scheduler } from "tenure/scheduler"; console.log(Scheduler);',
  );
  assert.ok(budgeted(scheduling.modules).length > 10);
});

test("repeating, profiling and tuning come only where they are used", async () => {
  const own = (modules: readonly string[]): string[] =>
    modules.filter((path) =>
      /^(compiling|profiling)\/|^runtime\/(tune|idle-tuner|measure-ways|kernel-clock)\./.test(path),
    );
  const { modules } = await bundled("training", rows.training.program);
  assert.equal(own(modules), []);
  const all = await bundled(
    "measuring",
    'import { compile, profile, tune } from "tenure"; console.log(compile, profile, tune);',
  );
  assert.ok(own(all.modules).length > 8, own(all.modules).join());
});

test.run();
