/** What must be over when `shutdown()` says that it is. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { DeviceLostError, init, shutdown, tensor } from "tenure";
import { runtime } from "../../src/runtime/runtime.ts";
import { rejects, setup } from "../helpers.ts";

await setup();
const test = suite("shutdown");

test("shutdown waits for what the device has still to answer", async () => {
  await init();
  const { gpu } = runtime().device!;
  const pop = gpu.popErrorScope.bind(gpu);
  let waiting = 0;
  gpu.popErrorScope = () => {
    waiting++;
    return pop().finally(() => waiting--);
  };
  using a = tensor([1, 2]),
    b = a.add(a);
  const lost = rejects(() => b.data(), DeviceLostError, /shut down/);
  await shutdown();
  assert.is(waiting, 0); // a worker thread that ends now must not abort the process
  await lost;
  await init();
});

test.run();
