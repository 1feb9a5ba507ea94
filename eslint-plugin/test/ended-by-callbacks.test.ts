/**
 * Values that others end: who gets them with a function that does so, later, or has them in hand as
 * the keys of a table. Beside each the same with somebody who does not.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("ended by callbacks");
const webgpu = casesOf(test);

/** A texture that is made anew; the old one goes to `later` with `callback`, or as `call` says. */
const resized = (callback: string, call = `Later.run(this.t, ${callback});`): string =>
  "class Later { static run(what: any, then: (what: any) => void): void {\n" +
  "setTimeout(() => { then(what); }, 5000); } }\n" +
  "export class Film { private t: GPUTexture; constructor(readonly d: GPUDevice) {\n" +
  "this.t = d.createTexture({}); }\n" +
  `resize(label: string): void { ${call}\n` +
  "this.t = this.d.createTexture({ label }); }\n" +
  "view(): GPUTextureView { return this.t.createView(); } destroy(): void { this.t.destroy(); } }";

webgpu("later", resized("(old) => { old.destroy(); }"), []);
webgpu("later, by a function expression", resized("function (old) { old.destroy(); }"), []);
webgpu("that only look", resized("(old) => { console.log(old.width); }"), [
  "no-overwritten-tensor",
]);
webgpu(
  "beside another value, which may be the one that is ended",
  resized("", "Later.run(this.d.createTexture({}), (old) => { old.destroy(); });"),
  ["no-overwritten-tensor"],
);

/** A table of buffers by `key`, and a method that takes one out. */
const tracker = (key: string, out: string): string =>
  `export class Tracker { #all = new Map<${key}, { buffer: GPUBuffer; bytes: number }>();\n` +
  "constructor(readonly d: GPUDevice) {}\n" +
  "make(size: number, name: string): GPUBuffer { const buffer = this.d.createBuffer({ size });\n" +
  `this.#all.set(${key === "string" ? "name" : "buffer"}, { buffer, bytes: size });\n` +
  `return buffer; }\n${out}\n` +
  "destroy(): void { for (const { buffer } of this.#all.values()) buffer.destroy();\n" +
  "this.#all.clear(); } }";

webgpu(
  "by who has the key of a table, which is the value",
  tracker("GPUBuffer", "release(buffer: GPUBuffer): void { this.#all.delete(buffer); }"),
  [],
);
webgpu(
  "by nobody who has a name for it",
  tracker("string", "release(name: string): void { this.#all.delete(name); }"),
  ["no-dropped-element"],
);

test.run();
