/**
 * The preset for WebGPU objects on what programs of strangers do that is right: each case has the
 * leak next to it, which must be found.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("webgpu, programs of strangers");
const R = "require-disposal";
const O = "no-overwritten-tensor";
const webgpu = casesOf(test);

const grid = (rest: string): string =>
  "export class Grid { private back!: GPUBuffer; constructor(readonly d: GPUDevice) { " +
  "this.prepare(); } private prepare() { this.back = this.d.createBuffer({ size: 4 }); } " +
  `destroy() { this.back.destroy(); } ${rest} }\n` +
  "export function onClick(d: GPUDevice) { for (;;) { const g = new Grid(d); g.destroy(); } }";
webgpu("a method that only the constructor calls fills each object once", grid(""), []);
webgpu("one that is called again and again", grid("run() { for (;;) this.prepare(); }"), [O]);

const view = (loop: string): string =>
  "class View { gpu: GPUBuffer | null = null; upload(d: GPUDevice) { this.gpu = " +
  "d.createBuffer({ size: 4 }); } }\nexport function load(d: GPUDevice, views: View[]) { " +
  `${loop} }`;
webgpu(
  "each object of a list by its place",
  view("for (let i = 0; i < views.length; i++) { views[i]!.upload(d); }"),
  [],
);
webgpu(
  "the same object of a list again and again",
  view("const k = 0; for (let i = 0; i < views.length; i++) { views[k]!.upload(d); }"),
  [O],
);

const bind =
  "interface Group { groups: GPUBindGroup[] }\nfunction describe(parts: { buffer: GPUBuffer }[][]" +
  ", d: GPUDevice): Group { const groups: GPUBindGroup[] = []; for (let i = 0; i < parts.length; " +
  "i++) { const entries: any[] = []; for (let j = 0; j < parts[0]!.length; j++) { const e: any = " +
  "{}; e.resource = parts[i]![j]; entries.push(e); } groups.push(d.createBindGroup({ entries })" +
  "); } return { groups }; }\n";
webgpu(
  "a helper puts a list of buffers into bind groups that a later frame uses",
  bind +
    "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); const g = " +
    "describe([[{ buffer: b }]], d); return () => g.groups[0]; }",
  [],
);
webgpu(
  "a helper whose bind groups nobody uses",
  bind +
    "export function f(d: GPUDevice) { const b = d.createBuffer({ size: 4 }); const g = " +
    "describe([[{ buffer: b }]], d); return g === undefined; }",
  [R],
);
webgpu(
  "a helper that only looks at a list of buffers",
  "function total(parts: { buffer: GPUBuffer }[][]) { let n = 0; for (let i = 0; i < " +
    "parts.length; i++) n += parts[i]![0]!.buffer.size; return n; }\nexport function f(d: " +
    "GPUDevice) { const b = d.createBuffer({ size: 4 }); return total([[{ buffer: b }]]); }",
  [R],
);
test.run();
