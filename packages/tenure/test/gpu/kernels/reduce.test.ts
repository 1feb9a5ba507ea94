import { suite } from "uvu";
import * as assert from "uvu/assert";
import type { DType } from "../../../src/base/dtype.ts";
import {
  type Layout,
  broadcastLayout,
  contiguousLayout,
  permuteLayout,
  sliceLayout,
} from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import type { Prologue } from "../../../src/kernels/fused.ts";
import type { ReduceOp } from "../../../src/kernels/accumulators.ts";
import { reduceKernel } from "../../../src/kernels/reduce.ts";
import {
  type Data,
  close,
  elements,
  golden,
  openGpu,
  random,
  randomData,
  run,
  view,
} from "./harness.ts";

const test = suite("reduce");
const gpu = await openGpu();
const bothCaps = [gpu.caps, { ...gpu.caps, software: false }];

function reference(op: ReduceOp, xs: readonly number[]): number {
  const nan = xs.findIndex((x) => Number.isNaN(x));
  switch (op) {
    case "sum":
      return xs.reduce((a, b) => a + b, 0);
    case "mean":
      return xs.reduce((a, b) => a + b, 0) / xs.length;
    case "prod":
      return xs.reduce((a, b) => a * b, 1);
    case "max":
      return Math.max(...xs);
    case "min":
      return Math.min(...xs);
    case "argMax":
      return nan >= 0 ? nan : xs.indexOf(Math.max(...xs));
    case "argMin":
      return nan >= 0 ? nan : xs.indexOf(Math.min(...xs));
    case "any":
      return xs.some((x) => x !== 0) ? 1 : 0;
    case "all":
      return xs.every((x) => x !== 0) ? 1 : 0;
  }
}

/** The elements that each output reduces. */
function groups(data: ArrayLike<number>, l: Layout, axes: readonly number[]): number[][] {
  const kept = l.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const moved = permuteLayout(l, [...kept, ...axes]);
  const n = axes.reduce((a, i) => a * l.shape[i]!, 1),
    outputs = kept.reduce((a, i) => a * l.shape[i]!, 1);
  const all = elements(data, moved);
  return Array.from({ length: outputs }, (_, o) => all.slice(o * n, (o + 1) * n));
}

async function check(
  op: ReduceOp,
  l: Layout,
  axes: readonly number[],
  data: Data,
  dtype: DType = "float32",
  outDtype?: DType,
): Promise<void> {
  const out: DType =
    outDtype ?? (op === "any" || op === "all" ? "bool" : op.startsWith("arg") ? "int32" : dtype);
  const want = groups(data, l, axes).map((g) => reference(op, g));
  for (const caps of bothCaps) {
    const kernel = reduceKernel({ op, input: view(l, dtype), axes, outDtype: out }, caps);
    const [got] = await run(kernel, [data, { dtype: out, length: want.length }]);
    close(
      got!,
      want,
      1e-5,
      5e-5,
      `${op} [${l.shape.join(",")}] over ${axes.join(",")} software=${caps.software}`,
    );
  }
}

const ops: readonly ReduceOp[] = [
  "sum",
  "mean",
  "max",
  "min",
  "prod",
  "argMax",
  "argMin",
  "any",
  "all",
];

test("all ops over rows, columns and everything", async () => {
  for (const op of ops)
    for (const axes of [[0], [1], [0, 1], []])
      await check(op, contiguousLayout([12, 20]), axes, randomData(240, 5));
});

test("random shapes, axes, transposes and offsets", async () => {
  const next = random(11),
    pick = (n: number): number => Math.floor(next() * n);
  for (let t = 0; t < 40; t++) {
    const shape = Array.from({ length: 1 + pick(4) }, () => [1, 2, 3, 4, 5, 8, 16][pick(7)]!);
    const order = shape.map((_, i) => i).sort(() => next() - 0.5);
    const l = { ...permuteLayout(contiguousLayout(shape), order), offset: pick(2) * 3 };
    const axes = shape.map((_, i) => i).filter(() => next() < 0.5);
    await check(ops[pick(ops.length)]!, l, axes, randomData(sizeOf(shape) + 8, t));
  }
});

test("shapes of every strategy", async () => {
  const cases: [readonly number[], readonly number[]][] = [
    [[5000], [0]],
    [[4, 4096], [1]],
    [[3000, 5], [0]],
    [[3000, 64], [0]],
    [[512, 12], [1]],
    [
      [4, 8, 10, 12],
      [0, 2, 3],
    ],
    [
      [2000, 3],
      [0, 1],
    ],
    [[8, 300, 4], [1]],
    [
      [1000, 3, 2],
      [0, 2],
    ],
  ];
  for (const [shape, axes] of cases)
    for (const op of ["sum", "argMax", "all"] as const)
      await check(op, contiguousLayout(shape), axes, randomData(sizeOf(shape), 9));
});

