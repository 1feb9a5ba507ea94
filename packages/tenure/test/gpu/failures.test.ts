/**
 * When a program cannot be compiled or allocated, or the device refuses its submit, nothing has
 * run: what it should have updated is as it was, its uploads are recorded again, and only what it
 * should have made says why it is not there. Everything else goes on. Nothing is ever silently
 * wrong.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  DTypeError,
  DeviceError,
  OutOfMemoryError,
  ShapeError,
  type Tensor,
  defineOp,
  memory,
  ones,
  scopedAsync,
  sync,
  tensor,
} from "tenure";
import { Linear } from "tenure/nn";
import { SGD } from "tenure/optim";
import { runtime } from "../../src/runtime/runtime.ts";
import { rejects, setup, takeDeviceErrors } from "../helpers.ts";

const test = suite("failed flushes");
test.before(async () => {
  await setup();
});

test("a shader that does not compile fails its flush, now and later", () =>
  scopedAsync(async () => {
    const before = ones([3]).mul(5);
    assert.equal(await before.toArray(), [5, 5, 5]);
    const bad = defineOp({ name: "bad", inputs: 1, expression: "r0 = nonsense(a0);" });
    const b = bad(ones([3])),
      beside = ones([3]).mul(2);
    await rejects(() => b.data(), DeviceError, /^fill\+bad: expected a valid command/);
    await rejects(() => b.data(), DeviceError, /^fill\+bad: /);
    await rejects(() => b.add(1), DeviceError, /^fill\+bad: /);
    // same submit: it was not computed
    await rejects(() => beside.data(), DeviceError, /^fill\+bad: /);
    assert.equal(await before.toArray(), [5, 5, 5]);
    assert.equal(await ones([3]).mul(2).toArray(), [2, 2, 2]);
    assert.ok(takeDeviceErrors().length > 0);
  }));

test("weights outlive a step that the device refused", () =>
  scopedAsync(async () => {
    using model = new Linear(2, 2),
      optimizer = new SGD(model.parameters(), { lr: 0.1 });
    const saved = new Map([
      ["weight", { data: new Float32Array([1, 2, 3, 4]), shape: [2, 2] }],
      ["bias", { data: new Float32Array(2), shape: [2] }],
    ]);
    model.loadStateDict(saved);
    await sync();
    const broken = defineOp({ name: "broken", inputs: 1, expression: "r0 = nothing;" });
    const loss = model.call(ones([1, 2])).sum();
    loss.backward();
    optimizer.step();
    await rejects(() => broken(loss.detach()).item(), DeviceError, /broken: /);
    assert.equal(await model.weight.toArray(), [
      [1, 2],
      [3, 4],
    ]);
    assert.is(optimizer.stateDict().steps, 0);
    takeDeviceErrors();
  }));

test("a program whose uniforms were refused loses what it wrote, and is not wrong", () =>
  scopedAsync(async () => {
    const { queue } = runtime().device!.gpu;
    const p = ones([4]);
    const kept = ones([4]).mul(3);
    await sync();
    p.add_(2);
    await sync(); // the plan is there, and its uniforms say 2
    const write = queue.writeBuffer.bind(queue);
    queue.writeBuffer = (target, _, ...rest: [BufferSource]) => {
      queue.writeBuffer = write;
      write(target, target.size, ...rest);
    };
    p.add_(5);
    await rejects(sync, DeviceError, /expected a valid command, got a GPUValidationError/);
    await rejects(() => p.data(), DeviceError, /expected a valid command/);
    assert.equal(await kept.toArray(), [3, 3, 3, 3]);
    using q = ones([4]);
    q.add_(5);
    assert.equal(await q.toArray(), [6, 6, 6, 6], "the uniforms are written again");
    takeDeviceErrors();
  }));

test("a refused budget fails the reads, and leaves in-place updates undone", () =>
  scopedAsync(async () => {
    await memory.trim();
    const p = ones([4]);
    await p.data();
    memory.setBudget(memory.stats().deviceBytes + 1000, "throw");
    p.add_(1);
    const t = ones([1_000_000]);
    const reads = await Promise.allSettled([t.data(), p.data()]);
    memory.setBudget(Infinity, "trim");
    for (const read of reads)
      assert.ok(read.status === "rejected" && read.reason instanceof OutOfMemoryError);
    takeDeviceErrors();
    assert.equal(await p.toArray(), [1, 1, 1, 1]);
    // what needs no input is recorded again
    assert.is((await t.data()).length, 1_000_000);
  }));

test("one failed allocation fails one flush; its buffer is never lent again", () =>
  scopedAsync(async () => {
    const gpu = runtime().device!.gpu,
      size = 3 * 2 ** 20;
    const made = gpu.createBuffer.bind(gpu);
    let once = true;
    gpu.createBuffer = (descriptor) => {
      if (!once || descriptor.size !== size) return made(descriptor);
      once = false;
      return made({ ...descriptor, size: 2 ** 50 }); // the device cannot
    };
    const bytes = memory.stats().deviceBytes;
    const outcomes: string[] = [];
    try {
      for (let i = 0; i < 3; i++) {
        using t: Tensor = ones([size / 4]);
        outcomes.push(
          await t.data().then(
            (d) => String(d[0]),
            (error: unknown) => (error as Error).name,
          ),
        );
      }
    } finally {
      gpu.createBuffer = made;
    }
    assert.is(outcomes[0] === "1", false);
    assert.equal(outcomes.slice(1), ["1", "1"]);
    // the tensor and its staging, not the failed one
    assert.ok(memory.stats().deviceBytes <= bytes + size + 2 * size);
    takeDeviceErrors();
  }));

test("a user's kernel that throws names its op", () =>
  scopedAsync(async () => {
    const throwing = defineOp({
      name: "throwing",
      inputs: 1,
      kernel: () => {
        throw new Error("user bug");
      },
    });
    await rejects(() => throwing(tensor([1])).data(), Error, /throwing: .*user bug/);
    takeDeviceErrors();
  }));

test("what a user's infer returns never reaches a shader unless it is a shape and a dtype", () =>
  scopedAsync(async () => {
    const table: [unknown, new (...args: never[]) => Error, RegExp][] = [
      [null, ArgumentError, /expected infer\(\) to return \{ shape, dtype \}, got null/],
      [{ shape: "x", dtype: "float32" }, ArgumentError, /expected infer\(\) to return/],
      [{ shape: [-1], dtype: "float32" }, ShapeError, /expected dimensions that are integers/],
      [{ shape: [2], dtype: "float32>; var x: u32" }, DTypeError, /got "float32>; var x/],
      [{ shape: [2], dtype: "toString" }, DTypeError, /expected one of bool/],
    ];
    for (const [returned, type, text] of table) {
      const infer = (): never => returned as never;
      const inferring = defineOp({ name: "inferring", inputs: 1, infer, expression: "r0 = a0;" });
      await rejects(() => inferring(ones([2])), type, /^inferring: /, text);
    }
    await sync();
  }));

test("a user's kernel that is none is refused by name", () =>
  scopedAsync(async () => {
    for (const shader of [undefined, {}, { wgsl: "" }, { wgsl: 1, workgroups: [1, 1, 1] }]) {
      const op = defineOp({ name: "mine", inputs: 1, kernel: () => shader as never });
      const expected = /^mine: expected kernel\(\) to return \{ wgsl, workgroups/;
      await rejects(() => op(ones([2])).data(), ArgumentError, expected);
      takeDeviceErrors();
    }
  }));

test.run();
