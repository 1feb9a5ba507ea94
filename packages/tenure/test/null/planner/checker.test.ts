/**
 * The checker notices every way of spoiling a plan.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type BudgetError, type Plan, type PlanOptions, Program, plan } from "tenure/scheduler";
import { verifyPlan } from "../../../src/planner/verify.ts";
import { trainingPrograms } from "./programs.ts";

const test = suite("the checker");

// === The checker ===

type Parts = Pick<
  Plan,
  "program" | "steps" | "slots" | "entrySlot" | "budgetBytes" | "plannedBytes"
>;
const parts = ({ program, steps, slots, entrySlot, budgetBytes, plannedBytes }: Plan): Parts => ({
  program,
  steps,
  slots,
  entrySlot,
  budgetBytes,
  plannedBytes,
});
const pick = <T>(list: readonly T[], n: number): T | undefined =>
  list[n % Math.max(1, list.length)];
const runs = (p: Parts): number[] => p.steps.flatMap((s, i) => (s.op === undefined ? [] : [i]));
const replaceStep = (p: Parts, at: number, ...by: Parts["steps"][number][]): Parts => ({
  ...p,
  steps: [...p.steps.slice(0, at), ...by, ...p.steps.slice(at + 1)],
});

/** Ways to spoil a plan. Undefined when a plan offers no occasion. */
const mutations: Readonly<Record<string, (p: Parts, n: number) => Parts | undefined>> = {
  "an op is left out": (p, n) => {
    const at = pick(runs(p), n);
    return at === undefined ? undefined : replaceStep(p, at);
  },
  "an op runs twice": (p, n) => {
    const at = pick(runs(p), n);
    return at === undefined ? undefined : replaceStep(p, at, p.steps[at]!, p.steps[at]!);
  },
  "a slot is too small": (p, n) => {
    const at = pick(
      runs(p).filter((i) => p.steps[i]!.writes!.length > 0),
      n,
    );
    if (at === undefined) return undefined;
    const slot = p.steps[at]!.writes![0]!,
      s = p.program.storages[p.program.ops[p.steps[at]!.op!]!.writes[0]!]!;
    return { ...p, slots: p.slots.map((x, i) => (i === slot ? { ...x, bytes: s.bytes - 1 } : x)) };
  },
  "an op writes over what it reads": (p, n) => {
    const at = pick(
      runs(p).filter((i) => {
        const { reads, writes } = p.program.ops[p.steps[i]!.op!]!;
        return reads.length > 0 && writes.length > 0 && !reads.includes(writes[0]!);
      }),
      n,
    );
    return at === undefined
      ? undefined
      : replaceStep({ ...p, slots: p.slots.map((s) => ({ ...s, bytes: 1e9 })) }, at, {
          ...p.steps[at]!,
          writes: [p.steps[at]!.reads![0]!],
        });
  },
  "a value is released too early": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) =>
        s.kind === "release" && i > 0 && p.steps[i - 1]!.reads?.includes(s.slot!) === true
          ? [i]
          : [],
      ),
      n,
    );
    return at === undefined
      ? undefined
      : {
          ...p,
          steps: [
            ...p.steps.slice(0, at - 1),
            p.steps[at]!,
            p.steps[at - 1]!,
            ...p.steps.slice(at + 1),
          ],
        };
  },
  "a pinned value is given away": (p, n) => {
    const at = pick(
      p.slots.flatMap((s, i) => (s.exit !== -1 ? [i] : [])),
      n,
    );
    return at === undefined
      ? undefined
      : { ...p, slots: p.slots.map((s, i) => (i === at ? { ...s, exit: -1 } : s)) };
  },
  "a read looks in another slot": (p, n) => {
    const at = pick(
      runs(p).filter((i) => p.steps[i]!.reads!.length > 0),
      n,
    );
    return at === undefined || p.slots.length < 2
      ? undefined
      : replaceStep(p, at, {
          ...p.steps[at]!,
          reads: p.steps[at]!.reads!.map((r, k) => (k === 0 ? (r + 1) % p.slots.length : r)),
        });
  },
  "the budget is smaller": (p) =>
    p.plannedBytes === 0 ? undefined : { ...p, budgetBytes: p.plannedBytes - 1 },
  "a slot is opened late": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "open" ? [i] : [])),
      n,
    );
    return at === undefined
      ? undefined
      : { ...p, steps: [...p.steps.slice(0, at), ...p.steps.slice(at + 1), p.steps[at]!] };
  },
  "a slot is closed early": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) =>
        s.kind === "close" && p.steps[i - 1]?.kind === "release" && p.steps[i - 1]!.slot === s.slot
          ? [i]
          : [],
      ),
      n,
    );
    return at === undefined
      ? undefined
      : {
          ...p,
          steps: [
            ...p.steps.slice(0, at - 1),
            p.steps[at]!,
            p.steps[at - 1]!,
            ...p.steps.slice(at + 1),
          ],
        };
  },
  "a slot is opened twice": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "open" ? [i] : [])),
      n,
    );
    return at === undefined ? undefined : replaceStep(p, at, p.steps[at]!, p.steps[at]!);
  },
  "nobody waits for the host": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "wait" ? [i] : [])),
      n,
    );
    return at === undefined ? undefined : replaceStep(p, at);
  },
  "a copy to the host is left out": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "swapOut" ? [i] : [])),
      n,
    );
    return at === undefined ? undefined : replaceStep(p, at);
  },
  "a recomputed op may not run again": (p, n) => {
    const at = pick(
      p.steps.flatMap((s, i) => (s.kind === "recompute" ? [i] : [])),
      n,
    );
    return at === undefined
      ? undefined
      : {
          ...p,
          program: new Program(
            p.program.storages,
            p.program.ops.map((o, i) =>
              i === p.steps[at]!.op ? { ...o, recomputable: false } : o,
            ),
          ),
        };
  },
};

/** The least budget that works: there, buffers come and go. */
function leastFor(program: Program, options: PlanOptions): number {
  try {
    plan(program, { ...options, budgetBytes: 1 });
    return 1;
  } catch (error) {
    return (error as BudgetError).leastBytes;
  }
}

for (const [name, spoil] of Object.entries(mutations)) {
  test(`the checker notices when ${name}`, () => {
    let seen = 0;
    fc.assert(
      fc.property(
        trainingPrograms(8, 4),
        fc.nat(),
        fc.constantFrom<PlanOptions>({ recompute: "off" }, { swap: "off" }),
        (program, n, options) => {
          let made: Plan;
          const budgetBytes = plan(program).report().plannedBytes * 0.8;
          try {
            made = plan(program, {
              ...options,
              budgetBytes: /opened|closed/.test(name) ? leastFor(program, options) : budgetBytes,
            });
          } catch {
            made = plan(program);
          }
          const spoilt = spoil(parts(made), n);
          if (spoilt === undefined) return;
          seen++;
          assert.throws(() => {
            verifyPlan(spoilt);
          }, /^internal: /);
        },
      ),
      { numRuns: 40, seed: 10 },
    );
    assert.ok(seen > 5, `only ${seen} occasions`);
  });
}

test.run();
