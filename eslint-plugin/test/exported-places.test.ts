/**
 * Places that other files can name: records and variables that a module exports, static fields of
 * an exported class. They own what they hold while the other files only look at it.
 */
import { suite } from "uvu";
import type { TenureSettings } from "../src/index.ts";
import { lintOne } from "./several-files.ts";
import { assert } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

const test = suite("exported places");
const settings: TenureSettings = { presets: ["webgpu"] };
const lost = ["no-overwritten-tensor"];
const texture = `createTexture({ size: [w, h], format: "depth24plus", usage: 16 })`;

const record = `export const app = { device: null! as GPUDevice, depth: null as GPUTexture | null };
export function resize(w: number, h: number): void { app.depth = app.device.${texture}; }
`;
const variable = `export let depth: GPUTexture | null = null;
export function resize(device: GPUDevice, w: number, h: number): void {
  depth = device.${texture};
}
`;
const fields = `export class App {
  static device: GPUDevice;
  static depth: GPUTexture | undefined;
  static resize(w: number, h: number): void { App.depth = App.device.${texture}; }
}
`;
const script = `export class App {
  static resize(w, h) { App.depth = App.device.${texture}; }
}
`;

/** What another file does with a place, and whether the place still loses what it held. */
const others: Record<string, [place: string, use: string, isLost: boolean]> = {
  "a record that nobody else names": [record, "export {};", true],
  "a record that another file looks at": [
    record,
    `import { app } from "./state"; export const wide = (): boolean => app.depth!.width > 3;`,
    true,
  ],
  "a record whose texture another file ends": [
    record,
    `import { app, resize } from "./state";
export const grow = (): void => { app.depth?.destroy(); resize(3, 4); };`,
    false,
  ],
  "the same by another name": [
    record,
    `import { app as mine, resize } from "./state";
export const grow = (): void => { mine.depth?.destroy(); resize(3, 4); };`,
    false,
  ],
  "the same by the name of its module": [
    record,
    `import * as state from "./state";
export const grow = (): void => { state.app.depth?.destroy(); state.resize(3, 4); };`,
    false,
  ],
  "the same by a pattern": [
    record,
    `import { app, resize } from "./state";
export const grow = (): void => { const { depth } = app; depth?.destroy(); resize(3, 4); };`,
    false,
  ],
  "a record that another file hands on": [
    record,
    `import { app } from "./state"; declare function clean(all: object): void; clean(app);`,
    false,
  ],
  "a variable that another file looks at": [
    variable,
    `import { depth } from "./state"; export const wide = (): boolean => depth!.width > 3;`,
    true,
  ],
  "a variable that another file ends": [
    variable,
    `import { depth, resize } from "./state";
export const grow = (d: GPUDevice): void => { depth?.destroy(); resize(d, 3, 4); };`,
    false,
  ],
  "a static field that nobody else names": [fields, "export {};", true],
  "a static field that another file ends": [
    fields,
    `import { App } from "./state";
export const grow = (): void => { App.depth?.destroy(); App.resize(3, 4); };`,
    false,
  ],
  "a static field that a subclass ends": [
    fields,
    `import { App } from "./state";
export class Big extends App {
  static grow(): void { this.depth?.destroy(); super.resize(3, 4); }
}`,
    false,
  ],
};

for (const [name, [place, use, isLost]] of Object.entries(others))
  test(name, () => {
    const files = { "gpu.d.ts": gpuTypes, "state.ts": place, "main.ts": use };
    assert.equal(lintOne(files, "state.ts", settings), isLost ? lost : []);
  });

test("what a package offers is everybody's", () => {
  const files = {
    "package.json": `{ "name": "app", "main": "index.ts" }`,
    "gpu.d.ts": gpuTypes,
    "state.ts": record,
    "index.ts": `export * from "./state";`,
  };
  assert.equal(lintOne(files, "state.ts", settings), []);
});

test("static fields that a script nowhere declares", () => {
  const grow = (end: string): string =>
    `import { App } from "./state.js";\n` +
    `addEventListener("resize", () => { ${end}App.resize(3, 4); });`;
  const lint = (end: string): string[] =>
    lintOne({ "state.js": script, "main.js": grow(end) }, "state.js", settings);
  assert.equal(lint(""), lost);
  assert.equal(lint("App.depth.destroy(); "), []);
  const own = script.replace("{ App.depth =", "{ App.depth?.destroy(); App.depth =");
  assert.equal(lintOne({ "state.js": own, "main.js": grow("") }, "state.js", settings), []);
});

test.run();
