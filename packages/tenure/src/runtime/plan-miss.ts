/**
 * Why no plan was known for a program, in words: which word of its signature no plan has, and what
 * that stands for. Called by `debug`, and through inspection.ts by whoever prints. Owns nothing.
 */
import type { Layout } from "../base/layout.ts";
import type { Missed, MissRecord } from "./inspector.ts";

/** What a program has that no known plan had. */
export function missRecord(missed: Missed): MissRecord {
  const { words, known } = missed;
  let word: number | null = null;
  let closest: Int32Array | undefined;
  for (const candidate of known) {
    const same = commonPrefix(candidate, words);
    if (word !== null && same < word) continue; // the latest of several
    word = same;
    closest = candidate;
  }
  const difference =
    word === null || closest === undefined ? "no plan was known" : describe(missed, word, closest);
  return { plans: known.length, words: words.length, word, difference };
}

function commonPrefix(a: Int32Array, b: Int32Array): number {
  const end = Math.min(a.length, b.length);
  let i = 0;
  while (i < end && a[i] === b[i]) i++;
  return i;
}

/** What a word of a signature stands for, and how the closest plan differs there. */
function describe({ ops, locals, words }: Missed, word: number, closest: Int32Array): string {
  const now = words[word];
  const then = closest[word];
  const sealed = words.length - 2 * locals;
  if (word >= words.length || then === undefined)
    return `the program has ${words.length} words, the closest plan ${closest.length}`;
  if (word >= sealed) {
    const storage = Math.floor((word - sealed) / 2);
    if ((word - sealed) % 2 === 1) return `storage ${storage} has ${now} bytes, not ${then}`;
    return `storage ${storage} is ${ownership(now)}, not ${ownership(then)}`;
  }
  const index = ops.findLastIndex((o) => o.signatureStart <= word);
  const recorded = ops[index];
  if (recorded === undefined) return `upload into storage ${now}, not ${then}`;
  const { name: opName, attributes, layouts, signatureStart } = recorded;
  const place = word - signatureStart;
  const name = `op ${index} (${opName})`;
  if (place === 0) return `${name} is another op than in the closest plan`;
  if (place <= attributes) return `${name}: attribute ${place - 1} is ${now}, not ${then}`;
  return `${name}: ${operandWord(layouts, place - 1 - attributes, now, then)}`;
}

/** What word `place` of an op's operands says. The order is that of the recorder. */
function operandWord(
  layouts: readonly Layout[],
  place: number,
  now: number | undefined,
  then: number,
): string {
  let rest = place;
  for (const [i, { shape, contiguous }] of layouts.entries()) {
    if (rest === 0) return `input ${i} is storage ${now}, not ${then}`;
    if (rest === 1) return `input ${i} has another dtype, rank or order in memory`;
    if (rest < 2 + shape.length)
      return `dimension ${rest - 2} of input ${i} is ${now}, not ${then}`;
    if (rest === 2 + shape.length) return `input ${i} begins elsewhere in its storage`;
    const strides = contiguous ? 0 : shape.length;
    if (rest < 3 + shape.length + strides) return `input ${i} has other strides`;
    rest -= 3 + shape.length + strides;
  }
  return `result ${rest} goes to storage ${now}, not ${then}`;
}

function ownership(flags: number | undefined): string {
  const owned = ((flags ?? 0) & 1) === 1 ? "owned" : "owned by nobody";
  return `${owned} and ${((flags ?? 0) & 2) === 2 ? "in memory" : "not in memory"}`;
}
