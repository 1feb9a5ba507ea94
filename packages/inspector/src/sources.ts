/**
 * From places in bundles to the lines somebody wrote, by the bundles' source maps. Called for the
 * stacks and texts of a trace before they go into a page. Reads regular files of bounded size, and
 * nothing from the network, since anybody may have written the trace; what has no map stays as it
 * is. Owns nothing.
 */
import { closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { TraceMap, originalPositionFor } from "@jridgewell/trace-mapping";
import type { TraceData, TracedStack } from "tenure";

/** Where a place may stand. Each character is looked at a few times only, however long the text. */
const words = /[^\s()]+/g;
/** How the file of a place begins: a path or a URL. */
const fileStart = /https?:\/\/|file:\/\/|\/|[A-Za-z]:\\/;
/** `file:line:column`, and what follows in the word. */
const place = /^(.*):(\d+):(\d+)/;
/** Files of the library itself, in a project and in its own repository. */
const library = /(?:^|\/)(?:node_modules\/|packages\/)?tenure\/(?:src|dist)\//;

/** Stands before the name of a bundle's map. */
const mapMark = "//# sourceMappingURL=";
/** Bytes that a bundle or a map may have, and all that are read together. */
const fileLimit = 2 ** 26;
const totalLimit = 2 ** 29;

/** Looks places up; reads every bundle and map once. */
class Sources {
  readonly #root: string | null;
  #left = totalLimit;
  readonly #maps = new Map<string, TraceMap | null>();

  constructor(root: string | null) {
    this.#root = root;
  }

  /** A text with all places in it looked up. */
  text(text: string): string {
    return text.replaceAll(words, (word) => {
      const start = word.search(fileStart);
      if (start === -1) return word;
      const [whole = "", file = "", line, column] = place.exec(word.slice(start)) ?? [];
      const found = whole === "" ? null : this.#find(file, Number(line), Number(column));
      if (found === null) return word;
      return word.slice(0, start) + found + word.slice(start + whole.length);
    });
  }

  /** The place in a source of a place in a bundle; null without a map that knows it. */
  #find(file: string, line: number, column: number): string | null {
    const map = this.#mapOf(file);
    if (map === null) return null;
    try {
      const found = originalPositionFor(map, { line, column: Math.max(0, column - 1) });
      if (found.source === null) return null;
      return `${shortened(found.source)}:${found.line}:${found.column + 1}`;
    } catch {
      return null; // a map that makes no sense there
    }
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
      const text = this.#textOf(path);
      const at = text.lastIndexOf(mapMark);
      const name = at === -1 ? undefined : /^\S+/.exec(text.slice(at + mapMark.length))?.[0];
      if (name === undefined) return null;
      const url = new URL(name, pathToFileURL(path));
      const inline = /^data:[^,]*;base64,(.*)$/.exec(name)?.[1];
      if (inline !== undefined)
        return new TraceMap(Buffer.from(inline, "base64").toString(), pathToFileURL(path).href);
      return new TraceMap(this.#textOf(fileURLToPath(url)), url.href);
    } catch {
      return null; // no file, no map, or one that cannot be read: places stay as they are
    }
  }

  /**
   * The text of a regular file that is not too large. A pipe or a device may never end, or wait
   * for somebody who never comes.
   */
  #textOf(path: string): string {
    const { size } = this.#regular(path);
    this.#left -= size;
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const bytes = Buffer.alloc(size);
      return bytes.toString("utf8", 0, readSync(file, bytes));
    } finally {
      closeSync(file);
    }
  }

  #regular(path: string): { readonly size: number } {
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > Math.min(fileLimit, this.#left))
      throw new Error(`${path} is no regular file, or too large`);
    return stat;
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
  return /(?:^|[\s()])([^\s()]+:\d+:\d+)\)?$/.exec(frame)?.[1] ?? frame;
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
