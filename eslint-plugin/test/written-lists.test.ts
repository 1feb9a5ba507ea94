/**
 * Lists that are written out with what is made for them, in the place of the ones before. Each is
 * a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("written lists");
const finds = marked(test);

/** A module that has a pair of buffers. */
const pair = (name: string, before: string, mark = "", more = ""): string => `
const make = (d: GPUDevice, size: number): GPUBuffer => d.createBuffer({ size });
let pair: GPUBuffer[] = [];
let last: GPUBuffer[] = [];
const all: GPUBuffer[][] = [];
export function ${name}(device: GPUDevice, n: number): void {
  ${before}
  pair = [make(device, n), make(device, 2 * n)];${mark}
  ${more}
}
export const sizeAt = (i: number): number | undefined => pair[i]?.size ?? last[i]?.size;
export function drop(): void {
  for (const list of all) for (const b of list) b.destroy();
}
`;
finds("a pair that is made again", pair("resize", "", " // !"), "webgpu");
finds("a pair that is made once", pair("start", ""), "webgpu");
finds(
  "a pair that is ended before",
  pair("resize", "for (const b of pair) b.destroy();"),
  "webgpu",
);
finds("a pair that another list has, too", pair("resize", "", "", "all.push(pair);"), "webgpu");
finds(
  "a pair that is kept for one more turn",
  pair("resize", "last.forEach((b) => b.destroy());\n last = pair;"),
  "webgpu",
);

/** A program whose frames make a pair. */
const frames = (list: string, mark = ""): string => `
export function run(device: GPUDevice, shared: GPUBuffer): void {
  let pair: GPUBuffer[];
  function fill(): void {
    pair = [${list}];${mark}
  }
  function frame(): void {
    fill();
    device.queue.writeBuffer(pair[0]!, 0, new Float32Array(shared.size));
    requestAnimationFrame(frame);
  }
  requestAnimationFrame(frame);
}
`;
const made = "device.createBuffer({ size: 4 })";
finds("a pair for each frame", frames(`${made}, ${made}`, " // !"), "webgpu");
finds("a list of what there is", frames("shared, shared"), "webgpu");

test.run();
