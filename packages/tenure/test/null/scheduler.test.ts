/**
 * The planner on thousands of random programs, without a GPU: bounds of memory, plans that survive an independent check, and a verifier that notices every
 * way of breaking one. The oracle here shares no code with the passes.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Program, type ProgramOp, type ProgramStorage, type Role, programFromJSON } from "../../src/graph/program.ts";
import { type PlanOptions, planProgram } from "../../src/scheduler/pipeline.ts";
import { type Plan, formatPlan, verifyPlan } from "../../src/scheduler/plan.ts";
import { sizeClass } from "../../src/device/pool.ts";

const test = suite("scheduler");

function programOf(storages: readonly ProgramStorage[], ops: readonly ProgramOp[]): Program {
  const id = (i: number): string => storages[i]!.id;
  return programFromJSON({ version: 1, storages, ops: ops.map((o) => ({ ...o, reads: o.reads.map(id), writes: o.writes.map(id) })) });
}

/** A well-formed program: nothing is read before it is written or known to be there. `resident` are the first storages. */
const programs: fc.Arbitrary<{ program: Program; resident: number }> = fc
  .record({
    resident: fc.integer({ min: 0, max: 4 }),
    bytes: fc.array(fc.integer({ min: 1, max: 40 }).map((n) => n * 128), { minLength: 1, maxLength: 30 }),
    pins: fc.array(fc.boolean(), { minLength: 34, maxLength: 34 }),
    picks: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 0, max: 3 })), { minLength: 34, maxLength: 34 }),
  })
  .map(({ resident, bytes, pins, picks }) => {
    const storages: ProgramStorage[] = [], ops: ProgramOp[] = [];
    const add = (size: number, role: Role): number => storages.push({ id: `s${storages.length}`, bytes: size, role, pinned: pins[storages.length % pins.length]! && storages.length % 3 === 0 }) - 1;
    const op = (reads: number[], writes: number[]): void => { ops.push({ name: `op${ops.length}`, reads: [...new Set(reads)], writes, phase: "forward", layer: "", flops: 1, recomputable: true }); };
    for (let i = 0; i < resident; i++) add(256 * (i + 1), i % 2 === 0 ? "param" : "input");
    bytes.forEach((size, i) => {
      const [a, b, kind] = picks[i]!, n = storages.length;
      if (n > 0 && kind === 3) op([a % n, b % n], [a % n]); // in place
      else { const made = add(size, "activation"); op(n === 0 ? [] : kind === 0 ? [] : kind === 1 ? [a % n] : [a % n, b % n], [made]); }
    });
    return { program: programOf(storages, ops), resident };
  });

/** Which storages are there at the start: read before they are written, or never mentioned but given. */
function atStart(program: Program): boolean[] {
  return program.storages.map((s, i) => {
    const first = program.ops.find((o) => o.reads.includes(i) || o.writes.includes(i));
    return first === undefined ? s.role !== "activation" : first.reads.includes(i);
  });
}

/** Runs the program on numbers: each op writes a mix of what it reads. Returns the final value of every storage. */
function interpret(program: Program): number[] {
  const value = program.storages.map((_, i) => (i + 1) * 1000003 % 65521);
  for (const [i, o] of program.ops.entries()) {
    const mix = o.reads.reduce((n, r) => (n * 31 + value[r]!) % 65521, i + 7);
    for (const w of o.writes) value[w] = mix;
  }
  return value;
}

/** Runs the plan on slots: reads must find in the slot what the program would have read. @returns final value of each pinned storage */
function execute(plan: Plan): Map<number, number> {
  const slots = plan.slots.map(() => NaN), start = atStart(plan.program);
  const initial = (i: number): number => (i + 1) * 1000003 % 65521;
  plan.slots.forEach((slot, k) => { if (slot.entry !== -1) slots[k] = initial(slot.entry); });
  // Uploads come next: they may take the buffer of a storage that nobody reads any more.
  plan.program.storages.forEach((_, i) => { const slot = plan.slotOf[i]!; if (start[i]! && slot !== -1 && plan.slots[slot]!.entry !== i) slots[slot] = initial(i); });
  for (const i of plan.order) {
    const o = plan.program.ops[i]!;
    const mix = o.reads.reduce((n, r) => (n * 31 + slots[plan.slotOf[r]!]!) % 65521, i + 7);
    for (const w of o.writes) slots[plan.slotOf[w]!] = mix;
  }
  return new Map(plan.program.storages.flatMap((s, i) => (s.pinned ? [[i, slots[plan.slotOf[i]!]!] as const] : [])));
}

