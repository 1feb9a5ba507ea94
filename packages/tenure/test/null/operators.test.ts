/**
 * What the language and its tools do with a tensor: printing, JSON and text give its description,
 * operators are refused, and nothing is read, made or lost.
 */
import { inspect } from "node:util";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, DTypeError, GradError, checkpoint, grad, init, memory, ones } from "tenure";
import { gradcheck, installTestHooks } from "tenure/testing";
import { Linear } from "tenure/nn";

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
