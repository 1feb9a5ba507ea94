/**
 * What the package adds to a page: gzipped bytes of minified bundles, made from its tarball. The
 * ceilings lie a little above what was measured; raise one only for what users get for it.
 */
import { join } from "node:path";
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
  /** Bytes after gzip. */
  readonly size: number;
  /** Modules it contains, below the package's `dist`. */
  readonly modules: readonly string[];
}

async function bundled(name: string, code: string): Promise<Bundled> {
  const { outputFiles, metafile } = await esbuild.build({
    entryPoints: [project.write(`${name}.js`, code)],
    outdir: join(project.folder, "out"),
    absWorkingDir: project.folder,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  const modules = Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [path.replace(/^.*tenure\/dist\//, "")] : [],
    ),
  );
  const sizes = outputFiles.map(({ contents }) => gzipSync(contents, { level: 9 }).length);
  return { size: sizes.reduce((sum, bytes) => sum + bytes, 0), modules };
}

/** One row of the table: a program, and the most it may weigh in KB (1,000 bytes). */
interface Row {
  readonly program: string;
  readonly most: number;
}

const entries = ["tenure", "tenure/nn", "tenure/optim", "tenure/data", "tenure/scheduler"];
const everything = entries.map((entry, i) => `import * as e${i} from "${entry}";`).join("\n");
const rows = {
  "an error": {
    program: 'import { ShapeError } from "tenure"; console.log(ShapeError);',
    most: 0.22,
  },
  tensor: { program: 'import { tensor } from "tenure"; console.log(tensor);', most: 118 },
  training: {
    program: `import { Linear, Sequential } from "tenure/nn"; import { SGD } from "tenure/optim";
      console.log(Linear, Sequential, SGD);`,
    most: 126,
  },
  everything: {
    program: `${everything} console.log(${entries.map((_, i) => `e${i}`).join()});`,
    most: 216,
  },
} satisfies Readonly<Record<string, Row>>;

for (const [name, { program, most }] of Object.entries(rows))
  test(`${name}: at most ${most} KB`, async () => {
    const { size } = await bundled(name, program);
    assert.ok(size <= most * 1000, `${(size / 1000).toFixed(1)} KB`);
    assert.ok(size > most * 900, `${(size / 1000).toFixed(1)} KB: lower the ceiling`);
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
    modules.filter((path) => /^(compiling|profiling)\/|^runtime\/(tune|kernel-clock)\./.test(path));
  const { modules } = await bundled("training", rows.training.program);
  assert.equal(own(modules), []);
  const all = await bundled(
    "measuring",
    'import { compile, profile, tune } from "tenure"; console.log(compile, profile, tune);',
  );
  assert.ok(own(all.modules).length > 8, own(all.modules).join());
});

test.run();
