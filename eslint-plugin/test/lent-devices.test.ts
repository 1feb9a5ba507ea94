/**
 * Records that have a device beside what it made, where another record takes their place. Each is
 * a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("lent devices");
const finds = marked(test);

/** A module's record that is made anew for another size. */
const cached = (given: string, before: string, mark = ""): string => `
interface Cache { device: GPUDevice; texture: GPUTexture; w: number }
let cache: Cache | null = null;
const make = (d: GPUDevice, w: number): GPUTexture =>
  d.createTexture({ size: [w, w], format: "rgba8unorm", usage: 4 });
export function ensure(device: GPUDevice, w: number): Cache {
  if (!cache || cache.w !== w) {
    ${before}
    cache = { device, w, texture: ${given} };${mark}
  }
  return cache;
}
`;
const made = "make(device, w)";
finds("what another record takes the place of", cached(made, "", " // !"), "webgpu");
finds("what is ended before", cached(made, "cache?.texture.destroy();"), "webgpu");
finds("what the next record takes over", cached(`cache?.texture ?? ${made}`, ""), "webgpu");

/** A module's record whose device goes on into the next one. */
const carried = (given: string, before: string, mark = ""): string => `
interface Cache { device: GPUDevice; texture: GPUTexture; w: number }
let cache: Cache | null = null;
const make = (d: GPUDevice, w: number): GPUTexture =>
  d.createTexture({ size: [w, w], format: "rgba8unorm", usage: 4 });
export async function ensure(adapter: GPUAdapter, w: number): Promise<Cache> {
  if (!cache) {
    const device = await adapter.requestDevice();
    cache = { device, texture: make(device, w), w };
  } else if (cache.w !== w) {
    ${before}
    cache = { device: cache.device, w, texture: ${given} };${mark}
  }
  return cache;
}
`;
const next = "make(cache.device, w)";
finds("what goes while its device goes on", carried(next, "", " // !"), "webgpu");
finds("the same, ended before", carried(next, "cache.texture.destroy();"), "webgpu");
finds("what goes on with its device", carried("cache.texture", ""), "webgpu");
finds(
  "what is ended under a name afterwards",
  carried(next, "const old = cache.texture; queueMicrotask(() => old.destroy());"),
  "webgpu",
);

test.run();