const settings: readonly ((resident: number) => PlanOptions)[] = [() => ({}), () => ({ granule: sizeClass }), (resident) => ({ atEntry: (s) => s < resident && s % 2 === 0, granule: sizeClass })];

test("plans compute what the program computes, within the bounds, and pass the verifier", () => {
  fc.assert(fc.property(programs, fc.nat(2), ({ program, resident }, setting) => {
    const options = settings[setting]!(resident), plan = planProgram(program, options);
    verifyPlan(plan);
    const want = interpret(program), got = execute(plan);
    for (const [storage, value] of got) assert.is(value, want[storage], `s${storage}`);
    assert.ok(plan.lowerBoundBytes <= plan.plannedBytes, `planned ${plan.plannedBytes} below the lower bound ${plan.lowerBoundBytes}`);
    assert.ok(plan.plannedBytes <= plan.naiveBytes, `planned ${plan.plannedBytes} above naive ${plan.naiveBytes}`);
  }), { numRuns: 3000, seed: 1 });
});

test("two storages in one slot are never needed at the same time", () => {
  fc.assert(fc.property(programs, ({ program }) => {
    const plan = planProgram(program), start = atStart(program), last = plan.order.length;
    const span = program.storages.map((s, i) => {
      const uses = plan.order.flatMap((o, k) => (program.ops[o]!.reads.includes(i) || program.ops[o]!.writes.includes(i) ? [k] : []));
      return { from: start[i]! ? -1 : uses[0] ?? -1, to: s.pinned ? last + 1 : uses.at(-1) ?? -1, used: uses.length > 0 || s.pinned };
    });
    for (const [k, slot] of plan.slots.entries()) {
      for (const a of slot.tenants) for (const b of slot.tenants) {
        if (a >= b || !span[a]!.used || !span[b]!.used) continue;
        assert.ok(span[a]!.to < span[b]!.from || span[b]!.to < span[a]!.from, `s${a} and s${b} overlap in slot ${k}`);
      }
      for (const t of slot.tenants) assert.ok(program.storages[t]!.bytes <= slot.bytes, `s${t} is larger than slot ${k}`);
    }
  }), { numRuns: 1000, seed: 2 });
});

test("ops nobody can observe are left out, and no others", () => {
  fc.assert(fc.property(programs, ({ program }) => {
    const plan = planProgram(program), wanted = new Set(program.storages.flatMap((s, i) => (s.pinned ? [i] : [])));
    const expected: number[] = [];
    for (let i = program.ops.length - 1; i >= 0; i--) {
      const o = program.ops[i]!;
      if (!o.writes.some((w) => wanted.has(w))) continue;
      expected.unshift(i);
      for (const w of o.writes) wanted.delete(w);
      for (const r of o.reads) wanted.add(r);
    }
    assert.equal([...plan.order], expected);
  }), { numRuns: 1000, seed: 3 });
  const dead = planProgram(programOf([{ id: "x", bytes: 4, role: "input", pinned: false }, { id: "y", bytes: 4, role: "activation", pinned: false }], [op("f", [0], [1])]));
  assert.equal([...dead.order], []);
});

function op(name: string, reads: number[], writes: number[]): ProgramOp { return { name, reads, writes, phase: "forward", layer: "", flops: 1, recomputable: true }; }

test("a chain of equal values needs two slots beside its input", () => {
  const storages: ProgramStorage[] = Array.from({ length: 12 }, (_, i) => ({ id: `s${i}`, bytes: 1024, role: i === 0 ? "input" : "activation", pinned: i === 11 }));
  const program = programOf(storages, Array.from({ length: 11 }, (_, i) => op(`f${i}`, [i], [i + 1])));
  const plan = planProgram(program);
  verifyPlan(plan);
  assert.is(plan.naiveBytes, 12 * 1024);
  assert.is(plan.lowerBoundBytes, 2 * 1024);
  assert.ok(plan.plannedBytes <= 3 * 1024, formatPlan(plan));
  assert.match(formatPlan(plan), /^11 of 11 ops run; naive 0\.01 MB -> planned 0\.00 MB \(lower bound 0\.00 MB, efficiency \d+ %\) in [23] slots$/);
});

test("a long program is planned in a blink", () => {
  const n = 4000, storages: ProgramStorage[] = Array.from({ length: n + 1 }, (_, i) => ({ id: `s${i}`, bytes: 256 * (1 + (i * 7) % 13), role: i === 0 ? "input" : "activation", pinned: i === n }));
  const started = performance.now(), plan = planProgram(programOf(storages, Array.from({ length: n }, (_, i) => op(`f${i}`, i > 2 ? [i, i - 2] : [i], [i + 1]))));
  verifyPlan(plan);
  assert.ok(performance.now() - started < 5000, `${performance.now() - started} ms`);
});

