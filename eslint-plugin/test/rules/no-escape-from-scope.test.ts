/**
 * Tests of the rule `no-escape-from-scope`: the hand-written cases of
 * `fixtures/cases/no-escape-from-scope.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-escape-from-scope");
