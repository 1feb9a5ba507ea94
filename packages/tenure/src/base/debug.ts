/**
 * What a developer asked to look at: the words in the environment variable `TENURE_DEBUG`,
 * separated by commas or spaces. Called by whoever has something to show under a word. Owns
 * nothing.
 */
import { env } from "./env.ts";

/**
 * `plan`: plans and what was fused. `wgsl`: kernels. `passes`: the planner's state after each pass.
 * `cache`: plan misses, and compiled
 * functions that run in full. `ops`: what is recorded.
 */
export type DebugWord = "plan" | "wgsl" | "passes" | "cache" | "ops";

/** Whether a word is in `TENURE_DEBUG`, which is read anew each time. */
export function debugs(word: DebugWord, words: string | undefined = env("TENURE_DEBUG")): boolean {
  return words !== undefined && words.split(/[\s,]+/).includes(word);
}
