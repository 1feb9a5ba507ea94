/**
 * The packed packages train in Node, by `import`, by `require` and in a worker thread, on the
 * packaged adapter. The same program as in `npm run consumers -- hosts`, with `webgpu` from this
 * repository.
 */
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { faultOf, files, tell } from "../hosts.ts";
import { pack, Project } from "../packed.ts";

const root = join(import.meta.dirname, "../../..");
const test = suite("packed training");
const project = new Project();
test.before(async () => {
  for (const name of ["tenure", "tenure-software-gpu"] as const)
    project.install(name, await pack(name));
  for (const name of ["webgpu", "@sparticuz/chromium"]) {
    const link = join(project.folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(installed(name), link);
  }
  for (const name of ["train.mjs", "run.mjs", "run.cjs", "worker.mjs"] as const)
    project.write(name, files[name]);
});
test.after(() => {
  project[Symbol.dispose]();
});

/** Where npm put a package of the repository: for one workspace, or for all. */
function installed(name: string): string {
  const places = ["packages/software-gpu/node_modules", "node_modules"];
  const found = places.map((place) => join(root, place, name)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`expected ${name} to be installed`);
  return found;
}

for (const [how, file] of [
  ["import", "run.mjs"],
  ["require", "run.cjs"],
  ["import in a worker thread with an environment of its own", "worker.mjs"],
] as const)
  test(`runs by ${how}`, async () => {
    const told = await tell(project, [process.execPath, file], "software");
    assert.is(faultOf(told), undefined);
    assert.is(told.source ?? told.message, "packaged SwiftShader");
  });

test.run();
