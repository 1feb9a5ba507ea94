/**
 * Which updates of a plan run as one dispatch: every step is dispatched once, none passes a step
 * that touches its memory, and none of one dispatch touches what another writes.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { contiguousLayout } from "../../src/base/layout.ts";
import type { ProgramOp } from "../../src/graph/program.ts";
import type { ElementwiseSpec } from "../../src/kernels/elementwise.ts";
import type { Step } from "../../src/planner/steps.ts";
import type { RecordedOp } from "../../src/runtime/recorded-op.ts";
import { type Launch, batchesOf } from "../../src/runtime/update-batches.ts";

const test = suite("side by side");

/** A step, and the kernel of its update; null for other ops. */
interface Made {
  readonly step: Step;
  readonly key: string | null;
}

const slots = (most: number): fc.Arbitrary<number[]> =>
  fc.uniqueArray(fc.nat(9), { minLength: 1, maxLength: most });
const dispatch = fc
  .record({
    key: fc.constantFrom("adam", "sgd", "adam4", null),
    reads: slots(3),
    writes: slots(2),
  })
  .map(({ key, reads, writes }): Made => ({
    key,
    step: { kind: "dispatch", op: 0, reads, writes },
  }));
const other = fc
  .record({ kind: fc.constantFrom("release", "release", "swapOut", "open"), slot: fc.nat(9) })
  .map((step): Made => ({ key: null, step: step }));
const plans = fc.array(fc.oneof({ weight: 6, arbitrary: dispatch }, other), { maxLength: 40 });

/** A launch of which only what is asked for is there. */
function launchOf({ key, step }: Made): Launch | null {
  if (step.kind !== "dispatch") return null;
  const bindings = new Set([...(step.reads ?? []), ...(step.writes ?? [])]);
  const view = { layout: contiguousLayout([4]), dtype: "float32" as const };
  const elementwise = { shape: [4], operands: [{ view, binding: 0 }], outputs: [] };
  return {
    step,
    op: {} as ProgramOp,
    recorded: { phase: key === null ? "forward" : "apply" } as RecordedOp,
    lowered: {
      kernel: {
        key: key ?? "matmul",
        wgsl: "",
        bindings: [...bindings].map(() => "read_write" as const),
        params: [],
        workgroups: [1, 1, 1],
      },
      operands: [],
      elementwise: elementwise as unknown as ElementwiseSpec,
    },
  };
}

const conflict = (a: Step, b: Step): boolean =>
  a.writes?.some((s) => b.writes?.includes(s) === true || b.reads?.includes(s) === true) === true ||
  a.reads?.some((s) => b.writes?.includes(s) === true) === true;

test("nothing passes what touches its memory", () => {
  let shared = 0;
  fc.assert(
    fc.property(plans, fc.constantFrom(4, 8, 12), (made, maxBindings) => {
      const steps = made.map(({ step }) => step);
      const launches = made.map(launchOf);
      const batches = batchesOf(steps, launches, maxBindings);
      assert.equal(
        batches.flat().sort((a, b) => a - b),
        steps.flatMap(({ kind }, t) => (kind === "dispatch" ? [t] : [])),
      );
      const ends = batches.map((batch) => batch.at(-1)!);
      assert.equal(
        ends,
        [...ends].sort((a, b) => a - b),
      );
      for (const batch of batches) {
        if (batch.length === 1) continue;
        shared++;
        const bindings = batch.flatMap((t) => launches[t]!.lowered.kernel.bindings);
        assert.ok(bindings.length <= maxBindings);
        assert.is(new Set(batch.map((t) => made[t]!.key)).size, 1);
        assert.is.not(made[batch[0]!]!.key, null);
        for (const t of batch)
          for (let u = t + 1; u <= batch.at(-1)!; u++) {
            const step = steps[u]!;
            assert.not(conflict(steps[t]!, step), `${t} runs after ${u}`);
            const mine = [...steps[t]!.reads!, ...steps[t]!.writes!];
            if (step.kind === "release") assert.not(mine.includes(step.slot!));
            else assert.is(step.kind, "dispatch");
          }
      }
    }),
  );
  assert.ok(shared > 0);
});

test("updates of one kind are dispatched as one, as many as a kernel binds", () => {
  const update = (p: number, g: number): Made => ({
    key: "sgd",
    step: { kind: "dispatch", op: 0, reads: [p, g], writes: [p] },
  });
  const made = [update(0, 1), update(2, 3), update(4, 5)];
  const steps = made.map(({ step }) => step);
  const launches = made.map(launchOf);
  assert.equal(batchesOf(steps, launches, 8), [[0, 1, 2]]);
  assert.equal(batchesOf(steps, launches, 4), [[0, 1], [2]]);
  assert.equal(batchesOf(steps, launches, 0), [[0], [1], [2]]);
});

test.run();
