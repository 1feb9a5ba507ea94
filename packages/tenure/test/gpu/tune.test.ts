/**
 * `tune`, and every way in which kernels can be written: each against plain arithmetic or the
 * standard way, with the same bits when it runs again; what is kept, what is pinned, what it says.
 */
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, init, scoped, sync, tensor, tune, tuneWhenIdle } from "tenure";
import { functional as F } from "tenure/nn";
import { assertClose } from "tenure/testing";
import { questionKey } from "../../src/device/choices.ts";
import type { Device } from "../../src/device/device.ts";
import type { Candidate, Watcher } from "../../src/runtime/candidates.ts";
import { runtime } from "../../src/runtime/runtime.ts";
import { fileStore } from "../../src/runtime/file-store.ts";
import { adapterKey } from "../../src/runtime/tuned-store.ts";
import { count, idleDone, numbers, rejects, setup } from "../helpers.ts";

await setup();
const test = suite("tune");

function device(): Device {
  const { device } = runtime();
  if (device === null) throw new Error("expected a device");
  return device;
}

const put = (shape: number[], seed: number, requiresGrad = false): Tensor =>
  tensor(numbers(count(shape), seed, -1, 1), { shape, requiresGrad });

/** What a case computes: its results, and those of its gradients. */
type Case = () => Tensor[];

const cases: Readonly<Record<string, Case>> = {
  "a product": () => [put([130, 20], 1).matmul(put([20, 68], 2))],
  "a product of few rows": () => [put([3, 70], 1).matmul(put([70, 40], 2))],
  "a batch loaded along the other sides, with an epilogue": () => [
    put([2, 20, 60], 1)
      .transpose()
      .matmul(put([2, 66, 20], 2).transpose())
      .add(1)
      .relu(),
  ],
  "a convolution": () => {
    const x = put([2, 3, 9, 9], 1, true),
      w = put([4, 3, 3, 3], 2, true);
    const y = F.conv2d(x, w, null, { padding: 1 });
    y.square().sum().backward();
    return [y, x.grad!, w.grad!];
  },
  "a softmax, attention and sums": () => {
    const x = put([6, 40], 1);
    const q = put([1, 2, 5, 8], 2);
    return [
      x.softmax(1),
      x.logSoftmax(0),
      x.sum([0]),
      x.sum([1]),
      x.max([1]),
      F.scaledDotProductAttention(q, q, q, { causal: true }),
      F.attentionWithWeights(q, q, q, { causal: true }).output,
    ];
  },
};

async function results(fn: Case): Promise<Float32Array[]> {
  const reads = scoped(() => fn().map((t) => t.data()));
  return (await Promise.all(reads)) as Float32Array[];
}

/** What can be chosen in a case. */
async function candidatesIn(fn: Case): Promise<Candidate[]> {
  const {
    caches,
    engine: { compiler },
  } = runtime();
  const found = new Map<string, Candidate>();
  caches.clear();
  const watcher: Watcher = (find) => {
    for (const c of find()) found.set(questionKey(c.question), c);
  };
  compiler.watchers.add(watcher);
  await results(fn);
  compiler.watchers.delete(watcher);
  return [...found.values()];
}

const kernels = new Set<string>();

for (const [name, fn] of Object.entries(cases))
  test(`${name}: every way of writing its kernels computes the same`, async () => {
    const { choices } = device();
    const candidates = await candidatesIn(fn);
    assert.ok(candidates.length > 0);
    const standard = await results(fn);
    // all ways at once, the n-th of each kernel: as many runs as the largest space has ways
    const most = Math.max(...candidates.map((c) => c.question.space.length));
    for (let n = 0; n < most; n++) {
      for (const { question } of candidates) {
        kernels.add(question.kernel);
        const { space } = question;
        choices.set(questionKey(question), space[n % space.length]!);
      }
      runtime().caches.clear();
      const first = await results(fn);
      for (const [i, values] of first.entries())
        await assertClose([...values], [...standard[i]!], { rel: 1e-5, abs: 1e-4 });
      assert.equal(await results(fn), first, "the same bits again");
    }
    choices.clear();
    runtime().caches.clear();
  });

