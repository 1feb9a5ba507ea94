/**
 * Values that are handed over with a function that ends them, to somebody who does so later. Beside
 * it the same call with a function that only looks.
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

test.run();
