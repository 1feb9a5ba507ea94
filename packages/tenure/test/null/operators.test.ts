/**
 * What the language and its tools do with a tensor: printing, JSON and text give its description,
 * operators are refused, and nothing is read, made or lost.
 */
import { inspect } from "node:util";
import { AssertionError, deepEqual, deepStrictEqual } from "node:assert";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DTypeError,
  DisposedError,
  GradError,
  checkpoint,
  grad,
  init,
  memory,
  newDisposeScope,
  ones,
  tensor,
} from "tenure";
import { gradcheck, installTestHooks } from "tenure/testing";
import { Linear, TransformerEncoderLayer } from "tenure/nn";
import { SGD, clipGradNorm } from "tenure/optim";

await init({ device: "null" });
installTestHooks();
const test = suite("operators");
const loose = (value: unknown): number => value as number;

test("console.log shows a tensor and a module's weights in a line each", () => {
  using x = ones([2, 3]);
  assert.is(inspect(x), "tensor float32 [2,3]");
  assert.is(
    inspect({ x, list: [x] }),
    "{ x: tensor float32 [2,3], list: [ tensor float32 [2,3] ] }",
  );
  using layer = new Linear(2, 1);
  assert.match(inspect(layer), /weight: tensor "weight" float32 \[1,2\],\n? *bias: tensor "bias"/);
  x.dispose();
  assert.is(inspect(x), "tensor float32 [2,3] (disposed)");
});

test("JSON and templates say what it is", () => {
  using x = ones([2]);
  assert.is(JSON.stringify({ x }), '{"x":"tensor float32 [2]"}');
  assert.is(`${loose(x)}`, "tensor float32 [2]");
});

test("operators are refused with the method to call, and keep the tensor", () => {
  const before = memory.stats().threadTotalLiveCount;
  using x = ones([2]);
  const uses: (() => unknown)[] = [
    () => loose(x) * 2,
    () => loose(x) + 1,
    () => 0 + loose(x),
    () => loose(x) < 1,
    () => Number(x),
    () => Math.max(0, loose(x)),
  ];
  for (const use of uses)
    assert.throws(
      use,
      (error: unknown) =>
        error instanceof ArgumentError &&
        /^Tensor: expected a method such as .*got an operator on tensor float32 \[2\];/.test(
          error.message,
        ),
    );
  assert.not(x.isDisposed);
  assert.is(memory.stats().threadTotalLiveCount, before + 1);
});

test("a tensor goes to no other thread, and says what to send", () => {
  using x = ones([2]);
  using layer = new Linear(2, 1);
  const { port1, port2 } = new MessageChannel();
  for (const use of [
    () => structuredClone(x),
    () => structuredClone({ deep: [layer.weight] }),
    () => {
      port1.postMessage(x);
    },
  ])
    assert.throws(
      use,
      (error: unknown) =>
        error instanceof DOMException &&
        error.name === "DataCloneError" &&
        /stays on the device of its thread;.* send await t\.data\(\), with t\.shape/.test(
          error.message,
        ),
    );
  port1.close();
  port2.close();
});

test("no two tensors are equal to what compares properties, which sees and prints few", () => {
  using a = ones([2, 3]);
  using b = ones([2, 3]);
  using view = a.alias();
  const before = memory.stats().threadTotalLiveCount;
  const comparisons: ((left: unknown, right: unknown) => void)[] = [deepEqual, deepStrictEqual];
  for (const other of [b, view])
    for (const compare of comparisons)
      for (const [left, right] of [
        [a, other],
        [{ deep: [a] }, { deep: [other] }],
      ])
        assert.throws(
          () => {
            compare(left, right);
          },
          (error: unknown) =>
            error instanceof AssertionError &&
            /compare or send await t\.data\(\)/.test(error.message) &&
            error.message.length < 1000,
        );
  assert.not.equal(a, b);
  deepStrictEqual({ deep: [a] }, { deep: [a] });
  assert.equal({ deep: [a] }, { deep: [a] });
  assert.equal(Reflect.ownKeys(a), ["stays"]);
  assert.is(memory.stats().threadTotalLiveCount, before);
});

test("every weight of layers within layers is known by the line that made the outermost", () => {
  memory.track("full");
  using layer = new TransformerEncoderLayer(4, 1);
  const [group, ...others] = memory.live();
  memory.track("sampled");
  assert.equal(others, []);
  assert.match(group!.key, "operators.test.ts:");
  assert.is(group!.count, layer.parameters().length);
});

test("what makes proxies of plain objects, as Vue does, leaves tensors, models, optimizers", () => {
  using layer = new Linear(2, 1);
  using optimizer = new SGD(layer.parameters(), { lr: 1 });
  assert.equal(
    [layer.weight, layer, optimizer].map((it) => Object.prototype.toString.call(it)),
    ["[object Tensor]", "[object Module]", "[object Optimizer]"],
  );
});

test("for…of and destructuring go along the first dimension, in the scope of each turn", () => {
  using x = tensor([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const before = memory.stats().threadTotalLiveCount;
  for (using row of x) assert.equal(row.shape, [3]);
  assert.is(memory.stats().threadTotalLiveCount, before);
  {
    using scope = newDisposeScope();
    const [first] = x;
    assert.equal(first?.shape, [3]);
    assert.is(scope.count, 1); // the second was not made
    assert.is(Array.from(x).length, 2);
    assert.is(scope.count, 3);
  }
  assert.is(memory.stats().threadTotalLiveCount, before);
});

test("a number has no rows, a disposed tensor none any more, and rows are no parameters", () => {
  using x = ones([2]);
  using number = x.sum();
  const before = memory.stats().threadTotalLiveCount;
  assert.throws(() => [...number], /^iterator: expected .*got \[\]; .*t\.item\(\), and compare/);
  for (const use of [() => new SGD(x as never, { lr: 1 }), () => clipGradNorm(x as never, 1)])
    assert.throws(
      use,
      (error: unknown) =>
        error instanceof ArgumentError && /got a Tensor; pass/.test(error.message),
    );
  assert.is(memory.stats().threadTotalLiveCount, before);
  const rows = x[Symbol.iterator]();
  rows.next().value?.dispose();
  x.dispose();
  assert.throws(
    () => rows.next(),
    (error: unknown) => error instanceof DisposedError,
  );
});

test("a device where a dtype belongs is told that there is one device", () => {
  using layer = new Linear(2, 1);
  for (const use of [
    () => layer.to("cuda" as never),
    () => layer.parameters()[0]?.to("cpu" as never),
  ])
    assert.throws(
      use,
      (error: unknown) =>
        error instanceof DTypeError && /; leave it out: all tensors are on/.test(error.message),
    );
});

test("functions that return no tensor are told what they returned", async () => {
  using x = ones([2]);
  const wrong = (async () => 1) as never;
  const told = (error: unknown) =>
    error instanceof GradError && /returns (a|one) tensor, got a Promise;/.test(error.message);
  assert.throws(() => grad(wrong)(x), told);
  assert.throws(() => checkpoint(wrong, x), told);
  try {
    await gradcheck(wrong, [{ shape: [1], values: [1] }]);
    assert.unreachable();
  } catch (error) {
    assert.ok(told(error), String(error));
  }
});

test.run();
