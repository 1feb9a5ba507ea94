/**
 * Tests of the rule `require-member-disposal`: the hand-written cases of
 * `fixtures/cases/require-member-disposal.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("require-member-disposal");
