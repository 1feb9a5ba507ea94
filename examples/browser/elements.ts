/** Typed access to the page's elements, and how numbers are written. Owns nothing. */

/** The element with this id. @throws Error when the page has none of this kind */
export function element<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (found instanceof kind) return found;
  throw new Error(`page: expected #${id} to be a ${kind.name}, got ${found?.tagName}`);
}

/** So many MB, the one unit of memory on the page. */
export function megabytes(n: number): string {
  return n === 0 ? "0" : `${n.toFixed(n < 10 ? 2 : 1)} MB`;
}

/** A share as a percentage. */
export function percent(share: number): string {
  return `${(100 * share).toFixed(share === 0 || share === 1 ? 0 : 1)} %`;
}
