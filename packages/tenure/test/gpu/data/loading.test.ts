/**
 * Loaders that load ahead, datasets of single samples, and checkpoints: what a training run needs
 * to go on exactly where it was.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  manualSeed,
  newDisposeScope,
  rand,
  scopedAsync,
  tensor,
} from "tenure";
import {
  ArrayDataset,
  type Batch,
  DataLoader,
  type Dataset,
  collated,
  fromSafetensors,
  loadCheckpoint,
  readSafetensors,
  saveCheckpoint,
  stackSamples,
  unpackCheckpoint,
} from "tenure/data";
import { CrossEntropyLoss, Dropout, Linear, type Module, ReLU, Sequential } from "tenure/nn";
import { Adam, CosineAnnealingLR } from "tenure/optim";
import { assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("loading");

const dataset = (n: number): ArrayDataset<"x" | "y"> =>
  new ArrayDataset({
    x: { data: Float32Array.from({ length: 2 * n }, (_, i) => i), shape: [2] },
    y: { data: Int32Array.from({ length: n }, (_, i) => i), shape: [], dtype: "int32" },
  });
const values = async (t: Tensor): Promise<number[]> => [...(await t.data())];

/** The labels of the next batches, over the end of epochs. */
async function following(
  loader: DataLoader<{ readonly x: Tensor; readonly y: Tensor }>,
  count: number,
  ahead: boolean,
): Promise<number[][]> {
  const seen: number[][] = [];
  while (seen.length < count) {
    if (ahead)
      for await (const { y } of loader) {
        seen.push(await values(y));
        if (seen.length === count) break;
      }
    else
      for (const { y } of loader) {
        seen.push(await values(y));
        if (seen.length === count) break;
      }
  }
  return seen;
}

for (const ahead of [false, true]) {
  test(`a loader goes on in the middle of an epoch${ahead ? ", loading ahead" : ""}`, () =>
    assertNoLeaks(async () => {
      const make = (seed: number): DataLoader<{ readonly x: Tensor; readonly y: Tensor }> =>
        new DataLoader(dataset(10), { batchSize: 3, shuffle: true, seed });
      // Saved after every batch of two epochs of four: what follows is what the loop itself saw
      // next.
      using loader = make(5);
      const seen: number[][] = [],
        states: string[] = [JSON.stringify(loader.stateDict())];
      for (let epoch = 0; epoch < 3; epoch++) {
        const visit = async ({ y }: { readonly y: Tensor }): Promise<void> => {
          seen.push(await values(y));
          states.push(JSON.stringify(loader.stateDict()));
        };
        if (ahead) for await (const batch of loader) await visit(batch);
        else for (const batch of loader) await visit(batch);
      }
      assert.is(seen.length, 12);
      assert.equal(
        states.slice(0, 6).map((s) => {
          const { epoch, position } = JSON.parse(s) as { epoch: number; position: number };
          return [epoch, position];
        }),
        [
          [0, 0],
          [1, 1],
          [1, 2],
          [1, 3],
          [1, 0],
          [2, 1],
        ],
      );
      for (let at = 0; at <= 8; at++) {
        using other = make(99); // the seed comes with the state
        other.loadStateDict(JSON.parse(states[at]!) as { epoch: number });
        assert.is(
          JSON.stringify(other.stateDict()),
          states[at],
          "what was loaded is what is saved again",
        );
        assert.equal(
          await following(other, 4, ahead),
          seen.slice(at, at + 4),
          `after ${at} batches`,
        );
      }
    }));
}

test("a loader's state that does not fit is refused, and changes nothing", () =>
  assertNoLeaks(async () => {
    using loader = new DataLoader(dataset(10), { batchSize: 3, shuffle: true, seed: 5 });
    const before = JSON.stringify(loader.stateDict());
    for (const [bad, pattern] of [
      [{ epoch: 1, position: 9 }, /a position among 4 batches/],
      [{ epoch: 1, position: -1 }, /a position/],
      [{ epoch: 0, position: 1 }, /of an epoch that has begun/],
      [{ epoch: 1, position: 1.5 }, /a position/],
      [
        { epoch: 1, position: 1, batchSize: 4 },
        /a state of batches of 3, got 4; make the loader with the same batchSize/,
      ],
      [{ epoch: 1, seed: "x" }, /seed to be an integer/],
      [{ epoch: NaN }, /an epoch/],
      [null, /an epoch/],
      [3, /an epoch/],
    ] as const) {
      await rejects(
        () => {
          loader.loadStateDict(bad as never);
        },
        ArgumentError,
        /^DataLoader: /,
        pattern,
      );
      assert.is(JSON.stringify(loader.stateDict()), before);
    }
  }));

