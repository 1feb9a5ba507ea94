/**
 * Tests of the rule `no-overwritten-tensor`: the hand-written cases of
 * `fixtures/cases/no-overwritten-tensor.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-overwritten-tensor");
