/**
 * Which way of writing a kernel is used where there are several. A generator names its ways, says
 * which one it would take on this class of adapter, and asks; `tune` measures the others and
 * remembers the best. Called by the generators in this folder. Owns nothing.
 */
import type { DeviceCaps } from "./kernel.ts";

/**
 * Raised whenever a kernel changes so much that what was measured before means nothing: choices are
 * kept under it.
 */
export const variantsVersion = 4;

/** The way to take: what was chosen for this kernel and class of sizes, else `standard`. */
export function variantOf<T extends string>(
  caps: DeviceCaps,
  kernel: string,
  shape: string,
  space: readonly T[],
  standard: T,
): T {
  const name = caps.choices?.choose(kernel, shape, space, standard);
  return space.find((v) => v === name) ?? standard;
}

/**
 * For kernels with two ways: `alone`, in which an invocation does much and seldom waits, the
 * standard of software adapters, and `shared`, in which a workgroup shares the work, that of GPUs.
 * Some have one more, which may be the standard.
 * @returns capabilities that lead the generator to the one chosen, and whether it is the one more
 */
export function styled(
  caps: DeviceCaps,
  kernel: string,
  shape: string,
  more?: { readonly name: string; readonly usual: boolean },
): { readonly caps: DeviceCaps; readonly extra: boolean } {
  const plain = caps.software ? "alone" : "shared";
  const space = ["alone", "shared", ...(more === undefined ? [] : [more.name])];
  const way = variantOf(caps, kernel, shape, space, more?.usual === true ? more.name : plain);
  const extra = way === more?.name;
  const software = extra ? caps.software : way === "alone";
  return { caps: software === caps.software ? caps : { ...caps, software }, extra };
}

/** Sizes as a class: each rounded to a power of two, with what else tells cases apart. */
export function shapeClass(sizes: readonly number[], ...words: readonly string[]): string {
  const rounded = sizes.map((n) => (n <= 1 ? n : 2 ** Math.round(Math.log2(n))));
  return [rounded.join("×"), ...words].join(" ");
}
