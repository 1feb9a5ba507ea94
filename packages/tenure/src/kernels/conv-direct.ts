/**
 * The direct convolution that the forward pass and the gradient for the input share: an invocation
 * makes a tile of output channels × pixels of a row. An input row is loaded once for all taps of a
 * kernel row. Called by conv.ts. Owns nothing.
 */
import { at } from "../base/access.ts";
import type { Direct, Implicit } from "./conv-problem.ts";
import { type Finish, eachColumn, eachRow, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { Params, type StorageDecl, gridOf, indent, loadElement, makeKernel } from "./wgsl.ts";
import { shapeClass, variantOf } from "./variants.ts";

/**
 * Pixels of a row per invocation: the size that wastes least at the end of the row, so that an
 * exact one needs no guards.
 */
export function pixelTile(columns: number, caps: DeviceCaps): number {
  if (!caps.software) return 4;
  const waste = (t: number): number => Math.ceil(columns / t) * t - columns;
  return [8, 7, 6, 5, 4].reduce((best, t) => (waste(t) < waste(best) ? t : best));
}

/** Whether the taps of a row may be written out: not many, and none that is passed over. */
function canUnroll({ transposed, kernel }: Direct): boolean {
  return !transposed && kernel[1] <= 7;
}

/**
 * How it is written: as a product of gathered blocks, or with so many pixels of a row per
 * invocation, and the taps of a row as a loop or written out: the standard, or what was measured
 * best. SwiftShader needs them written out; a compiler that optimizes makes either as fast, and
 * takes three times as long for what is written out.
 */
function wayOf(d: Direct, caps: DeviceCaps, implicit: Implicit | null): string {
  const pixels = `${pixelTile(d.columns, caps)} pixels`;
  const written = [...new Set([pixels, "4 pixels", "7 pixels", "8 pixels"])];
  const looped = canUnroll(d) && d.kernel[1] > 1 ? [`${pixels} looped`] : [];
  const [standard = pixels] = caps.software && caps.contracts ? looped : [];
  const space = [standard, ...[...written, ...looped].filter((way) => way !== standard)];
  if (implicit?.possible(caps) === true) space.push("implicit");
  const images = at(d.source.layout.shape, 0) * d.groups;
  const sizes = [images, d.channelsIn, d.rows, d.columns, d.channelsOut, ...d.kernel];
  const shape = shapeClass(sizes, d.after === undefined ? "alone" : "fused");
  return variantOf(caps, d.name, shape, space, standard);
}

/**
 * The kernel of a convolution. Bindings: source, weight, result (contiguous). @param implicit ways
 * to choose from besides; null where they are not there
 */
export function directKernel(d: Direct, caps: DeviceCaps, implicit: Implicit | null): Kernel {
  const way = wayOf(d, caps, implicit);
  if (implicit !== null && way === "implicit") return implicit.direct(d, caps);
  const t = planTile(d, Number.parseInt(way, 10), caps);
  const unrolled = canUnroll(d) && !way.endsWith("looped");
  const { f, each, pixel, finish } = t;
  const [sh, sw] = d.stride;
  // Wraps below zero, as the arithmetic around it does.
  const u32 = (v: number): string => `${v >>> 0}u`;
  const main = [
    `let id = (wg.y * grid.x + wg.x) * 64u + lane;`,
    `if (id >= ${f.total}) { return; }`,
    `let q0 = (id % ${f.columnTiles}) * ${pixel.length}u;`,
    `var rest = id / ${f.columnTiles};`,
    `let p0 = rest % ${f.rows};`,
    `rest /= ${f.rows};`,
    `let o0 = (rest % ${f.channelTiles}) * ${each.length}u;`,
    `rest /= ${f.channelTiles};`,
    `let group = rest % ${f.groups};`,
    `let n = rest / ${f.groups};`,
    ...(d.transposed
      ? []
      : [
          `let top = p0 * ${sh}u - ${u32(d.padding[0])};`,
          `let left = q0 * ${sw}u - ${u32(d.padding[1])};`,
        ]),
    `let image = ${f.source} + n * ${at(f.xs, 0)} + group * ${f.channelsIn} * ${at(f.xs, 1)};`,
    ...each.map((o) => {
      const channel = `min(o0 + ${o}u, ${f.channelsOut} - 1u)`;
      return `let filter${o} = ${f.weight} + group * ${f.wg} + ${channel} * ${at(f.ws, 0)};`;
    }),
    ...each.flatMap((o) => pixel.map((q) => `var c${o}_${q} = 0.0;`)),
    `for (var c = 0u; c < ${f.channelsIn}; c++) {`,
    indent(kernelRows(t, unrolled).join("\n")),
    "}",
    ...storeTile(t),
  ].join("\n");
  return makeKernel(
    {
      name: d.name,
      storages: t.decls,
      params: t.params,
      workgroupSize: [64, 1, 1],
      main,
      helpers: finish.helpers,
      globals: finish.globals,
      workgroups: gridOf(Math.ceil(t.total / 64), caps),
    },
    caps,
  );
}

/** The tile of an invocation, and the WGSL expressions of everything that is a parameter. */
interface DirectTile {
  readonly d: Direct;
  readonly params: Params;
  readonly finish: Finish;
  readonly decls: readonly StorageDecl[];
  /** Numbers of the tile's output channels, and of its pixels. */
  readonly each: readonly number[];
  readonly pixel: readonly number[];
  /** Rows are a whole number of tiles long. */
  readonly exact: boolean;
  /** In a loop over taps, pixels take over what their neighbours saw. */
  readonly slides: boolean;
  readonly total: number;
  readonly f: Readonly<Record<FieldName, string>> & {
    /** Strides of the source and of the weight. */
    readonly xs: readonly string[];
    readonly ws: readonly string[];
  };
}

type FieldName =
  | "total"
  | "columnTiles"
  | "rows"
  | "columns"
  | "channelTiles"
  | "groups"
  | "channelsIn"
  | "channelsOut"
  | "H"
  | "W"
  | "source"
  | "weight"
  | "wg";

function planTile(d: Direct, pixels: number, caps: DeviceCaps): DirectTile {
  const params = new Params();
  const [N, , H, W] = d.source.layout.shape as [number, number, number, number];
  const finish = finishing(d.after, d.source.dtype, 2, params);
  // Loads cost far more than products on a CPU: a wide tile there, one with fewer registers on a
  // GPU.
  const channels = d.channelsOut >= 4 ? 4 : d.channelsOut >= 2 ? 2 : 1;
  const columnTiles = Math.ceil(d.columns / pixels);
  const channelTiles = Math.ceil(d.channelsOut / channels);
  const total = N * d.groups * channelTiles * d.rows * columnTiles;
  return {
    d,
    params,
    finish,
    decls: [
      { dtype: d.source.dtype, vec: false, access: "read" },
      { dtype: d.weight.dtype, vec: false, access: "read" },
      ...finish.storages,
    ],
    each: Array.from({ length: channels }, (_, o) => o),
    pixel: Array.from({ length: pixels }, (_, q) => q),
    exact: d.columns % pixels === 0,
    slides: slides(d, caps),
    total,
    f: {
      total: params.u32("total", total),
      columnTiles: params.u32("columnTiles", columnTiles),
      rows: params.u32("rows", d.rows),
      columns: params.u32("columns", d.columns),
      channelTiles: params.u32("channelTiles", channelTiles),
      groups: params.u32("groups", d.groups),
      channelsIn: params.u32("channelsIn", d.channelsIn),
      channelsOut: params.u32("channelsOut", d.channelsOut),
      H: params.u32("H", H),
      W: params.u32("W", W),
      source: params.u32("source", d.source.layout.offset),
      weight: params.u32("weight", d.weightOffset),
      xs: d.source.layout.strides.map((v, i) => params.u32(`xs${i}`, v)),
      ws: d.weightStrides.map((v, i) => params.u32(`ws${i}`, v)),
      wg: params.u32("wgroup", d.weightGroup),
    },
  };
}

/** The loop over the rows of the window. */
function kernelRows(t: DirectTile, unrolled: boolean): string[] {
  const { d, f, each } = t;
  const [sh] = d.stride;
  const [dh] = d.dilation;
  const rowOf = d.transposed
    ? [
        `let t = p0 + ${d.padding[0]}u - r * ${dh}u;`,
        `let y = t / ${sh}u;`,
        `if (t >= 0x80000000u || t % ${sh}u != 0u || y >= ${f.H}) { continue; }`,
      ]
    : [`let y = top + r * ${dh}u;`, `if (y >= ${f.H}) { continue; }`];
  const body = [
    ...rowOf,
    `let row = image + c * ${at(f.xs, 1)} + y * ${at(f.xs, 2)};`,
    ...each.map((o) => `let wrow${o} = filter${o} + c * ${at(f.ws, 1)} + r * ${at(f.ws, 2)};`),
    ...(unrolled ? unrolledTaps(t) : loopedTaps(t)),
  ];
  const rows = t.params.u32("R", d.kernel[0]);
  return [`for (var r = 0u; r < ${rows}; r++) {`, indent(body.join("\n")), "}"];
}

/** An element of the source's row at a column, 0 outside. */
function sourceAt({ decls, f }: DirectTile, column: string, condition: string): string {
  const index = `row + min(${column}, ${f.W} - 1u) * ${at(f.xs, 3)}`;
  return `select(0.0, ${loadElement(at(decls, 0), 0, index)}, ${condition})`;
}

/** The weights of one column of the window, one per output channel. */
function weightsAt({ decls, each }: DirectTile, column: string, tag: string): string[] {
  return each.map(
    (o) => `let w${o}_${tag} = ${loadElement(at(decls, 1), 1, `wrow${o} + ${column}`)};`,
  );
}

/**
 * A row of taps written out. One statement per accumulator: SwiftShader keeps variables in memory,
 * so each assignment is a load and a store.
 */
function unrolledTaps(t: DirectTile): string[] {
  const { d, f, each, pixel } = t;
  const [, S] = d.kernel;
  const [, sw] = d.stride;
  const [, dw] = d.dilation;
  const taps = Array.from({ length: S }, (_, k) => k);
  const wanted = new Set(taps.flatMap((k) => pixel.map((q) => q * sw + k * dw)));
  const lines = [...wanted]
    .sort((a, b) => a - b)
    .map((e) => `let x${e} = ${sourceAt(t, `left + ${e}u`, `left + ${e}u < ${f.W}`)};`);
  for (const k of taps)
    lines.push(...weightsAt(t, k === 0 ? "0u" : `${k}u * ${at(f.ws, 3)}`, `${k}`));
  for (const o of each)
    for (const q of pixel) {
      const terms = taps.map((k) => `x${q * sw + k * dw} * w${o}_${k}`);
      lines.push(`c${o}_${q} += ${terms.join(" + ")};`);
    }
  return lines;
}

/**
 * Whether a pixel sees at a tap what its neighbour saw at the tap before, and taking it over is
 * faster than loading it. On SwiftShader, which keeps variables in memory, it is not for few taps.
 */
function slides({ transposed, stride, dilation, kernel }: Direct, caps: DeviceCaps): boolean {
  const same = transposed ? dilation[1] === 1 : stride[1] === dilation[1];
  return same && (caps.contracts || kernel[1] >= 4);
}

/** What pixel `q` sees at a tap, and lines before it; `tap` is how far from the first tap it is. */
function seenAt(t: DirectTile, q: number, tap: string): { lines: string[]; value: string } {
  const { d, f } = t;
  const [, sw] = d.stride;
  if (!d.transposed)
    return {
      lines: [`let i${q} = left + ${q * sw}u${tap && ` + ${tap}`};`],
      value: sourceAt(t, `i${q}`, `i${q} < ${f.W}`),
    };
  const hit = `t${q} < 0x80000000u && t${q} % ${sw}u == 0u && i${q} < ${f.W}`;
  return {
    lines: [
      `let t${q} = q0 + ${q}u + ${d.padding[1]}u${tap && ` - ${tap}`};`,
      `let i${q} = t${q} / ${sw}u;`,
    ],
    value: sourceAt(t, `i${q}`, hit),
  };
}

/**
 * A row of taps as a loop, whose length is a field, so that no compiler writes it out again. Where
 * pixels slide, one of them is loaded at each tap, and the others take their neighbour's:
 *
 *     before   x1 x2 x3 = pixels 0 1 2 at tap 0
 *     tap k    x0 x1 x2 = x1 x2 x3, x3 = pixel 3 at tap k        transposed: the other way round
 */
function loopedTaps(t: DirectTile): string[] {
  const { d, f, each, pixel } = t;
  const [, S] = d.kernel;
  const tap = `k * ${d.dilation[1]}u`;
  const order = d.transposed ? pixel : [...pixel].reverse();
  const from = order.slice(0, -1);
  const next = (i: number): number => at(order, i + 1);
  const before = from.map((q, i) => {
    const seen = seenAt(t, next(i), "");
    return `var x${q}: f32; { ${[...seen.lines, `x${q} = ${seen.value};`].join(" ")} }`;
  });
  const newest = seenAt(t, at(order, 0), tap);
  const slide = [
    ...from.map((q, i) => `x${next(i)} = x${q};`).reverse(),
    ...newest.lines,
    `x${at(order, 0)} = ${newest.value};`,
  ];
  const anew = pixel.flatMap((q) => {
    const seen = seenAt(t, q, tap);
    return [...seen.lines, `let x${q} = ${seen.value};`];
  });
  const body = [
    ...(t.slides ? slide : anew),
    ...weightsAt(t, `k * ${at(f.ws, 3)}`, "k"),
    ...each.flatMap((o) => pixel.map((q) => `c${o}_${q} += x${q} * w${o}_k;`)),
  ];
  return [
    ...(t.slides ? [...before, `var x${at(order, order.length - 1)} = 0.0;`] : []),
    `for (var k = 0u; k < ${t.params.u32("S", S)}; k++) {`,
    indent(body.join("\n")),
    "}",
  ];
}

/** Stores the tile, guarded at the edges. */
function storeTile({ f, each, pixel, exact, finish, params }: DirectTile): string[] {
  const values = each.flatMap((o) => pixel.map((q) => `c${o}_${q}`));
  const guard = exact ? "" : `if (q0 + j < ${f.columns}) `;
  const store = `${guard}{ ${finish.store("result", "at + j")} }`;
  const image = `(n * ${f.groups} + group) * ${f.channelsOut} + o0 + i`;
  return eachRow(values, pixel.length, params, (row) => [
    `if (o0 + i >= ${f.channelsOut}) { break; }`,
    `let at = ((${image}) * ${f.rows} + p0) * ${f.columns} + q0;`,
    ...eachColumn(row, params, store),
  ]);
}
