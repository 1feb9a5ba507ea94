/**
 * What is emptied where a device is gone, and what it made with it: when it is lost, or destroyed.
 * Each is a program of which the marked lines are reported; beside it one that empties the same
 * while the device is still there.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("gone devices");
const finds = marked(test);

/** A class with a table, a list and a field of what it makes, and its members and statements. */
const scratch = (start: string, members = ""): string => `
interface Hub {
  on(name: string, tell: () => void): void;
  onDeviceLost(tell: () => void): void;
  onPointerLost(tell: () => void): void;
  onLost: (() => void) | null;
}
export class Scratch {
  private readonly table = new Map<string, GPUTexture>();
  private list: GPUTexture[] = [];
  private one: GPUTexture | null = null;
  constructor(private readonly device: GPUDevice, private readonly hub: Hub) {
    ${start}
  }
  ${members}
  get(key: string): GPUTexture {
    let found = this.table.get(key);
    if (!found) this.table.set(key, (found = this.device.createTexture({})));
    return found;
  }
  add(): void {
    this.list.push(this.device.createTexture({}));
    this.one ??= this.device.createTexture({});
  }
  size(): number {
    return this.table.size + this.list.length + (this.one?.width ?? 0) + Number(this.hub.onLost);
  }
  dispose(): void {
    for (const t of this.table.values()) t.destroy();
    this.table.clear();
    for (const t of this.list) t.destroy();
    this.list = [];
    this.one?.destroy();
    this.one = null;
  }
}
`;
/** All that empties its places. */
const empties = (mark = ""): string => `
    this.table.clear();${mark}
    this.list = [];${mark}
    this.one = null;${mark}`;
const leaks = " // !";

const wipe = (mark = ""): string => `private wipe(): void {${empties(mark)}
  }`;
const lost = (end = "this.wipe()"): string => `void device.lost.then(() => { ${end}; });`;
finds("in a callback", scratch(lost(empties())), "webgpu");
finds("in a method", scratch(lost(), wipe()), "webgpu");
finds(
  "in one given by its name",
  scratch("void device.lost.then(this.wipe.bind(this));", wipe()),
  "webgpu",
);
finds(
  "in one that another calls",
  scratch(lost("this.forget()"), `private forget(): void { this.wipe(); }\n${wipe()}`),
  "webgpu",
);
finds(
  "in one that others call, too",
  scratch(lost(), `reset(): void { this.wipe(); }\n${wipe(leaks)}`),
  "webgpu",
);
finds("in one for all to call", scratch(lost(), wipe(leaks).replace("private ", "")), "webgpu");
finds("in one of that name", scratch("", wipe().replace("private wipe", "onDeviceLost")), "webgpu");
finds(
  "in one of that name that others call",
  scratch(
    "void device.lost.then(() => this.onLost());",
    `reset(): void { this.onLost(); }\n${wipe(leaks).replace("wipe", "onLost")}`,
  ),
  "webgpu",
);
finds(
  "in one of that name for a word",
  scratch(
    "",
    "tell(event: string): void { if (event === 'device-lost') this.loseDevice(); }\n" +
      wipe().replace("wipe", "loseDevice"),
  ),
  "webgpu",
);

const waits = (body: string): string =>
  `async watch(only: boolean): Promise<void> {${body}\n    console.log(only);\n  }`;
const wait = "\n    const { reason } = await this.device.lost;\n    console.log(reason);";
finds("after a wait", scratch("", waits(wait + empties())), "webgpu");
finds("before one", scratch("", waits(empties(leaks) + wait)), "webgpu");
finds(
  "after one that may be left out",
  scratch("", waits("\n    if (only) await this.device.lost;" + empties(leaks))),
  "webgpu",
);
finds(
  "after one in a function that is called there",
  scratch(`void (async () => {${wait}${empties()}\n})();`),
  "webgpu",
);

finds("in a listener", scratch(`hub.onDeviceLost(() => {${empties()}\n});`), "webgpu");
finds("in one for a word", scratch(`hub.on("device-lost", () => {${empties()}\n});`), "webgpu");
finds("in one that is assigned", scratch(`hub.onLost = () => {${empties()}\n};`), "webgpu");
finds(
  "in one for what else may be lost",
  scratch(`hub.onPointerLost(() => {${empties(leaks)}\n});`),
  "webgpu",
);

/** A class that asks for its device, and lets go of all it made. */
const owner = (body: string): string =>
  scratch("", `close(all: boolean): void {${body}\n    console.log(all);\n  }`);
finds("after the end of the device", owner(`\n    this.device.destroy();${empties()}`), "webgpu");
finds(
  "after one where there is a device",
  owner(`\n    if (this.device) this.device.destroy();${empties()}`),
  "webgpu",
);
finds(
  "in a method that is called then",
  scratch("", `close(): void {\n    this.device.destroy();\n    this.wipe();\n  }\n${wipe()}`),
  "webgpu",
);
finds(
  "after one on another way",
  owner(
    "\n    if (all) this.device.destroy();" +
      "\n    this.table.clear(); // !\n    this.list.length = 0; // !",
  ),
  "webgpu",
);
finds("before one", owner("\n    this.table.clear(); // !\n    this.device.destroy();"), "webgpu");

finds(
  "after the end of another device",
  `
export class Scratch {
  private readonly table = new Map<string, GPUTexture>();
  constructor(private device: GPUDevice, private probe: GPUDevice) {}
  get(key: string): GPUTexture {
    let found = this.table.get(key);
    if (!found) this.table.set(key, (found = this.device.createTexture({})));
    return found;
  }
  close(): void {
    this.probe.destroy();
    this.table.clear(); // !
  }
}
`,
  "webgpu",
);
finds(
  "devices after the end of one",
  `
export class Devices {
  private readonly all = new Map<string, GPUDevice>();
  private device: GPUDevice | null = null;
  async get(name: string, a: GPUAdapter): Promise<GPUDevice> {
    let found = this.all.get(name);
    if (!found) this.all.set(name, (found = await a.requestDevice()));
    return found;
  }
  close(): void {
    this.device?.destroy();
    this.all.clear(); // !
  }
}
`,
  "webgpu",
);
finds(
  "in a function of a closure",
  `
export function createCache(device: GPUDevice) {
  const textures = new Map<string, GPUTexture>();
  void device.lost.then(forget);
  function forget(): void {
    textures.clear();
  }
  return {
    get(key: string): GPUTexture {
      let found = textures.get(key);
      if (!found) textures.set(key, (found = device.createTexture({})));
      return found;
    },
    dispose(): void {
      for (const t of textures.values()) t.destroy();
      textures.clear();
    },
  };
}
`,
  "webgpu",
);

test.run();
