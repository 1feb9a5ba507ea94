/**
 * The text the model learns: little tales told by a grammar, so the corpus needs no file, has no
 * owner, and what the model writes can be judged: every word it spells should be one of these.
 * Deterministic for a seed. Host memory, and batches that are the loader's.
 */
import { type Tensor, tensor } from "tenure";
import type { Dataset } from "tenure/data";
import { randomFrom } from "../random.ts";

const names = [
  "anna",
  "ben",
  "clara",
  "dan",
  "the old king",
  "the young queen",
  "a quiet fox",
  "the grey cat",
  "my brother",
  "our teacher",
];
const verbs = [
  "found",
  "carried",
  "painted",
  "lost",
  "wanted",
  "sold",
  "dreamt of",
  "talked about",
];
const adjectives = ["small", "golden", "broken", "heavy", "strange", "blue", "forgotten", "warm"];
const things = ["boat", "letter", "lantern", "key", "apple", "violin", "stone", "map"];
const places = [
  "by the river",
  "in the garden",
  "under the bridge",
  "on the hill",
  "at the market",
  "near the sea",
];
const times = ["in the morning", "at night", "last winter", "every summer", "before the storm"];
const ends = [
  "and went home",
  "and said nothing",
  "and laughed",
  "and slept",
  "but nobody knew",
  "but it was late",
];

/** About `length` characters of tales, one sentence a line. */
export function tales(length: number, seed: number): string {
  const random = randomFrom(seed),
    pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)]!;
  let text = "";
  while (text.length < length) {
    const parts = [
      pick(names),
      pick(verbs),
      `a ${pick(adjectives)} ${pick(things)}`,
      random() < 0.6 ? pick(places) : "",
      random() < 0.4 ? pick(times) : "",
      random() < 0.5 ? pick(ends) : "",
    ];
    text += `${parts.filter((p) => p !== "").join(" ")}.\n`;
  }
  return text;
}

/** Every word a tale can hold. */
export const words: ReadonlySet<string> = new Set(
  [...names, ...verbs, ...adjectives, ...things, ...places, ...times, ...ends, "a"].flatMap(
    (phrase) => phrase.split(" "),
  ),
);

/** The characters of a text, and their numbers. */
export class Alphabet {
  /** Each once, sorted: the position is the number. */
  readonly characters: readonly string[];
  readonly #codes: ReadonlyMap<string, number>;

  constructor(text: string) {
    this.characters = [...new Set(text)].sort();
    this.#codes = new Map(this.characters.map((c, i) => [c, i]));
  }

  /** Numbers of characters, all of which must be in it. */
  encode(text: string): Int32Array {
    return Int32Array.from(text, (c) => this.#codes.get(c)!);
  }
}

/**
 * Every window of `length` characters: input [B, T], and target [B, T], where each character is the
 * next one.
 */
export function windows(
  text: Int32Array,
  length: number,
): Dataset<Readonly<Record<"input" | "target", Tensor>>> {
  const cut = (starts: readonly number[]): Tensor =>
    tensor(Int32Array.from(starts.flatMap((s) => [...text.subarray(s, s + length)])), {
      shape: [starts.length, length],
    });
  return {
    length: text.length - length,
    batch: (starts) => ({ input: cut(starts), target: cut(starts.map((s) => s + 1)) }),
  };
}