// === The verifier ===

/** Ways to spoil a plan. Undefined when a plan offers no occasion. */
const mutations: Readonly<Record<string, (plan: Plan, n: number) => Plan | undefined>> = {
  "an op is left out": (plan, n) => (plan.order.length === 0 ? undefined : { ...plan, order: plan.order.filter((_, i) => i !== n % plan.order.length) }),
  "two ops change places": (plan, n) => { if (plan.order.length < 2) return undefined; const order = [...plan.order], i = n % (order.length - 1); [order[i], order[i + 1]] = [order[i + 1]!, order[i]!]; return { ...plan, order }; },
  "an op runs twice": (plan, n) => (plan.order.length === 0 ? undefined : { ...plan, order: plan.order.flatMap((o, i) => (i === n % plan.order.length ? [o, o] : [o])) }),
  "a storage loses its slot": (plan, n) => {
    const needed = plan.order.flatMap((o) => plan.program.ops[o]!.writes);
    if (needed.length === 0) return undefined;
    const victim = needed[n % needed.length]!;
    return { ...plan, slotOf: plan.slotOf.map((s, i) => (i === victim ? -1 : s)) };
  },
  "a slot is too small": (plan, n) => {
    const written = plan.order.flatMap((o) => plan.program.ops[o]!.writes);
    if (written.length === 0) return undefined;
    const w = written[n % written.length]!, slot = plan.slotOf[w]!;
    return { ...plan, slots: plan.slots.map((s, i) => (i === slot ? { ...s, bytes: plan.program.storages[w]!.bytes - 1 } : s)) };
  },
  "an op writes over what it reads": (plan, n) => {
    const candidates = plan.order.flatMap((o) => { const { reads, writes } = plan.program.ops[o]!, r = reads.find((x) => !writes.includes(x)); return r === undefined || writes.length === 0 || reads.includes(writes[0]!) ? [] : [[r, writes[0]!] as const]; });
    if (candidates.length === 0) return undefined;
    const [r, w] = candidates[n % candidates.length]!;
    return { ...plan, slotOf: plan.slotOf.map((s, i) => (i === w ? plan.slotOf[r]! : s)), slots: plan.slots.map((s) => ({ ...s, bytes: 1e9 })) };
  },
  "a pinned value is given away": (plan, n) => {
    const pinned = plan.program.storages.flatMap((s, i) => (s.pinned ? [i] : []));
    if (pinned.length === 0) return undefined;
    const slot = plan.slotOf[pinned[n % pinned.length]!]!;
    return { ...plan, slots: plan.slots.map((s, i) => (i === slot ? { ...s, exit: -1 } : s)) };
  },
};

for (const [name, spoil] of Object.entries(mutations)) {
  test(`the verifier notices when ${name}`, () => {
    let seen = 0;
    fc.assert(fc.property(programs, fc.nat(), ({ program }, n) => {
      const spoilt = spoil(planProgram(program), n);
      if (spoilt === undefined) return;
      seen++;
      assert.throws(() => { verifyPlan(spoilt); }, /^internal: /);
    }), { numRuns: 300, seed: 4 });
    assert.ok(seen > 50, `only ${seen} occasions`);
  });
}

test("the verifier notices when neighbours in time share a slot", () => {
  let seen = 0;
  fc.assert(fc.property(programs, fc.nat(), fc.nat(), ({ program }, a, b) => {
    const plan = planProgram(program), used = program.storages.flatMap((_, i) => (plan.slotOf[i] === -1 ? [] : [i]));
    if (used.length < 2) return;
    const x = used[a % used.length]!, y = used[b % used.length]!;
    if (plan.slotOf[x] === plan.slotOf[y]) return;
    const shared: Plan = { ...plan, slotOf: plan.slotOf.map((s, i) => (i === x ? plan.slotOf[y]! : s)), slots: plan.slots.map((s) => ({ ...s, bytes: 1e9 })) };
    let accepted = true;
    try { verifyPlan(shared); } catch { accepted = false; }
    if (!accepted) { seen++; return; }
    // Accepted: then it must really compute the same.
    const want = interpret(program), got = execute(shared);
    for (const [storage, value] of got) assert.is(value, want[storage]);
  }), { numRuns: 1500, seed: 5 });
  assert.ok(seen > 300, `only ${seen} refused`);
});

test.run();
