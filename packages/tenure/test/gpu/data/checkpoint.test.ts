/**
 * Checkpoints: a run goes on bit by bit, files are PyTorch's, and what does not fit changes
 * nothing.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
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
  fromSafetensors,
  loadCheckpoint,
  readSafetensors,
  saveCheckpoint,
  unpackCheckpoint,
} from "tenure/data";
import { CrossEntropyLoss, Dropout, Linear, type Module, ReLU, Sequential } from "tenure/nn";
import { Adam, CosineAnnealingLR } from "tenure/optim";
import { assertNoLeaks } from "tenure/testing";
import { numbers, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("checkpoints");

const values = async (t: Tensor): Promise<number[]> => [...(await t.data())];

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
        /^loadCheckpoint: expected exactly the names of this module/,
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
