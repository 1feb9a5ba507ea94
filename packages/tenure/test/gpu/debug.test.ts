/**
 * Looking inside: what `debug` tells of the last plan and the last miss, and what each word of
 * `TENURE_DEBUG` prints, without a scheduler and inside one.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, debug, tensor } from "tenure";
import { Scheduler } from "tenure/scheduler";
import { setup } from "../helpers.ts";

await setup();
const test = suite("debug");

/** A program whose structure depends on its rows only. */
async function run(rows: number): Promise<void> {
  using x = tensor(new Float32Array(rows * 7), { shape: [rows, 7] });
  using w = tensor(new Float32Array(49), { shape: [7, 7] });
  using y = forward(x, w);
  await y.data();
}

function forward(x: Tensor, w: Tensor): Tensor {
  using product = x.matmul(w);
  using positive = product.relu();
  using weights = positive.softmax(1);
  return weights.sum();
}

/** What is printed under some words of TENURE_DEBUG while `fn` runs. */
async function printed(words: string, fn: () => Promise<void>): Promise<string> {
  const lines: string[] = [];
  const { error } = console;
  const before = process.env["TENURE_DEBUG"];
  process.env["TENURE_DEBUG"] = words;
  console.error = (line: string) => lines.push(line);
  try {
    await fn();
  } finally {
    console.error = error;
    if (before === undefined) delete process.env["TENURE_DEBUG"];
    else process.env["TENURE_DEBUG"] = before;
  }
  return lines.join("\n");
}

test("the last plan names its kernels and what was not fused", async () => {
  await run(3);
  const plan = debug.lastPlan();
  assert.ok(plan);
  assert.equal(plan.ops, ["matmul", "relu", "softmax", "sum"]);
  assert.equal(
    plan.kernels.map((k) => k.ops),
    [["matmul", "relu"], ["softmax"], ["sum"]],
  );
  assert.equal(plan.unfused[0], {
    maker: { op: 1, name: "relu" },
    reader: { op: 2, name: "softmax" },
    reason: "matmul and softmax both need a kernel of their own",
  });
  assert.is(plan.report.dispatches, 3);
  assert.match(String(plan), "4 ops in 3 kernels");
});

test("kernels come with their WGSL, by name", () => {
  const [kernel, ...others] = debug.kernels("matmul+relu");
  assert.ok(kernel);
  assert.is(others.length, 0);
  assert.match(kernel.wgsl, "fn chain(");
  assert.ok(kernel.key.startsWith("matmul."));
  assert.is(debug.kernels().length, 3);
});

test("a miss says which op differs, and how", async () => {
  await run(4);
  await run(5);
  const miss = debug.lastMiss();
  assert.ok(miss);
  assert.is(miss.difference, "op 0 (matmul): dimension 0 of input 0 is 5, not 4");
});

test("a miss says who is owned", async () => {
  using x = tensor([1, 2, 3]);
  await x.data();
  const step = async (keep: boolean): Promise<void> => {
    using doubled = x.mul(2);
    using y = doubled.add(1);
    if (!keep) doubled.dispose();
    await y.data();
  };
  await step(true);
  await step(false);
  assert.match(
    debug.lastMiss()?.difference ?? "",
    /^storage 1 is owned by nobody and not in memory, not owned and not in memory$/,
  );
});

test("a hit plans nothing", async () => {
  await run(6);
  const plan = debug.lastPlan()?.kernels;
  await run(6);
  assert.is(debug.lastPlan()?.kernels, plan);
});

for (const [word, pattern] of [
  ["plan", /tenure plan: 4 ops in 3 kernels.*not fused: relu \(op 1\) into softmax/s],
  ["wgsl", /tenure wgsl: matmul\+relu \(matmul\.\S+\)\n.*@compute/s],
  ["cache", /tenure cache: miss with \d+ plans known: op 0 \(matmul\)/],
  ["passes", /=== after order\n.*=== after place\n.*=== after emit\n/s],
] as const)
  test(`TENURE_DEBUG=${word} prints it`, async () => {
    const rows = { plan: 8, wgsl: 9, cache: 10, passes: 11 }[word];
    assert.match(await printed(word, () => run(rows)), pattern);
    assert.is(await printed("", () => run(rows + 10)), "");
  });

test("TENURE_DEBUG=ops prints ops as they are recorded", async () => {
  const text = await printed("ops", async () => {
    await run(31);
    await run(32);
  });
  assert.match(text, "tenure ops: matmul(float32 [32,7], float32 [7,7]) -> float32 [32,7]");
  await printed("", () => run(33));
});

test("plans of a scheduler are printed too", async () => {
  using x = tensor(new Float32Array(21), { shape: [3, 7] });
  using w = tensor(new Float32Array(49), { shape: [7, 7] });
  using scheduler = new Scheduler();
  const text = await printed("plan,cache", async () => {
    using y = await scheduler.step(() => forward(x, w));
    await y.data();
  });
  assert.match(text, "4 ops in 3 kernels");
  assert.match(text, "tenure cache: miss with 0 plans known: no plan was known");
});

test.run();
