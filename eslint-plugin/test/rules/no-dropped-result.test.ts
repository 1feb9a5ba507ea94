/**
 * Tests of the rule `no-dropped-result`: the hand-written cases of
 * `fixtures/cases/no-dropped-result.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-dropped-result");
