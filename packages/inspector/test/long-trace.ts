/**
 * A trace as long as asked for, of a program that trains in steps and keeps a tensor of each. Tests
 * only.
 */
import type { EventKind, TraceData, TracedEvent } from "tenure";

/** Events of one step: tensors made, taken by the graph, and freed in the reverse order. */
const perStep = 1000;

/** A trace of `count` events. */
export function longTrace(count: number): TraceData {
  const texts = ["", "tensor", 'scope "step"', "step 1", "module Linear"];
  const events: TracedEvent[] = [];
  let [owned, id] = [0, 0];
  const add = (kind: EventKind, handle: number, bytes: number, text: number, by: number): void => {
    const at = events.length / 50;
    const stack = handle % 40;
    events.push([kind, at, handle, bytes, handle, text, stack, by, owned, 4e6, 2e8]);
  };
  while (events.length < count) {
    const made: [number, number][] = [];
    add("begin", 0, 0, 3, -1);
    for (let i = 0; i < perStep / 3; i++) {
      const bytes = 4096 * (1 + ((++id * 7919) % 97));
      owned += bytes;
      add("create", id, bytes, 1, i % 50 === 0 && id < 1000 ? 4 : 2);
      if (i % 50 !== 0) made.push([id, bytes]);
    }
    for (const [handle, bytes] of made.reverse()) {
      add("dispose", handle, bytes, 1, -1);
      owned -= bytes;
      add("free", handle, bytes, 1, -1);
    }
    add("end", 0, 0, 3, -1);
  }
  const stacks = Array.from({ length: 40 }, (_, i) => ({
    place: `/app/model.ts:${i + 1}:5`,
    frames: [`at forward (/app/model.ts:${i + 1}:5)`, "at main (/app/main.ts:9:3)"],
  }));
  const nothing = { dropped: 0, scopes: [], figures: [], plans: [] };
  return { version: 1, level: "full", device: "none", texts, stacks, events, ...nothing };
}
