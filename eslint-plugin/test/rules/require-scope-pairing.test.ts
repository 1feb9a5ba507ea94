/**
 * Tests of the rule `require-scope-pairing`: the hand-written cases of
 * `fixtures/cases/require-scope-pairing.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("require-scope-pairing");
