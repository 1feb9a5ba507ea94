/**
 * The one IR: a program is a list of ops over storages, in issue order. Made by the runtime's
 * recorder or read from JSON; consumed by scheduler passes, which never see a GPU. Pure data,
 * immutable once built; owns no memory.
 */
import { at } from "../base/access.ts";
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

/**
 * How an op reads or writes a storage, element by element: element `i` of the op's shape lies at
 * `offset + Σ i[k]·strides[k]` of the storage.
 */
export interface Access {
  /** Index into `storages`; its id in JSON. */
  readonly storage: number;
  /** Elements of one storage are joined only where both sides name the same type. */
  readonly type: string;
  /** One stride per dimension, in elements; 0 repeats. */
  readonly strides: readonly number[];
  readonly offset: number;
}

/** What joining an op with others into one kernel takes. An op without it runs alone. */
export interface FuseFacts {
  /** Of the results, which have all the same. */
  readonly shape: readonly number[];
  /**
   * Each element of a result depends on the operands' elements at its place alone. Other ops
   * compute their one result as a whole; chains can follow it.
   */
  readonly map: boolean;
  /**
   * Of a map: every operand, over `shape`. Of another op: at most one, that it can have computed on
   * the way, over `over`.
   */
  readonly operands: readonly Access[];
  /** Of maps, anywhere; the result of another op is whole and in order. */
  readonly results: readonly Access[];
  /** Shape of the operand that can be computed on the way. */
  readonly over?: readonly number[];
  /** Bindings a kernel that is no map takes for its inputs. */
  readonly inputs?: number;
  /** The computation depends on the number of the element. */
  readonly index?: boolean;
}

