/**
 * What `scope.carry` puts in the place of another value: it outlives the scope where the other did.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("carried");
const program = marked(test);

program(
  "elements of a list, inside of noGrad",
  `import { newDisposeScope, noGrad, type Tensor } from "tenure";
export class Ema implements Disposable {
  readonly #shadow: Tensor[];
  constructor(parameters: readonly Tensor[]) {
    this.#shadow = parameters.map((p) => p.clone());
  }
  update(now: readonly Tensor[]): void {
    using scope = newDisposeScope();
    noGrad(() => {
      for (const [i, old] of this.#shadow.entries())
        this.#shadow[i] = scope.carry(old, old.lerp(now[i]!, 0.1));
    });
  }
  [Symbol.dispose](): void {
    for (const t of this.#shadow) t.dispose();
  }
}`,
);
program(
  "elements of a list, the new one named",
  `import { newDisposeScope, type Tensor } from "tenure";
export class Ema implements Disposable {
  readonly #shadow: Tensor[];
  constructor(parameters: readonly Tensor[]) {
    this.#shadow = parameters.map((p) => p.clone());
  }
  update(now: readonly Tensor[]): void {
    using scope = newDisposeScope();
    for (const [i, old] of this.#shadow.entries()) {
      const next = scope.carry(old, old.lerp(now[i]!, 0.1));
      this.#shadow[i] = next;
    }
  }
  [Symbol.dispose](): void {
    for (const t of this.#shadow) t.dispose();
  }
}`,
);
program(
  "values of a Map",
  `import { newDisposeScope, type Tensor } from "tenure";
export class Metrics implements Disposable {
  readonly #sums = new Map<string, Tensor>();
  add(name: string, value: Tensor): void {
    using scope = newDisposeScope();
    const old = this.#sums.get(name);
    if (old === undefined) this.#sums.set(name, scope.detach(value.clone()));
    else this.#sums.set(name, scope.carry(old, old.add(value)));
  }
  [Symbol.dispose](): void {
    for (const t of this.#sums.values()) t.dispose();
    this.#sums.clear();
  }
}`,
);
program(
  "values of a Map, or new ones of the scope",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export class Metrics implements Disposable {
  readonly #sums = new Map<string, Tensor>();
  add(name: string, value: Tensor): void {
    using scope = newDisposeScope();
    const old = this.#sums.get(name) ?? zeros([2]);
    this.#sums.set(name, scope.carry(old, old.add(value))); // !
  }
  [Symbol.dispose](): void {
    for (const t of this.#sums.values()) t.dispose();
    this.#sums.clear();
  }
}`,
);
program(
  "a list carried by map",
  `import { newDisposeScope, ones, type Tensor } from "tenure";
export function f(now: readonly Tensor[]): void {
  let shadow = [ones([2]), ones([3])];
  {
    using scope = newDisposeScope();
    shadow = shadow.map((t, i) => scope.carry(t, t.lerp(now[i]!, 0.1)));
  }
  for (const t of shadow) t.dispose();
}`,
);
program(
  "a list of new ones that replace new ones",
  `import { newDisposeScope, ones, type Tensor } from "tenure";
export function f(now: readonly Tensor[]): void {
  let shadow = [ones([2]), ones([3])];
  for (const t of shadow) t.dispose();
  {
    using scope = newDisposeScope();
    shadow = now.map((t) => scope.carry(t.clone(), t.lerp(now[0]!, 0.1))); // !
  }
  for (const t of shadow) console.log(t.data());
}`,
);
program(
  "a list carried by forEach",
  `import { newDisposeScope, type Tensor } from "tenure";
export function decay(list: Tensor[], by: number): void {
  using scope = newDisposeScope();
  list.forEach((t, i) => {
    list[i] = scope.carry(t, t.mul(by));
  });
}`,
);
program(
  "a list of the scope, put in another by forEach",
  `import { newDisposeScope, type Tensor } from "tenure";
export function decay(list: Tensor[], by: number): void {
  using scope = newDisposeScope();
  const fresh = list.map((t) => t.mul(by));
  fresh.forEach((t, i) => {
    list[i] = scope.carry(t, t.mul(by)); // !
  });
}`,
);
program(
  "the accumulator of reduce",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export const fold = (xs: readonly Tensor[]): Tensor =>
  xs.reduce((acc, x) => {
    using scope = newDisposeScope();
    return scope.carry(acc, acc.mul(0.9).add(x));
  }, zeros([2]));`,
);
program(
  "in the place of one of the scope",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export class A implements Disposable {
  #x: Tensor | null = null;
  f(): void {
    using scope = newDisposeScope();
    const a = zeros([2]);
    this.#x?.dispose();
    this.#x = scope.carry(a, a.add(1)); // !
  }
  [Symbol.dispose](): void { this.#x?.dispose(); }
}`,
);
program(
  "the sum of a loop inside of the scope",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export function f(xs: Tensor[]): Tensor {
  using scope = newDisposeScope();
  let acc = zeros([2]);
  for (const x of xs) acc = scope.carry(acc, acc.add(x));
  return acc; // !
}`,
);
program(
  "the sum of a loop around the scope",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export function f(xs: Tensor[]): Tensor {
  let acc = zeros([2]);
  for (const x of xs) {
    using scope = newDisposeScope();
    acc = scope.carry(acc, acc.add(x));
  }
  return acc;
}`,
);
program(
  "in the place of what a field holds",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export class A implements Disposable {
  #x: Tensor = zeros([2]);
  f(x: Tensor): void {
    using scope = newDisposeScope();
    const old = this.#x;
    this.#x = scope.carry(old, old.add(x));
  }
  g(x: Tensor): Tensor {
    using scope = newDisposeScope();
    const old = this.#x;
    const next = scope.carry(old, old.add(x));
    const last = scope.carry(next, next.mul(2));
    this.#x = last;
    return this.#x.alias().moveToOuter();
  }
  [Symbol.dispose](): void { this.#x.dispose(); }
}`,
);
program(
  "in the place of what was detached",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export function step(x: Tensor): Tensor {
  using scope = newDisposeScope();
  const start = scope.detach(zeros([2]));
  return scope.carry(start, start.add(x));
}`,
);
program(
  "used after the scope",
  `import { newDisposeScope, zeros, type Tensor } from "tenure";
export function f(x: Tensor): void {
  let kept: Tensor;
  {
    using scope = newDisposeScope();
    const a = x.mul(2);
    kept = scope.carry(a, a.add(1)); // !
  }
  console.log(kept.data());
}`,
);
test.run();
