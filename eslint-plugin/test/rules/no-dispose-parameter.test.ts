/**
 * Tests of the rule `no-dispose-parameter`: the hand-written cases of
 * `fixtures/cases/no-dispose-parameter.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-dispose-parameter");
