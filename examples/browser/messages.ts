/**
 * What page and worker say to each other. Types only; numbers and text travel, tensors never do.
 */

/** Which of the networks of the example beside this one is trained. */
export type Network = "mlp" | "cnn";

/** From the page to the worker. */
export type Order =
  | { readonly kind: "begin"; readonly network: Network | undefined }
  | { readonly kind: "run"; readonly running: boolean }
  | { readonly kind: "forget"; readonly forget: boolean }
  | { readonly kind: "sample" }
  /** 28×28 values from 0 (paper) to 1 (ink). */
  | { readonly kind: "classify"; readonly id: number; readonly pixels: Float32Array };

/** Bytes on the GPU by who owns them; see owners.ts. */
export interface Owners {
  readonly model: number;
  readonly optimizer: number;
  readonly batch: number;
  readonly gradients: number;
  readonly forgotten: number;
  readonly free: number;
}

/** One training step. */
export interface StepReport {
  readonly step: number;
  readonly epoch: number;
  readonly loss: number;
  /** Share of the batch that was right. */
  readonly accuracy: number;
  readonly images: number;
  /** Tensors alive after it. */
  readonly tensors: number;
  readonly owners: Owners;
}

/** A loop that leaves tensors alive, and the line that makes them. */
export interface LeakReport {
  /** `url:line:column` of the running script. */
  readonly made: string;
  readonly perStep: number;
  readonly bytesPerStep: number;
}

/** From the worker to the page. */
export type News =
  | { readonly kind: "ready"; readonly device: string; readonly network: Network }
  | ({ readonly kind: "step" } & StepReport)
  | { readonly kind: "test"; readonly step: number; readonly accuracy: number }
  | ({ readonly kind: "leak" } & LeakReport)
  /** So much was forgotten that the worker stopped forgetting. */
  | { readonly kind: "full"; readonly tensors: number }
  | { readonly kind: "sample"; readonly pixels: Uint8Array; readonly label: number }
  | { readonly kind: "digit"; readonly id: number; readonly probabilities: readonly number[] }
  | { readonly kind: "failed"; readonly noDevice: boolean; readonly message: string };
