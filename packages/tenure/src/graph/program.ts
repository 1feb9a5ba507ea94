/**
 * The one IR: a program is a list of ops over storages, in issue order. Made by the runtime's
 * recorder or read from JSON; consumed by the planner, which never sees a GPU. Pure data,
 * immutable once built; owns no memory.
 */
import { at } from "../base/access.ts";
import { ArgumentError } from "../base/errors.ts";
import { checkArray, describeValue } from "../base/options.ts";

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

/**
 * How an op reads or writes a storage, element by element: element `i` of the op's shape lies at
 * `offset + Σ i[k]·strides[k]` of the storage.
 */
export interface Access {
  /** Index into `storages`; its id in JSON. */
  readonly storage: number;
  /** Elements of one storage are fused only where both sides name the same type. */
  readonly type: string;
  /** One stride per dimension, in elements; 0 repeats. */
  readonly strides: readonly number[];
  readonly offset: number;
}

/** What fusing an op with others into one kernel takes. An op without it runs alone. */
export interface FuseFacts {
  /** Shape of the results: all have the same. */
  readonly shape: readonly number[];
  /**
   * Elementwise: each element of a result depends on the operands' elements at the same place only.
   * Other ops compute their one result by a kernel of their own; elementwise ops can follow it.
   */
  readonly map: boolean;
  /**
   * Of an elementwise op: every operand, over `shape`. Of another op: at most one, which a prologue
   * can compute, over `over`.
   */
  readonly operands: readonly Access[];
  /** Of elementwise ops with any strides; the result of another op is contiguous. */
  readonly results: readonly Access[];
  /** Shape of the operand that a prologue can compute. */
  readonly over?: readonly number[];
  /** Bindings that the kernel of an op that is not elementwise takes for its inputs. */
  readonly inputs?: number;
  /** The computation depends on the number of the element. */
  readonly index?: boolean;
}

/**
 * One op. A storage in both `reads` and `writes` is updated in place; one in `writes` alone is
 * overwritten completely.
 */
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
  /**
   * Ops of one named stage are kept or recomputed together (memonger's `mirror_stage`); every op is
   * its own stage unless named.
   */
  readonly stage?: string;
  readonly fuse?: FuseFacts;
}

/** Facts with ids in place of indices. */
export type FuseFactsJSON = Omit<FuseFacts, "operands" | "results"> & {
  readonly operands: readonly AccessJSON[];
  readonly results: readonly AccessJSON[];
};
/** An access with the id of its storage. */
export type AccessJSON = Omit<Access, "storage"> & { readonly storage: string };

/** Program JSON, version 1: ids in place of indices. */
export interface ProgramJSON {
  version: 1;
  storages: ProgramStorage[];
  ops: {
    name: string;
    reads: string[];
    writes: string[];
    phase: Phase;
    layer: string;
    flops: number;
    recomputable: boolean;
    stage?: string;
    fuse?: FuseFactsJSON;
  }[];
}

/**
 * Ops in issue order, and the storages they mention.
 * @throws ArgumentError for a program that contradicts itself
 */
export class Program {
  readonly version = 1;
  readonly storages: readonly ProgramStorage[];
  readonly ops: readonly ProgramOp[];

  constructor(storages: readonly ProgramStorage[], ops: readonly ProgramOp[]) {
    checkArray("Program", "storages", storages);
    checkArray("Program", "ops", ops);
    this.storages = storages;
    this.ops = ops;
  }

  /** The public format, version 1: `programFromJSON` makes an equal program from it. */
  toJSON(): ProgramJSON {
    const id = (i: number): string => storageAt(this, i).id;
    return {
      version: 1,
      storages: this.storages.map((s) => ({ ...s })),
      ops: this.ops.map(({ fuse, ...op }) => ({
        ...op,
        reads: op.reads.map(id),
        writes: op.writes.map(id),
        ...(fuse === undefined ? {} : { fuse: withIds(fuse, id) }),
      })),
    };
  }
}

/** An op of a program, by its index. @throws Error (internal) when there is none */
export function opAt(program: Pick<Program, "ops">, op: number): ProgramOp {
  return at(program.ops, op);
}

/** A storage of a program, by its index. @throws Error (internal) when there is none */
export function storageAt(program: Pick<Program, "storages">, storage: number): ProgramStorage {
  return at(program.storages, storage);
}

/** Bytes of some storages together. */
export function bytesOf(program: Pick<Program, "storages">, storages: Iterable<number>): number {
  let bytes = 0;
  for (const storage of storages) bytes += storageAt(program, storage).bytes;
  return bytes;
}

function withIds(fuse: FuseFacts, id: (i: number) => string): FuseFactsJSON {
  const named = (a: Access): AccessJSON => ({ ...a, storage: id(a.storage) });
  return { ...fuse, operands: fuse.operands.map(named), results: fuse.results.map(named) };
}

/**
 * For each storage, whether it holds bytes before the first op: its first use reads it, or it is
 * never used but comes from outside.
 */
export function residentAtEntry(program: Program): boolean[] {
  const resident: (boolean | undefined)[] = program.storages.map(() => undefined);
  for (const op of program.ops) {
    for (const r of op.reads) resident[r] ??= true;
    for (const w of op.writes) resident[w] ??= false;
  }
  return program.storages.map(
    ({ role }, i) => resident[i] ?? (role === "input" || role === "param" || role === "state"),
  );
}

/**
 * One line per op, for logs and golden files: `3 matmul forward net.0  s1 s2 -> s4`.
 * @throws ArgumentError for what is no program
 */
export function formatProgram(program: Program): string {
  if (!(program instanceof Program))
    throw new ArgumentError(
      "formatProgram",
      "a program",
      describeValue(program),
      "make one with trace(fn) or programFromJSON(json)",
    );
  const ids = (list: readonly number[]): string =>
    list.map((s) => storageAt(program, s).id).join(" ");
  const line = ({ name, phase, layer, reads, writes }: ProgramOp, i: number): string =>
    `${String(i).padStart(4)} ${name.padEnd(16)} ${phase.padEnd(14)} ${layer.padEnd(10)} ` +
    `${ids(reads)} -> ${ids(writes)}`;
  return program.ops.map(line).join("\n");
}
