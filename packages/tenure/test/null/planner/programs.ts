/**
 * Programs for planner tests: random ones of every shape, training steps with a forward and a
 * backward pass, chains. Tests only.
 */
import fc from "fast-check";
import {
  Program,
  type ProgramOp,
  type ProgramStorage,
  type Role,
} from "../../../src/graph/program.ts";
import { programFromJSON } from "../../../src/graph/from-json.ts";
import type { Plan } from "../../../src/planner/plan.ts";
import type { Action } from "../../../src/planner/schedule.ts";

/** A program that went through its public format, as one from outside does. */
export function programOf(storages: readonly ProgramStorage[], ops: readonly ProgramOp[]): Program {
  return programFromJSON(new Program(storages, ops).toJSON());
}

/** Collects a program. */
export class Builder {
  readonly storages: ProgramStorage[] = [];
  readonly ops: ProgramOp[] = [];
  storage(role: Role, bytes: number, pinned = false, id = `s${this.storages.length}`): number {
    return this.storages.push({ id, bytes, role, pinned }) - 1;
  }
  op(reads: readonly number[], writes: readonly number[], more: Partial<ProgramOp> = {}): number {
    return (
      this.ops.push({
        name: `op${this.ops.length}`,
        reads: [...new Set(reads)],
        writes: [...new Set(writes)],
        phase: "forward",
        layer: "",
        flops: 1,
        recomputable: true,
        ...more,
      }) - 1
    );
  }
  build(): Program {
    return programOf(this.storages, this.ops);
  }
}

/**
 * Well-formed programs without any structure: in-place writes, whole overwrites, values nobody
 * needs.
 */
export const anyPrograms: fc.Arbitrary<Program> = fc
  .record({
    resident: fc.integer({ min: 0, max: 4 }),
    ops: fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(),
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 1, max: 40 }),
        fc.boolean(),
        fc.integer({ min: 0, max: 3 }),
      ),
      { minLength: 1, maxLength: 30 },
    ),
  })
  .map(({ resident, ops }) => {
    const b = new Builder();
    for (let i = 0; i < resident; i++)
      b.storage(i % 2 === 0 ? "param" : "input", 256 * (i + 1), i % 2 === 0);
    ops.forEach(([x, y, kind, size, pinned, phase]) => {
      const n = b.storages.length,
        more = {
          phase: (["forward", "calcGradient", "calcDerivative", "apply"] as const)[phase]!,
          flops: size,
          recomputable: kind !== 8,
        };
      if (n > 0 && kind === 9)
        b.op([x % n, y % n], [x % n], more); // in place
      else if (n > 0 && kind === 7)
        b.op(x % n === y % n ? [] : [x % n], [y % n], more); // overwritten whole
      else {
        const made = b.storage("activation", size * 128, pinned && kind < 3);
        b.op(n === 0 || kind === 0 ? [] : kind < 3 ? [x % n] : [x % n, y % n], [made], more);
      }
    });
    return b.build();
  });

/** A layer as drawn: size, cost, source of its skip, whether it has one, and what it saves. */
type Drawn = readonly [
  size: number,
  cost: number,
  skip: number,
  hasSkip: boolean,
  savesInput: boolean,
];

/** A layer of the forward pass, as its backward pass needs it. */
interface Layer {
  readonly reads: readonly number[];
  readonly out: number;
  readonly param: number;
  /** -1: none. */
  readonly bias: number;
  readonly layer: string;
  readonly cost: number;
  readonly saves: "in" | "out";
}

/** Records the forward pass: the values from the input on, and the layers. */
function forward(b: Builder, layers: readonly Drawn[]): { values: number[]; made: Layer[] } {
  const values = [b.storage("input", 512)];
  const made: Layer[] = [];
  layers.forEach(([size, cost, skip, hasSkip, savesInput], k) => {
    const param = b.storage("param", 64 * (1 + (k % 3)), true, `w${k}`),
      out = b.storage("activation", size * 256, false, `a${k}`);
    const reads = [values.at(-1)!, ...(hasSkip ? [values[skip % values.length]!] : [])],
      bias = size % 3 === 0 ? b.storage("param", 64, true, `b${k}`) : -1;
    b.op([...reads, param, ...(bias === -1 ? [] : [bias])], [out], {
      name: `f${k}`,
      layer: `l${k}`,
      flops: cost * 100,
      recomputable: skip % 7 !== 0,
    });
    values.push(out);
    made.push({
      reads,
      out,
      param,
      bias,
      layer: `l${k}`,
      cost,
      saves: savesInput ? "in" : "out",
    });
  });
  return { values, made };
}

