// node: --expose-gc
/**
 * What users of other libraries complain about, as far as no other file of this folder tests it
 * already; docs/ownership.md has the whole list.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import * as tenure from "tenure";
import { Tensor, memory, newDisposeScope, noGrad, ones, scoped, sync, tensor, zeros } from "tenure";
import * as nn from "tenure/nn";
import { Dropout, Linear, ReLU, Sequential } from "tenure/nn";
import { Adam, SGD } from "tenure/optim";
import { runtime } from "../../../src/runtime/runtime.ts";
import { setup, takeWarnings } from "./harness.ts";

const test = suite("complaints");
test.before(async () => {
  await setup();
  memory.track("off");
  runtime().settings.verifyPlans = false;
});
test.after(() => {
  memory.track("sampled");
});

function books(): number[] {
  const s = memory.stats();
  return [s.threadTotalLiveCount, s.storages, s.liveBytes];
}

/** Everything made while `fn` runs is gone afterwards. */
function leavesNothing(fn: () => void): void {
  const before = books();
  fn();
  assert.equal(books(), before);
}

function tensorsIn(value: unknown): Tensor[] {
  if (value instanceof Tensor) return [value];
  if (value instanceof Map) return tensorsIn([...value.values()]);
  if (Array.isArray(value)) return value.flatMap(tensorsIn);
  return typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype
    ? tensorsIn(Object.values(value))
    : [];
}

test("hidden temporaries in a chain end with the scope", () => {
  leavesNothing(() => {
    using labels = tensor([1, 0, 1]),
      scores = tensor([
        [0, 1],
        [1, 0],
        [0, 1],
      ]);
    using s = newDisposeScope();
    const accuracy = scores.argMax(1).eq(labels.to("int32")).to("float32").sum();
    assert.ok(s.contains(accuracy));
    assert.ok(s.count > 3);
  });
});

/** Arguments to try on a function; most do not fit most, which is the other half of the test. */
function attempts(x: Tensor, other: Tensor, whole: Tensor): unknown[][] {
  return [
    [],
    [other],
    [2],
    [0],
    [0, 1],
    [other, other],
    [whole],
    [0, whole],
    [0, whole, other],
    [[4]],
    [2, 2],
    ["float32"],
    [null, 1],
    [x, 0.5],
    [[1, 2]],
    [other.shape],
  ];
}

/**
 * Calls with all kinds of arguments: what comes back is all that is new, and a call that throws
 * leaves nothing.
 */
function checkCalls(name: string, call: (args: unknown[]) => unknown, args: unknown[][]): boolean {
  let worked = false;
  for (const a of args) {
    const before = books();
    let result: unknown;
    try {
      result = call(a);
    } catch {
      assert.equal(books(), before, `${name} threw and left something`);
      continue;
    }
    if (result instanceof Promise) {
      result.catch(() => undefined);
      continue;
    }
    const given = new Set(tensorsIn(a)),
      made = new Set(tensorsIn(result).filter((t) => !given.has(t)));
    if (made.size > 0) worked = true;
    assert.is(
      books()[0]! - before[0]!,
      made.size,
      `${name} made ${books()[0]! - before[0]!} handles for ${made.size} results`,
    );
    for (const t of made) t.dispose();
    assert.equal(books(), before, `${name} keeps something`);
  }
  return worked;
}

const apart = new Set([
  "constructor",
  "dispose",
  "backward",
  "registerHook",
  "moveTo",
  "moveToOuter",
  "detachFromScope",
  "data",
  "item",
  "toArray",
  "print",
  "toString",
]);

test("a tensor of another copy of the library is refused by name", () => {
  const brand = Symbol.for("tenure.tensor");
  const x = ones([2]);
  assert.ok(Reflect.has(x, brand));
  const foreign = { [brand]: true } as unknown as Tensor;
  using scope = newDisposeScope();
  for (const use of [
    () => x.add(foreign),
    () => tenure.concat([x, foreign]),
    () => scope.moveToOuter(foreign),
    () => scope.detach(foreign),
    () => scope.moveTo(null, foreign),
  ])
    assert.throws(
      use,
      (error: unknown) =>
        error instanceof tenure.ArgumentError &&
        /expected a tensor of this copy of tenure, got one that another copy made/.test(
          error.message,
        ),
    );
  x.dispose();
});

/** The methods of a class and of those it extends, by name; accessors are undefined. */
function methodsOf(prototype: object): Map<string, ((...args: unknown[]) => unknown) | undefined> {
  const base: unknown = Object.getPrototypeOf(prototype);
  const methods =
    typeof base === "object" && base !== null && base !== Object.prototype
      ? methodsOf(base)
      : new Map<string, ((...args: unknown[]) => unknown) | undefined>();
  for (const name of Object.getOwnPropertyNames(prototype))
    methods.set(
      name,
      Object.getOwnPropertyDescriptor(prototype, name)?.value as
        ((...args: unknown[]) => unknown) | undefined,
    );
  return methods;
}

for (const requiresGrad of [false, true]) {
  const mode = requiresGrad ? ", with gradients" : "";
  test(`no method of Tensor leaks, whether it returns or throws${mode}`, () => {
    leavesNothing(() => {
      const base = ones([2, 2], { requiresGrad }),
        x = requiresGrad ? base.mul(1) : base.alias(),
        other = ones([2, 2]),
        whole = zeros([2], { dtype: "int32" });
      let working = 0;
      for (const [name, method] of methodsOf(Tensor.prototype)) {
        if (typeof method !== "function" || apart.has(name)) continue;
        const own = (a: unknown[]): unknown =>
          name.endsWith("_") ? noGrad(() => method.apply(other, a)) : method.apply(x, a);
        if (checkCalls(name, own, attempts(x, other, whole))) working++;
      }
      assert.ok(working > 80, `${working} methods worked`);
      for (const t of [base, x, other, whole]) t.dispose();
    });
  });
}

