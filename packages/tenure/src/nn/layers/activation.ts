/**
 * Activations as modules. They own nothing, but for the slope of PReLU; `call` gives a fresh tensor
 * in the current scope.
 */
import { f32Bits } from "../../base/bits.ts";
import { isFloat } from "../../base/dtype.ts";
import { ShapeError } from "../../base/errors.ts";
import { type OptionTable, checkArgument, readOptions } from "../../base/options.ts";
import { formatShape, normalizeAxis } from "../../base/shape.ts";
import { axisRow, count, finite } from "../checks.ts";
import { clamp } from "../../ops/extremes.ts";
import { Layer } from "../module.ts";
import { composed } from "../../ownership/scoped.ts";
import { full } from "../../tensor/create.ts";
import { type Tensor, call, live } from "../../tensor/tensor.ts";

/** x kept within bounds, at which the gradient is 0 as it is outside. */
const within = (x: Tensor, low: number, high: number): Tensor =>
  isFloat(x.dtype)
    ? call(clamp, [x], { dtype: x.dtype, open: true }, [f32Bits(low), f32Bits(high)])
    : x.clamp(low, high);

/** What computes something of one tensor, which it checks first. */
abstract class Activation extends Layer {
  forward(x: Tensor): Tensor {
    live(x, this.constructor.name);
    return this.of(x);
  }
  /** The function of a live tensor. */
  protected abstract of(x: Tensor): Tensor;
}

/** x itself, as a fresh alias. */
export class Identity extends Activation {
  protected of(x: Tensor): Tensor {
    return x.alias();
  }
}

/** max(x, 0). */
export class ReLU extends Activation {
  protected of(x: Tensor): Tensor {
    return x.relu();
  }
}

/** min(max(x, 0), 6). */
export class ReLU6 extends Activation {
  protected of(x: Tensor): Tensor {
    return within(x, 0, 6);
  }
}

/** 1 / (1 + exp(-x)). */
export class Sigmoid extends Activation {
  protected of(x: Tensor): Tensor {
    return x.sigmoid();
  }
}

/** Hyperbolic tangent. */
export class Tanh extends Activation {
  protected of(x: Tensor): Tensor {
    return x.tanh();
  }
}

/** log(1 + exp(x)). */
export class Softplus extends Activation {
  protected of(x: Tensor): Tensor {
    return x.softplus();
  }
}

/** x / (1 + |x|). */
export class Softsign extends Activation {
  protected of(x: Tensor): Tensor {
    return composed(() => x.div(x.abs().add(1)), "Softsign");
  }
}

/** log(sigmoid(x)). */
export class LogSigmoid extends Activation {
  protected of(x: Tensor): Tensor {
    return x.logSigmoid();
  }
}

/** x · sigmoid(x) (Elfwing et al. 2017), also called swish. */
export class SiLU extends Activation {
  protected of(x: Tensor): Tensor {
    return x.silu();
  }
}

/** x · tanh(softplus(x)) (Misra 2019). */
export class Mish extends Activation {
  protected of(x: Tensor): Tensor {
    return x.mish();
  }
}

/** Scaled exponential linear unit (Klambauer et al. 2017). */
export class SELU extends Activation {
  protected of(x: Tensor): Tensor {
    return x.selu();
  }
}

/** x · min(max(x + 3, 0), 6) / 6 (Howard et al. 2019). */
export class Hardswish extends Activation {
  protected of(x: Tensor): Tensor {
    return x.hardSwish();
  }
}

/** min(max(x + 3, 0), 6) / 6. */
export class Hardsigmoid extends Activation {
  protected of(x: Tensor): Tensor {
    return x.hardSigmoid();
  }
}

/** Options of `GELU`. */
export interface GELUOptions {
  /** How Φ is computed: exactly, unless told otherwise. */
  readonly approximate?: "none" | "tanh";
}
const geluOptions = {
  approximate: {
    type: "choice",
    of: ["none", "tanh"],
    default: "none",
    remedy: "leave it out for the exact function",
  },
} satisfies OptionTable<GELUOptions>;

/**
 * x · Φ(x) (Hendrycks & Gimpel 2016), exact or by its tanh approximation.
 * @throws ArgumentError for an unknown approximation
 * @example
 * ```ts
 * using gelu = new GELU({ approximate: "tanh" });
 * using out = gelu.call(x);
 * console.log(out.shape.join()); // → 8,4
 * ```
 */
