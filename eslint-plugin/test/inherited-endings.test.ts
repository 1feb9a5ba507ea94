/**
 * Endings that a class inherits from one that has nothing to end: `dispose() {}` is for heirs to
 * write. Each case says which rules must report, in order of lines.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("endings inherited empty");
const M = "require-member-disposal";
const webgpu = casesOf(test);

/** A class of a name, with a base, that keeps a buffer. */
const heir = (name: string, base: string, more = ""): string =>
  `class ${name} extends ${base} {\n#b: GPUBuffer;\nconstructor(d: GPUDevice) { super(); ` +
  `this.#b = d.createBuffer({ size: 4 }); }\ndraw() { return this.#b.size; }\n${more} }\n`;
const ends = "dispose() { this.#b.destroy(); }";
const all = "export const all = (d: GPUDevice) => [new Quad(d), new Mesh(d)];";

for (const [title, base] of [
  ["an empty one", "class Base { dispose(): void {} }\n"],
  ["one that may be there", "abstract class Base { dispose?(): void; }\n"],
] as const) {
  const whole = heir("Quad", "Base", ends);
  webgpu(`${title}, forgotten`, base + whole + heir("Mesh", "Base") + all, [M]);
  webgpu(`${title}, written`, base + whole + heir("Mesh", "Base", ends) + all, []);
  webgpu(
    `${title}, written between`,
    `${base}class Drawn extends Base { dispose() { this.end(); }\nend(): void {} }\n${whole}` +
      heir("Mesh", "Drawn", "override end() { this.#b.destroy(); }") +
      all,
    [],
  );
}
webgpu(
  "an empty one that no other heir writes",
  `class Base { dispose(): void {} }\n${heir("Quad", "Base")}${heir("Mesh", "Base")}${all}`,
  [],
);

const based = (ends: string, rest: string): string =>
  "class Base {\ninfo: GPUBuffer;\nfree: (() => void)[] = [];\nconstructor(d: GPUDevice) { " +
  "this.info = d.createBuffer({}); }\nget others(): GPUBuffer[] { return []; }\n" +
  `onEnd(f: () => void) { this.free.push(f); }\ndestroy() { this.info.destroy(); ${ends} } }\n` +
  "export class Heir extends Base {\n#b: GPUBuffer;\nconstructor(d: GPUDevice) { super(d);\n" +
  `this.#b = d.createBuffer({}); ${rest}\nsize() { return this.#b.size; } }`;
webgpu(
  "one that asks a getter of the heir",
  based("for (const b of this.others) b.destroy();", "}\nget others() { return [this.#b]; }"),
  [],
);
webgpu(
  "one that calls what it was given",
  based("for (const f of this.free) f();", "const b = this.#b; this.onEnd(() => b.destroy()); }"),
  [],
);
webgpu("one that asks neither", based("", "}"), [M]);

test.run();
