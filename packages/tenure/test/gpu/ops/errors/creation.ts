/**
 * What creating tensors refuses, and what using disposed ones does.
 */
import {
  ArgumentError,
  DTypeError,
  DisposedError,
  OutOfMemoryError,
  ShapeError,
  arange,
  eye,
  full,
  linspace,
  manualSeed,
  multinomial,
  oneHot,
  rand,
  randint,
  tensor,
  zeros,
} from "tenure";
import { type Misuse, f, i } from "./misuse.ts";

export const creationMisuses: readonly Misuse[] = [
  [
    "ragged rows",
    () => tensor([[1, 2], [3]]),
    ShapeError,
    new RegExp(
      String.raw`^tensor: expected nested arrays of one shape, \[2,2\], got a row of 1 ` +
        "at depth 1; make all rows equally long",
    ),
  ],
  ["too deep", () => tensor([1, [2]] as never), ShapeError, /^tensor: .*a deeper array/],
  [
    "text",
    () => tensor(["a"] as never),
    ArgumentError,
    /^tensor: expected numbers or booleans, got "/,
  ],
  ["null", () => tensor(null as never), ArgumentError, /got null/],
  [
    "big integers",
    () => tensor(new BigInt64Array(2)),
    ArgumentError,
    /^tensor: .*got BigInt64Array; convert/,
  ],
  [
    "shape",
    () => tensor([1, 2, 3], { shape: [2, 2] }),
    ShapeError,
    /^tensor: expected a shape of 3 elements/,
  ],
  [
    "dtype",
    () => tensor([1], { dtype: "double" as never }),
    DTypeError,
    /^tensor: expected one of .*got "double"/,
  ],
  [
    "requiresGrad of integers",
    () => tensor([1], { dtype: "int32", requiresGrad: true }),
    DTypeError,
    /^tensor: expected a float dtype with requiresGrad, got int32/,
  ],
  [
    "requiresGrad of zeros",
    () => zeros([2], { dtype: "int32", requiresGrad: true }),
    DTypeError,
    /^zeros: expected a float dtype with requiresGrad, got int32/,
  ],
  [
    "zeros of a number",
    () => zeros(3 as never),
    ShapeError,
    /^zeros: expected an array of dimensions, got 3/,
  ],
  [
    "negative dimension",
    () => full([-1], 2),
    ShapeError,
    /^full: expected dimensions that are integers of 0 or more, got \[-1\]/,
  ],
  ["too many elements", () => zeros([2 ** 16, 2 ** 16]), ShapeError, /at most 2\^31 - 1 elements/],
  [
    "too large for the device",
    () => zeros([2 ** 15, 2 ** 15]),
    OutOfMemoryError,
    /^fill: expected a tensor of at most \d+ bytes.*split/,
  ],
  [
    "arange",
    () => arange(0, 5, 0),
    ArgumentError,
    /^arange: expected finite numbers and a step that is not 0/,
  ],
  [
    "arange of booleans",
    () => arange(0, 2, 1, { dtype: "bool" }),
    DTypeError,
    /^arange: expected .*, got bool/,
  ],
  [
    "arange dtype",
    () => arange(0, 2, 1, { dtype: "x" as never }),
    DTypeError,
    /^arange: .*got "x"/,
  ],
  [
    "linspace count",
    () => linspace(0, 1, -1),
    ArgumentError,
    /^linspace: expected count to be a whole number of 0 or more, got -1/,
  ],
  [
    "linspace of integers",
    () => linspace(0, 10, 5, { dtype: "int32" }),
    DTypeError,
    /^linspace: expected a float dtype, got int32/,
  ],
  ["eye", () => eye(-1), ShapeError, /^eye: /],
  [
    "oneHot classes",
    () => oneHot(i(2), 0),
    ArgumentError,
    /^oneHot: expected classes to be a positive integer, got 0/,
  ],
  [
    "oneHot dtype",
    () => oneHot(f(2), 3),
    DTypeError,
    /^oneHot: expected int32 or uint32 class numbers, got float32/,
  ],
  [
    "rand dtype",
    () => rand([2], { dtype: "int32" }),
    DTypeError,
    /^rand: expected a float dtype, got int32; use randint/,
  ],
  [
    "randint range",
    () => randint(3, 3, [2]),
    ArgumentError,
    /^randint: expected whole numbers with low < high, got 3 and 3/,
  ],
  [
    "manualSeed",
    () => {
      manualSeed(-1);
    },
    ArgumentError,
    /^manualSeed: expected an integer of 0 or more, got -1/,
  ],
  [
    "a disposed operand",
    () => {
      const t = f(2);
      t.dispose();
      return f(2).add(t);
    },
    DisposedError,
    /^add: expected a live tensor, got tensor float32 \[2\], which was disposed/,
  ],
  [
    "draws by weights that are no floats",
    () => multinomial(i(3), 1),
    DTypeError,
    /^multinomial: expected float weights, got int32; cast them to float32/,
  ],
  [
    "draws from a table of three dimensions",
    () => multinomial(f(1, 2, 3), 1),
    ShapeError,
    /^multinomial: expected weights of shape \[classes\] or \[rows, classes\], got \[1,2,3\]/,
  ],
  ["draws from no class", () => multinomial(f(2, 0), 1), ShapeError, /^multinomial: .*\[2,0\]/],
  [
    "more draws than classes",
    () => multinomial(f(3), 4),
    ArgumentError,
    /^multinomial: expected count .*, got 4; draw fewer, or pass \{ replacement: true \}/,
  ],
  [
    "half a draw",
    () => multinomial(f(3), 1.5, { replacement: true }),
    ArgumentError,
    /^multinomial: expected count .*, got 1.5; draw at least one/,
  ],
  [
    "a disposed receiver",
    () => {
      const t = f(2);
      t.name = "weights";
      t.dispose();
      return t.relu();
    },
    DisposedError,
    /^relu: expected a live tensor, got tensor "weights" float32 \[2\]/,
  ],
  [
    "reading a disposed tensor",
    () => {
      const t = f(2);
      t.dispose();
      return t.data();
    },
    DisposedError,
    /^data: /,
  ],
  [
    "a disposed in-place source",
    () => {
      const t = f(2);
      t.dispose();
      return f(2).mul_(t);
    },
    DisposedError,
    /^mul_: /,
  ],
];
