/**
 * Times the kernels by themselves, each against a plain one-thread-per-output (softmax: per row)
 * kernel in the same process: ratios travel between machines, times do not. `run()` prints one
 * markdown table. Private; not part of any package.
 */
import { permuteLayout, contiguousLayout } from "../tenure/src/base/layout.ts";
import { sizeOf } from "../tenure/src/base/shape.ts";
import {
  conv2dBackwardInputKernel,
  conv2dBackwardWeightKernel,
  conv2dKernel,
  convShape,
} from "../tenure/src/kernels/conv.ts";
import { elementwiseKernel } from "../tenure/src/kernels/elementwise.ts";
import type { DeviceCaps, Kernel } from "../tenure/src/kernels/kernel.ts";
import { matmulKernel } from "../tenure/src/kernels/matmul.ts";
import { gatherKernel, scatterAddKernel } from "../tenure/src/kernels/gather.ts";
import { attentionWeightsKernel } from "../tenure/src/kernels/attention.ts";
import { normalizeBackwardKernel, normalizeKernel } from "../tenure/src/kernels/normalize.ts";
import { pickKernel } from "../tenure/src/kernels/pick.ts";
import { maxPool2dBackwardKernel, maxPool2dKernel } from "../tenure/src/kernels/pool.ts";
import { reduceKernel } from "../tenure/src/kernels/reduce.ts";
import { softmaxBackwardKernel, softmaxKernel } from "../tenure/src/kernels/softmax.ts";
import { unsliceKernel } from "../tenure/src/kernels/unslice.ts";
import {
  type Gpu,
  bindGroupOf,
  bufferOf,
  dispatch,
  openGpu,
  randomData,
  view,
} from "../tenure/test/gpu/kernels/harness.ts";

interface Case {
  readonly name: string;
  readonly kernel: Kernel;
  readonly naive?: Kernel;
  /** Elements per binding, the output last. */
  readonly sizes: readonly number[];
  /** Work done, and the unit it is reported in per second. */
  readonly work: number;
  readonly unit: "GFLOP/s" | "GB/s";
}

/**
 * Median milliseconds of one dispatch of each kernel, in turns: enough in one pass that a sample
 * lasts some 20 ms; what takes over a second is sampled once.
 */
async function time(
  gpu: Gpu,
  kernels: readonly Kernel[],
  buffers: readonly GPUBuffer[],
): Promise<{ first: number; median: number }[]> {
  const rows: {
    first: number;
    sample: (times: number) => Promise<number>;
    times: number;
    samples: number[];
  }[] = [];
  for (const kernel of kernels) {
    const started = performance.now(),
      group = bindGroupOf(gpu, kernel, buffers);
    const sample = async (times: number): Promise<number> => {
      const start = performance.now();
      dispatch(gpu, kernel, group, times);
      await gpu.device.queue.onSubmittedWorkDone();
      return (performance.now() - start) / times;
    };
    await sample(1);
    const first = performance.now() - started,
      once = await sample(1);
    rows.push({
      first,
      sample,
      times: Math.max(1, Math.min(200, Math.round(20 / once))),
      samples: [once],
    });
  }
  for (let i = 0; i < 7; i++)
    for (const { sample, times, samples } of rows)
      if (samples[0]! <= 1000) samples.push(await sample(times));
  gpu.check();
  return rows.map(({ first, samples }) => ({
    first,
    median: samples.sort((x, y) => x - y)[samples.length >> 1]!,
  }));
}

/** A kernel written by hand: `body` runs for every `i < count`. */
function naive(inputs: number, count: number, body: string): Kernel {
  const storages = Array.from(
    { length: inputs + 1 },
    (_, i) =>
      `@group(0) @binding(${i}) var<storage, ${i === inputs ? "read_write" : "read"}> b${i}: array<f32>;`,
  ).join("\n");
  const wgsl = `${storages}\n@compute @workgroup_size(64) fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let i = (wg.y * grid.x + wg.x) * 64u + lane;
  if (i >= ${count}u) { return; }
  ${body}
}`;
  const groups = Math.ceil(count / 64),
    y = Math.ceil(groups / 65535);
  return {
    key: wgsl,
    wgsl,
    bindings: [...Array.from({ length: inputs }, () => "read" as const), "read_write"],
    params: [],
    workgroups: [Math.ceil(groups / y), y, 1],
  };
}

