/**
 * Random programs against a plain model: ops, aliases, views, in-place writes, reads and disposals
 * in any order must give the same bits as arrays in JavaScript, whether every op is flushed alone
 * or the program is planned as a whole. Arithmetic is on small integers, so it is exact.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, init, memory, newDisposeScope, noGrad, sync, tensor } from "tenure";
import { setup } from "../helpers.ts";

await setup();
const test = suite("random programs");

/** One step of a program; numbers pick tensors modulo how many there are. */
type Step =
  | { readonly kind: "make"; readonly seed: number }
  | { readonly kind: "unary"; readonly x: number; readonly op: "neg" | "relu" | "square" | "clone" }
  | {
      readonly kind: "binary";
      readonly x: number;
      readonly y: number;
      readonly op: "add" | "sub" | "maximum" | "matmul";
    }
  | {
      readonly kind: "view";
      readonly x: number;
      readonly op: "alias" | "transpose" | "row" | "flip";
    }
  | {
      readonly kind: "write";
      readonly x: number;
      readonly y: number;
      readonly op: "add_" | "sub_" | "copy_" | "fill_" | "addScalar_";
    }
  | { readonly kind: "read" | "dispose"; readonly x: number }
  | { readonly kind: "tick" | "sync" };

const nat = fc.nat(50);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("make" as const), seed: nat }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("unary" as const),
      x: nat,
      op: fc.constantFrom("neg" as const, "relu" as const, "square" as const, "clone" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("binary" as const),
      x: nat,
      y: nat,
      op: fc.constantFrom("add" as const, "sub" as const, "maximum" as const, "matmul" as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("view" as const),
      x: nat,
      op: fc.constantFrom("alias" as const, "transpose" as const, "row" as const, "flip" as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      x: nat,
      y: nat,
      op: fc.constantFrom(
        "add_" as const,
        "sub_" as const,
        "copy_" as const,
        "fill_" as const,
        "addScalar_" as const,
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("read" as const), x: nat }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("dispose" as const), x: nat }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("tick" as const, "sync" as const) }) },
);

/**
 * An array in JavaScript with strides over shared elements: what a tensor ought to be. All are
 * [2,2], or [1,2] for a row.
 */
interface Model {
  readonly bytes: Float32Array;
  readonly offset: number;
  readonly rows: number;
  readonly strides: readonly [number, number];
}
const size = (m: Model): number => m.rows * 2;
const get = (m: Model, i: number): number =>
  m.bytes[m.offset + Math.floor(i / 2) * m.strides[0] + (i % 2) * m.strides[1]]!;
const values = (m: Model): number[] => Array.from({ length: size(m) }, (_, i) => get(m, i));
const fresh = (v: readonly number[]): Model => ({
  bytes: Float32Array.from(v),
  offset: 0,
  rows: v.length / 2,
  strides: [2, 1],
});
/** The element of `m` that belongs to place `i` of a broadcast result with `rows` rows. */
const spread = (m: Model, i: number): number => get(m, m.rows === 1 ? i % 2 : i);
/** Keeps numbers small enough to be exact for ever. */
const wrap = (v: number): number => (Math.abs(v) > 4096 ? 0 : v);

interface Pair {
  readonly t: Tensor;
  readonly m: Model;
}
type Of<K extends Step["kind"]> = Extract<Step, { kind: K }>;

/** What is alive while a program runs, on both sides, and what was read. */
class Run {
  readonly live: Pair[] = [];
  readonly reads: Promise<Iterable<number>>[] = [];
  readonly want: number[][] = [];

  pick(n: number): Pair {
    return this.live[n % this.live.length]!;
  }

  add(t: Tensor, m: Model): void {
    this.live.push({ t, m });
  }

  read({ t, m }: Pair): void {
    this.reads.push(t.data());
    this.want.push(values(m));
  }
}

/** `wrap` of a tensor, which it takes. */
function small(t: Tensor): Tensor {
  using a = t.abs(),
    far = a.gt(4096),
    keep = far.logicalNot(),
    f = keep.float(),
    out = t.mul(f);
  t.dispose();
  return out.alias();
}

function unary(run: Run, s: Of<"unary">): void {
  const { t, m } = run.pick(s.x),
    f = {
      neg: (v: number) => -v,
      relu: (v: number) => Math.max(v, 0),
      square: (v: number) => wrap(v * v),
      clone: (v: number) => v,
    }[s.op];
  const out = t[s.op]();
  run.add(s.op === "square" ? small(out) : out, fresh(values(m).map(f)));
}

