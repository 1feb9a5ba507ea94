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

test.run();
