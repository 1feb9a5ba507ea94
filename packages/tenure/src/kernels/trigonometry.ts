/**
 * WGSL functions of angles, among those that bodies ask for by name. Called by rare-helpers.ts.
 * Text only; owns nothing.
 */

/** Functions of angles by name, and the helpers each calls. */
export const trigonometry = {
  // --- sine and cosine: WGSL promises no more than 2^-11, and that only in [-π, π] ---
  /** The upper half of a product of 64 bits. */
  mulHigh: {
    code: `fn mulHigh(a: u32, b: u32) -> u32 {
  let m = (a >> 16u) * (b & 0xffffu) + (((a & 0xffffu) * (b & 0xffffu)) >> 16u);
  let n = (a & 0xffffu) * (b >> 16u) + (m & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (m >> 16u) + (n >> 16u);
}`,
  },
  /**
   * x - k·π/2 in [-π/4, π/4], and k modulo 4: in three parts (Cody & Waite 1980) as long as k is
   * small, by the bits of 2/π that matter (Payne & Hanek 1983) beyond.
   */
  quarterTurns: {
    uses: ["mulHigh", "isFinite", "nan"],
    code: `struct Turned { rest: f32, quarter: u32 }
fn quarterTurns(x: f32) -> Turned {
  if (!isFinite(x)) { return Turned(nan(), 0u); }
  if (abs(x) < 8000.0) {
    let k = round(x * 0.63661975);
    let rest = ((x - k * 1.5703125) - k * 4.8375129699707e-4) - k * 7.5497899549e-8;
    return Turned(rest, u32(i32(k)) & 3u);
  }
  var twoOverPi = array<u32, 6>(
    0x3c439041u, 0xdb629599u, 0xf534ddc0u, 0xfc2757d1u, 0x4e441529u, 0xa2f9836eu);
  let bits = bitcast<u32>(x);
  let mantissa = (bits << 8u) | 0x80000000u;
  let exponent = ((bits >> 23u) & 0xffu) - 128u;
  var product: array<u32, 7>;
  var carry = 0u;
  for (var i = 0u; i < 6u; i++) {
    let low = twoOverPi[i] * mantissa;
    product[i] = low + carry;
    carry = mulHigh(twoOverPi[i], mantissa) + select(0u, 1u, product[i] < low);
  }
  product[6] = carry;
  let at = 4u - (exponent >> 5u);
  let shift = exponent & 31u;
  var high = product[at + 2u];
  var low = product[at + 1u];
  if (shift != 0u) {
    high = (high << shift) | (low >> (32u - shift));
    low = (low << shift) | (product[at] >> (32u - shift));
  }
  var quarter = high >> 30u;
  high = (high << 2u) | (low >> 30u);
  low = low << 2u;
  var negative = (bits >> 31u) == 1u;
  if ((high >> 31u) == 1u) {
    quarter++;
    low = 0u - low;
    high = ~high + select(0u, 1u, low == 0u);
    quarter = select(quarter, 0u - quarter, negative);
    negative = !negative;
  } else {
    quarter = select(quarter, 0u - quarter, negative);
  }
  let part = f32(high) * 2.3283064e-10 + f32(low) * 5.421011e-20;
  return Turned(select(part, -part, negative) * 1.5707964, quarter & 3u);
}`,
  },
  /** Sine and cosine in [-π/4, π/4] (Cephes). */
  sinCosNear: {
    code: `fn sinNear(x: f32) -> f32 {
  let z = x * x;
  return x + x * z * ((-1.9515296e-4 * z + 8.332161e-3) * z - 0.16666655);
}
fn cosNear(x: f32) -> f32 {
  let z = x * x;
  return 1.0 - 0.5 * z + z * z * ((2.4433157e-5 * z - 1.3887316e-3) * z + 0.041666646);
}`,
  },
  sinOf: {
    uses: ["quarterTurns", "sinCosNear"],
    code: `fn sinOf(x: f32) -> f32 {
  let t = quarterTurns(x);
  let y = select(sinNear(t.rest), cosNear(t.rest), (t.quarter & 1u) == 1u);
  return select(y, -y, t.quarter > 1u);
}`,
  },
  cosOf: {
    uses: ["quarterTurns", "sinCosNear"],
    code: `fn cosOf(x: f32) -> f32 {
  let t = quarterTurns(x);
  let y = select(cosNear(t.rest), sinNear(t.rest), (t.quarter & 1u) == 1u);
  return select(y, -y, t.quarter == 1u || t.quarter == 2u);
}`,
  },
  tanOf: {
    uses: ["quarterTurns", "sinCosNear"],
    code: `fn tanOf(x: f32) -> f32 {
  let t = quarterTurns(x);
  let s = sinNear(t.rest);
  let c = cosNear(t.rest);
  return select(s / c, -c / s, (t.quarter & 1u) == 1u);
}`,
  },
  // --- inverse trigonometry: the builtins are good to 2^-11 only; polynomials from Cephes
  // (Moshier), good to an ulp or two ---
  atanOf: {
    uses: ["isNan"],
    code:
      `fn atanOf(v: f32) -> f32 {
  if (isNan(v)) { return v; }
  var x = abs(v);
  var y = 0.0;
  if (x > 2.4142135) { y = 1.5707964; x = -1.0 / x; }
  else if (x > 0.41421357) { y = 0.78539819; x = (x - 1.0) / (x + 1.0); }
  let z = x * x;
  y += (((0.0805374449538 * z - 0.138776856032) * z + 0.199777106478) * z - 0.333329491539) ` +
      `* z * x + x;
  return select(y, -y, (bitcast<u32>(v) >> 31u) != 0u);
}`,
  },
  asinPositive: {
    code:
      `fn asinPositive(x: f32) -> f32 {
  let z = x * x;
  return ((((0.042163199048 * z + 0.024181311049) * z + 0.045470025998) * z + ` +
      `0.074953002686) * z + 0.16666752422) * z * x + x;
}`,
  },
  asinOf: {
    uses: ["isNan", "nan", "asinPositive"],
    code:
      `fn asinOf(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  let a = abs(x);
  if (a > 1.0) { return nan(); }
  let y = select(asinPositive(a), 1.5707964 - 2.0 * asinPositive(sqrt(max(0.5 * (1.0 - a), ` +
      `0.0))), a > 0.5);
  return select(y, -y, x < 0.0);
}`,
  },
  acosOf: {
    uses: ["isNan", "nan", "asinPositive"],
    code: `fn acosOf(x: f32) -> f32 {
  if (isNan(x)) { return x; }
  let a = abs(x);
  if (a > 1.0) { return nan(); }
  if (a <= 0.5) { return 1.5707964 - select(asinPositive(a), -asinPositive(a), x < 0.0); }
  let y = 2.0 * asinPositive(sqrt(max(0.5 * (1.0 - a), 0.0)));
  return select(y, 3.1415927 - y, x < 0.0);
}`,
  },
  atan2Of: {
    uses: ["isNan", "isInf", "atanOf"],
    code: `fn atan2Of(y: f32, x: f32) -> f32 {
  if (isNan(y)) { return y; }
  if (isNan(x)) { return x; }
  let negative = (bitcast<u32>(x) >> 31u) != 0u;
  var a: f32;
  if (y == 0.0) { a = 0.0; }
  else if (isInf(x) && isInf(y)) { a = 0.78539819; }
  else if (isInf(y) || x == 0.0) { a = 1.5707964; }
  else if (isInf(x)) { a = 0.0; }
  else { a = atanOf(abs(y) / abs(x)); }
  if (negative) { a = 3.1415927 - a; }
  return select(a, -a, (bitcast<u32>(y) >> 31u) != 0u);
}`,
  },
};
