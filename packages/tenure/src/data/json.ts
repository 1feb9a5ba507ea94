/**
 * JSON out of untrusted files: what `JSON.parse` lets pass and a reader must not. Called by the
 * readers of this folder, before they parse; owns nothing.
 */
import type { Fail } from "./elements.ts";

/** What a text may be. */
export interface JsonLimits {
  /** Objects and lists inside each other. */
  readonly depth: number;
  /** Commas, colons and brackets: what parsing takes time and memory for. */
  readonly marks: number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * Refuses repeated names, of which `JSON.parse` keeps the last, nesting without end, and more
 * values than anybody means. The text may not be JSON at all.
 */
export function checkJson(text: string, { depth, marks }: JsonLimits, fail: Fail): void {
  const open: (Set<string> | null)[] = []; // names seen in an object, null for a list
  let seen = 0;
  let nameFrom = -1; // where a string began that is a name, if a colon follows
  let nameTo = -1;
  const mark = (): void => {
    if (++seen > marks) fail(`at most ${marks} commas, colons and brackets of JSON`, "more");
  };
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      nameFrom = i;
      i = nameTo = endOfString(text, i);
    } else if (code === openBrace || code === openBracket) {
      mark();
      open.push(code === openBrace ? new Set() : null);
      if (open.length > depth) fail(`at most ${depth} levels of JSON`, "more");
    } else if (code === closeBrace || code === closeBracket) open.pop();
    else if (code === comma) mark();
    else if (code === colon) {
      mark();
      addName(open.at(-1), text.slice(nameFrom, nameTo + 1), fail);
    }
  }
}

/** The closing quote of the string that opens at `from`, or the end of the text. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from + 1);
  while (end !== -1) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

function addName(names: Set<string> | null | undefined, quoted: string, fail: Fail): void {
  if (names == null) return; // no JSON: the parser will say so
  const name = quoted.includes("\\") ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (names.has(name)) fail("each name once", JSON.stringify(name.slice(0, 100)));
  names.add(name);
}
