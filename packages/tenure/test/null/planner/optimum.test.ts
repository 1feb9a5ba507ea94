/**
 * The planner against known optima: chains for every length and memory, brute force on small
 * programs, placements against their bounds.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { plan } from "tenure/scheduler";
import { arenaPlanners } from "../../../src/planner/place/arena.ts";
import { checkPlacement } from "../../../src/planner/place/check-placement.ts";
import type { Item } from "../../../src/planner/place/items.ts";
import { placeSlots, slotPlanners } from "../../../src/planner/place/slot-planners.ts";
import { searchSlots } from "../../../src/planner/place/search.ts";
import { leastRecompute, leastSwaps, revolve } from "./brute.ts";
import { Builder, chain } from "./programs.ts";
import type { Program } from "../../../src/graph/program.ts";

const test = suite("optima");

const fits = (program: Program, budgetBytes: number, what: "recompute" | "swap"): number => {
  try {
    const made = plan(
      program,
      what === "recompute"
        ? { budgetBytes, swap: "off" }
        : { budgetBytes, recompute: "off", swap: "auto" },
    );
    made.verify();
    const r = made.report();
    return what === "recompute" ? r.recomputeFlops : r.swapIns + r.swapOuts;
  } catch {
    return Infinity;
  }
};

test("chains: as few recomputations as Griewank's formula, for every length and memory", () => {
  for (let n = 1; n <= 24; n++) {
    const program = chain(n);
    // One place for the resident input, which is the first snapshot; three for the gradients and
    // the value at hand.
    for (let units = 4; units <= n + 4; units++)
      assert.is(
        fits(program, units * 1024, "recompute"),
        revolve(n, units - 3),
        `length ${n}, ${units} units`,
      );
  }
  for (const [n, units] of [
    [40, 6],
    [40, 12],
    [64, 5],
    [64, 9],
    [64, 30],
  ] as const)
    assert.is(
      fits(chain(n), units * 1024, "recompute"),
      revolve(n, units - 3),
      `length ${n}, ${units} units`,
    );
});

test("the formula itself: one snapshot is quadratic, enough are free", () => {
  assert.is(revolve(10, 1), 36);
  assert.is(revolve(10, 10), 0);
  assert.is(revolve(10, 9), 0);
});

test("chains whose backward ops read what was written, or both: as brute force", () => {
  for (const reads of ["input", "output", "both"] as const)
    for (let n = 2; n <= 5; n++)
      for (let units = 3; units <= n + 4; units++) {
        assert.is(
          fits(chain(n, reads, 1), units, "recompute"),
          leastRecompute(chain(n, reads, 1), units),
          `${reads}, length ${n}, ${units} units`,
        );
      }
});

test("chains: as few transfers as brute force", () => {
  for (const reads of ["input", "output", "both"] as const)
    for (let n = 2; n <= 4; n++)
      for (let units = 3; units <= n + 4; units++) {
        assert.is(
          fits(chain(n, reads, 1), units, "swap"),
          leastSwaps(chain(n, reads, 1), units),
          `${reads}, length ${n}, ${units} units`,
        );
      }
});

test("long chains: every value beyond the memory leaves once and comes back once", () => {
  for (let n = 3; n <= 24; n++)
    for (let units = 4; units <= n + 3; units++) {
      assert.is(
        fits(chain(n), units * 1024, "swap"),
        2 * Math.max(0, n + 1 - (units - 1)),
        `length ${n}, ${units} units`,
      );
    }
});

/** Random programs of at most 8 ops over equal or unequal values, each written once. */
const small: fc.Arbitrary<{ program: Program; equal: boolean }> = fc
  .record({
    equal: fc.boolean(),
    forward: fc.array(
      fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 9 })),
      { minLength: 1, maxLength: 4 },
    ),
    backward: fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 4 }),
  })
  .map(({ equal, forward, backward }) => {
    const b = new Builder(),
      values = [b.storage("input", equal ? 4 : 8, true)];
    for (const [x, y, size, cost] of forward) {
      const out = b.storage("activation", equal ? 4 : 4 * size);
      b.op(
        y % 2 === 0
          ? [values[x % values.length]!]
          : [values[x % values.length]!, values[y % values.length]!],
        [out],
        { flops: cost, recomputable: cost !== 9 },
      );
      values.push(out);
    }
    let g = -1;
    backward.forEach(([x, y], k) => {
      const next = b.storage(
        k === backward.length - 1 ? "output" : "grad",
        4,
        k === backward.length - 1,
      );
      b.op([values[x % values.length]!, g === -1 ? values[y % values.length]! : g], [next], {
        phase: "calcDerivative",
        flops: 1,
      });
      g = next;
    });
    return { program: b.build(), equal };
  });

