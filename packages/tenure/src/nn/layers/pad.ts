/**
 * Borders as layers: constant, reflected and replicated. They own nothing; functional/pad.ts
 * computes.
 */
import { ShapeError } from "../../base/errors.ts";
import { type OptionRow, checkArgument } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { filling, pad } from "../functional/pad.ts";
import { Layer } from "../module.ts";
import { type Tensor, live } from "../../tensor/tensor.ts";

/** Width of a border: the same on all sides, or [left, right] and [left, right, top, bottom]. */
export type Border = number | readonly number[];

function borderRow(sides: 2 | 4, cuts: boolean): OptionRow {
  const order = sides === 2 ? "[left, right]" : "[left, right, top, bottom]";
  const remedy = `pass for example 1, or ${order}`;
  const row = { type: "list", of: "integer", length: sides, single: true, remedy } as const;
  return cuts ? row : { ...row, range: "[0, Infinity)" };
}

/** What all paddings share: where the border goes, and how it is made. */
abstract class Padding extends Layer {
  readonly #border: readonly number[];
  readonly #rank: number;
  readonly #mode: "constant" | "reflect" | "replicate";
  readonly #value: number;
  constructor(border: Border, sides: 2 | 4, mode: "constant" | "reflect" | "replicate", value = 0) {
    super();
    checkArgument(new.target.name, "a border", border, borderRow(sides, mode === "constant"));
    checkArgument(new.target.name, "value", value, filling);
    this.#border = typeof border === "number" ? Array<number>(sides).fill(border) : [...border];
    this.#rank = 1 + sides / 2;
    this.#mode = mode;
    this.#value = value;
  }
  /**
   * Of a batch, or of a single sample.
   * @throws ShapeError for a tensor of another rank, and for a border wider than what it repeats
   */
  forward(x: Tensor): Tensor {
    live(x, this.constructor.name);
    if (x.rank !== this.#rank && x.rank !== this.#rank + 1)
      throw new ShapeError(
        this.constructor.name,
        `a tensor of rank ${this.#rank + 1}, or a single sample of rank ${this.#rank}`,
        formatShape(x.shape),
        "add missing dimensions with unsqueeze",
      );
    return pad(x, this.#border, this.#mode, this.#value);
  }
}

/** A border of one number around x [N, C, L] or [C, L]; negative widths cut off. */
export class ConstantPad1d extends Padding {
  constructor(border: Border, value: number) {
    super(border, 2, "constant", value);
  }
}

/** A border of one number around x [N, C, H, W] or [C, H, W]; negative widths cut off. */
export class ConstantPad2d extends Padding {
  constructor(border: Border, value: number) {
    super(border, 4, "constant", value);
  }
}

/** A border of zeros around x [N, C, L] or [C, L]. */
export class ZeroPad1d extends ConstantPad1d {
  constructor(border: Border) {
    super(border, 0);
  }
}

/** A border of zeros around x [N, C, H, W] or [C, H, W]. */
export class ZeroPad2d extends ConstantPad2d {
  constructor(border: Border) {
    super(border, 0);
  }
}

/** Mirrors x [N, C, L] or [C, L] at its ends, without repeating them. */
export class ReflectionPad1d extends Padding {
  constructor(border: Border) {
    super(border, 2, "reflect");
  }
}

/**
 * Mirrors x [N, C, H, W] or [C, H, W] at its edges, without repeating them.
 * @example
 * ```ts
 * using pad = new ReflectionPad2d(1);
 * using image = randn([1, 1, 4, 4]);
 * using out = pad.call(image);
 * console.log(out.shape.join()); // → 1,1,6,6
 * ```
 */
export class ReflectionPad2d extends Padding {
  constructor(border: Border) {
    super(border, 4, "reflect");
  }
}

/** Repeats the ends of x [N, C, L] or [C, L]. */
export class ReplicationPad1d extends Padding {
  constructor(border: Border) {
    super(border, 2, "replicate");
  }
}

/** Repeats the edges of x [N, C, H, W] or [C, H, W]. */
export class ReplicationPad2d extends Padding {
  constructor(border: Border) {
    super(border, 4, "replicate");
  }
}
