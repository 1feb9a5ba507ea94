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
import { type ElementwiseSpec, elementwiseKernel } from "../../../src/kernels/elementwise.ts";
import { rareHelpers } from "../../../src/kernels/rare-helpers.ts";
import { f32Bits } from "../../../src/kernels/kernel.ts";
import { sideBySide } from "../../../src/kernels/several.ts";
import { close, elements, golden, openGpu, random, randomData, run, view } from "./harness.ts";

const test = suite("elementwise");
const { caps } = await openGpu();

/** a + 2·b over views of two buffers, against JavaScript. */
async function addTwice(
  shape: readonly number[],
  a: Layout,
  b: Layout,
  label: string,
): Promise<void> {
  const da = randomData(300, 1),
    db = randomData(300, 2);
  const kernel = elementwiseKernel(
    {
      shape,
      operands: [
        { view: view(a), binding: 0 },
        { view: view(b), binding: 1 },
      ],
      outputs: [{ dtype: "float32", binding: 2 }],
      bindings: ["read", "read", "read_write"],
      name: "test",
      body: "r0 = a0 + 2.0 * a1;",
    },
    caps,
  );
  const [got] = await run(kernel, [da, db, { dtype: "float32", length: sizeOf(shape) }]);
  const ea = elements(da, broadcastLayout(a, shape)),
    eb = elements(db, broadcastLayout(b, shape));
  close(
    got!,
    ea.map((x, i) => x + 2 * eb[i]!),
    1e-6,
    1e-6,
    label,
  );
}

test("contiguous, scalar, broadcast, transposed, offset and sliced views", async () => {
  const c = contiguousLayout;
  await addTwice([8, 4], c([8, 4]), c([8, 4]), "vec4");
  await addTwice([7, 3], c([7, 3]), c([7, 3]), "odd");
  await addTwice([], c([]), c([]), "0-d");
  await addTwice([0, 3], c([0, 3]), c([3]), "empty");
  await addTwice([6, 8], c([6, 8]), c([]), "scalar");
  await addTwice([6, 8], c([6, 8]), c([8]), "row");
  await addTwice([6, 8], c([6, 1]), c([8]), "column and row");
  await addTwice([5, 7], c([5, 1]), c([7]), "column and row, odd");
  await addTwice([8, 6], permuteLayout(c([6, 8]), [1, 0]), c([8, 6]), "transposed");
  await addTwice([4, 8], { ...c([4, 8]), offset: 4 }, { ...c([4, 8]), offset: 3 }, "offsets");
  await addTwice([4, 3, 5], permuteLayout(c([5, 4, 3]), [1, 2, 0]), c([3, 1]), "rank 3");
  await addTwice(
    [4, 4],
    sliceLayout("t", c([4, 12]), 1, 4, 8, 1),
    sliceLayout("t", c([4, 8]), 1, 0, 8, 2),
    "slices",
  );
  await addTwice([2, 3, 4, 8], c([2, 1, 4, 1]), c([3, 1, 8]), "rank 4");
});

test("random views", async () => {
  const next = random(7),
    pick = (n: number): number => Math.floor(next() * n);
  for (let t = 0; t < 40; t++) {
    const shape = Array.from({ length: pick(5) }, () => [1, 2, 3, 4, 8][pick(5)]!).reduce<number[]>(
      (s, d) => (sizeOf(s) * d <= 256 ? [...s, d] : s),
      [],
    );
    const make = (): Layout => {
      const order = shape.map((_, i) => i).sort(() => next() - 0.5);
      const base = contiguousLayout(order.map((i) => (next() < 0.25 ? 1 : shape[i]!)));
      const inverse = order.map((_, i) => order.indexOf(i));
      const l = permuteLayout(base, inverse);
      return { ...l, offset: pick(2) * pick(9), strides: l.strides };
    };
    await addTwice(shape, make(), make(), `random ${t} [${shape.join(",")}]`);
  }
});