/**
 * One op. A storage in both `reads` and `writes` is updated in place; one in `writes` alone is
 * overwritten whole.
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

const roles: readonly string[] = [
  "input",
  "param",
  "state",
  "activation",
  "grad",
  "output",
] satisfies Role[];
const phases: readonly string[] = [
  "forward",
  "calcGradient",
  "calcDerivative",
  "apply",
] satisfies Phase[];
const lifespans: readonly string[] = [
  "forward",
  "backward",
  "iteration",
  "epoch",
  "max",
] satisfies Lifespan[];

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

/** @throws ArgumentError naming the first field that is missing, mistyped or refers to nothing. */
export function programFromJSON(json: unknown): Program {
  const fail = (expected: string, got: unknown): never => {
    throw new ArgumentError(
      "programFromJSON",
      expected,
      JSON.stringify(got) ?? "undefined",
      "see the program format, version 1",
    );
  };
  const record = (value: unknown, what: string): Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : fail(what, value);
  const list = (value: unknown, what: string): unknown[] =>
    Array.isArray(value) ? value : fail(what, value);
  const root = record(json, "an object");
  if (root["version"] !== 1) fail("version 1", root["version"]);
  const index = new Map<string, number>();
  const storages = list(root["storages"], "an array `storages`").map((value, i): ProgramStorage => {
    const { id, bytes, role, pinned, lifespan } = record(value, "a storage object");
    if (typeof id !== "string" || index.has(id))
      return fail("a storage `id` that is a string and unique", id);
    if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes <= 0)
      return fail(`bytes of storage ${id} to be a positive integer`, bytes);
    if (!isOne<Role>(role, roles))
      return fail(`role of storage ${id} to be one of ${roles.join(", ")}`, role);
    if (pinned !== undefined && typeof pinned !== "boolean")
      return fail(`pinned of storage ${id} to be true or false`, pinned);
    if (lifespan !== undefined && !isOne<Lifespan>(lifespan, lifespans))
      return fail(`lifespan of storage ${id} to be one of ${lifespans.join(", ")}`, lifespan);
    index.set(id, i);
    return {
      id,
      bytes,
      role,
      pinned: pinned === true,
      ...(lifespan === undefined ? {} : { lifespan }),
    };
  });
  const ops = list(root["ops"], "an array `ops`").map((value, i): ProgramOp => {
    const { name, reads, writes, phase, layer, flops, recomputable, stage, fuse } = record(
      value,
      "an op object",
    );
    if (typeof name !== "string") return fail(`name of op ${i} to be a string`, name);
    const refs = (ids: unknown): number[] => [
      ...new Set(
        list(ids, `op ${i} ${name} to list storages`).map(
          (id) =>
            (typeof id === "string" ? index.get(id) : undefined) ??
            fail(`op ${i} ${name} to name existing storages`, id),
        ),
      ),
    ];
    if (!isOne<Phase>(phase, phases))
      return fail(`phase of op ${i} ${name} to be one of ${phases.join(", ")}`, phase);
    if (flops !== undefined && (typeof flops !== "number" || !(flops >= 0) || flops === Infinity))
      return fail(`flops of op ${i} ${name} to be a number of 0 or more`, flops);
    if (recomputable !== undefined && typeof recomputable !== "boolean")
      return fail(`recomputable of op ${i} ${name} to be true or false`, recomputable);
    if (layer !== undefined && typeof layer !== "string")
      return fail(`layer of op ${i} ${name} to be a string`, layer);
    if (stage !== undefined && typeof stage !== "string")
      return fail(`stage of op ${i} ${name} to be a string`, stage);
    const op = {
      name,
      reads: refs(reads),
      writes: refs(writes),
      phase,
      layer: layer ?? "",
      flops: flops ?? 0,
      recomputable: recomputable === true,
      ...(stage === undefined ? {} : { stage }),
    };
    return fuse === undefined ? op : { ...op, fuse: factsOf(fuse, op) };
  });
  return new Program(storages, ops);

  function factsOf(
    value: unknown,
    { name, reads, writes }: Pick<ProgramOp, "name" | "reads" | "writes">,
  ): FuseFacts {
    const {
      shape,
      map,
      operands,
      results,
      over,
      inputs,
      index: numbered,
    } = record(value, `fuse of ${name} to be an object`);
    const numbers = (list_: unknown, what: string, least: number): number[] =>
      list(list_, `${what} of ${name} to be an array`).map((n) =>
        typeof n === "number" && Number.isSafeInteger(n) && n >= least
          ? n
          : fail(`${what} of ${name} to be integers of ${least} or more`, n),
      );
    const size = numbers(shape, "fuse.shape", 0),
      through = over === undefined ? undefined : numbers(over, "fuse.over", 0);
    const accesses = (
      value_: unknown,
      what: string,
      rank: number,
      among: readonly number[],
    ): Access[] =>
      list(value_, `fuse.${what} of ${name} to be an array`).map((entry) => {
        const { storage, type, strides, offset } = record(
            entry,
            `fuse.${what} of ${name} to hold objects`,
          ),
          at = typeof storage === "string" ? index.get(storage) : undefined;
        if (at === undefined || !among.includes(at))
          return fail(`fuse.${what} of ${name} to name storages the op uses`, storage);
        if (typeof type !== "string")
          return fail(`types in fuse.${what} of ${name} to be strings`, type);
        const steps = numbers(strides, `strides in fuse.${what}`, 0);
        if (steps.length !== rank)
          return fail(`${rank} strides in fuse.${what} of ${name}`, strides);
        return {
          storage: at,
          type,
          strides: steps,
          offset: numbers([offset], `offsets in fuse.${what}`, 0)[0]!,
        };
      });
    if (typeof map !== "boolean") return fail(`fuse.map of ${name} to be true or false`, map);
    if (numbered !== undefined && typeof numbered !== "boolean")
      return fail(`fuse.index of ${name} to be true or false`, numbered);
    const facts = {
      shape: size,
      map,
      operands: accesses(operands, "operands", map ? size.length : (through?.length ?? 0), reads),
      results: accesses(results, "results", size.length, writes),
      ...(through === undefined ? {} : { over: through }),
      ...(inputs === undefined ? {} : { inputs: numbers([inputs], "fuse.inputs", 0)[0]! }),
      ...(numbered === undefined ? {} : { index: numbered }),
    };
    if (!map && (facts.operands.length > 1 || facts.results.length !== 1))
      return fail(
        `fuse of ${name}, which is no map, to have one result and at most one operand`,
        value,
      );
    if (
      writes.some((w) => !facts.results.some((r) => r.storage === w)) ||
      (map && reads.some((r) => !facts.operands.some((o) => o.storage === r)))
    )
      return fail(`fuse of ${name} to say how it uses every storage`, value);
    return facts;
  }
}

function isOne<T extends string>(value: unknown, known: readonly string[]): value is T {
  return typeof value === "string" && known.includes(value);
}

/** One line per op, for logs and golden files: `3 matmul forward net.0  s1 s2 -> s4`. */
export function formatProgram(program: Program): string {
  const id = (i: number): string => program.storages[i]!.id;
  return program.ops
    .map(
      (op, i) =>
        `${String(i).padStart(4)} ${op.name.padEnd(16)} ${op.phase.padEnd(14)} ${op.layer.padEnd(10)} ${op.reads.map(id).join(" ")} -> ${op.writes.map(id).join(" ")}`,
    )
    .join("\n");
}
