/**
 * Reads what a Markdown page points at: its links, the names it sets in backticks, its headings.
 * Called by `tools/links/check.ts`; pure functions of the text.
 */

/** Something a page points at, with the line that does. */
export interface Mention {
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

/** What one page points at. */
export interface Page {
  /** Targets of links and images that are not on the web: `docs/lint.md#rules`, `#rules`. */
  readonly links: readonly Mention[];
  /** Everything between backticks outside of code blocks, and paths of sources in pictures. */
  readonly names: readonly Mention[];
  /** Scripts in `npm run x`, in the text and in code blocks. */
  readonly scripts: readonly Mention[];
  /** Anchors of the headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
}

/** Reads a page. */
export function readPage(text: string): Page {
  const links: Mention[] = [];
  const names: Mention[] = [];
  const scripts: Mention[] = [];
  const headings: string[] = [];
  let fence = "";
  for (const [index, line] of text.split("\n").entries()) {
    const add = (list: Mention[], found: RegExp): void => {
      for (const [, name] of line.matchAll(found))
        if (name !== undefined) list.push({ text: name, line: index + 1 });
    };
    add(scripts, /\bnpm run ([\w:-]+)/g);
    if (/^\s*npm (?:test|start)\b|`npm (?:test|start)\b/.test(line))
      add(scripts, /\bnpm (test|start)\b/g);
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === "" && mark !== undefined) fence = mark;
    else if (mark?.startsWith(fence)) fence = "";
    else if (fence === "") {
      add(names, /`([^`]+)`/g);
      add(names, /(?<![\w`./-])((?:[\w-]+\/)+[\w.-]+\.ts)\b(?!`)/g);
      add(links, /\]\((?!\w+:)<?([^)\s>]+)/g);
      add(links, /^\[[^\]]+\]:\s+(?!\w+:)(\S+)/g);
      const heading = /^#{1,6}\s+(.*)/.exec(line)?.[1];
      if (heading !== undefined) headings.push(heading);
    }
  }
  return { links, names, scripts, anchors: anchorsOf(headings) };
}

/** Lower case, punctuation gone, dashes for spaces; `-1`, `-2` … for headings that come again. */
function anchorsOf(headings: readonly string[]): Set<string> {
  const anchors = new Set<string>();
  for (const heading of headings) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = plain.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    let name = anchor;
    for (let again = 1; anchors.has(name); again++) name = `${anchor}-${again}`;
    anchors.add(name);
  }
  return anchors;
}
