/**
 * Minified, as applications ship: errors, modules, optimizers and schedules still say their names.
 * By esbuild, which renames every class; bundles.test.ts tries some with the other bundlers. Runs
 * on the device that computes nothing.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { bundlers } from "../bundlers.ts";
import { pack, Project } from "../packed.ts";

const test = suite("names in minified programs");
const project = new Project();
test.before(async () => {
  project.install("tenure", await pack("tenure"));
});
test.after(() => {
  project[Symbol.dispose]();
});

const program = `
  import * as tenure from "tenure";
  import * as nn from "tenure/nn";
  import * as optim from "tenure/optim";
  import * as scheduler from "tenure/scheduler";
  export { summary } from "tenure/nn";
  export { init } from "tenure";
  export const classes = { ...tenure, ...nn, ...optim, ...scheduler };
`;

interface Bundle {
  init(options: { device: "null" }): Promise<unknown>;
  summary(module: object, shape: readonly number[]): { toString(): string };
  readonly classes: Readonly<Record<string, unknown>>;
}

test("every class that extends another keeps its name", async () => {
  project.write("program.js", program);
  await bundlers["esbuild"]?.(project.folder, "program.js", "bundle.js");
  const { classes } = await load();
  const renamed = Object.entries(classes).flatMap(([name, value]) =>
    typeof value === "function" && extendsOne(value) && value.name !== name
      ? [`${name} is ${value.name}`]
      : [],
  );
  assert.equal(renamed, []);
});

test("errors and summaries say what they said before", async () => {
  const { classes, init, summary } = await load();
  await init({ device: "null" });
  const { Linear, ones } = classes as typeof import("tenure") & typeof import("tenure/nn");
  const layer = new Linear(2, 3);
  const input = ones([4, 2]);
  try {
    input.reshape([3]);
    assert.unreachable();
  } catch (error) {
    assert.is((error as Error).name, "ShapeError");
  }
  assert.match(String(summary(layer, [4, 2])), /Linear/);
  input.dispose();
  layer.dispose();
});

/** The bundle that the first test made. */
async function load(): Promise<Bundle> {
  return (await import(pathToFileURL(join(project.folder, "bundle.js")).href)) as Bundle;
}

/** Whether a class has a base of its own: those say their names. */
function extendsOne(value: object): boolean {
  const { prototype } = value as { prototype?: object };
  return (
    prototype !== undefined && /^class\b.* extends /.test(Function.prototype.toString.call(value))
  );
}

test.run();
