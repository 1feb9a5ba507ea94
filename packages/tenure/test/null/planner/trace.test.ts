/**
 * Tracing without a device: what is recorded is what a step does, nothing of it runs or stays, and
 * the program can be planned.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  AsyncScopeError,
  TenureError,
  memory,
  newDisposeScope,
  randn,
  tensor,
  zeros,
} from "tenure";
import { Linear, ReLU, Sequential, functional } from "tenure/nn";
import { SGD } from "tenure/optim";
import { type Program, plan, programFromJSON, trace } from "tenure/scheduler";
import { rejects } from "../../helpers.ts";

const test = suite("trace");

function traceStep(): Program {
  using model = new Sequential(new Linear(8, 16), new ReLU(), new Linear(16, 4));
  using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  using x = randn([32, 8]),
    y = tensor(new Int32Array(32));
  return trace(() => {
    const loss = functional.crossEntropy(model.call(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  });
}

test("a training step becomes a program with phases, layers and roles", () => {
  const before = memory.stats().threadTotalLiveCount,
    program = traceStep();
  assert.is(memory.stats().threadTotalLiveCount, before);
  assert.equal(
    new Set(program.ops.map((o) => o.phase)),
    new Set(["forward", "calcGradient", "calcDerivative", "apply"]),
  );
  assert.is(program.storages.filter((s) => s.role === "param").length, 4);
  assert.is(program.storages.filter((s) => s.role === "state").length, 4);
  assert.is(program.storages.filter((s) => s.role === "input").length, 2);
  const layers = plan(program).report().layers;
  assert.equal(
    layers.filter((l) => l.trainable).map((l) => l.forward),
    [0, 2],
  );
  assert.ok(
    program.ops
      .filter((o) => o.phase === "apply" && o.reads.length > 0)
      .every((o) => o.reads.some((r) => program.storages[r]!.role === "param")),
  );
  const planned = plan(program),
    again = plan(programFromJSON(JSON.parse(JSON.stringify(program))));
  planned.verify();
  assert.is(again.report().plannedBytes, planned.report().plannedBytes);
  assert.ok(planned.report().plannedBytes < planned.report().naiveBytes);
});

test("the same step gives the same program", () => {
  assert.equal(traceStep().toJSON(), traceStep().toJSON());
});

test("what was made inside has no contents, and says so", async () => {
  let read: Promise<unknown>;
  {
    using kept = newDisposeScope();
    let inside: ReturnType<typeof zeros> | undefined;
    trace(() => {
      inside = kept.enter(() => zeros([4]).add(1));
    });
    read = inside!.data().catch((error: unknown) => error);
  }
  const error = await read;
  assert.instance(error, TenureError);
  assert.match(String(error), /made inside trace\(\)/);
});

test("reads, traces and async functions inside are refused, and leave nothing", async () => {
  const before = memory.stats().threadTotalLiveCount;
  let read: Promise<unknown> | undefined;
  trace(() => {
    read = zeros([4])
      .data()
      .catch((error: unknown) => error);
  });
  assert.match(String(await read), /outside trace/);
  await rejects(() => trace(() => trace(() => zeros([4]))), TenureError, /no trace inside another/);
  await rejects(() => trace(async () => zeros([4])), AsyncScopeError, /promise/);
  await rejects(
    () =>
      trace(() => {
        zeros([4]).add(1);
        throw new RangeError("mine");
      }),
    RangeError,
    /mine/,
  );
  assert.is(memory.stats().threadTotalLiveCount, before);
  assert.is(trace(() => 1).ops.length, 0);
});

test.run();