/** Records the loss and the gradients of all parameters. */
function backward(b: Builder, values: readonly number[], made: readonly Layer[]): void {
  const gradient = new Map<number, number>(),
    loss = b.storage("output", 4, true, "loss");
  b.op([values.at(-1)!], [loss], { name: "loss", layer: "loss" });
  const seed = b.storage("grad", b.storages[values.at(-1)!]!.bytes, false, "seed");
  b.op([values.at(-1)!], [seed], { name: "dloss", layer: "loss", phase: "calcDerivative" });
  gradient.set(values.at(-1)!, seed);
  for (const { reads, out, param, bias, layer, cost, saves } of [...made].reverse()) {
    const g = gradient.get(out);
    if (g === undefined) continue;
    const gw = b.storage("grad", b.storages[param]!.bytes, false);
    b.op([g, reads[0]!], [gw], {
      name: `gw_${layer}`,
      layer,
      phase: "calcGradient",
      flops: cost * 100,
    });
    if (bias !== -1)
      b.op([g], [b.storage("grad", 64, false)], {
        name: `gb_${layer}`,
        layer,
        phase: "calcGradient",
        flops: 1,
      });
    for (const r of new Set(reads)) {
      if (r === values[0]) continue;
      const known = gradient.get(r);
      if (known === undefined) {
        const gr = b.storage("grad", b.storages[r]!.bytes, false);
        b.op([g, saves === "in" ? r : out, param], [gr], {
          name: `g_${layer}`,
          layer,
          phase: "calcDerivative",
          flops: cost * 100,
        });
        gradient.set(r, gr);
      } else
        b.op([g, known, param], [known], {
          name: `add_${layer}`,
          layer,
          phase: "calcDerivative",
        });
    }
  }
}

/** Records the updates in place, the first layer's first. */
function update(b: Builder, made: readonly Layer[]): void {
  for (const { param, bias, layer } of made) {
    const gb = b.ops.find((o) => o.name === `gb_${layer}`)?.writes[0];
    if (gb !== undefined)
      b.op([bias, gb], [bias], {
        name: `apply_bias_${layer}`,
        layer,
        phase: "apply",
        recomputable: false,
      });
    const gw = b.ops.find((o) => o.name === `gw_${layer}`)?.writes[0];
    if (gw !== undefined)
      b.op([param, gw], [param], {
        name: `apply_${layer}`,
        layer,
        phase: "apply",
        recomputable: false,
      });
  }
}

/**
 * Training steps: a random forward graph with skips, its backward pass, updates in place. Nobody
 * but the forward pass reads a bias, so it is updated before its layer's values are read again.
 */
export function trainingPrograms(maxLayers: number, minLayers = 1): fc.Arbitrary<Program> {
  return fc
    .record({
      layers: fc.array(
        fc.tuple(
          fc.integer({ min: 1, max: 8 }),
          fc.integer({ min: 1, max: 20 }),
          fc.nat(),
          fc.boolean(),
          fc.boolean(),
        ),
        { minLength: minLayers, maxLength: maxLayers },
      ),
    })
    .map(({ layers }) => {
      const b = new Builder();
      const { values, made } = forward(b, layers);
      backward(b, values, made);
      update(b, made);
      return b.build();
    });
}

/**
 * A chain of `n` unit ops and its reversal: `b_k` reads the gradient and what op `k` read (or also
 * what it wrote). Everything has one unit of memory; the input is resident.
 */
export function chain(
  n: number,
  reads: "input" | "output" | "both" = "input",
  unit = 1024,
): Program {
  const b = new Builder(),
    a = [b.storage("input", unit, true, "a0")];
  for (let k = 1; k <= n; k++) {
    a.push(b.storage("activation", unit, false, `a${k}`));
    b.op([a[k - 1]!], [a[k]!], { name: `f${k}`, layer: `l${k}`, flops: 1 });
  }
  let g = b.storage("grad", unit, false, `g${n}`);
  b.op([a[n]!], [g], { name: "seed", layer: "loss", phase: "calcDerivative", flops: 1 });
  for (let k = n; k >= 1; k--) {
    const next = b.storage(k === 1 ? "output" : "grad", unit, k === 1, `g${k - 1}`);
    b.op(
      [g, ...(reads === "output" ? [] : [a[k - 1]!]), ...(reads === "input" ? [] : [a[k]!])],
      [next],
      { name: `b${k}`, layer: `l${k}`, phase: "calcDerivative", flops: 1 },
    );
    g = next;
  }
  return b.build();
}

