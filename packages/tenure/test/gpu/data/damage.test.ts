/**
 * Files that were damaged on the way, or made to do harm: told apart from files that do not fit,
 * refused before anything changes, never believed about their size.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, ShapeError, type Tensor, newDisposeScope, ones } from "tenure";
import {
  ArrayDataset,
  DataLoader,
  type HostTensor,
  fromSafetensors,
  packCheckpoint,
  readSafetensors,
  toSafetensors,
  unpackCheckpoint,
} from "tenure/data";
import { BatchNorm1d, Linear, type Module } from "tenure/nn";
import { Adam, OneCycleLR, ReduceLROnPlateau, SGD, StepLR } from "tenure/optim";
import { assertNoLeaks } from "tenure/testing";
import { crc32 } from "../../../src/data/crc32.ts";
import { rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("damaged files");

const values = async (t: Tensor): Promise<number[]> => [...(await t.data())];

/** What a file holds, to be compared. */
function contents(tensors: ReadonlyMap<string, HostTensor>): unknown {
  return [...tensors].map(([name, { dtype, shape, data }]) => [name, dtype, shape, [...data]]);
}

async function checkpoint(): Promise<Uint8Array<ArrayBuffer>> {
  using model = new Linear(3, 2);
  using optimizer = new Adam(model.parameters(), { lr: 0.1 });
  {
    using _ = newDisposeScope("step");
    model
      .call(ones([1, 3]))
      .sum()
      .backward();
    optimizer.step();
  }
  return await packCheckpoint({ model, optimizer });
}

function headerLength(file: Uint8Array): number {
  return Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
}

/** A safetensors file of a header that may be any text. */
function fileOf(header: string, body = new Uint8Array(0)): Uint8Array {
  const text = new TextEncoder().encode(header);
  const out = new Uint8Array(8 + text.length + body.length);
  new DataView(out.buffer).setBigUint64(0, BigInt(text.length), true);
  out.set(text, 8);
  out.set(body, 8 + text.length);
  return out;
}

/** A file with other numbers in its metadata, and without a checksum. */
function withNumbers(
  file: Uint8Array,
  change: (numbers: Record<string, unknown>) => string | undefined,
): Uint8Array {
  const end = 8 + headerLength(file);
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, end))) as {
    __metadata__: { tenure: string };
  };
  const numbers = JSON.parse(header.__metadata__.tenure) as Record<string, unknown>;
  const text = change(numbers) ?? JSON.stringify(numbers);
  return fileOf(JSON.stringify({ ...header, __metadata__: { tenure: text } }), file.slice(end));
}

test("a bit that flipped is never loaded", () =>
  assertNoLeaks(async () => {
    const file = await checkpoint();
    const sound = contents(fromSafetensors(file));
    const start = 8 + headerLength(file);
    for (let bit = 0; bit < file.length * 8; bit++) {
      const damaged = file.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      let text = "";
      try {
        // The name of the checksum may be hit: then all the rest is as it was.
        assert.equal(contents(fromSafetensors(damaged)), sound);
      } catch (error) {
        if (!(error instanceof ArgumentError)) throw error;
        text = error.message;
      }
      if (bit >> 3 >= start) assert.match(text, /checksum .* the file was damaged after it was/);
    }
  }));

test("a file that was cut short says so", () =>
  assertNoLeaks(async () => {
    const file = await checkpoint();
    for (let length = 0; length < file.length; length++)
      await rejects(() => fromSafetensors(file.subarray(0, length)), ArgumentError, /cut short/);
    const longer = new Uint8Array(file.length + 1);
    longer.set(file);
    await rejects(() => fromSafetensors(longer), ArgumentError, /damaged after it was saved/);
  }));

