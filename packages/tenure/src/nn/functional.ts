/**
 * Stateless layers and losses as functions on tensors; the module classes are thin over them. Results belong to the current scope; intermediates are freed here.
 */
import { ArgumentError } from "../base/errors.ts";
import { scoped } from "../ownership/scoped.ts";
import * as C from "../ops/conv.ts";
import { crossEntropyRows } from "../ops/reduce.ts";
import { dropout as drop } from "../tensor/create.ts";
import { type Tensor, call } from "../tensor/tensor.ts";

/** One number for both directions, or (vertical, horizontal). */
export type Pair = number | readonly [number, number];
export function pair(value: Pair): readonly [number, number] { return typeof value === "number" ? [value, value] : value; }

/** x [..., in] → [..., out] with weight [out, in] and bias [out]: x·Wᵀ + b, as PyTorch lays it out. */
export function linear(x: Tensor, weight: Tensor, bias?: Tensor | null): Tensor {
  return scoped(() => {
    const rows = x.rank === 1 ? x.unsqueeze(0) : x;
    const y = rows.matmul(weight.transpose());
    const out = bias == null ? y : y.add(bias);
    return x.rank === 1 ? out.squeeze(0) : out;
  }, "linear");
}

export interface Conv2dOptions { readonly stride?: Pair; readonly padding?: Pair; readonly dilation?: Pair; readonly groups?: number }

/** x [N, C, H, W], weight [O, C/groups, R, S], bias [O] → [N, O, P, Q]. */
export function conv2d(x: Tensor, weight: Tensor, bias?: Tensor | null, options: Conv2dOptions = {}): Tensor {
  return scoped(() => {
    const y = call(C.conv2d, [x, weight], { stride: pair(options.stride ?? 1), padding: pair(options.padding ?? 0), dilation: pair(options.dilation ?? 1), groups: options.groups ?? 1 });
    return bias == null ? y : y.add(bias.reshape(1, -1, 1, 1));
  }, "conv2d");
}

export interface PoolOptions { readonly stride?: Pair; readonly padding?: Pair }

/** x [N, C, H, W] → largest element of each window; the stride is the kernel size unless given. */
export function maxPool2d(x: Tensor, kernel: Pair, options: PoolOptions = {}): Tensor {
  return call(C.maxPool2d, [x], { kernel: pair(kernel), stride: pair(options.stride ?? kernel), padding: pair(options.padding ?? 0) });
}

/** x [N, C, H, W] → mean of each window; the stride is the kernel size unless given. */
export function avgPool2d(x: Tensor, kernel: Pair, options: PoolOptions & { readonly countIncludePad?: boolean } = {}): Tensor {
  return call(C.avgPool2d, [x], { kernel: pair(kernel), stride: pair(options.stride ?? kernel), padding: pair(options.padding ?? 0), countIncludePad: options.countIncludePad ?? true });
}

/** Zeroes elements with probability `p` while training; otherwise an alias. */
export function dropout(x: Tensor, p = 0.5, training = true): Tensor { return training && p > 0 ? drop(x, p) : x.alias(); }

export type Reduction = "mean" | "sum" | "none";

/** Reduces per-element losses. `count`, if given, is what a mean divides by. */
export function reduceLoss(op: string, losses: Tensor, reduction: Reduction): Tensor {
  switch (reduction) {
    case "mean": return losses.mean();
    case "sum": return losses.sum();
    case "none": return losses.alias();
    default: throw new ArgumentError(op, 'reduction to be "mean", "sum" or "none"', JSON.stringify(reduction satisfies never));
  }
}

export interface CrossEntropyOptions {
  readonly reduction?: Reduction;
  /** Rows with this target count neither in the loss nor in the mean. */
  readonly ignoreIndex?: number;
}

/** Logits [N, C] and class numbers [N] (int32 or uint32) → -log softmax(logits)[target], averaged over rows. NaN for a target out of range. */
export function crossEntropy(logits: Tensor, targets: Tensor, options: CrossEntropyOptions = {}): Tensor {
  const { reduction = "mean", ignoreIndex } = options;
  return scoped(() => {
    const rows = call(crossEntropyRows, [logits, targets], { ignoreIndex });
    if (ignoreIndex === undefined || reduction !== "mean") return reduceLoss("crossEntropy", rows, reduction);
    return rows.sum().div(targets.ne(ignoreIndex).sum());
  }, "crossEntropy");
}

/** Mean of (a - b)². */
export function mseLoss(a: Tensor, b: Tensor, reduction: Reduction = "mean"): Tensor {
  return scoped(() => reduceLoss("mseLoss", a.sub(b).square(), reduction), "mseLoss");
}
