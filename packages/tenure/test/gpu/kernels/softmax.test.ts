import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Layout,
  contiguousLayout,
  permuteLayout,
  sliceLayout,
} from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import {
  crossEntropyBackwardKernel,
  crossEntropyKernel,
  softmaxBackwardKernel,
  softmaxKernel,
} from "../../../src/kernels/softmax.ts";
import type { DeviceCaps } from "../../../src/kernels/kernel.ts";
import { close, elements, golden, openGpu, randomData, run, view } from "./harness.ts";

const test = suite("softmax");
const gpu = await openGpu();
/** Rows of 64 elements or more are shared by lanes of a subgroup. */
const byLanes: DeviceCaps = {
  ...gpu.caps,
  software: true,
  choices: {
    choose: (_kernel, _shape, space, standard) => (space.includes("lanes") ? "lanes" : standard),
  },
};
const allCaps = [
  { ...gpu.caps, contracts: false },
  { ...gpu.caps, software: !gpu.caps.software },
  byLanes,
  { ...byLanes, subgroupLanes: Math.min(byLanes.subgroupLanes, 4) },
];

/** Applies `f` to every row along `axis` of row-major data and puts the results back in place. */
function alongAxis(
  shape: readonly number[],
  axis: number,
  sources: readonly (readonly number[])[],
  f: (...rows: number[][]) => number[],
): number[] {
  const n = shape[axis]!,
    inner = sizeOf(shape.slice(axis + 1)),
    out = new Array<number>(sizeOf(shape));
  for (let r = 0; r < out.length / n; r++) {
    const start = Math.floor(r / inner) * inner * n + (r % inner);
    const rows = sources.map((s) => Array.from({ length: n }, (_, j) => s[start + j * inner]!));
    f(...rows).forEach((v, j) => {
      out[start + j * inner] = v;
    });
  }
  return out;
}

function softmax(row: number[]): number[] {
  const m = Math.max(...row),
    e = row.map((x) => Math.exp(x - m)),
    z = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / z);
}
function logSoftmax(row: number[]): number[] {
  const m = Math.max(...row),
    z = row.map((x) => Math.exp(x - m)).reduce((a, b) => a + b, 0);
  return row.map((x) => x - m - Math.log(z));
}

async function check(l: Layout, axis: number, data: Float32Array): Promise<void> {
  const xs = elements(data, l),
    n = sizeOf(l.shape);
  for (const caps of allCaps)
    for (const log of [false, true]) {
      const label = `[${l.shape.join(",")}] axis ${axis} log=${log} software=${caps.software}`;
      const [got] = await run(softmaxKernel({ input: view(l), axis, log }, caps), [
        data,
        { dtype: "float32", length: n },
      ]);
      const want = alongAxis(l.shape, axis, [xs], log ? logSoftmax : softmax);
      close(got!, want, 1e-5, 2e-6, label);
      const grad = randomData(n, 3),
        out = Float32Array.from(want);
      const [back] = await run(
        softmaxBackwardKernel({ output: view(l.shape), grad: view(l.shape), axis, log }, caps),
        [out, grad, { dtype: "float32", length: n }],
      );
      const sum = (v: number[]): number => v.reduce((a, b) => a + b, 0);
      const wantBack = alongAxis(l.shape, axis, [want, [...grad]], (y, g) =>
        log
          ? g.map((v, j) => v - Math.exp(y[j]!) * sum(g))
          : y.map((v, j) => v * (g[j]! - sum(y.map((u, k) => u * g[k]!)))),
      );
      close(back!, wantBack, 1e-5, 1e-5, `backward ${label}`);
    }
}

test("rows, columns, middle axes, transposes and slices", async () => {
  const c = contiguousLayout;
  for (const [shape, axis] of [
    [[6, 8], 1],
    [[6, 8], 0],
    [[5, 7], 1],
    [[3, 4, 5], 1],
    [[2, 1000], 1],
    [[200, 12], 1],
    [[1, 1], 0],
    [[7], 0],
    [[3, 1003], 1],
    [[70, 64], 1],
    [[9, 512], 1],
    [[5, 600], 1],
    [[2, 3, 130], 2],
  ] as const)
    await check(
      c(shape),
      axis,
      randomData(sizeOf(shape), 1).map((x) => x * 5),
    );
  await check(permuteLayout(c([8, 6]), [1, 0]), 1, randomData(48, 2));
  await check(sliceLayout("t", c([6, 12]), 1, 4, 12, 1), 1, randomData(72, 2));
  await check(sliceLayout("t", c([6, 12]), 1, 3, 8, 1), 1, randomData(72, 2));
  await check(c([0, 4]), 1, randomData(1, 2));
  await check(c([4, 0]), 1, randomData(1, 2));
});

test("large, infinite and NaN values", async () => {
  const inf = Infinity;
  const rows = [
    [1e30, 1, 2, 3],
    [1000, 999, -1000, 0],
    [-inf, 1, 2, -inf],
    [-inf, -inf, -inf, -inf],
    [inf, 1, 2, 3],
    [NaN, 1, 2, 3],
    [1, 2, 3, NaN],
    [-1e30, -1e30, -1e30, -1e30],
  ];
  const want = rows.flatMap((r) =>
    r.some((x) => Number.isNaN(x) || x === inf) || r.every((x) => x === -inf)
      ? [NaN, NaN, NaN, NaN]
      : softmax(r),
  );
  for (const caps of allCaps) {
    const data = Float32Array.from(rows.flat());
    const [got] = await run(softmaxKernel({ input: view([8, 4]), axis: 1, log: false }, caps), [
      data,
      { dtype: "float32", length: 32 },
    ]);
    close(got!, want, 1e-5, 1e-6);
    const [log] = await run(softmaxKernel({ input: view([8, 4]), axis: 1, log: true }, caps), [
      data,
      { dtype: "float32", length: 32 },
    ]);
    close(
      log!,
      want.map((x, i) => (Number.isNaN(x) ? NaN : logSoftmax(rows[i >> 2]!)[i & 3]!)),
      1e-5,
      1e-6,
    );
  }
});