test("products, convolutions, attention, reductions and softmax were all among them", () => {
  assert.equal([...kernels].sort(), [
    "attention",
    "attention output",
    "conv2d",
    "conv2d weight gradient",
    "conv2dBackwardInput",
    "matmul",
    "reduce",
    "softmax",
  ]);
});

for (const { sizes, ways } of [
  {
    sizes: [67, 20, 33],
    ways: ["tiles 64×64", "tiles 128×64", "double tiles 64×64", "registers 4×8"],
  },
  { sizes: [10, 516, 20], ways: ["split 16", "split 64", "registers 4×8"] },
] as const)
  test(`every way of ${sizes.join("×")} is what plain arithmetic gives`, async () => {
    const { choices } = device();
    const [m, k, n] = sizes;
    const a = numbers(m * k, 1, -1, 1),
      b = numbers(k * n, 2, -1, 1);
    const expected = Array.from({ length: m * n }, (_, i) => {
      let sum = 0;
      for (let j = 0; j < k; j++) sum += a[Math.floor(i / n) * k + j]! * b[j * n + (i % n)]!;
      return sum + 1;
    });
    const fn: Case = () => [
      tensor(a, { shape: [m, k] })
        .matmul(tensor(b, { shape: [k, n] }))
        .add(1),
    ];
    const [candidate] = await candidatesIn(fn);
    const { space } = candidate!.question;
    const tiles = ["subgroups 8×8", "subgroups 16×8", "subgroups 16×4"];
    const shared = device().caps.subgroups && n >= 32 ? tiles : [];
    assert.ok([...ways, ...shared].every((way) => space.includes(way)));
    for (const way of space) {
      choices.set(questionKey(candidate!.question), way);
      runtime().caches.clear();
      const [values] = await results(fn);
      await assertClose([...values!], expected, { rel: 1e-5, abs: 1e-5 });
      assert.equal(await results(fn), [values], "the same bits again");
    }
    choices.clear();
    runtime().caches.clear();
  });

const step = async (): Promise<void> => {
  await results(() => [put([8, 20], 1).matmul(put([20, 60], 2))]);
};

test("it reports, chooses, and keeps what it chose for the next process", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tenure-tune-"));
  const { choices, info } = device();
  const before = runtime().engine.tuned;
  const store = (runtime().engine.tuned = fileStore(folder));
  try {
    const report = await tune(step, { seconds: 20 });
    assert.is(report.skipped, 0);
    assert.equal(
      report.kernels.map((k) => k.kernel),
      ["matmul"],
    );
    const [{ after, before: was, afterMs, beforeMs }] = report.kernels as [
      (typeof report.kernels)[0],
    ];
    assert.is(was, "short 4×8");
    assert.ok(afterMs > 0 && afterMs <= beforeMs && beforeMs < Infinity);
    assert.equal(
      choices.entries().map(([, name]) => name),
      [after],
    );
    assert.equal(await store!.load(adapterKey(info)), choices.entries());
    assert.equal(await readdir(folder), [`tuned-${adapterKey(info)}.json`]);
    await writeFile(join(folder, `tuned-${adapterKey(info)}.json`), '[["matmul"], 3]');
    assert.equal(await store!.load(adapterKey(info)), [], "a damaged file is no choice");
  } finally {
    runtime().engine.tuned = before;
    choices.clear();
    runtime().caches.clear();
    await rm(folder, { recursive: true });
  }
});

test("a pinned device keeps the standard, and refuses to be tuned", async () => {
  const { choices } = device();
  const [candidate] = await candidatesIn(() => [put([8, 20], 1).matmul(put([20, 60], 2))]);
  const { question } = candidate!;
  choices.set(questionKey(question), "registers 4×4");
  const { kernel, shape, space, standard } = question;
  assert.is(choices.choose(kernel, shape, space, standard), "registers 4×4");
  await init({ deterministic: true });
  assert.is(choices.choose(kernel, shape, space, standard), standard);
  await rejects(() => tune(step), Error, /tune: expected kernels that may change/);
  await init({ deterministic: false });
  assert.is(choices.choose(kernel, shape, space, standard), "registers 4×4");
  choices.clear();
  runtime().caches.clear();
});

