/**
 * `tune` and `tuneWhenIdle` in trouble: beside each other and beside steps, with no room to measure
 * in, on a device that is lost. Nothing is chosen on false grounds, no step notices, and all bytes
 * come back.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  DeviceError,
  DeviceLostError,
  init,
  memory,
  scoped,
  sync,
  tensor,
  tune,
  tuneWhenIdle,
} from "tenure";
import { Scheduler } from "tenure/scheduler";
import type { Device } from "../../src/device/device.ts";
import { runtime } from "../../src/runtime/runtime.ts";
import type { Tuned } from "../../src/runtime/tuned-store.ts";
import { idleDone, numbers, rejects, setup } from "../helpers.ts";

await setup();
const test = suite("tuning in trouble");

const { engine, settings, caches } = runtime();
const before = { tuned: engine.tuned, idleAfterMs: settings.idleAfterMs };
let saved: Tuned[] = [];
test.before.each(() => {
  saved = [];
  engine.tuned = {
    load: () => Promise.resolve([]),
    save: (_, tuned) => {
      saved.push(tuned);
      return Promise.resolve();
    },
  };
  settings.idleAfterMs = 1;
});
test.after.each(() => {
  engine.tuned = before.tuned;
  settings.idleAfterMs = before.idleAfterMs;
  device().choices.clear();
  caches.clear();
});

function device(): Device {
  const { device } = runtime();
  if (device === null) throw new Error("expected a device");
  return device;
}

const [a, b] = [numbers(8 * 20, 1, -1, 1), numbers(20 * 12, 2, -1, 1)];

/** A product, as numbers. */
async function product(): Promise<number[]> {
  const [read] = scoped(() => [
    tensor(a, { shape: [8, 20] })
      .matmul(tensor(b, { shape: [20, 12] }))
      .data(),
  ]);
  return [...(await read)] as number[];
}

const step = async (): Promise<void> => {
  await product();
};

/** What must be as before. */
const books = async (): Promise<unknown> => {
  await memory.trim(); // free buffers come and go with plans
  const { deviceBytes, liveBytes, threadTotalLiveCount } = memory.stats();
  return [deviceBytes, liveBytes, threadTotalLiveCount, device().held.bytes];
};

/** Lets buffers that are measured with be made in another way; counts those that are there. */
function watchSpare(make: (real: Device["spareBuffer"]) => Device["spareBuffer"]): {
  readonly live: () => number;
  readonly end: () => void;
} {
  const it = device();
  const real = it.spareBuffer.bind(it);
  let live = 0;
  const other = make(real);
  it.spareBuffer = (descriptor) => {
    const made = other(descriptor);
    const destroy = made.buffer.destroy.bind(made.buffer);
    live++;
    made.buffer.destroy = () => {
      live--;
      destroy();
    };
    return made;
  };
  return {
    live: () => live,
    end: () => {
      it.spareBuffer = real;
    },
  };
}

test("two at once, and one in idle moments beside: none hears of another's end", async () => {
  const { watchers } = engine.compiler;
  const idle = await tuneWhenIdle({ seconds: 0.05 });
  const other = await tuneWhenIdle({ seconds: 0.05 });
  const options = { seconds: 0.05 };
  const both = Promise.all([tune(step, options), tune(step, options)]);
  idle.stop();
  await both;
  assert.is(watchers.size, 1);
  other.stop();
  assert.is(watchers.size, 0);
  await Promise.all([idleDone(idle), idleDone(other)]);
});

test("steps go on beside it, within tolerance, and bytes come back", async () => {
  const expected = await product();
  const books0 = await books();
  const watched = watchSpare((real) => real);
  const idle = await tuneWhenIdle({ seconds: 0.3 });
  using scheduler = new Scheduler();
  try {
    caches.clear();
    let going = true;
    const steps = (async () => {
      for (let k = 0; going || k < 20; k++) {
        const values = await scheduler.step(product);
        for (const [i, x] of values.entries())
          assert.ok(Math.abs(x - expected[i]!) < 1e-5, `step ${k}`);
        if (k % 5 === 0) caches.clear();
      }
    })();
    await tune(step, { seconds: 0.3 });
    going = false;
    await steps;
    await idleDone(idle);
  } finally {
    idle.stop();
    watched.end();
  }
  assert.is(watched.live(), 0);
  assert.equal(await books(), books0);
});

test("idle moments hold nothing while they wait", async () => {
  const watched = watchSpare((real) => real);
  let most = 0;
  let asked = 0;
  Object.defineProperty(settings, "idleAfterMs", {
    get: () => (asked++, (most = Math.max(most, watched.live())), 1),
    set: () => undefined,
    configurable: true,
  });
  const idle = await tuneWhenIdle({ seconds: 0.3 });
  caches.clear();
  await step();
  await idleDone(idle);
  idle.stop();
  watched.end();
  Object.defineProperty(settings, "idleAfterMs", { value: 1, writable: true });
  assert.ok(asked > 3);
  assert.is(most, 0);
});

test("no room to measure: skipped, nothing is chosen, and no step hears of it", async () => {
  const books0 = await books();
  const tooLarge = 2 ** 40;
  const watched = watchSpare((real) => (d) => real({ ...d, size: tooLarge }));
  try {
    const report = await tune(step);
    assert.equal([report.kernels.length, report.skipped], [0, 1]);
    const idle = await tuneWhenIdle();
    caches.clear();
    await step();
    await idleDone(idle);
    assert.equal([idle.report().kernels.length, idle.report().skipped], [0, 1]);
    idle.stop();
  } finally {
    watched.end();
  }
  await sync();
  assert.equal(device().choices.entries(), []);
  assert.is(watched.live(), 0);
  assert.equal(await books(), books0);
});

test("what the device throws is told as its error, and later errors are heard", async () => {
  const { pipelines } = device();
  const real = pipelines.get.bind(pipelines);
  pipelines.get = (kernel, op) => {
    if (op === "tune") throw new TypeError("on purpose");
    return real(kernel, op);
  };
  try {
    await rejects(() => tune(step), DeviceError, /^tune: .*on purpose/);
  } finally {
    pipelines.get = real;
  }
  assert.equal([saved.length, device().choices.entries().length], [0, 0]);
  // a scope that was left open would keep this
  device().gpu.createBuffer({ size: 16, usage: 0 });
  await rejects(
    async () => {
      await step();
      await device().idle();
      await sync();
    },
    DeviceError,
    /GPUValidationError/,
  );
  device().errorLog.splice(0);
});

test("a device that is lost: a typed error, nothing kept, and the next one works", async () => {
  const lose = (): { end: () => void } => {
    let calls = 0;
    const { gpu } = device();
    return watchSpare((real) => (descriptor) => {
      if (++calls === 6) gpu.destroy();
      return real(descriptor);
    });
  };
  lose();
  await rejects(() => tune(step), DeviceLostError);
  assert.equal(saved, []);
  await setup();
  const idle = await tuneWhenIdle();
  lose();
  caches.clear();
  await step().catch((error: unknown) => assert.instance(error, DeviceLostError));
  await idleDone(idle);
  idle.stop();
  assert.equal(idle.report().kernels, []);
  assert.equal(saved, []);
  await setup();
  await init();
  assert.is((await product()).length, 96);
});

test.run();
