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
  /** Indices into `storages`. */
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  readonly phase: Phase;
  readonly layer: string;
  readonly flops: number;
  /** Running it again on the same inputs gives the same bits and has no other effect. */
  readonly recomputable: boolean;
}

export interface Program {
  readonly version: 1;
  readonly storages: readonly ProgramStorage[];
  readonly ops: readonly ProgramOp[];
}

/** Program JSON, version 1: the same with ids in place of indices. */
export interface ProgramJSON {
  version: 1;
  storages: ProgramStorage[];
  ops: { name: string; reads: string[]; writes: string[]; phase: Phase; layer: string; flops: number; recomputable: boolean }[];
}

const roles: readonly string[] = ["input", "param", "state", "activation", "grad", "output"] satisfies Role[];
const phases: readonly string[] = ["forward", "calcGradient", "calcDerivative", "apply"] satisfies Phase[];

/** For each storage, whether it holds bytes before the first op: its first use reads it, or it is never used but comes from outside. */
export function residentAtEntry(program: Program): boolean[] {
  const resident: (boolean | undefined)[] = program.storages.map(() => undefined);
  for (const op of program.ops) {
    for (const r of op.reads) resident[r] ??= true;
    for (const w of op.writes) resident[w] ??= false;
  }
  return program.storages.map(({ role }, i) => resident[i] ?? (role === "input" || role === "param" || role === "state"));
}

export function programToJSON(program: Program): ProgramJSON {
  const id = (i: number): string => program.storages[i]!.id;
  return {
    version: 1,
    storages: program.storages.map((s) => ({ ...s })),
    ops: program.ops.map((op) => ({ ...op, reads: op.reads.map(id), writes: op.writes.map(id) })),
  };
}

/** @throws ArgumentError naming the first field that is missing, mistyped or refers to nothing. */
export function programFromJSON(json: unknown): Program {
  const fail = (expected: string, got: unknown): never => { throw new ArgumentError("programFromJSON", expected, JSON.stringify(got) ?? "undefined", "see the program format, version 1"); };
  const record = (value: unknown, what: string): Record<string, unknown> => (typeof value === "object" && value !== null ? value as Record<string, unknown> : fail(what, value));
  const root = record(json, "an object");
  if (root["version"] !== 1) fail("version 1", root["version"]);
  if (!Array.isArray(root["storages"])) fail("an array `storages`", root["storages"]);
  if (!Array.isArray(root["ops"])) fail("an array `ops`", root["ops"]);
  const index = new Map<string, number>();
  const storages = (root["storages"] as unknown[]).map((value, i): ProgramStorage => {
    const s = record(value, "a storage object");
    const { id, bytes, role, pinned, lifespan } = s;
    if (typeof id !== "string" || index.has(id)) fail("a storage `id` that is a string and unique", id);
    if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes <= 0) fail(`bytes of storage ${String(id)} to be a positive integer`, bytes);
    if (typeof role !== "string" || !roles.includes(role)) fail(`role of storage ${String(id)} to be one of ${roles.join(", ")}`, role);
    index.set(id as string, i);
    const base = { id: id as string, bytes: bytes as number, role: role as Role, pinned: pinned === true };
    return lifespan === undefined ? base : { ...base, lifespan: lifespan as Lifespan };
  });
  const ops = (root["ops"] as unknown[]).map((value): ProgramOp => {
    const o = record(value, "an op object");
    const refs = (list: unknown): number[] => (Array.isArray(list) ? list.map((id) => index.get(id as string) ?? fail(`op ${String(o["name"])} to name existing storages`, id)) : fail(`op ${String(o["name"])} to list storages`, list));
    if (typeof o["name"] !== "string") fail("an op `name` that is a string", o["name"]);
    if (!phases.includes(o["phase"] as string)) fail(`phase of op ${String(o["name"])} to be one of ${phases.join(", ")}`, o["phase"]);
    return {
      name: o["name"] as string, reads: refs(o["reads"]), writes: refs(o["writes"]), phase: o["phase"] as Phase,
      layer: typeof o["layer"] === "string" ? o["layer"] : "", flops: typeof o["flops"] === "number" ? o["flops"] : 0, recomputable: o["recomputable"] === true,
    };
  });
  return { version: 1, storages, ops };
}

/** One line per op, for logs and golden files: `3 matmul forward net.0  s1 s2 -> s4`. */
export function formatProgram(program: Program): string {
  const id = (i: number): string => program.storages[i]!.id;
  return program.ops.map((op, i) => `${String(i).padStart(4)} ${op.name.padEnd(16)} ${op.phase.padEnd(14)} ${op.layer.padEnd(10)} ${op.reads.map(id).join(" ")} -> ${op.writes.map(id).join(" ")}`).join("\n");
}
