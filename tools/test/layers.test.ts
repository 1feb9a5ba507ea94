/** The layer check on small source trees made here, and on the real one. Owns nothing. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { checkLayers, LAYERS } from "../layers.ts";

function breaches(tree: Record<string, string>, dependencies?: Record<string, string>): string[] {
  return checkLayers(
    new Map(Object.entries(tree)),
    dependencies === undefined ? {} : { dependencies },
  ).breaches;
}

const layers = suite("layers");

layers("a tree that follows the table passes, and is counted", () => {
  const report = checkLayers(
    new Map([
      ["base/shape.ts", "export const a = 1, b = 2;\nexport type C = number;\n"],
      [
        "ops/add.ts",
        `import { a } from "../base/shape.ts";\nimport type { K } from "../kernels/kernel.ts";\nexport const d = a; export type E = K;\n`,
      ],
      ["kernels/kernel.ts", "export interface K {}\n"],
      [
        "device/null.ts",
        `import type { K } from "../kernels/kernel.ts";\nexport default function (k: K): K { return k; }\n`,
      ],
      ["index.ts", `export { a, type C } from "./base/shape.ts";\nexport * from "./ops/add.ts";\n`],
    ]),
  );
  assert.equal(report.breaches, []);
  assert.equal(report.rows, [
    { layer: "base", files: 1, lines: 2, exports: 3 },
    { layer: "kernels", files: 1, lines: 1, exports: 1 },
    { layer: "ops", files: 1, lines: 3, exports: 2 },
    { layer: "device", files: 1, lines: 2, exports: 1 },
    { layer: "(entry points)", files: 1, lines: 2, exports: 3 },
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
  assert.is(first, "base/a.ts → base/b.ts → base/c.ts → base/a.ts: import each other in a circle");
  assert.match(breaches({ "base/a.ts": `import "./a.ts";` })[0] ?? "", /circle/);
});

layers("counts circles of types inside a folder, refuses them across folders", () => {
  const inside = checkLayers(
    new Map([
      ["base/a.ts", `import type {} from "./b.ts";`],
      ["base/b.ts", `import "./a.ts";`],
    ]),
  );
  assert.equal(inside.breaches, []);
  assert.equal(inside.typeCycles, [["base/a.ts", "base/b.ts"]]);
  const across = breaches({
    "base/a.ts": `import type {} from "../graph/b.ts";`,
    "graph/b.ts": `import "../base/a.ts";`,
  });
  assert.ok(
    across.some((line) => line.includes("across folders")),
    across.join("\n"),
  );
});

layers("only the door names the guarded packages, inside import()", () => {
  assert.equal(
    breaches({
      "device/acquire.ts": `export const gpu = () => import("webgpu"); export const soft = "tenure-software-gpu"; export type G = import("webgpu").X;`,
    }),
    [],
  );
  assert.match(
    breaches({ "device/acquire.ts": `import { create } from "webgpu"; create;` })[0] ?? "",
    /must be dynamic/,
  );
  for (const text of [
    `import("webgpu");`,
    `import type {} from "webgpu";`,
    `const name = "tenure-software-gpu"; import(name);`,
  ]) {
    assert.match(
      breaches({ "device/other.ts": text })[0] ?? "",
      /names (webgpu|tenure-software-gpu), which only device\/acquire\.ts may/,
    );
  }
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
      "data/a.ts": `import type { Stats } from "node:fs"; export const fs = () => import("node:fs"); export type S = Stats;`,
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
