/**
 * Tests of the rule `prefer-sequential`: the hand-written cases of
 * `fixtures/cases/prefer-sequential.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("prefer-sequential");
