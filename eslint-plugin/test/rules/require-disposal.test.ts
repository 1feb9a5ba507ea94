/**
 * Tests of the rule `require-disposal`: the hand-written cases of
 * `fixtures/cases/require-disposal.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("require-disposal");
