import { suite } from "uvu";
import { type Layout, contiguousLayout, permuteLayout } from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import {
  avgPool2dBackwardKernel,
  maxPool2dBackwardKernel,
} from "../../../src/kernels/pooling-backward.ts";
import { avgPool2dKernel, maxPool2dKernel } from "../../../src/kernels/pooling.ts";
import { close, elements, golden, openGpu, randomData, run, view } from "./harness.ts";

const test = suite("pool");
const { caps } = await openGpu();

/** The input positions of every window, in window order. */
import { type PoolWindow, poolShape } from "../../../src/kernels/shapes.ts";
function windows(shape: readonly number[], w: PoolWindow): number[][] {
  const [N, C, P, Q] = poolShape(shape, w),
    [H, W] = shape.slice(2) as [number, number],
    out: number[][] = [];
  for (let i = 0; i < N * C; i++)
    for (let p = 0; p < P; p++)
      for (let q = 0; q < Q; q++) {
        const at: number[] = [];
        for (let r = 0; r < w.kernel[0]; r++)
          for (let s = 0; s < w.kernel[1]; s++) {
            const y = p * w.stride[0] - w.padding[0] + r,
              x = q * w.stride[1] - w.padding[1] + s;
            if (y >= 0 && y < H && x >= 0 && x < W) at.push((i * H + y) * W + x);
          }
        out.push(at);
      }
  return out;
}

async function check(
  shape: readonly number[],
  w: PoolWindow,
  data = randomData(sizeOf(shape), 1),
  layout: Layout = contiguousLayout(shape),
): Promise<void> {
  const all = windows(shape, w),
    n = all.length,
    input = elements(data, layout),
    grad = randomData(n, 2),
    outShape = poolShape(shape, w),
    f32 = (length: number) => ({ dtype: "float32", length }) as const;
  const winner = (at: number[]): number =>
    at.reduce(
      (best, i) =>
        !Number.isNaN(input[best]!) && (input[i]! > input[best]! || Number.isNaN(input[i]!))
          ? i
          : best,
      at[0]!,
    );
  const label = `[${shape.join()}] ${JSON.stringify(w)}`;
  const [max] = await run(maxPool2dKernel({ ...w, input: view(layout) }, caps), [data, f32(n)]);
  close(
    max!,
    all.map((at) => input[winner(at)]!),
    0,
    0,
    `max ${label}`,
  );
  const back = new Array<number>(sizeOf(shape)).fill(0);
  all.forEach((at, i) => {
    back[winner(at)]! += grad[i]!;
  });
  const [maxBack] = await run(
    maxPool2dBackwardKernel({ ...w, input: view(layout), grad: view(outShape) }, caps),
    [data, grad, f32(back.length)],
  );
  close(maxBack!, back, 1e-6, 1e-6, `max backward ${label}`);
  for (const countIncludePad of [true, false]) {
    const divisor = (at: number[]): number =>
      countIncludePad ? w.kernel[0] * w.kernel[1] : at.length;
    const [avg] = await run(avgPool2dKernel({ ...w, input: view(layout), countIncludePad }, caps), [
      data,
      f32(n),
    ]);
    close(
      avg!,
      all.map((at) => at.reduce((s, i) => s + input[i]!, 0) / divisor(at)),
      1e-5,
      1e-6,
      `avg ${label}`,
    );
    const spread = new Array<number>(sizeOf(shape)).fill(0);
    all.forEach((at, i) =>
      at.forEach((j) => {
        spread[j]! += grad[i]! / divisor(at);
      }),
    );
    const [avgBack] = await run(
      avgPool2dBackwardKernel(
        { ...w, grad: view(outShape), inputShape: shape, countIncludePad },
        caps,
      ),
      [grad, f32(spread.length)],
    );
    close(avgBack!, spread, 1e-5, 1e-6, `avg backward ${label}`);
  }
}

test("windows that touch, overlap, leave gaps and hang over the edge", async () => {
  await check([2, 3, 8, 8], { kernel: [2, 2], stride: [2, 2], padding: [0, 0] });
  await check([2, 3, 9, 7], { kernel: [2, 2], stride: [2, 2], padding: [0, 0] });
  await check([2, 2, 11, 13], { kernel: [5, 4], stride: [5, 4], padding: [0, 0] });
  await check([2, 3, 9, 7], { kernel: [3, 3], stride: [2, 2], padding: [1, 1] });
  await check([1, 2, 7, 10], { kernel: [3, 2], stride: [1, 1], padding: [1, 0] });
  await check([1, 2, 11, 11], { kernel: [2, 2], stride: [3, 4], padding: [0, 0] });
  await check([0, 2, 8, 8], { kernel: [2, 2], stride: [2, 2], padding: [0, 0] });
});

test("equal values and NaN: the first of the window wins", async () => {
  const w: PoolWindow = { kernel: [3, 3], stride: [2, 2], padding: [1, 1] };
  await check([1, 1, 9, 9], w, new Float32Array(81).fill(2));
  const data = randomData(81, 4).map((x) => Math.round(x * 2));
  await check([1, 1, 9, 9], w, data);
  await check([1, 1, 9, 9], w, new Float32Array(81).fill(-Infinity));
  data[20] = NaN;
  data[21] = NaN;
  data[60] = NaN;
  data[3] = Infinity;
  data[4] = -Infinity;
  await check([1, 1, 9, 9], w, data);
  await check([1, 1, 9, 9], { kernel: [3, 3], stride: [3, 3], padding: [0, 0] }, data);
});

test("strided input", async () => {
  await check(
    [2, 3, 6, 8],
    { kernel: [2, 2], stride: [2, 2], padding: [0, 0] },
    randomData(288, 3),
    permuteLayout(contiguousLayout([2, 6, 8, 3]), [0, 3, 1, 2]),
  );
});

test("golden text", () => {
  golden(
    "max-pool-2x2",
    maxPool2dKernel(
      { kernel: [2, 2], stride: [2, 2], padding: [0, 0], input: view([64, 8, 28, 28]) },
      caps,
    ).wgsl,
  );
});

test.run();
