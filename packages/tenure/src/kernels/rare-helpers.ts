/**
 * More WGSL functions that bodies ask for by name, which come as a family of their own: powers,
 * whole division, angles, and what activations but the most common ones are made of. Called by the
 * runtime's lowering for ops of that family. Text only; owns nothing.
 */
import { defined } from "../base/access.ts";
import { type Helper, f32Unary } from "./helpers.ts";
import { trigonometry } from "./trigonometry.ts";

const library: Readonly<Record<string, Helper>> = {
  log1pOf: {
    uses: ["logOf"],
    code: `fn log1pOf(x: f32) -> f32 {
  if (abs(x) < 0.02) { return x * (1.0 - x * (0.5 - x * (0.33333334 - x * (0.25 - x * 0.2)))); }
  return logOf(1.0 + x);
}`,
  },
  expm1Of: {
    uses: ["expOf"],
    code:
      `fn expm1Of(x: f32) -> f32 {
  if (abs(x) < 0.05) { return x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666668 + x ` +
      `* 0.008333334)))); }
  return expOf(x) - 1.0;
}`,
  },
  softplus: {
    uses: ["expOf", "log1pOf", "isNan"],
    code: f32Unary("softplus", "select(max(x, 0.0) + log1pOf(expOf(-abs(x))), x, isNan(x))"),
  },
  powOf: {
    uses: ["isNan", "isInf", "nan", "inf"],
    code:
      `fn powOf(a: f32, b: f32) -> f32 {
  if (b == 0.0 || a == 1.0) { return 1.0; }
  if (isNan(a)) { return a; }
  if (isNan(b)) { return b; }
  let m = abs(a);
  if (isInf(b)) {
    if (m == 1.0) { return 1.0; }
    return select(0.0, inf(), (m > 1.0) == (b > 0.0));
  }
  let whole = floor(b) == b;
  let odd = whole && abs(b) < 16777216.0 && (i32(b) & 1) != 0;
  var r: f32;
  if (m == 0.0 || isInf(a)) { r = select(0.0, inf(), (m == 0.0) == (b < 0.0)); }
  else if (a < 0.0 && !whole) { return nan(); }
  else if (whole && abs(b) <= 4.0) {
    let m2 = m * m;
    let n = u32(abs(b));
    r = select(1.0, m, (n & 1u) != 0u) * select(1.0, m2, (n & 2u) != 0u) * select(1.0, m2 * ` +
      `m2, (n & 4u) != 0u);
    if (b < 0.0) { r = 1.0 / r; }
  } else { r = pow(m, b); }
  return select(r, -r, odd && (bitcast<u32>(a) >> 31u) != 0u);
}`,
  },
  erf: {
    uses: ["isNan"],
    code:
      `fn erf(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  let z = abs(x);
  if (z < 0.5) {
    let q = x * x;
    return x * (1.1283792 + q * (-0.37612638 + q * (0.11283791 + q * (-0.026866171 + q * ` +
      `(0.0052239776 - q * 0.00085483270)))));
  }
  if (z > 4.0) { return sign(x); }
  let t = 1.0 / (1.0 + 0.5 * z);
  let poly = -1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * ` +
      "(-0.18628806 + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * " +
      `(-0.82215223 + t * 0.17087277))))))));
  return sign(x) * (1.0 - t * exp(-z * z + poly));
}`,
  },
  exp2Of: {
    uses: ["isNan", "inf"],
    code: `fn exp2Of(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  if (x >= 128.0) { return inf(); }
  return select(exp2(x), 0.0, x < -149.5);
}`,
  },
  log2Of: {
    uses: ["logOf", "isFinite"],
    code: `fn log2Of(x: f32) -> f32 {
  if (x > 0.0 && isFinite(x)) { return log2(x); }
  return logOf(x);
}`,
  },
  sinhOf: {
    uses: ["expOf", "expm1Of"],
    code: `fn sinhOf(x: f32) -> f32 {
  let a = abs(x);
  if (a < 1.0) { let m = expm1Of(x); return 0.5 * (m + m / (m + 1.0)); }
  let e = expOf(0.5 * a);
  let y = (0.5 * e) * e - 0.5 * expOf(-a);
  return select(y, -y, x < 0.0);
}`,
  },
  squared: { code: f32Unary("squared", "x * x") },
  coshOf: {
    uses: ["expOf"],
    code: `fn coshOf(x: f32) -> f32 {
  let e = expOf(0.5 * abs(x));
  return (0.5 * e) * e + 0.5 * expOf(-abs(x));
}`,
  },
  // --- activations with one text for value, slope and curvature ---
  gaussian: { uses: ["expOf"], code: f32Unary("gaussian", "0.3989423 * expOf(-0.5 * x * x)") },
  gaussianCdf: {
    uses: ["erf"],
    code: f32Unary("gaussianCdf", "0.5 * (1.0 + erf(x * 0.70710677))"),
  },
  geluTanhOf: {
    uses: ["tanhOf"],
    code: `fn geluTanhOf(x: f32) -> f32 { return tanhOf(0.7978846 * (x + 0.044715 * x * x * x)); }
fn geluTanhSlope(x: f32) -> f32 { return 0.7978846 * (1.0 + 0.134145 * x * x); }`,
  },
  // --- division that rounds down, as Python and PyTorch's remainder: `%` is a - b·trunc(a / b),
  // and division may be off by 2.5 units in the last place ---
  fmodOf: {
    uses: ["nan"],
    code:
      "fn fmodOf(a: f32, b: f32) -> f32 { // exact: long division of the mantissas, " +
      `eight bits at a time
  let sign = bitcast<u32>(a) & 0x80000000u;
  let x = bitcast<u32>(a) & 0x7fffffffu;
  let y = bitcast<u32>(b) & 0x7fffffffu;
  if (x >= 0x7f800000u || y > 0x7f800000u || y == 0u) { return nan(); }
  if (x < y) { return a; }
  let m = select(y, (y & 0x7fffffu) | 0x800000u, y >= 0x800000u);
  let e = max(y >> 23u, 1u);
  var r = select(x, (x & 0x7fffffu) | 0x800000u, x >= 0x800000u) % m;
  for (var n = max(x >> 23u, 1u) - e; n > 0u && r != 0u;) {
    let bits = min(n, 8u);
    r = (r << bits) % m;
    n -= bits;
  }
  if (r == 0u) { return bitcast<f32>(sign); }
  let up = min(countLeadingZeros(r) - 8u, e - 1u);
  r = r << up;
  return bitcast<f32>(sign | select(r, ((e - up) << 23u) | (r & 0x7fffffu), r >= ` +
      `0x800000u));
}
fn turned(r: f32, b: f32) -> bool { return (bitcast<u32>(r) & 0x7fffffffu) != 0u && ` +
      "((bitcast<u32>(r) ^ bitcast<u32>(b)) >> 31u) != 0u; }",
  },
  floorDiv: {
    uses: ["fmodOf"],
    code: `fn floorDiv(a: f32, b: f32) -> f32 {
  if (b == 0.0) { return a / b; }
  let r = fmodOf(a, b);
  let q = (a - r) / b - select(0.0, 1.0, turned(r, b));
  let whole = floor(q);
  return select(whole, whole + 1.0, q - whole > 0.5);
}`,
  },
  floorMod: {
    uses: ["fmodOf"],
    code: `fn floorMod(a: f32, b: f32) -> f32 {
  let r = fmodOf(a, b);
  return select(r, r + b, turned(r, b));
}`,
  },
  floorDivI: {
    code: `fn floorDivI(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let q = a / b;
  return select(q, q - 1, q * b != a && (a < 0) != (b < 0));
}`,
  },
  floorModI: {
    code: `fn floorModI(a: i32, b: i32) -> i32 {
  if (b == 0) { return 0; }
  let r = a % b;
  return select(r, r + b, r != 0 && (r < 0) != (b < 0));
}`,
  },
  powI: {
    code: `fn powI(a: i32, b: i32) -> i32 {
  if (b < 0) { return select(select(0, select(1, -1, (b & 1) != 0), a == -1), 1, a == 1); }
  var r = 1; var base = a; var n = u32(b);
  while (n > 0u) { if ((n & 1u) != 0u) { r *= base; } base *= base; n >>= 1u; }
  return r;
}`,
  },
  ...trigonometry,
};

/** Names that this family has. */
export const rareNames: readonly string[] = Object.keys(library);

/** What a body needs. */
export interface RareHelpers {
  /** Names for helpers.ts. */
  readonly common: ReadonlySet<string>;
  /** Text of the others by name, each after those that it calls. */
  readonly rare: ReadonlyMap<string, string>;
}

/** The named helpers and everything they use, apart by where they are. */
export function rareHelpers(names: readonly string[]): RareHelpers {
  const common = new Set<string>();
  const rare = new Map<string, string>();
  const add = (name: string): void => {
    if (!Object.hasOwn(library, name)) common.add(name);
    else if (!rare.has(name)) {
      const { code, uses } = defined(library[name]);
      uses?.forEach(add);
      rare.set(name, `${code}\n`);
    }
  };
  names.forEach(add);
  return { common, rare };
}