test("without time nothing is measured, and a step that fails leaves all as it was", async () => {
  const { choices } = device();
  const report = await tune(step, { seconds: 1e-9 });
  assert.is(report.skipped, 1);
  assert.equal(report.kernels, []);
  const failing = (): Promise<void> => Promise.reject(new Error("no data"));
  await rejects(() => tune(failing), Error, /no data/);
  assert.is(runtime().engine.compiler.watchers.size, 0);
  assert.equal(choices.entries(), []);
  await sync();
});

const once: Case = () => [put([8, 20], 1).matmul(put([20, 60], 2))];

test("idle moments: nothing before the first result, then each kernel once, and kept", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tenure-idle-"));
  const { engine, settings, caches } = runtime();
  const { choices, info } = device();
  const before = { store: engine.tuned, after: settings.idleAfterMs };
  const store = (engine.tuned = fileStore(folder));
  try {
    settings.idleAfterMs = 2 ** 30;
    const never = await tuneWhenIdle();
    caches.clear();
    const first = await results(once);
    assert.equal(never.report(), { kernels: [], skipped: 0, seconds: 0 }, "no moment was idle");
    never.stop();
    assert.is(engine.compiler.watchers.size, 0);
    settings.idleAfterMs = 1;
    const idle = await tuneWhenIdle();
    caches.clear();
    await results(once);
    await idleDone(idle);
    const { kernels, seconds, skipped } = idle.report();
    assert.equal(
      kernels.map((k) => k.kernel),
      ["matmul"],
    );
    assert.ok(seconds > 0 && skipped === 0);
    const [{ after, afterMs, beforeMs }] = kernels as [(typeof kernels)[0]];
    assert.ok(afterMs <= beforeMs);
    assert.equal(
      choices.entries().map(([, name]) => name),
      [after],
    );
    assert.equal(await store!.load(adapterKey(info)), choices.entries());
    for (const [i, values] of (await results(once)).entries())
      await assertClose([...values], [...first[i]!], { rel: 1e-5, abs: 1e-5 });
    caches.clear();
    await results(once);
    await idleDone(idle);
    assert.is(idle.report().kernels.length, 1, "a kernel is measured once");
    idle.stop();
  } finally {
    engine.tuned = before.store;
    settings.idleAfterMs = before.after;
    choices.clear();
    caches.clear();
    await rm(folder, { recursive: true });
  }
});

test("idle moments: what there is no time for is skipped, and what is pinned refused", async () => {
  const { settings, caches } = runtime();
  const { idleAfterMs } = settings;
  settings.idleAfterMs = 1;
  const idle = await tuneWhenIdle({ seconds: 1e-9 });
  caches.clear();
  await results(() => [...once(), put([8, 20], 1).matmul(put([20, 8], 2))]);
  await idleDone(idle);
  const { kernels, skipped } = idle.report();
  assert.equal([kernels.length, skipped], [1, 1]);
  device().choices.clear();
  idle.stop();
  await init({ deterministic: true });
  await rejects(() => tuneWhenIdle(), Error, /tuneWhenIdle: expected kernels that may change/);
  await init({ deterministic: false });
  settings.idleAfterMs = idleAfterMs;
});

test("idle moments: what comes meanwhile is measured, failures are told by done()", async () => {
  const { engine, settings, caches } = runtime();
  const before = { store: engine.tuned, after: settings.idleAfterMs };
  const other: Case = () => [put([8, 20], 1).matmul(put([20, 8], 2))];
  let saves = 0;
  engine.tuned = {
    load: () => Promise.resolve([]),
    async save() {
      saves++;
      if (saves === 1) await results(other);
      else throw new Error("the disk is full");
    },
  };
  settings.idleAfterMs = 1;
  const idle = await tuneWhenIdle();
  try {
    caches.clear();
    await results(once);
    await rejects(() => idleDone(idle), Error, /the disk is full/);
    assert.is(saves, 2);
    assert.is(idle.report().kernels.length, 2);
    caches.clear();
    await results(once);
  } finally {
    idle.stop();
    engine.tuned = before.store;
    settings.idleAfterMs = before.after;
    device().choices.clear();
    caches.clear();
  }
});

test.run();