test("a sound file of another shape does not say damaged", () =>
  assertNoLeaks(async () => {
    const file = await checkpoint();
    using wide = new Linear(4, 2);
    try {
      unpackCheckpoint(file, { model: wide });
      assert.unreachable();
    } catch (error) {
      if (!(error instanceof ArgumentError || error instanceof ShapeError)) throw error;
      assert.match(error.message, /shape \[2,4\], got \[2,3\]; check that .* this architecture/);
    }
  }));

test("files without a checksum load, and metadata written again carry none", () =>
  assertNoLeaks(async () => {
    const file = await checkpoint();
    using model = new Linear(3, 2);
    using optimizer = new Adam(model.parameters());
    unpackCheckpoint(
      withNumbers(file, () => undefined),
      { model, optimizer },
    );
    assert.is(optimizer.lr, 0.1);
    const { metadata } = readSafetensors(file);
    assert.equal(Object.keys(metadata).sort(), ["format", "tenure"]);
    assert.equal(readSafetensors(await writtenAgain(model, metadata)).metadata, metadata);
  }));

/** The model's tensors under other metadata. */
function writtenAgain(
  model: Module,
  metadata: Readonly<Record<string, string>>,
  change?: (state: Map<string, Tensor>) => void,
): Promise<Uint8Array> {
  using _ = newDisposeScope("state");
  const state = model.stateDict();
  change?.(state);
  return toSafetensors(state, metadata);
}

test("numbers of an optimizer that are none are refused, and change nothing", () =>
  assertNoLeaks(async () => {
    const file = await checkpoint();
    using model = new Linear(3, 2);
    using optimizer = new Adam(model.parameters(), { lr: 0.5 });
    const before = await values(model.parameters()[0]!);
    const bad = async (pattern: RegExp, change: (numbers: never) => string | undefined) => {
      const damaged = withNumbers(file, change as (numbers: Record<string, unknown>) => undefined);
      await rejects(() => unpackCheckpoint(damaged, { model, optimizer }), ArgumentError, pattern);
      assert.equal(await values(model.parameters()[0]!), before);
      assert.equal([optimizer.lr, optimizer.steps], [0.5, 0]);
    };
    type Numbers = { optimizer: { groups: Record<string, unknown>[] } & Record<string, unknown> };
    for (const lr of ["0.1", null, -1, [0.1], {}]) {
      await bad(
        /a learning rate/,
        ({ optimizer }: Numbers) => void (optimizer.groups[0]!["lr"] = lr),
      );
      await bad(/a learning rate/, ({ optimizer }: Numbers) => void (optimizer["lr"] = lr));
    }
    await bad(/"__proto__"/, (numbers: Numbers) =>
      JSON.stringify(numbers).replace('"groups":[{', '"groups":[{"__proto__":{"weightDecay":7},'),
    );
    assert.is(Object.getPrototypeOf(optimizer.groups[0]!), Object.prototype);
    await bad(/"other"/, ({ optimizer }: Numbers) => void (optimizer.groups[0]!["other"] = 1));
    await bad(/an options object/, ({ optimizer }: Numbers) => void (optimizer.groups[0] = null!));
    await bad(/parameter groups/, ({ optimizer }: Numbers) => void (optimizer.groups = null!));
    for (const counts of [null, "12", [1], [1, null], [1, -1], [1, 0.5]])
      await bad(/step counts/, ({ optimizer }: Numbers) => void (optimizer["counts"] = counts));
    await bad(/at most 1000 levels/, () => `{"version":1,"extra":${"[".repeat(2000)}`);
  }));