function matmulCase(
  caps: DeviceCaps,
  m: number,
  n: number,
  k: number,
  ta = false,
  tb = false,
): Case {
  const side = (rows: number, columns: number, t: boolean): ReturnType<typeof view> =>
    view(
      t
        ? permuteLayout(contiguousLayout([columns, rows]), [1, 0])
        : contiguousLayout([rows, columns]),
    );
  const a = ta ? `b0[k * ${m}u + y]` : `b0[y * ${k}u + k]`,
    b = tb ? `b1[x * ${k}u + k]` : `b1[k * ${n}u + x]`;
  return {
    name: `matmul ${ta ? `[${k},${m}]ᵀ` : `[${m},${k}]`} × ${tb ? `[${n},${k}]ᵀ` : `[${k},${n}]`}`,
    kernel: matmulKernel({ a: side(m, k, ta), b: side(k, n, tb) }, caps),
    naive: naive(
      2,
      m * n,
      `let y = i / ${n}u; let x = i % ${n}u; var s = 0.0; for (var k = 0u; k < ${k}u; k++) { s += ${a} * ${b}; } b2[i] = s;`,
    ),
    sizes: [m * k, k * n, m * n],
    work: 2 * m * n * k,
    unit: "GFLOP/s",
  };
}

/** Forward and both gradients of one layer, stride 1, padded to keep the size. */
function convCases(
  caps: DeviceCaps,
  x: readonly [number, number, number, number],
  w: readonly [number, number, number, number],
): Case[] {
  const pad = (w[2] - 1) / 2,
    o = { stride: [1, 1], padding: [pad, pad], dilation: [1, 1], groups: 1 } as const,
    out = convShape(x, w, o);
  const [, C, H, W] = x,
    [O, , R, S] = w,
    nx = sizeOf(x),
    nw = sizeOf(w),
    no = sizeOf(out),
    work = 2 * no * C * R * S,
    label = `[${x.join()}] × [${w.join()}]`;
  const input = view(x),
    weight = view(w),
    grad = view(out);
  const taps = (inner: string): string =>
    `for (var r = 0u; r < ${R}u; r++) { for (var s = 0u; s < ${S}u; s++) { ${inner} } }`;
  const pixel = `let x = i % ${W}u; let y = i / ${W}u % ${H}u;`,
    inside = `if (v < ${H}u && u < ${W}u)`;
  return [
    {
      name: `conv2d ${label}`,
      sizes: [nx, nw, no],
      work,
      unit: "GFLOP/s",
      kernel: conv2dKernel({ ...o, input, weight }, caps),
      naive: naive(
        2,
        no,
        `${pixel} let o = i / ${H * W}u % ${O}u; let n = i / ${O * H * W}u; var t = 0.0; for (var c = 0u; c < ${C}u; c++) { ${taps(`let v = y + r - ${pad}u; let u = x + s - ${pad}u; ${inside} { t += b0[((n * ${C}u + c) * ${H}u + v) * ${W}u + u] * b1[((o * ${C}u + c) * ${R}u + r) * ${S}u + s]; }`)} } b2[i] = t;`,
      ),
    },
    {
      name: `conv2d backward input ${label}`,
      sizes: [no, nw, nx],
      work,
      unit: "GFLOP/s",
      kernel: conv2dBackwardInputKernel({ ...o, grad, weight, inputShape: x }, caps),
      naive: naive(
        2,
        nx,
        `${pixel} let c = i / ${H * W}u % ${C}u; let n = i / ${C * H * W}u; var t = 0.0; for (var o = 0u; o < ${O}u; o++) { ${taps(`let v = y + ${pad}u - r; let u = x + ${pad}u - s; ${inside} { t += b0[((n * ${O}u + o) * ${H}u + v) * ${W}u + u] * b1[((o * ${C}u + c) * ${R}u + r) * ${S}u + s]; }`)} } b2[i] = t;`,
      ),
    },
    {
      name: `conv2d backward weight ${label}`,
      sizes: [nx, no, nw],
      work,
      unit: "GFLOP/s",
      kernel: conv2dBackwardWeightKernel({ ...o, input, grad, weightShape: w }, caps),
      naive: naive(
        2,
        nw,
        `let s = i % ${S}u; let r = i / ${S}u % ${R}u; let c = i / ${R * S}u % ${C}u; let o = i / ${C * R * S}u; var t = 0.0; for (var n = 0u; n < ${x[0]}u; n++) { for (var y = 0u; y < ${H}u; y++) { for (var x = 0u; x < ${W}u; x++) { let v = y + r - ${pad}u; let u = x + s - ${pad}u; ${inside} { t += b0[((n * ${C}u + c) * ${H}u + v) * ${W}u + u] * b1[((n * ${O}u + o) * ${H}u + y) * ${W}u + x]; } } } } b2[i] = t;`,
      ),
    },
  ];
}

