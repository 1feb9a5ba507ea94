/**
 * Lists that another function fills: a helper of the function that has the list, or one that is
 * given it. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("lists filled elsewhere");
const R = "require-disposal";
const webgpu = casesOf(test);

const make = "d.createBuffer({ size: 4 })";
const of = (body: string, params = "d: GPUDevice"): string =>
  `export function run(${params}) {\nconst list: GPUBuffer[] = [];\n${body}\n}`;
const fill = `function fill(to: GPUBuffer[], d: GPUDevice) {\nto.push(${make}); }\n`;
const look = "for (const b of list) d.queue.writeBuffer(b, 0, {});";
const end = "for (const b of list) b.destroy();";
const add = `const add = () => {\nconst b = ${make}; list.push(b); return b; };`;

webgpu("by a function, and left", fill + of(`fill(list, d); ${look}`), [R]);
webgpu("by a function, and ended", fill + of(`fill(list, d); ${look} ${end}`), []);
webgpu("by a function, and returned", fill + of("fill(list, d); return list;"), []);
webgpu(
  "by a function that keeps it, too",
  `const all: GPUBuffer[][] = [];\nfunction fill(to: GPUBuffer[], d: GPUDevice) { all.push(to); ` +
    `to.push(${make}); }\n${of(`fill(list, d); ${look}`)}`,
  [],
);
webgpu("by a helper, and left", of(`${add}\nconst a = add(); add(); ${look} a.unmap();`), [R]);
webgpu("by a helper, and ended", of(`${add}\nadd(); add(); ${look} ${end}`), []);
webgpu(
  "by a helper, and left on one way",
  of(`${add}\nadd(); if (!go) return; ${look} ${end}`, "d: GPUDevice, go: boolean"),
  [R],
);
webgpu(
  "by a helper, and ended in finally",
  of(`${add}\ntry { add(); ${look} } finally { ${end} }`),
  [],
);
webgpu(
  "by a helper, and handed on",
  "class Held { constructor(readonly all: GPUBuffer[]) {} }\n" +
    of(`${add}\nadd(); return new Held(list);`),
  [],
);
webgpu(
  "by a helper, and ended by what is returned",
  of(`${add}\nadd(); return { destroy() { ${end} } };`),
  [],
);

test.run();