test("whichever part does not fit, none is loaded", () =>
  assertNoLeaks(async () => {
    using model = new BatchNorm1d(2);
    using optimizer = new SGD(model.parameters(), { lr: 0.5 });
    const schedule = new StepLR(optimizer, { stepSize: 1 });
    using loader = new DataLoader(
      new ArrayDataset({ x: { data: new Float32Array(8), shape: [1] } }),
      {
        batchSize: 2,
      },
    );
    schedule.step();
    const run = { model, optimizer, schedule, loader };
    const file = await packCheckpoint(run);
    schedule.step();
    const rates = schedule.rates;
    const bad = async (damaged: Uint8Array, pattern: RegExp, parts: object = run) => {
      await rejects(() => unpackCheckpoint(damaged, parts), ArgumentError, pattern);
      assert.equal([schedule.steps, schedule.rates, loader.stateDict().epoch], [2, rates, 0]);
    };
    // A buffer of integers that holds what no integer is.
    const { metadata } = readSafetensors(file);
    const large = await writtenAgain(model, metadata, (state) =>
      state.set("num_batches_tracked", ones([]).mul(3e9)),
    );
    await bad(large, /numbers from -2147483648 to 2147483647/);
    type Numbers = Record<"schedule" | "loader", Record<string, unknown>>;
    const change = (fn: (numbers: Numbers) => undefined) =>
      withNumbers(file, fn as unknown as (numbers: Record<string, unknown>) => undefined);
    await bad(
      change((numbers) => void (numbers.loader["epoch"] = "1")),
      /an epoch/,
    );
    await bad(
      change((numbers) => void (numbers.schedule["base"] = ["0.5"])),
      /a learning rate/,
    );
    await bad(
      change((numbers) => void (numbers.schedule["base"] = null)),
      /rates of 1 groups/,
    );
    await bad(
      change((numbers) => void (numbers.schedule["steps"] = null)),
      /number of steps/,
    );
    // A part of somebody's own that can only be asked by loading it.
    const own = {
      stateDict: () => model.stateDict(),
      loadStateDict: () => {
        throw new ArgumentError("own", "something else", "this", "load another");
      },
    };
    await bad(file, /own: expected something else/, { model: own, schedule, loader });
  }));

test("schedules take their own numbers alone", async () => {
  using model = new Linear(1, 1);
  using optimizer = new SGD(model.parameters(), { lr: 1 });
  const plateau = new ReduceLROnPlateau(optimizer);
  const cycle = new OneCycleLR(optimizer, { maxLr: 1, totalSteps: 3 });
  for (const state of [null, 3, {}, { best: "1", bad: 0, wait: 0 }, { best: 1, bad: -1, wait: 0 }])
    await rejects(() => plateau.loadStateDict(state as never), ArgumentError, /stateDict\(\) gave/);
  const before = [cycle.steps, cycle.rates];
  for (const state of [null, {}, { steps: 9, base: [1] }, { steps: 1, base: [1, 1] }])
    await rejects(() => cycle.loadStateDict(state as never), ArgumentError);
  assert.equal([cycle.steps, cycle.rates], before);
});

test("headers of a million entries are refused before they are parsed", async () => {
  const entry = '{"dtype":"F32","shape":[0],"data_offsets":[0,0]}';
  const many = (count: number) =>
    fileOf(`{${Array.from({ length: count }, (_, i) => `"t${i}":${entry}`).join(",")}}`);
  const zeros = fileOf(`{"t":{"shape":[${"0,".repeat(5_000_000)}0]}}`);
  const { parse } = JSON;
  let parsed = 0; // characters
  JSON.parse = (text, reviver) => {
    parsed += text.length;
    return parse(text, reviver) as unknown;
  };
  try {
    for (const file of [many(1_000_000), zeros])
      await rejects(() => fromSafetensors(file), ArgumentError, /commas, colons/);
    assert.is(parsed, 0);
    const allowed = many(80_000);
    assert.is(fromSafetensors(allowed).size, 80_000);
    assert.is(parsed, headerLength(allowed));
  } finally {
    JSON.parse = parse;
  }
});

test("the checksum is that of zip, in parts too", () => {
  const text = new TextEncoder().encode("123456789");
  assert.is(crc32(text), 0xcbf43926);
  assert.is(crc32(text.subarray(4), crc32(text.subarray(0, 4))), 0xcbf43926);
});

test.run();