function binary(run: Run, s: Of<"binary">): void {
  const a = run.pick(s.x),
    b = run.pick(s.y);
  if (s.op === "matmul") {
    if (b.m.rows === 1) return;
    const v = Array.from({ length: size(a.m) }, (_, i) => {
      const r = Math.floor(i / 2),
        c = i % 2;
      return wrap(get(a.m, 2 * r) * get(b.m, c) + get(a.m, 2 * r + 1) * get(b.m, 2 + c));
    });
    run.add(small(a.t.matmul(b.t)), fresh(v));
    return;
  }
  const f = {
    add: (x: number, y: number) => wrap(x + y),
    sub: (x: number, y: number) => wrap(x - y),
    maximum: Math.max,
  }[s.op];
  const v = Array.from({ length: Math.max(size(a.m), size(b.m)) }, (_, i) =>
    f(spread(a.m, i), spread(b.m, i)),
  );
  run.add(s.op === "maximum" ? a.t.maximum(b.t) : small(a.t[s.op](b.t)), fresh(v));
}

function view(run: Run, s: Of<"view">): void {
  const { t, m } = run.pick(s.x);
  switch (s.op) {
    case "alias":
      run.add(t.alias(), m);
      break;
    case "transpose":
      if (m.rows === 2) run.add(t.transpose(), { ...m, strides: [m.strides[1], m.strides[0]] });
      break;
    case "row": {
      const k = s.x % m.rows;
      run.add(t.slice(0, k, k + 1), { ...m, offset: m.offset + k * m.strides[0], rows: 1 });
      break;
    }
    case "flip":
      if (m.rows === 2) {
        using v = t.permute(1, 0);
        run.add(v.permute(1, 0), m);
      }
      break;
  }
}

function write(run: Run, s: Of<"write">): void {
  const { t, m } = run.pick(s.x),
    b = run.pick(s.y);
  if (size(b.m) > size(m) || [...values(m), ...values(b.m)].some((v) => Math.abs(v) > 1024)) return;
  const right = Array.from({ length: size(m) }, (_, i) => spread(b.m, i)),
    left = values(m);
  const next = {
    add_: (i: number) => left[i]! + right[i]!,
    sub_: (i: number) => left[i]! - right[i]!,
    copy_: (i: number) => right[i]!,
    fill_: () => s.y,
    addScalar_: (i: number) => left[i]! + 1,
  }[s.op];
  const onTensor = (): Tensor => {
    if (s.op === "fill_") return t.fill_(s.y);
    return s.op === "addScalar_" ? t.add_(1) : t[s.op](b.t);
  };
  noGrad(() => {
    onTensor().dispose();
  });
  left
    .map((_, i) => next(i))
    .forEach((v, i) => {
      m.bytes[m.offset + Math.floor(i / 2) * m.strides[0] + (i % 2) * m.strides[1]] = v;
    });
}

/** One synchronous step of a program, on tensors and on the model. */
function take(run: Run, s: Step): void {
  switch (s.kind) {
    case "make": {
      const v = [0, 1, 2, 3].map((k) => ((s.seed * 7 + k * 5) % 11) - 5);
      run.add(tensor(v, { shape: [2, 2] }), fresh(v));
      break;
    }
    case "unary":
      unary(run, s);
      break;
    case "binary":
      binary(run, s);
      break;
    case "view":
      view(run, s);
      break;
    case "write":
      write(run, s);
      break;
    case "read":
      run.read(run.pick(s.x));
      break;
    case "tick":
    case "sync":
      break;
    case "dispose":
      if (run.live.length > 1) {
        const [gone] = run.live.splice(s.x % run.live.length, 1);
        gone!.t.dispose();
      }
      break;
  }
}

/**
 * Runs a program on tensors and on the model at once. @returns what all reads gave and what they
 * should have
 */
async function run(steps: readonly Step[]): Promise<{ got: number[][]; want: number[][] }> {
  const scope = newDisposeScope({ name: "program", root: true });
  const state = new Run();
  state.add(
    scope.run(() => tensor([1, 2, 3, 4], { shape: [2, 2] })),
    fresh([1, 2, 3, 4]),
  );
  for (const s of steps) {
    if (s.kind === "tick") await Promise.resolve();
    else if (s.kind === "sync") await sync();
    else
      scope.run(() => {
        take(state, s);
      });
  }
  for (const pair of state.live) state.read(pair);
  scope.dispose();
  return {
    got: (await Promise.all(state.reads)).map((r) => [...r].map((v) => v + 0)),
    want: state.want.map((w) => w.map((v) => v + 0)),
  };
}

test("planned as a whole and op by op, programs give what arrays give", async () => {
  const before = memory.stats();
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 40 }), async (steps) => {
        await init({ flush: "auto" });
        const planned = await run(steps);
        assert.equal(planned.got, planned.want);
        await init({ flush: "eachOp" });
        const single = await run(steps);
        assert.equal(single.got, planned.got);
      }),
      { numRuns: 60, seed: 7, endOnFailure: false },
    );
  } finally {
    await init({ flush: "auto" });
  }
  await sync();
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
  assert.is(after.storages, before.storages);
  assert.is(after.liveBytes, before.liveBytes);
  assert.is(memory.stats().poolBytes <= after.deviceBytes, true);
});

test.run();
