/**
 * Counter-based random numbers: Philox 4x32-10 (Salmon et al., 2011), the generator of PyTorch's
 * CUDA and JAX's kin. A draw is a pure function of (seed, counter), so the same seed gives the same
 * integers on every adapter, in any order, and a recomputed dropout repeats its mask. The WGSL and
 * the plain twin below are checked against each other and against published vectors. Owns nothing.
 */

/**
 * WGSL: `philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32>`. 32×32→64 products are made from
 * 16-bit halves.
 */
export const philoxWGSL = `fn mulHiLo(a: u32, b: u32) -> vec2<u32> {
  let al = a & 0xffffu; let ah = a >> 16u; let bl = b & 0xffffu; let bh = b >> 16u;
  let low = al * bl;
  let mid = ah * bl + (low >> 16u);
  let mid2 = al * bh + (mid & 0xffffu);
  return vec2<u32>(ah * bh + (mid >> 16u) + (mid2 >> 16u), a * b);
}
fn philox(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;
  for (var i = 0; i < 10; i++) {
    let x = mulHiLo(0xD2511F53u, c.x);
    let y = mulHiLo(0xCD9E8D57u, c.z);
    c = vec4<u32>(y.x ^ c.y ^ k.x, y.y, x.x ^ c.w ^ k.y, x.y);
    k += vec2<u32>(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}`;

/**
 * Helpers for bodies with `needsIndex`. `seed0, seed1` name the stream; `at` is the element's
 * counter: `idx`, with the draw's number in `seed` or offset by the caller.
 */
export const randomHelpers: Readonly<
  Record<string, { readonly code: string; readonly uses: readonly string[] }>
> = {
  randomBits: {
    uses: ["philox"],
    code: `fn randomBits(seed0: u32, seed1: u32, stream: u32, at: u32) -> u32 {
  return philox(vec4<u32>(at, stream, 0u, 0u), vec2<u32>(seed0, seed1)).x;
}`,
  },
  randomUniform: {
    uses: ["randomBits"],
    code: `fn randomUniform(seed0: u32, seed1: u32, stream: u32, at: u32) -> f32 {
  return f32(randomBits(seed0, seed1, stream, at) >> 8u) * 5.9604645e-8;
}`,
  },
  randomNormal: {
    uses: ["philox"],
    code: `fn randomNormal(seed0: u32, seed1: u32, stream: u32, at: u32) -> f32 {
  let bits = philox(vec4<u32>(at, stream, 1u, 0u), vec2<u32>(seed0, seed1));
  let u = (f32(bits.x >> 8u) + 1.0) * 5.9604645e-8;
  return sqrt(-2.0 * log(u)) * cos(6.2831855 * (f32(bits.y >> 8u) * 5.9604645e-8 - 0.5));
}`,
  },
};

// === The same in JavaScript, for tests and host-side draws ===

function mulHi(a: number, b: number): number {
  const al = a & 0xffff,
    ah = a >>> 16,
    bl = b & 0xffff,
    bh = b >>> 16;
  const mid = ah * bl + ((al * bl) >>> 16),
    mid2 = al * bh + (mid & 0xffff);
  return (ah * bh + Math.floor(mid / 65536) + Math.floor(mid2 / 65536)) >>> 0;
}

/** Philox 4x32-10 of one 128-bit counter under a 64-bit key; words are u32. */
export function philox(
  counter: readonly [number, number, number, number],
  key: readonly [number, number],
): [number, number, number, number] {
  let [a, b, c, d] = counter,
    [k0, k1] = key;
  for (let i = 0; i < 10; i++) {
    const hx = mulHi(0xd2511f53, a),
      lx = Math.imul(0xd2511f53, a) >>> 0;
    const hy = mulHi(0xcd9e8d57, c),
      ly = Math.imul(0xcd9e8d57, c) >>> 0;
    [a, b, c, d] = [(hy ^ b ^ k0) >>> 0, ly, (hx ^ d ^ k1) >>> 0, lx];
    k0 = (k0 + 0x9e3779b9) >>> 0;
    k1 = (k1 + 0xbb67ae85) >>> 0;
  }
  return [a, b, c, d];
}

/**
 * Twin of the WGSL `randomUniform`: exactly equal on every adapter, in [0, 1) with 24 random bits.
 */
export function randomUniform(seed: readonly [number, number], stream: number, at: number): number {
  return (philox([at, stream, 0, 0], seed)[0] >>> 8) * 2 ** -24;
}

/** Twin of the WGSL `randomNormal`: equal up to the adapter's `log` and `cos`. */
export function randomNormal(seed: readonly [number, number], stream: number, at: number): number {
  const bits = philox([at, stream, 1, 0], seed);
  const u = ((bits[0] >>> 8) + 1) * 2 ** -24;
  return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * ((bits[1] >>> 8) * 2 ** -24 - 0.5));
}