test("for await gives what for gives, in the same order", () =>
  assertNoLeaks(async () => {
    const seen: number[][][] = [[], []];
    using a = new DataLoader(dataset(10), { batchSize: 4, shuffle: true, seed: 3 });
    using b = new DataLoader(dataset(10), { batchSize: 4, shuffle: true, seed: 3 });
    for (let epoch = 0; epoch < 2; epoch++) {
      for (const { y } of a) seen[0]!.push(await values(y));
      for await (const { y } of b) seen[1]!.push(await values(y));
    }
    assert.equal(
      seen[0]!.map((v) => v.length),
      [4, 4, 2, 4, 4, 2],
    );
    assert.equal(seen[1], seen[0]);
    assert.not.equal(seen[0]!.slice(0, 3), seen[0]!.slice(3));
  }));

test("batches are loaded while the device works", () =>
  assertNoLeaks(async () => {
    const log: string[] = [];
    const slow: Dataset<{ x: Tensor }> = {
      length: 5,
      batch: () => {
        throw new Error("load is there");
      },
      load: (indices) => {
        log.push(`load ${indices[0]}`);
        return () => {
          log.push(`make ${indices[0]}`);
          return { x: tensor(indices) };
        };
      },
    };
    using loader = new DataLoader(slow, { batchSize: 1, prefetch: 2 });
    for await (const { x } of loader) {
      const at = await values(x); // the device works; timers run
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
      log.push(`step ${at[0]}`);
    }
    assert.equal(log, [
      "load 0",
      "make 0",
      "load 1",
      "load 2",
      "step 0",
      "make 1",
      "load 3",
      "step 1",
      "make 2",
      "load 4",
      "step 2",
      "make 3",
      "step 3",
      "make 4",
      "step 4",
    ]);
  }));

test("a loop that is in a hurry loads for itself", () =>
  assertNoLeaks(async () => {
    let loads = 0;
    const quick: Dataset<{ x: Tensor }> = {
      length: 4,
      batch: (i) => ({ x: tensor(i) }),
      load: (i) => {
        loads++;
        return () => ({ x: tensor(i) });
      },
    };
    using loader = new DataLoader(quick, { batchSize: 1, prefetch: 3 });
    let n = 0;
    for await (const _ of loader) n++;
    assert.equal([n, loads], [4, 4]);
    using none = new DataLoader(quick, { batchSize: 3, dropLast: true, prefetch: 0 });
    for await (const _ of none) n++;
    assert.equal([n, loads], [5, 5]);
  }));

test("leaving early, failing and disposing free everything", () =>
  assertNoLeaks(async () => {
    const failing: Dataset<{ x: Tensor }> = {
      length: 6,
      batch: (i) => ({ x: tensor(i) }),
      load: (i) => {
        if (i[0] === 2) throw new Error("bad sample");
        return () => ({ x: tensor(i) });
      },
    };
    using loader = new DataLoader(failing, { batchSize: 1 });
    const seen: number[] = [];
    await rejects(
      async () => {
        for await (const { x } of loader) seen.push((await values(x))[0]!);
      },
      Error,
      /bad sample/,
    );
    assert.equal(seen, [0, 1]);
    for await (const _ of loader) break; // batch 2 is never asked for: nobody hears of its failure
    const iterator = loader[Symbol.asyncIterator]();
    const { value } = (await iterator.next()) as IteratorYieldResult<{ x: Tensor }>;
    loader.dispose();
    assert.ok(value.x.isDisposed);
    assert.ok((await iterator.next()).done);
    using other = new DataLoader(failing, { batchSize: 1 });
    const sync = other[Symbol.iterator]();
    sync.next();
    other.dispose();
    assert.ok(sync.next().done);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
    await rejects(
      () => new DataLoader(failing, { batchSize: 1, prefetch: -1 }),
      ArgumentError,
      /prefetch/,
    );
  }));

