/** What moves elements: slices, rows by index, sorting, pooling. */
import { contiguousLayout } from "../../tenure/src/base/layout.ts";
import { sizeOf } from "../../tenure/src/base/shape.ts";
import type { DeviceCaps } from "../../tenure/src/kernels/kernel.ts";
import { gatherKernel, scatterAddKernel } from "../../tenure/src/kernels/gather.ts";
import { pickKernel } from "../../tenure/src/kernels/pick.ts";
import { maxPool2dBackwardKernel } from "../../tenure/src/kernels/pooling-backward.ts";
import { maxPool2dKernel } from "../../tenure/src/kernels/pooling.ts";
import { unsliceKernel } from "../../tenure/src/kernels/unslice.ts";
import { view } from "../../tenure/test/gpu/kernels/harness.ts";

import { type Case, naive } from "./case.ts";

/** Gradient of a slice, and rows by index: where elements only move. */
export function movingCases(caps: DeviceCaps): Case[] {
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
        `
          var s = b0[i]; let d = i / ${D}u; for (var k = 0u; k < 60u; k++) {
          if (u32(b1[k] * ${V}.0) == d) { s += b2[k * ${D}u + i % ${D}u]; } } b3[i] = s;
        `,
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

/** Maximum pooling and its gradient. */
export function poolCases(caps: DeviceCaps): Case[] {
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
