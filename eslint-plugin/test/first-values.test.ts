/**
 * Fields that get their first value from a helper of the constructor, whatever it is called, and
 * lists of records in a table that a loop ends and fills again.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("first values");
const finds = marked(test);

const geometry = (helper: string, rest = ""): string => `export class Geometry {
  private index?: { buffer: GPUBuffer; count: number };
  constructor(private device: GPUDevice, count: number) { this.handleIndices(count); }
  ${helper.replace(
    "{}",
    `{
    if (count === 0) return;
    const buffer = this.device.createBuffer({ size: count, usage: 1 });
    this.index = { buffer, count };${rest === "" && !helper.startsWith("handle") ? "" : " // !"}
  }`,
  )}
  ${rest}
  destroy() { this.index?.buffer.destroy(); }
}`;
finds("of the constructor alone", geometry("private handleIndices(count: number) {}"), "webgpu");
finds("of one that anybody calls", geometry("handleIndices(count: number) {}"), "webgpu");
finds(
  "called again",
  geometry("private handleIndices(count: number) {}", "more() { this.handleIndices(2); }"),
  "webgpu",
);

const pool = (loop: string, fill: string, type: string): string => `export class Pool {
  private pools = new Map<string, { textures: ${type}[] }>();
  constructor(private device: GPUDevice) {}
  private make(): GPUTexture { return this.device.createTexture({ usage: 1 }); }
  resize() {
    for (const [format, pool] of this.pools) {
      ${loop}
      ${fill}
      console.log(format);
    }
  }
  destroy() { for (const pool of this.pools.values()) console.log(pool.textures.length); }
}`;
const slot = "{ texture: GPUTexture; used: boolean }";
const again = "pool.textures = pool.textures.map(() => ({ texture: this.make(), used: false }));";
finds(
  "of the parts of a table's records",
  pool("for (const p of pool.textures) p.texture.destroy();", again, slot),
  "webgpu",
);
finds(
  "of the lists of a table's records",
  pool(
    "for (const p of pool.textures) p.destroy();",
    "pool.textures = pool.textures.map(() => this.make());",
    "GPUTexture",
  ),
  "webgpu",
);

test.run();
