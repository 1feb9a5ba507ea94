/**
 * Planning grows like the program: fusing, placing and putting side by side are measured in steps
 * and looks, not in time, on programs of n, 2n and 4n ops of four shapes.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { neededOps } from "../../../src/planner/dependencies.ts";
import { reordered, widths } from "../../../src/planner/passes/overlap.ts";
import { fuse } from "../../../src/planner/passes/fuse.ts";
import { checkPlacement } from "../../../src/planner/place/check-placement.ts";
import { Effort } from "../../../src/planner/place/effort.ts";
import { itemsOf } from "../../../src/planner/place/items.ts";
import { slotPlanners } from "../../../src/planner/place/slot-planners.ts";
import { contextOf, runsOf } from "../../../src/planner/schedule.ts";
import { shaped, shapes } from "./shapes.ts";

const test = suite("work");

const sizes = [250, 500, 1000] as const;
const names = Object.keys(shapes) as (keyof typeof shapes)[];

for (const name of names)
  test(`${name}: fusing takes some steps for each op, and the logarithm of the ops`, () => {
    for (const kind of ["inference", "training"] as const) {
      const perOp = sizes.map((n) => fuse(shaped(name, n, kind)).work / (n * Math.log2(n)));
      // What is tried and taken back depends on the program; it does not grow with its length.
      for (const each of perOp)
        assert.ok(each > 0.1 && each <= 400, `${kind}: ${perOp.join(", ")}`);
    }
  });

for (const name of names)
  test(`${name}: placing takes so many looks at most, and every item has a place`, () => {
    for (const n of sizes) {
      const context = contextOf(shaped(name, n, "training"));
      const items = itemsOf(context, runsOf(neededOps(context.program)), () => false);
      const looksOf = (planner: keyof typeof slotPlanners): number => {
        const effort = new Effort(items.length);
        checkPlacement(items, slotPlanners[planner](items, effort));
        return effort.looks;
      };
      for (const planner of ["inOrder", "alike"] as const) {
        const looks = looksOf(planner);
        assert.ok(looks <= 4 * n * Math.log2(n), `${planner}: ${looks} looks for ${n} ops`);
      }
      // These end early where there are too many slots to look at.
      for (const planner of ["bySize", "byBreadth", "shared"] as const) {
        const looks = looksOf(planner);
        const most = 510_000 + 200 * items.length;
        assert.ok(looks <= most, `${planner}: ${looks} looks for ${n} ops`);
      }
    }
  });

for (const name of names)
  test(`${name}: putting ops side by side looks at each op a few times`, () => {
    for (const kind of ["inference", "training", "updates"] as const)
      for (const n of [...sizes, 4000]) {
        const context = contextOf(shaped(name, n, kind));
        const { order, steps } = reordered(context, neededOps(context.program), widths[0] ?? 0);
        assert.is(new Set(order).size, order.length);
        assert.ok(steps >= order.length, `${steps} steps`);
        assert.ok(steps <= 12 * order.length, `${kind}: ${steps} steps for ${order.length} ops`);
      }
  });

test.run();