function poolCases(caps: DeviceCaps): Case[] {
  const w = { kernel: [2, 2], stride: [2, 2], padding: [0, 0] } as const,
    x = [64, 8, 28, 28],
    n = sizeOf(x);
  return [
    {
      name: "maxPool2d 2×2 [64,8,28,28]",
      sizes: [n, n / 4],
      work: 5 * n,
      unit: "GB/s",
      kernel: maxPool2dKernel({ ...w, input: view(x) }, caps),
    },
    {
      name: "maxPool2d backward",
      sizes: [n, n / 4, n],
      work: 9 * n,
      unit: "GB/s",
      kernel: maxPool2dBackwardKernel({ ...w, input: view(x), grad: view([64, 8, 14, 14]) }, caps),
    },
  ];
}

/**
 * What a transformer does beside matrix products: norms, attention weights, gradients of softmax
 * and of slices. `rows` of `n` elements.
 */
function rowCases(caps: DeviceCaps, rows: number, n: number): Case[] {
  const x = view([rows, n]),
    row = view([n]),
    size = rows * n,
    mean = `var m = 0.0; for (var k = 0u; k < ${n}u; k++) { m += b0[r + k]; } m /= ${n}.0; var v = 0.0; for (var k = 0u; k < ${n}u; k++) { v += (b0[r + k] - m) * (b0[r + k] - m); } let s = inverseSqrt(v / ${n}.0 + 1e-5);`;
  return [
    {
      name: `layerNorm [${rows},${n}]`,
      sizes: [size, n, size],
      work: 8 * size,
      unit: "GB/s",
      kernel: normalizeKernel({ inputs: [x, row], axis: 1, eps: 1e-5, rms: false }, caps),
      naive: naive(
        2,
        rows,
        `let r = i * ${n}u; ${mean} for (var k = 0u; k < ${n}u; k++) { b2[r + k] = (b0[r + k] - m) * s * b1[k]; }`,
      ),
    },
    {
      name: `layerNorm backward [${rows},${n}]`,
      sizes: [size, size, n, size],
      work: 12 * size,
      unit: "GB/s",
      kernel: normalizeBackwardKernel(
        { inputs: [x, x, row], axis: 1, eps: 1e-5, rms: false },
        caps,
      ),
      naive: naive(
        3,
        rows,
        `let r = i * ${n}u; ${mean} var f = 0.0; var t = 0.0; for (var k = 0u; k < ${n}u; k++) { let g = b1[r + k] * b2[k]; f += g; t += g * (b0[r + k] - m) * s; } f /= ${n}.0; t /= ${n}.0; for (var k = 0u; k < ${n}u; k++) { b3[r + k] = s * (b1[r + k] * b2[k] - f - (b0[r + k] - m) * s * t); }`,
      ),
    },
    {
      name: `softmax backward [${rows},${n}]`,
      sizes: [size, size, size],
      work: 12 * size,
      unit: "GB/s",
      kernel: softmaxBackwardKernel({ output: x, grad: x, axis: 1, log: false }, caps),
      naive: naive(
        2,
        rows,
        `let r = i * ${n}u; var t = 0.0; for (var k = 0u; k < ${n}u; k++) { t += b0[r + k] * b1[r + k]; } for (var k = 0u; k < ${n}u; k++) { b2[r + k] = b0[r + k] * (b1[r + k] - t); }`,
      ),
    },
  ];
}

function attentionCase(caps: DeviceCaps, heads: number, n: number): Case {
  const shape = [heads, n, n];
  return {
    name: `attention weights [${shape.join()}] causal`,
    sizes: [heads * n * n, heads * n * n],
    work: 8 * heads * n * n,
    unit: "GB/s",
    kernel: attentionWeightsKernel({ scores: view(shape), scale: 0.25, causal: true }, caps),
    naive: naive(
      1,
      heads * n,
      `let r = i * ${n}u; let q = i % ${n}u; var m = -1e30; for (var k = 0u; k <= q; k++) { m = max(m, b0[r + k] * 0.25); } var s = 0.0; for (var k = 0u; k <= q; k++) { s += exp(b0[r + k] * 0.25 - m); } for (var k = 0u; k < ${n}u; k++) { b1[r + k] = select(exp(b0[r + k] * 0.25 - m) / s, 0.0, k > q); }`,
    ),
  };
}

