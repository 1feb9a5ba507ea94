/**
 * Independent ops next to each other: orders keep to what depends on what, never need more memory,
 * and never have more waves.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { plan } from "tenure/scheduler";
import type { Program } from "../../../src/graph/program.ts";
import { dependencies } from "../../../src/planner/dependencies.ts";
import { orderOps } from "../../../src/planner/passes/order.ts";
import { wavesOf } from "../../../src/planner/waves.ts";
import { overlapped, widths } from "../../../src/planner/passes/overlap.ts";
import { contextOf, livePeak, runsOf } from "../../../src/planner/schedule.ts";
import { Builder, anyPrograms, trainingPrograms } from "./programs.ts";

const test = suite("overlap");

const wavesIn = (program: Program, order: readonly number[]): number =>
  wavesOf(order.map((op) => ({ kind: "dispatch", ...program.ops[op]! })));

test("an op waits for those whose results it reads, and for those that read what it writes", () => {
  const touches = (
    reads: number[],
    writes: number[],
  ): { kind: "dispatch"; reads: number[]; writes: number[] } => ({
    kind: "dispatch",
    reads,
    writes,
  });
  assert.is(wavesOf([]), 0);
  assert.is(
    wavesOf([touches([0], [1]), touches([0], [2]), touches([], [3])]),
    1,
    "readers of one value, and others",
  );
  assert.is(wavesOf([touches([0], [1]), touches([1], [2])]), 2, "read after write");
  assert.is(wavesOf([touches([0], [1]), touches([2], [0])]), 2, "write after read");
  assert.is(wavesOf([touches([0], [1]), touches([2], [1])]), 2, "write after write");
  assert.is(wavesOf([touches([0], [1]), { kind: "release" }, touches([0], [2])]), 1);
  assert.is(
    wavesOf([touches([0], [1]), { kind: "swapOut" }, touches([0], [2])]),
    2,
    "a copy ends what can overlap",
  );
});

test("two chains run side by side", () => {
  const b = new Builder(),
    x = b.storage("input", 256, true),
    ends: number[] = [];
  for (const _ of [0, 1]) {
    const middle = b.storage("activation", 256),
      end = b.storage("output", 256, true);
    b.op([x], [middle]);
    b.op([middle], [end]);
    ends.push(end);
  }
  const program = b.build(),
    issued = [0, 1, 2, 3];
  assert.equal(overlapped(contextOf(program), issued, 64), [0, 2, 1, 3]);
  assert.is(wavesIn(program, issued), 3);
  assert.is(wavesIn(program, [0, 2, 1, 3]), 2);
  assert.equal(plan(program, { placement: "none" }).report().waves, 2);
});

test("random programs: same dependencies, no higher peak, no more waves, forward first", () => {
  let fewer = 0;
  fc.assert(
    fc.property(
      fc.oneof(anyPrograms, trainingPrograms(12)),
      fc.constantFrom(...widths),
      (program, width) => {
        const context = contextOf(program),
          order = orderOps(context),
          moved = overlapped(context, order, width),
          place = new Map(moved.map((op, at) => [op, at]));
        assert.equal(
          [...moved].sort((a, b) => a - b),
          [...order].sort((a, b) => a - b),
        );
        for (const [op, before] of dependencies(program, order))
          for (const d of before) assert.ok(place.get(d)! < place.get(op)!);
        assert.ok(livePeak(context, runsOf(moved)) <= livePeak(context, runsOf(order)));
        const waves = [order, moved].map((o) => wavesIn(program, o));
        assert.ok(waves[1]! <= waves[0]!);
        if (waves[1]! < waves[0]!) fewer++;
        const passes = (list: readonly number[]): string =>
          list.map((op) => (program.ops[op]!.phase === "forward" ? "f" : "b")).join("");
        assert.is(passes(moved), passes(order));
        const made = plan(program);
        made.verify();
        assert.ok(made.report().waves <= made.report().dispatches);
      },
    ),
    { numRuns: 500, seed: 4 },
  );
  assert.ok(fewer > 50, `${fewer} with fewer waves`);
});

test.run();
