/**
 * Convolutions and their gradients as matrix products whose operands are never written down: a
 * workgroup gathers blocks of both from the images into workgroup memory and computes a tile of 64
 * × 64 outputs from them, as matmul-tiles.ts does. Called by conv-direct.ts and conv-weight.ts.
 * Letters: M rows of the product (output channels), N columns (pixels, or taps of the weight), K
 * summed. Owns nothing.
 */
import { at } from "../base/access.ts";
import { sizeOf } from "../base/shape.ts";
import type { Direct, Implicit, WeightSpec } from "./conv-problem.ts";
import { type Epilogue, finishing } from "./fused.ts";
import type { DeviceCaps, Kernel, View } from "./kernel.ts";
import {
  Params,
  type StorageDecl,
  flatWorkgroup,
  gridOf,
  indent,
  loadElement,
  makeKernel,
} from "./wgsl.ts";

/** Rows and columns of a tile, elements of K in a block, invocations of a workgroup. */
const tile = 64;
const blockK = 16;
const threads = 256;

/** A product whose elements are gathered. Texts are WGSL. */
interface Gathered {
  readonly name: string;
  readonly views: readonly [View, View];
  readonly after: Epilogue | undefined;
  readonly params: Params;
  readonly groups: number;
  readonly M: number;
  readonly N: number;
  readonly K: number;
  /** Bodies of functions of (group, m, k) and (group, k, n) that return an element, inside. */
  readonly a: readonly string[];
  readonly b: readonly string[];
  /** Index of output (group, m, n). */
  readonly index: string;
}

/** Copies a block of an operand: 1024 elements, four an invocation, as quads along the outputs. */
function stage(name: "A" | "B", origin: string, along: boolean): string[] {
  const place = along
    ? `let kk = slot % ${blockK}u; let x = slot / ${blockK}u;`
    : `let x = slot % ${tile}u; let kk = slot / ${tile}u;`;
  const args = name === "A" ? `${origin} + x, k0 + kk` : `k0 + kk, ${origin} + x`;
  const lines = [
    `let slot = lane + e * ${threads}u;`,
    place,
    `tile${name}[kk * ${tile / 4}u + x / 4u][x % 4u] = element${name}(group, ${args});`,
  ];
  return [`for (var e = 0u; e < 4u; e++) {`, indent(lines.join("\n")), "}"];
}

function gatheredKernel(g: Gathered, caps: DeviceCaps): Kernel {
  const { params, views } = g;
  const finish = finishing(g.after, views[0].dtype, 2, params);
  const decls: StorageDecl[] = views.map(({ dtype }) => ({ dtype, vec: false, access: "read" }));
  const across = Math.ceil(g.N / tile);
  const tiles = Math.ceil(g.M / tile) * across;
  const total = tiles * g.groups;
  const [M, N, K] = [params.u32("M", g.M), params.u32("N", g.N), params.u32("K", g.K)];
  const tilesN = params.u32("tilesN", across);
  const tilesOfGroup = params.u32("tiles", tiles);
  const each = [0, 1, 2, 3];
  const block = [
    ...stage("A", "m0", true),
    ...stage("B", "n0", false),
    "workgroupBarrier();",
    `for (var kk = 0u; kk < ${blockK}u; kk++) {`,
    `  let a = tileA[kk * ${tile / 4}u + ty];`,
    `  let b = tileB[kk * ${tile / 4}u + tx];`,
    ...each.map((i) => `  c${i} += a.${"xyzw".charAt(i)} * b;`),
    "}",
    "workgroupBarrier();",
  ];
  const store = (i: number): string[] => [
    `if (m0 + ty * 4u + ${i}u < ${M}) {`,
    `  let m = m0 + ty * 4u + ${i}u;`,
    ...each.map(
      (j) =>
        `  { let n = n0 + tx * 4u + ${j}u; if (n < ${N}) { ` +
        `let at = ${g.index}; ${finish.store(`c${i}.${"xyzw".charAt(j)}`, "at")} } }`,
    ),
    "}",
  ];
  const element = (name: string, args: string, inside: string, body: readonly string[]): string =>
    `fn element${name}(group: u32, ${args}) -> f32 {\n` +
    `  if (${inside}) { return 0.0; }\n${indent(body.join("\n"))}}\n`;
  return makeKernel(
    {
      name: g.name,
      storages: [...decls, ...finish.storages],
      params,
      workgroupSize: [threads, 1, 1],
      helpers: finish.helpers,
      globals:
        finish.globals +
        element("A", "m: u32, k: u32", `m >= ${M} || k >= ${K}`, g.a) +
        element("B", "k: u32, n: u32", `n >= ${N} || k >= ${K}`, g.b) +
        `var<workgroup> tileA: array<vec4<f32>, ${(blockK * tile) / 4}>;\n` +
        `var<workgroup> tileB: array<vec4<f32>, ${(blockK * tile) / 4}>;\n`,
      main: [
        `let id = ${flatWorkgroup};`,
        `if (id >= ${params.u32("total", total)}) { return; }`,
        `let group = id / ${tilesOfGroup};`,
        `let m0 = (id % ${tilesOfGroup}) / ${tilesN} * ${tile}u;`,
        `let n0 = (id % ${tilesOfGroup}) % ${tilesN} * ${tile}u;`,
        "let tx = lane % 16u;",
        "let ty = lane / 16u;",
        ...each.map((i) => `var c${i} = vec4<f32>();`),
        `for (var k0 = 0u; k0 < ${K}; k0 += ${blockK}u) {`,
        indent(block.join("\n")),
        "}",
        ...each.flatMap(store),
      ].join("\n"),
      workgroups: gridOf(total, caps),
    },
    caps,
  );
}

