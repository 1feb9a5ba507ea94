/**
 * The gradient of a convolution for its weight: a workgroup per (channels, kernel row), whose
 * invocations share the pixels of the whole batch and meet once in workgroup memory. Called through
 * ops. Owns nothing.
 */
import { at } from "../base/access.ts";
import type { Layout } from "../base/layout.ts";
import { pixelTile } from "./conv-direct.ts";
import type { Implicit, WeightSpec } from "./conv-problem.ts";
import { type Finish, eachColumn, eachRow, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel } from "./kernel.ts";
import { Params, type StorageDecl, gridOf, indent, loadElement, makeKernel } from "./wgsl.ts";
import { shapeClass, variantOf } from "./variants.ts";

/**
 * Gradient for the weight. Bindings: input [N, C, H, W], grad [N, O, P, Q], result `weightShape`
 * [O, C / groups, R, S] (contiguous). Sums per row of pixels, then per invocation, then over the
 * workgroup: short chains, one fixed order.
 */
export function conv2dBackwardWeightKernel(
  spec: WeightSpec,
  device: DeviceCaps,
  implicit: Implicit | null = null,
): Kernel {
  const [O, C, ...window] = spec.weightShape as [number, number, number, number];
  const [images, , H, W] = spec.input.layout.shape as [number, number, number, number];
  const sizes = shapeClass([images, C, H, W, O / spec.groups, ...window]);
  const space = ["alone", "shared", ...(implicit?.possible(device) === true ? ["implicit"] : [])];
  const standard = device.software ? "alone" : "shared";
  const way = variantOf(device, "conv2d weight gradient", sizes, space, standard);
  if (implicit !== null && way === "implicit") return implicit.weight(spec, device);
  const caps = { ...device, software: way === "alone" };
  const t = planWeights(spec, caps);
  const { f, x, g, each, tap, lanes, solo, tapTiles, finish, total } = t;
  const [, , R] = spec.weightShape;
  const main = [
    solo ? "let id = (wg.y * grid.x + wg.x) * 4u + lane;" : "let id = wg.y * grid.x + wg.x;",
    `if (id >= ${f.total}) { return; }`,
    ...(tapTiles > 1
      ? [`let s0 = id % ${tapTiles}u;`, `var rest = id / ${tapTiles}u;`]
      : ["const s0 = 0u;", "var rest = id;"]),
    `let r = rest % ${R}u;`,
    `rest /= ${R}u;`,
    `let c = rest % ${f.channelsIn};`,
    `rest /= ${f.channelsIn};`,
    `let o0 = (rest % ${f.channelTiles}) * ${each.length}u;`,
    `let group = rest / ${f.channelTiles};`,
    `let image = ${x.offset} + (group * ${f.channelsIn} + c) * ${at(x.strides, 1)};`,
    ...each.map((o) => {
      const channel = `group * ${f.channelsOut} + min(o0 + ${o}u, ${f.channelsOut} - 1u)`;
      return `let plane${o} = ${g.offset} + (${channel}) * ${at(g.strides, 1)};`;
    }),
    ...(solo ? soloSums(t) : sharedSums(t)),
  ].join("\n");
  const partials = each.length * tap.length * lanes;
  return makeKernel(
    {
      name: "conv2dBackwardWeight",
      storages: t.decls,
      params: t.params,
      workgroupSize: [solo ? 4 : lanes, 1, 1],
      helpers: finish.helpers,
      globals: finish.globals + (solo ? "" : `var<workgroup> partial: array<f32, ${partials}>;\n`),
      main,
      workgroups: gridOf(solo ? Math.ceil(total / 4) : total, caps),
    },
    caps,
  );
}

/** WGSL expressions of where a view begins and how it is strided. */
interface ViewText {
  readonly offset: string;
  readonly strides: readonly string[];
}

