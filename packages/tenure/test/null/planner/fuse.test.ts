/**
 * Fusing ops into kernels, without a GPU: random programs over views of all kinds are run element
 * by element, op by op and then kernel by kernel as the groups say, threads in any order. Both must
 * give the same. The oracle knows layouts and nothing of the pass.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Program, plan, programFromJSON } from "tenure/scheduler";
import { broadcastLayout, permuteLayout, refineShapes } from "../../../src/base/layout.ts";
import { fusedName } from "../../../src/planner/fuse/merge.ts";
import { fuse } from "../../../src/planner/passes/fuse.ts";
import { Recorder, programs } from "./recorder.ts";
import { fused, reference } from "./fuse-oracle.ts";

const test = suite("fusing");

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
          got = fused(program, made, axes, shuffle);
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
          befores += g.members.filter((m) => m.section === "prologue").length;
          afters += g.members.some((m) => m.section === "main")
            ? g.members.filter((m) => m.section === "epilogue").length
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

const names = (program: Program, limits = {}): string[] => {
  const ids = (list: readonly number[]): string =>
    list.map((s) => program.storages[s]!.id).join(" ");
  return fuse(program, limits).program.ops.map(
    ({ name, reads, writes }) => `${name}: ${ids(reads)} -> ${ids(writes)}`,
  );
};

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

test("names count repetitions; shapes are refined where one splits the other", () => {
  assert.is(fusedName(["matmul", "add", "add", "relu", "add"]), "matmul+add×2+relu+add");
  assert.equal(refineShapes([2, 12], [24]), [2, 12]);
  assert.equal(refineShapes([2, 12], [6, 4]), [2, 3, 4]);
  assert.equal(refineShapes([1, 4, 1], [4]), [4]);
  assert.is(refineShapes([4, 6], [6, 4]), undefined);
  assert.is(refineShapes([4], [5]), undefined);
});

test.run();
