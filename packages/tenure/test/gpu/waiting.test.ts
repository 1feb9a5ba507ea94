/** What the host does while it waits for the device, in a read, in `sync` and when it measures. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { profile, scoped, sync, tensor, tune } from "tenure";
import { setup, turnsDuring } from "../helpers.ts";

const info = await setup();
const test = suite("waiting");

test("waiting for a software adapter leaves its cores alone", async () => {
  if (info.kind !== "software") return;
  using a = tensor(new Float32Array(512 * 512), { shape: [512, 512] });
  const product = async (): Promise<number> => {
    using sum = scoped(() => a.matmul(a).sum());
    return await sum.item();
  };
  assert.is(await product(), 0);
  const waits = [
    product,
    () => {
      using _product = a.matmul(a);
      return sync();
    },
    () => profile(product),
    () => tune(product, { seconds: 0.5 }),
  ];
  for (const wait of waits) {
    const { turns, ms } = await turnsDuring(wait);
    // each wait begins with turns that do not pause yet; without pauses there are tens of thousands
    assert.ok(turns < 1500 + ms / 0.2, `${turns} turns in ${ms} ms`);
  }
});

test.run();
