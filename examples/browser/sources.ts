/**
 * From a place in a running script to the line somebody wrote, by the script's source map. Called
 * by the page when a leak is named. Owns nothing; the browser caches what is fetched.
 */
import { TraceMap, originalPositionFor } from "@jridgewell/trace-mapping";

/** A line of source, and what stands around it. */
export interface SourceLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Lines of the file, the one meant at `at`. */
  readonly lines: readonly string[];
  readonly at: number;
}

/** Lines shown before and after. */
const around = 2;

/** The source of `url:line:column`, or null where there is no map that knows it. */
export async function sourceOf(place: string): Promise<SourceLine | null> {
  const found = /^(.*):(\d+):(\d+)$/.exec(place);
  if (found?.[1] === undefined) return null;
  const map = await sourceMap(found[1]);
  if (map === null) return null;
  const at = { line: Number(found[2]), column: Number(found[3]) - 1 };
  const { source, line } = originalPositionFor(map, at);
  if (source === null) return null;
  const text = map.sourcesContent?.[map.resolvedSources.indexOf(source)];
  if (text == null) return null;
  const lines = text.split("\n"),
    first = Math.max(0, line - 1 - around);
  return {
    file: source.replace(/[?#].*$/, "").replace(/^.*\//, ""),
    line,
    lines: withoutIndent(lines.slice(first, line + around)),
    at: line - 1 - first,
  };
}

/** The lines moved left by what all of them are indented by. */
function withoutIndent(lines: readonly string[]): string[] {
  const indents = lines.flatMap((text) => (text.trim() === "" ? [] : [text.search(/\S/)]));
  return lines.map((text) => text.slice(Math.min(...indents)));
}

async function sourceMap(script: string): Promise<TraceMap | null> {
  const response = await fetch(script);
  if (!response.ok) return null;
  const name = [...(await response.text()).matchAll(/\/\/# sourceMappingURL=(\S+)/g)].at(-1)?.[1];
  if (name === undefined) return null;
  const url = new URL(name, script),
    map = await fetch(url);
  return map.ok ? new TraceMap(await map.text(), url.href) : null;
}
