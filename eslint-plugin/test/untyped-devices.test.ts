/**
 * TypeScript in which the device is `any`: what is made with it says by what it is given that it is
 * a GPU object. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("untyped devices");
const finds = marked(test);

/** A class that makes a buffer anew for each size. */
const manager = (before: string, mark = ""): string => `
export class Manager {
  private device: any = null;
  private buffer: any = null;
  async init(): Promise<void> {
    const adapter = await (navigator as any).gpu.requestAdapter();
    this.device = await adapter.requestDevice();
  }
  resize(size: number): void {
    ${before}
    this.buffer = this.device.createBuffer({ size, usage: 128 });${mark}
  }
  size(): number { return this.buffer.size; }
  destroy(): void { this.buffer.destroy(); this.device.destroy(); }
}`;
finds("a buffer that another replaces", manager("", " // !"), "webgpu");
finds("one that is destroyed before", manager("this.buffer?.destroy();"), "webgpu");

/** A read back by a buffer of its own. */
const read = (end: string, mark = ""): string => `
export async function read(device: any, source: any, size: number): Promise<number[]> {
  const staging = device.createBuffer({ size, usage: 9 });${mark}
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(source, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(1);
  const out = Array.from(new Float32Array(staging.getMappedRange()));
  ${end}
  return out;
}`;
finds("a buffer to read back by", read("staging.unmap();", " // !"), "webgpu");
finds("one that is destroyed", read("staging.destroy();"), "webgpu");
finds("one that others get", read("source.pool.push(staging);"), "webgpu");

const others = `
declare const audio: any;
export function play(size: number): number {
  const buffer = audio.createBuffer(2, size, 44100);
  const pool = audio.createBuffer({ size });
  return buffer.length + pool.length;
}`;
finds("buffers of others", others, "webgpu");
const engine = `
declare const engine: any;
export function draw(): void {
  const vertices = engine.createBuffer({ usage: 1, size: 4 });
  engine.draw(vertices.size);
  vertices.dispose();
}`;
finds("buffers of an engine", engine, "webgpu");

test.run();
