/**
 * What a training step will be the next time: the same ops, but what optimizers keep from step to
 * step, and this one begins, is there already. Asked by schedulers, so that a budget is refused
 * before the first step when the second would not fit into it. Owns nothing.
 */
import type { OpenProgram } from "./open-program.ts";
import type { RecordedOp } from "./recorded-op.ts";
import type { Storage } from "./storage.ts";

/** A program that was not recorded: some ops of one that was, on the same storages. */
export interface NextStep {
  readonly ops: readonly RecordedOp[];
  readonly locals: OpenProgram["locals"];
  /** Whether a storage, by its index, will arrive with a buffer of its own. */
  readonly atEntry: (local: number) => boolean;
}

/**
 * The program of the step after this one, which may not fit into a budget though this one does:
 * then optimizers have their state. Null when it is the same.
 */
export function nextStep({ ops, locals, uploads }: OpenProgram): NextStep | null {
  const uploaded = new Set(uploads.map(({ storage }) => storage));
  const stays = (storage: Storage): boolean =>
    storage.refs > 0 && (storage.buffer !== null || uploaded.has(storage));
  const begun = new Set(
    locals.filter((s) => s.role === "state" && s.refs > 0 && s.buffer === null && !uploaded.has(s)),
  );
  const fresh = new Set(begun);
  const later = ops.filter(({ inputs, outputs }) => {
    const begins = outputs.every(({ storage }) => fresh.has(storage));
    const updates = inputs.some(({ storage }) => begun.has(storage));
    for (const { storage } of [...inputs, ...outputs]) fresh.delete(storage);
    return !begins || updates;
  });
  if (later.length === ops.length) return null;
  const resident = locals.map((storage) => begun.has(storage) || stays(storage));
  return { ops: later, locals, atEntry: (local) => resident[local] === true };
}
