/**
 * 2-D convolution and its two gradients, NCHW with OIHW weights, any strides in memory, with
 * stride, padding, dilation and groups. Direct: no im2col, so no memory beyond operands and result.
 * Sizes are parameters; the window is part of the structure and is unrolled.
 *
 *   forward a tile of output channels × pixels of a row per invocation; an input row is loaded once
 *   for all taps of a kernel row
 *   backward input the same kernel on the gradient with flipped weights (stride 1), or a gather
 *   over the taps that hit (stride > 1)
 *   backward weight a workgroup per (channels, kernel row); its invocations share the pixels of the
 *   whole batch and meet once in workgroup memory
 *
 * Letters: N batch, C input channels, O output channels, H × W input, P × Q output, R × S kernel.
 * Owns nothing.
 */
import type { Layout } from "../base/layout.ts";
import { type Epilogue, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import { Params, type StorageDecl, gridOf, indent, loadElement, makeKernel } from "./wgsl.ts";

/** Window of a convolution. Pairs are (vertical, horizontal). */
export interface ConvWindow {
  readonly stride: readonly [number, number];
  /** Zeros added at both ends. */
  readonly padding: readonly [number, number];
  readonly dilation: readonly [number, number];
  readonly groups: number;
}

/** Output size along one dimension; 0 or less when the window does not fit. */
export function convOutputSize(
  input: number,
  kernel: number,
  stride: number,
  padding: number,
  dilation: number,
): number {
  return Math.floor((input + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1;
}

/** Shape [N, O, P, Q] of the output for input [N, C, H, W] and weight [O, C / groups, R, S]. */
export function convShape(
  input: readonly number[],
  weight: readonly number[],
  w: ConvWindow,
): [number, number, number, number] {
  return [
    input[0]!,
    weight[0]!,
    convOutputSize(input[2]!, weight[2]!, w.stride[0], w.padding[0], w.dilation[0]),
    convOutputSize(input[3]!, weight[3]!, w.stride[1], w.padding[1], w.dilation[1]),
  ];
}

/** Bindings: input [N, C, H, W], weight [O, C / groups, R, S], output [N, O, P, Q] (contiguous). */
export function conv2dKernel(
  spec: ConvWindow & { readonly input: View; readonly weight: View; readonly after?: Epilogue },
  caps: DeviceCaps,
): Kernel {
  const { input, weight, groups } = spec,
    [, , P, Q] = convShape(input.layout.shape, weight.layout.shape, spec);
  const w = weight.layout.strides;
  return directKernel(
    {
      name: "conv2d",
      source: input,
      weight,
      groups,
      channelsIn: weight.layout.shape[1]!,
      channelsOut: weight.layout.shape[0]! / groups,
      weightOffset: weight.layout.offset,
      weightStrides: [w[0]!, w[1]!, w[2]!, w[3]!],
      weightGroup: (weight.layout.shape[0]! / groups) * w[0]!,
      rows: P,
      columns: Q,
      kernel: [weight.layout.shape[2]!, weight.layout.shape[3]!],
      stride: spec.stride,
      dilation: spec.dilation,
      padding: spec.padding,
      transposed: false,
      after: spec.after,
    },
    caps,
  );
}

/**
 * Gradient for the input. Bindings: grad [N, O, P, Q], weight [O, C / groups, R, S], result
 * `inputShape` [N, C, H, W] (contiguous).
 */
export function conv2dBackwardInputKernel(
  spec: ConvWindow & {
    readonly grad: View;
    readonly weight: View;
    readonly inputShape: readonly number[];
    readonly after?: Epilogue;
  },
  caps: DeviceCaps,
): Kernel {
  const { grad, weight, groups, stride, dilation, padding } = spec,
    w = weight.layout.strides,
    [O, Cg, R, S] = weight.layout.shape as [number, number, number, number];
  const flipped = stride[0] === 1 && stride[1] === 1;
  return directKernel(
    {
      name: "conv2dBackwardInput",
      source: grad,
      weight,
      groups,
      channelsIn: O / groups,
      channelsOut: Cg,
      weightGroup: (O / groups) * w[0]!,
      weightOffset: weight.layout.offset + (flipped ? (R - 1) * w[2]! + (S - 1) * w[3]! : 0),
      weightStrides: [w[1]!, w[0]!, flipped ? -w[2]! : w[2]!, flipped ? -w[3]! : w[3]!],
      rows: spec.inputShape[2]!,
      columns: spec.inputShape[3]!,
      kernel: [R, S],
      stride,
      dilation,
      padding: flipped
        ? [dilation[0] * (R - 1) - padding[0], dilation[1] * (S - 1) - padding[1]]
        : padding,
      transposed: !flipped,
      after: spec.after,
    },
    caps,
  );
}

// === Forward, and backward input ===

interface Direct {
  readonly name: string;
  /** What the window slides over, [N, groups · channelsIn, height, width]. */
  readonly source: View;
  readonly weight: View;
  readonly groups: number;
  /** Per group. */
  readonly channelsIn: number;
  readonly channelsOut: number;
  readonly weightOffset: number;
  /** Strides of (out channel, in channel, row, column) and of a whole group. */
  readonly weightStrides: readonly [number, number, number, number];
  readonly weightGroup: number;
  /** Size of the result. */
  readonly rows: number;
  readonly columns: number;
  readonly kernel: readonly [number, number];
  readonly stride: readonly [number, number];
  readonly dilation: readonly [number, number];
  /** May be negative for a flipped window. */
  readonly padding: readonly [number, number];
  /**
   * Tap (r, s) of output (p, q) reads source ((p + pad − r·dil) / stride, …) where that divides.
   */
  readonly transposed: boolean;
  readonly after: Epilogue | undefined;
}

/**
 * Pixels of a row per invocation: the size that wastes least at the end of the row, so that an
 * exact one needs no guards.
 */
function pixelTile(columns: number, caps: DeviceCaps): number {
  if (!caps.software) return 4;
  const waste = (t: number): number => Math.ceil(columns / t) * t - columns;
  return [8, 7, 6, 5, 4].reduce((best, t) => (waste(t) < waste(best) ? t : best));
}

function directKernel(d: Direct, caps: DeviceCaps): Kernel {
  const params = new Params(),
    [N, , H, W] = d.source.layout.shape as [number, number, number, number],
    s = d.source.layout.strides;
  const [R, S] = d.kernel,
    [sh, sw] = d.stride,
    [dh, dw] = d.dilation;
  const finish = finishing(d.after, d.source.dtype, 2, params);
  const decls: StorageDecl[] = [
    { dtype: d.source.dtype, vec: false, access: "read" },
    { dtype: d.weight.dtype, vec: false, access: "read" },
    ...finish.storages,
  ];
  // Loads cost far more than products on a CPU: a wide tile there, one with fewer registers on a
  // GPU.
  const channels = d.channelsOut >= 4 ? 4 : d.channelsOut >= 2 ? 2 : 1,
    pixels = pixelTile(d.columns, caps);
  const exact = d.columns % pixels === 0;
  const columnTiles = Math.ceil(d.columns / pixels),
    channelTiles = Math.ceil(d.channelsOut / channels);
  const total = N * d.groups * channelTiles * d.rows * columnTiles;
  const f = {
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
    xs: s.map((v, i) => params.u32(`xs${i}`, v)),
    ws: d.weightStrides.map((v, i) => params.u32(`ws${i}`, v)),
    wg: params.u32("wgroup", d.weightGroup),
  };
  const each = Array.from({ length: channels }, (_, o) => o);
  const load = (binding: number, index: string): string =>
    loadElement(decls[binding]!, binding, index);

  const pixel = Array.from({ length: pixels }, (_, q) => q);

  // A row of taps. One statement per accumulator: SwiftShader keeps variables in memory, so each
  // assignment is a load and a store.
  const tapRow: string[] = [];
  const unroll = S <= 7;
  const weights = (column: string, tag: string): string[] =>
    each.map((o) => `let w${o}_${tag} = ${load(1, `wrow${o} + ${column}`)};`);
  if (!d.transposed && unroll) {
    const span = (pixels - 1) * sw + (S - 1) * dw + 1;
    const wanted = new Set<number>();
    for (let k = 0; k < S; k++) for (let q = 0; q < pixels; q++) wanted.add(q * sw + k * dw);
    for (let e = 0; e < span; e++)
      if (wanted.has(e))
        tapRow.push(
          `let x${e} = select(0.0, ${load(0, `row + min(left + ${e}u, ${f.W} - 1u) * ${f.xs[3]}`)}, left + ${e}u < ${f.W});`,
        );
    for (let k = 0; k < S; k++)
      tapRow.push(...weights(k === 0 ? "0u" : `${k}u * ${f.ws[3]}`, `${k}`));
    for (const o of each)
      for (const q of pixel)
        tapRow.push(
          `c${o}_${q} += ${Array.from({ length: S }, (_, k) => `x${q * sw + k * dw} * w${o}_${k}`).join(" + ")};`,
        );
  } else {
    const at = (q: number): string[] =>
      d.transposed
        ? [
            `let t${q} = q0 + ${q}u + ${d.padding[1]}u - k * ${dw}u;`,
            `let i${q} = t${q} / ${sw}u;`,
            `let x${q} = select(0.0, ${load(0, `row + min(i${q}, ${f.W} - 1u) * ${f.xs[3]}`)}, t${q} < 0x80000000u && t${q} % ${sw}u == 0u && i${q} < ${f.W});`,
          ]
        : [
            `let i${q} = left + ${q * sw}u + k * ${dw}u;`,
            `let x${q} = select(0.0, ${load(0, `row + min(i${q}, ${f.W} - 1u) * ${f.xs[3]}`)}, i${q} < ${f.W});`,
          ];
    tapRow.push(
      `for (var k = 0u; k < ${S}u; k++) {`,
      indent(
        [
          ...pixel.flatMap(at),
          ...weights(`k * ${f.ws[3]}`, "k"),
          ...each.flatMap((o) => pixel.map((q) => `c${o}_${q} += x${q} * w${o}_k;`)),
        ].join("\n"),
      ),
      "}",
    );
  }
  const rowOf = d.transposed
    ? [
        `let t = p0 + ${d.padding[0]}u - r * ${dh}u;`,
        `let y = t / ${sh}u;`,
        `if (t >= 0x80000000u || t % ${sh}u != 0u || y >= ${f.H}) { continue; }`,
      ]
    : [`let y = top + r * ${dh}u;`, `if (y >= ${f.H}) { continue; }`];
  // wraps below zero, as the arithmetic around it does
  const u32 = (v: number): string => `${v >>> 0}u`;

  const main = [
    `let id = (wg.y * grid.x + wg.x) * 64u + lane;`,
    `if (id >= ${f.total}) { return; }`,
    `let q0 = (id % ${f.columnTiles}) * ${pixels}u;`,
    `var rest = id / ${f.columnTiles};`,
    `let p0 = rest % ${f.rows};`,
    `rest /= ${f.rows};`,
    `let o0 = (rest % ${f.channelTiles}) * ${channels}u;`,
    `rest /= ${f.channelTiles};`,
    `let group = rest % ${f.groups};`,
    `let n = rest / ${f.groups};`,
    ...(d.transposed
      ? []
      : [
          `let top = p0 * ${sh}u - ${u32(d.padding[0])};`,
          `let left = q0 * ${sw}u - ${u32(d.padding[1])};`,
        ]),
    `let image = ${f.source} + n * ${f.xs[0]} + group * ${f.channelsIn} * ${f.xs[1]};`,
    ...each.map(
      (o) =>
        `let filter${o} = ${f.weight} + group * ${f.wg} + min(o0 + ${o}u, ${f.channelsOut} - 1u) * ${f.ws[0]};`,
    ),
    ...each.flatMap((o) => pixel.map((q) => `var c${o}_${q} = 0.0;`)),
    `for (var c = 0u; c < ${f.channelsIn}; c++) {`,
    indent(
      [
        `for (var r = 0u; r < ${R}u; r++) {`,
        indent(
          [
            ...rowOf,
            `let row = image + c * ${f.xs[1]} + y * ${f.xs[2]};`,
            ...each.map((o) => `let wrow${o} = filter${o} + c * ${f.ws[1]} + r * ${f.ws[2]};`),
            ...tapRow,
          ].join("\n"),
        ),
        "}",
      ].join("\n"),
    ),
    "}",
    ...each.flatMap((o) => [
      `if (o0 + ${o}u < ${f.channelsOut}) {`,
      indent(
        [
          `let at = (((n * ${f.groups} + group) * ${f.channelsOut} + o0 + ${o}u) * ${f.rows} + p0) * ${f.columns} + q0;`,
          ...pixel.map(
            (q) =>
              `${exact ? "" : `if (q0 + ${q}u < ${f.columns}) `}{ ${finish.store(`c${o}_${q}`, `at + ${q}u`)} }`,
          ),
        ].join("\n"),
      ),
      "}",
    ]),
  ].join("\n");
  return makeKernel(
    {
      name: d.name,
      storages: decls,
      params,
      workgroupSize: [64, 1, 1],
      main,
      helpers: finish.helpers,
      globals: finish.globals,
      workgroups: gridOf(Math.ceil(total / 64), caps),
    },
    caps,
  );
}

// === Backward weight ===

/**
 * Gradient for the weight. Bindings: input [N, C, H, W], grad [N, O, P, Q], result `weightShape`
 * [O, C / groups, R, S] (contiguous). Sums per row of pixels, then per invocation, then over the
 * workgroup: short chains, one fixed order.
 */
export function conv2dBackwardWeightKernel(
  spec: ConvWindow & {
    readonly input: View;
    readonly grad: View;
    readonly weightShape: readonly number[];
    readonly after?: Epilogue;
  },
  caps: DeviceCaps,
): Kernel {
  const params = new Params(),
    { input, grad, groups } = spec;
  const [O, Cg, R, S] = spec.weightShape as [number, number, number, number],
    [N, , H, W] = input.layout.shape as [number, number, number, number],
    [, , P, Q] = grad.layout.shape as [number, number, number, number];
  const [sh, sw] = spec.stride,
    [dh, dw] = spec.dilation;
  const finish = finishing(spec.after, input.dtype, 2, params);
  const decls: StorageDecl[] = [
    { dtype: input.dtype, vec: false, access: "read" },
    { dtype: grad.dtype, vec: false, access: "read" },
    ...finish.storages,
  ];
  const Og = O / groups,
    taps = S <= 7 ? S : 1;
  const work = (tile: number): number => groups * Math.ceil(Og / tile) * Cg * R * (S / taps);
  // On a CPU few invocations are enough, and barriers cost more than idle lanes (to compile, too):
  // narrow the tile until there are some.
  const channels = [4, 2].find((t) => Og >= t && (!caps.software || work(t) >= 32)) ?? 1,
    solo = caps.software && work(channels) >= 16;
  const lanes =
    !caps.software && channels * taps <= 16 ? Math.min(256, caps.maxInvocationsPerWorkgroup) : 64;
  const channelTiles = Math.ceil(Og / channels),
    tapTiles = S / taps,
    total = work(channels);
  const layout = (name: string, l: Layout): { offset: string; strides: string[] } => ({
    offset: params.u32(name, l.offset),
    strides: l.strides.map((v, i) => params.u32(`${name}${i}`, v)),
  });
  const x = layout("x", input.layout),
    g = layout("g", grad.layout);
  const f = {
    H: params.u32("H", H),
    W: params.u32("W", W),
    P: params.u32("P", P),
    Q: params.u32("Q", Q),
    N: params.u32("N", N),
    channelsIn: params.u32("channelsIn", Cg),
    channelsOut: params.u32("channelsOut", Og),
    channelTiles: params.u32("channelTiles", channelTiles),
    total: params.u32("total", total),
  };
  const each = Array.from({ length: channels }, (_, o) => o),
    tap = Array.from({ length: taps }, (_, k) => k);
  const pixels = pixelTile(Q, caps),
    pixel = Array.from({ length: pixels }, (_, q) => q),
    exact = Q % pixels === 0;
  const load = (b: number, index: string): string => loadElement(decls[b]!, b, index);
  const wanted = [...new Set(tap.flatMap((k) => pixel.map((q) => q * sw + k * dw)))].sort(
    (a, b) => a - b,
  );
  const u32 = (v: number): string => `${v >>> 0}u`;
  const count = channels * taps;
  const at = (o: string, k: string): string =>
    `(((group * ${f.channelsOut} + ${o}) * ${f.channelsIn} + c) * ${R}u + r) * ${S}u + ${k}`;
  const pairs = each.flatMap((o) => tap.map((k) => [o, k] as const));
  const line = [
    `let y = p0 * ${sh}u + r * ${dh}u - ${u32(spec.padding[0])};`,
    `if (y >= ${f.H}) { continue; }`,
    `let row = image + n * ${x.strides[0]} + y * ${x.strides[2]};`,
    ...each.map((o) => `let grow${o} = plane${o} + n * ${g.strides[0]} + p0 * ${g.strides[2]};`),
    `for (var q0 = 0u; q0 < ${f.Q}; q0 += ${pixels}u) {`,
    indent(
      [
        `let left = q0 * ${sw}u + s0 * ${dw}u - ${u32(spec.padding[1])};`,
        ...wanted.map(
          (e) =>
            `let x${e} = select(0.0, ${load(0, `row + min(left + ${e}u, ${f.W} - 1u) * ${x.strides[3]}`)}, left + ${e}u < ${f.W});`,
        ),
        ...each.flatMap((o) => [
          ...pixel.map(
            (q) =>
              `let g${o}_${q} = ${exact || q === 0 ? load(1, `grow${o} + (q0 + ${q}u) * ${g.strides[3]}`) : `select(0.0, ${load(1, `grow${o} + min(q0 + ${q}u, ${f.Q} - 1u) * ${g.strides[3]}`)}, q0 + ${q}u < ${f.Q})`};`,
          ),
          ...tap.map(
            (k) =>
              `d${o}_${k} += ${pixel.map((q) => `g${o}_${q} * x${q * sw + k * dw}`).join(" + ")};`,
          ),
        ]),
      ].join("\n"),
    ),
    "}",
  ];
  const sums = (name: string): string[] => pairs.map(([o, k]) => `var ${name}${o}_${k} = 0.0;`);
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
    `let o0 = (rest % ${f.channelTiles}) * ${channels}u;`,
    `let group = rest / ${f.channelTiles};`,
    `let image = ${x.offset} + (group * ${f.channelsIn} + c) * ${x.strides[1]};`,
    ...each.map(
      (o) =>
        `let plane${o} = ${g.offset} + (group * ${f.channelsOut} + min(o0 + ${o}u, ${f.channelsOut} - 1u)) * ${g.strides[1]};`,
    ),
    ...(solo
      ? [
          ...sums("t"),
          `for (var n = 0u; n < ${f.N}; n++) {`,
          indent(
            [
              ...sums("d"),
              `for (var p0 = 0u; p0 < ${f.P}; p0++) {`,
              indent(line.join("\n")),
              "}",
              ...pairs.map(([o, k]) => `t${o}_${k} += d${o}_${k};`),
            ].join("\n"),
          ),
          "}",
          ...pairs.map(
            ([o, k]) =>
              `if (o0 + ${o}u < ${f.channelsOut}) { ${finish.store(`t${o}_${k}`, at(`o0 + ${o}u`, `s0 + ${k}u`))} }`,
          ),
        ]
      : [
          ...sums("d"),
          `for (var l = lane; l < ${f.N} * ${f.P}; l += ${lanes}u) {`,
          indent([`let n = l / ${f.P};`, `let p0 = l % ${f.P};`, ...line].join("\n")),
          "}",
          ...pairs.map(([o, k]) => `partial[${(o * taps + k) * lanes}u + lane] = d${o}_${k};`),
          "workgroupBarrier();",
          `if (lane < ${count}u) {`,
          indent(
            [
              `let o = o0 + lane / ${taps}u;`,
              `let s = s0 + lane % ${taps}u;`,
              "var sum = 0.0;",
              `for (var l = 0u; l < ${lanes}u; l += 4u) { let at = lane * ${lanes}u + l; sum += (partial[at] + partial[at + 1u]) + (partial[at + 2u] + partial[at + 3u]); }`,
              `if (o < ${f.channelsOut}) { ${finish.store("sum", at("o", "s"))} }`,
            ].join("\n"),
          ),
          "}",
        ]),
  ].join("\n");
  return makeKernel(
    {
      name: "conv2dBackwardWeight",
      storages: decls,
      params,
      workgroupSize: [solo ? 4 : lanes, 1, 1],
      helpers: finish.helpers,
      globals: solo
        ? finish.globals
        : `${finish.globals}var<workgroup> partial: array<f32, ${count * lanes}>;\n`,
      main,
      workgroups: gridOf(solo ? Math.ceil(total / 4) : total, caps),
    },
    caps,
  );
}
