/**
 * A short run of hostile files: every reader gives a result or a typed error, in bounded time and
 * memory. The long run is `npm run reliability -- bytes`.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { feed } from "../bytes/main.ts";

const test = suite("hostile bytes");

test("no file of 500 in each format gets past its reader", async () => {
  const rows = await feed(500, 20_26);
  assert.is(rows.length, 7);
  for (const { format, inputs, accepted, problems } of rows) {
    assert.equal(problems, [], format);
    assert.is(inputs, 500);
    assert.ok(accepted > 0, `${format}: nothing was accepted, so nothing was tried`);
  }
});

test.run();
