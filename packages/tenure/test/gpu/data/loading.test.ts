/**
 * Loaders that load ahead, datasets of single samples, and checkpoints: what a training run needs
 * to go on exactly where it was.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, type Tensor, TenureError, tensor } from "tenure";
import { ArrayDataset, DataLoader, type Dataset, collated, stackSamples } from "tenure/data";
import { assertNoLeaks } from "tenure/testing";
import { rejects, setup } from "../../helpers.ts";

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
    const early = /^DataLoader: .*got one that was disposed after 1 of \d+ batches; break out/;
    await rejects(() => iterator.next(), TenureError, early);
    using other = new DataLoader(failing, { batchSize: 1 });
    const sync = other[Symbol.iterator]();
    sync.next();
    other.dispose();
    assert.throws(() => sync.next(), early);
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

test("a load that gives no function, and a batch that is one tensor, are refused", async () => {
  const batch = (): never => tensor([1]) as never;
  for (const [wrong, text] of [
    [
      { length: 2, batch, load: async () => ({}) },
      /expected a function, got an object; return \(\)/,
    ],
    [{ length: 2, batch }, /expected batches that are tensors by name, got a Tensor/],
  ] as const) {
    using loader = new DataLoader(wrong as never, { batchSize: 1 });
    await rejects(
      async () => {
        for await (const given of loader) assert.is(given, undefined);
      },
      ArgumentError,
      text,
    );
  }
});

test.run();