test("large, infinite and NaN values in rows that lanes share", async () => {
  const inf = Infinity;
  const length = 264;
  const lowest = -3.4028234663852886e38;
  const noise = randomData(length, 4);
  const places = [0, 3, 5, 31, 32, 130, 257, 263];
  const rows = [
    ...[NaN, inf].flatMap((x) => places.map((at) => noise.map((v, i) => (i === at ? x : v)))),
    ...places.map((at) => noise.map((v, i) => (i === at ? v : -inf))),
    ...places.map((at) => noise.map((v, i) => (i === at ? 3e38 : v))),
    noise.map(() => -inf),
    noise.map(() => lowest),
    noise.map((v, i) => (i < 250 ? -inf : v)),
    noise.map((_, i) => i),
    noise.map((_, i) => -i),
    noise.map((v) => 1000 * v),
    noise.map((v, i) => (i % 2 === 0 ? lowest : 1e38 * v)),
  ].map((row) => [...row]);
  const lost = (row: readonly number[]): boolean =>
    row.some((x) => Number.isNaN(x) || x === inf) || row.every((x) => x === -inf);
  const data = Float32Array.from(rows.flat());
  for (const caps of allCaps)
    for (const log of [false, true]) {
      const f = log ? logSoftmax : softmax;
      const want = rows.flatMap((row) => (lost(row) ? row.map(() => NaN) : f(row)));
      const kernel = softmaxKernel({ input: view([rows.length, length]), axis: 1, log }, caps);
      const [got] = await run(kernel, [data, { dtype: "float32", length: data.length }]);
      // log-softmax of −infinity is −infinity, of the lowest number beyond it
      const clipped = want.map((x) => (x < lowest ? -inf : x));
      close(got!, clipped, 1e-5, 1e-5, `${kernel.key} ${caps.subgroupLanes}`);
    }
});

test("long rows are shared by lanes on adapters that load element by element", () => {
  const shares = (length: number, over: Partial<DeviceCaps>): boolean => {
    const caps = { ...gpu.caps, software: true, contracts: true, subgroupLanes: 8, ...over };
    const spec = { input: view([8, length]), axis: 1, log: false };
    return /subgroupShuffleXor/.test(softmaxKernel(spec, caps).wgsl);
  };
  assert.ok(shares(512, {}));
  assert.not(shares(511, {}));
  assert.ok(shares(256, { subgroupLanes: 4 }));
  for (const over of [{ contracts: false }, { software: false }, { subgroupLanes: 1 }])
    assert.not(shares(4096, over));
});

test("cross entropy and its gradient", async () => {
  for (const [n, c] of [
    [9, 10],
    [128, 12],
    [3, 500],
    [3, 603],
  ] as const)
    for (const caps of allCaps)
      for (const dtype of ["int32", "uint32"] as const)
        for (const ignoreIndex of [undefined, 3, -100]) {
          const logits = randomData(n * c, n).map((x) => x * 4),
            grad = randomData(n, 2);
          const classes = Array.from({ length: n }, (_, i) =>
            i === 1 ? c : i === 2 ? -100 : (i * 7) % c,
          );
          const targets = dtype === "int32" ? Int32Array.from(classes) : Uint32Array.from(classes);
          const spec = {
            logits: view([n, c]),
            targets: view([n], dtype),
            ...(ignoreIndex === undefined ? {} : { ignoreIndex }),
          };
          const ignored = (t: number): boolean => t === ignoreIndex,
            bad = (t: number): boolean => t < 0 || t >= c;
          const row = (i: number): number[] => [...logits.slice(i * c, i * c + c)];
          const [loss] = await run(crossEntropyKernel(spec, caps), [
            logits,
            targets,
            { dtype: "float32", length: n },
          ]);
          close(
            loss!,
            classes.map((t, i) => (ignored(t) ? 0 : bad(t) ? NaN : -logSoftmax(row(i))[t]!)),
            1e-5,
            2e-6,
            "loss",
          );
          const [back] = await run(
            crossEntropyBackwardKernel({ ...spec, gradPerRow: view([n]) }, caps),
            [logits, targets, grad, { dtype: "float32", length: n * c }],
          );
          close(
            back!,
            classes.flatMap((t, i) =>
              softmax(row(i)).map((s, j) =>
                ignored(t) ? 0 : bad(t) ? NaN : grad[i]! * (s - (j === t ? 1 : 0)),
              ),
            ),
            1e-5,
            2e-6,
            "gradient",
          );
        }
});

test("golden text", () => {
  golden(
    "softmax-rows",
    softmaxKernel({ input: view([64, 128]), axis: 1, log: false }, { ...gpu.caps, software: false })
      .wgsl,
  );
  golden(
    "cross-entropy-software",
    crossEntropyKernel(
      { logits: view([64, 10]), targets: view([64], "int32") },
      { ...gpu.caps, software: true },
    ).wgsl,
  );
});

test.run();
