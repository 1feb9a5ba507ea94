/**
 * A short run of hostile calls: everything that users can call has a call that works, and the same
 * call with one thing replaced ends in a result or a typed error that begins with what was called.
 * The long run is
 * `npm run reliability -- calls`.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { call, callsTable } from "../calls/main.ts";

const test = suite("hostile calls");

test("no call ends otherwise than in a result or a typed error that names it", async () => {
  const record = await call({ each: 4 }, 20_26);
  assert.equal(record.missing, [], "new API needs a recipe in packages/reliability/calls");
  assert.equal([...record.problems.keys()], [], callsTable(record));
  assert.ok(record.callees > 2000, `${record.callees} callees`);
  assert.ok(record.calls > 4000 && record.refused > 2500, callsTable(record));
});

test.run();
