/**
 * The one IR: a program is a list of ops over storages, in issue order. Made by the runtime's recorder or read from JSON; consumed by scheduler passes,
 * which never see a GPU. Pure data, immutable once built; owns no memory.
 */
import { ArgumentError } from "../base/errors.ts";

/** What a storage is to the program. */
export type Role = "input" | "param" | "state" | "activation" | "grad" | "output";
/** Which part of a training step an op belongs to (NNTrainer's four slots). */
export type Phase = "forward" | "calcGradient" | "calcDerivative" | "apply";
/** How long a storage must stay valid at least; extends what its uses ask for. */
export type Lifespan = "forward" | "backward" | "iteration" | "epoch" | "max";

/** A storage as the planner sees it. */
export interface ProgramStorage {
  readonly id: string;
  /** Bytes it occupies on the device. */
  readonly bytes: number;
  readonly role: Role;
  /** Still owned by somebody after the program. */
  readonly pinned: boolean;
  readonly lifespan?: Lifespan;
}

/** One op. A storage in both `reads` and `writes` is updated in place; one in `writes` alone is overwritten whole. */
export interface ProgramOp {
  readonly name: string;
  /** Indices into `storages`, each once. */
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  readonly phase: Phase;
  readonly layer: string;
  readonly flops: number;
  /** Running it again on the same inputs gives the same bits and has no other effect. */
  readonly recomputable: boolean;
  /** Ops of one named stage are kept or recomputed together (memonger's `mirror_stage`); every op is its own stage unless named. */
  readonly stage?: string;
}

/** Program JSON, version 1: ids in place of indices. */
export interface ProgramJSON {
  version: 1;
  storages: ProgramStorage[];
  ops: { name: string; reads: string[]; writes: string[]; phase: Phase; layer: string; flops: number; recomputable: boolean; stage?: string }[];
}

/** Ops in issue order, and the storages they mention. */
export class Program {
  readonly version = 1;
  readonly storages: readonly ProgramStorage[];
  readonly ops: readonly ProgramOp[];

  constructor(storages: readonly ProgramStorage[], ops: readonly ProgramOp[]) {
    this.storages = storages;
    this.ops = ops;
  }

  /** The public format, version 1: `programFromJSON` makes an equal program from it. */
  toJSON(): ProgramJSON {
    const id = (i: number): string => this.storages[i]!.id;
    return {
      version: 1,
      storages: this.storages.map((s) => ({ ...s })),
      ops: this.ops.map((op) => ({ ...op, reads: op.reads.map(id), writes: op.writes.map(id) })),
    };
  }
}

const roles: readonly string[] = ["input", "param", "state", "activation", "grad", "output"] satisfies Role[];
const phases: readonly string[] = ["forward", "calcGradient", "calcDerivative", "apply"] satisfies Phase[];
const lifespans: readonly string[] = ["forward", "backward", "iteration", "epoch", "max"] satisfies Lifespan[];

/** For each storage, whether it holds bytes before the first op: its first use reads it, or it is never used but comes from outside. */
export function residentAtEntry(program: Program): boolean[] {
  const resident: (boolean | undefined)[] = program.storages.map(() => undefined);
  for (const op of program.ops) {
    for (const r of op.reads) resident[r] ??= true;
    for (const w of op.writes) resident[w] ??= false;
  }
  return program.storages.map(({ role }, i) => resident[i] ?? (role === "input" || role === "param" || role === "state"));
}

/** @throws ArgumentError naming the first field that is missing, mistyped or refers to nothing. */
export function programFromJSON(json: unknown): Program {
  const fail = (expected: string, got: unknown): never => { throw new ArgumentError("programFromJSON", expected, JSON.stringify(got) ?? "undefined", "see the program format, version 1"); };
  const record = (value: unknown, what: string): Record<string, unknown> => (typeof value === "object" && value !== null && !Array.isArray(value) ? value as Record<string, unknown> : fail(what, value));
  const list = (value: unknown, what: string): unknown[] => (Array.isArray(value) ? value : fail(what, value));
  const root = record(json, "an object");
  if (root["version"] !== 1) fail("version 1", root["version"]);
  const index = new Map<string, number>();
  const storages = list(root["storages"], "an array `storages`").map((value, i): ProgramStorage => {
    const { id, bytes, role, pinned, lifespan } = record(value, "a storage object");
    if (typeof id !== "string" || index.has(id)) return fail("a storage `id` that is a string and unique", id);
    if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes <= 0) return fail(`bytes of storage ${id} to be a positive integer`, bytes);
    if (!isOne<Role>(role, roles)) return fail(`role of storage ${id} to be one of ${roles.join(", ")}`, role);
    if (pinned !== undefined && typeof pinned !== "boolean") return fail(`pinned of storage ${id} to be true or false`, pinned);
    if (lifespan !== undefined && !isOne<Lifespan>(lifespan, lifespans)) return fail(`lifespan of storage ${id} to be one of ${lifespans.join(", ")}`, lifespan);
    index.set(id, i);
    return { id, bytes, role, pinned: pinned === true, ...(lifespan === undefined ? {} : { lifespan }) };
  });
  const ops = list(root["ops"], "an array `ops`").map((value, i): ProgramOp => {
    const { name, reads, writes, phase, layer, flops, recomputable, stage } = record(value, "an op object");
    if (typeof name !== "string") return fail(`name of op ${i} to be a string`, name);
    const refs = (ids: unknown): number[] => [...new Set(list(ids, `op ${i} ${name} to list storages`).map((id) => (typeof id === "string" ? index.get(id) : undefined) ?? fail(`op ${i} ${name} to name existing storages`, id)))];
    if (!isOne<Phase>(phase, phases)) return fail(`phase of op ${i} ${name} to be one of ${phases.join(", ")}`, phase);
    if (flops !== undefined && (typeof flops !== "number" || !(flops >= 0) || flops === Infinity)) return fail(`flops of op ${i} ${name} to be a number of 0 or more`, flops);
    if (recomputable !== undefined && typeof recomputable !== "boolean") return fail(`recomputable of op ${i} ${name} to be true or false`, recomputable);
    if (layer !== undefined && typeof layer !== "string") return fail(`layer of op ${i} ${name} to be a string`, layer);
    if (stage !== undefined && typeof stage !== "string") return fail(`stage of op ${i} ${name} to be a string`, stage);
    return { name, reads: refs(reads), writes: refs(writes), phase, layer: layer ?? "", flops: flops ?? 0, recomputable: recomputable === true, ...(stage === undefined ? {} : { stage }) };
  });
  return new Program(storages, ops);
}

function isOne<T extends string>(value: unknown, known: readonly string[]): value is T { return typeof value === "string" && known.includes(value); }

/** One line per op, for logs and golden files: `3 matmul forward net.0  s1 s2 -> s4`. */
export function formatProgram(program: Program): string {
  const id = (i: number): string => program.storages[i]!.id;
  return program.ops.map((op, i) => `${String(i).padStart(4)} ${op.name.padEnd(16)} ${op.phase.padEnd(14)} ${op.layer.padEnd(10)} ${op.reads.map(id).join(" ")} -> ${op.writes.map(id).join(" ")}`).join("\n");
}
