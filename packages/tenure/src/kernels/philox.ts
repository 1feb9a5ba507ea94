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
 * Helpers for draws. `seed0, seed1, stream` name the stream; `at` is the element's number, of which
 * a counter gives four: those of `4 * quad` and the three after it come together for the price of
 * one.
 */
export const randomHelpers: Readonly<
  Record<string, { readonly code: string; readonly uses: readonly string[] }>
> = {
  uniformQuad: {
    uses: ["philox"],
    code: `fn uniformQuad(seed0: u32, seed1: u32, stream: u32, quad: u32) -> vec4<f32> {
  let bits = philox(vec4<u32>(quad, stream, 0u, 0u), vec2<u32>(seed0, seed1));
  return vec4<f32>(bits >> vec4<u32>(8u)) * 5.9604645e-8;
}`,
  },
  uniformOne: {
    uses: ["uniformQuad"],
    code: `fn uniformOne(seed0: u32, seed1: u32, stream: u32, at: u32) -> f32 {
  return uniformQuad(seed0, seed1, stream, at >> 2u)[at & 3u];
}`,
  },
  normalQuad: {
    uses: ["philox"],
    code: `fn normalQuad(seed0: u32, seed1: u32, stream: u32, quad: u32) -> vec4<f32> {
  let bits = philox(vec4<u32>(quad, stream, 1u, 0u), vec2<u32>(seed0, seed1));
  let far = sqrt(-2.0 * log((vec2<f32>(bits.xz >> vec2<u32>(8u)) + 1.0) * 5.9604645e-8));
  let turn = 6.2831855 * (vec2<f32>(bits.yw >> vec2<u32>(8u)) * 5.9604645e-8 - 0.5);
  let x = far * cos(turn);
  let y = far * sin(turn);
  return vec4<f32>(x.x, y.x, x.y, y.y);
}`,
  },
  normalOne: {
    uses: ["normalQuad"],
    code: `fn normalOne(seed0: u32, seed1: u32, stream: u32, at: u32) -> f32 {
  return normalQuad(seed0, seed1, stream, at >> 2u)[at & 3u];
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
 * Twin of the WGSL `uniformOne`: exactly equal on every adapter, in [0, 1) with 24 random bits.
 */
export function randomUniform(seed: readonly [number, number], stream: number, at: number): number {
  return (philox([at >>> 2, stream, 0, 0], seed)[at & 3]! >>> 8) * 2 ** -24;
}

/** Twin of the WGSL `normalOne`: equal up to the adapter's `log`, `cos` and `sin`. */
export function randomNormal(seed: readonly [number, number], stream: number, at: number): number {
  const bits = philox([at >>> 2, stream, 1, 0], seed);
  const u = ((bits[at & 2]! >>> 8) + 1) * 2 ** -24;
  const turn = 2 * Math.PI * ((bits[(at & 2) + 1]! >>> 8) * 2 ** -24 - 0.5);
  return Math.sqrt(-2 * Math.log(u)) * (at % 2 === 0 ? Math.cos(turn) : Math.sin(turn));
}
