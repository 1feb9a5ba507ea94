/**
 * The gradient of every differentiable op against finite differences: plain, through views that are
 * not contiguous, in place, and once more for second derivatives. A differentiable op without a
 * case fails. One case of each op runs as users run it; the others run one kernel an op, since
 * fused nearly each of them would be a kernel to compile.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { GradError, type Tensor, grad, scoped, scopedAsync, tensor } from "tenure";
import { functional as F } from "tenure/nn";
import { gradcheck } from "tenure/testing";
import { type AnyOp, uniqueName } from "../../../src/ops/op.ts";
import { runtime } from "../../../src/runtime/runtime.ts";
import { numbers, rejects, setup, unfused } from "../../helpers.ts";
import { allOps } from "../../op-records.ts";
import type { GradCase } from "./cases/case.ts";
import { gradCasesOf } from "./cases.ts";
import { execute, upload } from "./host.ts";

await setup();
const test = suite("op gradients");

/** What this file runs, to see that the list of all ops is one. */
const ran = new Set<AnyOp>();
const { recorder } = runtime();
const record = recorder.record.bind(recorder);
recorder.record = (op, ...rest) => {
  ran.add(op);
  record(op, ...rest);
};

/** The op on the given float tensors, with the fixed ones in their places. */
function apply(op: AnyOp, c: GradCase, floats: readonly Tensor[]): Tensor {
  const inputs: Tensor[] = [...floats];
  for (const [i, h] of Object.entries(c.fixed ?? {})) inputs.splice(Number(i), 0, upload(h));
  return execute(op, inputs, c.attrs, c.words ?? [])[0]!;
}

/** The same elements, not contiguous. */
function scattered(x: Tensor): Tensor {
  const back = Array.from({ length: x.rank }, (_, i) => x.rank - 1 - i);
  return x.rank < 2
    ? x.reshape(-1, 1).expand(x.size, 2).slice(1, 0, 1).reshape(x.shape)
    : x.permute(back).clone().permute(back);
}

const weights = (n: number): number[] =>
  Array.from({ length: n }, (_, i) => Math.cos(2.3 * i + 0.4) + 1.2);
const weighted = (x: Tensor): Tensor => x.mul(tensor(weights(x.size), { shape: x.shape })).sum();

/** A number that depends on all first derivatives of the op. */
function firstDerivatives(op: AnyOp, c: GradCase): (...inputs: Tensor[]) => Tensor {
  return (...inputs) => {
    const found = grad((...xs: Tensor[]) => weighted(apply(op, c, xs).square()), {
      createGraph: true,
    })(...inputs);
    return (Array.isArray(found) ? (found as Tensor[]) : [found as Tensor])
      .map((g) => weighted(g))
      .reduce((a, b) => a.add(b));
  };
}

const options = (c: GradCase): { step?: number; tolerance?: number } => ({
  ...(c.step === undefined ? {} : { step: c.step }),
  ...(c.tolerance === undefined ? {} : { tolerance: c.tolerance }),
});

/**
 * The cases for second derivatives: those that ask for it, else one. None may be silent: right
 * numbers, or an error that names the op.
 */
function twice(cases: readonly GradCase[]): readonly GradCase[] {
  const asked = cases.filter((c) => c.second === true);
  return asked.length > 0 ? asked : cases.slice(-1);
}

/** Ops whose gradient has none itself: the second derivatives of activations. */
const refusing = /^(gelu|geluTanh|silu|mish|elu|selu|leakyRelu|hardSwish|hardSigmoid)Backward$/;

async function again(op: AnyOp, c: GradCase): Promise<void> {
  const check = (): Promise<void> =>
    gradcheck(firstDerivatives(op, c), c.points, { tolerance: 2e-2, ...options(c) });
  if (refusing.test(op.name))
    await rejects(
      () => scopedAsync(check),
      GradError,
      new RegExp(
        `^${op.name}: expected to be differentiated no further, got createGraph: ` +
          `true, .*leave ${op.name} out`,
      ),
    );
  else await check();
}

async function all(runs: readonly (readonly [string, () => Promise<void>])[]): Promise<void> {
  const failures: string[] = [];
  for (const [label, run] of runs)
    await run().catch((error: unknown) => {
      failures.push(`${label}: ${String(error)}`);
    });
  if (failures.length > 0) throw new Error(failures.slice(0, 6).join("\n"));
  assert.ok(runs.length > 0);
}

const twins = new Set(allOps().flatMap((op) => (op.inplace === undefined ? [] : [op.inplace])));
const differentiable = allOps().filter(
  (op) =>
    op.vjp !== undefined &&
    !twins.has(op) &&
    op.facts.inplaceOf === undefined &&
    !["wins", "floorDiv", "gate"].includes(uniqueName(op)),
);

test("every differentiable op has a case", () => {
  for (const op of differentiable)
    if (gradCasesOf(uniqueName(op)) === undefined)
      throw new Error(`no gradient case for the op ${uniqueName(op)}`);
});

