/**
 * Functions that give back what they are given while that will do, and otherwise something new; and
 * records that functions are given to keep something in, which the end of their owner leaves. Each
 * is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("reused");
const finds = marked(test);

/** A class that asks for a buffer that is large enough. */
const sorter = (body: string, update: string): string => `
export function ensure(device: GPUDevice, size: number, old: GPUBuffer | null): GPUBuffer {
  ${body}
}
export class Sorter {
  private sorted: GPUBuffer | null = null;
  constructor(private readonly device: GPUDevice) {}
  update(count: number): void {
    ${update}
  }
  destroy(): void {
    this.sorted?.destroy();
  }
}
`;
const make = "return device.createBuffer({ size });";
const grown = `if (old && old.size >= size) return old;\n${make}`;
const store = "this.sorted = ensure(this.device, count, this.sorted);";
finds("one that grows", sorter(grown, `${store} // !`), "webgpu");
finds(
  "one that is chosen",
  sorter("return old && old.size >= size ? old : device.createBuffer({ size });", `${store} // !`),
  "webgpu",
);
finds(
  "one that asks for the other case",
  sorter(`if (!old || old.size < size) { ${make} }\nreturn old;`, `${store} // !`),
  "webgpu",
);
finds(
  "one that ends what is too small",
  sorter(`if (old && old.size >= size) return old;\nold?.destroy();\n${make}`, store),
  "webgpu",
);
finds(
  "one that only fills",
  sorter("return old ?? device.createBuffer({ size });", store),
  "webgpu",
);
finds(
  "one whose caller ends the other",
  sorter(grown, `const last = this.sorted;\n${store}\nif (last !== this.sorted) last?.destroy();`),
  "webgpu",
);
finds(
  "one that is ended before",
  sorter(
    grown,
    "if ((this.sorted?.size ?? 0) < count) { this.sorted?.destroy(); this.sorted = null; }\n" +
      store,
  ),
  "webgpu",
);
finds(
  "one that has another name",
  sorter(
    grown,
    `const { sorted: last } = this;\n${store}\nif (last !== this.sorted) last?.destroy();`,
  ),
  "webgpu",
);
finds(
  "one that a list has, too",
  sorter(
    "if (old && old.size >= size) return old;\nconst made = device.createBuffer({ size });\n" +
      "all.push(made);\nreturn made;",
    store,
  ) +
    "const all: GPUBuffer[] = [];\n" +
    "export const end = () => { for (const b of all) b.destroy(); };\n",
  "webgpu",
);
finds(
  "tensors",
  `import { zeros, type Tensor } from "tenure";
const fit = (old: Tensor, size: number): Tensor => {
  if (old.size >= size) return old; // !
  return zeros([size]);
};
export class Rows {
  private rows: Tensor = zeros([1]);
  grow(size: number): void {
    this.rows = fit(this.rows, size); // !
  }
  dispose(): void {
    this.rows.dispose();
  }
}
`,
);

const depth = `
interface Kept { texture?: GPUTexture }
function viewOf(device: GPUDevice, kept: Kept, width: number): GPUTextureView {
  if (!kept.texture || kept.texture.width !== width) {
    kept.texture?.destroy();
    kept.texture = device.createTexture({ width });
  }
  return kept.texture.createView();
}
`;
const pass = (end: string, mark = ""): string => `${depth}
export class Pass {
  private readonly kept: Kept = {};${mark}
  private readonly buffer: GPUBuffer;
  constructor(private readonly device: GPUDevice) {
    this.buffer = device.createBuffer({});
  }
  draw(encoder: GPUCommandEncoder, width: number): void {
    encoder.beginRenderPass({ view: viewOf(this.device, this.kept, width) }).end();
  }
  destroy(): void {
    this.buffer.destroy();
    ${end}
  }
}
`;
finds("a record that an end leaves", pass("", " // !"), "webgpu");
finds("one that it ends", pass("this.kept.texture?.destroy();"), "webgpu");
const closures = (end: string, mark = ""): string => `${depth}
export function createPass(device: GPUDevice) {
  const buffer = device.createBuffer({});
  const kept: Kept = {};${mark}
  return {
    draw(encoder: GPUCommandEncoder, width: number): void {
      device.queue.writeBuffer(buffer, 0, {});
      encoder.beginRenderPass({ view: viewOf(device, kept, width) }).end();
    },
    ${end}
  };
}
`;
finds(
  "a record that the end of an object leaves",
  closures("destroy() { buffer.destroy(); },", " // !"),
  "webgpu",
);
finds(
  "one that such an end frees",
  closures("destroy() { buffer.destroy(); kept.texture?.destroy(); },"),
  "webgpu",
);
finds("one of an object without an end", closures(""), "webgpu");

test.run();