test("nothing to reduce gives the identity, nothing to write does nothing", async () => {
  const inf = Infinity;
  for (const [op, want] of [
    ["sum", 0],
    ["prod", 1],
    ["max", -inf],
    ["min", inf],
    ["any", 0],
    ["all", 1],
    ["mean", NaN],
  ] as const) {
    const out: DType = op === "any" || op === "all" ? "bool" : "float32";
    const [got] = await run(
      reduceKernel({ op, input: view([3, 0]), axes: [1], outDtype: out }, gpu.caps),
      [new Float32Array(0), { dtype: out, length: 3 }],
    );
    close(got!, [want, want, want], 0, 0, op);
  }
  assert.equal(
    reduceKernel({ op: "sum", input: view([0, 3]), axes: [1], outDtype: "float32" }, gpu.caps)
      .workgroups,
    [0, 0, 0],
  );
  await check("sum", contiguousLayout([]), [], randomData(1, 1));
});

test("NaN and infinities", async () => {
  const data = randomData(64, 2);
  data[13] = NaN;
  data[20] = Infinity;
  data[37] = -Infinity;
  data[40] = NaN;
  data[41] = NaN;
  for (const op of ["sum", "mean", "max", "min", "argMax", "argMin", "any", "all"] as const)
    for (const axes of [[0], [1], [0, 1]]) await check(op, contiguousLayout([8, 8]), axes, data);
});

test("integers and bools", async () => {
  const data = Int32Array.from({ length: 60 }, (_, i) => ((i * 37) % 23) - 11);
  for (const op of ["sum", "max", "min", "argMax", "argMin", "any", "all"] as const)
    await check(op, contiguousLayout([5, 12]), [1], data, "int32");
  await check("mean", contiguousLayout([5, 12]), [0], data, "int32", "float32");
  const flags = Uint32Array.from({ length: 60 }, (_, i) => (i % 7 === 0 ? 1 : 0));
  await check("sum", contiguousLayout([5, 12]), [1], flags, "bool", "int32");
  for (const op of ["any", "all", "max"] as const)
    await check(op, contiguousLayout([5, 12]), [1], flags, "bool");
  const big = Int32Array.of(2_000_000_000, 100_000_000, 47_483_647, 1);
  const [got] = await run(
    reduceKernel({ op: "sum", input: view([3], "int32"), axes: [0], outDtype: "int32" }, gpu.caps),
    [big, { dtype: "int32", length: 1 }],
  );
  assert.is(got![0], 2_147_483_647);
});

test("broadcast and sliced input", async () => {
  await check(
    "sum",
    broadcastLayout(contiguousLayout([4, 1, 8]), [4, 6, 8]),
    [1, 2],
    randomData(32, 1),
  );
  await check(
    "sum",
    sliceLayout("t", contiguousLayout([16, 24]), 1, 4, 20, 1),
    [0],
    randomData(384, 1),
  );
  await check(
    "max",
    sliceLayout("t", contiguousLayout([16, 24]), 1, 3, 20, 2),
    [1],
    randomData(384, 1),
  );
});

test("long sums are accurate", async () => {
  const n = 1 << 20,
    data = Float32Array.from({ length: n }, () => 0.1),
    exact = Math.fround(0.1) * n;
  for (const [shape, axes] of [
    [[n], [0]],
    [[n / 4, 4], [0]],
    [[n / 256, 256], [0]],
  ] as const) {
    const [got] = await run(
      reduceKernel({ op: "sum", input: view(shape), axes, outDtype: "float32" }, gpu.caps),
      [data, { dtype: "float32", length: n / shape[0] }],
    );
    const want = exact / got!.length;
    assert.ok(Math.abs(got![0]! - want) / want < 1e-6, `${shape.join()}: ${got![0]} for ${want}`);
  }
});

test("a prologue over two operands", async () => {
  const a = randomData(96, 1),
    b = randomData(12, 2);
  const before: Prologue = {
    operands: [
      { view: view([8, 12]), binding: 0 },
      { view: view([12]), binding: 1 },
    ],
    dtype: "float32",
    body: "let d = a0 - a1;\nr0 = d * d;",
  };
  for (const axes of [[0], [1]]) {
    const kernel = reduceKernel(
      { op: "sum", input: view([8, 12]), axes, outDtype: "float32", before },
      gpu.caps,
    );
    const mapped = a.map((x, i) => (x - b[i % 12]!) ** 2);
    const want = groups(mapped, contiguousLayout([8, 12]), axes).map((g) => reference("sum", g));
    const [got] = await run(kernel, [a, b, { dtype: "float32", length: want.length }]);
    close(got!, want);
  }
});

test("golden text", () => {
  golden(
    "reduce-sum-rows",
    reduceKernel(
      { op: "sum", input: view([1024, 64]), axes: [1], outDtype: "float32" },
      bothCaps[1]!,
    ).wgsl,
  );
  golden(
    "reduce-max-columns-software",
    reduceKernel(
      { op: "max", input: view([1024, 64]), axes: [0], outDtype: "float32" },
      { ...gpu.caps, software: true },
    ).wgsl,
  );
  golden(
    "reduce-argmax-all",
    reduceKernel({ op: "argMax", input: view([64]), axes: [0], outDtype: "int32" }, bothCaps[1]!)
      .wgsl,
  );
});

test.run();
