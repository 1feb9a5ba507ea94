/**
 * From places in bundles to the lines somebody wrote, by the bundles' source maps. Called for the
 * stacks and texts of a trace before they go into a page. Reads files beside the bundles, and
 * nothing from the network; what has no map stays as it is. Owns nothing.
 */
import { readFileSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TraceMap, originalPositionFor } from "@jridgewell/trace-mapping";
import type { TraceData, TracedStack } from "tenure";

/** `file:line:column`, with a path or a URL. */
const places = /((?:https?:\/\/|file:\/\/|\/|[A-Za-z]:\\)[^\s()]*):(\d+):(\d+)/g;
/** Files of the library itself, in a project and in its own repository. */
const library = /(?:^|\/)(?:node_modules\/|packages\/)?tenure\/(?:src|dist)\//;

/** Looks places up; reads every bundle and map once. */
class Sources {
  readonly #root: string | null;
  readonly #maps = new Map<string, TraceMap | null>();

  constructor(root: string | null) {
    this.#root = root;
  }

  /** A text with all places in it looked up. */
  text(text: string): string {
    return text.replaceAll(places, (place, file: string, line: string, column: string) => {
      const map = this.#mapOf(file);
      if (map === null) return place;
      const at = { line: Number(line), column: Math.max(0, Number(column) - 1) };
      const found = originalPositionFor(map, at);
      if (found.source === null) return place;
      return `${shortened(found.source)}:${found.line}:${found.column + 1}`;
    });
  }

  /** A stack looked up, without what turns out to be inside the library. */
  stack({ place, frames }: TracedStack): TracedStack {
    const looked = frames.map((frame) => this.text(frame));
    if (looked.every((frame, i) => frame === frames[i])) return { place, frames };
    const outside = looked.filter((frame) => !library.test(frame));
    const shown = outside.length > 0 ? outside : looked;
    return { place: placeIn(shown[0] ?? place), frames: shown };
  }

  #mapOf(file: string): TraceMap | null {
    const known = this.#maps.get(file);
    if (known !== undefined) return known;
    const map = this.#read(file);
    this.#maps.set(file, map);
    return map;
  }

  #read(file: string): TraceMap | null {
    try {
      const path = this.#pathOf(file);
      if (path === null) return null;
      const text = readFileSync(path, "utf8");
      const name = [...text.matchAll(/\/\/# sourceMappingURL=(\S+)/g)].at(-1)?.[1];
      if (name === undefined) return null;
      const url = new URL(name, pathToFileURL(path));
      const inline = /^data:[^,]*;base64,(.*)$/.exec(name)?.[1];
      if (inline !== undefined)
        return new TraceMap(Buffer.from(inline, "base64").toString(), pathToFileURL(path).href);
      return new TraceMap(readFileSync(url, "utf8"), url.href);
    } catch {
      return null; // no file, no map, or one that cannot be read: places stay as they are
    }
  }

  /** Where a bundle lies on this machine: URLs lead below the root. */
  #pathOf(file: string): string | null {
    if (!/^https?:/.test(file)) return file.startsWith("file:") ? fileURLToPath(file) : file;
    return this.#root === null ? null : join(this.#root, new URL(file).pathname);
  }
}

/** A source's path from here where it lies below, else as it is. */
function shortened(source: string): string {
  const path = source.startsWith("file:") ? fileURLToPath(source) : source;
  if (!isAbsolute(path)) return path;
  const short = relative(process.cwd(), path);
  return short.startsWith("..") ? path : short;
}

/** The place in a frame, with or without a function's name. */
function placeIn(frame: string): string {
  return /([^\s()]+:\d+:\d+)\)?$/.exec(frame)?.[1] ?? frame;
}

/**
 * A trace whose stacks and texts name lines of sources. `root`: the folder that a server served
 * when the program ran in a browser; null when it did not.
 */
export function withSources(trace: TraceData, root: string | null): TraceData {
  const sources = new Sources(root);
  return {
    ...trace,
    stacks: trace.stacks.map((stack) => sources.stack(stack)),
    texts: trace.texts.map((text) => sources.text(text)),
  };
}
