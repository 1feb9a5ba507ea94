/**
 * Fields of records that are written anew by a spread, and module variables that a record without
 * anything is the first of. Each is a program of which the marked lines are reported.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("replaced fields");
const finds = marked(test);

/** A module's record of what may be there. */
const state = (rest: string): string => `
interface Gpu { ok: boolean; buffer: GPUBuffer | null }
let current: Gpu = { ok: false, buffer: null };
export const size = (): number => current.buffer?.size ?? 0;
${rest}
`;
const start = `
export function start(device: GPUDevice, size: number): void {
  current = { ok: true, buffer: device.createBuffer({ size, usage: 1 }) };
}`;
const cases: Readonly<Record<string, string>> = {
  "another record": state(`
export function resize(device: GPUDevice, size: number): void {
  const buffer = device.createBuffer({ size, usage: 1 });
  current = { ok: true, buffer }; // !
}`),
  "another buffer in the same": state(`
export function resize(device: GPUDevice, size: number): void {
  const buffer = device.createBuffer({ size, usage: 1 });
  current = { ...current, buffer }; // !
}`),
  "nothing in its place": state(`${start}
export function reset(): void {
  current = { ...current, buffer: null }; // !
}`),
  "nothing, after its end": state(`${start}
export function reset(): void {
  current.buffer?.destroy();
  current = { ...current, buffer: null };
}`),
  "nothing, before its end under a name": state(`${start}
export function reset(): void {
  const { buffer } = current;
  current = { ...current, buffer: null };
  buffer?.destroy();
}`),
  "nothing, after a function that ends it": state(`${start}
const free = (gpu: Gpu): void => gpu.buffer?.destroy();
export function reset(): void {
  free(current);
  current = { ...current, buffer: null };
}`),
  "nothing in the place of what others have, too": state(`
export function start(device: GPUDevice, size: number): GPUBuffer {
  const buffer = device.createBuffer({ size, usage: 1 });
  current = { ok: true, buffer };
  return buffer;
}
export function release(): void {
  current = { ...current, buffer: null };
}`),
  "nothing, by a helper of who ends it": state(`${start}
function reset(): void {
  current = { ...current, buffer: null };
}
export function finish(): void {
  current.buffer?.destroy();
  reset();
}`),
  "what goes with its device": `
interface State { device: GPUDevice | null; image: GPUTexture | null }
export class Images {
  private state: State = { device: null, image: null };
  async init(adapter: GPUAdapter): Promise<void> {
    const device = await adapter.requestDevice();
    const image = device.createTexture({ size: [1], format: "r8unorm", usage: 1 });
    this.state = { device, image };
  }
  end(): void {
    this.state.device?.destroy();
    this.state = { ...this.state, device: null, image: null };
  }
}`,
  "what is taken out": state(`${start}
export function take(): GPUBuffer | null {
  const { buffer } = current;
  current = { ...current, buffer: null };
  return buffer;
}`),
  "a device that is lost": `
interface Gpu { ok: boolean; device: GPUDevice | null }
let current: Gpu = { ok: false, device: null };
export async function init(adapter: GPUAdapter): Promise<void> {
  const device = await adapter.requestDevice();
  void device.lost.then(() => {
    current = { ...current, device: null };
  });
  current = { ok: true, device };
}
export const get = (): GPUDevice | null => current.device;`,
  "a device that is let go of": `
interface Gpu { ok: boolean; device: GPUDevice | null }
let current: Gpu = { ok: false, device: null };
export async function init(adapter: GPUAdapter): Promise<void> {
  const device = await adapter.requestDevice();
  current = { ok: true, device };
}
export const get = (): GPUDevice | null => current.device;
export function reset(): void {
  current = { ...current, device: null }; // !
}`,
  "a field of a class": `
interface State { ok: boolean; buffer: GPUBuffer | null; other: GPUBuffer | null }
export class Pool {
  private state: State = { ok: false, buffer: null, other: null };
  constructor(private device: GPUDevice) {}
  resize(size: number): void {
    this.state = { ...this.state, buffer: this.device.createBuffer({ size, usage: 1 }) }; // !
  }
  drop(): void {
    this.state = { ...this.state, other: null };
  }
  dispose(): void {
    this.state.buffer?.destroy();
    this.state.other?.destroy();
    this.state = { ...this.state, buffer: null, other: null };
  }
}`,
};
for (const [name, code] of Object.entries(cases)) finds(name, code, "webgpu");

test.run();
