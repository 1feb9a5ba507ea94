/**
 * WGSL functions that bodies ask for by name. They exist because builtins differ between adapters:
 * `max` swallows NaN, `tanh` overflows, `log(-2)` and `pow(-2, 3)` are undefined in WGSL. Every
 * function here gives PyTorch's answer on every adapter. Those that fewer programs need are in
 * rare-helpers.ts. Text only; owns nothing.
 */
import { internal } from "../base/errors.ts";
import { philoxWGSL, randomHelpers } from "./philox.ts";

/** A WGSL function, or a few that belong together. */
export interface Helper {
  readonly code: string;
  /** Other helpers this one calls. */
  readonly uses?: readonly string[];
}

/** A function of one number. */
export const f32Unary = (name: string, expr: string): string =>
  `fn ${name}(x: f32) -> f32 { return ${expr}; }`;

const library: Readonly<Record<string, Helper>> = {
  // --- special values: WGSL refuses NaN and infinity as constants, so they come from variables the
  // compiler cannot fold ---
  nan: {
    code:
      "var<private> nanBits: u32 = 0x7fc00000u;\n" +
      "fn nan() -> f32 { return bitcast<f32>(nanBits); }",
  },
  inf: {
    code:
      "var<private> infBits: u32 = 0x7f800000u;\n" +
      "fn inf() -> f32 { return bitcast<f32>(infBits); }",
  },
  isNan: {
    code: `fn isNan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }`,
  },
  isInf: {
    code: `fn isInf(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }`,
  },
  isFinite: {
    code: `fn isFinite(x: f32) -> bool { return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u; }`,
  },
  // --- a value as if it had been stored and loaded: what the compiler cannot see through it does
  // not contract (a product and a sum into one rounding) ---
  hold: {
    code: `fn hold(x: f32, zero: u32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ zero); }`,
  },
  // --- order, NaN propagating ---
  nanMax: {
    uses: ["isNan"],
    code:
      "fn nanMax(a: f32, b: f32) -> f32 { return select(select(max(a, b), b, isNan(b)), a, " +
      "isNan(a)); }",
  },
  nanMin: {
    uses: ["isNan"],
    code:
      "fn nanMin(a: f32, b: f32) -> f32 { return select(select(min(a, b), b, isNan(b)), a, " +
      "isNan(a)); }",
  },
  relu: { uses: ["isNan"], code: f32Unary("relu", "select(max(x, 0.0), x, isNan(x))") },
  signOf: { uses: ["isNan"], code: f32Unary("signOf", "select(sign(x), x, isNan(x))") },
  // --- functions with domain or range trouble ---
  tanhOf: {
    uses: ["isNan"],
    code: `fn tanhOf(x: f32) -> f32 {
  let z = x * x;
  if (z < 0.09) {
    return x + x * z * (((0.021869 * z - 0.0539683) * z + 0.1333333) * z - 0.33333334);
  }
  return select(tanh(clamp(x, -15.0, 15.0)), x, isNan(x));
}`,
  },
  expOf: {
    uses: ["isNan", "inf"],
    code: `fn expOf(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  if (x > 88.72284) { return inf(); }
  return select(exp(x), 0.0, x < -103.97);
}`,
  },
  expShifted: {
    uses: ["isNan"],
    code: `fn expShifted(x: f32, m: f32) -> f32 {
  let d = x - m;
  return select(exp(max(d, -110.0)), d, isNan(d));
}`,
  },
  logOf: {
    uses: ["isNan", "isInf", "nan", "inf"],
    code: `fn logOf(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  if (x < 0.0) { return nan(); }
  if (x == 0.0) { return -inf(); }
  return select(log(x), x, isInf(x));
}`,
  },
  sqrtOf: {
    uses: ["isNan", "isInf", "nan"],
    code: `fn sqrtOf(x: f32) -> f32 {
  if (x < 0.0) { return nan(); }
  return select(sqrt(x), x, isNan(x) || isInf(x));
}`,
  },
  sigmoid: { uses: ["expOf"], code: f32Unary("sigmoid", "1.0 / (1.0 + expOf(-x))") },
  // --- conversions with a defined answer for NaN and out-of-range values ---
  toI32: {
    uses: ["isNan"],
    code:
      "fn toI32(x: f32) -> i32 { return select(select(i32(clamp(x, -2147483648.0, " +
      "2147483520.0)), 2147483647, x >= 2147483648.0), 0, isNan(x)); }",
  },
  toU32: {
    uses: ["isNan"],
    code:
      "fn toU32(x: f32) -> u32 { return select(select(u32(clamp(x, 0.0, 4294967040.0)), " +
      "4294967295u, x >= 4294967296.0), 0u, isNan(x)); }",
  },
  philox: { code: philoxWGSL },
  ...randomHelpers,
};

/** Names that `helperText` accepts. */
export const helperNames: readonly string[] = Object.keys(library);

/** The text of the named helpers and everything they use, each once, in a fixed order. */
export function helperText(names: readonly string[]): string {
  const wanted = new Set<string>();
  const add = (name: string): void => {
    if (wanted.has(name)) return;
    const helper = library[name];
    if (helper === undefined) throw internal(`no WGSL helper named ${name}`);
    helper.uses?.forEach(add);
    wanted.add(name);
  };
  [...names].sort().forEach(add);
  return [...wanted].map((name) => `${library[name]?.code ?? ""}\n`).join("");
}
