/**
 * Joining ops into kernels, without a GPU: random programs over views of all kinds are run element
 * by element, op by op and then kernel by kernel as the groups say, threads in any order. Both must
 * give the same. The oracle knows layouts and nothing of the pass.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Access, type FuseFacts, type Program, plan, programFromJSON } from "tenure/scheduler";
import {
  type Layout,
  broadcastLayout,
  contiguousLayout,
  permuteLayout,
  refineShapes,
  reshapeLayout,
  sameElements,
  sliceLayout,
  stridedLayout,
} from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import type { Fused, Group } from "../../../src/planner/fuse/group.ts";
import { fusedName } from "../../../src/planner/fuse/merge.ts";
import { fuse } from "../../../src/planner/passes/fuse.ts";
import { Builder } from "./programs.ts";

const test = suite("fusing");

// === Programs ===

interface Tensor {
  readonly storage: number;
  readonly layout: Layout;
}

/**
 * Collects ops with facts. A whole op without `over` reads its inputs anywhere, as a matrix product
 * does; one with `over` reduces the axes marked in `axes`.
 */
class Recorder extends Builder {
  readonly axes = new Map<number, readonly boolean[]>();

  tensor(role: "input" | "param" | "activation", shape: readonly number[], pinned = false): Tensor {
    return {
      storage: this.storage(role, Math.max(256, 4 * sizeOf(shape)), pinned),
      layout: contiguousLayout(shape),
    };
  }

  access({ storage, layout }: Tensor, shape = layout.shape, type = "float32"): Access {
    const { strides, offset } = broadcastLayout(layout, shape);
    return { storage, type, strides, offset };
  }

  /** An elementwise op into a fresh storage, or in place into `target`. */
  map(
    inputs: readonly Tensor[],
    options: {
      target?: Tensor;
      pinned?: boolean;
      index?: boolean;
      shape?: readonly number[];
      phase?: "forward" | "calcGradient" | "apply";
    } = {},
  ): Tensor {
    const { target } = options,
      shape =
        target?.layout.shape ??
        options.shape ??
        inputs.reduce<readonly number[]>(
          (s, t) => (sizeOf(t.layout.shape) > sizeOf(s) ? t.layout.shape : s),
          [],
        );
    const out = target ?? this.tensor("activation", shape, options.pinned),
      all = target === undefined ? inputs : [target, ...inputs];
    this.op(
      all.map((t) => t.storage),
      [out.storage],
      {
        name: `map${this.ops.length}`,
        phase: options.phase ?? "forward",
        recomputable: target === undefined,
        fuse: {
          shape,
          map: true,
          operands: all.map((t) => this.access(t, shape)),
          results: [this.access(out)],
          ...(options.index === true ? { index: true } : {}),
        },
      },
    );
    return out;
  }

  reduce(x: Tensor, axes: readonly boolean[], pinned = false): Tensor {
    const out = this.tensor(
      "activation",
      x.layout.shape.filter((_, k) => !axes[k]!),
      pinned,
    );
    this.axes.set(
      this.op([x.storage], [out.storage], {
        name: `reduce${this.ops.length}`,
        fuse: {
          shape: out.layout.shape,
          map: false,
          operands: [this.access(x)],
          results: [this.access(out)],
          over: x.layout.shape,
          inputs: 1,
        },
      }),
      axes,
    );
    return out;
  }

  whole(inputs: readonly Tensor[], shape: readonly number[], pinned = false): Tensor {
    const out = this.tensor("activation", shape, pinned);
    this.op(
      inputs.map((t) => t.storage),
      [out.storage],
      {
        name: `whole${this.ops.length}`,
        fuse: {
          shape,
          map: false,
          operands: [],
          results: [this.access(out)],
          inputs: inputs.length,
        },
      },
    );
    return out;
  }
}

const shapes: readonly (readonly number[])[] = [
  [2, 3],
  [6],
  [3, 2],
  [2, 3],
  [2, 1, 3],
  [2, 3],
  [3],
  [1],
  [],
];

/**
 * Random programs over small tensors: views, broadcasts, writes in place through views, reductions,
 * products.
 */
