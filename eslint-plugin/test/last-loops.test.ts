/**
 * Loops over lists that a function has made, after which nobody has the elements in hand: what a
 * turn leaves is lost.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("last loops");
const finds = marked(test);

finds(
  "what a last loop over a list leaves",
  `import { type Tensor } from "tenure";
function learn(t: Tensor): number { return t.size; }
function cut(x: Tensor): { start: number; windows: Tensor[] } {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  return { start: x.size, windows };
}
export function a(x: Tensor, keep: Tensor[]): void {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  for (const w of windows) { // !
    const score = learn(w);
    if (score < 0) continue;
    if (score > 3) keep.push(w);
    else w.dispose();
  }
}
export function b(x: Tensor, keep: Tensor[]): void {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  for (const [i, w] of windows.entries()) { // !
    const score = learn(w);
    if (score < 0) continue;
    if (score > i) keep.push(w);
    else w.dispose();
  }
}
export function c(x: Tensor, keep: Tensor[]): void {
  const { start, windows } = cut(x);
  for (const w of windows) { // !
    const score = learn(w);
    if (score < 0) continue;
    if (score > start) keep.push(w);
    else w.dispose();
  }
}
export function d(x: Tensor, keep: Tensor[]): void {
  const { start, windows } = cut(x);
  for (const [i, w] of windows.entries()) { // !
    const score = learn(w);
    if (score < 0) continue;
    if (score > start + i) keep.push(w);
    else w.dispose();
  }
}
export function e(x: Tensor): void {
  const { windows } = cut(x);
  for (const [i, w] of windows.entries()) { // !
    if (i < 2) continue;
    w.dispose();
  }
}
export function m(x: Tensor, n: number): void {
  for (let a = 0; a < n; a++) {
    const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
    for (const w of windows) { // !
      if (a < 2) break;
      w.dispose();
    }
  }
}`,
);
finds(
  "what a loop hands on, or leaves to another",
  `import { type Tensor } from "tenure";
function cut(x: Tensor): { start: number; windows: Tensor[] } {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  return { start: x.size, windows };
}
export function g(x: Tensor): void {
  const { windows } = cut(x);
  for (const [i, w] of windows.entries()) {
    if (i < 2) continue;
    w.neg().dispose();
  }
  for (const w of windows) w.dispose();
}
export function h(x: Tensor): Tensor {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  let best: Tensor | null = null;
  for (const w of windows) {
    if (best && w.size < best.size) { w.dispose(); continue; }
    best?.dispose();
    best = w;
  }
  return best ?? x.alias();
}
export function i(x: Tensor): void {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  for (const w of windows) {
    if (w.size < 2) continue;
    console.log(w.size);
  }
  for (const w of windows) w.dispose();
}
export function j(x: Tensor): Tensor[] {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  for (const w of windows) {
    if (w.size < 2) continue;
    w.add_(1).dispose();
  }
  return windows;
}
export function l(x: Tensor, all: Map<number, Tensor>): void {
  const windows = [1, 2, 3].map((at) => x.slice(1, at, at + 2));
  for (const [i, w] of windows.entries()) {
    const old = all.get(i);
    old?.dispose();
    all.set(i, w);
  }
}`,
);

test.run();
