/**
 * Objects that are dropped where they could not begin: no loss as long as they have made nothing.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("still empty");
const finds = marked(test);

const make = "this.buf = this.gpu.device.createBuffer({ size: 1, usage: 1 });";
const told = `this.b = new Builder(this.gpu);
    if (!(await this.b.init())) {
      this.b = null;
      return false;
    }
    return true;`;
const told2 = `this.b = new Builder(this.gpu);
    const ok = await this.b.init();
    if (ok) return true;
    else this.b = null;
    return false;`;
const caught = `try {
      this.b = new Builder(this.gpu);
      return await this.b.init();
    } catch {
      this.b = null;
      return false;
    }`;
const lost = (start: string): string => start.replace("b = null;", "b = null; // !");

const gpu = "private gpu: { device: GPUDevice; init(): Promise<boolean> }";
const world = (first: string, init: string, start: string): string => `class Builder {
  private ready = false;
  private buf: GPUBuffer | null = null;
  constructor(${gpu}) { ${first} }
  async init(): Promise<boolean> {
    ${init}
  }
  upload() {
    if (!this.ready) return;
    this.buf?.destroy();
    ${make}
  }
  dispose() { this.buf?.destroy(); }
}
export class World {
  private b: Builder | null = null;
  constructor(${gpu}) {}
  async start() {
    ${start}
  }
  use() { this.b?.upload(); }
  dispose() { this.b?.dispose(); }
}`;
const fails = "if (!(await this.gpu.init())) return false;";

finds("told that it could not begin", world("", `${fails} return true;`, told2), "webgpu");
finds("failed before it made anything", world("", "return true;", caught), "webgpu");
finds("told before it made anything", world("", `${fails} ${make} return true;`, told), "webgpu");
finds("told after that", world("", `${make} ${fails} return true;`, lost(told)), "webgpu");
finds("made something at once", world(make, "return this.gpu.init();", lost(told)), "webgpu");
finds("may have failed after that", world("", `${make} return true;`, lost(caught)), "webgpu");

test.run();
