/**
 * Kept fields: fields that a function ends which the class, or a store in it, keeps and runs at its
 * end. And close by each what is kept and never run, or ends something else.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("kept fields");
const finds = marked(test);

finds(
  "a list of ends in a field",
  `
export class GpuService {
  private readonly destroyers: Array<() => void> = [];
  private lut?: GPUTexture;
  constructor(private readonly device: GPUDevice) {}
  lookup(): GPUTexture {
    if (!this.lut) {
      const lut = this.device.createTexture({ size: [4, 4] });
      this.destroyers.push(() => lut.destroy());
      this.lut = lut;
    }
    return this.lut;
  }
  ngOnDestroy() {
    this.destroyers.forEach((d) => d());
  }
}
`,
  "webgpu",
);

finds(
  "a list of ends that is only emptied",
  `
export class GpuService {
  private readonly destroyers: Array<() => void> = [];
  private lut?: GPUTexture;
  constructor(private readonly device: GPUDevice) {}
  lookup(): GPUTexture {
    if (!this.lut) {
      const lut = this.device.createTexture({ size: [4, 4] });
      this.destroyers.push(() => lut.destroy());
      this.lut = lut; // !
    }
    return this.lut;
  }
  ngOnDestroy() {
    this.destroyers.length = 0;
  }
}
`,
  "webgpu",
);

finds(
  "an end of another field",
  `
export class GpuService {
  private readonly destroyers: Array<() => void> = [];
  private lut?: GPUTexture;
  constructor(private readonly device: GPUDevice, private other: GPUTexture) {}
  lookup(): GPUTexture {
    if (!this.lut) {
      const lut = this.device.createTexture({ size: [4, 4] });
      this.destroyers.push(() => this.other.destroy());
      this.lut = lut; // !
    }
    return this.lut;
  }
  ngOnDestroy() {
    this.destroyers.forEach((d) => d());
  }
}
`,
  "webgpu",
);

finds(
  "ends that another method runs",
  `
export class GpuService {
  private readonly destroyers: Array<() => void> = [];
  private lut?: GPUTexture;
  constructor(private readonly device: GPUDevice) {}
  lookup(): GPUTexture {
    if (!this.lut) {
      const lut = this.device.createTexture({ size: [4, 4] });
      this.destroyers.push(() => lut.destroy());
      this.lut = lut; // !
    }
    return this.lut;
  }
  later() { this.destroyers.forEach((d) => d()); }
  ngOnDestroy() {
    console.log("bye");
  }
}
`,
  "webgpu",
);

finds(
  "a helper that makes and keeps the end",
  `
export class Fluid {
  private ends: (() => void)[] = [];
  readonly velocity: GPUTexture;
  readonly dye: GPUTexture;
  constructor(device: GPUDevice, w: number, h: number) {
    const field = (format: GPUTextureFormat) => {
      const t = device.createTexture({ size: [4, 4] });
      this.ends.push(() => t.destroy());
      return t;
    };
    this.velocity = field("rg32float");
    this.dye = field("rgba16float");
  }
  dispose() {
    for (const end of this.ends.reverse()) end();
    this.ends.length = 0;
  }
}
`,
  "webgpu",
);

finds(
  "a helper whose ends nobody runs",
  `
export class Fluid {
  private ends: (() => void)[] = [];
  readonly velocity: GPUTexture;
  readonly dye: GPUTexture;
  constructor(device: GPUDevice, w: number, h: number) {
    const field = (format: GPUTextureFormat) => {
      const t = device.createTexture({ size: [4, 4] });
      this.ends.push(() => t.destroy());
      return t;
    };
    this.velocity = field("rg32float"); // !
    this.dye = field("rgba16float"); // !
  }
  dispose() {
    this.ends.length = 0;
  }
}
`,
  "webgpu",
);

finds(
  "a stack in a field",
  `
declare class DisposableStack { defer(f: () => void): void; dispose(): void }
export class Panel {
  private readonly stack = new DisposableStack();
  private readonly quad: GPUBuffer;
  constructor(device: GPUDevice) {
    const quad = device.createBuffer({ size: 4 });
    this.stack.defer(() => quad.destroy());
    this.quad = quad;
  }
  draw(pass: GPURenderPassEncoder) { pass.setVertexBuffer(0, this.quad); }
  dispose() { this.stack.dispose(); }
}
`,
  "webgpu",
);

finds(
  "a stack in a field that nobody ends",
  `
declare class DisposableStack { defer(f: () => void): void; dispose(): void }
export class Panel {
  private readonly stack = new DisposableStack();
  private readonly quad: GPUBuffer;
  constructor(device: GPUDevice) {
    const quad = device.createBuffer({ size: 4 });
    this.stack.defer(() => quad.destroy());
    this.quad = quad; // !
  }
  draw(pass: GPURenderPassEncoder) { pass.setVertexBuffer(0, this.quad); }
  dispose() { console.log("bye"); }
}
`,
  "webgpu",
);

finds(
  "a store of disposables",
  `
interface IDisposable { dispose(): void }
class Store implements IDisposable {
  private items = new Set<IDisposable>();
  add<T extends IDisposable>(d: T): T { this.items.add(d); return d; }
  dispose() { for (const d of this.items) d.dispose(); this.items.clear(); }
}
export class TextLayer implements IDisposable {
  private readonly store = new Store();
  private atlas: GPUTexture;
  constructor(device: GPUDevice) {
    this.atlas = device.createTexture({ size: [4, 4] });
    this.store.add({ dispose: () => this.atlas.destroy() });
  }
  width() { return this.atlas.width; }
  dispose() { this.store.dispose(); }
}
`,
  "webgpu",
);

finds(
  "a store that ends another field",
  `
interface IDisposable { dispose(): void }
class Store implements IDisposable {
  private items = new Set<IDisposable>();
  add<T extends IDisposable>(d: T): T { this.items.add(d); return d; }
  dispose() { for (const d of this.items) d.dispose(); this.items.clear(); }
}
export class TextLayer implements IDisposable {
  private readonly store = new Store();
  private atlas: GPUTexture;
  private font: GPUTexture;
  constructor(device: GPUDevice) {
    this.atlas = device.createTexture({ size: [4, 4] }); // !
    this.font = device.createTexture({ size: [4, 4] });
    this.store.add({ dispose: () => this.font.destroy() });
  }
  width() { return this.atlas.width; }
  dispose() { this.store.dispose(); }
}
`,
  "webgpu",
);

finds(
  "a store of what a helper makes disposable",
  `
interface IDisposable { dispose(): void }
declare function toDisposable(f: () => void): IDisposable;
class Store implements IDisposable {
  private items = new Set<IDisposable>();
  add<T extends IDisposable>(d: T): T { this.items.add(d); return d; }
  dispose() { for (const d of this.items) d.dispose(); this.items.clear(); }
}
export class TextLayer implements IDisposable {
  private readonly store = new Store();
  private atlas: GPUTexture;
  private font: GPUTexture;
  constructor(device: GPUDevice) {
    this.atlas = device.createTexture({ size: [4, 4] });
    this.store.add(toDisposable(() => this.atlas.destroy()));
    const font = device.createTexture({ size: [4, 4] });
    this.font = font;
    this.store.add(toDisposable(() => font.destroy()));
  }
  width() { return this.atlas.width + this.font.width; }
  dispose() { this.store.dispose(); }
}
`,
  "webgpu",
);

finds(
  "a single end",
  `
export class Panel {
  private end: (() => void) | undefined;
  private quad: GPUBuffer | undefined;
  open(device: GPUDevice) {
    this.end?.();
    const quad = device.createBuffer({ size: 4 });
    this.quad = quad;
    this.end = () => quad.destroy();
  }
  draw(pass: GPURenderPassEncoder) { if (this.quad) pass.setVertexBuffer(0, this.quad); }
  close() {
    this.end?.();
    this.end = undefined;
  }
}
`,
  "webgpu",
);

finds(
  "a single end that is dropped",
  `
export class Panel {
  private end: (() => void) | undefined;
  private quad: GPUBuffer | undefined;
  open(device: GPUDevice) {
    this.end?.();
    const quad = device.createBuffer({ size: 4 });
    this.quad = quad; // !
    this.end = () => quad.destroy();
  }
  draw(pass: GPURenderPassEncoder) { if (this.quad) pass.setVertexBuffer(0, this.quad); }
  close() {
    this.end = undefined;
  }
}
`,
  "webgpu",
);

finds(
  "a single end written over",
  `
export class Panel {
  private end: (() => void) | undefined;
  private quad: GPUBuffer | undefined;
  open(device: GPUDevice) {
    const quad = device.createBuffer({ size: 4 });
    this.quad = quad; // !
    this.end = () => quad.destroy();
  }
  draw(pass: GPURenderPassEncoder) { if (this.quad) pass.setVertexBuffer(0, this.quad); }
  close() {
    this.end?.();
    this.end = undefined;
  }
}
`,
  "webgpu",
);

finds(
  "the last end in a table",
  `
export class Layer {
  private ends = new Map<string, () => void>();
  private font?: GPUTexture;
  constructor(private device: GPUDevice) {}
  load() {
    this.ends.get("font")?.();
    const font = this.device.createTexture({ size: [4, 4] });
    this.font = font;
    this.ends.set("font", () => font.destroy());
  }
  width() { return this.font?.width; }
  dispose() { for (const end of this.ends.values()) end(); }
}
`,
  "webgpu",
);

finds(
  "an end written over in a table",
  `
export class Layer {
  private ends = new Map<string, () => void>();
  private font?: GPUTexture;
  constructor(private device: GPUDevice) {}
  load() {
    const font = this.device.createTexture({ size: [4, 4] });
    this.font = font; // !
    this.ends.set("font", () => font.destroy());
  }
  width() { return this.font?.width; }
  dispose() { for (const end of this.ends.values()) end(); }
}
`,
  "webgpu",
);

finds(
  "an own method that keeps",
  `
export class Layer {
  private ends: (() => void)[] = [];
  private font: GPUTexture;
  constructor(device: GPUDevice) {
    const font = device.createTexture({ size: [4, 4] });
    this.font = font;
    this.own(() => font.destroy());
  }
  private own(end: () => void) { this.ends.push(end); }
  private runAll() { while (this.ends.length > 0) this.ends.pop()!(); }
  width() { return this.font.width; }
  dispose() { this.runAll(); }
}
`,
  "webgpu",
);

finds(
  "an own method that keeps what nobody runs",
  `
export class Layer {
  private ends: (() => void)[] = [];
  private font: GPUTexture;
  constructor(device: GPUDevice) {
    const font = device.createTexture({ size: [4, 4] });
    this.font = font; // !
    this.own(() => font.destroy());
  }
  private own(end: () => void) { this.ends.push(end); }
  width() { return this.font.width; }
  dispose() { console.log("bye", this.ends.length); }
}
`,
  "webgpu",
);

test.run();