test("dtypes, several outputs, scalars and one binding for two operands", async () => {
  const n = 20,
    x = Float32Array.from({ length: n }, (_, i) => i - 10),
    k = Int32Array.from({ length: n }, (_, i) => i - 3),
    flag = Uint32Array.from({ length: n }, (_, i) => i % 2);
  const kernel = elementwiseKernel(
    {
      shape: [n],
      operands: [
        { view: view([n]), binding: 0 },
        { view: view([n], "int32"), binding: 1 },
        { view: view([n], "bool"), binding: 2 },
        { view: view([n]), binding: 0 },
      ],
      outputs: [
        { dtype: "float32", binding: 3 },
        { dtype: "int32", binding: 4 },
        { dtype: "bool", binding: 5 },
      ],
      bindings: ["read", "read", "read", "read_write", "read_write", "read_write"],
      name: "mixed",
      scalars: [{ type: "f32" }, { type: "i32" }],
      body: "r0 = select(a0, a0 * s0, a2) + a3;\nr1 = a1 + s1;\nr2 = a0 > 0.0 && a2;",
    },
    caps,
  );
  const out = (
    length: number,
    dtype: "float32" | "int32" | "bool",
  ): { dtype: typeof dtype; length: number } => ({ dtype, length });
  const [r0, r1, r2] = await run(
    kernel,
    [x, k, flag, out(n, "float32"), out(n, "int32"), out(n, "bool")],
    { scalars: [f32Bits(3), -5 >>> 0] },
  );
  close(
    r0!,
    [...x].map((v, i) => (flag[i] === 1 ? v * 3 : v) + v),
  );
  close(
    r1!,
    [...k].map((v) => v - 5),
  );
  close(
    r2!,
    [...x].map((v, i) => (v > 0 && flag[i] === 1 ? 1 : 0)),
  );
});

test("in place into a strided view leaves the rest alone", async () => {
  for (const [rows, columns] of [
    [6, 8],
    [5, 7],
  ] as const) {
    const data = randomData(rows * columns, 3),
      before = data.slice();
    const target = permuteLayout(
      sliceLayout("t", contiguousLayout([rows, columns]), 1, 4, columns, 1),
      [1, 0],
    );
    const kernel = elementwiseKernel(
      {
        shape: target.shape,
        operands: [{ view: view(target), binding: 0 }],
        outputs: [{ dtype: "float32", binding: 0, view: view(target) }],
        bindings: ["read_write"],
        name: "inplace",
        body: "r0 = a0 * 10.0;",
      },
      caps,
    );
    const [got] = await run(kernel, [data]);
    close(
      got!,
      before.map((v, i) => (i % columns >= 4 ? v * 10 : v)),
    );
  }
});

test("more than 65,535 workgroups and long runs", async () => {
  const n = 64 * 70_000 + 1;
  const kernel = elementwiseKernel(
    {
      shape: [n],
      operands: [],
      outputs: [{ dtype: "uint32", binding: 0 }],
      bindings: ["read_write"],
      name: "iota",
      body: "r0 = idx;",
      needsIndex: true,
    },
    { ...caps, software: false, maxWorkgroupsPerDimension: 500 },
  );
  const [got] = await run(kernel, [{ dtype: "uint32", length: n }]);
  for (let i = 0; i < n; i++) if (got![i] !== i) throw new Error(`at ${i}: ${got![i]}`);
  const even = elementwiseKernel(
    {
      shape: [n - 1],
      operands: [],
      outputs: [{ dtype: "uint32", binding: 0 }],
      bindings: ["read_write"],
      name: "iota",
      body: "r0 = idx;",
      needsIndex: true,
    },
    caps,
  );
  const [all] = await run(even, [{ dtype: "uint32", length: n - 1 }]);
  for (let i = 0; i < n - 1; i++) if (all![i] !== i) throw new Error(`at ${i}: ${all![i]}`);
});

test("one text for all sizes of one structure", () => {
  const key = (shape: number[]): string =>
    elementwiseKernel(
      {
        shape,
        operands: [{ view: view(shape), binding: 0 }],
        outputs: [{ dtype: "float32", binding: 1 }],
        bindings: ["read", "read_write"],
        name: "neg",
        body: "r0 = -a0;",
      },
      caps,
    ).key;
  assert.is(key([4]), key([128, 256]));
  assert.is(key([4]), key([3, 4, 1000]));
  assert.is.not(key([4]), key([5]));
});