test("random programs of up to 8 ops agree with brute force", () => {
  let tight = 0;
  fc.assert(
    fc.property(small, ({ program, equal }) => {
      const peak = plan(program).report().lowerBoundBytes;
      for (let budget = 4; budget <= peak + 4; budget += 4) {
        const least = leastRecompute(program, budget),
          got = fits(program, budget, "recompute");
        if (least > 0 && least < Infinity) tight++;
        // Slots of unequal sizes may need more than live bytes: then more is recomputed, or the
        // plan refused. Never less.
        if (equal) assert.is(got, least, `budget ${budget}`);
        else assert.ok(got >= least - 1e-9, `budget ${budget}: ${got} < ${least}`);
        if (got > least) assert.not(equal);
      }
    }),
    { numRuns: 150, seed: 1 },
  );
  assert.ok(tight > 30, `only ${tight} budgets needed recomputation`);
});

test("up to 8 random ops: no fewer transfers than brute force, as few on equal values", () => {
  fc.assert(
    fc.property(small, ({ program, equal }) => {
      const peak = plan(program).report().lowerBoundBytes;
      for (let budget = 8; budget <= peak; budget += 4) {
        const least = leastSwaps(program, budget),
          got = fits(program, budget, "swap");
        assert.ok(got >= least);
        if (equal) assert.is(got, least, `budget ${budget}`);
      }
    }),
    { numRuns: 60, seed: 2 },
  );
});

// === Placement ===

const items: fc.Arbitrary<Item[]> = fc
  .array(
    fc.tuple(
      fc.nat(40),
      fc.integer({ min: 1, max: 15 }),
      fc.integer({ min: 1, max: 30 }),
      fc.nat(9),
    ),
    { minLength: 1, maxLength: 40 },
  )
  .map((list) =>
    list.map(([begin, length, size, kind], storage): Item => ({
      storage,
      begin: kind === 0 ? 0 : begin,
      end: (kind === 0 ? 0 : begin) + length,
      bytes: size * 4,
      entry: kind === 0,
      resident: kind === 0,
      exit: false,
      gradient: kind < 3,
    })),
  );

const live = (list: readonly Item[]): number =>
  Math.max(
    ...list.map((a) =>
      list.reduce((sum, b) => (b.begin <= a.begin && a.begin < b.end ? sum + b.bytes : sum), 0),
    ),
  );

test("every placement planner passes the same check, and none beats the lower bound", () => {
  fc.assert(
    fc.property(items, (list) => {
      const bound = live(list),
        naive = list.reduce((sum, i) => sum + i.bytes, 0);
      for (const planner of [
        ...Object.values(arenaPlanners),
        ...Object.values(slotPlanners),
        (l: readonly Item[]) => placeSlots(l),
      ]) {
        const placed = planner(list);
        checkPlacement(list, placed);
        assert.ok(
          placed.bytes >= bound && placed.bytes <= naive,
          `${placed.name}: ${bound} <= ${placed.bytes} <= ${naive}`,
        );
      }
      assert.ok(placeSlots(list).bytes <= slotPlanners.bySize(list).bytes);
    }),
    { numRuns: 500, seed: 3 },
  );
});

/** Least bytes of slots, by trying every partition. */
function bestSlots(list: readonly Item[]): number {
  let best = Infinity;
  const slots: Item[][] = [];
  const visit = (k: number): void => {
    if (k === list.length) {
      best = Math.min(
        best,
        slots.reduce((sum, s) => sum + Math.max(...s.map((i) => i.bytes)), 0),
      );
      return;
    }
    const item = list[k]!;
    for (const slot of slots)
      if (slot.every((o) => o.end <= item.begin || item.end <= o.begin)) {
        slot.push(item);
        visit(k + 1);
        slot.pop();
      }
    slots.push([item]);
    visit(k + 1);
    slots.pop();
  };
  visit(0);
  return best;
}

test("the exact search is exact", () => {
  fc.assert(
    fc.property(
      items.map((l) => l.slice(0, 7).map((i) => ({ ...i, entry: false }))),
      (list) => {
        assert.is(searchSlots(list, slotPlanners.own(list)).bytes, bestSlots(list));
      },
    ),
    { numRuns: 200, seed: 4 },
  );
});

test("the corrected V2 keeps gradients apart where NNTrainer's conflict test fails", () => {
  const gradient = (begin: number, end: number): Item => ({
    storage: begin * 100 + end,
    begin,
    end,
    bytes: 8,
    entry: false,
    resident: false,
    exit: false,
    gradient: true,
  });
  // Starts before and ends inside; contains; same start and another end.
  for (const pair of [
    [gradient(4, 8), gradient(2, 6)],
    [gradient(4, 6), gradient(2, 8)],
    [gradient(2, 4), gradient(2, 8)],
  ]) {
    checkPlacement(pair, arenaPlanners.v2(pair));
    assert.is(arenaPlanners.v2(pair).bytes, 16);
  }
});

test.run();
