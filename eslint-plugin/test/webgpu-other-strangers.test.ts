/**
 * The preset for WebGPU objects on what other programs of strangers do: each right one has the leak
 * next to it, which must be found. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("webgpu, programs of other strangers");
const R = "require-disposal";
const O = "no-overwritten-tensor";
const M = "require-member-disposal";
const T = "no-leaked-temporary";
const webgpu = casesOf(test);

const make = "d.createTexture({ size: [1] })";

// ---- names outside of a class ----

const material = (given: string): string =>
  `declare const d: GPUDevice;\nconst flat = ${make};\nexport class Material {\nown = ${make};\n` +
  `normal: GPUTexture = ${given};\nview() { return this.normal.createView(); }\n` +
  "destroy() { this.own.destroy(); } }";
webgpu("a field with what a name of the module has", material("flat"), []);
webgpu("a field with what is made for it", material(make), [M]);

// ---- lists that another class ends ----

const builder = (end: string): string =>
  `class Shape {\nconstructor(readonly parts: GPUTexture[]) {}\ndispose() { ${end} } }\n` +
  "export class Builder {\n#parts: GPUTexture[] = [];\nconstructor(readonly d: GPUDevice) {}\n" +
  "add() { this.#parts.push(this.d.createTexture({ size: [1] })); }\nbuild() {\nconst shape = " +
  "new Shape(this.#parts);\nthis.#parts = [];\nreturn shape; }\n" +
  "cancel() { for (const p of this.#parts) p.destroy(); this.#parts = []; } }";
webgpu("a list goes to who ends it", builder("this.parts.forEach((p) => p.destroy());"), []);
webgpu("a list goes to who looks at it", builder("this.parts.forEach((p) => p.width);"), [O]);

// ---- stacks ----

const stacked = (made: string): string =>
  "interface Ends { destroy(): void }\ndeclare const ends: DisposableStack;\n" +
  "const own = <T extends Ends>(t: T): T => ends.adopt(t, (x) => x.destroy());\n" +
  `export const width = (d: GPUDevice) => ${made}.width;`;
webgpu("what a helper hands on to a stack", stacked(`own(${make})`), []);
webgpu("what goes to no stack", stacked(make), [T]);

// ---- descriptors ----

const passes = (end: string): string =>
  "interface GPUPassTimestampWrites { querySet: GPUQuerySet }\n" +
  "interface Clock { begin(): GPUPassTimestampWrites; dispose(): void }\n" +
  "export function clock(d: GPUDevice): Clock {\n" +
  "const querySet = d.createQuerySet({ count: 2 });\n" +
  "const times = d.createBuffer({ size: 16 });\nreturn {\n" +
  "begin: () => ({ querySet }),\n" +
  `dispose() { times.destroy(); ${end} } }; }`;
webgpu("what a description of a pass names stays", passes(""), [M]);
webgpu("what a description of a pass names, ended", passes("querySet.destroy();"), []);

// ---- what nobody knows ----

const drawn = (name: string): string =>
  `declare function ${name}(t: GPUTexture): void;\nexport function run(d: GPUDevice) {\n` +
  `const t = ${make};\n${name}(t); return 1; }`;
webgpu("what is drawn by who knows whom", drawn("drawTile"), [R]);
webgpu("what is given to who knows whom", drawn("addTile"), []);

// ---- made anew ----

const view = (more: string): string =>
  "export class View {\n#depth: GPUTexture | null = null;\nconstructor(readonly d: GPUDevice) { " +
  "this.resize(1); }\nresize(n: number) { this.#depth = this.d.createTexture({ size: [n] }); }\n" +
  `destroy() { this.#depth?.destroy(); } }\n${more}`;
webgpu("what others may resize", view(""), [O]);
webgpu(
  "what the program makes, and never resizes",
  view("export const f = (d: GPUDevice) => new View(d);"),
  [],
);

const library = (name: string): string =>
  "export class Library {\n#all = new Map<string, GPUTexture>();\nconstructor(readonly d: " +
  `GPUDevice) {}\nasync ${name}(url: string) {\n` +
  "const image = await createImageBitmap(new Blob());\n" +
  "this.#all.set(url, this.d.createTexture({ size: [image.width] })); image.close(); }\n" +
  "destroy() { for (const t of this.#all.values()) t.destroy(); this.#all.clear(); } }";
webgpu("an entry that is loaded again", library("reload"), [O]);
webgpu("an entry that is loaded", library("load"), []);

// ---- what runs once, and what ends elsewhere ----

const framework = (call: string): string =>
  "export class Framework {\nconstructor(readonly d: GPUDevice) {}\nasync init() {}\n" +
  "async renderPng() { await this.init(); } }\nclass Shadow extends Framework {\n" +
  "b!: GPUBuffer;\nasync init() {\nthis.b = this.d.createBuffer({ size: 4 });\n" +
  "this.b.unmap(); } }\ndeclare const d: GPUDevice;\nconst s = new Shadow(d);\n" +
  call;
webgpu("a picture that a module makes once", framework("await s.renderPng();"), []);
webgpu("one for each call", framework("export const draw = () => s.renderPng();"), [O]);

const page =
  "class Editor { #b: GPUBuffer; constructor(d: GPUDevice) { this.#b = d.createBuffer({}); }\n" +
  "size() { return this.#b.size; } dispose() { this.#b.destroy(); } }\nexport class Program {\n" +
  "#editor?: Editor;\nconstructor() { addEventListener('unload', () => {\n" +
  "this.#editor?.dispose(); }); }\nmain(d: GPUDevice) {\n" +
  "this.#editor = new Editor(d); return this.#editor.size(); } }";
webgpu("what a listener of the constructor ends", page, []);

test.run();
