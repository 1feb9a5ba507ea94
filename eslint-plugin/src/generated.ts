/**
 * Text that nobody writes: minified files and bundles of libraries, in which nobody would mend what
 * is reported. Used by `analysis/analyse.ts` and `report/`; owns nothing.
 */

/** What bundlers put around the modules of a library, or before the first of them. */
const wrappers = [
  /\btypeof define\s*={2,3}\s*["']function["']\s*&&\s*define\.amd\b/,
  /\b__webpack_(require__|modules__)|\b__commonJS(Min)?\s*=|\bparcelRequire\b|\b_dereq_\b/,
];

/** Longer than people write, with the lines of a minified file, or a large bundle. */
export const isGenerated = (text: string): boolean =>
  text.length > 1_000_000 ||
  (text.length > 20_000 && text.length > 400 * text.split("\n").length) ||
  (text.length > 100_000 && wrappers.some((wrapper) => wrapper.test(text)));
