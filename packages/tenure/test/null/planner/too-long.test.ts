/**
 * Planning that takes too long: every pass asks the clock while it works and stops at once; the
 * plan made in haste fits into the budget and computes the same. The clock counts how often it is
 * asked, so nothing here depends on the machine.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { BudgetError, type PlanOptions } from "tenure/scheduler";
import type { Program } from "../../../src/graph/program.ts";
import { Deadline, PlanningTooLong } from "../../../src/planner/deadline.ts";
import { fuse } from "../../../src/planner/passes/fuse.ts";
import { leastPossible } from "../../../src/planner/least-possible.ts";
import {
  budgetPlanner,
  planFused,
  planInHaste,
  planProgram,
} from "../../../src/planner/pipeline.ts";
import { sharingPlanners } from "../../../src/planner/place/slot-planners.ts";
import { Effort } from "../../../src/planner/place/effort.ts";
import { itemsOf } from "../../../src/planner/place/items.ts";
import { contextOf, runsOf } from "../../../src/planner/schedule.ts";
import { neededOps } from "../../../src/planner/dependencies.ts";
import { chain } from "./programs.ts";
import { shaped, shapes } from "./shapes.ts";

const test = suite("planning too long");

/** A clock that is asked `most` times before it is late. */
class Asked {
  times = 0;
  readonly deadline: Deadline;
  constructor(most = Infinity) {
    this.deadline = new Deadline(() => (++this.times > most + 1 ? 1 : 0), 0.5);
  }
}

/** How often the clock was asked up to the end of each pass. */
function asksOf(program: Program, options: PlanOptions): Map<string, number> {
  const asked = new Asked();
  const { deadline } = asked;
  const asks = new Map<string, number>();
  planProgram(program, options, {
    deadline,
    afterPass: (pass) => asks.set(pass, asked.times - 1),
  });
  return asks;
}

const isTooLong = (error: unknown): boolean => error instanceof PlanningTooLong;

for (const [what, program, options, passes] of [
  [
    "a training step of 150 ops",
    shaped("random DAG", 150, "training"),
    { budgetBytes: 55 * 256 },
    { recompute: 1000, swap: 1500, choose: 100 },
  ],
  ["a chain of 150 unlike ops", shaped("chain", 300, "training"), { budgetBytes: 60 * 256 }, {}],
  ["a chain of 200 ops", chain(200), { budgetBytes: 20 * 1024 }, { recompute: 190, choose: 200 }],
  ["a program that fits", shaped("random DAG", 300), {}, { overlap: 300 }],
  ["a few ops", chain(4), { budgetBytes: 5 * 1024 }, { recompute: 100 }],
] satisfies [string, Program, PlanOptions, Record<string, number>][])
  test(`${what}: every pass that takes long stops in its middle`, () => {
    const asks = asksOf(program, options);
    let before = 0;
    for (const [pass, until] of asks) {
      const own = until - before;
      const least = Object.entries(passes).find(([name]) => name === pass)?.[1] ?? 0;
      assert.ok(own >= least, `${pass} asks ${own} times`);
      if (own > 0) {
        const most = before + (own >> 1);
        const late = new Asked(most);
        const { deadline } = late;
        assert.throws(() => planProgram(program, options, { deadline }), isTooLong, pass);
        assert.is(late.times, most + 2, "it stops when it is told");
      }
      before = until;
    }
    planInHaste([program], options, {}).verify();
  });

test("fusing stops in its middle", () => {
  for (const kind of ["inference", "updates"] as const) {
    const program = shaped("ladder", 200, kind);
    const asked = new Asked();
    fuse(program, { deadline: asked.deadline });
    assert.ok(asked.times > 200, `${asked.times} asks`);
    const late = new Asked(asked.times >> 1);
    assert.throws(() => fuse(program, { deadline: late.deadline }), isTooLong);
    assert.is(late.times, (asked.times >> 1) + 2, "it stops when it is told");
  }
});

test("every planner that shares slots asks for every item", () => {
  const program = shaped("random DAG", 300);
  const context = contextOf(program);
  const items = itemsOf(context, runsOf(neededOps(program)), () => false);
  for (const planner of sharingPlanners) {
    const asked = new Asked();
    planner(items, new Effort(items.length, asked.deadline));
    assert.ok(asked.times > items.length, `${asked.times} asks`);
    const late = new Asked(items.length >> 1);
    assert.throws(() => planner(items, new Effort(items.length, late.deadline)), isTooLong);
  }
});

test("a budget that is hopeless for any schedule is known, and no other", () => {
  let tight = 0;
  for (const name of Object.keys(shapes) as (keyof typeof shapes)[])
    for (const kind of ["inference", "training", "updates"] as const) {
      const program = shaped(name, 30, kind);
      const least = leastPossible(program);
      assert.ok(least > 0);
      assert.ok(!budgetPlanner.mayFit(program, { budgetBytes: least - 1 }));
      assert.ok(budgetPlanner.mayFit(program, { budgetBytes: least }));
      assert.ok(budgetPlanner.mayFit(program, {}));
      for (const options of [{}, { swap: "off" }] as const)
        try {
          planFused(fuse(program).program, program, { ...options, budgetBytes: 1 });
          assert.unreachable();
        } catch (error) {
          if (!(error instanceof BudgetError)) throw error;
          assert.ok(error.leastBytes >= least, `${name}, ${kind}: ${error.leastBytes}, ${least}`);
          tight += Number(error.leastBytes < 3 * least);
        }
    }
  assert.ok(tight > 0, "it is of the size of what is needed");
});

for (const options of [{}, { swap: "off" }, { recompute: "off" }, { placement: "none" }] as const)
  test(`in haste under ever smaller budgets, ${JSON.stringify(options)}`, () => {
    for (const name of Object.keys(shapes) as (keyof typeof shapes)[])
      for (const kind of ["training", "updates"] as const) {
        const program = shaped(name, 80, kind);
        const most = planInHaste([program], options, {}).plannedBytes;
        for (let budgetBytes = most; budgetBytes > 0; budgetBytes -= Math.floor(most / 8))
          try {
            const made = planInHaste([program], { ...options, budgetBytes }, {});
            made.verify();
            assert.ok(made.plannedBytes <= budgetBytes);
          } catch (error) {
            if (!(error instanceof BudgetError)) throw error;
            const { leastBytes } = error;
            assert.ok(leastBytes > budgetBytes);
            // With what it asks for it works.
            planInHaste([program], { ...options, budgetBytes: leastBytes }, {}).verify();
            break;
          }
      }
  });

test.run();
