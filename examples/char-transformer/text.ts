/**
 * The text the model learns: little tales told by a grammar, so the corpus needs no file, has no
 * owner, and what the model writes can be judged: every word it spells should be one of these.
 * Deterministic for a seed. Host memory only.
 */

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

/** Numbers in [0, 1) from a seed: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

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
