/**
 * Modules as owners: what frees parameters, what registers, and states that go from one module to
 * another.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DisposedError,
  ShapeError,
  Tensor,
  TenureError,
  memory,
  newDisposeScope,
  ones,
  randn,
  scoped,
  zeros,
} from "tenure";
import { Conv2d, Dropout, Linear, Module, ReLU, Sequential } from "tenure/nn";
import { assertClose, assertNoLeaks } from "tenure/testing";
import { count, pattern, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("modules as owners");

const values = async (t: Tensor): Promise<number[]> => [...(await t.data())];
/** Reads a fresh tensor and frees it. */

test("a scope never frees weights; disposing the module frees them and its children", async () => {
  const before = memory.stats();
  const net = scoped(() => new Sequential(new Linear(2, 3), new Linear(3, 1)));
  {
    using _ = newDisposeScope();
    net.call(ones([4, 2]));
  }
  const [p] = net.parameters();
  assert.is(memory.stats().threadTotalLiveCount, before.threadTotalLiveCount + 4);
  await assertNoLeaks(async () => {
    using x = ones([4, 2]),
      y = net.call(x);
    await y.data();
  });
  net.dispose();
  assert.ok(net.isDisposed && p!.isDisposed && net.layers[1]!.isDisposed);
  net.dispose();
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, before.threadTotalLiveCount);
  assert.is(after.storages, before.storages);
  using x = ones([4, 2]);
  await rejects(
    () => net.call(x),
    TenureError,
    /^Sequential: expected a live module, got one that was disposed/,
  );
});

test("a scope that owns a module frees it", () => {
  const before = memory.stats().threadTotalLiveCount;
  {
    using s = newDisposeScope();
    s.use(new Linear(2, 2));
  }
  assert.is(memory.stats().threadTotalLiveCount, before);
});

class Two extends Module {
  readonly branches = [new Linear(2, 2), new Linear(2, 2)];
  readonly shift: Tensor;
  readonly scale: Tensor;
  constructor() {
    super();
    this.shift = this.parameter("shift", zeros([2]));
    this.scale = this.buffer("scale", ones([2]));
  }
  forward(x: Tensor): Tensor {
    return scoped(() =>
      this.branches
        .map((b) => b.call(x))
        .reduce((a, b) => a.add(b))
        .mul(this.scale)
        .add(this.shift),
    );
  }
  take(name: string, t: Tensor): Tensor {
    return this.parameter(name, t);
  }
}

test("modules of users: fields, arrays of modules, buffers", async () => {
  using net = new Two();
  assert.equal(
    [...net.namedParameters()].map(([n]) => n),
    ["shift", "branches.0.weight", "branches.0.bias", "branches.1.weight", "branches.1.bias"],
  );
  assert.equal(
    [...net.namedBuffers()].map(([n]) => n),
    ["scale"],
  );
  assert.not(net.scale.requiresGrad);
  using x = ones([3, 2]);
  {
    using loss = scoped(() => net.call(x).sum());
    loss.backward();
  }
  assert.ok(net.parameters().every((p) => p.hasGrad));
  net.zeroGrad();
  assert.ok(net.parameters().every((p) => !p.hasGrad));
});

test("what cannot be registered is refused and stays with its owner", async () => {
  using net = new Two(),
    t = zeros([1]);
  await rejects(
    () => net.take("shift", t),
    ArgumentError,
    /^Two: expected a name that is not taken, got "shift"/,
  );
  await rejects(
    () => net.take("a.b", t),
    ArgumentError,
    /^Two: expected a name without dots, got "a\.b"/,
  );
  await rejects(
    () => net.take("other", net.shift),
    TenureError,
    pattern`^Two: expected a tensor nobody else keeps, got tensor "shift" float32 \[2\] of Two;
      register an alias\(\) to share it`,
  );
  assert.not(t.isDisposed);
  const gone = zeros([1]);
  gone.dispose();
  await rejects(() => net.take("late", gone), DisposedError, /^Two: /);
  await rejects(
    () => new Linear(0, 2),
    ArgumentError,
    /^Linear: expected inFeatures to be a positive integer, got 0/,
  );
  await rejects(
    () => new Conv2d(3, 4, 3, { groups: 2 }),
    ArgumentError,
    /^Conv2d: expected groups that divide both channel counts, got 2 for 3 and 4/,
  );
  await rejects(
    () => new Dropout(1),
    ArgumentError,
    /^Dropout: expected a probability in \[0, 1\), got 1/,
  );
  await rejects(
    () => new Sequential(3 as never),
    ArgumentError,
    /^Sequential: expected modules, got 3; pass layers/,
  );
  await rejects(
    () => new Sequential([gone] as never),
    ArgumentError,
    /^Sequential: expected modules, got an array; spread the list: new Sequential\(\.\.\.layers\)/,
  );
});

