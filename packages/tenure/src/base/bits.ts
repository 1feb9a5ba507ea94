/**
 * Numbers as the 32-bit words that uniforms hold. Used by kernels' params and by ops' per-call
 * scalars. Owns nothing.
 */
const scratch = new DataView(new ArrayBuffer(4));

/** The bits of an f32 as a u32 word. */
export function f32Bits(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
}

/** The f32 whose bits a word holds. */
export function fromBits(word: number): number {
  scratch.setUint32(0, word);
  return scratch.getFloat32(0);
}

/** The bits of an i32 as a u32 word. */
export function i32Bits(value: number): number {
  return value >>> 0;
}

/** The greatest integer that divides both; of 0 and a number, that number. */
export function greatestCommonDivisor(a: number, b: number): number {
  while (b > 0) [a, b] = [b, a % b];
  return a;
}
