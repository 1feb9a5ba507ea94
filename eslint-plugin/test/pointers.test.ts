/**
 * Pointers: fields that point at what another field of the object owns and ends, and records that
 * are ended by their name when a list lets them go; and close by each what is left to nobody.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("pointers");
const finds = marked(test);

finds(
  "a record that is taken out and ended by its name",
  `
interface Sprite { tex: GPUTexture; x: number }
export class Scene {
  private sprites: Sprite[] = [];
  constructor(private device: GPUDevice) {}
  add(x: number): Sprite {
    const s: Sprite = { tex: this.device.createTexture({ size: [4, 4] }), x };
    this.sprites.push(s);
    return s;
  }
  remove(s: Sprite): void {
    const i = this.sprites.indexOf(s);
    if (i === -1) return;
    this.sprites.splice(i, 1);
    s.tex.destroy();
  }
  destroy(): void { for (const s of this.sprites) s.tex.destroy(); this.sprites = []; }
}
`,
  "webgpu",
);

finds(
  "a record that is taken out and left",
  `
interface Sprite { tex: GPUTexture; x: number }
export class Scene {
  private sprites: Sprite[] = [];
  constructor(private device: GPUDevice) {}
  add(x: number): void {
    const s: Sprite = { tex: this.device.createTexture({ size: [4, 4] }), x };
    this.sprites.push(s);
  }
  remove(s: Sprite): void {
    const i = this.sprites.indexOf(s);
    if (i === -1) return;
    this.sprites.splice(i, 1); // !
  }
  destroy(): void { for (const s of this.sprites) s.tex.destroy(); this.sprites = []; }
}
`,
  "webgpu",
);

finds(
  "the last of a list",
  `
export class Geometry {
  private buffers: GPUBuffer[] = [];
  private current: GPUBuffer | null = null;
  constructor(private device: GPUDevice) {}
  alloc(size: number): void {
    const buf = this.device.createBuffer({ size, usage: 32 });
    this.buffers.push(buf);
    this.current = buf;
  }
  write(data: Float32Array): void {
    if (this.current) this.device.queue.writeBuffer(this.current, 0, data);
  }
  destroy(): void {
    for (const b of this.buffers) b.destroy();
    this.buffers.length = 0;
    this.current = null;
  }
}
`,
  "webgpu",
);

finds(
  "the last of a set, kept until the end",
  `
export class Geometry {
  private buffers = new Set<GPUBuffer>();
  private current: GPUBuffer | null = null;
  constructor(private device: GPUDevice) {}
  alloc(size: number): void {
    const buf = this.device.createBuffer({ size, usage: 32 });
    this.buffers.add(buf);
    this.current = buf;
  }
  write(data: Float32Array): void {
    if (this.current) this.device.queue.writeBuffer(this.current, 0, data);
  }
  destroy(): void { for (const b of this.buffers) b.destroy(); this.buffers.clear(); }
}
`,
  "webgpu",
);

finds(
  "fields beside a list of all",
  `
export class Pair {
  private readonly a: GPUBuffer;
  private readonly b: GPUBuffer;
  private readonly all: GPUBuffer[] = [];
  constructor(device: GPUDevice) {
    const a = device.createBuffer({ size: 4, usage: 1 });
    const b = device.createBuffer({ size: 8, usage: 1 });
    this.all.push(a, b);
    this.a = a; this.b = b;
  }
  get size(): number { return this.a.size + this.b.size; }
  destroy(): void { for (const x of this.all) x.destroy(); }
}
`,
  "webgpu",
);

finds(
  "what waits beside a table that owns it",
  `
export class Uploads {
  private textures = new Map<string, GPUTexture>();
  private pending: GPUTexture[] = [];
  constructor(private device: GPUDevice) {}
  load(url: string): void {
    if (this.textures.has(url)) return;
    const tex = this.device.createTexture({ size: [4, 4] });
    this.textures.set(url, tex);
    this.pending.push(tex);
  }
  flush(): void {
    for (const tex of this.pending) console.log(tex.width);
    this.pending = [];
  }
  destroy(): void { for (const t of this.textures.values()) t.destroy(); this.textures.clear(); }
}
`,
  "webgpu",
);

finds(
  "two fields for one value",
  `
export class Chain {
  private first: GPUTexture | null = null;
  private last: GPUTexture | null = null;
  constructor(private device: GPUDevice) {}
  init(w: number): void {
    this.first?.destroy();
    const t = this.device.createTexture({ size: [w, w] });
    this.first = t;
    this.last = t;
  }
  get width(): number { return this.last?.width ?? 0; }
  destroy(): void { this.first?.destroy(); this.first = this.last = null; }
}
`,
  "webgpu",
);

finds(
  "a field beside a tracker that keeps all",
  `
class Tracker {
  private set = new Set<{ destroy(): void }>();
  track<T extends { destroy(): void }>(x: T): T { this.set.add(x); return x; }
  dispose(): void { for (const x of this.set) x.destroy(); this.set.clear(); }
}
export class Page {
  private tracker = new Tracker();
  private tex: GPUTexture | null = null;
  constructor(private device: GPUDevice) {}
  show(w: number): void {
    const t = this.device.createTexture({ size: [w, w] });
    this.tracker.track(t);
    this.tex = t;
  }
  get width(): number { return this.tex?.width ?? 0; }
  destroy(): void { this.tracker.dispose(); this.tex = null; }
}
`,
  "webgpu",
);

finds(
  "the last of a list that is only emptied",
  `
export class Geometry {
  private buffers: GPUBuffer[] = [];
  private current: GPUBuffer | null = null;
  constructor(private device: GPUDevice) {}
  alloc(size: number): void {
    const buf = this.device.createBuffer({ size, usage: 32 });
    this.buffers.push(buf);
    this.current = buf;
  }
  write(data: Float32Array): void {
    if (this.current) this.device.queue.writeBuffer(this.current, 0, data);
  }
  destroy(): void { this.buffers.length = 0; this.current = null; } // !
}
`,
  "webgpu",
);

finds(
  "a set of what changed beside a list that owns it",
  `
import { zeros, type Tensor } from "tenure";
export class Scene {
  private all = [] as Tensor[];
  private dirty = new Set<Tensor>();
  add(n: number): void {
    const t = zeros([n]);
    this.all.push(t);
    this.dirty.add(t);
  }
  flush(): number {
    let n = 0;
    for (const t of this.dirty) n += t.size;
    this.dirty.clear();
    return n;
  }
  dispose(): void {
    for (const t of this.all) t.dispose();
    this.all.length = 0;
  }
}
`,
);

finds(
  "a list of what changed beside a list that owns it",
  `
import { zeros, type Tensor } from "tenure";
export class Scene {
  private all = [] as Tensor[];
  private dirty = [] as Tensor[];
  add(n: number): void {
    const t = zeros([n]);
    this.all.push(t);
    this.dirty.push(t);
  }
  flush(): number {
    let n = 0;
    for (const t of this.dirty) n += t.size;
    this.dirty.length = 0;
    return n;
  }
  dispose(): void {
    for (const t of this.all) t.dispose();
    this.all.length = 0;
  }
}
`,
);

finds(
  "a list of what changed, replaced",
  `
import { zeros, type Tensor } from "tenure";
export class Scene {
  private all = [] as Tensor[];
  private dirty = [] as Tensor[];
  add(n: number): void {
    const t = zeros([n]);
    this.all.push(t);
    this.dirty.push(t);
  }
  flush(): number {
    let n = 0;
    for (const t of this.dirty) n += t.size;
    this.dirty = [];
    return n;
  }
  dispose(): void {
    for (const t of this.all) t.dispose();
    this.all.length = 0;
  }
}
`,
);

finds(
  "a list of what changed beside a set that is only cleared",
  `
import { zeros, type Tensor } from "tenure";
export class Scene {
  private all = new Set<Tensor>();
  private dirty = [] as Tensor[];
  add(n: number): void {
    const t = zeros([n]);
    this.all.add(t);
    this.dirty.push(t); // !
  }
  flush(): number {
    let n = 0;
    for (const t of this.dirty) n += t.size;
    this.dirty.length = 0; // !
    return n;
  }
  dispose(): void {
    this.all.clear(); // !
  }
}
`,
);

test.run();
