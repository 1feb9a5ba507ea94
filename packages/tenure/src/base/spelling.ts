/**
 * Which known name a misspelt one was surely meant to be. Pure functions, called while an error is
 * being written.
 */

/**
 * The name that was surely meant: the same but for case and underscores, its initials (learningRate
 * for lr), or two letters away.
 */
export function closest(key: string, names: readonly string[]): string | undefined {
  const initials = initialsOf(key);
  let best: string | undefined;
  let least = 3;
  for (const name of names) {
    const same = plain(name) === plain(key) || (initials.length > 1 && initials === name);
    const d = same ? 0 : distance(plain(key), plain(name));
    if (d < least && d < Math.max(name.length, 2) - 1) {
      best = name;
      least = d;
    }
  }
  return best;
}

/** Letters and digits alone, in lower case. */
function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9]/g, "").toLowerCase();
}

/** First letters of the words in a name: learningRate and learning_rate give lr. */
function initialsOf(name: string): string {
  const words = name.replace(/[A-Z]/g, "_$&").split(/[^A-Za-z0-9]+/);
  return words
    .map((word) => word[0] ?? "")
    .join("")
    .toLowerCase();
}

/** Levenshtein's distance: how many letters to insert, drop or replace (Wagner & Fischer 1974). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (const [i, letter] of Array.from(a).entries()) {
    let diagonal = i;
    let left = i + 1;
    const next = [left];
    for (const [j, above] of row.slice(1).entries()) {
      left = Math.min(above + 1, left + 1, diagonal + (letter === b[j] ? 0 : 1));
      next.push(left);
      diagonal = above;
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
