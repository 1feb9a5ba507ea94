/**
 * Ended together: holders, parts of records and states of components that are ended in one list,
 * with another owner, or by what gets the whole; and close by each what is left to nobody.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("ended together");
const finds = marked(test);

finds(
  "holders ended in one list",
  `
import { zeros, type Tensor } from "tenure";
function make(n: number) {
  const t = zeros([n]);
  return { n: () => t.size, dispose: () => t.dispose() };
}
export function pair(n: number) {
  const a = make(n);
  const b = make(n + 1);
  return {
    total: () => a.n() + b.n(),
    dispose() {
      [a, b].forEach((h) => h.dispose());
    },
  };
}`,
);
finds(
  "a holder and a tensor ended in one list",
  `
import { zeros, type Tensor } from "tenure";
class H {
  readonly t = zeros([3]);
  dispose() {
    this.t.dispose();
  }
}
export function pair(n: number) {
  const a = new H();
  const t = zeros([n]);
  return {
    total: () => a.t.size + t.size,
    dispose() {
      [a, t].forEach((h) => h.dispose());
    },
  };
}`,
);
finds(
  "a list of ends",
  `
import { zeros, type Tensor } from "tenure";
function make(n: number) {
  const t = zeros([n]);
  return { n: () => t.size, dispose: () => t.dispose() };
}
export function pair(n: number) {
  const a = make(n);
  const b = make(n + 1);
  const ends = [a.dispose, b.dispose];
  return {
    total: () => a.n() + b.n(),
    dispose() {
      for (const end of ends) end();
    },
  };
}`,
);
finds(
  "a record beside what its class owns",
  `
import { zeros, type Tensor } from "tenure";
interface Item {
  data: Tensor;
  norm: Tensor;
}
class Set1 {
  readonly #norm = zeros([3]);
  readonly #items: Item[] = [];
  add(data: Tensor): void {
    this.#items.push({ data, norm: this.#norm });
  }
  pop(): number {
    const it = this.#items.pop();
    if (!it) return 0;
    const n = it.norm.size;
    it.data.dispose();
    return n;
  }
  dispose(): void {
    while (this.#items.length > 0) this.pop();
    this.#norm.dispose();
  }
}
export const s = new Set1();`,
);
finds(
  "the best one before, ended afterwards",
  `
import { zeros, type Tensor } from "tenure";
export function pick(n: number): Tensor | null {
  let best: { w: Tensor; score: number } | null = null;
  for (let i = 0; i < n; i++) {
    const score = Math.random();
    if (best === null || score > best.score) {
      const was: { w: Tensor; score: number } | null = best;
      best = { w: zeros([i]), score };
      was?.w.dispose();
    }
  }
  return best === null ? null : best.w;
}`,
);
finds(
  "the best one before, ended first",
  `
import { zeros, type Tensor } from "tenure";
export function pick(n: number): Tensor | null {
  let best: { w: Tensor; score: number } | null = null;
  for (let i = 0; i < n; i++) {
    const score = Math.random();
    if (best === null || score > best.score) {
      best?.w.dispose();
      best = { w: zeros([i]), score };
    }
  }
  return best === null ? null : best.w;
}`,
);
finds(
  "a state ended by a helper that gets the component",
  `
import * as tf from "@tensorflow/tfjs";
import React from "react";
const free = (c) => Object.values(c.state).forEach((t) => t?.dispose());
export class Four extends React.PureComponent {
  state = { a: null };
  componentDidMount() {
    this.setState({ a: tf.zeros([2]) });
  }
  componentWillUnmount() {
    free(this);
  }
  render() {
    return this.state.a ? this.state.a.size : 0;
  }
}`,
  "tfjs",
);
finds(
  "a state ended by the base class",
  `
import * as tf from "@tensorflow/tfjs";
import React from "react";
class Disposing extends React.Component {
  componentWillUnmount() {
    for (const t of Object.values(this.state)) if (t instanceof tf.Tensor) t.dispose();
  }
}
export class Five extends Disposing {
  state = { a: null };
  componentDidMount() {
    this.setState({ a: tf.zeros([2]) });
  }
  render() {
    return this.state.a ? this.state.a.size : 0;
  }
}`,
  "tfjs",
);
finds(
  "a holder that the list of ends leaves out",
  `
import { zeros } from "tenure";
function make(n: number) {
  const t = zeros([n]);
  return { n: () => t.size, dispose: () => t.dispose() };
}
export function pair(n: number) {
  const a = make(n);
  const b = make(n + 1); // !
  return {
    total: () => a.n() + b.n(),
    dispose() {
      [a].forEach((h) => h.dispose());
    },
  };
}`,
);
finds(
  "both parts of a record handed over",
  `
import { zeros, type Tensor } from "tenure";
interface Item {
  data: Tensor;
  norm: Tensor;
}
class Queue {
  readonly #items: Item[] = [];
  add(data: Tensor, norm: Tensor): void {
    this.#items.push({ data, norm });
  }
  pop(): number {
    const it = this.#items.pop();
    if (!it) return 0;
    const n = it.norm.size;
    it.data.dispose(); // !
    return n;
  }
  get size(): number {
    return this.#items.length;
  }
}
export function run(xs: Tensor[]): number {
  const q = new Queue();
  let n = 0;
  for (const x of xs) q.add(x.neg(), x.abs());
  while (q.size > 0) n += q.pop();
  return n;
}`,
);

test.run();
