/**
 * The ways in which a place loses the GPU objects it holds, each with its nearest valid form, and
 * those in which a function loses one that it makes for itself. Used by `webgpu-held.test.ts`.
 */
import type { GpuHeld } from "./gpu-places.ts";

/** One way. What is not given is as in the kind. */
export interface GpuLoss {
  name: string;
  feed?: [lost: string, mended: string];
  end?: [lost: string, mended: string];
  helper?: [lost: string, mended: string];
}

/** What is held, and how it is lost. */
export interface GpuKind extends GpuHeld {
  name: string;
  losses: GpuLoss[];
}

const make = "DEV.createBuffer({ size: n, usage: 8 })";
const first = make.replace("n,", "4,");
const texture = "DEV.createTexture({ size: [n], usage: 16 })";
const drop = "OTHER.destroy();";
const sees = "DEV.queue.writeBuffer(HELD, 0, {});";

const kind = (name: string, held: Partial<GpuHeld>, losses: GpuLoss[]): GpuKind => ({
  name,
  type: "GPUBuffer",
  init: first,
  feed: "",
  end: `HELD.destroy(); ${drop}`,
  helper: "",
  use: sees,
  ...held,
  losses,
});

const all = `for (const b of HELD) b.destroy(); ${drop}`;
const each = `for (const b of HELD.values()) b.destroy(); ${drop}`;
const pair =
  "{ a: DEV.createBuffer({ size: n, usage: 8 }), b: DEV.createBuffer({ size: n, usage: 4 }) }";

