/**
 * The declarations as they are packed, in a program that checks libraries too, with and without
 * `dom`. With the repository's own compiler; `npm run consumers -- compilers` tries the others.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { compile, program } from "../compilers.ts";
import { pack, Project } from "../packed.ts";

const test = suite("declarations");
const compiler = join(createRequire(import.meta.url).resolve("typescript"), "../tsc.js");
const project = new Project();
test.before(async () => {
  project.install("tenure", await pack("tenure")).write("program.ts", program);
});
test.after(() => {
  project[Symbol.dispose]();
});

for (const dom of [true, false])
  test(`hold with skipLibCheck: false, ${dom ? "with" : "without"} dom`, async () => {
    const setting = { resolution: "nodenext", module: "nodenext", dom };
    assert.equal(await compile(project, compiler, setting), []);
  });

test("an error in them would be told", async () => {
  project.write("node_modules/tenure/dist/index.d.ts", "export declare const x: GPUNothing;");
  const setting = { resolution: "nodenext", module: "nodenext", dom: true };
  const errors = await compile(project, compiler, setting);
  assert.ok(errors.some((error) => error.includes("Cannot find name 'GPUNothing'")));
});

test.run();
