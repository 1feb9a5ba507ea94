/**
 * What `main.ts` and its workers say to each other. Messages between processes: plain data.
 */

/** The libraries, and this one. */
export type PeerName = "tenure" | "tfjs" | "jax-js" | "onnxruntime";

/** `make` and `end` frame the rounds of a row; `first` makes a row and runs it once. */
export type Order =
  | { readonly what: "make" | "first" | "end"; readonly row: string }
  | { readonly what: "run"; readonly row: string; readonly times: number };

/** What a worker answers: only `error` when something failed, nothing for what it cannot do. */
export interface Answer {
  readonly error?: string;
  readonly adapter?: string | undefined;
  /** Result of `make`: see `Program.values`. */
  readonly values?: readonly number[];
  /** Milliseconds of one run, by the clock and of all threads of the process. */
  readonly ms?: number;
  readonly cpu?: number;
}