/** Fields of a view: where it begins and its strides. */
function fields(params: Params, name: string, { layout }: View): { at: string; s: string[] } {
  const s = layout.strides.map((v, i) => params.u32(`${name}${i}`, v));
  return { at: params.u32(name, layout.offset), s };
}

/** Lines that find the row `y` and column `x` of a source under a tap, or leave with 0. */
function underTap(
  params: Params,
  d: Pick<Direct, "source" | "stride" | "padding" | "dilation" | "transposed">,
): string[] {
  const axes = [
    { out: "row", tap: "r", at: "y" },
    { out: "column", tap: "s", at: "x" },
  ];
  return axes.flatMap(({ out, tap, at: name }, i) => {
    const size = params.u32(`size${name}`, at(d.source.layout.shape, 2 + i));
    const pad = params.u32(`pad${name}`, d.padding[i as 0 | 1]);
    const step = params.u32(`step${name}`, d.stride[i as 0 | 1]);
    const by = params.u32(`by${name}`, d.dilation[i as 0 | 1]);
    // what lies before the source wraps around, beyond its size
    const lines = d.transposed
      ? [
          `let far${name} = ${out} + ${pad} - ${tap} * ${by};`,
          `if (far${name} % ${step} != 0u) { return 0.0; }`,
          `let ${name} = far${name} / ${step};`,
        ]
      : [`let ${name} = ${out} * ${step} + ${tap} * ${by} - ${pad};`];
    const before = d.transposed ? [`if (${out} + ${pad} < ${tap} * ${by}) { return 0.0; }`] : [];
    return [...before, ...lines, `if (${name} >= ${size}) { return 0.0; }`];
  });
}

