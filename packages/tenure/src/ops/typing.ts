/**
 * Dtypes of elementwise expressions: which type a body computes in, how operands are converted to
 * it and results from it. Called by the record builders and the records in this folder. Text and
 * numbers; owns nothing.
 */
import { type DType, isFloat, promote, computeType, type ComputeType } from "../base/dtype.ts";
import { type View, f32Bits } from "../kernels/kernel.ts";
import type { Expression } from "./op.ts";

/** WGSL conversions to each compute type; anything but zero is true. */
export const casts: Readonly<Record<ComputeType, (x: string, from: ComputeType) => string>> = {
  f32: (x, from) => (from === "f32" ? x : `f32(${x})`),
  i32: (x, from) => (from === "i32" ? x : from === "f32" ? `toI32(${x})` : `i32(${x})`),
  u32: (x, from) => (from === "u32" ? x : from === "f32" ? `toU32(${x})` : `u32(${x})`),
  bool: (x, from) =>
    from === "bool"
      ? x
      : from === "f32"
        ? `(${x} != 0.0 || isNan(${x}))`
        : `(${x} != ${from === "i32" ? "0" : "0u"})`,
};

/** Names from kernels/helpers.ts that a conversion calls. */
export function castHelpers(to: ComputeType, from: ComputeType): string[] {
  if (from !== "f32") return [];
  return to === "i32" ? ["toI32"] : to === "u32" ? ["toU32"] : to === "bool" ? ["isNan"] : [];
}

/**
 * `let x = …; let y = …;` converting the operands to type `to`, then the result converted from it
 * to the output's type.
 */
export function typed(
  inputs: readonly View[],
  to: ComputeType,
  out: { from: ComputeType; dtype: DType },
  expr: string,
  helpers: readonly string[],
  more: Partial<Expression> = {},
): Expression {
  const names = ["x", "y", "z"],
    used = [...helpers];
  const lets = inputs.map((v, i) => {
    const from = computeType(v.dtype);
    used.push(...castHelpers(to, from));
    return `let ${names[i]} = ${casts[to](`a${i}`, from)};`;
  });
  const target = computeType(out.dtype);
  used.push(...castHelpers(target, out.from));
  const result =
    target === out.from
      ? `r0 = ${expr};`
      : `let w = ${expr};\nr0 = ${casts[target]("w", out.from)};`;
  return { ...more, body: `${lets.join("\n")}\n${result}`, helpers: [...new Set(used)] };
}

/** The float dtype a float-valued op computes into: integers and bools become float32. */
export function floatOf(dtype: DType): DType {
  return isFloat(dtype) ? dtype : "float32";
}

/** The dtype arithmetic on a pair yields: as promoted, but two bools count as integers. */
export function arithmeticOf(a: DType, b: DType): DType {
  const p = promote(a, b);
  return p === "bool" ? "int32" : p;
}

/** A number as the 32 bits that a uniform of the dtype's compute type holds. */
export function scalarBits(value: number, dtype: DType): number {
  const type = computeType(dtype);
  return type === "f32" ? f32Bits(value) : type === "bool" ? (value !== 0 ? 1 : 0) : value >>> 0;
}

/** Type of the uniform that carries a number into an op of this dtype. */
export const scalarType = (dtype: DType): "f32" | "i32" | "u32" => {
  const t = computeType(dtype);
  return t === "bool" ? "u32" : t;
};

/** One text for floats, one for signed and one for unsigned integers. */
export const ofType =
  (f: string, i: string, u: string = i) =>
  (t: ComputeType): string =>
    t === "f32" ? f : t === "i32" ? i : u;
