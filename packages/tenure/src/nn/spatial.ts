/**
 * Layers over space beside Conv2d and MaxPool2d: convolution of sequences, transposed convolution, pooling, adaptive pooling and resampling. Those with weights
 * own them, in PyTorch's layouts; all free their intermediates.
 */
import { ArgumentError, ShapeError } from "../base/errors.ts";
import { formatShape } from "../base/shape.ts";
import { scoped } from "../ownership/scoped.ts";
import * as C from "../ops/conv.ts";
import { tensor } from "../tensor/create.ts";
import { type Tensor, call } from "../tensor/tensor.ts";
import * as F from "./functional.ts";
import { defaultWeight, fanIn, uniform } from "./init.ts";
import { Module } from "./module.ts";

function checkCount(layer: string, what: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) throw new ArgumentError(layer, `${what} to be a positive integer`, String(value));
}

function checkChannels(layer: string, inChannels: number, outChannels: number, groups: number): void {
  checkCount(layer, "inChannels", inChannels);
  checkCount(layer, "outChannels", outChannels);
  checkCount(layer, "groups", groups);
  if (inChannels % groups !== 0 || outChannels % groups !== 0) throw new ArgumentError(layer, "groups that divide both channel counts", `${groups} for ${inChannels} and ${outChannels}`);
}

/** [N, C, L] as an image one pixel high; `fn` gives such an image, which becomes [N, C', L'] again. */
function asImage(op: string, x: Tensor, fn: (image: Tensor) => Tensor): Tensor {
  if (x.rank !== 3) throw new ShapeError(op, "a tensor [N, C, L]", formatShape(x.shape), "add missing dimensions with unsqueeze");
  return scoped(() => fn(x.unsqueeze(2)).squeeze(2), op);
}

// === Convolution ===

export interface Conv1dOptions { readonly stride?: number; readonly padding?: number; readonly dilation?: number; readonly groups?: number; readonly bias?: boolean }

/** x [N, C, L] → [N, O, L']. weight [O, C/groups, K], bias [O]. */
export class Conv1d extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: Conv1dOptions;
  constructor(inChannels: number, outChannels: number, kernelSize: number, options: Conv1dOptions = {}) {
    super();
    const groups = options.groups ?? 1, shape = [outChannels, inChannels / groups, kernelSize];
    checkChannels("Conv1d", inChannels, outChannels, groups);
    checkCount("Conv1d", "kernelSize", kernelSize);
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = options.bias === false ? null : this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))));
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    const { stride = 1, padding = 0, dilation = 1, groups = 1 } = this.#options;
    return asImage("Conv1d", x, (image) => F.conv2d(image, this.weight.unsqueeze(2), this.bias, { stride: [1, stride], padding: [0, padding], dilation: [1, dilation], groups }));
  }
}

export interface ConvTranspose2dOptions extends F.Conv2dOptions {
  /** Rows and columns added at the bottom and right of the result; below the stride. */
  readonly outputPadding?: F.Pair;
  readonly bias?: boolean;
}

/**
 * Transposed convolution: the gradient of Conv2d for its input. x [N, C, H, W] → [N, O, P, Q] with P = (H - 1)·stride - 2·padding + dilation·(R - 1) +
 * outputPadding + 1. weight [C, O/groups, R, S], bias [O].
 */
export class ConvTranspose2d extends Module {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly #options: ConvTranspose2dOptions;
  constructor(inChannels: number, outChannels: number, kernelSize: F.Pair, options: ConvTranspose2dOptions = {}) {
    super();
    const groups = options.groups ?? 1, [p, q] = F.pair(options.outputPadding ?? 0), [u, v] = F.pair(options.stride ?? 1), shape = [inChannels, outChannels / groups, ...F.pair(kernelSize)];
    checkChannels("ConvTranspose2d", inChannels, outChannels, groups);
    for (const k of F.pair(kernelSize)) checkCount("ConvTranspose2d", "kernelSize", k);
    if (!(Number.isInteger(p) && Number.isInteger(q) && p >= 0 && q >= 0 && p < u && q < v)) throw new ArgumentError("ConvTranspose2d", `an outputPadding below the stride ${u}×${v}`, `${p}×${q}`);
    this.weight = this.parameter("weight", defaultWeight(shape));
    this.bias = options.bias === false ? null : this.parameter("bias", uniform([outChannels], 1 / Math.sqrt(fanIn(shape))));
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    const { stride = 1, padding = 0, dilation = 1, groups = 1, outputPadding = 0 } = this.#options, [channels, perGroup, r, s] = this.weight.shape as readonly [number, number, number, number];
    if (x.rank !== 4 || x.shape[1] !== channels) throw new ShapeError("ConvTranspose2d", `a tensor [N, ${channels}, H, W]`, formatShape(x.shape), "check the layer's inChannels");
    const window = { stride: F.pair(stride), padding: F.pair(padding), dilation: F.pair(dilation), groups }, extra = F.pair(outputPadding);
    const size = (k: 0 | 1, kernel: number): number => (x.shape[2 + k]! - 1) * window.stride[k] - 2 * window.padding[k] + window.dilation[k] * (kernel - 1) + extra[k] + 1;
    const shape = [x.shape[0]!, perGroup * groups, size(0, r), size(1, s)];
    if (shape.some((d, i) => i > 1 && d < 1)) throw new ShapeError("ConvTranspose2d", "a padding that leaves something", formatShape(shape), "use less padding");
    return scoped(() => {
      const y = call(C.conv2dBackwardInput, [x, this.weight], { ...window, shape });
      return this.bias === null ? y : y.add(this.bias.reshape(1, -1, 1, 1));
    }, "ConvTranspose2d");
  }
}