/** A direct convolution as a product. Bindings: source, weight, result (contiguous). */
function implicitKernel(d: Direct, caps: DeviceCaps): Kernel {
  const params = new Params();
  const [R, S] = d.kernel;
  const images = at(d.source.layout.shape, 0);
  const x = fields(params, "x", d.source);
  const w = d.weightStrides.map((v, i) => params.u32(`w${i}`, v));
  const area = params.u32("area", d.rows * d.columns);
  const columns = params.u32("columns", d.columns);
  const channels = params.u32("channels", d.channelsIn);
  const taps = tapOf("k", params, R, S);
  const weightAt =
    `${params.u32("weight", d.weightOffset)} + group * ${params.u32("wg", d.weightGroup)} + ` +
    `m * ${w[0]} + c * ${w[1]} + r * ${w[2]} + s * ${w[3]}`;
  const sourceAt =
    `${x.at} + (n / ${area}) * ${x.s[0]} + (group * ${channels} + c) * ${x.s[1]} + ` +
    `y * ${x.s[2]} + x * ${x.s[3]}`;
  const outputs = params.u32("outputs", d.channelsOut);
  const groups = params.u32("groups", d.groups);
  return gatheredKernel(
    {
      name: `${d.name}.implicit`,
      views: [d.source, d.weight],
      after: d.after,
      params,
      groups: d.groups,
      M: d.channelsOut,
      N: images * d.rows * d.columns,
      K: d.channelsIn * R * S,
      a: [...taps, load(d.weight, 1, weightAt)],
      b: [
        ...taps,
        `let row = (n % ${area}) / ${columns};`,
        `let column = n % ${columns};`,
        ...underTap(params, d),
        load(d.source, 0, sourceAt),
      ],
      index: `(((n / ${area}) * ${groups} + group) * ${outputs} + m) * ${area} + n % ${area}`,
    },
    caps,
  );
}

/**
 * The gradient of a convolution for its weight [O, C / groups, R, S] as a product over all pixels.
 * Bindings: input [N, C, H, W], grad [N, O, P, Q], result (contiguous).
 */
function implicitWeightKernel(spec: WeightSpec, caps: DeviceCaps): Kernel {
  const params = new Params();
  const { input, grad, weightShape, groups } = spec;
  const [O, C, R, S] = weightShape as [number, number, number, number];
  const [images, , P, Q] = grad.layout.shape as [number, number, number, number];
  const x = fields(params, "x", input);
  const g = fields(params, "g", grad);
  const area = params.u32("area", P * Q);
  const columns = params.u32("columns", Q);
  const outputs = params.u32("outputs", O / groups);
  const taps = params.u32("perOutput", sizeOf([C, R, S]));
  const pixel = [
    `let image = k / ${area};`,
    `let row = (k % ${area}) / ${columns};`,
    `let column = k % ${columns};`,
  ];
  const gradAt =
    `${g.at} + image * ${g.s[0]} + (group * ${outputs} + m) * ${g.s[1]} + ` +
    `row * ${g.s[2]} + column * ${g.s[3]}`;
  const inputAt =
    `${x.at} + image * ${x.s[0]} + (group * ${params.u32("channels", C)} + c) * ${x.s[1]} + ` +
    `y * ${x.s[2]} + x * ${x.s[3]}`;
  return gatheredKernel(
    {
      name: "conv2dBackwardWeight.implicit",
      views: [input, grad],
      after: spec.after,
      params,
      groups,
      M: O / groups,
      N: C * R * S,
      K: images * P * Q,
      a: [...pixel, load(grad, 1, gradAt)],
      b: [
        ...tapOf("n", params, R, S),
        ...pixel,
        ...underTap(params, { ...spec, source: input, transposed: false }),
        load(input, 0, inputAt),
      ],
      index: `(group * ${outputs} + m) * ${taps} + n`,
    },
    caps,
  );
}

/** Lines that find channel `c`, row `r` and column `s` of a weight from a number. */
function tapOf(number: string, params: Params, R: number, S: number): string[] {
  const width = params.u32("S", S);
  return [
    `let c = ${number} / ${params.u32("taps", R * S)};`,
    `let r = (${number} / ${width}) % ${params.u32("R", R)};`,
    `let s = ${number} % ${width};`,
  ];
}

/** Returns an element of binding `i`. */
function load({ dtype }: View, i: number, index: string): string {
  return `return ${loadElement({ dtype, vec: false, access: "read" }, i, index)};`;
}

/** Convolutions as products, where a device can run them. */
export const implicit: Implicit = {
  possible: ({ maxInvocationsPerWorkgroup, maxWorkgroupSizeX }) =>
    Math.min(maxInvocationsPerWorkgroup, maxWorkgroupSizeX) >= threads,
  direct: implicitKernel,
  weight: implicitWeightKernel,
};