test("no function of tenure and tenure/nn leaks, whether it returns or throws", () => {
  leavesNothing(() => {
    const x = ones([2, 2]),
      other = ones([2, 2]),
      whole = zeros([2], { dtype: "int32" });
    const functions = [
      ...Object.entries(nn.functional),
      ...(
        [
          "tensor",
          "zeros",
          "ones",
          "full",
          "arange",
          "linspace",
          "eye",
          "oneHot",
          "where",
          "rand",
          "randn",
          "randint",
          "concat",
          "stack",
        ] as string[]
      ).map((n) => [n, (tenure as Record<string, unknown>)[n]] as const),
    ];
    let working = 0;
    for (const [name, fn] of functions) {
      if (typeof fn !== "function") continue;
      if (
        checkCalls(name, (a) => (fn as (...args: unknown[]) => unknown)(...a), [
          ...attempts(x, other, whole).map((a) => [x, ...a]),
          ...attempts(x, other, whole),
          [x, x, x],
          [[x, other]],
          [whole, 3],
        ])
      )
        working++;
    }
    assert.ok(working > 12, `${working} functions worked`);
    for (const t of [x, other, whole]) t.dispose();
  });
});

test("a function that returns its input returns an alias, to be disposed alone", () => {
  using x = ones([2, 4]);
  using sequential = new Sequential(),
    dropout = new Dropout(0.5);
  dropout.eval();
  for (const out of [
    sequential.call(x),
    dropout.call(x),
    x.to("float32"),
    x.contiguous(),
    x.reshape(2, 4),
  ]) {
    assert.not(out === x);
    out.dispose();
    assert.is(x.isDisposed, false);
  }
});

test("a model and its optimizer leave nothing, with shared layers and after saving", () => {
  leavesNothing(() => {
    const shared = new Linear(4, 4);
    using a = new Sequential(shared, new ReLU()),
      b = new Sequential(shared, new Linear(4, 2));
    using optimizer = new Adam(new Set([...a.parameters(), ...b.parameters()]), { lr: 0.1 });
    for (let i = 0; i < 3; i++) {
      using _ = newDisposeScope();
      b.call(a.call(ones([1, 4])))
        .sum()
        .backward();
      optimizer.step();
    }
    const before = books();
    for (let i = 0; i < 3; i++) {
      using _ = newDisposeScope();
      optimizer.stateDict();
      b.stateDict();
    }
    assert.equal(books(), before);
  });
});

test("making a parameter of a tensor does not leak the tensor", () => {
  leavesNothing(() => {
    using _ = newDisposeScope();
    using w = ones([3]);
    w.requiresGrad = true;
    class Own extends nn.Module {
      readonly w = this.parameter("w", ones([3]));
      forward(x: Tensor): Tensor {
        return x.mul(this.w);
      }
    }
    using own = new Own();
    assert.is(own.parameters().length, 1);
  });
});

test("device memory is counted, does not grow with the shapes, and can be trimmed", async () => {
  await sync();
  await memory.trim();
  const { deviceBytes } = memory.stats(),
    sizes = Array.from({ length: 400 }, (_, i) => 1000 + i);
  for (const n of sizes) {
    using t = ones([n]);
    await t.data();
  }
  const grown = memory.stats().deviceBytes - deviceBytes;
  assert.ok(grown < 30 * 1400 * 4, `400 shapes of 4 to 5.6 KB hold ${grown} bytes`);
  assert.ok(memory.stats().poolBytes > 0);
  assert.ok((await memory.trim()) > 0);
  assert.is(memory.stats().poolBytes, 0);
});

test("cleaning up one model touches no other: nothing disposes more than a scope", () => {
  leavesNothing(() => {
    using first = new Linear(2, 2);
    const kept = scoped((s) => {
      const second = s.use(new Linear(2, 2));
      return second.call(ones([1, 2]));
    });
    assert.is(kept.isDisposed, false);
    assert.is(
      first.parameters().some((p) => p.isDisposed),
      false,
    );
    using s = newDisposeScope();
    zeros([1]);
    s.disposeEverything();
    assert.is(kept.isDisposed, false);
    kept.dispose();
  });
});

test("keeping is per scope and exact: no global keep list grows", () => {
  leavesNothing(() => {
    using outer = newDisposeScope();
    const t = zeros([1]);
    for (let i = 0; i < 100; i++) {
      using s = newDisposeScope();
      s.attach(t);
      s.disposeEverythingBut(t);
      s.moveToOuter(t);
    }
    assert.equal(outer.tensors(), [t]);
  });
});

test("a loop with Momentum is flat", () => {
  using w = ones([2], { requiresGrad: true });
  using optimizer = new SGD([w], { lr: 0.1, momentum: 0.9 });
  const step = (): void => {
    using _ = newDisposeScope();
    w.square().sum().backward();
    optimizer.step();
    optimizer.zeroGrad();
  };
  step();
  const before = books();
  for (let i = 0; i < 20; i++) step();
  assert.equal(books(), before);
  assert.equal(takeWarnings(), []);
});

test.run();