/** The tile of a workgroup, and the WGSL expressions of everything that is a parameter. */
interface WeightTile {
  readonly spec: WeightSpec;
  readonly params: Params;
  readonly finish: Finish;
  readonly decls: readonly StorageDecl[];
  /** An invocation sums alone, without workgroup memory. */
  readonly solo: boolean;
  readonly lanes: number;
  /** Numbers of the tile's output channels, taps of a kernel row, and pixels of a row. */
  readonly each: readonly number[];
  readonly tap: readonly number[];
  readonly pixel: readonly number[];
  /** Tiles a kernel row is cut into. */
  readonly tapTiles: number;
  /** Rows are a whole number of tiles long. */
  readonly exact: boolean;
  readonly total: number;
  readonly x: ViewText;
  readonly g: ViewText;
  readonly f: Readonly<
    Record<
      "H" | "W" | "P" | "Q" | "N" | "channelsIn" | "channelsOut" | "channelTiles" | "total",
      string
    >
  >;
}

function planWeights(spec: WeightSpec, caps: DeviceCaps): WeightTile {
  const params = new Params();
  const { input, grad, groups } = spec;
  const [O, Cg, R, S] = spec.weightShape as [number, number, number, number];
  const [N, , H, W] = input.layout.shape as [number, number, number, number];
  const [, , P, Q] = grad.layout.shape as [number, number, number, number];
  const finish = finishing(spec.after, input.dtype, 2, params);
  const Og = O / groups;
  const taps = S <= 7 ? S : 1;
  const work = (tile: number): number => groups * Math.ceil(Og / tile) * Cg * R * (S / taps);
  // On a CPU few invocations are enough, and barriers cost more than idle lanes (to compile, too):
  // narrow the tile until there are some.
  const channels = [4, 2].find((t) => Og >= t && (!caps.software || work(t) >= 32)) ?? 1;
  const total = work(channels);
  const layout = (name: string, l: Layout): ViewText => ({
    offset: params.u32(name, l.offset),
    strides: l.strides.map((v, i) => params.u32(`${name}${i}`, v)),
  });
  const pixels = pixelTile(Q, caps);
  return {
    spec,
    params,
    finish,
    decls: [
      { dtype: input.dtype, vec: false, access: "read" },
      { dtype: grad.dtype, vec: false, access: "read" },
      ...finish.storages,
    ],
    solo: caps.software && total >= 16,
    lanes:
      !caps.software && channels * taps <= 16 ? Math.min(256, caps.maxInvocationsPerWorkgroup) : 64,
    each: Array.from({ length: channels }, (_, o) => o),
    tap: Array.from({ length: taps }, (_, k) => k),
    pixel: Array.from({ length: pixels }, (_, q) => q),
    tapTiles: S / taps,
    exact: Q % pixels === 0,
    total,
    x: layout("x", input.layout),
    g: layout("g", grad.layout),
    f: {
      H: params.u32("H", H),
      W: params.u32("W", W),
      P: params.u32("P", P),
      Q: params.u32("Q", Q),
      N: params.u32("N", N),
      channelsIn: params.u32("channelsIn", Cg),
      channelsOut: params.u32("channelsOut", Og),
      channelTiles: params.u32("channelTiles", Math.ceil(Og / channels)),
      total: params.u32("total", total),
    },
  };
}

/** Every (output channel, tap) of a tile. */
function pairsOf({ each, tap }: WeightTile): (readonly [number, number])[] {
  return each.flatMap((o) => tap.map((k) => [o, k] as const));
}

/** Declares one sum per output channel and tap. */
function sums(t: WeightTile, name: string): string[] {
  return pairsOf(t).map(([o, k]) => `var ${name}${o}_${k} = 0.0;`);
}

/** The number of a weight element. */
function weightAt({ f, spec }: WeightTile, o: string, k: string): string {
  const [, , R, S] = spec.weightShape;
  const channel = `(group * ${f.channelsOut} + ${o}) * ${f.channelsIn} + c`;
  return `((${channel}) * ${R}u + r) * ${S}u + ${k}`;
}

