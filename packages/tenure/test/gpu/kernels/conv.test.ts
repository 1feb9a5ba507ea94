import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Layout, contiguousLayout, permuteLayout } from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import {
  conv2dBackwardInputKernel,
  conv2dKernel,
  conv2dBackwardWeightKernel,
} from "../../../src/kernels/conv-ways.ts";
import { close, elements, golden, openGpu, random, randomData, run, view } from "./harness.ts";

const test = suite("conv");
const gpu = await openGpu();
const [swiftShader, lavapipe] = [false, true].map((contracts) => ({
  ...gpu.caps,
  software: true,
  contracts,
}));
const allCaps = [swiftShader!, { ...gpu.caps, software: false }, lavapipe!];

/** Compiling is what takes the time here: cases take turns between the kinds of adapter. */
import { type ConvWindow, convShape } from "../../../src/kernels/shapes.ts";
let turn = 0;

/** Calls `f` with the flat positions (output, input, weight) of every product of a convolution. */
function products(
  x: readonly number[],
  w: readonly number[],
  o: ConvWindow,
  f: (out: number, input: number, weight: number) => void,
): void {
  const [N, O, P, Q] = convShape(x, w, o),
    [C, H, W] = x.slice(1) as [number, number, number],
    [, Cg, R, S] = w as [number, number, number, number],
    Og = O / o.groups;
  for (let n = 0; n < N; n++)
    for (let k = 0; k < O; k++)
      for (let p = 0; p < P; p++)
        for (let q = 0; q < Q; q++)
          for (let c = 0; c < Cg; c++)
            for (let r = 0; r < R; r++)
              for (let s = 0; s < S; s++) {
                const y = p * o.stride[0] - o.padding[0] + r * o.dilation[0],
                  z = q * o.stride[1] - o.padding[1] + s * o.dilation[1];
                if (y < 0 || y >= H || z < 0 || z >= W) continue;
                f(
                  ((n * O + k) * P + p) * Q + q,
                  ((n * C + Math.floor(k / Og) * Cg + c) * H + y) * W + z,
                  ((k * Cg + c) * R + r) * S + s,
                );
              }
}

async function check(
  x: readonly number[],
  w: readonly number[],
  window: Partial<ConvWindow> = {},
  layouts: { x?: Layout; w?: Layout; g?: Layout } = {},
  variants = [allCaps[turn++ % 3]!],
): Promise<void> {
  const o: ConvWindow = { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1, ...window };
  const shape = convShape(x, w, o),
    label = `x [${x.join()}] w [${w.join()}] ${JSON.stringify(o)}`;
  const lx = layouts.x ?? contiguousLayout(x),
    lw = layouts.w ?? contiguousLayout(w),
    lg = layouts.g ?? contiguousLayout(shape);
  const dx = randomData(sizeOf(x) + lx.offset, 1),
    dw = randomData(sizeOf(w), 2),
    dg = randomData(sizeOf(shape), 3);
  const ex = elements(dx, lx),
    ew = elements(dw, lw),
    eg = elements(dg, lg);
  const out = new Array<number>(sizeOf(shape)).fill(0),
    gx = new Array<number>(sizeOf(x)).fill(0),
    gw = new Array<number>(sizeOf(w)).fill(0);
  products(x, w, o, (k, i, j) => {
    out[k]! += ex[i]! * ew[j]!;
    gx[i]! += eg[k]! * ew[j]!;
    gw[j]! += eg[k]! * ex[i]!;
  });
  for (const caps of variants) {
    const [a] = await run(conv2dKernel({ ...o, input: view(lx), weight: view(lw) }, caps), [
      dx,
      dw,
      { dtype: "float32", length: out.length },
    ]);
    close(a!, out, 1e-5, 2e-5, `forward ${label}`);
    const [b] = await run(
      conv2dBackwardInputKernel({ ...o, grad: view(lg), weight: view(lw), inputShape: x }, caps),
      [dg, dw, { dtype: "float32", length: gx.length }],
    );
    close(b!, gx, 1e-5, 2e-5, `backward input ${label}`);
    const [c] = await run(
      conv2dBackwardWeightKernel({ ...o, input: view(lx), grad: view(lg), weightShape: w }, caps),
      [dx, dg, { dtype: "float32", length: gw.length }],
    );
    close(c!, gw, 2e-5, 2e-4, `backward weight ${label}`);
  }
}

test("LeNet shapes", async () => {
  await check([3, 1, 28, 28], [8, 1, 3, 3], { padding: [1, 1] }, {}, allCaps);
  await check([2, 8, 14, 14], [16, 8, 5, 5], { padding: [2, 2] }, {}, allCaps);
});