// === Helpers ===

const specials = [
  NaN,
  Infinity,
  -Infinity,
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2,
  -2,
  3,
  1e30,
  -1e30,
  1e-30,
  88,
  89,
  -104,
  20,
  -20,
  0.01,
  1.5,
  -2.5,
  4096,
];

async function unary(
  body: string,
  helpers: readonly string[],
  xs: readonly number[],
): Promise<number[]> {
  const data = Float32Array.from(xs);
  const kernel = elementwiseKernel(
    {
      shape: [xs.length],
      operands: [{ view: view([xs.length]), binding: 0 }],
      outputs: [{ dtype: "float32", binding: 1 }],
      bindings: ["read", "read_write"],
      name: "unary",
      body,
      ...allHelpers(helpers),
    },
    caps,
  );
  const [got] = await run(kernel, [data, { dtype: "float32", length: xs.length }]);
  return [...got!];
}

/** A reference for erf: Taylor near zero, a continued fraction beyond. */
function erfOf(x: number): number {
  const z = Math.abs(x);
  if (Number.isNaN(x)) return x;
  if (z > 6) return Math.sign(x);
  let sum = 0,
    term = z;
  for (let n = 0; n < 200; n++) {
    sum += term / (2 * n + 1);
    term *= (-z * z) / (n + 1);
  }
  return (Math.sign(x) * sum * 2) / Math.sqrt(Math.PI);
}

/** Helpers as a kernel takes them, wherever they are. */
function allHelpers(names: readonly string[]): { helpers: string[]; functions: string } {
  const { common, rare } = rareHelpers(names);
  return { helpers: [...common], functions: [...rare.values()].join("") };
}

test("unary helpers on special values", async () => {
  const cases: [string, string, (x: number) => number, number?][] = [
    ["r0 = relu(a0);", "relu", (x) => (Number.isNaN(x) ? x : Math.max(x, 0))],
    ["r0 = tanhOf(a0);", "tanhOf", Math.tanh],
    ["r0 = signOf(a0);", "signOf", Math.sign],
    [
      "r0 = expOf(a0);",
      "expOf",
      (x) => (Math.exp(x) > 3.4028235e38 ? Infinity : Math.exp(x)),
      2e-5,
    ],
    ["r0 = logOf(a0);", "logOf", Math.log],
    ["r0 = sqrtOf(a0);", "sqrtOf", Math.sqrt],
    ["r0 = sigmoid(a0);", "sigmoid", (x) => 1 / (1 + Math.exp(-x))],
    ["r0 = log1pOf(a0);", "log1pOf", Math.log1p],
    [
      "r0 = expm1Of(a0);",
      "expm1Of",
      (x) => (Math.expm1(x) > 3.4028235e38 ? Infinity : Math.expm1(x)),
      2e-5,
    ],
    ["r0 = erf(a0);", "erf", erfOf],
    ["r0 = softplus(a0);", "softplus", (x) => (x > 50 ? x : Math.log1p(Math.exp(x)))],
    ["r0 = select(0.0, 1.0, isNan(a0));", "isNan", (x) => (Number.isNaN(x) ? 1 : 0)],
    ["r0 = select(0.0, 1.0, isInf(a0));", "isInf", (x) => (Math.abs(x) === Infinity ? 1 : 0)],
    ["r0 = select(0.0, 1.0, isFinite(a0));", "isFinite", (x) => (Number.isFinite(x) ? 1 : 0)],
    [
      "r0 = f32(toI32(a0));",
      "toI32",
      (x) => (Number.isNaN(x) ? 0 : Math.max(-(2 ** 31), Math.min(2147483647, Math.trunc(x)))),
    ],
  ];
  for (const [body, helper, f, rel] of cases)
    close(
      await unary(body, [helper], specials),
      specials.map((x) => f(Math.fround(x))),
      rel ?? 1e-5,
      1e-6,
      helper,
    );
});

