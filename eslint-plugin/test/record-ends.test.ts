/**
 * Functions that end a record which is part of what they are given, `const g = mesh.gpu;`, and
 * forget one of its fields: where the program makes what that holds, and no caller ends it.
 */
import { suite } from "uvu";
import { casesOf } from "./webgpu-cases.ts";

const test = suite("records that a function ends");
const webgpu = casesOf(test);
const R = "require-disposal";

/** A mesh and what makes and ends one. */
const mesh = (color: string, end: string, more = ""): string =>
  `export interface Parts { position: GPUBuffer; index: GPUBuffer; color?: GPUBuffer | null }
export interface Mesh { name: string; gpu: Parts }
const vb = (d: GPUDevice): GPUBuffer => d.createBuffer({ size: 4 });
export function make(d: GPUDevice, name: string, shared: GPUBuffer, has: boolean): Mesh {
const gpu: Parts = { position: vb(d), index: vb(d) ${color} };
${more}
return { name, gpu };
}
export function disposeMesh(mesh: Mesh): void {
const g = mesh.gpu;
g.position.destroy();
g.index.destroy();
${end}
}`;
const own = ", color: vb(d)";

webgpu("a field of its literal", mesh(own, ""), [R]);
webgpu("one that may be none", mesh(", color: has ? vb(d) : null", ""), [R]);
webgpu("one that is filled later", mesh("", "", "if (has) gpu.color = vb(d);"), [R]);
webgpu("one that is ended, too", mesh(own, "g.color?.destroy();"), []);
webgpu("one that is ended by its own path", mesh(own, "mesh.gpu.color?.destroy();"), []);
webgpu("one that others have", mesh(", color: shared", ""), []);
webgpu("one that nothing fills", mesh("", ""), []);
webgpu(
  "one that a function gets with the record",
  mesh(own, "endColor(g);") + "\nfunction endColor(g: Parts): void { g.color?.destroy(); }",
  [],
);
webgpu(
  "one that a caller ends",
  mesh(own, "") +
    "\nexport function remove(m: Mesh): void { m.gpu.color?.destroy(); disposeMesh(m); }",
  [],
);
webgpu(
  "one that a caller takes out and ends",
  mesh(own, "") +
    "\nexport function remove(m: Mesh): void {\n" +
    "disposeMesh(m); const { color } = m.gpu; color?.destroy(); }",
  [],
);
webgpu(
  "one that a list has as well",
  "const all: GPUBuffer[] = [];\n" +
    mesh(", color: keep(d)", "") +
    "\nfunction keep(d: GPUDevice): GPUBuffer {\n" +
    "const b = d.createBuffer({ size: 4 }); all.push(b); return b; }" +
    "\nexport const end = (): void => all.forEach((b) => b.destroy());",
  [],
);
test.run();
