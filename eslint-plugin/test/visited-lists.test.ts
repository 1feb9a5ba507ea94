/**
 * Values that are written into a list which a method goes through at once: what becomes of each is
 * told by the callback. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("visited lists");
const finds = marked(test);

/** Two buffers, and what goes through both. */
const both = (visit: string, mark = ""): string => `const kept = new Set<GPUBuffer>();
const end = (x: GPUBuffer) => { x.destroy(); };
const look = (x: GPUBuffer) => { console.log(x.size); };
export function run(d: GPUDevice, pass: GPURenderPassEncoder, n: number) {
  const a = d.createBuffer({ size: 4 });${mark}
  const b = d.createBuffer({ size: 4 });${mark}
  a.unmap();
  b.unmap();
  ${visit}
}
`;
const lost = " // !";
finds("looked at", both("[a, b].forEach((x) => console.log(x.size));", lost), "webgpu");
finds("looked at by a function of that name", both("[a, b].forEach(look);", lost), "webgpu");
finds(
  "in the entries of a bind group that is used",
  both(
    "const group = d.createBindGroup({ entries: [a, b].map((buffer, binding) => ({ binding, " +
      "resource: { buffer } })) });\n  pass.setBindGroup(0, group);",
    lost,
  ),
  "webgpu",
);
const silent: Record<string, string> = {
  "ended by a callback": "[a, b].forEach((x) => x.destroy());",
  "ended by a function of that name": "[a, b].forEach(end);",
  "kept by a callback": "[a, b].forEach((x) => kept.add(x));",
  "given out in records": "return [a, b].map((buffer, binding) => ({ binding, buffer }));",
  "given out in closures": "return [a, b].map((x) => () => x.destroy());",
  "given out in part": "return [a, b].filter((x) => x.size > n);",
  "found and given out": "return [a, b].find((x) => x.size > n);",
  gathered: "return [a, b].reduce((all, x) => all.add(x), new Set<GPUBuffer>());",
  "in a bind group that is given out":
    "return d.createBindGroup({ entries: [a, b].map((buffer) => ({ resource: { buffer } })) });",
};
for (const [name, visit] of Object.entries(silent)) finds(name, both(visit), "webgpu");

finds(
  "records within records that a callback ends",
  `
interface Card { id: string; shape: { vertices: GPUBuffer; indices: GPUBuffer } }
export class Cards {
  private cards = new Map<string, Card>();
  constructor(private device: GPUDevice) {}
  add(id: string): void {
    const vertices = this.device.createBuffer({ size: 4, usage: 32 });
    const indices = this.device.createBuffer({ size: 4, usage: 16 });
    this.cards.set(id + Date.now(), { id, shape: { vertices, indices } });
  }
  look(): void {
    this.cards.forEach((card) => console.log(card.shape.vertices.size));
    this.cards.clear(); // !
  }
  destroy(): void {
    this.cards.forEach((card) => {
      card.shape.vertices.destroy();
      card.shape.indices.destroy();
    });
    this.cards.clear();
  }
}
`,
  "webgpu",
);

test.run();