for (const op of differentiable)
  test(uniqueName(op), async () => {
    const c = gradCasesOf(uniqueName(op))![0]!;
    await gradcheck((...x) => apply(op, c, x), c.points, options(c));
  });

for (const op of differentiable)
  test(`${uniqueName(op)}, unfused`, async () => {
    const cases = gradCasesOf(uniqueName(op))!,
      last = cases.at(-1)!;
    const runs = [
      ...cases
        .slice(1)
        .map(
          (c) =>
            [c.label, () => gradcheck((...x) => apply(op, c, x), c.points, options(c))] as const,
        ),
      [
        `${last.label}, scattered`,
        () => gradcheck((...x) => apply(op, last, x.map(scattered)), last.points, options(last)),
      ] as const,
      ...twice(cases).map((c) => [`${c.label}, second derivative`, () => again(op, c)] as const),
    ];
    await unfused(() => all(runs));
  });

test("in place: the gradient, or an error where something needed was overwritten", async () => {
  const runs: (readonly [string, () => Promise<void>])[] = [];
  for (const op of differentiable) {
    const twin = op.inplace,
      c = gradCasesOf(uniqueName(op))?.[0];
    if (twin === undefined || c === undefined) continue;
    const run = (...x: Tensor[]): Tensor => apply(twin, c, [x[0]!.clone(), ...x.slice(1)]);
    if (
      op.saves?.inputs?.includes(0) === true &&
      !["divScalar", "modScalar"].includes(uniqueName(op))
    ) {
      // those two need it with the number on the left only
      runs.push([
        uniqueName(twin),
        () =>
          scopedAsync(async () => {
            const inputs = c.points.map((p) =>
                tensor([...p.values], { shape: p.shape, requiresGrad: true }),
              ),
              loss = run(...inputs).sum();
            await rejects(
              () => {
                loss.backward();
              },
              GradError,
              /changed in place/,
              new RegExp(twin.name),
            );
            assert.not(
              inputs.some((x) => x.hasGrad),
              "no leaf is half updated",
            );
          }),
      ]);
    } else runs.push([uniqueName(twin), () => gradcheck(run, c.points, options(c))]);
  }
  await all(runs);
});

/** Functions that put several ops, or statistics of their own, around their inputs. */
const functions: readonly (readonly [
  string,
  (...x: Tensor[]) => Tensor,
  ...shapes: (readonly number[])[],
])[] = [
  ["layerNorm", (x, w, b) => F.layerNorm(x, 4, w, b, 0.1), [2, 4], [4], [4]],
  ["rmsNorm", (x, w) => F.rmsNorm(x, 4, w, 0.1), [2, 4], [4]],
  ["groupNorm", (x, w, b) => F.groupNorm(x, 2, w, b, 0.1), [1, 4, 2], [4], [4]],
  [
    "batchNorm in training",
    (x, w, b) => F.batchNorm(x, { training: true, weight: w, bias: b, eps: 0.1 }),
    [3, 2],
    [2],
    [2],
  ],
  [
    "batchNorm in training without weight",
    (x) => F.batchNorm(x, { training: true, eps: 0.1 }),
    [3, 2],
  ],
  [
    "crossEntropy",
    (x) => F.crossEntropy(x, tensor([0, 2], { dtype: "int32" }), { labelSmoothing: 0.1 }),
    [2, 3],
  ],
  [
    "scaledDotProductAttention",
    (q, k, v) => F.scaledDotProductAttention(q, k, v, { causal: true }),
    [3, 2],
    [3, 2],
    [3, 2],
  ],
];

for (const [name, fn, ...shapes] of functions) {
  test(`second derivatives of ${name}`, async () => {
    const points = shapes.map((shape, i) => ({
      shape,
      values: numbers(
        shape.reduce((n, d) => n * d, 1),
        120 + i,
      ),
    }));
    const first = (...inputs: Tensor[]): Tensor => {
      const found = grad((...xs: Tensor[]) => weighted(fn(...xs).square()), { createGraph: true })(
        ...inputs,
      );
      return (Array.isArray(found) ? (found as Tensor[]) : [found as Tensor])
        .map((g) => weighted(g))
        .reduce((a, b) => a.add(b));
    };
    await gradcheck(first, points, { tolerance: 2e-2 });
  });
}

test("copy_ passes the gradient to its source and cuts it from what was overwritten", async () => {
  const [ga, gb] = scoped(() => {
    const a = tensor([1, 2, 3], { requiresGrad: true }),
      b = tensor([5], { requiresGrad: true });
    const target = a.mul(2),
      result = target.copy_(b);
    result.mul(3).sum().backward();
    return [a.grad!.data(), b.grad!.data()];
  });
  assert.equal([...(await ga)], [0, 0, 0]);
  assert.equal([...(await gb)], [9]);
});

test("no gradient runs an op that the list of all ops lacks, so none stays untested", () => {
  const known = new Set(allOps());
  assert.ok(ran.size > differentiable.length);
  assert.equal(
    [...ran].filter((op) => !known.has(op)).map((op) => op.name),
    [],
  );
});

test.run();