const programs: fc.Arbitrary<{ program: Program; axes: ReadonlyMap<number, readonly boolean[]> }> =
  fc
    .array(fc.tuple(fc.nat(12), fc.nat(99), fc.nat(99), fc.nat(99), fc.boolean()), {
      minLength: 2,
      maxLength: 24,
    })
    .map((steps) => {
      const r = new Recorder(),
        live: Tensor[] = [
          r.tensor("input", [2, 3]),
          r.tensor("param", [2, 3], true),
          r.tensor("input", [3]),
        ];
      const fits = (t: Tensor, shape: readonly number[]): boolean =>
        t.layout.shape.length <= shape.length &&
        t.layout.shape.every(
          (d, i) => d === 1 || d === shape[i + shape.length - t.layout.shape.length],
        );
      steps.forEach(([kind, a, b, c, flag], n) => {
        // Mostly the newest values, so that chains are long.
        const pick = (k: number): Tensor =>
          live[live.length - 1 - Math.min((k % 7) % live.length, k % live.length)]!;
        const x = pick(a),
          y = pick(b),
          pinned = c % 5 === 0;
        switch (kind) {
          case 0:
            live.push(r.map([x], { pinned, index: flag }));
            break;
          case 1:
          case 2:
          case 3: {
            const [big, small] = sizeOf(x.layout.shape) >= sizeOf(y.layout.shape) ? [x, y] : [y, x];
            live.push(r.map(fits(small, big.layout.shape) ? [big, small] : [big], { pinned }));
            break;
          }
          case 4: {
            const s = reshapeLayout(
              x.layout,
              shapes.filter((d) => sizeOf(d) === x.layout.size)[c % 2] ?? [x.layout.size],
            );
            if (s !== undefined) live.push({ ...x, layout: s });
            break;
          }
          case 5:
            if (x.layout.shape.length > 1)
              live.push({
                ...x,
                layout: permuteLayout(x.layout, x.layout.shape.map((_, i) => i).reverse()),
              });
            break;
          case 6:
            if (x.layout.shape.length > 0 && x.layout.shape[0]! > 1)
              live.push({
                ...x,
                layout: sliceLayout(
                  "test",
                  x.layout,
                  0,
                  flag ? 1 : 0,
                  flag ? x.layout.shape[0]! : 1,
                  1,
                ),
              });
            break;
          case 7:
            if (
              fits(y, x.layout.shape) &&
              (y.storage !== x.storage || sameElements(x.layout, y.layout))
            )
              r.map([y], { target: x, index: flag && n % 3 === 0 });
            break;
          case 8:
            r.map([], { target: x });
            break;
          case 9:
            live.push(r.map([], { shape: shapes[c % shapes.length]!, pinned: false }));
            break;
          case 10:
            live.push(
              r.reduce(
                x,
                x.layout.shape.map((_, k) => (c >> k) % 2 === 0),
                pinned,
              ),
            );
            break;
          case 11:
            live.push(r.whole([x, y], shapes[c % 4]!, pinned));
            break;
          default: {
            const s = [2, ...x.layout.shape];
            if (x.layout.size <= 3)
              live.push(
                r.map([{ ...x, layout: broadcastLayout(x.layout, s) }], { shape: s, pinned }),
              );
          }
        }
      });
      // Somebody owns the last value.
      const last = live.at(-1)!;
      r.map([last], { pinned: true });
      return { program: r.build(), axes: r.axes };
    });

