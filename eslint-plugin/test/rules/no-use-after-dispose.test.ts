/**
 * Tests of the rule `no-use-after-dispose`: the hand-written cases of
 * `fixtures/cases/no-use-after-dispose.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-use-after-dispose");
