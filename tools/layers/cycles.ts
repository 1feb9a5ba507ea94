/**
 * Finds circles in a graph of imports. Called by the layer check; a pure function.
 */

/** A file on the path from the file where the search began. */
interface Visit {
  readonly file: string;
  /** When the file was first seen. */
  readonly order: number;
  /** The earliest file that is reached from it and not yet part of a finished group. */
  lowest: number;
  /** Which of its imports is looked at next. */
  next: number;
}

/**
 * Groups of two and more files that reach each other, and files that import themselves, each in the
 * order of imports: Tarjan, "Depth-first search and linear graph algorithms" (1972), strongly
 * connected components, with a path of its own instead of recursion.
 */
export function cycles(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const seen = new Map<string, Visit>();
  const open: string[] = [];
  const isOpen = new Set<string>();
  const found: string[][] = [];
  const enter = (file: string): Visit => {
    const visit = { file, order: seen.size, lowest: seen.size, next: 0 };
    seen.set(file, visit);
    open.push(file);
    isOpen.add(file);
    return visit;
  };
  const leave = ({ file, order, lowest }: Visit): void => {
    if (lowest !== order) return;
    const group = open.splice(open.indexOf(file));
    for (const member of group) isOpen.delete(member);
    if (group.length > 1 || edges.get(file)?.includes(file) === true) found.push(group);
  };
  for (const start of edges.keys()) {
    if (seen.has(start)) continue;
    const path = [enter(start)];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const target = edges.get(top.file)?.[top.next++];
      if (target === undefined) {
        leave(top);
        path.pop();
        const parent = path.at(-1);
        if (parent !== undefined) parent.lowest = Math.min(parent.lowest, top.lowest);
        continue;
      }
      const known = seen.get(target);
      if (known === undefined) path.push(enter(target));
      else if (isOpen.has(target)) top.lowest = Math.min(top.lowest, known.order);
    }
  }
  return found;
}