// === Pooling ===

export interface Pool1dOptions { readonly stride?: number; readonly padding?: number }
export interface AvgPoolOptions { readonly countIncludePad?: boolean }

/** Largest element of each window of x [N, C, L]; the stride is the kernel size unless given. */
export class MaxPool1d extends Module {
  readonly #kernel: number;
  readonly #options: Pool1dOptions;
  constructor(kernelSize: number, options: Pool1dOptions = {}) { super(); this.#kernel = kernelSize; this.#options = options; }
  forward(x: Tensor): Tensor {
    const { stride = this.#kernel, padding = 0 } = this.#options;
    return asImage("MaxPool1d", x, (image) => F.maxPool2d(image, [1, this.#kernel], { stride: [1, stride], padding: [0, padding] }));
  }
}

/** Mean of each window of x [N, C, L]. */
export class AvgPool1d extends Module {
  readonly #kernel: number;
  readonly #options: Pool1dOptions & AvgPoolOptions;
  constructor(kernelSize: number, options: Pool1dOptions & AvgPoolOptions = {}) { super(); this.#kernel = kernelSize; this.#options = options; }
  forward(x: Tensor): Tensor {
    const { stride = this.#kernel, padding = 0, countIncludePad = true } = this.#options;
    return asImage("AvgPool1d", x, (image) => F.avgPool2d(image, [1, this.#kernel], { stride: [1, stride], padding: [0, padding], countIncludePad }));
  }
}

/** Mean of each window of x [N, C, H, W]; the stride is the kernel size unless given. */
export class AvgPool2d extends Module {
  readonly #kernel: F.Pair;
  readonly #options: F.PoolOptions & AvgPoolOptions;
  constructor(kernelSize: F.Pair, options: F.PoolOptions & AvgPoolOptions = {}) { super(); this.#kernel = kernelSize; this.#options = options; }
  forward(x: Tensor): Tensor { return F.avgPool2d(x, this.#kernel, this.#options); }
}

// === Resampling: rows and columns are mixed by two small matrices ===

/** For each of `to` positions, the weights of `from` positions. */
type Mixer = (from: number, to: number) => Float32Array;

/** A product with [to, from] from the left for rows, from the right for columns. A side that stays needs none. */
function resample(x: Tensor, height: number, width: number, rows: Mixer | null, columns: Mixer | null): Tensor {
  return scoped(() => {
    const [h, w] = [x.shape[2]!, x.shape[3]!];
    const tall = rows === null ? x : tensor(rows(h, height), { shape: [height, h], dtype: x.dtype }).matmul(x);
    const out = columns === null ? tall : tall.matmul(tensor(columns(w, width), { shape: [width, w], dtype: x.dtype }).transpose());
    return out === x ? x.alias() : out;
  });
}

/** Bins from ⌊i·from/to⌋ to ⌈(i + 1)·from/to⌉, averaged. */
const bins: Mixer = (from, to) => {
  const out = new Float32Array(to * from);
  for (let i = 0; i < to; i++) {
    const start = Math.floor(i * from / to), end = Math.ceil((i + 1) * from / to);
    out.fill(1 / (end - start), i * from + start, i * from + end);
  }
  return out;
};

function adaptive(op: string, x: Tensor, [height, width]: readonly [number, number]): Tensor {
  if (x.rank !== 4 || x.shape[2] === 0 || x.shape[3] === 0) throw new ShapeError(op, "images [N, C, H, W] with pixels", formatShape(x.shape), "add missing dimensions with unsqueeze");
  const [h, w] = [x.shape[2]!, x.shape[3]!];
  if (h % height === 0 && w % width === 0) return F.avgPool2d(x, [h / height, w / width]);
  return resample(x, height, width, h === height ? null : bins, w === width ? null : bins);
}

/** Means over as many bins as the result has positions, whatever the image's size: [N, C, H, W] → [N, C, P, Q]. 1 is the global average. */
export class AdaptiveAvgPool2d extends Module {
  readonly #size: readonly [number, number];
  constructor(outputSize: F.Pair) { super(); this.#size = F.pair(outputSize); for (const d of this.#size) checkCount("AdaptiveAvgPool2d", "outputSize", d); }
  forward(x: Tensor): Tensor { return adaptive("AdaptiveAvgPool2d", x, this.#size); }
}

/** [N, C, L] → [N, C, P]: means over P bins. */
export class AdaptiveAvgPool1d extends Module {
  readonly #size: number;
  constructor(outputSize: number) { super(); checkCount("AdaptiveAvgPool1d", "outputSize", outputSize); this.#size = outputSize; }
  forward(x: Tensor): Tensor { return asImage("AdaptiveAvgPool1d", x, (image) => adaptive("AdaptiveAvgPool1d", image, [1, this.#size])); }
}

export interface UpsampleOptions {
  /** Size of the result … */
  readonly size?: F.Pair;
  /** … or how many times as large. */
  readonly scaleFactor?: F.Pair;
  readonly mode?: "nearest" | "bilinear";
  /** Bilinear: the corner pixels of both images have the same centres. */
  readonly alignCorners?: boolean;
}

/** Another size for x [N, C, H, W], by the nearest pixel or by linear interpolation along both axes, with torch.nn.Upsample's positions. */
export class Upsample extends Module {
  readonly #options: UpsampleOptions;
  constructor(options: UpsampleOptions) {
    super();
    const { size, scaleFactor, mode = "nearest", alignCorners = false } = options;
    if ((size === undefined) === (scaleFactor === undefined)) throw new ArgumentError("Upsample", "either a size or a scaleFactor", size === undefined ? "neither" : "both");
    if (F.pair((size ?? scaleFactor)!).some((n) => !(n > 0) || (size !== undefined && !Number.isInteger(n)))) throw new ArgumentError("Upsample", "a positive size or factor", String(size ?? scaleFactor));
    if (alignCorners && mode === "nearest") throw new ArgumentError("Upsample", "alignCorners only with bilinear", "nearest");
    this.#options = options;
  }
  forward(x: Tensor): Tensor {
    if (x.rank !== 4 || x.shape[2] === 0 || x.shape[3] === 0) throw new ShapeError("Upsample", "images [N, C, H, W] with pixels", formatShape(x.shape), "add missing dimensions with unsqueeze");
    const { size, scaleFactor, mode = "nearest", alignCorners = false } = this.#options, factors = scaleFactor === undefined ? null : F.pair(scaleFactor);
    const [height, width] = size === undefined ? [0, 1].map((k) => Math.floor(x.shape[2 + k]! * factors![k]!)) as [number, number] : F.pair(size);
    if (height < 1 || width < 1) throw new ShapeError("Upsample", "a factor that leaves pixels", `[${height},${width}] from ${formatShape(x.shape)}`);
    const mixer = (k: 0 | 1): Mixer => (from, to) => mix(from, to, factors === null ? from / to : 1 / factors[k], mode, alignCorners);
    return resample(x, height, width, mixer(0), mixer(1));
  }
}

/** Weights of `from` pixels in `to` ones, `step` apart. */
function mix(from: number, to: number, step: number, mode: "nearest" | "bilinear", alignCorners: boolean): Float32Array {
  const out = new Float32Array(to * from);
  for (let i = 0; i < to; i++) {
    if (mode === "nearest") { out[i * from + Math.min(Math.floor(i * step), from - 1)] = 1; continue; }
    const at = alignCorners ? (to > 1 ? i * (from - 1) / (to - 1) : 0) : Math.max((i + 0.5) * step - 0.5, 0);
    const low = Math.min(Math.floor(at), from - 1), high = Math.min(low + 1, from - 1), share = Math.min(at - low, 1);
    out[i * from + low]! += 1 - share;
    out[i * from + high]! += share;
  }
  return out;
}
