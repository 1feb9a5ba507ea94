/** The layer check on small source trees made here, and on the real one. Owns nothing. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { checkLayers } from "../layers/check.ts";
import { cycles } from "../layers/cycles.ts";
import { LAYERS } from "../layers/table.ts";

function breaches(tree: Record<string, string>, dependencies?: Record<string, string>): string[] {
  return checkLayers(
    new Map(Object.entries(tree)),
    dependencies === undefined ? {} : { dependencies },
  ).breaches;
}

const layers = suite("layers");

layers("a tree that follows the table passes, and is counted", () => {
  const typed = `import type { K } from "../kernels/kernel.ts";`;
  const report = checkLayers(
    new Map([
      ["base/shape.ts", "export const a = 1, b = 2;\nexport type C = number;\n"],
      ["ops/add.ts", `import { a } from "../base/shape.ts";\n${typed}\nexport const d = a;\n`],
      ["kernels/kernel.ts", "export interface K {}\n"],
      ["device/null.ts", `${typed}\nexport default function (k: K): K { return k; }\n`],
      ["index.ts", `export { a, type C } from "./base/shape.ts";\nexport * from "./ops/add.ts";\n`],
    ]),
  );
  assert.equal(report.breaches, []);
  assert.equal(report.rows, [
    { layer: "base", files: 1, lines: 2 },
    { layer: "kernels", files: 1, lines: 1 },
    { layer: "ops", files: 1, lines: 3 },
    { layer: "device", files: 1, lines: 2 },
    { layer: "(entry points)", files: 1, lines: 2 },
  ]);
});

const upward: Record<string, string> = {
  "an import": `import { x } from "../tensor/tensor.ts"; export const y = x;`,
  "a type import": `import type { X } from "../tensor/tensor.ts"; export type Y = X;`,
  "an inline type": `export type Y = import("../tensor/tensor.ts").X;`,
  "an import()": `export const y = () => import("../tensor/tensor.ts");`,
  "an import() with a template": "export const y = () => import(`../tensor/tensor.ts`);",
  "a re-export": `export { x } from "../tensor/tensor.ts";`,
  "a star": `export * from "../tensor/tensor.ts";`,
  "a side effect": `import "../tensor/tensor.ts";`,
};
for (const [what, text] of Object.entries(upward)) {
  layers(`refuses ${what} against the direction`, () => {
    assert.equal(
      breaches({
        "planner/fuse.ts": text,
        "tensor/tensor.ts": "export const x = 1; export type X = 1;",
      }),
      ["planner/fuse.ts: imports tensor/tensor.ts, which layer planner may not"],
    );
  });
}

layers("a layer with types only may not import values", () => {
  assert.match(
    breaches({
      "device/a.ts": `import { k } from "../kernels/k.ts"; k;`,
      "kernels/k.ts": "export const k = 1;",
    })[0] ?? "",
    /layer device may import only types/,
  );
});

layers("nobody imports an entry point", () => {
  assert.equal(breaches({ "nn/a.ts": `import "../index.ts";`, "index.ts": "export {};" }), [
    "nn/a.ts: imports index.ts, which layer nn may not",
  ]);
});

layers("finds circles of values, through any number of files and import()", () => {
  const [first] = breaches({
    "base/a.ts": `import "./b.ts";`,
    "base/b.ts": `export const load = () => import("./c.ts");`,
    "base/c.ts": `export * from "./a.ts";`,
    "base/d.ts": `import "./a.ts";`,
  });
  assert.is(first, "base/a.ts → base/b.ts → base/c.ts → base/a.ts: import each other");
  assert.match(breaches({ "base/a.ts": `import "./a.ts";` })[0] ?? "", /import each other/);
});

layers("finds circles that only types close, inside a folder and across", () => {
  assert.equal(
    breaches({
      "base/a.ts": `import type {} from "./b.ts";`,
      "base/b.ts": `import "./a.ts";`,
      "base/c.ts": `export type A = import("./a.ts").A;`,
    }),
    ["base/a.ts, base/b.ts: refer to each other's types in a circle"],
  );
  const across = breaches({
    "base/a.ts": `import type {} from "../graph/b.ts";`,
    "graph/b.ts": `import "../base/a.ts";`,
  });
  assert.ok(
    across.some((line) => line.includes("in a circle")),
    across.join("\n"),
  );
});

layers("groups of a graph are its strongly connected components", () => {
  const graph = (text: string): Map<string, string[]> =>
    new Map(text.split(" ").map((edges) => [edges.slice(0, 1), Array.from(edges.slice(1))]));
  assert.equal(cycles(graph("ab bc c")), []);
  assert.equal(cycles(graph("ab ba")), [["a", "b"]]);
  assert.equal(cycles(graph("aa b")), [["a"]]);
  // Two circles with one file in common are one group; a circle behind another is its own.
  assert.equal(cycles(graph("ab bac cb")), [["a", "b", "c"]]);
  assert.equal(cycles(graph("ab bac cd dc")), [
    ["c", "d"],
    ["a", "b"],
  ]);
  // A way into a finished group is no way back.
  assert.equal(cycles(graph("abc cb bd dbe e")), [["b", "d"]]);
  const chain = Array.from({ length: 20_000 }, (_, i) => [`f${i}`, [`f${i + 1}`]] as const);
  assert.equal(cycles(new Map(chain)), [], "a long chain needs no deep stack");
});

layers("a file name means one thing", () => {
  const tree = (...paths: string[]): string[] =>
    breaches(Object.fromEntries(paths.map((path) => [path, ""])));
  assert.equal(tree("nn/index.ts", "optim/index.ts"), []);
  assert.equal(tree("ops/conv.ts", "kernels/conv.ts", "nn/functional/conv.ts"), []);
  const [device] = tree("device/pool.ts", "kernels/pool.ts");
  assert.is(device, "device/pool.ts, kernels/pool.ts: the same file name for different things");
  assert.is(tree("kernels/rows/plan.ts", "kernels/tiles/plan.ts").length, 1);
});

layers(
  "only device/host-devices.ts names the packages that bring a device, inside import()",
  () => {
    assert.equal(
      breaches({
        "device/host-devices.ts": `export const gpu = () => import("webgpu");
        export const soft = "tenure-software-gpu"; export type G = import("webgpu").X;`,
      }),
      [],
    );
    assert.match(
      breaches({ "device/host-devices.ts": `import { create } from "webgpu"; create;` })[0] ?? "",
      /must be dynamic/,
    );
    for (const text of [
      `import("webgpu");`,
      `import type {} from "webgpu";`,
      `const name = "tenure-software-gpu"; import(name);`,
    ]) {
      assert.match(
        breaches({ "device/other.ts": text })[0] ?? "",
        /names (webgpu|tenure-software-gpu), which only device\/host-devices\.ts may/,
      );
    }
  },
);

layers("the tensor layer reaches the runtime through one file", () => {
  const runtime = { "runtime/flush.ts": "export const flush = 1;" };
  const text = `export { flush } from "../runtime/flush.ts";`;
  assert.equal(breaches({ ...runtime, "tensor/dispatch.ts": text }), []);
  for (const other of [text, `import type { flush } from "../runtime/flush.ts"; flush;`])
    assert.equal(breaches({ ...runtime, "tensor/run.ts": other }), [
      "tensor/run.ts: imports runtime/flush.ts, " +
        "which layer tensor imports only in tensor/dispatch.ts",
    ]);
  assert.equal(breaches({ ...runtime, "autograd/backward.ts": text }).length, 1);
});

layers("needs nothing at run time, and nothing that browsers lack", () => {
  assert.equal(breaches({}, { "left-pad": "1" }), [
    "package.json: depends on left-pad, but the package has no runtime dependencies",
  ]);
  assert.match(
    breaches({ "base/a.ts": `import "left-pad";` })[0] ?? "",
    /imports left-pad, but the package has no runtime dependencies/,
  );
  assert.match(
    breaches({ "data/a.ts": `import { readFileSync } from "node:fs"; readFileSync;` })[0] ?? "",
    /browsers do not have/,
  );
  assert.equal(
    breaches({
      "data/a.ts": `import type { Stats } from "node:fs"; export type S = Stats;
        export const fs = () => import("node:fs");`,
    }),
    [],
  );
});

layers("unknown folders and missing files are named", () => {
  assert.match(breaches({ "misc/a.ts": "" })[0] ?? "", /folder misc is not in the table/);
  assert.match(
    breaches({ "base/a.ts": `import "./gone.ts";` })[0] ?? "",
    /which does not exist in src/,
  );
});

layers("what an entry point hands on brings the wiring where it reaches the instance", () => {
  const tree = {
    "base/realm.ts": "export const current = 1;",
    "base/shape.ts": "export const a = 1;",
    "runtime/runtime.ts": `export { current as runtime } from "../base/realm.ts";`,
    "compose.ts": `import { runtime } from "./runtime/runtime.ts"; export const b = runtime;`,
    "index.ts": `export { a } from "./base/shape.ts"; export { tune } from "./runtime/tune.ts";`,
  };
  const tune = `export { runtime as tune } from "./runtime.ts";`;
  assert.equal(breaches({ ...tree, "runtime/tune.ts": tune }), [
    "runtime/tune.ts: is handed on by an entry point and reaches base/realm.ts: import compose.ts",
  ]);
  assert.equal(breaches({ ...tree, "runtime/tune.ts": `import "../compose.ts"; ${tune}` }), []);
});

layers("a class with a dispose method makes sure that its symbol is there", () => {
  const polyfills = { "base/polyfills.ts": "export const polyfilled = [];" };
  const text = "export class A { async [Symbol.asyncDispose](): Promise<void> {} }";
  assert.equal(breaches({ ...polyfills, "base/a.ts": text }), [
    "base/a.ts: has a class with a dispose method: import base/polyfills.ts",
  ]);
  assert.equal(breaches({ ...polyfills, "base/a.ts": `import "./polyfills.ts"; ${text}` }), []);
});

layers("the table itself has no circle", () => {
  const done = new Set<string>();
  for (let grew = true; grew;) {
    grew = false;
    for (const [layer, { imports, types = [] }] of Object.entries(LAYERS)) {
      if (done.has(layer) || ![...imports, ...types].every((below) => done.has(below))) continue;
      done.add(layer);
      grew = true;
    }
  }
  assert.equal([...done].sort(), Object.keys(LAYERS).sort());
});

layers.run();
