/**
 * Tests of the rule `no-double-dispose`: the hand-written cases of
 * `fixtures/cases/no-double-dispose.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-double-dispose");
