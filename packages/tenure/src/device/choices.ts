/**
 * What was measured best on this device, by kernel and class of sizes. Asked by the kernels'
 * generators, filled by `tune` and from its cache. One per device; plain strings.
 */
import type { Choices } from "../kernels/kernel.ts";

/** What a generator asked. */
export interface Question {
  readonly kernel: string;
  readonly shape: string;
  readonly space: readonly string[];
  readonly standard: string;
}

/** Names a question. */
export const questionKey = ({ kernel, shape }: Pick<Question, "kernel" | "shape">): string =>
  `${kernel} ${shape}`;

/** The choices of one device. */
export class KernelChoices implements Choices {
  /** Everything stays as the generators would have it. */
  pinned = false;
  /** For tests: every kernel is written in the way at this place of its space, counted around. */
  turn: number | null = null;
  readonly #chosen = new Map<string, string>();
  #heard: Map<string, Question> | null = null;
  #forced: { readonly key: string; readonly name: string } | null = null;

  choose(kernel: string, shape: string, space: readonly string[], standard: string): string {
    const key = questionKey({ kernel, shape });
    this.#heard?.set(key, { kernel, shape, space, standard });
    if (this.#forced?.key === key) return this.#forced.name;
    if (this.pinned) return standard;
    if (this.turn !== null) return space[this.turn % space.length] ?? standard;
    return this.#chosen.get(key) ?? standard;
  }

  /** What is asked while `fn` runs. */
  asked(fn: () => void): readonly Question[] {
    const heard = (this.#heard = new Map<string, Question>());
    try {
      fn();
    } finally {
      this.#heard = null;
    }
    return [...heard.values()];
  }

  /** Runs `fn` as if `name` had been chosen. */
  with<T>(question: Question, name: string, fn: () => T): T {
    this.#forced = { key: questionKey(question), name };
    try {
      return fn();
    } finally {
      this.#forced = null;
    }
  }

  /** Chooses from now on; plans made before keep their kernels. */
  set(key: string, name: string): void {
    this.#chosen.set(key, name);
  }

  /** Whether a question was answered. */
  has(key: string): boolean {
    return this.#chosen.has(key);
  }

  /** Forgets what was chosen. */
  clear(): void {
    this.#chosen.clear();
  }

  /** What was chosen: pairs of `questionKey` and name. */
  entries(): [key: string, name: string][] {
    return [...this.#chosen];
  }
}
