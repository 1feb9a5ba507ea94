/**
 * Runs programs element by element, op by op and then kernel by kernel as groups say, threads in
 * any order. Knows layouts and nothing of the pass. Tests only.
 */
import * as assert from "uvu/assert";
import { type FuseFacts, type Program } from "tenure/scheduler";
import { type Layout, stridedLayout } from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import type { Fused, Group } from "../../../src/planner/fuse/group.ts";

type Memory = Float64Array[];

const mix = (...values: readonly number[]): number =>
  values.reduce(
    (h, v) => (Math.imul(h ^ Math.floor(v), 0x01000193) ^ (h >>> 13)) >>> 0,
    0x811c9dc5,
  ) % 1000003;

function* coordinates(shape: readonly number[]): Generator<number[]> {
  for (let n = 0; n < sizeOf(shape); n++) {
    const at: number[] = [];
    let rest = n;
    for (let k = shape.length - 1; k >= 0; k--) {
      at[k] = rest % shape[k]!;
      rest = Math.floor(rest / shape[k]!);
    }
    yield at;
  }
}
const place = (l: Layout, at: readonly number[]): number =>
  at.reduce((n, c, k) => n + c * l.strides[k]!, l.offset);

function fresh(program: Program): Memory {
  return program.storages.map((s, i) =>
    Float64Array.from({ length: s.bytes / 4 }, (_, e) => mix(i, e, 17)),
  );
}

const layoutsOf = ({ shape, over, map, operands }: FuseFacts): Layout[] =>
  operands.map((o) => stridedLayout(map ? shape : over!, o.strides, o.offset));

/** What an op that is no map gives, from a function that reads its operand and from memory. */
function wholeResult(
  program: Program,
  op: number,
  axes: readonly boolean[] | undefined,
  memory: Memory,
  operand: (at: readonly number[]) => number,
): number[] {
  const facts = program.ops[op]!.fuse!;
  if (facts.over === undefined) {
    const all = program.ops[op]!.reads.flatMap((s) => [...memory[s]!]);
    return Array.from({ length: sizeOf(facts.shape) }, (_, i) => mix(op, i, ...all));
  }
  const sums = new Array<number>(sizeOf(facts.shape)).fill(op),
    kept = facts.over.map((d, k) => (axes![k]! ? 1 : d));
  for (const at of coordinates(facts.over)) {
    const o = kept.reduce((n, d, k) => n * d + (axes![k]! ? 0 : at[k]!), 0);
    sums[o] = (sums[o]! + operand(at)) % 1000003;
  }
  return sums;
}

/** Op by op, in issue order. */
export function reference(program: Program, axes: ReadonlyMap<number, readonly boolean[]>): Memory {
  const memory = fresh(program);
  program.ops.forEach(({ fuse: facts }, i) => {
    const { shape, map, results } = facts!,
      layouts = layoutsOf(facts!),
      [result] = results,
      out = stridedLayout(shape, result!.strides, result!.offset);
    const read =
      (at: readonly number[]) =>
      (l: Layout, k: number): number =>
        memory[facts!.operands[k]!.storage]![place(l, at)]!;
    let n = 0;
    const values = map
      ? [...coordinates(shape)].map((at) =>
          mix(i, facts!.index === true ? n++ : 0, ...layouts.map(read(at))),
        )
      : wholeResult(program, i, axes.get(i), memory, (at) => read(at)(layouts[0]!, 0));
    [...coordinates(shape)].forEach((at, e) => {
      memory[result!.storage]![place(out, at)] = values[e]!;
    });
  });
  return memory;
}

/**
 * One kernel: every thread loads what it needs, computes, and stores at once, in the order of
 * `shuffle`.
 */
function kernel(
  program: Program,
  { members, shape, over, stored }: Group,
  axes: ReadonlyMap<number, readonly boolean[]>,
  memory: Memory,
  shuffle: number,
): void {
  const layouts = new Map(
    members.flatMap((m) =>
      program.ops[m.op]!.fuse!.results.map((r, k) => [r.storage, m.results[k]!] as const),
    ),
  );
  const run = (
    section: "prologue" | "epilogue",
    at: readonly number[],
    n: number,
    registers: Map<number, number>,
  ): void => {
    for (const m of members) {
      if (m.section !== section) continue;
      const { operands, results, index } = program.ops[m.op]!.fuse!;
      const value = mix(
        m.op,
        index === true ? n : 0,
        ...operands.map(
          (o, k) => registers.get(o.storage) ?? memory[o.storage]![place(m.operands[k]!, at)]!,
        ),
      );
      for (const r of results) registers.set(r.storage, value);
    }
  };
  const main = members.find((m) => m.section === "main");
  let results: number[] | undefined,
    result = -1;
  if (main !== undefined) {
    const facts = program.ops[main.op]!.fuse!,
      [operand] = facts.operands;
    result = facts.results[0]!.storage;
    results = wholeResult(program, main.op, axes.get(main.op), memory, (at) => {
      const registers = new Map<number, number>();
      run("prologue", at, -1, registers);
      return (
        registers.get(operand!.storage) ?? memory[operand!.storage]![place(main.operands[0]!, at)]!
      );
    });
  }
  assert.ok(over.length >= 0);
  const threads = [...coordinates(shape)].map((at, n) => ({ at, n }));
  if (shuffle % 2 === 1) threads.reverse();
  for (let k = shuffle % Math.max(threads.length, 1); k > 0; k--) threads.push(threads.shift()!);
  const written = new Set<string>();
  for (const { at, n } of threads) {
    const registers = new Map<number, number>(results === undefined ? [] : [[result, results[n]!]]);
    run("epilogue", at, n, registers);
    for (const s of stored) {
      const to =
          s === result &&
          !members.some((m) => m.section === "epilogue" && program.ops[m.op]!.writes.includes(s))
            ? n
            : place(layouts.get(s)!, at),
        key = `${s}@${to}`;
      assert.not(written.has(key), "one thread per element");
      written.add(key);
      memory[s]![to] = registers.get(s)!;
    }
  }
}

/** Kernel by kernel. What needs no memory is spoilt, so that nobody can read it. */
export function fused(
  program: Program,
  { program: after, groups }: Fused,
  axes: ReadonlyMap<number, readonly boolean[]>,
  shuffle: number,
): Memory {
  const memory = fresh(program),
    seen = new Set(after.ops.flatMap((o) => [...o.reads, ...o.writes]));
  memory.forEach((bytes, s) => {
    if (!seen.has(s) && !program.storages[s]!.pinned) bytes.fill(NaN);
  });
  for (const group of groups) {
    const { op } = group.members[0]!;
    if (group.members.length > 1) {
      kernel(program, group, axes, memory, shuffle);
      continue;
    }
    const facts = program.ops[op]!.fuse!,
      l = layoutsOf(facts),
      [r] = facts.results;
    kernel(
      program,
      {
        members: [
          {
            op,
            section: facts.map ? "epilogue" : "main",
            operands: l,
            results: [stridedLayout(facts.shape, r!.strides, r!.offset)],
          },
        ],
        shape: facts.shape,
        over: facts.over ?? [],
        stored: program.ops[op]!.writes,
      },
      axes,
      memory,
      shuffle,
    );
  }
  return memory;
}
