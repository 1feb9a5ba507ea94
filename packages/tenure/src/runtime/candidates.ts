/**
 * The ways in which one dispatch could be written, as kernels that can be timed. Called by
 * compile.ts while `tune` watches. Owns nothing.
 */
import type { Device } from "../device/device.ts";
import type { Question } from "../device/choices.ts";
import type { Kernels } from "../kernels/families.ts";
import type { Kernel } from "../kernels/kernel.ts";
import { lower } from "./lower.ts";
import type { RecordedOp } from "./open-program.ts";

/** One question of a kernel's generator, with a kernel for every answer. */
export interface Candidate {
  readonly question: Question;
  /** Kernels by the answer they are written for. */
  readonly kernels: ReadonlyMap<string, Kernel>;
  /** Bytes of each storage binding. */
  readonly sizes: readonly number[];
}

/** Hears of the candidates of every dispatch that is compiled. */
export type Watcher = (candidates: readonly Candidate[]) => void;

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
