/**
 * The ways in which one dispatch could be written, as kernels that can be timed. Called by
 * dispatches.ts while somebody watches. Owns nothing.
 */
import type { Device } from "../device/device.ts";
import type { Question } from "../device/choices.ts";
import type { Kernels } from "../kernels/families.ts";
import type { Kernel } from "../kernels/kernel.ts";
import { lower } from "./lower.ts";
import { type FusedOp, isFused } from "./fusion.ts";
import type { Operand, RecordedOp } from "./recorded-op.ts";
import type { Storage } from "./storage.ts";

/** One question of a kernel's generator, with a kernel for every answer. */
export interface Candidate {
  readonly question: Question;
  /** Kernels by the answer they are written for. */
  readonly kernels: ReadonlyMap<string, Kernel>;
  /** Bytes of each storage binding. */
  readonly sizes: readonly number[];
}

/** Hears of every dispatch that is compiled; `find` works it out, now or later. */
export type Watcher = (find: () => readonly Candidate[]) => void;

/** A recorded op that keeps the places of its storages in this program. */
export function placed(recorded: RecordedOp): RecordedOp {
  const fixed = (operand: Operand): Operand => {
    const { programIndex } = operand.storage;
    const place = { programIndex: { value: programIndex } };
    const storage = Object.create(operand.storage, place) as Storage;
    return { ...operand, storage };
  };
  const one = (op: RecordedOp): RecordedOp => ({
    ...op,
    inputs: op.inputs.map(fixed),
    outputs: op.outputs.map(fixed),
  });
  if (!isFused(recorded)) return one(recorded);
  const fused: FusedOp = { ...recorded, ...one(recorded), members: recorded.members.map(one) };
  return fused;
}

/** What could be chosen for a recorded op. @param sizes bytes that its kernel's bindings take */
export function candidatesOf(
  recorded: RecordedOp,
  { caps, choices }: Pick<Device, "caps" | "choices">,
  generators: Kernels,
  sizes: readonly number[],
): Candidate[] {
  const questions = choices.asked(() => {
    lower(recorded, caps, generators);
  });
  return questions.map((question) => ({
    question,
    kernels: new Map(
      question.space.map((name) => [
        name,
        choices.with(question, name, () => lower(recorded, caps, generators).kernel),
      ]),
    ),
    sizes,
  }));
}
