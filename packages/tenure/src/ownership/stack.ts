/**
 * Captured stacks as text: which of their frames is the user's line, and whether something was made
 * inside a call. Called by reports, errors and the timeline. Owns nothing.
 */
import { type Capture, depth, sites } from "./site.ts";

// Frames inside this package are machinery; the user's line is the first frame outside. Unbundled,
// the package is the folder two levels up from this file as stacks name it: bundlers write the
// place of the source for `import.meta.url`, and source maps say `src` for `dist`. In a bundle it
// is the bundle; where that leaves nothing, the outermost frame is shown. Development servers
// spread dependencies over several files: Vite in `deps`, Turbopack as `node_modules_…`.
const own = placeIn(String(new Error("own").stack)) ?? "";
const home = own.replace(
  /ownership\/stack\.[jt]s\b.*|(\/deps\/|\/node_modules_)[^/]*$|:\d+:\d+$/,
  "$1",
);
const isBundle = !/\/ownership\/stack\.[jt]s\b/.test(own);
const isOurs = ({ place }: StackFrame): boolean => place.startsWith(home);

/** The first place that lines of a stack name; the host's have none. */
function placeIn(lines: string): string | undefined {
  return /(?:\(|at (?:async )?|@)((?:(?:blob:)?[a-z][\w+.-]*:\/\/|\/|[A-Za-z]:\\)\S*:\d+:\d+)\)?$/m
    .exec(lines)?.[1]
    ?.replace(/^file:\/\//, "");
}

/** `file:line:column` of the first frame outside Tenure, or `undefined` when there is none. */
export function formatSite(capture: Capture | null): string | undefined {
  if (capture === null) return undefined;
  if (capture.place === undefined) capture.place = formatStack(capture)[0]?.place ?? null;
  return capture.place ?? undefined;
}

/** One frame of user code. */
export interface StackFrame {
  readonly place: string;
  readonly text: string;
}

/** The frames outside Tenure and the host, innermost first. */
export function formatStack(capture: Capture | null): StackFrame[] {
  const all = framesOf(capture),
    frames = all.filter((frame) => !isOurs(frame));
  return frames.length === 0 && isBundle ? all.slice(-1) : frames;
}

/**
 * The frames of a stack, innermost first: outside Tenure, or all of them where a bundle hides which
 * those are. Source maps tell, later and elsewhere.
 */
export function mappableStack(capture: Capture | null): StackFrame[] {
  return isBundle ? framesOf(capture) : formatStack(capture);
}

/** The frames outside the host, innermost first. */
function framesOf(capture: Capture | null): StackFrame[] {
  const frames: StackFrame[] = [],
    known = sites();
  for (const line of (capture?.stack ?? "").split("\n")) {
    const text = line.trim(),
      place = placeIn(text);
    if (place === undefined) continue;
    frames.push({ place: known.intern(place), text: known.intern(text) });
  }
  return frames;
}

/**
 * Whether something was made outside the call that opened a scope. The call's own frame stands
 * right above the frames of its callers, at the very positions from which they called it; whoever
 * runs after it returned is at another position. False when a stack is cut short before that can be
 * seen.
 */
export function madeOutside(opened: Capture, made: Capture): boolean {
  const [own, ...callers] = formatStack(opened),
    path = formatStack(made);
  if (own === undefined) return false;
  const whole = (capture: Capture): boolean => capture.stack.split("\n").length <= depth;
  for (let i = 0; i < path.length; i++) {
    const below = path.slice(i + 1),
      shared = Math.min(below.length, callers.length);
    const sameLength = below.length === callers.length || !whole(made) || !whole(opened);
    if (
      sameLength &&
      functionOf(path[i]!) === functionOf(own) &&
      below.slice(0, shared).every((frame, k) => frame.text === callers[k]!.text)
    )
      return false;
  }
  return whole(made);
}

/** Name and file of a frame. */
function functionOf({ text, place }: StackFrame): string {
  const name = /^at (?:async )?(?:new )?(\S+) \(/.exec(text)?.[1] ?? "";
  return `${name}|${place.replace(/:\d+:\d+$/, "")}`;
}
