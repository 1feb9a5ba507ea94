/**
 * The execution order of layers, for reports: when each layer runs forward, computes its gradients,
 * computes its derivative and applies its update, as slots of one clock. `order3` counts as
 * NNTrainer's patch of 2021 did, three slots for each layer; `order4` as it does today, where a
 * frozen layer takes one slot.
 */
import type { Program } from "../graph/program.ts";

/** When one layer runs what. */
export interface LayerOrder {
  readonly name: string;
  readonly forward: number;
  readonly calcGradient: number;
  readonly calcDerivative: number;
  /** The order with an apply slot per trainable layer. */
  readonly order4: {
    readonly forward: number;
    readonly calcGradient: number;
    readonly calcDerivative: number;
    readonly applyGradient: number;
  };
  readonly trainable: boolean;
}

/** Layers in order of their first forward op. */
export function layerOrder(program: Program): LayerOrder[] {
  const names = new Map<string, boolean>();
  for (const op of program.ops)
    if (op.phase === "forward" && op.layer !== "" && !names.has(op.layer))
      names.set(op.layer, false);
  for (const op of program.ops)
    if ((op.phase === "calcGradient" || op.phase === "apply") && names.has(op.layer))
      names.set(op.layer, true);
  // The backward pass begins behind the last layer's forward slot, and goes from the last to the
  // first.
  const n = names.size;
  let slot = n;
  const rows = [...names].map(([name, trainable], i) => ({ name, trainable, i })).reverse();
  return rows
    .map(({ name, trainable, i }): LayerOrder => {
      const calcGradient = slot;
      if (trainable) slot++;
      const calcDerivative = slot;
      if (trainable) slot++;
      const applyGradient = slot++;
      return {
        name,
        forward: i,
        calcGradient: 3 * n - 2 * i + 1,
        calcDerivative: 3 * n - 2 * i + 2,
        order4: { forward: i, calcGradient, calcDerivative, applyGradient },
        trainable,
      };
    })
    .reverse();
}
