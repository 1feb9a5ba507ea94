/**
 * Tests of the rule `no-async-in-scope`: the hand-written cases of
 * `fixtures/cases/no-async-in-scope.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-async-in-scope");
