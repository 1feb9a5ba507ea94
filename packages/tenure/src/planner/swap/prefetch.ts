/**
 * Moves fetches to earlier places, so that they can overlap with ops: as far as the budget and the
 * window, measured in bytes of arrays touched in between, allow. A fetch that would break the
 * budget stops there. Called behind offload.ts. Pure.
 */
import { at } from "../../base/access.ts";
import { bytesOf, opAt, storageAt } from "../../graph/program.ts";
import { type Action, type Context, curveOf } from "../schedule.ts";

/** The schedule with its fetches moved, first to last. */
export function prefetch(
  context: Context,
  actions: readonly Action[],
  { budgetBytes, prefetchBytes }: { readonly budgetBytes: number; readonly prefetchBytes: number },
): Action[] {
  const list = [...actions];
  if (!list.some((a) => a.kind === "swapIn") || prefetchBytes <= 0) return list;
  const live = [...curveOf(context, list)];
  for (let t = 0; t < list.length; t++) {
    const fetch = at(list, t);
    context.deadline?.check();
    if (fetch.kind !== "swapIn") continue;
    const { bytes } = storageAt(context.program, fetch.storage);
    let place = t;
    let window = bytes;
    while (place > 0) {
      const step = bytesToPass(context, at(list, place - 1), fetch.storage);
      if (step === null || (step > 0 && window + step > prefetchBytes)) break;
      window += step;
      if (at(live, place - 1) + bytes > budgetBytes) break;
      place--;
    }
    if (place === t) continue;
    // ops place … t-1 move one place back and have the fetched bytes beside them.
    list.splice(t, 1);
    list.splice(place, 0, fetch);
    live.splice(t, 1);
    for (let k = place; k < t; k++) live[k]! += bytes;
    live.splice(place, 0, live[place] ?? 0);
  }
  return list;
}

/** Bytes an action adds to the window of a fetch that moves before it; null when it cannot. */
function bytesToPass({ program }: Context, earlier: Action, storage: number): number | null {
  if (earlier.kind === "swapIn") return null;
  if (earlier.kind === "swapOut") return earlier.storage === storage ? null : 0;
  const { reads, writes } = opAt(program, earlier.op);
  if (reads.includes(storage) || writes.includes(storage)) return null;
  return bytesOf(program, new Set([...reads, ...writes]));
}
