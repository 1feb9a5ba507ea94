/**
 * What a function takes out of a field, or of a variable around it, and ends at its end: it is the
 * function's own from there on. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("what is taken out of a field");
const R = "require-disposal";
const webgpu = casesOf(test);

const one = (body: string): string =>
  "export class One {\n#b: GPUBuffer | null = null;\nconstructor(readonly d: GPUDevice) {}\n" +
  "fill() { this.#b?.destroy(); this.#b = this.d.createBuffer({ size: 4 }); }\n" +
  `swap(skip: boolean) {\n${body} }\ndestroy() { this.#b?.destroy(); } }`;
const take = "const old = this.#b;\nthis.#b = null;\n";
const end = "old?.destroy();";

webgpu("an early return leaves it", one(`${take}if (skip) return;\n${end}`), [R]);
webgpu("an early return ends it", one(`${take}if (skip) { ${end} return; }\n${end}`), []);
webgpu(
  "an early return puts it back",
  one(`${take}if (skip) { this.#b = old; return; } ${end}`),
  [],
);
webgpu("an early return where there is none", one(`${take}if (!old) return;\nold.destroy();`), []);
webgpu("it goes on to somebody else", one(`${take}if (skip) return old;\n${end} return null;`), []);
webgpu(
  "it stays where it is until then",
  one(`const old = this.#b;\nif (skip) return;\nthis.#b = null; ${end}`),
  [],
);

const many = (body: string): string =>
  "export class Many {\n#all: GPUBuffer[] = [];\nconstructor(readonly d: GPUDevice) {}\n" +
  "add() { this.#all.push(this.d.createBuffer({ size: 4 })); }\n" +
  `flush(skip: boolean) {\n${body} }\n` +
  "destroy() { for (const b of this.#all) b.destroy(); } }";
const takeAll = "const old = this.#all;\nthis.#all = [];\n";
const endAll = "for (const b of old) b.destroy();";

webgpu("an early return leaves a list", many(`${takeAll}if (skip) return;\n${endAll}`), [R]);
webgpu(
  "an early return where it is empty",
  many(`${takeAll}if (!old.length) return;\n${endAll}`),
  [],
);
webgpu("a list is ended", many(`${takeAll}${endAll}`), []);

webgpu(
  "a flag says that somebody else has it",
  one(`${take}if (!this.isOwn) return;\n${end}`).replace("fill()", "isOwn = true; fill()"),
  [],
);
webgpu(
  "a list is counted first",
  many(`${takeAll}const n = old.length;\nif (n === 0) return;\n${endAll}`),
  [],
);

test.run();
