/**
 * Entry points over several packages of one workspace: a function that a package offers may be
 * called by programs nobody sees, so that a scope around each call site that can be seen proves
 * nothing; a function that a package keeps to itself is what its call sites say.
 */
import { suite } from "uvu";
import { lintOne } from "./several-files.ts";
import { assert } from "./tester.ts";

const test = suite("entry points");
const norm =
  `import type { Tensor } from "tenure";\nexport function norm(x: Tensor): Tensor { return ` +
  "x.mul(x).sum(); }\n";
const caller = (from: string): string =>
  `import { scoped, type Tensor } from "tenure";\nimport { norm } from "${from}";\n` +
  "export function run(x: Tensor): Tensor { return scoped(() => norm(x)); }\n";

test("a function that the package keeps to itself is in the scope of its callers", () => {
  const files = {
    "package.json": `{ "name": "app", "main": "src/index.ts" }`,
    "src/norm.ts": norm,
    "src/index.ts": caller("./norm.ts"),
  };
  assert.equal(lintOne(files, "src/norm.ts"), []);
});
test("a function that the package offers is an entry point", () => {
  const files = {
    "package.json": `{ "name": "app", "main": "src/index.ts" }`,
    "src/norm.ts": norm,
    "src/index.ts": `export * from "./norm.ts";\n${caller("./norm.ts")}`,
  };
  assert.equal(lintOne(files, "src/norm.ts"), ["require-caller-scope"]);
  assert.equal(lintOne(files, "src/norm.ts", { exportedFunctions: "assume-scoped" }), []);
});
for (const [what, offer] of Object.entries({
  "exports with conditions":
    `"exports": { ".": { "types": "./dist/index.d.ts", ` + `"import": "./dist/index.js" } }`,
  "a built main": `"main": "dist/index.js"`,
  "a namespace": `"main": "./lib/index.cjs"`,
})) {
  test(`offered through ${what}`, () => {
    const name = what === "a namespace" ? "index.cts" : "index.ts";
    const files = {
      "package.json": `{ "name": "app", ${offer} }`,
      "src/norm.ts": norm,
      [`src/${name}`]:
        what === "a namespace"
          ? `export * as maths from "./norm.ts";\n`
          : `export { norm } from "./norm.ts";\n`,
      "src/app.ts": caller("./norm.ts"),
    };
    assert.equal(lintOne(files, "src/norm.ts"), ["require-caller-scope"]);
  });
}
for (const [entry, file, rules] of [
  ["build/the-app.min.js", "src/TheApp.ts", ["require-caller-scope"]],
  ["dist/bundle.umd.cjs", "lib/index.ts", ["require-caller-scope"]],
  ["dist/bundle.js", "src/other.ts", []],
  ["server.js", "src/index.ts", []],
] as const) {
  test(`a bundle ${entry} of ${file}`, () => {
    const files = {
      "package.json": `{ "name": "app", "main": "${entry}" }`,
      "src/norm.ts": norm,
      [file]: `export { norm } from "../src/norm.ts";\n`,
      "src/app.ts": caller("./norm.ts"),
    };
    assert.equal(lintOne(files, "src/norm.ts"), rules);
  });
}
for (const [modifier, rules] of Object.entries({
  "": ["require-caller-scope"],
  "private ": [],
  "protected ": [],
})) {
  test(`a ${modifier || "public "}method of a class that the package offers`, () => {
    const files = {
      "package.json": `{ "name": "app", "main": "dist/index.js" }`,
      "src/norm.ts":
        `import { scoped, type Tensor } from "tenure";\nexport class Norm {\n` +
        `  ${modifier}of(x: Tensor): Tensor { return x.mul(x).sum(); }\n` +
        "  run(x: Tensor): Tensor { return scoped(() => this.of(x)); }\n}\n",
      "src/index.ts": `export { Norm } from "./norm.ts";\n`,
    };
    assert.equal(lintOne(files, "src/norm.ts"), rules);
  });
}
test("a method that another package calls is an entry point", () => {
  const files = {
    "packages/maths/package.json": `{ "name": "maths" }`,
    "packages/maths/src/norm.ts":
      `import type { Tensor } from "tenure";\nexport class Norm { of(x: Tensor): Tensor { ` +
      "return x.mul(x).sum(); } }\n",
    "packages/app/package.json": `{ "name": "app" }`,
    "packages/app/src/index.ts":
      `import { scoped, type Tensor } from "tenure";\nimport { Norm } from ` +
      `"../../maths/src/norm.ts";\nexport function run(n: Norm, x: Tensor): Tensor { ` +
      "return scoped(() => n.of(x)); }\n",
  };
  assert.equal(lintOne(files, "packages/maths/src/norm.ts"), ["require-caller-scope"]);
});
const table = (body: string): string =>
  `import { sync, type Tensor } from "tenure";\nexport const table = { async norm(x: Tensor) ` +
  `{ ${body} } };\n`;
const sum = "return x.mul(x).sum();";
test("a function that anybody may call is out of scopes where the program opens none", () => {
  const files = { "src/table.ts": table(sum) };
  assert.equal(lintOne(files, "src/table.ts"), ["no-leaked-temporary"]);
  assert.equal(lintOne(files, "src/table.ts", { exportedFunctions: "assume-scoped" }), []);
  const open = "newDisposeScope().dispose();\n";
  const scopes = { "src/main.ts": `import { newDisposeScope } from "tenure";\n${open}` };
  assert.equal(lintOne({ ...files, ...scopes }, "src/table.ts"), []);
});
test("behind an await no scope is open that ends with its callback", () => {
  const files = { "src/table.ts": table(`await sync(); ${sum}`), "src/norm.ts": norm };
  const run = { "src/run.ts": caller("./norm.ts") };
  assert.equal(lintOne({ ...files, ...run }, "src/table.ts"), ["no-leaked-temporary"]);
  const before = { "src/table.ts": table(`const y = x.mul(x).sum(); await sync(); return y;`) };
  assert.equal(lintOne({ ...files, ...run, ...before }, "src/table.ts"), []);
  const lasting =
    `import { newDisposeScope } from "tenure";\n` +
    "export function f() { using s = newDisposeScope(); return s.size; }\n";
  assert.equal(lintOne({ ...files, ...run, "src/last.ts": lasting }, "src/table.ts"), []);
});
test("without a package.json the call sites decide", () => {
  assert.equal(
    lintOne(
      { "src/norm.ts": norm, "src/index.ts": `export * from "./norm.ts";\n${caller("./norm.ts")}` },
      "src/norm.ts",
    ),
    [],
  );
});
test("entries that lead nowhere offer nothing", () => {
  const files = {
    "package.json":
      `{ "name": "app", "main": "src/missing.ts", "exports": { "./*": "./src/*.ts", ` +
      `"./none": null } }`,
    "src/norm.ts": norm,
    "src/index.ts": caller("./norm.ts"),
  };
  assert.equal(lintOne(files, "src/norm.ts"), []);
});
test.run();
