/**
 * The 26 known leak fixes of the development corpus and the heads whose precision is judged. Used
 * by `main.ts`.
 */
/** A leak fix: repository and commit. */
export interface Case {
  id: string;
  repo: string;
  commit: string;
}
/** The fixes the plugin was developed with. */
export const cases: readonly Case[] = [
  ...[
    "25505619",
    "c6b25fbf",
    "a5c5a4b7",
    "ea5f0c1c",
    "6d75aeae",
    "3352d2de",
    "949bef58",
    "3a77c231",
    "abe02a8a",
  ].map((commit, i) => ({ id: `A${String(i + 1)}`, repo: "tensorflow/tfjs-models", commit })),
  ...["395abae", "74d44f4", "c4d9207", "4d8cd87", "7ad832e"].map((commit, i) => ({
    id: `B${String(i + 1)}`,
    repo: "magenta/magenta-js",
    commit,
  })),
  ...["5ff0c5c", "b65c74c", "623ab30", "b23e637", "49cf1e2"].map((commit, i) => ({
    id: `C${String(i + 1)}`,
    repo: "justadudewhohacks/face-api.js",
    commit,
  })),
  ...["5bedf548c", "b8692e0c6", "80c87d92c", "4fbc09247", "40ed7fdc6", "ce525a989"].map(
    (commit, i) => ({ id: `D${String(i + 1)}`, repo: "tensorflow/tfjs", commit }),
  ),
  { id: "E1", repo: "vladmandic/human", commit: "d03785b1" },
];

/** Heads linted whole; `folders` hold sources that compile together. */
export const heads: readonly { repo: string; commit: string }[] = [
  { repo: "tensorflow/tfjs-models", commit: "18a73420" },
  { repo: "justadudewhohacks/face-api.js", commit: "a86f011" },
  { repo: "magenta/magenta-js", commit: "96bad88" },
  { repo: "vladmandic/human", commit: "151df64d" },
  { repo: "spotify/basic-pitch-ts", commit: "2d498f8" },
];
