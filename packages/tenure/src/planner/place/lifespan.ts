/**
 * Lifespans: how long a storage must stay valid at least, as NNTrainer lets a layer ask for its
 * tensors. They only ever extend what the uses of a storage say.
 *
 *   forward, backward, iteration while its owning layer runs its forward ops, its backward ops, any
 *   of its ops
 *   epoch, max                     the whole program; no other storage gets its memory
 */
import { ArgumentError } from "../../base/errors.ts";
import { describeValue } from "../../base/options.ts";
import type { Program, ProgramOp } from "../../graph/program.ts";

/**
 * For each storage with a lifespan, the half-open range of op indices it must cover; null for the
 * others. @throws ArgumentError for a lifespan that contradicts the program.
 */
export function extensions(program: Program): (readonly [number, number] | null)[] {
  if (program.storages.every((s) => s.lifespan === undefined))
    return program.storages.map(() => null);
  const owner: (string | undefined)[] = program.storages.map(() => undefined);
  for (const op of program.ops) for (const s of [...op.writes, ...op.reads]) owner[s] ??= op.layer;
  return program.storages.map(({ id, lifespan, pinned }, s): readonly [number, number] | null => {
    if (lifespan === undefined) return null;
    if (lifespan === "epoch" || lifespan === "max") return [0, program.ops.length];
    if (pinned && lifespan !== "iteration")
      throw new ArgumentError(
        "plan",
        `a lifespan of ${id} that agrees with its owner, who keeps it after the program`,
        describeValue(lifespan),
        'use "iteration", "epoch" or "max", or don\'t pin it',
      );
    const covers = ({ layer, phase }: ProgramOp): boolean =>
      layer === owner[s] &&
      (lifespan === "iteration" || (lifespan === "forward") === (phase === "forward"));
    const first = program.ops.findIndex(covers);
    return first === -1 ? null : [first, program.ops.findLastIndex(covers) + 1];
  });
}
