/**
 * Tracing: a function is recorded, shapes only, and forgotten again. Needs no device. Called by
 * users who want to plan before they run. What the function made never gets contents; tensors that
 * outlive it (gradients, say) say so when they are used. Optimizers and the random generator are as
 * they were before.
 */
import { TenureError } from "../base/errors.ts";
import { type Access, Program, type ProgramOp, type ProgramStorage } from "../graph/program.ts";
import { newDisposeScope } from "../ownership/open.ts";
import { scoped } from "../ownership/scoped.ts";
import { buildProgram } from "./compile.ts";
import type { OpenProgram, ProgramMark } from "./open-program.ts";
import { runtime } from "./runtime.ts";

/**
 * The program that `fn` records. Results of `fn` count as owned, and so does everything that
 * modules, optimizers and the caller still own afterwards.
 * @param fn synchronous; it may train a step, but not read values
 */
export function trace(fn: () => unknown): Program {
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

/** What was recorded since `mark`, with storages numbered in order of their first use there. */
function tracedSince(program: OpenProgram, mark: ProgramMark): Program {
  const whole = buildProgram(program, (bytes) => bytes),
    ops = whole.ops.slice(mark.ops),
    index = new Map<number, number>(),
    storages: ProgramStorage[] = [];
  const made = new Set<number>();
  const local = (s: number, read: boolean): number => {
    let known = index.get(s);
    if (known !== undefined) return known;
    const { bytes, role, pinned } = whole.storages[s]!;
    // A value from before, which is neither parameter nor state, comes from outside.
    index.set(
      s,
      (known =
        storages.push({
          id: `s${storages.length}`,
          bytes,
          role:
            read && !made.has(s) && (role === "activation" || role === "output") ? "input" : role,
          pinned,
        }) - 1),
    );
    return known;
  };
  const renamed = ops.map((op): ProgramOp => {
    const reads = op.reads.map((r) => local(r, true));
    for (const w of op.writes) made.add(w);
    const writes = op.writes.map((w) => local(w, false)),
      { fuse } = op,
      here = (a: Access): Access => ({ ...a, storage: index.get(a.storage)! });
    return {
      ...op,
      reads,
      writes,
      ...(fuse === undefined
        ? {}
        : {
            fuse: { ...fuse, operands: fuse.operands.map(here), results: fuse.results.map(here) },
          }),
    };
  });
  return new Program(storages, renamed);
}

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
