/**
 * Programs from outside: the public JSON format, version 1, checked field by field. Called by users
 * and tools. Pure.
 */
import { ArgumentError } from "../base/errors.ts";
import { describeValue } from "../base/options.ts";
import {
  type Access,
  type FuseFacts,
  type Lifespan,
  type Phase,
  Program,
  type ProgramOp,
  type ProgramStorage,
  type Role,
} from "./program.ts";

const roles: readonly Role[] = ["input", "param", "state", "activation", "grad", "output"];
const phases: readonly Phase[] = ["forward", "calcGradient", "calcDerivative", "apply"];
const lifespans: readonly Lifespan[] = ["forward", "backward", "iteration", "epoch", "max"];

/** Storages by their ids. */
type Index = ReadonlyMap<string, number>;

/** @throws ArgumentError naming the first field that is missing, mistyped or refers to nothing. */
export function programFromJSON(json: unknown): Program {
  const root = record(json, "an object");
  if (root["version"] !== 1) fail("version 1", root["version"]);
  const index = new Map<string, number>();
  const storages = list(root["storages"], "an array `storages`").map((value, i) => {
    const storage = storageFrom(value, index);
    index.set(storage.id, i);
    return storage;
  });
  const ops = list(root["ops"], "an array `ops`").map((value, i) => opFrom(value, i, index));
  return new Program(storages, ops);
}

function fail(expected: string, got: unknown): never {
  throw new ArgumentError(
    "programFromJSON",
    shortened(expected, 300),
    shortened(textOf(got), 200),
    "see the program format, version 1",
  );
}

/** A value as JSON, or in words where it is none or nests without end. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "undefined";
  } catch {
    return describeValue(value);
  }
}

function shortened(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return fail(what, value);
  return value as Record<string, unknown>;
}

function list(value: unknown, what: string): unknown[] {
  return Array.isArray(value) ? value : fail(what, value);
}

function oneOf<T extends string>(value: unknown, known: readonly T[], what: string): T {
  return known.find((k) => k === value) ?? fail(`${what} to be one of ${known.join(", ")}`, value);
}

/** A value that is undefined or passes `typeof`. */
function optional(value: unknown, type: "boolean", what: string): boolean | undefined;
function optional(value: unknown, type: "string", what: string): string | undefined;
function optional(value: unknown, type: "boolean" | "string", what: string): unknown {
  if (value === undefined || typeof value === type) return value;
  return fail(`${what} to be ${type === "boolean" ? "true or false" : "a string"}`, value);
}

function integers(value: unknown, what: string, name: string): number[] {
  return list(value, `${what} of ${name} to be an array`).map((n) =>
    typeof n === "number" && Number.isSafeInteger(n) && n >= 0
      ? n
      : fail(`${what} of ${name} to be integers of 0 or more`, n),
  );
}

function integer(value: unknown, what: string, name: string): number {
  const [n] = integers([value], what, name);
  return n ?? fail(`${what} of ${name}`, value);
}

function storageFrom(value: unknown, known: Index): ProgramStorage {
  const { id, bytes, role, pinned, lifespan } = record(value, "a storage object");
  if (typeof id !== "string" || known.has(id))
    return fail("a storage `id` that is a string and unique", id);
  if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes <= 0)
    return fail(`bytes of storage ${id} to be a positive integer`, bytes);
  const storage = {
    id,
    bytes,
    role: oneOf(role, roles, `role of storage ${id}`),
    pinned: optional(pinned, "boolean", `pinned of storage ${id}`) === true,
  };
  if (lifespan === undefined) return storage;
  return { ...storage, lifespan: oneOf(lifespan, lifespans, `lifespan of storage ${id}`) };
}

