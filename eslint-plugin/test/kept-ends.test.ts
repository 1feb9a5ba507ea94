/**
 * Kept ends: a function that ends a value is kept by somebody in place of the value; who gets the
 * value only borrows it. And close by each what is kept by nobody, or by somebody who never runs
 * it.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("kept ends");
const finds = marked(test);

finds(
  "a hook of a component ends what another part borrows",
  `
declare function onScopeDispose(f: () => void): void;
export function useBuffer(device: GPUDevice, size: number) {
  const b = device.createBuffer({ size: 4 });
  onScopeDispose(() => b.destroy());
  return b;
}
export function useCounter(device: GPUDevice) {
  const counter = useBuffer(device, 4);
  device.queue.writeBuffer(counter, 0, new Uint32Array([0]));
}
`,
  "webgpu",
);

finds(
  "a hook that ends another buffer",
  `
declare function onScopeDispose(f: () => void): void;
export function useBuffer(device: GPUDevice, size: number, other: GPUBuffer) {
  const b = device.createBuffer({ size: 4 });
  onScopeDispose(() => other.destroy());
  return b;
}
export function useCounter(device: GPUDevice, other: GPUBuffer) {
  const counter = useBuffer(device, 4, other); // !
  device.queue.writeBuffer(counter, 0, new Uint32Array([0]));
}
`,
  "webgpu",
);

finds(
  "a device that a test ends when it is over",
  `
interface TestContext { after(f: () => void): void }
declare function test(n: string, f: (t: TestContext) => Promise<void>): void;
async function gpu(t: TestContext) {
  const device = await (await navigator.gpu.requestAdapter())!.requestDevice();
  t.after(() => device.destroy());
  return device;
}
test("limits", async (t) => {
  const device = await gpu(t);
  if (device.limits.maxBufferSize < 1) throw new Error("small");
});
`,
  "webgpu",
);

finds(
  "both buffers of a record end with the test",
  `
declare function onTestFinished(f: () => void): void;
function setup(device: GPUDevice) {
  const input = device.createBuffer({ size: 4 });
  const output = device.createBuffer({ size: 4 });
  onTestFinished(() => {
    input.destroy();
    output.destroy();
  });
  return { input, output };
}
export function go(device: GPUDevice) {
  const { input, output } = setup(device);
  device.queue.writeBuffer(input, 0, new Float32Array(1));
  console.log(output.size);
}
`,
  "webgpu",
);

finds(
  "only one of two buffers ends with the test",
  `
declare function onTestFinished(f: () => void): void;
function setup(device: GPUDevice) {
  const input = device.createBuffer({ size: 4 });
  const output = device.createBuffer({ size: 4 });
  onTestFinished(() => input.destroy());
  return { input, output };
}
export function go(device: GPUDevice) {
  const { input, output } = setup(device); // !
  device.queue.writeBuffer(input, 0, new Float32Array(1));
  console.log(output.size);
}
`,
  "webgpu",
);

finds(
  "a scope that runs what it was given",
  `
class Scope {
  private ends: (() => void)[] = [];
  defer(f: () => void) { this.ends.push(f); }
  close() { for (const e of this.ends.reverse()) e(); this.ends = []; }
}
function temp(device: GPUDevice, size: number, scope: Scope) {
  const b = device.createBuffer({ size: 4 });
  scope.defer(() => b.destroy());
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const scope = new Scope();
  const b = temp(device, d.byteLength, scope);
  device.queue.writeBuffer(b, 0, d);
  scope.close();
}
`,
  "webgpu",
);

finds(
  "a scope that is never closed",
  `
class Scope {
  private ends: (() => void)[] = [];
  defer(f: () => void) { this.ends.push(f); }
  close() { for (const e of this.ends.reverse()) e(); this.ends = []; }
}
function temp(device: GPUDevice, size: number, scope: Scope) {
  const b = device.createBuffer({ size: 4 });
  scope.defer(() => b.destroy());
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const scope = new Scope();
  const b = temp(device, d.byteLength, scope); // !
  device.queue.writeBuffer(b, 0, d);
}
`,
  "webgpu",
);

finds(
  "a list of ends that one caller runs and the other forgets",
  `
function temp(device: GPUDevice, size: number, ends: (() => void)[]) {
  const b = device.createBuffer({ size: 4 });
  ends.push(() => b.destroy());
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const ends: (() => void)[] = [];
  const b = temp(device, d.byteLength, ends); // !
  device.queue.writeBuffer(b, 0, d);
  ends.length = 0;
}
export function good(device: GPUDevice, d: Float32Array) {
  const ends: (() => void)[] = [];
  const b = temp(device, d.byteLength, ends);
  device.queue.writeBuffer(b, 0, d);
  for (const end of ends) end();
}
`,
  "webgpu",
);

finds(
  "a stack of the block",
  `
declare class DisposableStack { defer(f: () => void): void; [Symbol.dispose](): void }
function temp(device: GPUDevice, stack: DisposableStack) {
  const a = device.createBuffer({ size: 4 });
  const b = device.createBuffer({ size: 4 });
  stack.defer(() => { a.destroy(); b.destroy(); });
  return { a, b, size: 4 };
}
export function go(device: GPUDevice) {
  using stack = new DisposableStack();
  const { a, b } = temp(device, stack);
  device.queue.writeBuffer(b, 0, new Float32Array(1));
  device.queue.writeBuffer(a, 0, new Float32Array(1));
}
export function bad(device: GPUDevice) {
  const stack = new DisposableStack();
  const { a, b } = temp(device, stack); // !
  device.queue.writeBuffer(b, 0, new Float32Array(1));
  device.queue.writeBuffer(a, 0, new Float32Array(1));
}
`,
  "webgpu",
);

finds(
  "an abort signal",
  `
function temp(device: GPUDevice, size: number, signal: AbortSignal) {
  const b = device.createBuffer({ size: 4 });
  signal.addEventListener("abort", () => b.destroy(), { once: true });
  return { b };
}
export function go(device: GPUDevice, signal: AbortSignal) {
  const { b } = temp(device, 4, signal);
  device.queue.writeBuffer(b, 0, new Float32Array(1));
}
`,
  "webgpu",
);

finds(
  "a microtask after the work is done",
  `
function transient(device: GPUDevice, data: Float32Array): GPUBuffer {
  const b = device.createBuffer({ size: 4 });
  device.queue.writeBuffer(b, 0, data);
  queueMicrotask(() => void device.queue.onSubmittedWorkDone().then(() => b.destroy()));
  return b;
}
export function draw(device: GPUDevice, pass: GPURenderPassEncoder, m: Float32Array) {
  const b = transient(device, m);
  pass.setVertexBuffer(0, b);
  pass.draw(3);
}
`,
  "webgpu",
);

finds(
  "what only a failure ends",
  `
function temp(device: GPUDevice, size: number) {
  const b = device.createBuffer({ size: 4 });
  device.addEventListener("uncapturederror", () => b.destroy());
  return b;
}
function other(device: GPUDevice, size: number) {
  const b = device.createBuffer({ size: 4 });
  device.queue.onSubmittedWorkDone().catch(() => b.destroy());
  return b;
}
function third(device: GPUDevice, size: number) {
  const b = device.createBuffer({ size: 4 });
  device.popErrorScope().then((e) => { if (e) b.destroy(); });
  return b;
}
export function go(device: GPUDevice) {
  const b = temp(device, 4); // !
  const c = other(device, 4); // !
  const d = third(device, 4); // !
  device.queue.writeBuffer(b, 0, new Float32Array(1));
  device.queue.writeBuffer(c, 0, new Float32Array(1));
  device.queue.writeBuffer(d, 0, new Float32Array(1));
}
`,
  "webgpu",
);

finds(
  "an end that goes back to who called",
  `
function make(device: GPUDevice) {
  const b = device.createBuffer({ size: 4 });
  return { b, end: () => b.destroy() };
}
export function go(device: GPUDevice) {
  const { b } = make(device); // !
  device.queue.writeBuffer(b, 0, new Uint32Array([0]));
}
`,
  "webgpu",
);

finds(
  "an end that a function looks at",
  `
function trace(f: () => void) { console.log(f.name); }
function temp(device: GPUDevice, size: number) {
  const b = device.createBuffer({ size: 4 });
  trace(() => b.destroy());
  return b;
}
export function go(device: GPUDevice) {
  const b = temp(device, 4); // !
  device.queue.writeBuffer(b, 0, new Float32Array(1));
}
`,
  "webgpu",
);

finds(
  "a list of the module that nobody runs",
  `
const ends: (() => void)[] = [];
function temp(device: GPUDevice, size: number) {
  const b = device.createBuffer({ size: 4 });
  ends.push(() => b.destroy());
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const b = temp(device, d.byteLength); // !
  device.queue.writeBuffer(b, 0, d);
}
`,
  "webgpu",
);

finds(
  "a list of the module that is run elsewhere",
  `
const ends: (() => void)[] = [];
function temp(device: GPUDevice, size: number) {
  const b = device.createBuffer({ size: 4 });
  ends.push(() => b.destroy());
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const b = temp(device, d.byteLength);
  device.queue.writeBuffer(b, 0, d);
}
export function flush() { while (ends.length) ends.pop()!(); }
`,
  "webgpu",
);

finds(
  "a function that ends and makes another",
  `
declare function onResize(f: () => void): void;
function temp(device: GPUDevice, size: number) {
  let b = device.createBuffer({ size: 4 });
  onResize(() => {
    b.destroy();
    b = device.createBuffer({ size: 4 });
  });
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const b = temp(device, d.byteLength); // !
  device.queue.writeBuffer(b, 0, d);
}
`,
  "webgpu",
);

finds(
  "events that come with an error, and at the end",
  `
declare const bus: { on(name: string, f: () => void): void };
function temp(device: GPUDevice) {
  const b = device.createBuffer({ size: 4 });
  bus.on("error", () => b.destroy());
  return b;
}
function good(device: GPUDevice) {
  const b = device.createBuffer({ size: 4 });
  bus.on("close", () => b.destroy());
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const a = temp(device); // !
  const b = good(device);
  device.queue.writeBuffer(a, 0, d);
  device.queue.writeBuffer(b, 0, d);
}
`,
  "webgpu",
);

finds(
  "a property of what is handed in",
  `
interface Ctx { device: GPUDevice; ends: (() => void)[] }
function temp(ctx: Ctx) {
  const b = ctx.device.createBuffer({ size: 4 });
  ctx.ends.push(() => b.destroy());
  return b;
}
export function sum(device: GPUDevice, d: Float32Array) {
  const ctx: Ctx = { device, ends: [] };
  const a = temp(ctx);
  device.queue.writeBuffer(a, 0, d);
  for (const end of ctx.ends) end();
}
export function bad(device: GPUDevice, d: Float32Array) {
  const ctx: Ctx = { device, ends: [] };
  const a = temp(ctx); // !
  device.queue.writeBuffer(a, 0, d);
}
`,
  "webgpu",
);

finds(
  "a frame runs what its draws have left",
  `
export class Frame {
  #ends: (() => void)[] = [];
  constructor(private device: GPUDevice) {}
  transient(size: number) {
    const b = this.device.createBuffer({ size: 4 });
    this.#ends.push(() => b.destroy());
    return b;
  }
  endFrame() { this.#ends.splice(0).forEach((end) => end()); }
}
export function draw(frame: Frame, device: GPUDevice, d: Float32Array) {
  const b = frame.transient(4);
  device.queue.writeBuffer(b, 0, d);
}
`,
  "webgpu",
);

finds(
  "a record with what a list of the module ends",
  `
const all: GPUBuffer[] = [];
function temp(device: GPUDevice) {
  const b = device.createBuffer({ size: 4 });
  all.push(b);
  return { b };
}
export function go(device: GPUDevice) {
  const { b } = temp(device);
  device.queue.writeBuffer(b, 0, new Float32Array(1));
}
export function end() { for (const b of all) b.destroy(); all.length = 0; }
`,
  "webgpu",
);

test.run();
