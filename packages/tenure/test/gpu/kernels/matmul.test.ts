import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Layout,
  broadcastLayout,
  contiguousLayout,
  permuteLayout,
  sliceLayout,
} from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import type { DeviceCaps } from "../../../src/kernels/kernel.ts";
import { matmulKernel as gpuKernel } from "../../../src/kernels/matmul.ts";
import { matmulKernel } from "../../../src/kernels/matmul-ways.ts";
import { matmulShape } from "../../../src/kernels/shapes.ts";
import { close, elements, golden, openGpu, random, randomData, run, view } from "./harness.ts";

const test = suite("matmul");
const gpu = await openGpu();
/** Writes a product in the first of these ways that is possible. */
const taking = (...ways: readonly string[]): DeviceCaps => ({
  ...gpu.caps,
  software: true,
  choices: {
    choose: (_kernel, _shape, space, standard) => ways.find((w) => space.includes(w)) ?? standard,
  },
});
const allCaps = [
  { ...gpu.caps, software: true },
  taking("subgroups 8×8"),
  taking("subgroups 16×4"),
  { ...taking("subgroups 16×4"), subgroupLanes: 4 },
  taking("registers 4×8"),
  { ...gpu.caps, software: false },
];

function reference(a: Layout, b: Layout, da: ArrayLike<number>, db: ArrayLike<number>): number[] {
  const shape = matmulShape(a.shape, b.shape),
    batch = shape.slice(0, -2),
    m = shape.at(-2)!,
    n = shape.at(-1)!,
    k = a.shape.at(-1)!;
  const ea = elements(da, broadcastLayout(a, [...batch, m, k])),
    eb = elements(db, broadcastLayout(b, [...batch, k, n]));
  const out: number[] = [];
  for (let s = 0; s < sizeOf(batch); s++)
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let q = 0; q < k; q++) sum += ea[(s * m + i) * k + q]! * eb[(s * k + q) * n + j]!;
        out.push(sum);
      }
  return out;
}

async function check(a: Layout, b: Layout): Promise<void> {
  const extent = (l: Layout): number =>
    l.offset + l.shape.reduce((n, d, i) => n + Math.max(d - 1, 0) * l.strides[i]!, 1) + 4;
  const da = randomData(extent(a), 1),
    db = randomData(extent(b), 2),
    want = reference(a, b, da, db);
  const seen = new Set<string>();
  for (const caps of allCaps) {
    const kernel = matmulKernel({ a: view(a), b: view(b) }, caps);
    if (seen.has(kernel.key)) continue;
    seen.add(kernel.key);
    const [got] = await run(kernel, [da, db, { dtype: "float32", length: want.length }]);
    close(
      got!,
      want,
      1e-5,
      2e-5,
      `[${a.shape.join(",")}] x [${b.shape.join(",")}] strides ` +
        `${a.strides.join(",")} ${b.strides.join(",")} ${kernel.key}`,
    );
  }
}

const c = contiguousLayout,
  T = (l: Layout): Layout =>
    permuteLayout(
      l,
      [...l.shape.keys()].map((i) => (i < l.shape.length - 2 ? i : 2 * l.shape.length - 3 - i)),
    );

test("aligned and odd sizes, both operands as they are and transposed", async () => {
  for (const [m, n, k] of [
    [64, 68, 32],
    [5, 9, 3],
    [66, 10, 18],
  ] as const) {
    for (const a of [c([m, k]), T(c([k, m]))])
      for (const b of [c([k, n]), T(c([n, k]))]) await check(a, b);
  }
});

test("more columns than a workgroup takes, rows and columns left over", async () => {
  await check(c([19, 8]), c([8, 137]));
  await check(T(c([8, 19])), T(c([132, 8])));
});

test("without other ways, products are written as on GPUs, the same", async () => {
  for (const [m, n, k] of [
    [64, 68, 32],
    [3, 50, 64],
    [130, 20, 40],
  ] as const) {
    const spec = { a: view([m, k]), b: view([k, n]) };
    for (const software of [false, true])
      assert.is(
        gpuKernel(spec, { ...gpu.caps, software }).key,
        matmulKernel(spec, { ...gpu.caps, software: false }).key,
      );
    const every = taking("registers 4×4", "tiles 128×64");
    assert.match(matmulKernel(spec, every).key, /^matmul\.registers/);
    assert.match(gpuKernel(spec, every).key, m > 64 ? /^matmul\.tiles.*/ : /^matmul\.(tiles|rows)/);
  }
});

test("few rows or columns", async () => {
  for (const [m, n, k] of [
    [1, 64, 100],
    [64, 1, 100],
    [3, 50, 64],
    [2, 3, 1],
    [7, 8, 2000],
  ] as const) {
    await check(c([m, k]), T(c([n, k])));
    await check(T(c([k, m])), c([k, n]));
  }
});

