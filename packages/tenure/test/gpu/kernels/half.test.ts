/**
 * float16 kernels on Dawn's null backend, which has shader-f16 and compiles and validates WGSL but
 * computes nothing: software adapters here lack the feature.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { permuteLayout, contiguousLayout } from "../../../src/base/layout.ts";
import { attentionWeightsKernel } from "../../../src/kernels/attention.ts";
import {
  attentionRowsKernel,
  flashKernel,
  flashKeyGradKernel,
  flashQueryGradKernel,
} from "../../../src/kernels/flash.ts";
import {
  conv2dBackwardInputKernel,
  conv2dKernel,
  conv2dBackwardWeightKernel,
} from "../../../src/kernels/conv-ways.ts";
import { elementwiseKernel } from "../../../src/kernels/elementwise.ts";
import {
  concatKernel,
  flipKernel,
  gatherKernel,
  scatterAddKernel,
} from "../../../src/kernels/gather.ts";
import { helperNames } from "../../../src/kernels/helpers.ts";
import { rareHelpers, rareNames } from "../../../src/kernels/rare-helpers.ts";
import type { DeviceCaps, Kernel } from "../../../src/kernels/kernel.ts";
import { matmulKernel } from "../../../src/kernels/matmul-ways.ts";
import {
  logSumExpKernel,
  normalizeBackwardKernel,
  normalizeKernel,
} from "../../../src/kernels/normalize.ts";
import { padKernel } from "../../../src/kernels/pad.ts";
import {
  avgPool2dBackwardKernel,
  maxPool2dBackwardKernel,
} from "../../../src/kernels/pooling-backward.ts";
import { avgPool2dKernel, maxPool2dKernel } from "../../../src/kernels/pooling.ts";
import { reduceKernel } from "../../../src/kernels/reduce.ts";
import { resampleKernel } from "../../../src/kernels/resample.ts";
import { cumProdBackwardKernel, cumProdKernel, cumSumKernel } from "../../../src/kernels/scan.ts";
import {
  crossEntropyBackwardKernel,
  crossEntropyKernel,
  softmaxBackwardKernel,
  softmaxKernel,
} from "../../../src/kernels/softmax.ts";
import { pickKernel } from "../../../src/kernels/pick.ts";
import { mergeBlocksKernel, sortBlocksKernel } from "../../../src/kernels/sort.ts";
import { view } from "./harness.ts";

const test = suite("half");

const { create, globals } = (await import("webgpu")) as unknown as {
  create(flags: string[]): GPU;
  globals: object;
};
Object.assign(globalThis, globals);
const gpu = create(["backend=null"]);
const adapter = await gpu.requestAdapter();
assert.ok(
  adapter !== null && adapter.features.has("shader-f16"),
  "the null backend has shader-f16",
);
const device = await adapter.requestDevice({ requiredFeatures: ["shader-f16"] });

const h = (shape: readonly number[]): ReturnType<typeof view> => view(shape, "float16");

/**
 * Moving, sorting, accumulating and normalising, in sizes that take four elements at a time and in
 * sizes that don't.
 */
