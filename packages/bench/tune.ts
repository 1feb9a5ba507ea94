/**
 * What `tune` gains here: kernels of common sizes by the way they are written without and with it,
 * and how long measuring took.
 */
import { type Tensor, init, randn, sync, tune } from "tenure";
import { functional } from "tenure/nn";
import { runtime } from "../tenure/src/runtime/runtime.ts";
import { table } from "./timing.ts";

interface Step {
  readonly shapes: readonly (readonly number[])[];
  readonly fn: (a: Tensor, b: Tensor) => Tensor;
}
const matmul = (a: Tensor, b: Tensor): Tensor => a.matmul(b);

const steps: Readonly<Record<string, Step>> = {
  "matmul [512,512] × [512,512]": {
    shapes: [
      [512, 512],
      [512, 512],
    ],
    fn: matmul,
  },
  "matmul [128,784] × [784,256]": {
    shapes: [
      [128, 784],
      [784, 256],
    ],
    fn: matmul,
  },
  "matmul [8,1024] × [1024,1024]": {
    shapes: [
      [8, 1024],
      [1024, 1024],
    ],
    fn: matmul,
  },
  "softmax [4096,1024]": { shapes: [[4096, 1024]], fn: (a) => a.softmax(1) },
  "sum of rows [4096,1024]": { shapes: [[4096, 1024]], fn: (a) => a.sum([1]) },
  "conv2d [64,8,14,14] × [16,8,5,5]": {
    shapes: [
      [64, 8, 14, 14],
      [16, 8, 5, 5],
    ],
    fn: (a, b) => functional.conv2d(a, b),
  },
};

const digits = (ms: number): string => (ms >= 100 ? ms.toFixed(0) : ms.toPrecision(3));

/** The table. What is found stays in this process. */
export async function run(): Promise<string> {
  runtime().engine.tuned = undefined;
  const { name } = await init();
  const rows: string[][] = [];
  for (const [label, { shapes, fn }] of Object.entries(steps)) {
    const inputs = shapes.map((shape) => randn(shape)) as [Tensor, Tensor];
    await sync();
    const { kernels, seconds } = await tune(async () => {
      using y = fn(...inputs);
      await y.data();
    });
    for (const input of inputs) input.dispose();
    for (const k of kernels)
      rows.push([
        label,
        k.before,
        digits(k.beforeMs),
        k.after,
        digits(k.afterMs),
        `${(k.beforeMs / k.afterMs).toFixed(2)} ×`,
        seconds.toFixed(1),
      ]);
  }
  return [
    `${name}. Milliseconds of one dispatch; medians of 5 rounds, the ways in turns.`,
    table(["kernel", "usual", "ms", "tuned", "ms", "gain", "seconds to measure"], rows),
  ].join("\n\n");
}