test("a loader continues with the next order", () =>
  assertNoLeaks(async () => {
    const order = async (
      loader: DataLoader<Readonly<Record<"x" | "y", Tensor>>>,
    ): Promise<number[]> => {
      const list: number[] = [];
      for await (const { y } of loader) list.push(...(await values(y)));
      return list;
    };
    using a = new DataLoader(dataset(8), { batchSize: 3, shuffle: true, seed: 1 });
    using b = new DataLoader(dataset(8), { batchSize: 3, shuffle: true, seed: 1 });
    await order(a);
    b.loadStateDict(JSON.parse(JSON.stringify(a.stateDict())) as { epoch: number });
    assert.equal(await order(b), await order(a));
    await rejects(() => b.loadStateDict({ epoch: -1 }), ArgumentError, /an epoch/);
  }));

// === Samples ===

test("samples are stacked", () =>
  assertNoLeaks(async () => {
    const samples = {
      length: 5,
      get: (i: number) => ({
        image: Float32Array.of(i, -i),
        label: { data: i, dtype: "int32" as const },
        flag: i % 2 === 0,
        pair: [[i], [i + 1]],
      }),
    };
    using loader = new DataLoader(collated(samples), { batchSize: 2 });
    const shapes: unknown[] = [];
    for (const { image, label, flag, pair } of loader)
      shapes.push([
        image.shape,
        image.dtype,
        label.shape,
        label.dtype,
        flag.dtype,
        pair.shape,
        ...(await values(label)),
        ...(await values(flag)),
        ...(await values(pair)),
      ]);
    assert.equal(shapes, [
      [[2, 2], "float32", [2], "int32", "bool", [2, 2, 1], 0, 1, 1, 0, 0, 1, 1, 2],
      [[2, 2], "float32", [2], "int32", "bool", [2, 2, 1], 2, 3, 1, 0, 2, 3, 3, 4],
      [[1, 2], "float32", [1], "int32", "bool", [1, 2, 1], 4, 1, 4, 5],
    ]);
  }));

test("samples that take time, and a collate of one's own", () =>
  assertNoLeaks(async () => {
    let running = 0,
      most = 0;
    const words = ["a", "bcd", "ef"];
    const texts = {
      length: 3,
      get: async (i: number) => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => {
          setTimeout(resolve, 2);
        });
        running--;
        return words[i]!;
      },
    };
    const padded = collated(texts, (list) => {
      const width = Math.max(...list.map((s) => s.length));
      return {
        codes: {
          data: Int32Array.from(
            list.flatMap((s) =>
              Array.from({ length: width }, (_, i) => (i < s.length ? s.charCodeAt(i) - 96 : 0)),
            ),
          ),
          shape: [list.length, width],
        },
      };
    });
    using loader = new DataLoader(padded, { batchSize: 3 });
    for await (const { codes } of loader)
      assert.equal(
        [codes.shape, codes.dtype, await values(codes)],
        [[3, 3], "int32", [1, 0, 0, 2, 3, 4, 5, 6, 0]],
      );
    assert.is(most, 3); // all samples of a batch at once
    await rejects(
      () => {
        for (const _ of loader) {
          /* refused */
        }
      },
      ArgumentError,
      /for await/,
    );
  }));

test("samples that do not fit are refused", async () => {
  await rejects(() => stackSamples([]), ArgumentError, /at least one sample/);
  await rejects(
    () => stackSamples<Record<string, number>>([{ a: 1 }, { b: 1 }]),
    ArgumentError,
    /the fields a, got b/,
  );
  await rejects(
    () => stackSamples<Record<string, number>>([{ a: 1 }, { a: 1, b: 1 }]),
    ArgumentError,
    /the fields a/,
  );
  await rejects(
    () => stackSamples([{ a: [1] }, { a: [1, 2] }]),
    ShapeError,
    /a of one shape, \[1\], got \[2\]/,
  );
  await rejects(
    () => stackSamples([{ a: { data: [1, 2], shape: [3] } }]),
    ShapeError,
    /a of one shape/,
  );
  const loader = new DataLoader(collated({ length: 1, get: () => ({ a: "text" as never }) }), {
    batchSize: 1,
  });
  await rejects(
    async () => {
      for await (const _ of loader) {
        /* refused */
      }
    },
    ArgumentError,
    /numbers or booleans/,
  );
});