function moving(caps: DeviceCaps): Kernel[] {
  const i = (shape: readonly number[]): ReturnType<typeof view> => view(shape, "int32");
  return [
    [4, 6, 8],
    [3, 5, 7],
  ].flatMap((s) => [
    concatKernel({ inputs: [h(s), h(s)], shape: [s[0]!, 2 * s[1]!, s[2]!], axis: 1 }, caps),
    flipKernel({ input: h(s), axis: 1 }, caps),
    gatherKernel({ input: h(s), indices: i(s), axis: 1 }, caps),
    scatterAddKernel({ start: h(s), indices: i(s), source: h(s), axis: 1 }, caps),
    scatterAddKernel({ start: h(s), indices: i(s), order: i(s), source: h(s), axis: 2 }, caps),
    scatterAddKernel(
      {
        start: h(s),
        indices: {
          dtype: "int32",
          layout: { ...contiguousLayout(s), strides: [0, 1, 0], contiguous: false },
        },
        source: h(s),
        axis: 1,
      },
      caps,
    ),
    gatherKernel(
      {
        input: h(s),
        indices: {
          dtype: "uint32",
          layout: { ...contiguousLayout(s), strides: [0, 1, 0], contiguous: false },
        },
        axis: 1,
      },
      caps,
    ),
    sortBlocksKernel({ input: h(s), axis: 1, descending: true }, caps),
    mergeBlocksKernel({ input: h(s), order: i(s), axis: 1, descending: false, width: 256 }, caps),
    pickKernel({ input: h(s), axis: 1, count: 2, groups: 2, descending: true }, caps),
    cumSumKernel({ input: h(s), axis: 1, dtype: "float16", reverse: true }, caps),
    cumSumKernel({ input: h([2, 4096]), axis: 1, dtype: "float16", reverse: false }, caps),
    cumProdKernel({ input: h(s), axis: 2, dtype: "float16" }, caps),
    cumProdBackwardKernel({ input: h(s), output: h(s), grad: h(s), axis: 1 }, caps),
    logSumExpKernel({ input: h(s), axis: 2 }, caps),
    ...[false, true].flatMap((rms) => [
      normalizeKernel({ inputs: [h(s), h([s[2]!]), h([s[2]!])], axis: 2, eps: 1e-5, rms }, caps),
      normalizeBackwardKernel({ inputs: [h(s), h(s), h([s[2]!])], axis: 2, eps: 1e-5, rms }, caps),
    ]),
    attentionWeightsKernel({ scores: h(s), mask: h([s[2]!]), scale: 0.5, causal: true }, caps),
    attentionWeightsKernel(
      { scores: h(s), mask: view([s[2]!], "bool"), scale: 0.5, causal: false },
      caps,
    ),
    ...[flashKernel, flashQueryGradKernel, flashKeyGradKernel].flatMap((kernel) =>
      [false, true].map((software) =>
        kernel(
          {
            ...{ query: h(s), key: h(s), value: h(s), grad: h(s), mask: h([s[1]!]) },
            rows: view([...s.slice(0, 2), 2]),
            ...{ scale: 0.5, causal: true, dropout: false },
          },
          { ...caps, software },
        ),
      ),
    ),
    attentionRowsKernel({ grad: h(s), output: h(s), sums: view(s.slice(0, 2)) }, caps),
    ...(["constant", "reflect", "replicate"] as const).map((mode) =>
      padKernel({ input: h(s), output: h(s.map((d) => d + 2)), before: [1, 1, 1], mode }, caps),
    ),
    ...(["nearest", "bilinear", "bilinearCorners", "average"] as const).flatMap((mode) =>
      [false, true].map((backward) =>
        resampleKernel({ source: h([1, ...s]), shape: [1, s[0]!, 3, 9], mode, backward }, caps),
      ),
    ),
  ]);
}

/** Elementwise, reductions and rows. */
function rowKernels(caps: DeviceCaps): Kernel[] {
  const add = (shape: readonly number[], b: readonly number[]): Kernel =>
    elementwiseKernel(
      {
        shape,
        operands: [
          { view: h(shape), binding: 0 },
          { view: h(b), binding: 1 },
        ],
        outputs: [
          { dtype: "float16", binding: 2 },
          { dtype: "bool", binding: 3 },
        ],
        bindings: ["read", "read", "read_write", "read_write"],
        name: "add",
        body: "r0 = a0 + a1;\nr1 = a0 > a1;",
      },
      caps,
    );
  return [
    add([8, 8], [8, 8]),
    add([8, 8], [8]),
    add([7, 5], [5]),
    add([7, 5], []),
    ...(["sum", "mean", "max", "min", "prod", "argMax", "any"] as const).flatMap((op) =>
      [
        [8, 16],
        [7, 5],
      ].flatMap((shape) =>
        [0, 1].map((axis) =>
          reduceKernel(
            {
              op,
              input: h(shape),
              axes: [axis],
              outDtype: op === "argMax" ? "int32" : op === "any" ? "bool" : "float16",
            },
            caps,
          ),
        ),
      ),
    ),
    ...[false, true].flatMap((log) =>
      [
        [8, 16],
        [7, 5],
      ].flatMap((shape) => [
        softmaxKernel({ input: h(shape), axis: 1, log }, caps),
        softmaxBackwardKernel({ output: h(shape), grad: h(shape), axis: 1, log }, caps),
      ]),
    ),
    crossEntropyKernel({ logits: h([4, 8]), targets: view([4], "int32") }, caps),
    crossEntropyBackwardKernel(
      { logits: h([4, 8]), targets: view([4], "uint32"), gradPerRow: h([4]) },
      caps,
    ),
  ];
}