/** Every kind. */
export const gpuKinds: GpuKind[] = [
  kind("buffer", {}, [
    { name: "forgotten", end: [drop, `HELD.destroy(); ${drop}`] },
    { name: "overwritten", feed: [`HELD = ${make};`, `HELD.destroy(); HELD = ${make};`] },
    {
      name: "overwritten when more is needed",
      feed: [
        `if (n > HELD.size) HELD = ${make};`,
        `if (n > HELD.size) { HELD.destroy(); HELD = ${make}; }`,
      ],
    },
    {
      name: "overwritten by name",
      feed: [
        `const next = ${make}; DEV.queue.writeBuffer(next, 0, {}); HELD = next;`,
        `const next = ${make}; DEV.queue.writeBuffer(next, 0, {}); HELD.destroy(); HELD = next;`,
      ],
    },
  ]),
  kind(
    "buffer made by a helper",
    {
      type: "GPUBuffer | null",
      init: "null",
      end: `HELD?.destroy(); ${drop}`,
      use: `if (HELD) ${sees}`,
    },
    [
      {
        name: "overwritten",
        helper: [`HELD = ${make};`, `HELD?.destroy(); HELD = ${make};`],
        feed: ["AGAIN(n);", "AGAIN(n);"],
      },
      {
        name: "forgotten",
        helper: [`HELD?.destroy(); HELD = ${make};`, `HELD?.destroy(); HELD = ${make};`],
        feed: ["AGAIN(n);", "AGAIN(n);"],
        end: [drop, `HELD?.destroy(); ${drop}`],
      },
      {
        name: "overwritten under a test",
        helper: [`HELD = ${make};`, `HELD = ${make};`],
        feed: [
          "if (HELD && HELD.size === n) return; AGAIN(n);",
          "if (HELD && HELD.size === n) return; HELD?.destroy(); AGAIN(n);",
        ],
      },
    ],
  ),
  kind(
    "buffer or null",
    {
      type: "GPUBuffer | null",
      init: "null",
      feed: `HELD ??= ${make};`,
      end: `HELD?.destroy(); ${drop}`,
      use: `if (HELD) ${sees}`,
    },
    [
      { name: "forgotten", end: [drop, `HELD?.destroy(); HELD = null; ${drop}`] },
      {
        name: "set to null at the end",
        end: [`HELD = null; ${drop}`, `HELD?.destroy(); HELD = null; ${drop}`],
      },
      { name: "overwritten", feed: [`HELD = ${make};`, `HELD?.destroy(); HELD = ${make};`] },
      {
        name: "grown",
        feed: [
          `if (!HELD || HELD.size < n) HELD = ${make};`,
          `if (!HELD || HELD.size < n) { HELD?.destroy(); HELD = ${make}; }`,
        ],
      },
      {
        name: "set to null",
        feed: [`HELD = null; HELD = ${make};`, `HELD?.destroy(); HELD = null; HELD = ${make};`],
      },
    ],
  ),
  kind(
    "texture and its view",
    {
      type: "{ t: GPUTexture; view: object } | null",
      init: "null",
      feed: `if (HELD) return; const t = ${texture}; HELD = { t, view: t.createView() };`,
      end: `HELD?.t.destroy(); ${drop}`,
      use: "if (HELD) console.log(HELD.view);",
    },
    [
      { name: "forgotten", end: [drop, `HELD?.t.destroy(); ${drop}`] },
      {
        name: "overwritten",
        feed: [
          `const t = ${texture}; HELD = { t, view: t.createView() };`,
          `HELD?.t.destroy(); const t = ${texture}; HELD = { t, view: t.createView() };`,
        ],
      },
    ],
  ),
  kind(
    "view alone",
    { type: "object | null", init: "null", end: drop, use: "console.log(HELD);" },
    [
      {
        name: "overwritten",
        feed: [
          `HELD = ${texture}.createView();`,
          `if (HELD) return; HELD = ${texture}.createView();`,
        ],
      },
      {
        name: "overwritten by name",
        feed: [
          `const t = ${texture}; HELD = t.createView();`,
          `if (HELD) return; const t = ${texture}; HELD = t.createView();`,
        ],
      },
    ],
  ),
  kind(
    "bind group alone",
    { type: "object | null", init: "null", end: drop, use: "console.log(HELD);" },
    [
      {
        name: "overwritten",
        feed: [
          `const b = ${make}; HELD = DEV.createBindGroup({ entries: [{ binding: ` +
            `0, resource: { buffer: b } }] });`,
          `if (HELD) return; const b = ${make}; HELD = DEV.createBindGroup({ ` +
            `entries: [{ binding: 0, resource: { buffer: b } }] });`,
        ],
      },
    ],
  ),
  kind(
    "list",
    {
      type: "GPUBuffer[]",
      init: "[]",
      feed: `HELD.push(${make});`,
      end: all,
      use: "DEV.queue.writeBuffer(HELD[0]!, 0, {});",
    },
    [
      { name: "forgotten", end: [drop, all] },
      {
        name: "cut at the end",
        end: [
          `HELD.length = 0; ${drop}`,
          `for (const b of HELD) b.destroy(); HELD.length = 0; ${drop}`,
        ],
      },
      {
        name: "emptied at the end",
        end: [`HELD = []; ${drop}`, `HELD.forEach((b) => b.destroy()); HELD = []; ${drop}`],
      },
      {
        name: "cleared",
        feed: [
          `HELD.length = 0; HELD.push(${make});`,
          `for (const b of HELD) b.destroy(); HELD.length = 0; HELD.push(${make});`,
        ],
      },
      {
        name: "overwritten",
        feed: [
          `HELD = [${make}, ${make}];`,
          `HELD.forEach((b) => b.destroy()); HELD = [${make}, ${make}];`,
        ],
      },
      {
        name: "overwritten by a map",
        feed: [
          `HELD = [1, 2].map(() => ${make});`,
          `for (const b of HELD) b.destroy(); HELD = [1, 2].map(() => ${make});`,
        ],
      },
      {
        name: "popped",
        feed: [`HELD.pop(); HELD.push(${make});`, `HELD.pop()?.destroy(); HELD.push(${make});`],
      },
      {
        name: "element replaced",
        feed: [`HELD[0] = ${make};`, `HELD[0]?.destroy(); HELD[0] = ${make};`],
      },
    ],
  ),
  kind(
    "map",
    {
      type: "Map<number, GPUBuffer>",
      init: "new Map()",
      feed: `if (!HELD.has(n)) HELD.set(n, ${make});`,
      end: each,
      use: "DEV.queue.writeBuffer(HELD.get(0)!, 0, {});",
    },
    [
      { name: "forgotten", end: [drop, each] },
      {
        name: "cleared at the end",
        end: [
          `HELD.clear(); ${drop}`,
          `for (const b of HELD.values()) b.destroy(); HELD.clear(); ${drop}`,
        ],
      },
      {
        name: "cleared",
        feed: [
          `HELD.clear(); HELD.set(n, ${make});`,
          `HELD.forEach((b) => b.destroy()); HELD.clear(); HELD.set(n, ${make});`,
        ],
      },
      {
        name: "deleted",
        feed: [
          `if (n > 9) { HELD.delete(n); return; } if (!HELD.has(n)) HELD.set(n, ${make});`,
          `if (n > 9) { HELD.get(n)?.destroy(); HELD.delete(n); return; } if ` +
            `(!HELD.has(n)) HELD.set(n, ${make});`,
        ],
      },
      {
        name: "replaced",
        feed: [
          `const old = HELD.get(n); if (old && old.size === n) return; HELD.set(n, ${make});`,
          `const old = HELD.get(n); if (old && old.size === n) return; ` +
            `old?.destroy(); HELD.set(n, ${make});`,
        ],
      },
    ],
  ),
  kind(
    "map of records",
    {
      type: "Map<number, { buffer: GPUBuffer; n: number }>",
      init: "new Map()",
      feed: `if (!HELD.has(n)) HELD.set(n, { buffer: ${make}, n });`,
      end: `for (const e of HELD.values()) e.buffer.destroy(); ${drop}`,
      use: "DEV.queue.writeBuffer(HELD.get(0)!.buffer, 0, {});",
    },
    [
      {
        name: "forgotten",
        end: [drop, `for (const e of HELD.values()) e.buffer.destroy(); ${drop}`],
      },
      {
        name: "cleared at the end",
        end: [
          `HELD.clear(); ${drop}`,
          `for (const e of HELD.values()) e.buffer.destroy(); HELD.clear(); ${drop}`,
        ],
      },
      {
        name: "deleted",
        feed: [
          `if (n > 9) { HELD.delete(n); return; } if (!HELD.has(n)) HELD.set(n, { ` +
            `buffer: ${make}, n });`,
          `if (n > 9) { HELD.get(n)?.buffer.destroy(); HELD.delete(n); return; } ` +
            `if (!HELD.has(n)) HELD.set(n, { buffer: ${make}, n });`,
        ],
      },
    ],
  ),
  kind(
    "record",
    {
      type: "{ a: GPUBuffer; b: GPUBuffer }",
      init: pair.replaceAll("n,", "4,"),
      end: `HELD.a.destroy(); HELD.b.destroy(); ${drop}`,
      use: "DEV.queue.writeBuffer(HELD.a, 0, {});",
    },
    [
      { name: "forgotten", end: [drop, `HELD.a.destroy(); HELD.b.destroy(); ${drop}`] },
      {
        name: "half forgotten",
        end: [`HELD.a.destroy(); ${drop}`, `HELD.a.destroy(); HELD.b.destroy(); ${drop}`],
      },
      {
        name: "overwritten",
        feed: [`HELD = ${pair};`, `HELD.a.destroy(); HELD.b.destroy(); HELD = ${pair};`],
      },
      {
        name: "overwritten by a function",
        feed: [
          "HELD = makePair(DEV, n);",
          "HELD.a.destroy(); HELD.b.destroy(); HELD = makePair(DEV, n);",
        ],
      },
      {
        name: "field overwritten",
        feed: [`HELD.a = ${make};`, `HELD.a.destroy(); HELD.a = ${make};`],
      },
    ],
  ),
  kind("object with an end", { type: "Mesh", init: "new Mesh(DEV)", use: "HELD.draw();" }, [
    { name: "forgotten", end: [drop, `HELD.destroy(); ${drop}`] },
    {
      name: "overwritten",
      feed: ["HELD = new Mesh(DEV);", "HELD.destroy(); HELD = new Mesh(DEV);"],
    },
  ]),
  kind(
    "map of objects with an end",
    {
      type: "Map<number, Mesh>",
      init: "new Map()",
      feed: `if (!HELD.has(n)) HELD.set(n, new Mesh(DEV));`,
      end: each,
      use: "HELD.get(0)?.draw();",
    },
    [
      { name: "forgotten", end: [drop, each] },
      {
        name: "cleared at the end",
        end: [
          `HELD.clear(); ${drop}`,
          `for (const b of HELD.values()) b.destroy(); HELD.clear(); ${drop}`,
        ],
      },
      {
        name: "deleted",
        feed: [
          "if (n > 9) { HELD.delete(n); return; } if (!HELD.has(n)) HELD.set(n, new Mesh(DEV));",
          "if (n > 9) { HELD.get(n)?.destroy(); HELD.delete(n); return; } if " +
            "(!HELD.has(n)) HELD.set(n, new Mesh(DEV));",
        ],
      },
    ],
  ),
];

/** What every program of the matrix may name. */
export const gpuHead = `class Mesh {
  private buffer: GPUBuffer;
  constructor(readonly d: GPUDevice) { this.buffer = d.createBuffer({ size: 4, usage: 8 }); }
  draw(): void { this.d.queue.writeBuffer(this.buffer, 0, {}); }
  destroy(): void { this.buffer.destroy(); }
}
function makePair(d: GPUDevice, n: number) {
  return { a: d.createBuffer({ size: n, usage: 8 }), b: d.createBuffer({ size: n, usage: 4 }) };
}
`;
