/**
 * Fields that are ended without their names: by a key, or by what a getter, method or generator of
 * the class gives; fields that are filled once because another says so; and records of lists that a
 * helper ends. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("other names");
const finds = marked(test);

/** A state of two tensors that is made anew. */
const state = (members: string, free: string, mark = ""): string => `
class State {
  constructor() { this.h = null; this.c = null; }
  ${members}
  reset(n) {
    this.free();
    this.h = tf.zeros([1, n]);${mark}
    this.c = tf.zeros([1, n]);${mark}
  }
  free() { ${free} }
  dispose() { tf.dispose([this.h, this.c]); }
}
const s = new State();
document.onclick = () => s.reset(3);
`;
const key = 'for (const k of ["h", "c"]) { this[k]?.dispose(); this[k] = null; }';
finds("by a key", state("", key), "tfjs");
finds(
  "by a getter",
  state("get all() { return [this.h, this.c]; }", "tf.dispose(this.all);"),
  "tfjs",
);
finds(
  "by a method",
  state("all() { return [this.h, this.c]; }", "for (const t of this.all()) t?.dispose();"),
  "tfjs",
);
finds(
  "by a generator",
  state("*all() { yield this.h; yield this.c; }", "for (const t of this.all()) t?.dispose();"),
  "tfjs",
);
finds("by nothing", state("", "this.n = 0;", " // !"), "tfjs");

/** A texture that is made where a layout is not there yet. */
const once = (test: string, more = "", mark = ""): string => `
export class Shadows {
  private layout: object | null = null;
  private dummy: GPUTexture | null = null;
  constructor(private readonly device: GPUDevice) {}
  update(): void {
    ${test}
    this.dummy = this.device.createTexture({ size: 4 });${mark}
    this.layout = { size: 4 };
  }
  ${more}
  destroy(): void {
    this.dummy?.destroy();
  }
}
`;
const guard = "if (this.layout) return;";
finds("what is made once", once(guard), "webgpu");
finds("what is made each time", once("", "", " // !"), "webgpu");
finds(
  "what is made again",
  once(guard, "clear(): void { this.layout = null; }", " // !"),
  "webgpu",
);

/** A table of records of lists. */
const table = (helper: string, mark = ""): string => `
interface Entry { read: GPUTexture[]; write: GPUTexture[] }
function end(entry: Entry): void { ${helper} }
export class Registry {
  private readonly sims = new Map<string, Entry>();
  constructor(private readonly device: GPUDevice) {}
  add(name: string): void {
    const make = () => this.device.createTexture({ size: 4 });
    this.sims.set(name, { read: [make()], write: [make()] });
  }
  remove(name: string): void {
    const entry = this.sims.get(name);
    if (!entry) return;
    end(entry);
    this.sims.delete(name);${mark}
  }
}
`;
finds(
  "lists of a record by one loop",
  table("for (const t of [...entry.read, ...entry.write]) t.destroy();"),
  "webgpu",
);
finds(
  "by two",
  table("for (const t of entry.read) t.destroy(); entry.write.forEach((t) => t.destroy());"),
  "webgpu",
);
finds("by none", table("console.log(entry.read.length);", " // !"), "webgpu");

const turns = (end: string, mark = ""): string => `
export function load(base, net) {
  for (let n = 0; n < 3; n++) {
    const image = n === 0 ? base : tf.image.flipLeftRight(base);${mark}
    net.addExample(image, 1);
    ${end}
  }
}
`;
finds("what may be new in a turn", turns("", " // !"), "tfjs");
finds("what is ended where it is", turns("if (n > 0) image.dispose();"), "tfjs");

const warm = (start: string, mark = ""): string => `
let net;
async function warm() {
  net ??= await tf.loadLayersModel("/model.json");
  tf.tidy(() => net.predict(tf.zeros([1, 4])));${mark}
}
${start}
`;
finds("what a page loses once in a scope", warm("warm();"), "tfjs");
finds(
  "what it loses at each click",
  warm('document.getElementById("b").addEventListener("click", warm);', " // !"),
  "tfjs",
);

const pile = (loop: string, mark = ""): string => `
export class Pile {
  readonly items: GPUBuffer[] = [];
  constructor(private readonly device: GPUDevice) {}
  add(): void {
    this.items.push(this.device.createBuffer({}));
  }
  *[Symbol.iterator](): Iterator<GPUBuffer> {
    yield* this.items;
  }
  destroy(): void {
    ${loop}
    this.items.length = 0;${mark}
  }
}
`;
finds("elements an object goes over itself", pile("for (const b of this) b.destroy();"), "webgpu");
finds("a list that nobody goes over", pile("", " // !"), "webgpu");

test.run();