/** Matrices and images. */
function windowKernels(caps: DeviceCaps): Kernel[] {
  const window = { stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 1 } as const,
    pool = { kernel: [2, 2], stride: [2, 2], padding: [0, 0] } as const,
    padded = { kernel: [3, 3], stride: [2, 2], padding: [1, 1] } as const;
  return [
    matmulKernel({ a: h([64, 32]), b: h([32, 64]) }, caps),
    matmulKernel(
      {
        a: view(permuteLayout(contiguousLayout([32, 64]), [1, 0]), "float16"),
        b: view(permuteLayout(contiguousLayout([64, 32]), [1, 0]), "float16"),
      },
      caps,
    ),
    matmulKernel({ a: h([15, 7]), b: h([7, 13]) }, caps),
    matmulKernel({ a: h([1, 64]), b: h([64, 32]) }, caps),
    conv2dKernel({ ...window, input: h([2, 3, 8, 8]), weight: h([4, 3, 3, 3]) }, caps),
    conv2dBackwardInputKernel(
      { ...window, grad: h([2, 4, 8, 8]), weight: h([4, 3, 3, 3]), inputShape: [2, 3, 8, 8] },
      caps,
    ),
    conv2dBackwardInputKernel(
      {
        ...window,
        stride: [2, 2],
        grad: h([2, 4, 4, 4]),
        weight: h([4, 3, 3, 3]),
        inputShape: [2, 3, 8, 8],
      },
      caps,
    ),
    conv2dBackwardWeightKernel(
      { ...window, input: h([2, 3, 8, 8]), grad: h([2, 4, 8, 8]), weightShape: [4, 3, 3, 3] },
      caps,
    ),
    ...[pool, padded].flatMap((w) => [
      maxPool2dKernel({ ...w, input: h([2, 3, 8, 8]) }, caps),
      avgPool2dKernel({ ...w, input: h([2, 3, 8, 8]) }, caps),
      maxPool2dBackwardKernel({ ...w, input: h([2, 3, 8, 8]), grad: h([2, 3, 4, 4]) }, caps),
      avgPool2dBackwardKernel({ ...w, grad: h([2, 3, 4, 4]), inputShape: [2, 3, 8, 8] }, caps),
    ]),
  ];
}

const caps: DeviceCaps = {
  software: false,
  contracts: true,
  f16: true,
  subgroups: false,
  subgroupLanes: 1,
  maxInvocationsPerWorkgroup: 256,
  maxWorkgroupSizeX: 256,
  maxWorkgroupStorageBytes: 16384,
  maxWorkgroupsPerDimension: 65535,
  maxStorageBuffers: 8,
};

async function compiles(kernel: Kernel): Promise<void> {
  device.pushErrorScope("validation");
  device.createComputePipeline({
    layout: "auto",
    compute: { module: device.createShaderModule({ code: kernel.wgsl }), entryPoint: "main" },
  });
  const error = await device.popErrorScope();
  if (error !== null) throw new Error(`${kernel.key}: ${error.message}\n${kernel.wgsl}`);
}

test("every kernel compiles for float16 on default limits", async () => {
  for (const software of [false, true])
    for (const make of [rowKernels, windowKernels, moving])
      for (const kernel of make({ ...caps, software })) await compiles(kernel);
});

test("every helper compiles by itself", async () => {
  for (const name of [...helperNames, ...rareNames]) {
    const { common, rare } = rareHelpers([name]);
    await compiles(
      elementwiseKernel(
        {
          shape: [4],
          operands: [],
          outputs: [{ dtype: "float32", binding: 0 }],
          bindings: ["read_write"],
          name,
          body: "r0 = 1.0;",
          helpers: [...common],
          functions: [...rare.values()].join(""),
        },
        caps,
      ),
    );
  }
});

test("without shader-f16 the generator says so", () => {
  assert.throws(
    () => matmulKernel({ a: h([4, 4]), b: h([4, 4]) }, { ...caps, f16: false }),
    /shader-f16/,
  );
});

test("the instance outlives its device", () => {
  assert.ok(gpu !== undefined);
}); // a collected instance aborts the process

test.run();
