/**
 * Tracing: runs a function to learn its program, without a device and without computing anything.
 * Called by users who want to plan before they run. Tensors made by the function never have
 * contents; using one that outlives it (a gradient, say) throws an error that says so. Optimizers
 * and the random generator are put back as they were.
 */
import "../compose.ts";
import { TenureError } from "../base/errors.ts";
import { lookup } from "../base/access.ts";
import {
  type Access,
  Program,
  type ProgramOp,
  type ProgramStorage,
  storageAt,
} from "../graph/program.ts";
import { checkFunction } from "../base/options.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { scoped } from "../ownership/scoped.ts";
import { buildProgram } from "./build-program.ts";
import type { OpenProgram } from "./open-program.ts";
import type { ProgramMark } from "./script.ts";
import { runtime } from "./runtime.ts";

/**
 * The program that `fn` records. Results of `fn` count as owned, and so does everything that
 * modules, optimizers and the caller still own afterwards.
 * @param fn synchronous; it may train a step, but not read values
 * @throws ArgumentError for what is no function, TenureError inside another trace
 */
export function trace(fn: () => unknown): Program {
  checkFunction("trace", fn);
  const { recorder, submission, device } = runtime();
  if (recorder.tracing)
    throw new TenureError(
      "trace",
      "expected no trace inside another, got one; trace the functions one after the other",
    );
  if (device !== null) submission.flush();
  const { program } = recorder;
  const mark = program.mark();
  using _results = newDisposeScope("trace");
  recorder.tracing = true;
  try {
    scoped(fn, "trace");
    return tracedSince(program, mark);
  } finally {
    forget(program, mark);
    recorder.tracing = false;
  }
}

/** The program recorded since `mark`, with storages numbered by their first use in it. */
function tracedSince(program: OpenProgram, mark: ProgramMark): Program {
  const all = buildProgram(program, (bytes) => bytes);
  const index = new Map<number, number>();
  const storages: ProgramStorage[] = [];
  const made = new Set<number>();
  const numberOf = (s: number, read: boolean): number => {
    const known = index.get(s);
    if (known !== undefined) return known;
    const { bytes, role, pinned } = storageAt(all, s);
    // A value made before the trace is an input, unless it is a parameter or a state.
    const outside = read && !made.has(s) && (role === "activation" || role === "output");
    const id = storages.length;
    storages.push({ id: `s${id}`, bytes, role: outside ? "input" : role, pinned });
    index.set(s, id);
    return id;
  };
  const renumbered = (a: Access): Access => ({ ...a, storage: lookup(index, a.storage) });
  const ops = all.ops.slice(mark.ops).map(({ fuse, ...op }): ProgramOp => {
    const reads = op.reads.map((r) => numberOf(r, true));
    for (const w of op.writes) made.add(w);
    const writes = op.writes.map((w) => numberOf(w, false));
    if (fuse === undefined) return { ...op, reads, writes };
    const operands = fuse.operands.map(renumbered);
    const results = fuse.results.map(renumbered);
    return { ...op, reads, writes, fuse: { ...fuse, operands, results } };
  });
  return new Program(storages, ops);
}

/** Takes back what was recorded since `mark`; its tensors never get contents. */
function forget(program: OpenProgram, mark: ProgramMark): void {
  const failure = new TenureError(
    "trace",
    "expected a tensor with contents, got one that was made inside trace(); make it again outside",
  );
  const fresh = new Set(
    program.ops.slice(mark.ops).flatMap((op) => op.outputs.map((o) => o.storage)),
  );
  for (const { storage } of program.uploads.slice(mark.uploads)) fresh.add(storage);
  for (const storage of fresh)
    if (
      storage.buffer === null &&
      !(program.mentions(storage) && storage.programIndex < mark.locals)
    )
      storage.failure = failure;
  program.rollback(mark);
}
