/**
 * Render bundles of WebGPU, which go on using what their encoder was given: kept, their buffers are
 * nobody's to end; used up at once, they are.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("render bundles");
const webgpu = casesOf(test);

const types = `interface GPURenderBundle { label: string }
interface GPURenderBundleEncoder {
  setVertexBuffer(i: number, b: GPUBuffer): void; draw(n: number): void; finish(): GPURenderBundle;
}
interface GPUDevice { createRenderBundleEncoder(d: object): GPURenderBundleEncoder }
interface GPURenderPassEncoder { executeBundles(all: GPURenderBundle[]): void }
`;
/** A method that makes a buffer and records with it. */
const recorded = (after: string, encoder = "d.createRenderBundleEncoder({})"): string =>
  `${types}export class Quad { bundle: GPURenderBundle | null = null; parts: object = {};\n` +
  "make(d: GPUDevice, p: GPURenderPassEncoder): GPURenderBundle | number {\n" +
  `const b = d.createBuffer({ size: 4 }); const e = ${encoder};\n` +
  `e.setVertexBuffer(0, b); e.draw(3); ${after} } }`;
const R = ["require-disposal"];

webgpu("a bundle in a field", recorded("this.bundle = e.finish(); return 1;"), []);
webgpu("a bundle in a record", recorded("this.parts = { top: e.finish() }; return 1;"), []);
webgpu("a bundle for the caller", recorded("const done = e.finish(); return done;"), []);
webgpu(
  "a bundle that a function of its own records",
  recorded("rest(e); this.bundle = e.finish(); return 1;").replace(
    "e.setVertexBuffer(0, b);",
    "function rest(p: GPURenderBundleEncoder): void { p.setVertexBuffer(0, b); }",
  ),
  [],
);
webgpu("a bundle used at once", recorded("p.executeBundles([e.finish()]); return 1;"), R);
webgpu("a bundle that nobody takes", recorded("e.finish(); return 1;"), R);
webgpu(
  "an encoder of another kind",
  recorded("return e.finish();", "other()") + "\ndeclare function other(): GPURenderBundleEncoder;",
  R,
);

test.run();
