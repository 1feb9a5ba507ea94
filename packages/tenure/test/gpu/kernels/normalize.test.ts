/**
 * Norms of long rows, which lanes of a subgroup share on software adapters, and their gradients,
 * against plain arithmetic.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { DeviceCaps } from "../../../src/kernels/kernel.ts";
import { normalizeBackwardKernel, normalizeKernel } from "../../../src/kernels/normalize.ts";
import { close, openGpu, randomData, run, view } from "./harness.ts";

const test = suite("normalize");
const gpu = await openGpu();
const software = { ...gpu.caps, software: true, contracts: true };
const allCaps: readonly DeviceCaps[] = [
  software,
  { ...software, subgroupLanes: Math.min(software.subgroupLanes, 4) },
  { ...software, subgroupLanes: 1 },
  { ...software, software: false },
];
const eps = 1e-5;

/** What a row is divided by, its mean, and the normalised row. */
function normalized(row: readonly number[], rms: boolean): { scale: number; hat: number[] } {
  const mean = rms ? 0 : row.reduce((a, b) => a + b, 0) / row.length;
  const variance = row.reduce((a, x) => a + (x - mean) ** 2, 0) / row.length;
  const scale = 1 / Math.sqrt(variance + eps);
  return { scale, hat: row.map((x) => (x - mean) * scale) };
}

/** Gradient of the input where the output's is `g`. */
function gradient(row: readonly number[], g: readonly number[], rms: boolean): number[] {
  const { scale, hat } = normalized(row, rms);
  const along = g.reduce((a, v, i) => a + v * hat[i]!, 0) / row.length;
  const mean = rms ? 0 : g.reduce((a, b) => a + b, 0) / row.length;
  return g.map((v, i) => scale * (v - mean - hat[i]! * along));
}

for (const rms of [false, true])
  test(`${rms ? "rmsNorm" : "layerNorm"} of rows that lanes share, and its gradient`, async () => {
    for (const [rows, n] of [
      [3, 512],
      [17, 600],
      [9, 1003],
      [2, 2052],
    ] as const) {
      const x = randomData(rows * n, 1).map((v) => 3 * v + 2);
      const [weight, bias, g] = [randomData(n, 2), randomData(n, 3), randomData(rows * n, 4)];
      const each = (f: (row: number[], r: number) => number[]): number[] =>
        Array.from({ length: rows }, (_, r) => f([...x.slice(r * n, r * n + n)], r)).flat();
      const want = each((row) =>
        normalized(row, rms).hat.map((v, i) => v * weight[i]! + (rms ? 0 : bias[i]!)),
      );
      const wantBack = each((row, r) =>
        gradient(
          row,
          row.map((_, i) => g[r * n + i]! * weight[i]!),
          rms,
        ),
      );
      const [whole, one] = [
        view([rows, n]),
        { layout: view([n]).layout, dtype: "float32" as const },
      ];
      const output = { dtype: "float32", length: rows * n } as const;
      for (const caps of allCaps) {
        const inputs = [whole, one, ...(rms ? [] : [one])];
        const kernel = normalizeKernel({ inputs, axis: 1, eps, rms }, caps);
        const data = [x, weight, ...(rms ? [] : [bias])];
        const [got] = await run(kernel, [...data, output]);
        close(got!, want, 1e-5, 1e-5, kernel.key);
        const spec = { inputs: [whole, whole, one], axis: 1, eps, rms };
        const backward = normalizeBackwardKernel(spec, caps);
        const [back] = await run(backward, [x, g, weight, output]);
        close(back!, wantBack, 1e-5, 1e-5, backward.key);
      }
    }
  });

test("short rows have an invocation each", () => {
  const shares = (n: number): boolean =>
    /subgroupShuffleXor/.test(
      normalizeKernel(
        { inputs: [view([300, n])], axis: 1, eps, rms: true },
        { ...software, subgroupLanes: 8 },
      ).wgsl,
    );
  assert.ok(shares(512));
  assert.not(shares(508));
});

test.run();