test("Sequential frees what layers hand on, and takes ones that return their input", async () => {
  class Same extends Module {
    forward(x: Tensor): Tensor {
      return x;
    }
  }
  using x = ones([2, 2]);
  for (const net of [
    new Sequential(),
    new Sequential(new Same()),
    new Sequential(new ReLU(), new Same(), new Same(), new ReLU()),
    new Sequential(new ReLU(), new Same()),
  ]) {
    await assertNoLeaks(async () => {
      using y = net.call(x);
      assert.is.not(y, x);
      await assertClose(y, [1, 1, 1, 1], 0);
    });
    net.dispose();
  }
  assert.not(x.isDisposed);
});

test("state goes from one module to another, bit by bit", async () => {
  using a = new Two(),
    b = new Two(),
    x = randn([3, 2]);
  {
    using _ = newDisposeScope();
    b.loadStateDict(a.stateDict());
  }
  assertNoLeaks(() => {
    using kept = a.stateDict();
    b.loadStateDict(kept);
    const first = kept.get("shift")!;
    kept.dispose();
    assert.is(kept.size, 0);
    assert.ok(first.isDisposed);
  });
  using ya = a.call(x),
    yb = b.call(x);
  assert.equal(await values(ya), await values(yb));
  const state = await assertNoLeaks(async () => {
    using _ = newDisposeScope();
    const entries = [...a.stateDict()].map(([name, t]) => [name, t.shape, t.data()] as const);
    _.dispose();
    return new Map(
      await Promise.all(
        entries.map(
          async ([name, shape, data]) =>
            [name, { shape, data: (await data) as Float32Array }] as const,
        ),
      ),
    );
  });
  assert.equal(
    [...state.keys()],
    [
      "shift",
      "branches.0.weight",
      "branches.0.bias",
      "branches.1.weight",
      "branches.1.bias",
      "scale",
    ],
  );
  using c = new Two();
  c.loadStateDict(state);
  using yc = c.call(x);
  assert.equal(await values(yc), await values(ya));
  assert.ok(c.parameters().every((p) => p.requiresGrad && p.isLeaf));
});

test("a state that does not fit changes nothing", async () => {
  using net = new Two();
  const all = async (): Promise<number[][]> =>
      Promise.all([...net.parameters(), ...[...net.namedBuffers()].map(([, t]) => t)].map(values)),
    before = await all();
  const fresh = (): Map<string, { data: Float32Array; shape: readonly number[] }> => {
    const entries = [...net.namedParameters(), ...net.namedBuffers()].map(
      ([n, p]) => [n, { data: new Float32Array(count(p.shape)).fill(9), shape: p.shape }] as const,
    );
    return new Map<string, { data: Float32Array; shape: readonly number[] }>(entries);
  };
  const live = memory.stats();
  const missing = fresh(),
    extra = fresh(),
    shape = fresh(),
    short = fresh();
  missing.delete("scale");
  extra.set("other", { data: new Float32Array(1), shape: [1] });
  shape.set("scale", { data: new Float32Array(4), shape: [2, 2] });
  short.set("scale", { data: new Float32Array(1), shape: [2] });
  await rejects(
    () => {
      net.loadStateDict(missing);
    },
    ArgumentError,
    /^loadStateDict: expected exactly the names of this module, got no scale/,
  );
  await rejects(
    () => {
      net.loadStateDict(extra);
    },
    ArgumentError,
    /got unknown other/,
  );
  await rejects(
    () => {
      net.loadStateDict(shape);
    },
    ShapeError,
    /^loadStateDict: expected scale of shape \[2\], got \[2,2\]/,
  );
  await rejects(
    () => {
      net.loadStateDict(short);
    },
    ShapeError,
    /got \[2\] with 2/,
  );
  const gone = zeros([2]);
  gone.dispose();
  await rejects(() => {
    net.loadStateDict(
      new Map<string, Tensor | { data: Float32Array; shape: readonly number[] }>([
        ...fresh(),
        ["scale", gone],
      ]),
    );
  }, DisposedError);
  assert.equal(await all(), before);
  const after = memory.stats();
  assert.is(after.threadTotalLiveCount, live.threadTotalLiveCount);
  assert.is(after.storages, live.storages);
});

test("loading keeps recorded graphs honest", async () => {
  using net = new Linear(2, 1),
    x = ones([1, 2]);
  using y = net.call(x),
    loss = y.square();
  net.loadStateDict(
    new Map([
      ["weight", { data: new Float32Array(2), shape: [1, 2] }],
      ["bias", { data: new Float32Array(1), shape: [1] }],
    ]),
  );
  loss.backward(); // needs the input and the result, neither of which was loaded
  assert.ok(net.weight.hasGrad);
  assert.instance(net.weight, Tensor);
});

test.run();
