/**
 * Tests of the rule `no-dropped-element`: the hand-written cases of
 * `fixtures/cases/no-dropped-element.txt`, with every fix applied.
 */
import { testCases } from "../cases.ts";

testCases("no-dropped-element");
