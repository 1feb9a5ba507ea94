/**
 * Objects that are dropped where they could not begin: no loss as long as they have made nothing.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("still empty");
const finds = marked(test);

finds(
  "told that it could not begin",
  `class Builder {
  private ready = false;
  private buf: GPUBuffer | null = null;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {}
  async init(): Promise<boolean> {
    if (!(await this.gpu.init())) return false;
    this.ready = true; return true;
  }
  upload() {
    if (!this.ready) return;
    this.buf?.destroy();
    this.buf = this.gpu.device.createBuffer({ size: 1, usage: 1 });
  }
  dispose() { this.buf?.destroy(); }
}
export class World {
  private b: Builder | null = null;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {}
  async start() {
    this.b = new Builder(this.gpu);
    const ok = await this.b.init();
    if (ok) return true;
    else this.b = null;
    return false;
  }
  use() { this.b?.upload(); }
  dispose() { this.b?.dispose(); }
}
`,
  "webgpu",
);
finds(
  "failed before it made anything",
  `class Builder {
  private buf: GPUBuffer | null = null;
  constructor(private device: GPUDevice) {}
  async init(): Promise<boolean> { return true; }
  upload() {
    this.buf?.destroy();
    this.buf = this.device.createBuffer({ size: 1, usage: 1 });
  }
  dispose() { this.buf?.destroy(); }
}
export class World {
  private b: Builder | null = null;
  constructor(private device: GPUDevice) {}
  async start() {
    try {
      this.b = new Builder(this.device);
      return await this.b.init();
    } catch { this.b = null; return false; }
  }
  use() { this.b?.upload(); }
  dispose() { this.b?.dispose(); }
}
`,
  "webgpu",
);
finds(
  "told before it made anything",
  `class Builder {
  private buf: GPUBuffer | null = null;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {}
  async init(): Promise<boolean> {
    if (!(await this.gpu.init())) return false;
    this.buf = this.gpu.device.createBuffer({ size: 1, usage: 1 });
    return true;
  }
  dispose() { this.buf?.destroy(); }
}
export class World {
  private b: Builder | null = null;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {}
  async start() {
    this.b = new Builder(this.gpu);
    if (!(await this.b.init())) { this.b = null; return false; } return true;
  }
  dispose() { this.b?.dispose(); }
}
`,
  "webgpu",
);
finds(
  "told after it made something",
  `class Builder {
  private buf: GPUBuffer | null = null;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {}
  async init(): Promise<boolean> {
    this.buf = this.gpu.device.createBuffer({ size: 1, usage: 1 });
    if (!(await this.gpu.init())) return false;
    return true;
  }
  dispose() { this.buf?.destroy(); }
}
export class World {
  private b: Builder | null = null;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {}
  async start() {
    this.b = new Builder(this.gpu);
    if (!(await this.b.init())) { this.b = null; return false; } return true; // !
  }
  dispose() { this.b?.dispose(); }
}
`,
  "webgpu",
);
finds(
  "made something at once",
  `class Builder {
  private buf: GPUBuffer;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {
    this.buf = gpu.device.createBuffer({ size: 1, usage: 1 });
  }
  async init(): Promise<boolean> { return this.gpu.init(); }
  dispose() { this.buf.destroy(); }
}
export class World {
  private b: Builder | null = null;
  constructor(private gpu: { device: GPUDevice; init(): Promise<boolean> }) {}
  async start() {
    this.b = new Builder(this.gpu);
    if (!(await this.b.init())) { this.b = null; return false; } return true; // !
  }
  dispose() { this.b?.dispose(); }
}
`,
  "webgpu",
);
finds(
  "may have failed after that",
  `class Builder {
  private buf: GPUBuffer | null = null;
  constructor(private device: GPUDevice) {}
  async init(): Promise<void> {
    this.buf = this.device.createBuffer({ size: 1, usage: 1 });
    await fetch("a");
  }
  dispose() { this.buf?.destroy(); }
}
export class World {
  private b: Builder | null = null;
  constructor(private device: GPUDevice) {}
  async start() {
    try {
      this.b = new Builder(this.device);
      await this.b.init();
      return true;
    } catch { this.b = null; return false; } // !
  }
  dispose() { this.b?.dispose(); }
}
`,
  "webgpu",
);

test.run();
