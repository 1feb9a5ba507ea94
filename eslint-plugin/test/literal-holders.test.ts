/**
 * Objects that functions return without a class or a name for their type: who gets one has to end
 * it. The lines marked with `// !` are reported with `recommended`, no others.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("literal holders");
const finds = marked(test);

finds(
  "under a type that has no name",
  `import { zeros, type Tensor } from "tenure";
function chart(width: number): { sum(): Promise<number>; destroy(): void } {
  const line = zeros([width]);
  return { sum: () => line.item(), destroy: () => line.dispose() };
}
const view = (width: number): { sum(): Promise<number>; stop(): void } => {
  const line = zeros([width]);
  void line.item().finally(() => line.dispose());
  return { sum: async () => width, stop: () => undefined };
};
async function load(): Promise<{ call(t: Tensor): Tensor; dispose(): void }> {
  const kernel = zeros([3]);
  return { call: (t) => t.mul(kernel), dispose: () => kernel.dispose() };
}
export async function run(): Promise<number> {
  const lost = chart(3); // !
  const kept = chart(3);
  const other = view(3);
  const filter = await load(); // !
  const t = zeros([3]);
  const u = filter.call(t);
  const sum = (await lost.sum()) + (await kept.sum()) + (await other.sum()) + u.size;
  for (const each of [kept]) each.destroy();
  t.dispose();
  u.dispose();
  return sum;
}`,
);

finds(
  "functions with an end",
  `import { zeros, type Tensor } from "tenure";
type Filter = (t: Tensor) => Tensor;
function blur(): Filter & { dispose(): void } {
  const kernel = zeros([3]);
  const filter: Filter = (t) => t.mul(kernel);
  return Object.assign(filter, { dispose: () => kernel.dispose() });
}
function sharpen() {
  const kernel = zeros([3]);
  return Object.assign((t: Tensor) => t.mul(kernel), { dispose: () => kernel.dispose() });
}
const state: { size: number; dispose?: () => void } = { size: 0 };
function shared() {
  const kernel = zeros([3]);
  return Object.assign(state, { dispose: () => kernel.dispose() });
}
export function run(x: Tensor): number {
  const soft = blur(); // !
  const sharp = sharpen(); // !
  const ended = blur();
  const known = shared();
  const y = soft(x);
  const z = sharp(y);
  ended(z).dispose();
  const { size } = z;
  for (const each of [y, z, ended]) each.dispose();
  return size + known.size;
}`,
);

finds(
  "ended in one loop with things of other owners",
  `import { zeros } from "tenure";
import { Linear } from "tenure/nn";
function hold() { const t = zeros([2]); return { size: 3, dispose: () => t.dispose() }; }
class Holder { readonly t = zeros([2]); dispose(): void { this.t.dispose(); } }
export function run(): number {
  const t = zeros([3]);
  const held = hold();
  const holder = new Holder();
  const model = new Linear(3, 3);
  const left = hold(); // !
  const { size } = t;
  for (const each of [t, held, holder]) each.dispose();
  for (const each of [model]) each[Symbol.dispose]();
  return size + left.size;
}`,
);

finds(
  "of GPU objects",
  `function pass(d: GPUDevice): { draw(): void; destroy(): void } {
  const b = d.createBuffer({ size: 4 });
  return { draw: () => d.queue.writeBuffer(b, 0, new Float32Array(1)), destroy: () => b.destroy() };
}
export function once(d: GPUDevice): void {
  const p = pass(d); // !
  p.draw();
}
export function ended(d: GPUDevice): void {
  const p = pass(d);
  p.draw();
  p.destroy();
}`,
  "webgpu",
);

test.run();
