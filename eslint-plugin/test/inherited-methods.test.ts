/**
 * Fields that methods of a base class end, or those that an heir writes anew: whoever calls them
 * has ended what the field held. Methods that only look at it change nothing.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("inherited methods");
const finds = marked(test);
const texture = `d.createTexture({ size: [8], format: "rgba8unorm", usage: 16 })`;

finds(
  "an inherited method that ends a field",
  `class Base {
  protected depth?: GPUTexture; protected xs: GPUTexture[] = [];
  protected release(): void { this.depth?.destroy(); this.depth = undefined; }
  protected clear(): void { for (const x of this.xs) x.destroy(); this.xs = []; }
}
export class Big extends Base {
  resize(d: GPUDevice): void { this.release(); this.depth = ${texture}; }
  fill(d: GPUDevice): void { this.clear(); this.xs = [${texture}]; }
  destroy(): void { this.release(); this.clear(); }
}
export class Made extends Base {
  constructor(d: GPUDevice) { super(); this.depth = ${texture}; }
  destroy(): void { this.release(); }
}`,
  "webgpu",
);
finds(
  "a method that heirs write",
  `abstract class Base {
  protected depth?: GPUTexture;
  resize(d: GPUDevice): void { this.before(); this.depth = ${texture}; }
  protected abstract before(): void;
}
export class Big extends Base {
  protected override before(): void { this.depth?.destroy(); }
}`,
  "webgpu",
);
finds(
  "an inherited method that looks at a field",
  `class Base {
  protected depth?: GPUTexture;
  protected size(): number { return this.depth!.width; }
}
export class Big extends Base {
  resize(d: GPUDevice): void {
    const before = this.size();
    this.depth = ${texture}; // !
    if (before > 3) this.depth.createView();
  }
  destroy(): void { this.depth?.destroy(); }
}`,
  "webgpu",
);

finds(
  "a field that a getter gives",
  `export class Screen {
  #depth: GPUTexture | null = null;
  get depth(): GPUTexture | null { return this.#depth; }
  resize(d: GPUDevice): void { this.depth?.destroy(); this.#depth = ${texture}; }
  destroy(): void { this.depth?.destroy(); }
}
export class Shown {
  #depth: GPUTexture | null = null;
  get depth(): GPUTexture | null { return this.#depth; }
  resize(d: GPUDevice): number {
    const before = this.depth!.width;
    this.#depth = ${texture}; // !
    return before;
  }
  destroy(): void { this.#depth?.destroy(); }
}`,
  "webgpu",
);

test.run();
