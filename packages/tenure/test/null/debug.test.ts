/** Which words of TENURE_DEBUG count. */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { debugs } from "../../src/base/debug.ts";

const test = suite("debug words");

test("a word counts when it stands between commas or spaces", () => {
  assert.ok(debugs("plan", "plan"));
  assert.ok(debugs("wgsl", "plan, wgsl"));
  assert.ok(debugs("ops", "cache ops"));
  assert.not(debugs("plan", "plans,explain"));
  assert.not(debugs("plan", ""));
});

test.run();
