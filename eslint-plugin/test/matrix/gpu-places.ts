/**
 * The places of a program that hold GPU objects longer than the function which makes them. Used by
 * `webgpu-held.test.ts`; what is lost in them is in `gpu-losses.ts`.
 */

/** What is held. `HELD` and `OTHER` stand for two objects, `DEV` for the device. */
export interface GpuHeld {
  type: string;
  init: string;
  /** What happens at each resize, `n` is a number. */
  feed: string;
  /** What happens at the end; none where there is no end. */
  end: string | null;
  /** What `AGAIN(n)` runs, at first and where `feed` says so. */
  helper: string;
  /** A look at what is held. */
  use: string;
}

/** One place; each `$` in a name is replaced by a number. */
export interface GpuPlace {
  name: string;
  code: (held: GpuHeld) => string;
  /** Every loss is tried in it, without types as well. */
  thorough?: true;
}

const put = (text: string, names: Record<string, string>): string =>
  text.replace(/\b(HELD|OTHER|DEV|AGAIN)\b/g, (word) => names[word] ?? word);

const user = (make: string): string => `
export function use$(d: GPUDevice) {
  const h = ${make};
  addEventListener("resize", () => { h.resize(innerWidth); });
  return h;
}`;

/** What the constructor gives a field, or the record in one. */
const filled = (held: string, init: string): string =>
  held === "this.kept.held" ? `this.kept = { held: ${init}, step: 0 };` : `HELD = ${init};`;

const inClass =
  (field: (type: string) => string, held: string, head = "", type = "") =>
  (of: GpuHeld): string => {
    const [over, above] = head === "" ? ["", ""] : ["override ", "super.destroy();"];
    return put(
      `${head}export class H$ ${type}{
  ${field(of.type)}
  private other: GPUBuffer;
  constructor(readonly d: GPUDevice) {
    ${head === "" ? "" : "super();"}
    this.other = DEV.createBuffer({ size: 4, usage: 8 });
    ${filled(held, of.init)}
    ${of.helper === "" ? "" : "AGAIN(4);"}
  }
  ${of.helper === "" ? "" : `private again(n: number): void { ${of.helper} }`}
  resize(n: number): void { ${of.feed} }
  draw(): void { DEV.queue.writeBuffer(OTHER, 0, {}); ${of.use} }
  ${of.end === null ? "" : `${over}destroy(): void { ${above} ${of.end} }`}
}
${user("new H$(d)")}`,
      { HELD: held, OTHER: "this.other", DEV: "this.d", AGAIN: "this.again" },
    );
  };

/** Every place. */
export const gpuPlaces: GpuPlace[] = [
  {
    name: "private field",
    thorough: true,
    code: inClass((type) => `#held: ${type};`, "this.#held"),
  },
  {
    name: "public field",
    code: inClass((type) => `held: ${type};`, "this.held"),
  },
  {
    name: "field of a record in a field",
    code: inClass((type) => `private kept: { held: ${type}; step: number };`, "this.kept.held"),
  },
  {
    name: "field of a subclass",
    code: inClass(
      (type) => `private held: ${type};`,
      "this.held",
      `abstract class B$ {
  protected base: GPUBuffer | null = null;
  abstract resize(n: number): void;
  destroy(): void { this.base?.destroy(); }
}
`,
      "extends B$ ",
    ),
  },
  {
    name: "variable of a closure",
    thorough: true,
    code: (of) =>
      put(
        `export function makeH$(d: GPUDevice) {
  let held: ${of.type} = ${of.init};
  const other = DEV.createBuffer({ size: 4, usage: 8 });
  ${of.helper === "" ? "" : `const again = (n: number): void => { ${of.helper} };\n  again(4);`}
  return {
    resize(n: number): void { ${of.feed} },
    draw(): void { DEV.queue.writeBuffer(OTHER, 0, {}); ${of.use} },
    ${of.end === null ? "" : `destroy(): void { ${of.end} },`}
  };
}
${user("makeH$(d)")}`,
        { HELD: "held", OTHER: "other", DEV: "d", AGAIN: "again" },
      ),
  },
  {
    name: "variable of the module",
    code: (of) =>
      put(
        `let held$: ${of.type}${of.init.includes("DEV") ? " | undefined" : ` = ${of.init}`};
let other$: GPUBuffer;
${of.helper === "" ? "" : `function again$(d: GPUDevice, n: number): void { ${of.helper} }`}
export function start$(d: GPUDevice): void {
  ${of.init.includes("DEV") ? `HELD = ${of.init};` : ""}
  other$ = DEV.createBuffer({ size: 4, usage: 8 });
  ${of.helper === "" ? "" : "again$(d, 4);"}
  addEventListener("resize", () => { resize$(d, innerWidth); });
}
function resize$(d: GPUDevice, n: number): void { ${of.feed.replaceAll("AGAIN(", "again$(d, ")} }
export function draw$(d: GPUDevice): void { DEV.queue.writeBuffer(OTHER, 0, {}); ${of.use} }
${of.end === null ? "" : `export function destroy$(): void { ${of.end} }`}`,
        { HELD: "held$!", OTHER: "other$", DEV: "d" },
      ).replaceAll("held$! =", "held$ ="),
  },
  {
    name: "property of a closure's object",
    code: (of) =>
      put(
        `export function makeH$(d: GPUDevice) {
  const state: { held: ${of.type}; other: GPUBuffer } = {
    held: ${of.init},
    other: DEV.createBuffer({ size: 4, usage: 8 }),
  };
  ${of.helper === "" ? "" : `function again(n: number): void { ${of.helper} }\n  again(4);`}
  function resize(n: number): void { ${of.feed} }
  function draw(): void { DEV.queue.writeBuffer(OTHER, 0, {}); ${of.use} }
  ${of.end === null ? "" : `function destroy(): void { ${of.end} }`}
  return { resize, draw${of.end === null ? "" : ", destroy"} };
}
${user("makeH$(d)")}`,
        { HELD: "state.held", OTHER: "state.other", DEV: "d", AGAIN: "again" },
      ),
  },
];
