/**
 * How the host waits for a software adapter: turns of the event loop pause while somebody waits,
 * never otherwise, and the answer arrives as it is.
 */
import { setTimeout as after } from "node:timers/promises";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { Patience } from "../../src/device/patience.ts";
import { pattern, rejects, turnsDuring } from "../helpers.ts";

const test = suite("patience");

test("turns of the event loop pause while somebody waits", async () => {
  const patience = new Patience(true);
  const { turns, ms } = await turnsDuring(() => patience.during(after(40, "done")));
  assert.ok(turns < 300 + ms / 0.2, `${turns} turns in ${ms} ms`);
});

test("and do not once nobody waits, or where the host must not sleep", async () => {
  const patience = new Patience(true);
  assert.is(await patience.during(Promise.resolve(7)), 7);
  await rejects(() => patience.during(Promise.reject(new Error("lost"))), Error, pattern`lost`);
  for (const wait of [() => after(1), () => new Patience(false).during(after(1))]) {
    let most = 0;
    for (let i = 0; i < 200 && most < 50; i++) {
      const { turns, ms } = await turnsDuring(wait);
      most = Math.max(most, turns / ms);
    }
    assert.ok(most >= 50, `${most} turns a millisecond`);
  }
});

test.run();
