/**
 * Maximum flow by Dinic's algorithm, for minimum cuts: breadth-first levels, then blocking flows
 * along paths that go up one level at a time. Node 0 is the source, node 1 the sink. Called by
 * mincut.ts; owns its edge lists.
 */
import type { Deadline } from "../deadline.ts";

/** A flow network by edge lists. The reverse of edge `e` is `e ^ 1`. */
export class FlowNetwork {
  /** First edge of each node, and the next edge of the same node behind each; -1 for none. */
  readonly #head: Int32Array;
  readonly #next: number[] = [];
  readonly #to: number[] = [];
  readonly #capacity: number[] = [];
  /** Distance from the source; -1 for nodes that cannot be reached. */
  readonly #level: Int32Array;

  constructor(nodes: number) {
    this.#head = new Int32Array(nodes).fill(-1);
    this.#level = new Int32Array(nodes);
  }

  /** Adds an edge. */
  add(from: number, to: number, capacity: number): void {
    this.#addEdge(from, to, capacity);
    this.#addEdge(to, from, 0);
  }

  #addEdge(from: number, to: number, capacity: number): void {
    this.#to.push(to);
    this.#capacity.push(capacity);
    this.#next.push(this.#head[from]!);
    this.#head[from] = this.#to.length - 1;
  }

  /** Whether a node is on the source's side of the cut. */
  reached(node: number): boolean {
    return this.#level[node]! >= 0;
  }

  /** Finds the maximum flow. @throws PlanningTooLong after the deadline */
  run(deadline?: Deadline): void {
    while (this.#levels()) this.#augment(deadline);
  }

  /** Breadth-first levels over edges with room; false when the sink is cut off. */
  #levels(): boolean {
    this.#level.fill(-1);
    this.#level[0] = 0;
    const queue = [0];
    for (const node of queue) {
      const level = this.#level[node]! + 1;
      for (let e = this.#head[node]!; e !== -1; e = this.#next[e]!) {
        const to = this.#to[e]!;
        if (this.#capacity[e]! <= 0 || this.#level[to] !== -1) continue;
        this.#level[to] = level;
        queue.push(to);
      }
    }
    return this.reached(1);
  }

  /** A blocking flow, along paths kept on a stack. */
  #augment(deadline: Deadline | undefined): void {
    // The edges in front of these are done with.
    const edges = Int32Array.from(this.#head);
    const path: number[] = [];
    let node = 0;
    for (;;) {
      if (node === 1) {
        deadline?.check();
        if (!this.#fill(path)) return;
        path.length = 0;
        node = 0;
        continue;
      }
      const e = this.#upward(node, edges[node]!);
      edges[node] = e;
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

  /** The first edge with room, from edge `e` of a node on, that leads one level up; -1 for none. */
  #upward(node: number, e: number): number {
    const level = this.#level[node]! + 1;
    while (e !== -1 && !(this.#capacity[e]! > 0 && this.#level[this.#to[e]!] === level))
      e = this.#next[e]!;
    return e;
  }

  /** Sends as much as a path takes; false when nothing on it can be cut. */
  #fill(path: readonly number[]): boolean {
    let room = Infinity;
    for (const e of path) room = Math.min(room, this.#capacity[e]!);
    if (room === Infinity) return false; // everything on this path is free
    for (const e of path) {
      this.#capacity[e]! -= room;
      this.#capacity[e ^ 1]! += room;
    }
    return true;
  }
}