/** Gradient of a slice, and rows by index: where elements only move. */
function movingCases(caps: DeviceCaps): Case[] {
  const part = [16, 48, 64],
    whole = [3, ...part],
    n = sizeOf(part),
    [rows, V, D] = [768, 64, 64];
  const list = {
    dtype: "int32" as const,
    layout: { ...contiguousLayout([rows, D]), strides: [1, 0], contiguous: false },
  };
  return [
    {
      name: `unslice [${whole.join()}]`,
      sizes: [n, 3 * n],
      work: 16 * n,
      unit: "GB/s",
      kernel: unsliceKernel(
        { input: view([1, ...part]), output: view(whole), axis: 0, from: 1, step: 1 },
        caps,
      ),
      naive: naive(1, 3 * n, `b1[i] = select(0.0, b0[i - ${n}u], i >= ${n}u && i < ${2 * n}u);`),
    },
    {
      name: `unslice odd [48,3,63]`,
      sizes: [48 * 63, 48 * 3 * 63],
      work: 16 * 48 * 63,
      unit: "GB/s",
      kernel: unsliceKernel(
        { input: view([48, 1, 63]), output: view([48, 3, 63]), axis: 1, from: 1, step: 1 },
        caps,
      ),
      naive: naive(
        1,
        48 * 3 * 63,
        `let d = i / 63u % 3u; b1[i] = select(0.0, b0[i / 189u * 63u + i % 63u], d == 1u);`,
      ),
    },
    {
      name: `rows by index [${rows},${D}] of ${V}`,
      sizes: [V * D, rows, rows * D],
      work: 8 * rows * D,
      unit: "GB/s",
      kernel: gatherKernel({ input: view([V, D]), indices: list, axis: 0 }, caps),
      naive: naive(2, rows * D, `b2[i] = b0[u32(b1[i / ${D}u] * ${V}.0) * ${D}u + i % ${D}u];`),
    },
    {
      name: `scatterAdd [60,${D}] at [${V},${D}]`,
      sizes: [V * D, 60, 60 * D, V * D],
      work: 60 * V * D * 4,
      unit: "GB/s",
      kernel: scatterAddKernel(
        {
          start: view([V, D]),
          indices: { ...list, layout: { ...list.layout, shape: [60, D], size: 60 * D } },
          source: view([60, D]),
          axis: 0,
        },
        caps,
      ),
      naive: naive(
        3,
        V * D,
        `var s = b0[i]; let d = i / ${D}u; for (var k = 0u; k < 60u; k++) { if (u32(b1[k] * ${V}.0) == d) { s += b2[k * ${D}u + i % ${D}u]; } } b3[i] = s;`,
      ),
    },
    {
      name: "5 largest of [256,1024]",
      sizes: [256 << 10, 5 << 8],
      work: 256 << 12,
      unit: "GB/s",
      kernel: pickKernel(
        { input: view([256, 1024]), axis: 1, count: 5, groups: 1, descending: true },
        caps,
      ),
    },
  ];
}

