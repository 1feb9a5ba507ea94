/**
 * What runs once: what a name says begins something, methods that fill each new object, and what
 * comes before an endless loop; and ends that stand under the test that made the value. Programs
 * for the preset `webgpu`.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("beginnings");
const finds = marked(test);
const webgpu = (name: string, code: string): void => {
  finds(name, code, "webgpu");
};

const backend = (name: string): string =>
  `export class Backend {
  data: GPUBuffer | null = null;
  readonly device: GPUDevice;
  constructor(d: GPUDevice) { this.device = d; }
  ${name}(size: number): void { this.data = this.device.createBuffer({ size }); } MARK
  destroy(): void { this.data?.destroy(); }
}`;
webgpu("a method that starts something", backend("renderStart").replace("MARK", ""));
webgpu("one that runs for each frame", backend("renderFrame").replace("MARK", "// !"));

const mesh = (use: string): string =>
  `export class Mesh {
  data?: GPUBuffer;
  readonly device: GPUDevice;
  constructor(d: GPUDevice) { this.device = d; }
  fromFile(file: { size: number }): void { this.fill(file.size); }
  fill(size: number): void { this.data = this.device.createBuffer({ size }); } MARK
}
export function load(d: GPUDevice, files: { size: number }[]): Mesh {
  const mesh = new Mesh(d);
  ${use}
  return mesh;
}`;
webgpu("what fills each new object", mesh("mesh.fromFile(files[0]!);").replace("MARK", ""));
webgpu(
  "what fills one again and again",
  mesh("for (const file of files) mesh.fromFile(file);").replace("MARK", "// !"),
);

const timed = (test: string): string =>
  `export async function run(d: GPUDevice, timed: boolean, done: boolean): Promise<number> {
  let times: GPUBuffer | undefined;
  if (timed) { times = d.createBuffer({ size: 16 }); } MARK
  await d.queue.onSubmittedWorkDone();
  if (${test}) { times!.destroy(); return 1; }
  return Number(done);
}`;
webgpu("an end under the same test", timed("timed").replace("MARK", ""));
webgpu("an end under another test", timed("done").replace("MARK", "// !"));

const early = (made: string, test: string): string =>
  `export function run(d: GPUDevice, timed: boolean, done: boolean): void {
  let times: GPUBuffer | null = null;
  ${made} MARK
  if (${test}) { console.log(done); return; }
  times?.destroy();
}`;
const buffer = "d.createBuffer({ size: 16 })";
webgpu(
  "a return where none is made",
  early(`if (timed) times = ${buffer};`, "!timed").replace("MARK", ""),
);
webgpu(
  "where a choice gives none",
  early(`times = timed ? ${buffer} : null;`, "!timed").replace("MARK", ""),
);
webgpu(
  "a return where a choice gives one",
  early(`times = timed ? null : ${buffer};`, "!timed").replace("MARK", "// !"),
);
webgpu(
  "a return for another reason",
  early(`if (timed) times = ${buffer};`, "!done").replace("MARK", "// !"),
);

const program = (loop: string): string =>
  `export async function main(d: GPUDevice, ready: boolean, frame: () => Promise<void>) {
  const data = d.createBuffer({ size: 4 }); MARK
  if (!ready) { console.log("not ready"); return; }
  ${loop} { await frame(); d.queue.writeBuffer(data, 0, new Float32Array(1)); }
}`;
webgpu("a loop that is not left", program("while (true)").replace("MARK", ""));
webgpu("a loop that ends", program("while (ready)").replace("MARK", "// !"));

const framed = (next: string): string =>
  `declare function requestAnimationFrame(f: () => void): number;
export function main(d: GPUDevice, ready: boolean) {
  const data = d.createBuffer({ size: 4 }); MARK
  if (!ready) { console.log("not ready"); return; }
  const frame = (): void => {
    d.queue.writeBuffer(data, 0, new Float32Array(1));
    ${next}
  };
  requestAnimationFrame(frame);
}`;
webgpu("a loop of frames", framed("requestAnimationFrame(frame);").replace("MARK", ""));
webgpu("a single frame", framed("").replace("MARK", "// !"));

webgpu(
  "a bind group that a helper without types makes",
  `const makeGroup = (device: any, entries: any) =>
  device.createBindGroup({ entries: entries.map((resource: any) => ({ resource })) });
export function pass(device: GPUDevice) {
  let group: any;
  const load = (): void => {
    const cells = device.createBuffer({ size: 4 });
    group = makeGroup(device, [{ buffer: cells }]);
  };
  load();
  return (): string => group.label;
}`,
);
test.run();