/**
 * Runs a program on numbers: each op writes a mix of what it reads. Final value of each storage.
 */
export function interpret(program: Program): number[] {
  const value = program.storages.map((_, i) => initial(i));
  for (const [i, o] of program.ops.entries()) {
    const mix = o.reads.reduce((n, r) => (n * 31 + value[r]!) % 65521, i + 7);
    for (const w of o.writes) value[w] = mix;
  }
  return value;
}

function initial(i: number): number {
  return ((i + 1) * 1000003) % 65521;
}

/**
 * Runs the steps of a plan on slots of numbers, which are spoilt when they are released. Final
 * value of each pinned storage.
 */
export function execute({
  program,
  steps,
  slots,
  entrySlot,
}: Pick<Plan, "program" | "steps" | "slots" | "entrySlot">): Map<number, number> {
  const memory = new Map<string, number>(),
    host = new Map<string, number>(),
    owner = new Map(program.storages.map((s, i) => [s.id, i]));
  entrySlot.forEach((slot, i) => {
    if (slot !== -1) memory.set(`${slot}+0`, initial(i));
  });
  for (const step of steps) {
    const place = `${step.slot}+${step.offset ?? 0}`;
    if (step.kind === "release") memory.set(place, NaN);
    else if (step.kind === "open" || step.kind === "close") {
      for (const key of memory.keys()) if (key.startsWith(`${step.slot}+`)) memory.set(key, NaN);
    } else if (step.kind === "swapOut") host.set(step.storage!, memory.get(place)!);
    else if (step.kind === "swapIn") memory.set(place, host.get(step.storage!)!);
    else if (step.kind !== "wait") {
      const mix = step.reads!.reduce(
        (n, slot, k) => (n * 31 + memory.get(`${slot}+${step.readOffsets?.[k] ?? 0}`)!) % 65521,
        step.op! + 7,
      );
      step.writes!.forEach((slot, k) => memory.set(`${slot}+${step.writeOffsets?.[k] ?? 0}`, mix));
    }
  }
  const kept = new Map<number, number>();
  slots.forEach(({ exit }, k) => {
    if (exit !== -1) kept.set(exit, memory.get(`${k}+0`)!);
  });
  for (const i of kept.keys())
    if (!owner.has(program.storages[i]!.id)) throw new Error("unknown storage");
  return kept;
}

/** Whether every op that runs again finds the versions of its inputs that it saw the first time. */
export function seesTheSame(program: Program, actions: readonly Action[]): boolean {
  const version = new Int32Array(program.storages.length),
    saw = new Map<number, number[]>();
  return actions.every(({ kind, op }) => {
    if (op === -1) return true;
    const { reads, writes } = program.ops[op]!;
    if (kind === "recompute") return reads.every((r, k) => version[r] === saw.get(op)?.[k]);
    saw.set(
      op,
      reads.map((r) => version[r]!),
    );
    for (const w of writes) version[w]!++;
    return true;
  });
}

/** Peak of live bytes over the steps, counted from steps alone. */
export function stepPeak({ program, steps, entrySlot }: Plan): number {
  const bytes = new Map(program.storages.map((s) => [s.id, s.bytes])),
    here = new Set(program.storages.filter((_, i) => entrySlot[i] !== -1).map((s) => s.id));
  let now = [...here].reduce((sum, id) => sum + bytes.get(id)!, 0),
    most = now;
  for (const step of steps) {
    const arrive =
      step.kind === "swapIn"
        ? [step.storage!]
        : step.op === undefined
          ? []
          : program.ops[step.op]!.writes.map((w) => program.storages[w]!.id);
    for (const id of arrive)
      if (!here.has(id)) {
        here.add(id);
        now += bytes.get(id)!;
      }
    most = Math.max(most, now);
    if (step.kind === "release") {
      here.delete(step.storage!);
      now -= bytes.get(step.storage!)!;
    }
  }
  return most;
}