function cases(caps: DeviceCaps): Case[] {
  const binary = (
    name: string,
    shape: readonly number[],
    b: readonly number[],
    bIndex: string,
  ): Case => ({
    name,
    sizes: [sizeOf(shape), sizeOf(b), sizeOf(shape)],
    work: 4 * (2 * sizeOf(shape) + sizeOf(b)),
    unit: "GB/s",
    kernel: elementwiseKernel(
      {
        shape,
        operands: [
          { view: view(shape), binding: 0 },
          { view: view(b), binding: 1 },
        ],
        outputs: [{ dtype: "float32", binding: 2 }],
        bindings: ["read", "read", "read_write"],
        name: "add",
        body: "r0 = a0 + a1;",
      },
      caps,
    ),
    naive: naive(2, sizeOf(shape), `b2[i] = b0[i] + b1[${bIndex}];`),
  });
  const transposed = view(permuteLayout(contiguousLayout([2048, 2048]), [1, 0]));
  const reduce = (shape: readonly [number, number], axis: number): Case => ({
    name: `sum [${shape.join()}] over ${axis}`,
    sizes: [sizeOf(shape), shape[1 - axis]!],
    work: 4 * sizeOf(shape),
    unit: "GB/s",
    kernel: reduceKernel(
      { op: "sum", input: view(shape), axes: [axis], outDtype: "float32" },
      caps,
    ),
    naive: naive(
      1,
      shape[1 - axis]!,
      `var s = 0.0; for (var k = 0u; k < ${shape[axis]}u; k++) { s += b0[${axis === 0 ? `k * ${shape[1]}u + i` : `i * ${shape[1]}u + k`}]; } b1[i] = s;`,
    ),
  });
  const softmax = (rows: number, n: number): Case => ({
    name: `softmax [${rows},${n}]`,
    sizes: [rows * n, rows * n],
    work: 8 * rows * n,
    unit: "GB/s",
    kernel: softmaxKernel({ input: view([rows, n]), axis: 1, log: false }, caps),
    naive: naive(
      1,
      rows,
      `let r = i * ${n}u; var m = -1e30; for (var k = 0u; k < ${n}u; k++) { m = max(m, b0[r + k]); } var s = 0.0; for (var k = 0u; k < ${n}u; k++) { s += exp(b0[r + k] - m); } for (var k = 0u; k < ${n}u; k++) { b1[r + k] = exp(b0[r + k] - m) / s; }`,
    ),
  });
  return [
    matmulCase(caps, 512, 512, 512),
    matmulCase(caps, 1024, 1024, 1024),
    matmulCase(caps, 128, 256, 784),
    matmulCase(caps, 784, 256, 128, true),
    matmulCase(caps, 128, 784, 256, false, true),
    matmulCase(caps, 128, 256, 784, false, true),
    matmulCase(caps, 128, 10, 256),
    matmulCase(caps, 256, 10, 128, true),
    matmulCase(caps, 128, 256, 10, false, true),
    matmulCase(caps, 8192, 16, 64),
    matmulCase(caps, 1, 1024, 1024),
    matmulCase(caps, 1024, 1, 1024),
    binary("add 4 Mi", [4 << 20], [4 << 20], "i"),
    binary("add row [4096,1024] + [1024]", [4096, 1024], [1024], "i % 1024u"),
    binary("add scalar 4 Mi", [4 << 20], [], "0u"),
    binary("add 64 Ki", [1 << 16], [1 << 16], "i"),
    binary("add odd 1 Mi + 1", [(1 << 20) + 1], [(1 << 20) + 1], "i"),
    {
      name: "transpose copy [2048,2048]",
      sizes: [1 << 22, 1 << 22],
      work: 8 << 22,
      unit: "GB/s",
      kernel: elementwiseKernel(
        {
          shape: [2048, 2048],
          operands: [{ view: transposed, binding: 0 }],
          outputs: [{ dtype: "float32", binding: 1 }],
          bindings: ["read", "read_write"],
          name: "copy",
          body: "r0 = a0;",
        },
        caps,
      ),
      naive: naive(1, 1 << 22, "b1[i] = b0[(i % 2048u) * 2048u + i / 2048u];"),
    },
    reduce([4096, 1024], 1),
    reduce([4096, 1024], 0),
    reduce([128, 256], 0),
    reduce([1, 1 << 20], 1),
    reduce([1 << 16, 10], 0),
    softmax(4096, 1024),
    softmax(128, 10),
    ...rowCases(caps, 768, 64),
    ...rowCases(caps, 4096, 1024),
    attentionCase(caps, 64, 48),
    attentionCase(caps, 32, 256),
    ...movingCases(caps),
    ...convCases(caps, [64, 1, 28, 28], [8, 1, 3, 3]),
    ...convCases(caps, [64, 8, 14, 14], [16, 8, 5, 5]),
    ...convCases(caps, [64, 8, 14, 14], [16, 8, 3, 3]),
    ...poolCases(caps),
  ];
}

/** Prints the table; `only` filters by name. */
export async function run(only = ""): Promise<string> {
  const gpu = await openGpu();
  const lines: string[] = [];
  lines.push(
    `Kernels on ${gpu.adapter} (software: ${gpu.caps.software})\n\n| kernel | first ms | ms | rate | naive ms | × naive |\n| --- | --: | --: | --: | --: | --: |`,
  );
  for (const c of cases(gpu.caps)) {
    if (!c.name.includes(only)) continue;
    const buffers = c.sizes.map((n, i) =>
      bufferOf(gpu, i === c.sizes.length - 1 ? n * 4 : randomData(n, i)),
    );
    const [ours, plain] = await time(
      gpu,
      [c.kernel, ...(c.naive === undefined ? [] : [c.naive])],
      buffers,
    );
    buffers.forEach((b) => {
      b.destroy();
    });
    lines.push(
      `| ${c.name} | ${ours!.first.toFixed(1)} | ${ours!.median.toFixed(3)} | ${(c.work / ours!.median / 1e6).toFixed(2)} ${c.unit} | ${plain?.median.toFixed(3) ?? "–"} | ${plain === undefined ? "–" : (plain.median / ours!.median).toFixed(1)} |`,
    );
  }
  return lines.join("\n");
}

if (process.argv[1]?.endsWith("bench/kernels.ts") === true) console.log(await run(process.argv[2]));
