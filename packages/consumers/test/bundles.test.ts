/**
 * Every subpath alone, and all of them together, installed from the packed package and bundled as
 * applications bundle them, do what they do unbundled: whatever needs the library's instance brings
 * the module that builds it, and what needs none comes alone. Errors and models keep their names.
 * Runs on the device that computes nothing.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { rollup } from "rollup";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { bundlers, webpackForDevelopment } from "../bundlers.ts";
import { pack, Project } from "../packed.ts";

const test = suite("bundles");
const project = new Project();
const device = process.env["TENURE_DEVICE"];
test.before(async () => {
  project.install("tenure", await pack("tenure"));
  process.env["TENURE_DEVICE"] = "null";
});
test.after(() => {
  if (device === undefined) delete process.env["TENURE_DEVICE"];
  else process.env["TENURE_DEVICE"] = device;
  project[Symbol.dispose]();
});

/** One training step, with data from a loader and without a word of `tenure` itself. */
const training = `
  const images = new ArrayDataset({
    x: { data: new Float32Array(8), shape: [2] },
    y: { data: new Float32Array(4), shape: [1] },
  });
  const model = new nn.Sequential(new nn.Linear(2, 3), new nn.ReLU(), new nn.Linear(3, 1));
  const optimizer = new Adam(model.parameters());
  let loss;
  for await (const { x, y } of new DataLoader(images, { batchSize: 2 })) {
    loss = nn.functional.mseLoss(model.call(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
  }
  await loss.item();
`;
const trainingImports = `
  import * as nn from "tenure/nn";
  import { Adam } from "tenure/optim";
  import { ArrayDataset, DataLoader } from "tenure/data";
`;

/** Programs by what they import; each returns what is told beside it. */
const programs: Readonly<Record<string, { readonly text: string; readonly result: unknown }>> = {
  tenure: {
    text: `
      import { tensor, memory, sync } from "tenure";
      export async function run() {
        const x = tensor([1, 2, 3], { requiresGrad: true });
        x.mul(2).sum().backward();
        await x.grad.data();
        await sync();
        return memory.stats().threadTotalLiveCount > 0;
      }`,
    result: true,
  },
  "setWarnSink alone": {
    text: `
      import { setWarnSink } from "tenure";
      export const run = async () => typeof setWarnSink(() => undefined);`,
    result: "function",
  },
  "plan alone": {
    text: `
      import { BudgetError, plan, programFromJSON } from "tenure/scheduler";
      export async function run() {
        const storages = [{ id: "a", bytes: 1024, role: "input", pinned: true }];
        const program = programFromJSON({ version: 1, storages, ops: [] });
        try { plan(program, { budgetBytes: 16 }); } catch (error) {
          return [error instanceof BudgetError, error.report];
        }
      }`,
    result: [true, "no memory is held: no tensor was made yet"],
  },
  "tenure/nn": {
    text: `
      import { Linear } from "tenure/nn";
      export async function run() {
        const layer = new Linear(2, 3);
        const weight = await layer.weight.data();
        layer.dispose();
        return weight.length;
      }`,
    result: 6,
  },
  "tenure/optim": {
    text: `
      import { SGD } from "tenure/optim";
      export async function run() {
        try {
          new SGD([], { lr: 0.1 });
        } catch (error) {
          return /at least one parameter/.test(error.message);
        }
      }`,
    result: true,
  },
  "tenure/data": {
    text: `
      import { ArrayDataset, DataLoader } from "tenure/data";
      export async function run() {
        const rows = new ArrayDataset({ x: { data: new Float32Array(6), shape: [2] } });
        const shapes = [];
        for await (const { x } of new DataLoader(rows, { batchSize: 2 })) {
          shapes.push(x.shape);
          await x.data();
        }
        return shapes;
      }`,
    result: [
      [2, 2],
      [1, 2],
    ],
  },
  "tenure/scheduler": {
    text: `
      import { Scheduler, BudgetError, plan, programFromJSON } from "tenure/scheduler";
      export async function run() {
        const program = programFromJSON({
          version: 1,
          storages: [
            { id: "a", bytes: 1024, role: "input", pinned: true },
            { id: "b", bytes: 1024, role: "output", pinned: true },
          ],
          ops: [{
            name: "copy", reads: ["a"], writes: ["b"],
            phase: "forward", layer: "", flops: 1, recomputable: true,
          }],
        });
        const scheduler = new Scheduler();
        await scheduler.step(() => 1);
        scheduler.dispose();
        try { plan(program, { budgetBytes: 16 }); } catch (error) {
          return [error instanceof BudgetError, /storages own/.test(error.report)];
        }
      }`,
    result: [true, true],
  },
  "tenure/testing": {
    text: `
      import { assertClose } from "tenure/testing";
      export async function run() {
        await assertClose([1, 2], [1, 2]);
        return assertClose([1, 2], [1, 3]).catch((error) => error.op);
      }`,
    result: "assertClose",
  },
  "tenure/nn, optim and data": {
    text: `
      ${trainingImports}
      export async function run() {
        ${training}
        let error;
        try { new nn.Linear(2, 3).call(images); } catch (thrown) { error = thrown; }
        const layers = [...model.children()].map(([, layer]) => layer),
          named = [...layers, model, optimizer].map((it) => it.constructor.name);
        return [optimizer.groups.length, error.name, ...named];
      }`,
    result: [1, "ArgumentError", "Linear", "ReLU", "Linear", "Sequential", "Adam"],
  },
  "all of them": {
    text: `
      ${trainingImports}
      import { memory, tensor } from "tenure";
      import { Scheduler } from "tenure/scheduler";
      import { assertNoLeaks } from "tenure/testing";
      export async function run() {
        ${training}
        const scheduler = new Scheduler();
        await scheduler.step(() => {
          optimizer.zeroGrad();
          model.call(tensor([[1, 2]])).sum().backward();
          optimizer.step();
        });
        return [scheduler.report().steps, typeof assertNoLeaks, memory.debug().planMisses > 0];
      }`,
    result: [1, "function", true],
  },
};

