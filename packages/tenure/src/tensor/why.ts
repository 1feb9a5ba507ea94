/**
 * What keeps a tensor's bytes alive besides its own handle: aliases, autograd, pending reads. Read
 * through `memory.why(t)`; a walk over everything alive, for debugging. Owns nothing.
 */
import type { Reason } from "../ownership/ledger.ts";
import { liveHandles } from "../ownership/live.ts";
import type { Handle } from "../ownership/handle.ts";
import { TensorHandle } from "./body.ts";
import { type Storage, pendingReads } from "./dispatch.ts";
import type { GradNode, Gradient, Saved } from "./tape.ts";

/** What keeps the bytes of a tensor's handle alive besides that handle. */
export function reasonsBesides(handle: Handle): Reason[] {
  return handle instanceof TensorHandle ? reasonsOf(handle.storage, handle) : [];
}

function reasonsOf(storage: Storage, asked: Handle): Reason[] {
  const found: Reason[] = [];
  let explained = asked.isLive ? 1 : 0;
  const nodes = new Set<GradNode>();
  const records = new Set<Gradient>();
  for (const root of liveHandles()) {
    if (!(root instanceof TensorHandle)) continue;
    if (root.storage === storage && root !== asked) {
      explained++;
      found.push({ kind: "alias", text: `${root.describe()}, an alias ${root.owner()}` });
    }
    const isIt = (saved: Saved | null): boolean => saved?.storage === storage;
    const stack = [root.gradient];
    for (let record = stack.pop(); record !== undefined; record = stack.pop()) {
      if (record === null || records.has(record)) continue;
      records.add(record);
      if (isIt(record.grad)) {
        explained++;
        const leaf = record === root.gradient ? "" : "a leaf below ";
        found.push({ kind: "gradient", text: `the gradient of ${leaf}${root.describe()}` });
      }
      const { node } = record;
      if (node === null || nodes.has(node)) continue;
      nodes.add(node);
      for (const saved of [...node.savedInputs, ...node.savedOutputs]) {
        if (!isIt(saved)) continue;
        explained++;
        found.push({
          kind: "graph",
          text:
            `saved by ${node.op.name} for the backward pass of ${root.describe()}, ` + root.owner(),
        });
      }
      stack.push(...node.edges);
    }
  }
  const reads = pendingReads(storage);
  if (reads > 0)
    found.push({ kind: "read", text: `${reads} pending read${reads === 1 ? "" : "s"}` });
  const rest = storage.refs - explained - reads;
  if (rest > 0)
    found.push({
      kind: "unknown",
      text: `${rest} reference${rest === 1 ? "" : "s"} held by work under way`,
    });
  return found;
}