test("stride, padding, dilation, groups", async () => {
  await check([2, 3, 9, 11], [5, 3, 3, 3]);
  await check([2, 3, 9, 11], [5, 3, 3, 2], { stride: [2, 2] });
  await check([2, 4, 9, 11], [6, 2, 3, 3], { stride: [2, 3], padding: [1, 2], groups: 2 });
  await check([1, 2, 12, 12], [3, 2, 3, 3], { dilation: [2, 3], padding: [2, 1] });
  await check([1, 2, 12, 12], [3, 2, 3, 2], { dilation: [2, 2], stride: [2, 2], padding: [3, 3] });
  await check([2, 6, 7, 7], [6, 1, 3, 3], { groups: 6, padding: [1, 1] });
  await check([2, 5, 6, 6], [9, 5, 1, 1]);
  await check([2, 5, 6, 6], [9, 5, 1, 1], { stride: [2, 2] });
  await check([1, 2, 3, 20], [2, 2, 1, 9], { padding: [0, 4] });
  await check([2, 3, 5, 5], [4, 3, 5, 5]);
  await check([1, 1, 4, 4], [1, 1, 2, 2], { padding: [3, 3] });
});

test("pixels that take over what their neighbours saw", async () => {
  const both = [swiftShader!, lavapipe!];
  await check([2, 3, 9, 17], [5, 3, 2, 5], { stride: [1, 3], dilation: [2, 3] }, {}, both);
  await check([2, 3, 9, 17], [5, 3, 2, 5], { stride: [2, 2], padding: [1, 3] }, {}, both);
  await check([1, 2, 6, 5], [3, 2, 3, 4], { padding: [2, 3], dilation: [2, 1] }, {}, both);
  const slides = (caps: typeof gpu.caps, taps: number, dilation: number): boolean => {
    const window = { stride: [2, 2], padding: [0, 0], dilation: [1, dilation], groups: 1 } as const;
    const [x, w] = [
      [1, 2, 9, 20],
      [4, 2, 3, taps],
    ] as const;
    const grad = view(convShape(x, w, window));
    const spec = { ...window, grad, weight: view(w), inputShape: x };
    return /x1 = x0;/.test(conv2dBackwardInputKernel(spec, caps).wgsl);
  };
  assert.ok(slides(lavapipe!, 3, 1));
  assert.ok(slides(swiftShader!, 5, 1));
  assert.not(slides(swiftShader!, 3, 1));
  assert.not(slides(lavapipe!, 3, 2));
});

test("strided views", async () => {
  await check(
    [2, 3, 6, 8],
    [4, 3, 3, 3],
    { padding: [1, 1] },
    {
      x: permuteLayout(contiguousLayout([2, 6, 8, 3]), [0, 3, 1, 2]),
      w: permuteLayout(contiguousLayout([3, 3, 3, 4]), [3, 2, 0, 1]),
      g: permuteLayout(contiguousLayout([2, 6, 8, 4]), [0, 3, 1, 2]),
    },
  );
  await check(
    [2, 3, 6, 8],
    [4, 3, 3, 3],
    {},
    { x: { ...contiguousLayout([2, 3, 6, 8]), offset: 5 } },
  );
});

test("random windows", async () => {
  const next = random(5),
    pick = (n: number): number => 1 + Math.floor(next() * n);
  for (let t = 0; t < 5; t++) {
    const groups = pick(2),
      R = pick(4),
      S = pick(4),
      o = {
        stride: [pick(2), pick(2)],
        padding: [pick(R) - 1, pick(S) - 1],
        dilation: [pick(2), pick(2)],
        groups,
      } as const;
    const Cg = pick(3);
    await check([pick(2), groups * Cg, 8 + pick(5), 8 + pick(5)], [groups * pick(5), Cg, R, S], o);
  }
});

test("nothing to do", () => {
  const o = { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 } as const;
  assert.equal(
    conv2dKernel({ ...o, input: view([0, 3, 8, 8]), weight: view([4, 3, 3, 3]) }, gpu.caps)
      .workgroups,
    [0, 0, 0],
  );
});

test("a compiler that optimizes is given the taps of a row as a loop", () => {
  const o = { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1 } as const;
  const [short, long] = [lavapipe!, swiftShader!].map(
    (caps) =>
      conv2dKernel({ ...o, input: view([1, 1, 9, 9]), weight: view([4, 1, 5, 5]) }, caps).wgsl,
  );
  assert.ok(short!.length < long!.length / 1.3);
});

test("golden text", () => {
  const o = { stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 1 } as const;
  golden(
    "conv2d-3x3",
    conv2dKernel({ ...o, input: view([64, 8, 28, 28]), weight: view([16, 8, 3, 3]) }, swiftShader!)
      .wgsl,
  );
  golden(
    "conv2d-backward-weight-3x3",
    conv2dBackwardWeightKernel(
      {
        ...o,
        input: view([64, 8, 28, 28]),
        grad: view([64, 16, 28, 28]),
        weightShape: [16, 8, 3, 3],
      },
      swiftShader!,
    ).wgsl,
  );
});

test.run();