// === Checkpoints ===

function network(): Sequential {
  return new Sequential(new Linear(4, 8), new ReLU(), new Dropout(0.3), new Linear(8, 3));
}

interface Run extends Disposable {
  model: Module;
  optimizer: Adam;
  schedule: CosineAnnealingLR;
  loader: DataLoader<Batch>;
}
function begin(): Run {
  const model = network(),
    optimizer = new Adam(
      [
        { parameters: model.parameters().slice(0, 2) },
        { parameters: model.parameters().slice(2), lr: 0.02 },
      ],
      { lr: 0.01 },
    );
  const data = new ArrayDataset({
    x: { data: Float32Array.from(numbers(48, 5)), shape: [4] },
    y: { data: Int32Array.from({ length: 12 }, (_, i) => i % 3), shape: [], dtype: "int32" },
  });
  const loader = new DataLoader(data, {
    batchSize: 4,
    shuffle: true,
    seed: 2,
  }) as unknown as DataLoader<Batch>;
  return {
    model,
    optimizer,
    schedule: new CosineAnnealingLR(optimizer, { tMax: 8 }),
    loader,
    [Symbol.dispose]: () => {
      optimizer.dispose();
      model.dispose();
      loader.dispose();
    },
  };
}

async function epoch({ model, optimizer, schedule, loader }: Run): Promise<number[]> {
  using criterion = new CrossEntropyLoss();
  const losses: number[] = [];
  for await (const { x, y } of loader) {
    let read: Promise<number>;
    {
      using _ = newDisposeScope("step");
      const loss = criterion.call(model.call(x!), y!);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      schedule.step();
      read = loss.item();
    }
    losses.push(await read);
  }
  return losses;
}

