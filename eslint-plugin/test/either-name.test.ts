/**
 * One name for either of two values, arm by arm, and elements of a table that a function gathers in
 * a list of its own. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("either name");
const finds = marked(test);

finds(
  "a name for either, both ended",
  `
export function grain(device: GPUDevice, on: boolean): number {
  const a = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
  const b = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
  let final: GPUTexture;
  if (on) final = b;
  else final = a;
  const n = final.width;
  a.destroy();
  b.destroy();
  return n;
}
`,
  "webgpu",
);
finds(
  "two names for one, ended twice",
  `
export function grain(device: GPUDevice): number {
  const a = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
  const c = a;
  const n = c.width;
  a.destroy();
  c.destroy(); // !
  return n;
}
`,
  "webgpu",
);
finds(
  "a name for either, one left",
  `
export function grain(device: GPUDevice, on: boolean): number {
  const a = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
  const b = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 }); // !
  let final: GPUTexture;
  if (on) final = b;
  else final = a;
  const n = final.width;
  a.destroy();
  return n;
}
`,
  "webgpu",
);
finds(
  "for one that may not be there, both ended",
  `
export async function grain(device: GPUDevice, radius: number): Promise<number> {
  const a = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
  let final: GPUTexture;
  let b: GPUTexture | null = null;
  if (radius > 0) {
    b = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
    final = b;
  } else {
    final = a;
  }
  await device.queue.onSubmittedWorkDone();
  const n = final.width;
  a.destroy();
  b?.destroy();
  return n;
}
`,
  "webgpu",
);
finds(
  "for one that may not be there, left",
  `
export function grain(device: GPUDevice, on: boolean): number {
  const a = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 });
  let b: GPUTexture | null = null;
  let final: GPUTexture;
  if (on) {
    b = device.createTexture({ size: [1], format: "rgba8unorm", usage: 4 }); // !
    final = b;
  } else final = a;
  const n = final.width;
  a.destroy();
  return n;
}
`,
  "webgpu",
);
finds(
  "elements of a table in a list",
  `
export class Scene {
  private objects = new Map<string, GPUBuffer>();
  constructor(private device: GPUDevice) {}
  add(id: string): void {
    this.objects.set(id, this.device.createBuffer({ size: 4, usage: 1 }));
  }
  render(pass: GPURenderPassEncoder): void {
    const sorted: GPUBuffer[] = [];
    for (const obj of this.objects.values()) sorted.push(obj);
    for (const obj of sorted) { pass.setVertexBuffer(0, obj); }
  }
  destroy(): void { for (const o of this.objects.values()) o.destroy(); this.objects.clear(); }
}
`,
  "webgpu",
);

test.run();
