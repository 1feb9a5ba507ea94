/**
 * Walks over the tensor handles that are alive. Called by evidence and by whoever asks what keeps
 * bytes alive. Owns nothing.
 */
import { DisposableHandle } from "./disposable.ts";
import { type Handle, handles } from "./handle.ts";

/** Live tensor handles younger than `after`. */
export function handlesAfter(after: number | null): Handle[] {
  const list: Handle[] = [];
  for (let h = handles().newest; h !== null && (after === null || h.id > after); h = h.olderLive)
    if (!(h instanceof DisposableHandle)) list.push(h);
  return list;
}

/** Live tensor handles, newest first. */
export function* liveHandles(): Generator<Handle> {
  for (let h = handles().newest; h !== null; h = h.olderLive)
    if (!(h instanceof DisposableHandle)) yield h;
}
