/**
 * Tests of the rule `no-leaked-temporary`: the hand-written cases of
 * `fixtures/cases/no-leaked-temporary.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-leaked-temporary");
