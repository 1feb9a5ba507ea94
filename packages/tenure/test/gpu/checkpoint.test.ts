/**
 * Checkpointed functions, gradient hooks and ops of users: same gradients as without, nothing kept,
 * nothing leaked.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Tensor,
  ArgumentError,
  GradError,
  checkpoint,
  defineOp,
  grad,
  manualSeed,
  memory,
  newDisposeScope,
  ones,
  randn,
  scoped,
  scopedAsync,
  tensor,
} from "tenure";
import { BatchNorm1d, Dropout, Linear, ReLU, Sequential } from "tenure/nn";
import { gradcheck } from "tenure/testing";
import { rejects, setup } from "../helpers.ts";

const test = suite("checkpoint, hooks, custom ops");
test.before(async () => {
  await setup();
});

test("gradients, dropout included, are bit-equal with and without checkpoint", async () => {
  using block = new Sequential(new Linear(6, 8), new ReLU(), new Dropout(0.5), new Linear(8, 6));
  const run = async (wrap: boolean): Promise<ArrayLike<number>[]> => {
    manualSeed(7);
    const reads: Promise<ArrayLike<number>>[] = [];
    {
      using _scope = newDisposeScope();
      const x = tensor(
        [
          [1, 2, 3, 4, 5, 6],
          [6, 5, 4, 3, 2, 1],
        ],
        { requiresGrad: true },
      );
      const forward = (t: Tensor): Tensor =>
        wrap ? checkpoint((u) => block.call(u), t) : block.call(t);
      const loss = forward(forward(x).tanh()).square().sum();
      block.zeroGrad();
      loss.backward();
      reads.push(loss.data(), x.grad!.data(), ...block.parameters().map((p) => p.grad!.data()));
    }
    return Promise.all(reads);
  };
  const plain = await run(false),
    again = await run(true);
  assert.is(plain.length, again.length);
  plain.forEach((values, i) => {
    assert.equal([...Array.from(again[i]!)], [...Array.from(values)]);
  });
});

for (const momentum of [0.1, null]) {
  test(`running statistics move once, not in the second run (momentum ${momentum})`, async () => {
    const run = async (wrap: boolean): Promise<number[][]> => {
      manualSeed(11);
      using block = new Sequential(new Linear(3, 4), new BatchNorm1d(4, { momentum }), new ReLU());
      const reads: Promise<ArrayLike<number>>[] = [];
      for (let step = 0; step < 2; step++) {
        using _scope = newDisposeScope();
        const x = randn([5, 3]),
          forward = (t: Tensor): Tensor =>
            wrap ? checkpoint((u) => block.call(u), t) : block.call(t);
        block.zeroGrad();
        forward(x).square().sum().backward();
        reads.push(
          ...block.parameters().map((p) => p.grad!.data()),
          ...[...block.namedBuffers()].map(([, b]) => b.data()),
        );
      }
      return (await Promise.all(reads)).map((r) => Array.from(r));
    };
    const plain = await run(false),
      again = await run(true);
    assert.equal(again, plain);
    assert.equal(again.at(-1), [2], "batches counted");
  });
}

test("a checkpoint keeps its inputs and nothing else", () => {
  using _scope = newDisposeScope();
  const x = tensor(new Float32Array(64), { requiresGrad: true });
  const storages = (): number => memory.stats().storages;
  const chain = (t: Tensor): Tensor =>
    scoped(() => {
      let y = t;
      for (let i = 0; i < 10; i++) y = y.exp();
      return y;
    });
  const before = storages();
  const plain = chain(x),
    kept = storages() - before;
  const marked = checkpoint(chain, x),
    small = storages() - before - kept;
  assert.is(kept, 10);
  assert.is(small, 1);
  plain.dispose();
  marked.dispose();
  assert.is(storages(), before);
});

test("tensors reached by closure get their gradients, also when they were computed", () =>
  scopedAsync(async () => {
    const a = tensor([2, 3], { requiresGrad: true }),
      b = a.square();
    const y = checkpoint((t) => t.mul(b).mul(a), a); // a·a²·a = a⁴
    y.sum().backward();
    assert.equal(await a.grad!.toArray(), [32, 108]);
  }));

test("an input given twice, an input that needs no gradient, a function that does nothing", () =>
  scopedAsync(async () => {
    const a = tensor([2, 3], { requiresGrad: true }),
      c = tensor([5, 7]);
    checkpoint((x, y, z) => x.mul(y).mul(z), a, a, c)
      .sum()
      .backward();
    assert.equal(await a.grad!.toArray(), [20, 42]);
    assert.not(checkpoint((x) => x.add(1), c).requiresGrad);
    const same = checkpoint((x) => x, a);
    assert.ok(same.requiresGrad && same !== a);
  }));

test("a checkpoint says what it cannot do", () =>
  scopedAsync(async () => {
    const a = tensor([1, 2], { requiresGrad: true });
    await rejects(
      () => checkpoint((() => [a]) as never, a),
      GradError,
      /checkpoint: expected a function that returns one tensor/,
    );
    await rejects(
      () => grad((t: Tensor) => checkpoint((x) => x.square(), t).sum(), { createGraph: true })(a),
      GradError,
      /createGraph/,
    );
  }));

test("hooks see complete gradients and may replace them", () =>
  scopedAsync(async () => {
    const a = tensor([1, 2], { requiresGrad: true }),
      b = a.mul(3);
    const seen: Promise<unknown>[] = [];
    const hook = b.registerHook((g) => {
      seen.push(g.toArray());
      return g.mul(10);
    });
    a.registerHook((g) => {
      seen.push(g.toArray());
      return undefined;
    });
    const both = b.add(b);
    both.sum().backward(undefined, { retainGraph: true });
    assert.equal(await Promise.all(seen), [
      [2, 2],
      [60, 60],
    ]);
    assert.equal(await a.grad!.toArray(), [60, 60]);
    hook[Symbol.dispose]();
    a.grad = null;
    both.sum().backward();
    assert.equal(await a.grad!.toArray(), [6, 6]);
    const c = tensor([1], { requiresGrad: true });
    c.registerHook(() => ones([2]));
    await rejects(
      () => {
        c.mul(2).backward();
      },
      Error,
      /registerHook: expected a gradient of shape \[1\], got \[2\]/,
    );
  }));

test("an elementwise op of a user is recorded, differentiated and owned like others", async () => {
  const squash = defineOp({
    name: "squash",
    inputs: 2,
    scalars: 1,
    expression: "r0 = s0 * a0 / (1.0 + abs(a1));",
    vjp: ({ grad, inputs: [x, y], scalars: [k] }) => {
      const d = y!.abs().add(1);
      return [grad.mul(k!).div(d), grad.mul(x!).mul(-k!).mul(y!.sign()).div(d.square())];
    },
  });
  await gradcheck(
    (x, y) => squash(x, y, 2),
    [
      { shape: [2, 3], values: [1, -2, 3, 0.5, 1.5, -1] },
      { shape: [3], values: [0.5, -1.5, 2] },
    ],
  );
  const misses = memory.debug().planMisses;
  const at = async (k: number): Promise<number> => {
    using x = ones([4]);
    using y = squash(x, x, k);
    using s = y.sum();
    return await s.item();
  };
  assert.equal([await at(2), await at(4), await at(6)], [4, 8, 12]);
  assert.is(memory.debug().planMisses, misses + 1); // the number is a uniform
});

test("a kernel of a user runs with its own launch and params", () =>
  scopedAsync(async () => {
    const reverse = defineOp({
      name: "reverseRow",
      inputs: 1,
      kernel: ([x]) => ({
        wgsl: `struct P { n: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < p.n) { y[id.x] = x[p.n - 1u - id.x]; }
}`,
        workgroups: [Math.ceil(x!.shape[0]! / 64), 1, 1],
        params: [x!.shape[0]!],
      }),
      vjp: ({ grad }) => [reverse(grad)],
    });
    const x = tensor(
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      { requiresGrad: true },
    );
    const column = x.select(1, 1); // a strided view: made contiguous for the kernel
    const y = reverse(column);
    assert.equal(await y.toArray(), [6, 4, 2]);
    y.mul(tensor([1, 10, 100]))
      .sum()
      .backward();
    assert.equal(await x.grad!.toArray(), [
      [0, 100],
      [0, 10],
      [0, 1],
    ]);
  }));

test("definitions and calls that can't work are refused", async () => {
  await rejects(
    () => defineOp({ name: "a b", inputs: 1, expression: "r0 = a0;" }),
    ArgumentError,
    /name of letters/,
  );
  await rejects(
    () => defineOp({ name: "nothing", inputs: 1 }),
    ArgumentError,
    /either an expression or a kernel, got neither/,
  );
  const twice = defineOp({ name: "twice", inputs: 1, expression: "r0 = a0 + a0;" });
  await rejects(
    () => twice(3),
    ArgumentError,
    /twice: expected 1 tensors and 0 numbers, got number/,
  );
});

test.run();