test("batches, broadcast batches, slices and offsets", async () => {
  await check(c([3, 8, 12]), c([3, 12, 16]));
  await check(c([3, 8, 12]), c([12, 16]));
  await check(c([8, 12]), c([3, 12, 16]));
  await check(c([2, 1, 5, 6]), c([3, 6, 7]));
  await check(
    permuteLayout(c([2, 8, 3, 12]), [0, 2, 1, 3]),
    permuteLayout(c([2, 16, 3, 12]), [0, 2, 3, 1]),
  );
  await check(
    sliceLayout("t", c([16, 24]), 1, 4, 16, 1),
    sliceLayout("t", c([12, 24]), 1, 0, 16, 1),
  );
  await check(
    sliceLayout("t", c([16, 24]), 1, 3, 15, 1),
    sliceLayout("t", c([12, 24]), 1, 1, 17, 2),
  );
  await check(broadcastLayout(c([1, 12]), [8, 12]), broadcastLayout(c([12, 1]), [12, 20]));
  await check({ ...c([8, 12]), offset: 4 }, { ...c([12, 8]), offset: 2 });
});

test("random problems", async () => {
  const next = random(3),
    pick = (n: number): number => 1 + Math.floor(next() * n);
  for (let t = 0; t < 5; t++) {
    const [m, n, k] = [pick(70), pick(70), pick(40)] as const,
      batch = next() < 0.5 ? [] : [pick(3)];
    await check(
      next() < 0.5 ? c([...batch, m, k]) : T(c([...batch, k, m])),
      next() < 0.5 ? c([...batch, k, n]) : T(c([...batch, n, k])),
    );
  }
});

test("nothing to sum is zero, nothing to write does nothing", async () => {
  for (const caps of allCaps) {
    const [got] = await run(matmulKernel({ a: view([3, 0]), b: view([0, 20]) }, caps), [
      new Float32Array(0),
      new Float32Array(0),
      { dtype: "float32", length: 60 },
    ]);
    close(got!, new Array<number>(60).fill(0), 0, 0);
    await run(matmulKernel({ a: view([0, 4]), b: view([4, 3]) }, caps), [
      new Float32Array(0),
      new Float32Array(12),
      { dtype: "float32", length: 0 },
    ]);
  }
});

test("integers, NaN and infinity", async () => {
  const a = Int32Array.from({ length: 48 }, (_, i) => i - 20),
    b = Int32Array.from({ length: 144 }, (_, i) => 100_003 * (i - 30));
  for (const caps of allCaps) {
    const [got] = await run(
      matmulKernel({ a: view([12, 4], "int32"), b: view([4, 36], "int32") }, caps),
      [a, b, { dtype: "int32", length: 432 }],
    );
    close(got!, reference(c([12, 4]), c([4, 36]), a, b), 0, 0);
    const x = randomData(144, 1),
      y = randomData(144, 2);
    x[5] = NaN;
    y[20] = Infinity;
    const [special] = await run(matmulKernel({ a: view([12, 12]), b: view([12, 12]) }, caps), [
      x,
      y,
      { dtype: "float32", length: 144 },
    ]);
    close(special!, reference(c([12, 12]), c([12, 12]), x, y), 1e-5, 1e-5);
  }
});

test("few multiplications are written shortly on software adapters", () => {
  const caps = { ...gpu.caps, software: true };
  const text = (m: number): string =>
    matmulKernel({ a: view([m, 256]), b: view(T(c([256, 256]))) }, caps).wgsl;
  assert.ok(text(64).length < text(65).length / 1.5);
  assert.match(text(64), "k += 1u");
});

test("lanes that fetch four elements each", async () => {
  for (const [m, n, k] of [
    [16, 32, 4],
    [17, 33, 8],
    [20, 64, 12],
    [31, 36, 20],
    [52, 70, 28],
  ] as const) {
    await check(c([m, k]), c([k, n]));
    await check(T(c([k, m])), c([k, n]));
    await check(T(c([k, m])), T(c([n, k])));
  }
  await check(c([3, 24, 8]), c([3, 8, 40]));
  await check(T(c([2, 8, 24])), c([8, 40]));
  await check({ ...c([20, 8]), offset: 4 }, { ...c([8, 32]), offset: 8 });
  await check({ ...T(c([8, 20])), offset: 2 }, c([8, 32]));
});

test("large products share sixteen rows, in tiles that suit the adapter", () => {
  const tileOf = (contracts: boolean, m: number): string => {
    const caps = { ...gpu.caps, software: true, subgroups: true, contracts };
    const { wgsl } = matmulKernel({ a: view([m, 784]), b: view([784, 2048]) }, caps);
    const quads = wgsl.match(/var c0_\d/g)?.length ?? 0;
    return `${wgsl.match(/var c\d+_0/g)?.length ?? 0}×${4 * quads}`;
  };
  assert.is(tileOf(false, 128), "16×8");
  assert.is(tileOf(false, 15), "8×8");
  assert.is(tileOf(true, 128), "16×4");
  assert.is(tileOf(true, 15), "8×8");
});

test("golden text", () => {
  const software = { ...gpu.caps, software: true, subgroups: true, contracts: false };
  golden(
    "matmul-subgroups",
    matmulKernel({ a: view([128, 784]), b: view([784, 256]) }, software).wgsl,
  );
  golden(
    "matmul-fetched",
    matmulKernel(
      { a: view([128, 784]), b: view([784, 256]) },
      { ...software, contracts: true, subgroupLanes: 8 },
    ).wgsl,
  );
  golden(
    "matmul-registers",
    matmulKernel({ a: view([128, 784]), b: view([784, 256]) }, { ...software, subgroups: false })
      .wgsl,
  );
  golden(
    "matmul-tiles-transposed",
    matmulKernel(
      { a: view(T(c([128, 784]))), b: view(c([128, 255])) },
      { ...gpu.caps, software: false },
    ).wgsl,
  );
});

test.run();
