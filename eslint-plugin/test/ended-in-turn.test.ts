/**
 * Ended in turn: fields that a function fills and ends itself, or that a count, a flag or a pair of
 * functions keeps in turn; and close by each what is left to nobody.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("ended in turn");
const finds = marked(test);

finds(
  "a field ended in `finally`",
  `
import { zeros, type Tensor } from "tenure";
class R {
  #t: Tensor | null = null;
  step(): number {
    return this.#t?.size ?? 0;
  }
  run(n: number): number {
    this.#t = zeros([n]);
    try {
      return this.step();
    } finally {
      this.#t.dispose();
      this.#t = null;
    }
  }
}
export const r = new R();`,
);
finds(
  "a field ended before every way out",
  `
import { zeros, type Tensor } from "tenure";
class R {
  #t: Tensor | null = null;
  step(): number {
    return this.#t?.size ?? 0;
  }
  run(n: number): number {
    this.#t = zeros([n]);
    if (this.step() > 3) {
      this.#t.dispose();
      this.#t = null;
      return 3;
    }
    const m = this.step();
    this.#t.dispose();
    this.#t = null;
    return m;
  }
}
export const r = new R();`,
);
finds(
  "a field ended by the name of what it holds",
  `
import { zeros, type Tensor } from "tenure";
class R {
  #t: Tensor | null = null;
  step(): number {
    return this.#t?.size ?? 0;
  }
  run(n: number): number {
    const t = zeros([n]);
    this.#t = t;
    try {
      return this.step();
    } finally {
      this.#t = null;
      t.dispose();
    }
  }
}
export const r = new R();`,
);
finds(
  "a count of users",
  `
import { zeros, type Tensor } from "tenure";
let table: Tensor;
let users = 0;
export function acquire(n: number): Tensor {
  if (users++ === 0) table = zeros([n]);
  return table;
}
export function release(): void {
  if (--users === 0) table.dispose();
}`,
);
finds(
  "a count of a class",
  `
import { zeros, type Tensor } from "tenure";
class Shared {
  #t: Tensor | null = null;
  #users = 0;
  open(n: number): void {
    this.#users += 1;
    if (this.#users === 1) this.#t = zeros([n]);
  }
  close(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#t!.dispose();
  }
}
export const shared = new Shared();`,
);
finds(
  "a state that is asked on both sides",
  `
import { zeros, type Tensor } from "tenure";
class Mic {
  #state: "idle" | "on" = "idle";
  #buf: Tensor | null = null;
  on(n: number): void {
    if (this.#state !== "idle") throw new Error("on");
    this.#state = "on";
    this.#buf = zeros([n]);
  }
  off(): number {
    if (this.#state !== "on") return 0;
    this.#state = "idle";
    const n = this.#buf!.size;
    this.#buf!.dispose();
    return n;
  }
}
export const mic = new Mic();`,
);
finds(
  "a flag for what is valid",
  `
import { zeros, type Tensor } from "tenure";
let cached: Tensor;
let valid = false;
export function size(n: number): number {
  if (valid) return cached.size;
  valid = true;
  cached = zeros([n]);
  return cached.size;
}
export function reset(): void {
  if (!valid) return;
  valid = false;
  cached.dispose();
}`,
);
finds(
  "a beginning and an end in turn",
  `
import { zeros, type Tensor } from "tenure";
class Enc {
  #t!: Tensor;
  begin(n: number): void {
    this.#t = zeros([n]);
  }
  size(): number {
    return this.#t.size;
  }
  end(): void {
    this.#t.dispose();
  }
}
const e = new Enc();
export function frame(ns: number[]): number {
  let s = 0;
  for (const n of ns) {
    e.begin(n);
    s += e.size();
    e.end();
  }
  return s;
}`,
);
finds(
  "a flag of a script",
  `
const tf = require("@tensorflow/tfjs");
class Noise {
  open(n) {
    if (this.isOpen) return;
    this.isOpen = true;
    this.noise = tf.randomNormal([n]);
  }
  size() {
    return this.noise.size;
  }
  close() {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.noise.dispose();
  }
}
module.exports = { Noise };`,
  "tfjs",
);
finds(
  "an early way out past the end",
  `
import { zeros, type Tensor } from "tenure";
class R {
  #t: Tensor | null = null;
  step(): number {
    return this.#t?.size ?? 0;
  }
  run(n: number): number {
    this.#t = zeros([n]); // !
    if (this.step() > 3) return 3;
    const m = this.step();
    this.#t.dispose();
    this.#t = null;
    return m;
  }
}
export const r = new R();
export function go(): void {
  for (let i = 0; i < 3; i++) r.run(i);
}`,
);
finds(
  "a count that only one side keeps",
  `
import { zeros, type Tensor } from "tenure";
let table: Tensor;
let users = 0;
export function acquire(n: number): Tensor {
  users = n;
  if (users > 3) table = zeros([n]); // !
  return table;
}
export function release(): void {
  if (users === 0) table.dispose();
}`,
);
finds(
  "a caller that begins twice",
  `
import { zeros, type Tensor } from "tenure";
class Enc {
  #t!: Tensor;
  begin(n: number): void {
    this.#t = zeros([n]); // !
  }
  size(): number {
    return this.#t.size;
  }
  end(): void {
    this.#t.dispose();
  }
}
const e = new Enc();
export function frame(ns: number[]): number {
  let s = 0;
  for (const n of ns) {
    e.begin(n);
    s += e.size();
  }
  e.end();
  return s;
}`,
);

test.run();