/** Adds up one row of pixels: gradient times what lies under each tap. */
function pixelRow(t: WeightTile): string[] {
  const { spec, f, x, g, each, tap, pixel } = t;
  const [sh, sw] = spec.stride;
  const [dh, dw] = spec.dilation;
  const u32 = (v: number): string => `${v >>> 0}u`;
  const wanted = [...new Set(tap.flatMap((k) => pixel.map((q) => q * sw + k * dw)))];
  const body = [
    `let left = q0 * ${sw}u + s0 * ${dw}u - ${u32(spec.padding[1])};`,
    ...wanted
      .sort((a, b) => a - b)
      .map((e) => {
        const index = `row + min(left + ${e}u, ${f.W} - 1u) * ${at(x.strides, 3)}`;
        const value = loadElement(at(t.decls, 0), 0, index);
        return `let x${e} = select(0.0, ${value}, left + ${e}u < ${f.W});`;
      }),
    ...each.flatMap((o) => [
      ...pixel.map((q) => `let g${o}_${q} = ${gradAt(t, o, q)};`),
      ...tap.map((k) => {
        const terms = pixel.map((q) => `g${o}_${q} * x${q * sw + k * dw}`);
        return `d${o}_${k} += ${terms.join(" + ")};`;
      }),
    ]),
  ];
  return [
    `let y = p0 * ${sh}u + r * ${dh}u - ${u32(spec.padding[0])};`,
    `if (y >= ${f.H}) { continue; }`,
    `let row = image + n * ${at(x.strides, 0)} + y * ${at(x.strides, 2)};`,
    ...each.map(
      (o) => `let grow${o} = plane${o} + n * ${at(g.strides, 0)} + p0 * ${at(g.strides, 2)};`,
    ),
    `for (var q0 = 0u; q0 < ${f.Q}; q0 += ${pixel.length}u) {`,
    indent(body.join("\n")),
    "}",
  ];
}

/** The gradient of pixel `q` of the tile, 0 beyond the end of the row. */
function gradAt({ decls, f, g, exact }: WeightTile, o: number, q: number): string {
  const load = (column: string): string =>
    loadElement(at(decls, 1), 1, `grow${o} + ${column} * ${at(g.strides, 3)}`);
  if (exact || q === 0) return load(`(q0 + ${q}u)`);
  return `select(0.0, ${load(`min(q0 + ${q}u, ${f.Q} - 1u)`)}, q0 + ${q}u < ${f.Q})`;
}

/** One invocation takes all pixels, image by image. */
function soloSums(t: WeightTile): string[] {
  const { f, finish, tap, params } = t;
  const values = pairsOf(t).map(([o, k]) => `t${o}_${k}`);
  const image = [
    ...sums(t, "d"),
    `for (var p0 = 0u; p0 < ${f.P}; p0++) {`,
    indent(pixelRow(t).join("\n")),
    "}",
    ...pairsOf(t).map(([o, k]) => `t${o}_${k} += d${o}_${k};`),
  ];
  return [
    ...sums(t, "t"),
    `for (var n = 0u; n < ${f.N}; n++) {`,
    indent(image.join("\n")),
    "}",
    ...eachRow(values, tap.length, params, (row) => [
      `if (o0 + i >= ${f.channelsOut}) { break; }`,
      ...eachColumn(row, params, finish.store("result", weightAt(t, "o0 + i", "s0 + j"))),
    ]),
  ];
}

/** The lanes of a workgroup take the rows of pixels in turns and meet in workgroup memory. */
function sharedSums(t: WeightTile): string[] {
  const { f, finish, lanes, each, tap } = t;
  const four =
    `let at = lane * ${lanes}u + l; ` +
    "sum += (partial[at] + partial[at + 1u]) + (partial[at + 2u] + partial[at + 3u]);";
  const finale = [
    `let o = o0 + lane / ${tap.length}u;`,
    `let s = s0 + lane % ${tap.length}u;`,
    "var sum = 0.0;",
    `for (var l = 0u; l < ${lanes}u; l += 4u) { ${four} }`,
    `if (o < ${f.channelsOut}) { ${finish.store("sum", weightAt(t, "o", "s"))} }`,
  ];
  return [
    ...sums(t, "d"),
    `for (var l = lane; l < ${f.N} * ${f.P}; l += ${lanes}u) {`,
    indent([`let n = l / ${f.P};`, `let p0 = l % ${f.P};`, ...pixelRow(t)].join("\n")),
    "}",
    ...pairsOf(t).map(([o, k]) => {
      const slot = (o * tap.length + k) * lanes;
      return `partial[${slot}u + lane] = d${o}_${k};`;
    }),
    "workgroupBarrier();",
    `if (lane < ${each.length * tap.length}u) {`,
    indent(finale.join("\n")),
    "}",
  ];
}
