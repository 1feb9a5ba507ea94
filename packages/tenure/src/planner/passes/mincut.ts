/**
 * What to keep for the backward pass at the least bytes when some ops may run again: a minimum cut
 * between what is resident anyway and what the backward pass reads, over the values of the forward
 * pass (as torch.compile partitions joint graphs). Maximum flow by Dinic. Pure.
 */
import type { Context } from "../schedule.ts";
import { writersOf } from "./recompute.ts";

/**
 * @param candidates storages that may be dropped at all
 * @param mayRun whether an op may run again
 * @param free storages kept for another reason: keeping them costs nothing here
 * @returns the candidates to keep
 */
export function cheapestKept(
  { program }: Context,
  order: readonly number[],
  candidates: ReadonlySet<number>,
  mayRun: (op: number) => boolean,
  free: ReadonlySet<number> = new Set(),
): Set<number> {
  const writers = writersOf(program, order),
    list = [...candidates],
    index = new Map(list.map((s, k) => [s, k]));
  // Nodes: 0 source, 1 sink, then two per candidate: where its value is made, and where it is
  // available to the backward pass.
  const net = new Flow(2 + 2 * list.length);
  const made = (k: number): number => 2 + 2 * k,
    there = (k: number): number => 3 + 2 * k;
  const wanted = new Set<number>();
  for (const i of order)
    if (program.ops[i]!.phase !== "forward") for (const r of program.ops[i]!.reads) wanted.add(r);
  list.forEach((s, k) => {
    const op = writers[s]![0]!;
    net.add(made(k), there(k), free.has(s) ? 0 : program.storages[s]!.bytes);
    if (wanted.has(s)) net.add(there(k), 1, Infinity);
    if (!mayRun(op)) {
      net.add(0, made(k), Infinity);
      return;
    }
    for (const r of program.ops[op]!.reads) {
      const from = index.get(r);
      // Inputs that stay resident for the backward pass anyway cost nothing; others would have to
      // be kept longer: their bytes.
      if (from !== undefined) net.add(there(from), made(k), Infinity);
      else if (!wanted.has(r) && program.storages[r]!.role === "activation")
        net.add(0, made(k), program.storages[r]!.bytes);
    }
  });
  net.run();
  const kept = new Set<number>();
  list.forEach((s, k) => {
    if (net.reached(made(k)) && !net.reached(there(k))) kept.add(s);
  });
  for (const s of free) kept.add(s);
  return kept;
}

/** A flow network by edge lists. */
class Flow {
  readonly #head: Int32Array;
  readonly #next: number[] = [];
  readonly #to: number[] = [];
  readonly #capacity: number[] = [];
  #level: Int32Array;

  constructor(nodes: number) {
    this.#head = new Int32Array(nodes).fill(-1);
    this.#level = new Int32Array(nodes);
  }

  add(from: number, to: number, capacity: number): void {
    for (const [a, b, c] of [
      [from, to, capacity],
      [to, from, 0],
    ] as const) {
      this.#to.push(b);
      this.#capacity.push(c);
      this.#next.push(this.#head[a]!);
      this.#head[a] = this.#to.length - 1;
    }
  }

  /** Whether a node is on the source's side of the cut. */
  reached(node: number): boolean {
    return this.#level[node]! >= 0;
  }

  run(): void {
    while (this.#levels()) this.#augment();
  }

  /** Breadth-first levels over edges with room; false when the sink is cut off. */
  #levels(): boolean {
    this.#level.fill(-1);
    this.#level[0] = 0;
    const queue = [0];
    for (let k = 0; k < queue.length; k++) {
      for (let e = this.#head[queue[k]!]!; e !== -1; e = this.#next[e]!) {
        const to = this.#to[e]!;
        if (this.#capacity[e]! > 0 && this.#level[to] === -1) {
          this.#level[to] = this.#level[queue[k]!]! + 1;
          queue.push(to);
        }
      }
    }
    return this.#level[1]! >= 0;
  }

  /** A blocking flow, along paths kept on a stack. */
  #augment(): void {
    const at = Int32Array.from(this.#head),
      path: number[] = [];
    let node = 0;
    for (;;) {
      if (node === 1) {
        let room = Infinity;
        for (const e of path) room = Math.min(room, this.#capacity[e]!);
        if (room === Infinity) return; // nothing can be cut: everything on this path is free
        for (const e of path) {
          this.#capacity[e]! -= room;
          this.#capacity[e ^ 1]! += room;
        }
        path.length = 0;
        node = 0;
        continue;
      }
      let e = at[node]!;
      while (
        e !== -1 &&
        !(this.#capacity[e]! > 0 && this.#level[this.#to[e]!] === this.#level[node]! + 1)
      )
        e = this.#next[e]!;
      at[node] = e;
      if (e !== -1) {
        path.push(e);
        node = this.#to[e]!;
        continue;
      }
      const back = path.pop();
      if (back === undefined) return;
      this.#level[node] = -2; // a dead end
      node = this.#to[back ^ 1]!;
    }
  }
}
