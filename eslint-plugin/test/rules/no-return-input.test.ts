/**
 * Tests of the rule `no-return-input`: the hand-written cases of
 * `fixtures/cases/no-return-input.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-return-input");
