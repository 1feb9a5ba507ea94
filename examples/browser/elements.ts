/** Typed access to the page's elements, and how numbers are written. Owns nothing. */

/** The element with this id. @throws Error when the page has none of this kind */
export function element<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`page: expected #${id} to be a ${kind.name}, got ${found?.tagName}`);
}

/** Bytes in the unit that suits them. */
export function bytes(n: number): string {
  if (n === 0) return "0";
  if (n < 1e6) return `${(n / 1e3).toFixed(n < 1e4 ? 1 : 0)} kB`;
  return `${(n / 1e6).toFixed(n < 1e7 ? 1 : 0)} MB`;
}

/** A share as a percentage. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share === 0 || share === 1 ? 0 : 1)} %`;
}
