/**
 * Programs and plans as JSON and as text, and what is said of malformed ones.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, OutOfMemoryError } from "tenure";
import {
  BudgetError,
  type PlanOptions,
  type Program,
  plan,
  programFromJSON,
} from "tenure/scheduler";
import { golden, rejects } from "../../helpers.ts";
import { chain, trainingPrograms } from "./programs.ts";

const test = suite("formats");

// === Formats ===

test("programs and plans survive JSON", () => {
  fc.assert(
    fc.property(trainingPrograms(8), (program) => {
      const again = programFromJSON(JSON.parse(JSON.stringify(program)));
      assert.equal(JSON.stringify(again), JSON.stringify(program));
      assert.equal(JSON.stringify(plan(again)), JSON.stringify(plan(program)));
    }),
    { numRuns: 50, seed: 9 },
  );
});

test("what plans say of themselves", () => {
  const program = chain(6, "both");
  golden("plan-chain.txt", `${plan(program).explain()}\n`);
  golden(
    "plan-chain-budget.txt",
    `${plan(program, { budgetBytes: 6 * 1024 }).explain()}\n\n${plan(program, {
      budgetBytes: 6 * 1024,
    })
      .steps.map((s) => JSON.stringify(s))
      .join("\n")}\n`,
  );
  const step = fc.sample(trainingPrograms(7, 7), { numRuns: 1, seed: 13 })[0]!,
    whole = plan(step);
  const four = [
    whole,
    plan(step, { recompute: { thresholdBytes: 2000 } }),
    plan(step, { budgetBytes: 0.8 * whole.plannedBytes }),
    plan(step, { budgetBytes: 0.8 * whole.plannedBytes, recompute: "off" }),
  ];
  golden("plan-training.txt", `${four.map((p) => p.explain()).join("\n\n")}\n`);
  golden(
    "plan-chain-swap.txt",
    `${plan(program, { budgetBytes: 6 * 1024, recompute: "off" }).explain()}\n\n${plan(program, {
      budgetBytes: 6 * 1024,
      recompute: "off",
    })
      .steps.map((s) => JSON.stringify(s))
      .join("\n")}\n`,
  );
});

// === Bad input ===

const good = {
  version: 1,
  storages: [
    { id: "x", bytes: 4, role: "input", pinned: false },
    { id: "y", bytes: 4, role: "activation", pinned: true },
  ],
  ops: [
    {
      name: "f",
      reads: ["x"],
      writes: ["y"],
      phase: "forward",
      layer: "l",
      flops: 1,
      recomputable: true,
    },
  ],
};

test("malformed programs are refused by name", async () => {
  const bad: [unknown, RegExp][] = [
    [null, /an object/],
    [[], /an object/],
    [{ ...good, version: 2 }, /version 1/],
    [{ ...good, storages: {} }, /`storages`/],
    [{ ...good, ops: undefined }, /`ops`/],
    [{ ...good, storages: [{ ...good.storages[0], bytes: 0 }] }, /bytes of storage x .* got 0/],
    [{ ...good, storages: [{ ...good.storages[0], bytes: 2 ** 60 }] }, /bytes of storage x/],
    [{ ...good, storages: [{ ...good.storages[0], bytes: 1.5 }] }, /bytes of storage x/],
    [{ ...good, storages: [good.storages[0], good.storages[0]] }, /unique/],
    [{ ...good, storages: [{ ...good.storages[0], role: "weight" }] }, /role of storage x/],
    [{ ...good, storages: [{ ...good.storages[0], lifespan: "always" }] }, /lifespan of storage x/],
    [{ ...good, storages: [{ ...good.storages[0], pinned: 1 }] }, /pinned of storage x/],
    [
      { ...good, ops: [{ ...good.ops[0], reads: ["q"] }] },
      /op 0 f to name existing storages, got "q"/,
    ],
    [{ ...good, ops: [{ ...good.ops[0], writes: "y" }] }, /op 0 f to list storages/],
    [{ ...good, ops: [{ ...good.ops[0], phase: "backward" }] }, /phase of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], flops: -1 }] }, /flops of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], flops: NaN }] }, /flops of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], recomputable: "yes" }] }, /recomputable of op 0 f/],
    [{ ...good, ops: [{ ...good.ops[0], name: 3 }] }, /name of op 0/],
    [{ ...good, ops: [7] }, /an op object/],
  ];
  for (const [json, pattern] of bad)
    await rejects(() => programFromJSON(json), ArgumentError, pattern);
});

test("contradictions are refused by name", async () => {
  const with_ = (over: Record<string, unknown>): Program => programFromJSON({ ...good, ...over });
  await rejects(
    () =>
      plan(with_({ storages: [{ ...good.storages[0], role: "activation" }, good.storages[1]] })),
    ArgumentError,
    /activation x, which nothing writes/,
  );
  await rejects(
    () =>
      plan(
        with_({
          storages: [...good.storages, { id: "z", bytes: 4, role: "activation", pinned: false }],
          ops: [
            { ...good.ops[0], reads: ["x", "z"] },
            { ...good.ops[0], name: "g", reads: ["y"], writes: ["z"] },
          ],
        }),
      ),
    ArgumentError,
    /a cycle: it reads activation z, whose first writer is op 1 g/,
  );
  await rejects(
    () =>
      plan(with_({ storages: [good.storages[0], { ...good.storages[1], lifespan: "forward" }] })),
    ArgumentError,
    /a lifespan of y/,
  );
  await rejects(
    () => plan(with_({}), { maxStorageBytes: 2 }),
    OutOfMemoryError,
    /at most 2 bytes .* got x with 4/,
  );
  await rejects(() => plan(with_({}), { budgetBytes: 0 }), ArgumentError, /budgetBytes/);
  await rejects(
    () => plan(with_({}), { recompute: "on" as "auto" }),
    ArgumentError,
    /recompute to be "off" or "auto", got "on"/,
  );
  await rejects(() => plan(with_({}), { budget: 3 } as PlanOptions), ArgumentError, /"budget"/);
  await rejects(
    () => plan(with_({}), { budgetBytes: 7 }),
    BudgetError,
    /^f: expected the program to fit into a budget of 7 bytes, got at least 8/,
  );
});

test.run();
