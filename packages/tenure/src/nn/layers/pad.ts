/**
 * Borders as layers: constant, reflected and replicated. They own nothing; functional/pad.ts
 * computes.
 */
import { ArgumentError, ShapeError } from "../../base/errors.ts";
import { describeValue } from "../../base/options.ts";
import { formatShape } from "../../base/shape.ts";
import { pad } from "../functional/pad.ts";
import { Layer } from "../module.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Width of a border: the same on all sides, or [left, right] and [left, right, top, bottom]. */
type Border = number | readonly number[];

function borderOf(layer: string, border: Border, sides: 2 | 4, least: number): readonly number[] {
  const list: unknown = typeof border === "number" ? Array<number>(sides).fill(border) : border,
    order = sides === 2 ? "[left, right]" : "[left, right, top, bottom]";
  if (
    !Array.isArray(list) ||
    list.length !== sides ||
    list.some((n) => !Number.isInteger(n) || n < least)
  )
    throw new ArgumentError(
      layer,
      `a whole number${least === 0 ? " of 0 or more" : ""}, or ${order}`,
      Array.isArray(border) ? `[${border.join(",")}]` : describeValue(border),
      "pass for example 1",
    );
  return list as readonly number[];
}

/** What all paddings share: where the border goes. */
abstract class Padding extends Layer {
  protected readonly border: readonly number[];
  readonly #rank: number;
  constructor(border: Border, sides: 2 | 4, least: number) {
    super();
    this.border = borderOf(new.target.name, border, sides, least);
    this.#rank = 1 + sides / 2;
  }
  /** A batch, or a single sample. */
  protected checked(x: Tensor): Tensor {
    if (x.rank !== this.#rank && x.rank !== this.#rank + 1)
      throw new ShapeError(
        this.constructor.name,
        `a tensor of rank ${this.#rank + 1}, or a single sample of rank ${this.#rank}`,
        formatShape(x.shape),
        "add missing dimensions with unsqueeze",
      );
    return x;
  }
}

/** A border of one number around x [N, C, L] or [C, L]; negative widths cut off. */
export class ConstantPad1d extends Padding {
  readonly #value: number;
  constructor(border: Border, value: number) {
    super(border, 2, -Infinity);
    this.#value = checkValue("ConstantPad1d", value);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "constant", this.#value);
  }
}

/** A border of one number around x [N, C, H, W] or [C, H, W]; negative widths cut off. */
export class ConstantPad2d extends Padding {
  readonly #value: number;
  constructor(border: Border, value: number) {
    super(border, 4, -Infinity);
    this.#value = checkValue("ConstantPad2d", value);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "constant", this.#value);
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
    super(border, 2, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "reflect");
  }
}

/** Mirrors x [N, C, H, W] or [C, H, W] at its edges, without repeating them. */
export class ReflectionPad2d extends Padding {
  constructor(border: Border) {
    super(border, 4, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "reflect");
  }
}

/** Repeats the ends of x [N, C, L] or [C, L]. */
export class ReplicationPad1d extends Padding {
  constructor(border: Border) {
    super(border, 2, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "replicate");
  }
}

/** Repeats the edges of x [N, C, H, W] or [C, H, W]. */
export class ReplicationPad2d extends Padding {
  constructor(border: Border) {
    super(border, 4, 0);
  }
  forward(x: Tensor): Tensor {
    return pad(this.checked(x), this.border, "replicate");
  }
}

function checkValue(layer: string, value: number): number {
  if (typeof (value as unknown) !== "number")
    throw new ArgumentError(
      layer,
      "a number to fill with",
      describeValue(value),
      "pass for example 0",
    );
  return value;
}
