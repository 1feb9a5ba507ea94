/**
 * Records of objects that hold GPU objects, what functions return by a name, and what plain
 * JavaScript puts into the fields of its classes later. The marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("held records");
const finds = marked(test);

const passes = `export interface Pass { run(): void; destroy(): void }
function createPass(d: GPUDevice): Pass {
  const buffer = d.createBuffer({ size: 4 });
  return { run() { d.queue.writeBuffer(buffer, 0, {}); }, destroy() { buffer.destroy(); } };
}
interface Internal { chaos: Pass; width: number }
function build(d: GPUDevice, width: number): Internal {
  const chaos = createPass(d);
  return { chaos, width };
}
function destroyAll(p: Internal): void { p.chaos.destroy(); }
`;
finds(
  "a record of passes that a function leaves",
  `${passes}export function once(d: GPUDevice) {
  const p = build(d, 4); // !
  p.chaos.run();
}`,
  "webgpu",
);
finds(
  "records of passes that are ended",
  `${passes}export function once(d: GPUDevice) {
  const p = build(d, 4);
  p.chaos.run();
  p.chaos.destroy();
}
export function twice(d: GPUDevice) {
  const p = build(d, 4);
  p.chaos.run();
  destroyAll(p);
}
export class Kept {
  readonly p: Internal;
  constructor(d: GPUDevice) { this.p = build(d, 3); }
  run() { this.p.chaos.run(); }
  destroy() { destroyAll(this.p); }
}`,
  "webgpu",
);
const renderer = (kept: string, given: string): string =>
  `${passes}export interface Renderer { present(): void; destroy(): void }
export function createRenderer(d: GPUDevice): Renderer {
  ${kept} p = build(d, 4);
  ${given}
}
`;
const literal = "{ present() { p.chaos.run(); }, destroy() { destroyAll(p); } }";
const left = `export function once(d: GPUDevice) {
  const renderer = createRenderer(d); // !
  renderer.present();
}`;
finds("an object that ends a record", renderer("const", `return ${literal};`) + left, "webgpu");
finds(
  "an object with a name that ends a record",
  renderer("let", `const made: Renderer = ${literal}; return made;`) + left,
  "webgpu",
);
finds(
  "an object with a name that is ended",
  renderer("let", `const made: Renderer = ${literal}; return made;`) +
    left.replace(" // !", "").replace("present();", "present(); renderer.destroy();"),
  "webgpu",
);

const detection = `class Detection {
  constructor(params) { this.params = params; }
  async load() { this.w = await tf.zeros([1]); }
  detect(x) { return tf.tidy(() => this.w.add(x).dataSync()); }
  dispose() { if (this.w) this.w.dispose(); }
}
async function load(params) {
  const d = new Detection(params);
  await d.load();
  return d;
}
`;
finds(
  "an object of plain JavaScript that is loaded later",
  `${detection}async function run(x) {
  const d = await load({}); // !
  return d.detect(x)[0];
}
async function ended(x) {
  const d = await load({});
  try { return d.detect(x)[0]; } finally { d.dispose(); }
}`,
  "tfjs",
);
finds(
  "an object of plain JavaScript that holds nothing",
  `class Settings {
  constructor() { this.size = 0; }
  load(size) { this.size = size; }
  dispose() { this.size = 0; }
}
async function run() {
  const s = new Settings();
  s.load(3);
  return s.size;
}`,
  "tfjs",
);

test.run();