// === Running them element by element ===

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
function reference(program: Program, axes: ReadonlyMap<number, readonly boolean[]>): Memory {
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
    side: "before" | "after",
    at: readonly number[],
    n: number,
    registers: Map<number, number>,
  ): void => {
    for (const m of members) {
      if (m.side !== side) continue;
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
  const whole = members.find((m) => m.side === "whole");
  let results: number[] | undefined,
    result = -1;
  if (whole !== undefined) {
    const facts = program.ops[whole.op]!.fuse!,
      [operand] = facts.operands;
    result = facts.results[0]!.storage;
    results = wholeResult(program, whole.op, axes.get(whole.op), memory, (at) => {
      const registers = new Map<number, number>();
      run("before", at, -1, registers);
      return (
        registers.get(operand!.storage) ?? memory[operand!.storage]![place(whole.operands[0]!, at)]!
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
    run("after", at, n, registers);
    for (const s of stored) {
      const to =
          s === result &&
          !members.some((m) => m.side === "after" && program.ops[m.op]!.writes.includes(s))
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
function joined(
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
            side: facts.map ? "after" : "whole",
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

test("kernels compute what the ops do, element by element, and what is owned stays", () => {
  let merged = 0,
    gone = 0,
    befores = 0,
    afters = 0;
  fc.assert(
    fc.property(
      programs,
      fc.nat(11),
      fc.integer({ min: 2, max: 10 }),
      ({ program, axes }, shuffle, maxStorageBuffers) => {
        const made = fuse(program, { maxStorageBuffers }),
          { program: after, groups } = made,
          want = reference(program, axes),
          got = joined(program, made, axes, shuffle);
        // Every op once; owned storages are still written by whoever wrote them last.
        assert.equal(
          groups.flatMap((g) => g.members.map((m) => m.op)).sort((a, b) => a - b),
          program.ops.map((_, i) => i),
        );
        program.storages.forEach((s, i) => {
          if (s.pinned) assert.equal([...got[i]!], [...want[i]!], s.id);
        });
        groups.forEach((g, k) => {
          if (g.members.length === 1) return;
          merged += g.members.length - 1;
          befores += g.members.filter((m) => m.side === "before").length;
          afters += g.members.some((m) => m.side === "whole")
            ? g.members.filter((m) => m.side === "after").length
            : 0;
          assert.ok(
            new Set([...after.ops[k]!.reads, ...after.ops[k]!.writes]).size <= maxStorageBuffers,
          );
        });
        gone +=
          program.storages.length -
          new Set(after.ops.flatMap((o) => [...o.reads, ...o.writes])).size;
        plan(program).verify();
        plan(program, { fuse: true }).verify();
      },
    ),
    { numRuns: 2000, seed: 11 },
  );
  // The programs are such that all of it happens.
  for (const count of [merged, gone, befores, afters])
    assert.ok(
      count > 100,
      `${merged} joined, ${gone} values gone, ${befores} before, ${afters} after`,
    );
});

test("there are never more kernels or bytes, and the arithmetic stays", () => {
  fc.assert(
    fc.property(programs, ({ program }) => {
      const before = plan(program).report(),
        after = plan(program, { fuse: true }).report();
      assert.ok(after.dispatches <= before.dispatches);
      assert.ok(
        after.lowerBoundBytes <= before.lowerBoundBytes,
        `${after.lowerBoundBytes} live at once of ${before.lowerBoundBytes}`,
      );
      assert.is(after.flops, before.flops);
    }),
    { numRuns: 500, seed: 12 },
  );
});

// === By hand ===

const names = (program: Program, limits = {}): string[] =>
  fuse(program, limits).program.ops.map(
    (o) =>
      `${o.name}: ${o.reads.map((r) => program.storages[r]!.id).join(" ")} -> ${o.writes.map((w) => program.storages[w]!.id).join(" ")}`,
  );

test("a chain is one kernel, and nothing on the way needs memory", () => {
  const r = new Recorder(),
    x = r.tensor("input", [4, 4]);
  let t = x;
  for (let i = 0; i < 5; i++) t = r.map([t], { pinned: i === 4 });
  assert.equal(names(r.build()), ["map0+map1+map2+map3+map4: s0 -> s5"]);
});

test("a value that somebody owns is written by the kernel that goes on with it", () => {
  const chained = (owned: boolean): string[] => {
    const r = new Recorder(),
      y = r.map([r.tensor("input", [4], owned)], { pinned: true });
    r.map([y], { pinned: true });
    return names(r.build());
  };
  assert.equal(chained(true), ["map0+map1: s0 -> s1 s2"]);
  // Here one kernel would hold three values at once, two kernels hold two.
  assert.equal(chained(false), ["map0: s0 -> s1", "map1: s1 -> s2"]);
});

test("a diamond is one kernel; a path out of it and back keeps it apart", () => {
  const r = new Recorder(),
    x = r.tensor("input", [4]),
    a = r.map([x]),
    b = r.map([a]),
    c = r.map([a]);
  r.map([b, c], { pinned: true });
  assert.equal(names(r.build()), ["map0+map1+map2+map3: s0 -> s4"]);
  const q = new Recorder(),
    y = q.tensor("input", [4]),
    d = q.map([y]),
    e = q.whole([d], [4]);
  q.map([d, e], { pinned: true });
  assert.equal(names(q.build()), ["map0: s0 -> s1", "whole1+map2: s1 -> s3"]);
});

test("before and behind a reduction, behind a product", () => {
  const r = new Recorder(),
    x = r.tensor("input", [4, 8]),
    bias = r.tensor("param", [8], true),
    residual = r.tensor("input", [4, 8]);
  const product = r.whole([x, x], [4, 8]),
    biased = r.map([product, bias]),
    active = r.map([biased]),
    out = r.map([active, residual]);
  const squared = r.map([out]),
    total = r.reduce(squared, [false, true]);
  r.map([total], { pinned: true });
  assert.equal(names(r.build()), [
    "whole0+map1+map2+map3+map4: s0 s1 s2 -> s7",
    "reduce5+map6: s7 -> s9",
  ]);
  const q = new Recorder(),
    y = q.tensor("input", [4, 8]),
    z = q.map([y]),
    w = q.map([z, y]);
  q.map([q.reduce(w, [true, false])], { pinned: true });
  assert.equal(names(q.build()), ["map0+map1+reduce2+map3: s0 -> s4"]);
});

test("a transposed reader writes where it should; a broadcast one waits", () => {
  const r = new Recorder(),
    x = r.tensor("input", [2, 3]),
    product = r.whole([x], [2, 3]);
  r.map([{ ...product, layout: permuteLayout(product.layout, [1, 0]) }], { pinned: true });
  assert.equal(names(r.build()), ["whole0+map1: s0 -> s2"]);
  const q = new Recorder(),
    y = q.tensor("input", [3]),
    row = q.map([y]);
  q.map([{ ...row, layout: broadcastLayout(row.layout, [2, 3]) }], { pinned: true });
  assert.equal(names(q.build()), ["map0: s0 -> s1", "map1: s1 -> s2"]);
});

test("a number is computed by every thread that needs it", () => {
  const r = new Recorder(),
    x = r.tensor("input", [2, 3]),
    one = r.map([], { shape: [] }),
    half = r.map([one]);
  r.map([x, half], { pinned: true });
  assert.equal(names(r.build()), ["map0+map1+map2: s0 -> s3"]);
});

test("an update in place is the end of what computes it, once its parameter has been read", () => {
  const r = new Recorder(),
    x = r.tensor("input", [4, 4]),
    w = r.tensor("param", [4, 4], true),
    g = r.whole([x, x], [4, 4]);
  r.whole([x, w], [4, 4], true);
  r.map([g], { target: w, phase: "apply" });
  // The forward product must see the old parameter; the update belongs to another phase than the op
  // that made its gradient, so it stays apart.
  assert.equal(names(r.build()), ["whole0: s0 -> s2", "whole1: s0 s1 -> s3", "map2: s1 s2 -> s1"]);
  const ops = r.ops.map((o) => ({
    ...o,
    phase: o.phase === "apply" ? o.phase : ("calcGradient" as const),
  }));
  const backward = programFromJSON({
    ...r.build().toJSON(),
    ops: r
      .build()
      .toJSON()
      .ops.map((o, i) => ({ ...o, phase: ops[i]!.phase })),
  });
  assert.equal(names(backward), ["whole1: s0 s1 -> s3", "whole0+map2: s0 s1 -> s1"]);
});

test("no kernel binds more buffers than it may, or holds more ops", () => {
  const r = new Recorder(),
    inputs = Array.from({ length: 6 }, () => r.tensor("input", [4]));
  let t = inputs[0]!;
  for (const [i, x] of inputs.slice(1).entries()) t = r.map([t, x], { pinned: i === 4 });
  const program = r.build();
  assert.equal(names(program, { maxStorageBuffers: 7 }), [
    "map0+map1+map2+map3+map4: s0 s1 s2 s3 s4 s5 -> s10",
  ]);
  assert.is(names(program, { maxStorageBuffers: 4 }).length, 3);
  assert.is(names(program, { maxStorageBuffers: 2 }).length, 5);
  assert.is(names(program, { maxOps: 2 }).length, 3);
});

test("elements of another type, and uses without facts, stay apart", () => {
  const r = new Recorder(),
    x = r.tensor("input", [4]),
    a = r.map([x]);
  r.map([a], { pinned: true });
  const json = r.build().toJSON();
  const other = programFromJSON({
    ...json,
    ops: json.ops.map((o, i) =>
      i === 1
        ? {
            ...o,
            fuse: { ...o.fuse!, operands: o.fuse!.operands.map((p) => ({ ...p, type: "uint32" })) },
          }
        : o,
    ),
  });
  assert.is(names(other).length, 2);
  const unknown = programFromJSON({
    ...json,
    ops: json.ops.map(({ fuse: facts, ...o }, i) => (i === 1 ? o : { ...o, fuse: facts! })),
  });
  assert.is(names(unknown).length, 2);
});

test("facts survive the journey through JSON, and wrong ones are named", () => {
  const r = new Recorder(),
    x = r.tensor("input", [2, 3]);
  r.reduce(r.map([x], { index: true }), [true, false], true);
  const json = r.build().toJSON();
  assert.equal(programFromJSON(JSON.parse(JSON.stringify(json))).toJSON(), json);
  const broken: readonly (readonly [(fuse: Record<string, unknown>) => unknown, RegExp])[] = [
    [() => 3, /fuse of map0 to be an object, got 3/],
    [(f) => ({ ...f, map: "yes" }), /fuse.map of map0 to be true or false/],
    [(f) => ({ ...f, shape: [2, -3] }), /fuse.shape of map0 to be integers of 0 or more, got -3/],
    [(f) => ({ ...f, operands: [] }), /say how it uses every storage/],
    [(f) => ({ ...f, results: [] }), /say how it uses every storage/],
    [
      (f) => ({
        ...f,
        map: false,
        operands: [...(f["operands"] as unknown[]), ...(f["operands"] as unknown[])],
      }),
      /2 strides|0 strides|at most one operand/,
    ],
    [
      (f) => ({ ...f, operands: [{ storage: "s9", type: "float32", strides: [3, 1], offset: 0 }] }),
      /name storages the op uses, got "s9"/,
    ],
    [
      (f) => ({ ...f, operands: [{ storage: "s0", type: "float32", strides: [1], offset: 0 }] }),
      /2 strides/,
    ],
    [
      (f) => ({ ...f, operands: [{ storage: "s0", type: 1, strides: [3, 1], offset: 0 }] }),
      /types in fuse.operands of map0 to be strings/,
    ],
    [(f) => ({ ...f, index: 1 }), /fuse.index of map0 to be true or false/],
  ];
  for (const [change, pattern] of broken)
    assert.throws(
      () =>
        programFromJSON({
          ...json,
          ops: [
            {
              ...json.ops[0]!,
              fuse: change(json.ops[0]!.fuse as unknown as Record<string, unknown>),
            },
            json.ops[1]!,
          ],
        }),
      pattern,
    );
  assert.throws(
    () => plan(r.build(), { fuse: 1 as unknown as boolean }),
    /fuse to be true or false/,
  );
});

test("names are joined with repetitions counted; shapes are refined where one splits the other", () => {
  assert.is(fusedName(["matmul", "add", "add", "relu", "add"]), "matmul+add×2+relu+add");
  assert.equal(refineShapes([2, 12], [24]), [2, 12]);
  assert.equal(refineShapes([2, 12], [6, 4]), [2, 3, 4]);
  assert.equal(refineShapes([1, 4, 1], [4]), [4]);
  assert.is(refineShapes([4, 6], [6, 4]), undefined);
  assert.is(refineShapes([4], [5]), undefined);
});

test.run();
