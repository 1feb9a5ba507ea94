/**
 * Kept twice: values of tables that others have too, or that a caller ends or asks for first; and
 * close by each what is left to nobody.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("kept twice");
const finds = marked(test);

finds(
  "a record beside what a table owns",
  `
import { zeros, type Tensor } from "tenure";
interface Glyph {
  bitmap: Tensor;
  face: Tensor;
}
const faces = new Map<string, Tensor>();
const glyphs = new Map<string, Glyph>();
export function open(name: string): void {
  faces.get(name)?.dispose();
  faces.set(name, zeros([3]));
}
export function add(ch: string, name: string): void {
  const bitmap = zeros([2]);
  drop(ch);
  glyphs.set(ch, { bitmap, face: faces.get(name)! });
}
export function drop(ch: string): number {
  const g = glyphs.get(ch);
  if (!g) return 0;
  glyphs.delete(ch);
  const n = g.face.size;
  g.bitmap.dispose();
  return n;
}
export function close(): void {
  for (const ch of [...glyphs.keys()]) drop(ch);
  for (const f of faces.values()) f.dispose();
  faces.clear();
}`,
);
finds(
  "a record beside what the caller ends",
  `
import { zeros, type Tensor } from "tenure";
interface Item {
  data: Tensor;
  norm: Tensor;
}
class Queue {
  readonly #items: Item[] = [];
  add(data: Tensor, norm: Tensor): void {
    this.#items.push({ data, norm });
  }
  pop(): number {
    const it = this.#items.pop();
    if (!it) return 0;
    const n = it.norm.size;
    it.data.dispose();
    return n;
  }
  get size(): number {
    return this.#items.length;
  }
}
export function run(xs: Tensor[]): number {
  const q = new Queue();
  const norm = zeros([3]);
  let n = 0;
  for (const x of xs) q.add(x.neg(), norm);
  while (q.size > 0) n += q.pop();
  norm.dispose();
  return n;
}`,
);
finds(
  "an entry that the caller ends first",
  `
import { zeros, type Tensor } from "tenure";
const templates: Record<string, Tensor> = {};
function drop(name: string): void {
  templates[name]?.dispose();
  delete templates[name];
}
function saveOne(name: string, n: number): void {
  templates[name] = zeros([n]);
}
export function replace(name: string, n: number): void {
  drop(name);
  saveOne(name, n);
}
export function clear(): void {
  for (const name of Object.keys(templates)) drop(name);
}`,
);
finds(
  "an entry that the caller asks for",
  `
import { zeros, type Tensor } from "tenure";
const styles = new Map<string, Tensor>();
function saveStyle(name: string, n: number): Tensor {
  const t = zeros([n]);
  styles.set(name, t);
  return t;
}
export function style(name: string, n: number): Tensor {
  return styles.get(name) ?? saveStyle(name, n);
}
export function clear(): void {
  for (const t of styles.values()) t.dispose();
  styles.clear();
}`,
);
finds(
  "an entry that the caller looks for",
  `
import { zeros, type Tensor } from "tenure";
class Sheet {
  readonly styles: Record<string, Tensor> = {};
  private updateStyle(name: string): void {
    this.styles[name] = zeros([name.length]);
  }
  style(name: string): Tensor {
    if (!(name in this.styles)) this.updateStyle(name);
    return this.styles[name]!;
  }
  dispose(): void {
    for (const name of Object.keys(this.styles)) {
      this.styles[name]!.dispose();
      delete this.styles[name];
    }
  }
}
export const sheet = new Sheet();`,
);
finds(
  "a table that the caller clears first",
  `
import { zeros, type Tensor } from "tenure";
const sounds = new Map<string, Tensor>();
async function replaceSound(name: string, n: number): Promise<void> {
  await Promise.resolve();
  sounds.set(name, zeros([n]));
}
export async function load(names: string[]): Promise<void> {
  sounds.forEach((t) => t.dispose());
  sounds.clear();
  await Promise.all(names.map((n) => replaceSound(n, n.length)));
}
export function clear(): void {
  sounds.forEach((t) => t.dispose());
  sounds.clear();
}`,
);
finds(
  "a table of names for what a list owns",
  `
import { zeros, type Tensor } from "tenure";
class Res {
  private readonly all: Tensor[] = [];
  private readonly named = new Map<string, Tensor>();
  update(name: string, size: number): void {
    const b = zeros([size]);
    this.all.push(b);
    this.named.set(name, b);
  }
  get(name: string): Tensor | undefined {
    return this.named.get(name);
  }
  dispose(): void {
    for (const b of this.all.splice(0)) b.dispose();
    this.named.clear();
  }
}
export const make = (): Res => new Res();`,
);
finds(
  "names of a module for what a set owns",
  `
import { zeros, type Tensor } from "tenure";
const all = new Set<Tensor>();
const named: Record<string, Tensor> = {};
export function update(name: string, n: number): void {
  const t = zeros([n]);
  all.add(t);
  named[name] = t;
}
export function size(name: string): number {
  return named[name]?.size ?? 0;
}
export function close(): void {
  for (const t of all) t.dispose();
  all.clear();
  for (const k of Object.keys(named)) delete named[k];
}`,
);
finds(
  "what is put in a table for a while",
  `
const inFlight = new Map<number, GPUBuffer>();
export async function read(d: GPUDevice, id: number): Promise<void> {
  const buffer = d.createBuffer({ size: id });
  inFlight.set(id, buffer);
  await buffer.mapAsync(1);
  if (!inFlight.has(id)) return;
  inFlight.delete(id);
  buffer.destroy();
}
export function cancel(id: number): void {
  const b = inFlight.get(id);
  if (!b) return;
  inFlight.delete(id);
  b.destroy();
}`,
  "webgpu",
);
finds(
  "what is taken back by `delete`",
  `
const live = new Map<number, GPUBuffer>();
export async function read(d: GPUDevice, id: number): Promise<void> {
  const t = d.createBuffer({ size: id });
  live.set(id, t);
  await t.mapAsync(1);
  if (live.delete(id)) t.destroy();
}
export function cancel(id: number): void {
  const b = live.get(id);
  if (!b) return;
  live.delete(id);
  b.destroy();
}`,
  "webgpu",
);
finds(
  "a list that the caller ends first",
  `
export class Bloom {
  private mips: GPUTexture[] = [];
  constructor(private readonly d: GPUDevice) {
    this.build(8);
  }
  private build(w: number): void {
    for (let i = 0; i < 4; i++) this.mips[i] = this.d.createTexture({ size: [w >> i] });
  }
  resize(w: number): void {
    for (const m of this.mips) m.destroy();
    this.build(w);
  }
  destroy(): void {
    for (const m of this.mips) m.destroy();
  }
}`,
  "webgpu",
);
finds(
  "a table of names for buffers",
  `
class Res {
  private readonly all: GPUBuffer[] = [];
  private readonly named = new Map<string, GPUBuffer>();
  constructor(private readonly d: GPUDevice) {}
  update(name: string, size: number): void {
    const b = this.d.createBuffer({ size });
    this.all.push(b);
    this.named.set(name, b);
  }
  get(name: string): GPUBuffer | undefined {
    return this.named.get(name);
  }
  destroy(): void {
    for (const b of this.all.splice(0)) b.destroy();
    this.named.clear();
  }
}
export const make = (d: GPUDevice): Res => new Res(d);`,
  "webgpu",
);
finds(
  "a list beside the table that nobody ends",
  `
import { zeros, type Tensor } from "tenure";
class Res {
  private readonly all: Tensor[] = [];
  private readonly named = new Map<string, Tensor>();
  update(name: string, size: number): void {
    const b = zeros([size]);
    this.all.push(b);
    this.named.set(name, b); // !
  }
  get(name: string): Tensor | undefined {
    return this.named.get(name);
  }
  dispose(): void {
    this.all.length = 0; // !
    this.named.clear(); // !
  }
}
export const make = (): Res => new Res();`,
);
finds(
  "a part in a table that is ended beside a list of none",
  `
import { zeros, type Tensor } from "tenure";
const templates: Record<string, Tensor> = {};
function saveOne(name: string, n: number): void {
  templates[name] = zeros([n]); // !
}
export function replace(name: string, n: number): void {
  console.log(name);
  saveOne(name, n);
}
export function clear(): void {
  for (const name of Object.keys(templates)) {
    templates[name]!.dispose();
    delete templates[name];
  }
}`,
);

finds(
  "what a helper puts into a list that is ended",
  `/** @param {GPUDevice} device */
export async function run(device, sizes) {
  const buffers = [];
  const entries = [];
  function add(binding, buffer) {
    entries.push({ binding, resource: { buffer } });
    buffers.push(buffer);
  }
  const outputs = [];
  for (let i = 0; i < sizes.length; i++) {
    const output = device.createBuffer({ size: sizes[i], usage: 128 });
    add(i, output);
    outputs.push(output);
  }
  for (const output of outputs) console.log(output.size);
  buffers.forEach((buffer) => buffer.destroy());
}`,
  "webgpu",
);
finds(
  "what is asked of a function that is handed in",
  `type Resolve = (path: string) => GPUTexture | undefined;
export function build(paths: string[], resolve: Resolve): number {
  const textures: GPUTexture[] = [];
  for (const path of paths) {
    const found = resolve(path);
    if (!found) return 0;
    const texture = found;
    textures.push(texture);
  }
  return textures.length;
}`,
  "webgpu",
);

test.run();