export class GELU extends Activation {
  readonly #approximate: "none" | "tanh";
  constructor(options?: GELUOptions) {
    super();
    this.#approximate = readOptions("GELU", options, geluOptions).approximate;
  }
  protected of(x: Tensor): Tensor {
    return x.gelu(this.#approximate);
  }
}

/**
 * x above 0, α·(exp(x) - 1) below (Clevert et al. 2016).
 * @throws ArgumentError for what is no number
 */
export class ELU extends Activation {
  readonly #alpha: number;
  constructor(alpha = 1) {
    super();
    checkArgument("ELU", "alpha", alpha, finite);
    this.#alpha = alpha;
  }
  protected of(x: Tensor): Tensor {
    return x.elu(this.#alpha);
  }
}

/** x above 0, slope · x below. @throws ArgumentError for what is no number */
export class LeakyReLU extends Activation {
  readonly #slope: number;
  constructor(negativeSlope = 0.01) {
    super();
    checkArgument("LeakyReLU", "negativeSlope", negativeSlope, finite);
    this.#slope = negativeSlope;
  }
  protected of(x: Tensor): Tensor {
    return x.leakyRelu(this.#slope);
  }
}

const bound = { type: "number", range: "[-Infinity, Infinity]" } as const;

/** min(max(x, low), high). @throws ArgumentError for what is no number */
export class Hardtanh extends Activation {
  readonly #bounds: readonly [number, number];
  constructor(low = -1, high = 1) {
    super();
    checkArgument("Hardtanh", "low", low, bound);
    checkArgument("Hardtanh", "high", high, bound);
    this.#bounds = [low, high];
  }
  protected of(x: Tensor): Tensor {
    return within(x, ...this.#bounds);
  }
}

/**
 * x above 0, weight · x below, with one learned slope or one per channel (He et al. 2015). x [N, C,
 * …]; weight [1] or [C].
 * @throws ArgumentError for fewer than one slope, and for what is no number
 */
export class PReLU extends Layer {
  readonly weight: Tensor;
  constructor(slopes = 1, start = 0.25) {
    super();
    checkArgument("PReLU", "count", slopes, count);
    checkArgument("PReLU", "start", start, finite);
    this.weight = this.parameter("weight", full([slopes], start));
  }
  forward(x: Tensor): Tensor {
    live(x, "PReLU");
    return composed(() => {
      const slope =
        this.weight.size > 1 && x.rank > 2
          ? this.weight.reshape(-1, ...Array<number>(x.rank - 2).fill(1))
          : this.weight;
      return x.relu().sub(slope.mul(x.neg().relu()));
    }, "PReLU");
  }
}

/** What works along one axis: the last unless given. */
abstract class AlongAxis extends Activation {
  protected readonly axis: number;
  constructor(axis = -1) {
    super();
    checkArgument(new.target.name, "axis", axis, axisRow);
    this.axis = axis;
  }
}

/** exp(x) / Σ exp(x) along an axis. @throws ArgumentError for an axis that is no whole number */
export class Softmax extends AlongAxis {
  protected of(x: Tensor): Tensor {
    return x.softmax(this.axis);
  }
}

/** Logarithm of softmax along an axis. @throws ArgumentError for an axis that is no whole number */
export class LogSoftmax extends AlongAxis {
  protected of(x: Tensor): Tensor {
    return x.logSoftmax(this.axis);
  }
}

/**
 * Halves a dimension: first half · sigmoid(second half) (Dauphin et al. 2017).
 * @throws ArgumentError for an axis that is no whole number
 */
export class GLU extends AlongAxis {
  protected of(x: Tensor): Tensor {
    const length = x.shape[normalizeAxis("GLU", this.axis, x.rank)] ?? 0;
    if (length % 2 !== 0 || length === 0)
      throw new ShapeError(
        "GLU",
        `an even length along axis ${this.axis}`,
        formatShape(x.shape),
        "halve another axis",
      );
    return composed(() => {
      const [a, b] = x.chunk(2, this.axis);
      return a!.mul(b!.sigmoid());
    }, "GLU");
  }
}