/** Runs `fn` with a folder that is gone afterwards. */
async function inFolder(fn: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "tenure-"));
  try {
    await fn(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a run continues bit by bit, dropout and order included", () =>
  assertNoLeaks(() =>
    inFolder(async (folder) => {
      const path = join(folder, "run.safetensors");
      manualSeed(7);
      using first = begin();
      await epoch(first);
      const saving = saveCheckpoint(path, first, { extra: { epoch: 1, best: 0.1 } });
      const rest = await epoch(first); // goes on while the file is written
      await saving;
      manualSeed(99);
      using second = begin();
      const { extra, metadata } = await loadCheckpoint(path, second);
      assert.equal(extra, { epoch: 1, best: 0.1 });
      assert.equal(metadata, { format: "pt" });
      assert.is(second.optimizer.steps, 3);
      assert.equal(second.schedule.rates[1], 0.01 * (1 + Math.cos((Math.PI * 3) / 8)));
      assert.equal(await epoch(second), rest);
      assert.equal(readdirSync(folder), ["run.safetensors"]);
    }),
  ));

test("a model alone is a plain file with PyTorch's names", () =>
  assertNoLeaks(() =>
    inFolder(async (folder) => {
      const path = join(folder, "model.safetensors");
      using model = network();
      await saveCheckpoint(path, { model }, { metadata: { note: "hello" } });
      const { tensors, metadata } = readSafetensors(readFileSync(path));
      assert.equal(metadata, { format: "pt", note: "hello" });
      assert.equal(
        [...tensors].map(([name, t]) => [name, t.dtype, t.shape]),
        [
          ["0.weight", "float32", [8, 4]],
          ["0.bias", "float32", [8]],
          ["3.weight", "float32", [3, 8]],
          ["3.bias", "float32", [3]],
        ],
      );
      using other = network();
      await loadCheckpoint(path, { model: other });
      const [a, b] = await Promise.all(
        [model, other].map((m) => Promise.all(m.parameters().map(values))),
      );
      assert.equal(a, b);
    }),
  ));

test("on an error nothing changes, on the disk or here", () =>
  assertNoLeaks(() =>
    inFolder(async (folder) => {
      const path = join(folder, "run.safetensors");
      using run = begin();
      await epoch(run);
      await saveCheckpoint(path, run);
      const good = readFileSync(path),
        before = await Promise.all(run.model.parameters().map(values));
      await epoch(run);
      const after = await Promise.all(run.model.parameters().map(values));
      assert.not.equal(before, after);
      using wide = new Linear(4, 3);
      await rejects(
        () => loadCheckpoint(path, { ...run, model: wide }),
        ArgumentError,
        /loadStateDict/,
      );
      // The optimizer of another network: the model must not have been loaded.
      using other = new Adam(run.model.parameters());
      await rejects(
        () => loadCheckpoint(path, { model: run.model, optimizer: other }),
        ArgumentError,
        /1 parameter groups/,
      );
      writeFileSync(join(folder, "cut"), good.subarray(0, -1));
      await rejects(() => loadCheckpoint(join(folder, "cut"), run), ArgumentError, /cut/);
      await rejects(() => loadCheckpoint(join(folder, "none"), run), Error, /ENOENT/);
      await saveCheckpoint(join(folder, "model"), { model: run.model });
      await rejects(
        () => loadCheckpoint(join(folder, "model"), run),
        ArgumentError,
        /the state of an optimizer in .*model, got none/,
      );
      assert.equal(await Promise.all(run.model.parameters().map(values)), after);
      // A folder in the way: the part that was written is removed, the error told.
      await rejects(
        () => saveCheckpoint(folder, { model: run.model }),
        Error,
        /EISDIR|ENOTEMPTY|EEXIST|rename/,
      );
      assert.equal(readdirSync(folder).sort(), ["cut", "model", "run.safetensors"]);
      assert.equal(
        readdirSync(join(folder, "..")).filter((name) => name.endsWith(".part")),
        [],
      );
      await rejects(
        () => saveCheckpoint(join(folder, "no", "where"), { model: run.model }),
        Error,
        /ENOENT/,
      );
    }),
  ));

test("hostile metadata is refused", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using run = begin();
      const header = (tenure: string): Uint8Array => {
        const text = new TextEncoder().encode(JSON.stringify({ __metadata__: { tenure } })),
          out = new Uint8Array(8 + text.length);
        new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
        out.set(text, 8);
        return out;
      };
      const bad = (tenure: unknown, ...patterns: RegExp[]): Promise<void> =>
        rejects(
          () =>
            unpackCheckpoint(header(typeof tenure === "string" ? tenure : JSON.stringify(tenure)), {
              optimizer: run.optimizer,
            }),
          ArgumentError,
          ...patterns,
        );
      await bad("{", /JSON in the metadata/);
      await bad([], /version 1/);
      await bad({ version: 2 }, /version 1 in the checkpoint, got 2/);
      await bad({ version: 1 }, /the state of an optimizer/);
      await bad({ version: 1, optimizer: 3 }, /an object for optimizer/);
      await bad({ version: 1, optimizer: {}, random: { low: -1 } }, /random generator/);
      await bad({ version: 1, optimizer: { steps: "3" } }, /a number of steps/);
      await bad({ version: 1, optimizer: { steps: 3, groups: 4 } }, /groups/);
    }),
  ));

test("saving names that clash", async () => {
  const state = new Map([["__optimizer__.0", tensor(1)]]);
  await rejects(
    () =>
      saveCheckpoint("/nowhere", {
        model: { stateDict: () => state, loadStateDict: () => undefined },
      }),
    ArgumentError,
    /do not begin with __optimizer__/,
  );
  for (const t of state.values()) t.dispose();
});

test("random numbers go on where they were", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      using run = begin();
      manualSeed(5);
      rand([3]);
      const { packCheckpoint } = await import("tenure/data");
      const bytes = await packCheckpoint({ optimizer: run.optimizer }),
        want = await values(rand([3]));
      assert.is(fromSafetensors(bytes).size, 0);
      manualSeed(6);
      unpackCheckpoint(bytes, { optimizer: run.optimizer });
      assert.equal(await values(rand([3])), want);
    }),
  ));

test.run();
