/**
 * Lists and dictionaries of modules, states of theirs, and the summary of a model.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  ArgumentError,
  ShapeError,
  type Tensor,
  TenureError,
  memory,
  newDisposeScope,
  tensor,
} from "tenure";
import { fromSafetensors, packCheckpoint } from "tenure/data";
import * as nn from "tenure/nn";
import { assertClose } from "tenure/testing";
import { rejects, setup } from "../../helpers.ts";
import { values, withModule } from "./modules.ts";

await setup();
const test = suite("containers");

class Branches extends nn.Module<[x: Tensor, names: readonly string[]], Tensor[]> {
  readonly heads = new nn.ModuleDict({ left: new nn.Linear(2, 1), right: new nn.Linear(2, 3) });
  readonly blocks = new nn.ModuleList([new nn.Linear(2, 2), new nn.ReLU()]);
  forward(x: Tensor, names: readonly string[]): Tensor[] {
    let out = x;
    for (const block of this.blocks) out = block.call(out);
    return names.map((name) => this.heads.get(name)!.call(out));
  }
}

test("lists, dictionaries and modules of any arguments", () =>
  withModule(
    () => new Branches(),
    async (net) => {
      assert.equal(
        [...net.namedParameters()].map(([n]) => n),
        [
          "heads.left.weight",
          "heads.left.bias",
          "heads.right.weight",
          "heads.right.bias",
          "blocks.0.weight",
          "blocks.0.bias",
        ],
      );
      const out: Tensor[] = net.call(tensor([[1, 2]]), ["right", "left"]);
      assert.equal(
        out.map((t) => t.shape),
        [
          [1, 3],
          [1, 1],
        ],
      );
      assert.equal(
        [
          net.blocks.length,
          net.blocks.at(-1)?.constructor.name,
          net.heads.size,
          [...net.heads.keys()].join(),
          net.heads.has("up"),
        ],
        [2, "ReLU", 2, "left,right", false],
      );
      net.eval();
      assert.not(net.blocks.at(0)!.training);
      await rejects(() => net.blocks.forward(), TenureError, /one by one/);
      await rejects(() => net.heads.forward(), TenureError, /by name/);
      await rejects(
        () => net.heads.set("left", net.heads.get("right")!),
        ArgumentError,
        /not taken/,
      );
      await rejects(
        () => net.heads.set("a.b", new nn.ReLU() as never),
        ArgumentError,
        /without dots/,
      );
      await rejects(() => new nn.ModuleList([3 as never]), ArgumentError, /modules, got 3/);
    },
  ));

test("loading parts of a state, and looking before", () =>
  withModule(
    () => new nn.Sequential(new nn.Linear(2, 2), new nn.BatchNorm1d(2)),
    async (net) => {
      const before = await values(net.parameters()[0]!);
      const state = new Map<string, Tensor>([
        ["0.bias", tensor([5, 6])],
        ["extra", tensor([1])],
      ]);
      await rejects(
        () => net.loadStateDict(state),
        ArgumentError,
        /no 0\.weight, 1\.weight, 1\.bias, 1\.running_mean.*unknown extra/,
      );
      const { missing, unexpected } = net.loadStateDict(state, { strict: false });
      assert.equal(
        [missing, unexpected],
        [
          [
            "0.weight",
            "1.weight",
            "1.bias",
            "1.running_mean",
            "1.running_var",
            "1.num_batches_tracked",
          ],
          ["extra"],
        ],
      );
      await assertClose(net.parameters()[1]!, [5, 6], 0);
      assert.equal(await values(net.parameters()[0]!), before);
      await rejects(
        () => net.checkStateDict(new Map([["0.bias", tensor([1])]]), { strict: false }),
        ShapeError,
        /0\.bias of shape \[2\], got \[1\]/,
      );
    },
  ));

test("a PyTorch file with a batch norm loads: its count of batches is a 64-bit scalar", () =>
  withModule(
    () => new nn.BatchNorm1d(1),
    async (bn) => {
      const f32 = (v: number): number[] => [...new Uint8Array(Float32Array.of(v).buffer)],
        entry = (dtype: string, shape: number[], from: number, to: number): object => ({
          dtype,
          shape,
          data_offsets: [from, to],
        });
      const header = new TextEncoder().encode(
        JSON.stringify({
          num_batches_tracked: entry("I64", [], 0, 8),
          bias: entry("F32", [1], 8, 12),
          running_mean: entry("F32", [1], 12, 16),
          running_var: entry("F32", [1], 16, 20),
          weight: entry("F32", [1], 20, 24),
        }),
      );
      const file = Uint8Array.of(
        ...new Uint8Array(BigUint64Array.of(BigInt(header.length)).buffer),
        ...header,
        ...new Uint8Array(BigInt64Array.of(7n).buffer),
        ...[1, 2, 3, 4].flatMap(f32),
      );
      bn.loadStateDict(fromSafetensors(file));
      assert.equal(
        [
          await bn.batches!.item(),
          await values(bn.bias!),
          await values(bn.runningMean!),
          await values(bn.runningVar!),
          await values(bn.weight!),
        ],
        [7, [1], [2], [3], [4]],
      );
      const written = fromSafetensors(await packCheckpoint({ model: bn }));
      assert.equal([...written].map(([name, t]) => [name, t.dtype, t.shape]).sort(), [
        ["bias", "float32", [1]],
        ["num_batches_tracked", "int32", []],
        ["running_mean", "float32", [1]],
        ["running_var", "float32", [1]],
        ["weight", "float32", [1]],
      ]);
    },
  ));

test("summary", () =>
  withModule(
    () =>
      new nn.Sequential(
        new nn.Conv2d(1, 4, 3),
        new nn.BatchNorm2d(4),
        new nn.ReLU(),
        new nn.Flatten(),
        new nn.Sequential(new nn.Linear(144, 10), new nn.Dropout()),
      ),
    async (net) => {
      const before = await values(net.parameters()[0]!),
        mark = memory.mark();
      net.layers[2]!.eval(); // modes are put back as they were
      const table = nn.summary(net, [2, 1, 8, 8]);
      assert.is(memory.since(mark).toString().includes("still"), false);
      assert.equal(
        net.layers.map((l) => l.training),
        [true, true, false, true, true],
      );
      assert.equal(
        table.rows.map((r) => [r.name, r.type, r.depth, r.output, r.parameters, r.bytes]),
        [
          ["Sequential", "Sequential", 0, "[2,10]", 0, 0],
          ["0", "Conv2d", 1, "[2,4,6,6]", 40, 160],
          ["1", "BatchNorm2d", 1, "[2,4,6,6]", 8, 68],
          ["2", "ReLU", 1, "[2,4,6,6]", 0, 0],
          ["3", "Flatten", 1, "[2,144]", 0, 0],
          ["4", "Sequential", 1, "[2,10]", 0, 0],
          ["4.0", "Linear", 2, "[2,10]", 1450, 5800],
          ["4.1", "Dropout", 2, "[2,10]", 0, 0],
        ],
      );
      assert.equal([table.parameters, table.trainable, table.bytes], [1498, 1498, 6028]);
      assert.is(
        table.toString(),
        `
layer             output     parameters  bytes
──────────────────────────────────────────────
Sequential        [2,10]
  0: Conv2d       [2,4,6,6]          40    160
  1: BatchNorm2d  [2,4,6,6]           8     68
  2: ReLU         [2,4,6,6]
  3: Flatten      [2,144]
  4: Sequential   [2,10]
    0: Linear     [2,10]          1,450  5,800
    1: Dropout    [2,10]
──────────────────────────────────────────────
1,498 parameters, 6,028 bytes`.slice(1),
      );
      assert.equal(await values(net.parameters()[0]!), before);
      const bn = net.layers[1] as nn.BatchNorm2d;
      assert.is(await bn.batches!.item(), 0);
      await rejects(() => nn.summary(net, [2, 3, 8, 8]), ShapeError, /channels/);
      assert.equal(
        net.layers.map((l) => l.training),
        [true, true, false, true, true],
      );
    },
  ));

test("summary of modules of several tensors, of integers, with frozen parameters", () =>
  withModule(
    () => new nn.Embedding(10, 4),
    (embedding) => {
      embedding.weight.requiresGrad = false;
      const one = nn.summary(embedding, [2, 3], { dtype: "int32" });
      assert.equal([one.rows[0]!.output, one.parameters, one.trainable], ["[2,3,4]", 40, 0]);
      assert.match(one.toString(), /40 parameters \(40 frozen\), 160 bytes/);
      using attention = new nn.MultiheadAttention(4, 2);
      assert.is(
        nn.summary(attention, [
          [3, 1, 4],
          [5, 1, 4],
          [5, 1, 4],
        ]).rows[0]!.output,
        "[3,1,4]",
      );
      using lstm = new nn.LSTM(4, 3);
      assert.is(
        nn.summary(lstm, [5, 2, 4]).rows[0]!.output,
        "output [5,2,3] hidden [1,2,3] cell [1,2,3]",
      );
      assert.throws(
        () => nn.summary(lstm, [[5, 2, 4]], { dtype: [] }),
        /a dtype for each of 1 inputs/,
      );
    },
  ));

test("a disposed module and its scope", async () => {
  const layer = new nn.LayerNorm(2);
  layer.dispose();
  await rejects(() => layer.call(null as never), TenureError, /disposed/);
  {
    using _ = newDisposeScope("outer");
    using inner = new nn.GRU(2, 2);
    assert.is(inner.parameters().length, 4);
  }
});

test.run();
