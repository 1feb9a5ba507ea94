/**
 * Tensors that an object keeps for longer than any scope: parameters and buffers of a module, the
 * state of an optimizer, the batch of a loader. Called by those objects, which then dispose what
 * they keep. The only place outside this folder's engine that touches what lies behind a tensor.
 */
import { dtypeBytes } from "../base/dtype.ts";
import { contiguousLayout } from "../base/layout.ts";
import { HANDLE, type KeeperKind } from "../ownership/handle.ts";
import { detachHandle } from "../ownership/moves.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { TensorHandle } from "./body.ts";
import { dropUntilDiscarded, mayBeDiscarded, regain, whenDiscarded } from "./dispatch.ts";
import { type Tensor, live, replaceHandle, wrap } from "./tensor.ts";

/**
 * Takes a tensor out of its scope: from now on it belongs to `keeper`, which error messages and
 * reports name. `role` tells the scheduler what its bytes are for.
 */
export function adopt(
  t: Tensor,
  kind: KeeperKind,
  keeper: string,
  role?: "param" | "state",
): Tensor {
  const handle = t[HANDLE];
  detachHandle(handle);
  handle.keeper = keeper;
  handle.keeperKind = kind;
  handle.logOwner("own");
  if (role !== undefined) handle.storage.role = role;
  return t;
}

/**
 * Frees a tensor that an object keeps. A step that is discarded, or a function that was only
 * traced, has freed it too early: then `back` gets one like it, which no scope owns.
 */
export function disposeUntilDiscarded(t: Tensor, back: (again: Tensor) => void): void {
  const { storage, layout, dtype } = live(t, "dispose");
  if (!mayBeDiscarded()) {
    t.dispose();
    return;
  }
  storage.retain();
  t.dispose();
  dropUntilDiscarded(storage);
  whenDiscarded(() => () => {
    regain(storage);
    const again = wrap(new TensorHandle(storage, layout, dtype, null));
    storage.release();
    detachHandle(again[HANDLE]);
    back(again);
  });
}

/** Whether a tensor has no contents and will have none: its program failed, or it was freed. */
export function isLost(t: Tensor): boolean {
  return t.isDisposed || t[HANDLE].storage.failure !== null;
}

/** Counts the writes to a tensor's bytes, whichever alias they went through. */
export function writesTo(t: Tensor): number {
  return t[HANDLE].storage.version;
}

/** What aliases of one differentiable tensor share: tied weights have one identity. */
export function identityOf(t: Tensor): unknown {
  return t[HANDLE].gradient;
}

/**
 * Converts tensors that nobody's scope owns to another float dtype. Each stays what it was to its
 * users, with its gradient record; views of one storage become views of one converted storage.
 */
export function convertInPlace(tensors: readonly Tensor[], dtype: "float32" | "float16"): void {
  using _ = newDisposeScope("to");
  for (const t of tensors) live(t, "to");
  // Everything is converted before the first tensor changes: a device without float16 throws here.
  const converted = new Map<unknown, TensorHandle>();
  for (const { [HANDLE]: handle } of tensors)
    if (!converted.has(handle.storage))
      converted.set(handle.storage, elementsOf(handle).to(dtype)[HANDLE]);
  for (const t of tensors) {
    const before = t[HANDLE];
    const after = converted.get(before.storage);
    if (after === undefined) continue;
    after.storage.role = before.storage.role;
    after.storage.leaf = before.storage.leaf;
    replaceHandle(t, new TensorHandle(after.storage, before.layout, dtype, before.gradient));
  }
}

/** All elements of the storage behind a handle, one after the other. */
function elementsOf({ storage, layout, dtype }: TensorHandle): Tensor {
  const places = storage.bytes / dtypeBytes(dtype);
  // An odd number of float16 elements has one place more.
  const whole = layout.contiguous && layout.offset === 0 && places - layout.size < 2;
  const count = whole && dtype === "float16" ? layout.size : places;
  return wrap(new TensorHandle(storage, contiguousLayout([count]), dtype, null));
}