test("binary helpers on all pairs of special values", async () => {
  const n = specials.length,
    x = Float32Array.from(specials);
  const pairs = async (body: string, helper: string): Promise<ArrayLike<number>> => {
    const kernel = elementwiseKernel(
      {
        shape: [n, n],
        operands: [
          { view: view([n, 1]), binding: 0 },
          { view: view([n]), binding: 0 },
        ],
        outputs: [{ dtype: "float32", binding: 1 }],
        bindings: ["read", "read_write"],
        name: "pairs",
        body,
        ...allHelpers([helper]),
      },
      caps,
    );
    return (await run(kernel, [x, { dtype: "float32", length: n * n }]))[0]!;
  };
  const want = (f: (a: number, b: number) => number): number[] =>
    [...x].flatMap((a) =>
      [...x].map((b) => {
        const r = f(a, b);
        return Math.abs(r) > 3.4028235e38 ? Math.sign(r) * Infinity : r;
      }),
    );
  close(await pairs("r0 = nanMax(a0, a1);", "nanMax"), want(Math.max), 0, 0, "nanMax");
  close(await pairs("r0 = nanMin(a0, a1);", "nanMin"), want(Math.min), 0, 0, "nanMin");
  close(
    await pairs("r0 = powOf(a0, a1);", "powOf"),
    want((a, b) => (a === 1 ? 1 : Math.abs(a) === 1 && Math.abs(b) === Infinity ? 1 : a ** b)),
    2e-4,
    1e-30,
    "powOf",
  );
});

test("computations side by side are what they are alone, bit by bit", async () => {
  const sizes = [5, 64, 1, 300_001, 1022];
  const data = sizes.map((n, k) => [randomData(n, k), randomData(n, 10 + k)] as const);
  const scalars = [3, 0.5, 0.25, 7, 1.5].map(f32Bits);
  const specs = sizes.map((n, k): ElementwiseSpec => ({
    shape: [n],
    operands: [
      { view: view([n]), binding: 0 },
      { view: view([n]), binding: 1 },
    ],
    outputs: [{ dtype: "float32", binding: 0, view: view([n]) }],
    bindings: ["read_write", "read"],
    name: "step",
    functions: "fn moved(x: f32, y: f32) -> f32 { return x - y; }\n",
    body: "r0 = moved(a0, s0 * a1 + drawn0);",
    scalars: [
      { type: "f32", index: k },
      ...[0, 1, 2].map(() => ({ type: "u32" as const, index: 2 })),
    ],
    draws: [{ distribution: "uniform", scalar: 1 }],
  }));
  const gpuCaps = { ...caps, software: false, maxWorkgroupsPerDimension: 500 };
  for (const kind of [caps, gpuCaps]) {
    const buffers = data.flatMap(([x, y]) => [x.slice(), y]);
    const read = sizes.map((_, k) => 2 * k);
    const got = await run(sideBySide(specs, kind), buffers, { scalars, read });
    for (const [k, spec] of specs.entries()) {
      const [x, y] = data[k]!;
      const [alone] = await run(elementwiseKernel(spec, kind), [x.slice(), y], {
        scalars,
        read: [0],
      });
      assert.equal([...got[k]!], [...alone!], `${sizes[k]} elements`);
    }
  }
});

test("golden text", () => {
  const add = (a: readonly number[], b: readonly number[], shape: readonly number[]): string =>
    elementwiseKernel(
      {
        shape,
        operands: [
          { view: view(a), binding: 0 },
          { view: view(b), binding: 1 },
        ],
        outputs: [{ dtype: "float32", binding: 2 }],
        bindings: ["read", "read", "read_write"],
        name: "add",
        body: "r0 = a0 + a1;",
      },
      caps,
    ).wgsl;
  golden("elementwise-add-flat", add([8, 8], [8, 8], [8, 8]));
  golden("elementwise-add-row", add([8, 8], [8], [8, 8]));
  golden("elementwise-add-scattered", add([3, 1], [5], [3, 5]));
});

test.run();
