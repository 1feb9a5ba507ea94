/**
 * What the tests of a program say of it: they make stand-ins, call everything and end by hand what
 * the program leaves, none of which tells how the program itself uses a thing.
 */
import { suite } from "uvu";
import type { TenureSettings } from "../src/index.ts";
import { lintOne } from "./several-files.ts";
import { assert } from "./tester.ts";
import { gpuTypes } from "./webgpu-cases.ts";

const test = suite("stand-ins");
const settings: TenureSettings = { presets: ["webgpu"] };

const painter = `export interface Painter { draw(): void; destroy(): void }
export function createPainter(device: GPUDevice): Painter {
  const data = device.createBuffer({ size: 4, usage: 1 });
  return { draw() { console.log(data.size); }, destroy() { data.destroy(); } };
}
`;
const user = `import { createPainter } from "./painter";
export async function show(device: GPUDevice): Promise<void> {
  const painter = createPainter(device);
  await Promise.resolve();
  painter.draw();
}
`;
const standIn = `import type { Painter } from "./painter";
export const fake = (): Painter => ({ draw() {}, destroy() {} });
export function plain(): Painter { return { draw() {}, destroy() {} }; }
`;
const screen = `export class Screen {
  depth: GPUTexture | undefined;
  constructor(readonly device: GPUDevice) {}
  resize(w: number): void { this.depth = this.device.createTexture({ size: [w, w] }); }
}
export const open = (screen: Screen): void => {
  addEventListener("resize", () => { screen.resize(innerWidth); });
};
`;
const ender = `import { Screen } from "./screen";
export function check(device: GPUDevice): void {
  const screen = new Screen(device);
  screen.resize(3); screen.depth?.destroy();
  screen.resize(4); screen.depth?.destroy();
}
`;
const dom = `declare const innerWidth: number;
declare function addEventListener(name: string, run: () => void): void;
declare const console: { log(...all: unknown[]): void };
`;

/** The rules that report on a file of a program, beside which stands one of a name. */
const beside = (files: Record<string, string>, name: string, text: string): string[] =>
  lintOne(
    { "gpu.d.ts": gpuTypes + dom, ...files, [name]: text },
    Object.keys(files).at(-1) ?? "",
    settings,
  );

test("a stand-in of a test for what a factory gives", () => {
  const files = { "painter.ts": painter, "user.ts": user };
  assert.equal(beside(files, "painter.test.ts", standIn), ["require-disposal"]);
  assert.equal(beside(files, "plain.ts", standIn), []);
});

test("a field that only a test ends", () => {
  const files = { "screen.ts": screen };
  assert.equal(beside(files, "screen.test.ts", ender), ["no-overwritten-tensor"]);
  assert.equal(beside(files, "panel.ts", ender), []);
});

test.run();
