/**
 * What the package adds to a page: gzipped bytes of minified bundles, made from its tarball. The
 * ceilings lie a little above what was measured; raise one only for what users get for it.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { pack, Project } from "../packed.ts";
import { type Bundled, type PageFile, bundled, bytesOf, modulesOf, programs } from "../weigh.ts";

const test = suite("sizes");
const project = new Project();
test.before(async () => {
  project.install("tenure", await pack("tenure"));
});
test.after(() => {
  project[Symbol.dispose]();
});

const bundle = (name: string, code: string): Promise<Bundled> =>
  bundled(project, name.replaceAll(/\W/g, "-"), code);

/**
 * The most that each program may weigh in KB (1,000 bytes) before its script runs, and with what
 * it loads for the first device and after; hosts.test.ts sees that it loads no more.
 */
const ceilings: Readonly<Record<keyof typeof programs, readonly [number, number]>> = {
  "a tensor": [54.8, 92.9],
  "an MLP's step": [64.4, 114.8],
  "a CNN's step": [66.6, 124.3],
  everything: [185.2, 243.5],
};

function fits(what: string, bytes: number, most: number): void {
  const size = bytes / 1000;
  assert.ok(size <= most, `${what}: ${size.toFixed(2)} KB`);
  assert.ok(size > most * 0.9, `${what}: ${size.toFixed(2)} KB: lower the ceiling`);
}

for (const name of Object.keys(ceilings) as (keyof typeof programs)[]) {
  const [first, most] = ceilings[name];
  test(`${name}: at most ${first} KB, and ${most} KB with what it loads`, async () => {
    const { program, parts } = programs[name];
    const files = await bundle(name, program);
    fits("before it runs", bytesOf(files.first), first);
    fits("in all", bytesOf(files.with(parts)), most);
  });
}

test("an error comes alone", async () => {
  const code = 'import { ShapeError } from "tenure"; console.log(ShapeError);';
  fits("in all", bytesOf((await bundle("an error", code)).all), 0.58);
});

test("what runs programs is loaded with the first device", async () => {
  const running = (modules: readonly string[]): string[] =>
    modules
      .filter((path) => /^(kernels|planner|device|runtime)\//.test(path))
      .filter((path) => !path.startsWith("runtime/") || /\/(compile|lower|engine)\./.test(path))
      .filter((path) => !/\/(shapes|counters|device-choice)\./.test(path));
  const { first, all } = await bundle("training", programs["an MLP's step"].program);
  assert.equal(running(modulesOf(first)), []);
  assert.ok(running(modulesOf(all)).length > 50);
});

test("families of kernels are files of their own", async () => {
  const { program, parts } = programs["an MLP's step"];
  const files = await bundle("families", program);
  const rare =
    /^kernels\/(rare|trig|conv|pool|resample|attention|flash|normalize|gather|pad|scan|sort|pick)/;
  const held = (modules: readonly string[]): string[] => modules.filter((path) => rare.test(path));
  assert.equal(held(modulesOf(files.with(parts))), []);
  assert.ok(held(modulesOf(files.all)).length > 12);
});

test("ways of writing kernels that GPUs do not take are files of their own", async () => {
  const { program, parts, onSoftware } = programs["a CNN's step"];
  const files = await bundle("ways", program);
  const held = (some: readonly PageFile[]): number =>
    modulesOf(some).filter((path) => /^kernels\/(matmul-registers|conv-implicit)/.test(path))
      .length;
  assert.equal([held(files.with(parts)), held(files.with([...parts, ...onSoftware]))], [0, 2]);
});

test("records of ops that nothing uses are left out, and others of their file stay", async () => {
  const { first } = await bundle("records", programs["an MLP's step"].program);
  const text = first.map(({ contents }) => new TextDecoder().decode(contents)).join("\n");
  assert.ok(text.includes("sgdUpdate"));
  assert.not.ok(text.includes("adamUpdate"));
});

test("resampling is no part of what a CNN loads", async () => {
  const { program, parts } = programs["a CNN's step"];
  const files = await bundle("images", program);
  const held = (some: readonly PageFile[]): boolean =>
    modulesOf(some).includes("kernels/resample.js");
  assert.equal([held(files.with(parts)), held(files.all)], [false, true]);
});

test("devices of other hosts are a file of their own", async () => {
  const { program, parts } = programs["a tensor"];
  const files = await bundle("hosts", program);
  const other = /^device\/(host-devices|null)\./;
  const held = (some: readonly PageFile[]): number =>
    modulesOf(some).filter((path) => other.test(path)).length;
  assert.is(held(files.with(parts)), 0);
  assert.is(held(files.all), 2);
});

test("a program that imports the engine loads nothing later", async () => {
  const { program } = programs["a tensor"];
  const { first, all } = await bundle("engine", `import "tenure/engine"; ${program}`);
  const own = modulesOf(all).filter((path) => !path.startsWith("runtime/parts/"));
  assert.equal(modulesOf(first).sort(), own.sort());
  const later = bytesOf(all) - bytesOf(first); // names for what is there
  assert.ok(later < 3100, `${later} bytes`);
  fits("in all", bytesOf(all), 163.3);
});

const budgeted = (modules: readonly string[]): string[] =>
  modules.filter((path) =>
    /^planner\/(recompute|swap|pipeline)|^runtime\/execution\/(segments|host-copies|probe)/.test(
      path,
    ),
  );

test("planning under a budget comes with the first scheduler", async () => {
  const scheduling = await bundle(
    "scheduling",
    'import { Scheduler } from "tenure/scheduler"; console.log(new Scheduler());',
  );
  assert.equal(budgeted(modulesOf(scheduling.first)), []);
  assert.equal(budgeted(modulesOf(scheduling.with(["parts/engine-part.js"]))), []);
  const parts = ["parts/engine-part.js", "parts/budgets-part.js"];
  assert.ok(budgeted(modulesOf(scheduling.with(parts))).length > 10);
});

test("repeating, profiling, tuning and tracing need no kernels or passes at first", async () => {
  const own = (modules: readonly string[]): string[] =>
    modules.filter((path) =>
      /^(compiling|profiling)\/|^runtime\/(tune|idle-tuner|measure-ways|kernel-clock)\./.test(path),
    );
  const training = await bundle("training", programs["an MLP's step"].program);
  assert.equal(own(modulesOf(training.all)), []);
  const all = await bundle(
    "measuring",
    `import { compile, profile, tune } from "tenure"; import { trace } from "tenure/scheduler";
      console.log(compile, profile, tune, trace);`,
  );
  assert.ok(own(modulesOf(all.first)).length > 8);
  const heavy = /^planner\/(passes|place|fuse|recompute)\/|^kernels\/(?!shapes|variants)|\/lower\./;
  assert.equal(
    modulesOf(all.first).filter((path) => heavy.test(path)),
    [],
  );
});

test.run();
