/**
 * Tests of the rule `prefer-using`: the hand-written cases of `fixtures/cases/prefer-using.txt`,
 * with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("prefer-using");