function opFrom(value: unknown, i: number, index: Index): ProgramOp {
  const { name, reads, writes, phase, layer, flops, recomputable, stage, fuse } = record(
    value,
    "an op object",
  );
  if (typeof name !== "string") return fail(`name of op ${i} to be a string`, name);
  const label = `op ${i} ${name}`;
  const checkedPhase = oneOf(phase, phases, `phase of ${label}`);
  if (flops !== undefined && (typeof flops !== "number" || !(flops >= 0) || flops === Infinity))
    return fail(`flops of ${label} to be a number of 0 or more`, flops);
  const again = optional(recomputable, "boolean", `recomputable of ${label}`);
  const checkedLayer = optional(layer, "string", `layer of ${label}`);
  const checkedStage = optional(stage, "string", `stage of ${label}`);
  const op = {
    name,
    reads: storagesFrom(reads, label, index),
    writes: storagesFrom(writes, label, index),
    phase: checkedPhase,
    layer: checkedLayer ?? "",
    flops: flops ?? 0,
    recomputable: again === true,
    ...(checkedStage === undefined ? {} : { stage: checkedStage }),
  };
  return fuse === undefined ? op : { ...op, fuse: factsFrom(fuse, op, index) };
}

/** The storages that an op names, each once. */
function storagesFrom(value: unknown, label: string, index: Index): number[] {
  const storages = list(value, `${label} to list storages`).map(
    (id) =>
      (typeof id === "string" ? index.get(id) : undefined) ??
      fail(`${label} to name existing storages`, id),
  );
  return [...new Set(storages)];
}

function factsFrom(
  value: unknown,
  op: Pick<ProgramOp, "name" | "reads" | "writes">,
  index: Index,
): FuseFacts {
  const { name, reads, writes } = op;
  const json = record(value, `fuse of ${name} to be an object`);
  const { map, over, inputs, index: numbered } = json;
  const shape = integers(json["shape"], "fuse.shape", name);
  const through = over === undefined ? undefined : integers(over, "fuse.over", name);
  if (typeof map !== "boolean") return fail(`fuse.map of ${name} to be true or false`, map);
  const indexed = optional(numbered, "boolean", `fuse.index of ${name}`);
  const accesses = (
    field: "operands" | "results",
    rank: number,
    among: readonly number[],
  ): Access[] =>
    list(json[field], `fuse.${field} of ${name} to be an array`).map((entry) =>
      accessFrom(entry, { name, field, rank, among }, index),
    );
  const facts = {
    shape,
    map,
    operands: accesses("operands", map ? shape.length : (through?.length ?? 0), reads),
    results: accesses("results", shape.length, writes),
    ...(through === undefined ? {} : { over: through }),
    ...(inputs === undefined ? {} : { inputs: integer(inputs, "fuse.inputs", name) }),
    ...(indexed === undefined ? {} : { index: indexed }),
  };
  checkFacts(facts, op, value);
  return facts;
}

/** Facts say how an op uses every storage. */
function checkFacts(
  { map, operands, results }: FuseFacts,
  { name, reads, writes }: Pick<ProgramOp, "name" | "reads" | "writes">,
  value: unknown,
): void {
  if (!map && (operands.length > 1 || results.length !== 1))
    fail(`fuse of ${name}, which is no map, to have one result and at most one operand`, value);
  const told = (storages: readonly number[], accesses: readonly Access[]): boolean =>
    storages.every((s) => accesses.some((a) => a.storage === s));
  if (!told(writes, results) || (map && !told(reads, operands)))
    fail(`fuse of ${name} to say how it uses every storage`, value);
}

function accessFrom(
  value: unknown,
  where: { name: string; field: string; rank: number; among: readonly number[] },
  index: Index,
): Access {
  const { name, field, rank, among } = where;
  const json = record(value, `fuse.${field} of ${name} to hold objects`);
  const { storage, type, strides, offset } = json;
  const found = typeof storage === "string" ? index.get(storage) : undefined;
  if (found === undefined || !among.includes(found))
    return fail(`fuse.${field} of ${name} to name storages the op uses`, storage);
  if (typeof type !== "string")
    return fail(`types in fuse.${field} of ${name} to be strings`, type);
  const steps = integers(strides, `strides in fuse.${field}`, name);
  if (steps.length !== rank) return fail(`${rank} strides in fuse.${field} of ${name}`, strides);
  const start = integer(offset, `offsets in fuse.${field}`, name);
  return { storage: found, type, strides: steps, offset: start };
}