/** What the slower bundlers are tried with; esbuild is tried with everything. */
const telling: Readonly<Record<string, readonly string[]>> = {
  Rollup: ["tenure/nn, optim and data"],
  Vite: ["tenure/nn, optim and data"],
  webpack: ["tenure/nn, optim and data"],
};

for (const [bundler, bundle] of Object.entries(bundlers))
  for (const [name, { text, result }] of Object.entries(programs)) {
    if (telling[bundler]?.includes(name) === false) continue;
    test(`${name}, bundled with ${bundler}, runs`, async () => {
      const file = `${bundler}-${name.replace(/\W+/g, "-")}`;
      project.write(`${file}.js`, text);
      await bundle(project.folder, `${file}.js`, `${file}-bundle.js`);
      assert.equal(await runBundle(`${file}-bundle.js`), result);
    });
  }

for (const [bundler, bundle] of Object.entries(bundlers))
  test(`what needs no instance, bundled with ${bundler}, comes alone`, async () => {
    const file = `${bundler}-light`;
    project.write(
      `${file}.js`,
      `import { ShapeError } from "tenure";
       import { parseIdx } from "tenure/data";
       export async function run() {
         try { parseIdx(new Uint8Array(2)); } catch (error) {
           return [error.name, error instanceof ShapeError];
         }
       }`,
    );
    await bundle(project.folder, `${file}.js`, `${file}-bundle.js`);
    assert.equal(await runBundle(`${file}-bundle.js`), ["ArgumentError", false]);
    const { size } = statSync(join(project.folder, `${file}-bundle.js`));
    assert.ok(size < 4000, `${size} bytes`);
  });

test("Rollup's iife loads in a worker, which has no document", async () => {
  const input = project.write(
    "worker.js",
    `import { formatSite } from "./node_modules/tenure/dist/ownership/stack.js";
     globalThis.told = formatSite(null) ?? "nothing";`,
  );
  await using bundle = await rollup({ input });
  const { output } = await bundle.generate({ format: "iife" });
  const scope: { told?: string } = {};
  runInNewContext(output[0].code, scope);
  assert.is(scope.told, "nothing");
});

test("webpack's build for development names the line that made a tensor", async () => {
  project.write(
    "lines.js",
    `import { memory, ones } from "tenure";
     export async function run() {
       memory.track("full");
       const x = ones([3]);
       const [{ key }] = memory.live();
       x.dispose();
       return key;
     }`,
  );
  await webpackForDevelopment(project.folder, "lines.js", "lines-bundle.js");
  assert.match(String(await runBundle("lines-bundle.js")), /^webpack.*\/lines\.js.*:\d+:\d+$/);
});

/** Loads a bundle and runs what it exports as `run`. */
async function runBundle(path: string): Promise<unknown> {
  const { href } = pathToFileURL(join(project.folder, path));
  const bundle = (await import(href)) as { run: () => Promise<unknown> };
  return bundle.run();
}

test.run();
