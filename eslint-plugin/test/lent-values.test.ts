/**
 * Fields that are given what a function of the program has in a table: the place is not where such
 * a value is lost. Beside it the same field with values of its own alone.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("lent values");
const webgpu = casesOf(test);

/** A loader that keeps what it loads, or does not, and a class that shows what it gives. */
const shown = (known: string, keep: string): string =>
  "class Loader { #all = new Map<string, GPUTexture>(); constructor(readonly d: GPUDevice) {}\n" +
  `async load(url: string): Promise<GPUTexture> { ${known}\n` +
  `const t = this.d.createTexture({ label: url }); await Promise.resolve(); ${keep}\n` +
  "return t; }\n" +
  "destroy() { for (const t of this.#all.values()) t.destroy(); } }\n" +
  "export class Icon { private t: GPUTexture | null = null; loader: Loader;\n" +
  "constructor(readonly d: GPUDevice) { this.loader = new Loader(d); }\n" +
  "async show(url: string): Promise<void> {\n" +
  "if (url.length === 0) { this.t = this.d.createTexture({}); return; }\n" +
  "const loaded = await this.loader.load(url); this.t = loaded; }\n" +
  "size(): number { return this.t?.width ?? 0; }\n" +
  "destroy() { this.t?.destroy(); this.loader.destroy(); } }";

webgpu(
  "of a loader with a table",
  shown("const known = this.#all.get(url); if (known) return known;", "this.#all.set(url, t);"),
  [],
);
webgpu("of a loader that keeps nothing", shown("", ""), [
  "no-overwritten-tensor",
  "no-overwritten-tensor",
]);

test.run();
