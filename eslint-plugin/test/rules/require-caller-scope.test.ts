/**
 * Tests of the rule `require-caller-scope`: the hand-written cases of
 * `fixtures/cases/require-caller-scope.txt`, with every suggestion applied.
 */
import { testCases } from "../cases.ts";

testCases("require-caller-scope");
