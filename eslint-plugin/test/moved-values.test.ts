/**
 * Values that a scope moves to another, or to none: what outlives the scope, and what not.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("moved values");
const program = marked(test);

program(
  "to a scope that the object keeps",
  `import { newDisposeScope, type DisposeScope, type Tensor } from "tenure";
export class Features implements Disposable {
  readonly #kept: DisposeScope = newDisposeScope({ root: true });
  #last: Tensor | null = null;
  compute(x: Tensor): Tensor {
    using scope = newDisposeScope();
    this.#last?.dispose();
    this.#last = scope.moveTo(this.#kept, x.relu().mean(0));
    return this.#last;
  }
  [Symbol.dispose](): void {
    this.#kept.dispose();
  }
}`,
);
program(
  "to a scope that was given, then returned",
  `import { newDisposeScope, type DisposeScope, type Tensor } from "tenure";
export function f(kept: DisposeScope, x: Tensor): Tensor {
  using scope = newDisposeScope();
  const y = x.relu().mean(0);
  scope.moveTo(kept, y);
  return y;
}`,
);
program(
  "to a scope that was given, at once",
  `import { newDisposeScope, type DisposeScope, type Tensor } from "tenure";
export function f(kept: DisposeScope, x: Tensor): Tensor {
  using scope = newDisposeScope();
  return scope.moveTo(kept, x.relu().mean(0));
}`,
);
program(
  "to none, ended by the object",
  `import { newDisposeScope, type Tensor } from "tenure";
export class Features implements Disposable {
  #last: Tensor | null = null;
  compute(x: Tensor): Tensor {
    using scope = newDisposeScope();
    this.#last?.dispose();
    this.#last = scope.moveTo(null, x.relu().mean(0));
    return this.#last;
  }
  [Symbol.dispose](): void {
    this.#last?.dispose();
  }
}`,
);
program(
  "to none, never ended by the object",
  `import { newDisposeScope, type Tensor } from "tenure";
export class Features implements Disposable {
  #last: Tensor | null = null;
  compute(x: Tensor): void {
    using scope = newDisposeScope();
    this.#last?.dispose();
    this.#last = scope.moveTo(null, x.relu().mean(0)); // !
  }
  [Symbol.dispose](): void {
    console.log("bye");
  }
}`,
);
program(
  "to none, never ended",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): void {
  using scope = newDisposeScope();
  const y = scope.moveTo(null, x.relu()); // !
  console.log(y.size);
}`,
);
program(
  "to none afterwards, never ended",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): void {
  using scope = newDisposeScope();
  const y = x.relu(); // !
  scope.moveTo(null, y);
  console.log(y.size);
}`,
);
program(
  "to none afterwards, ended",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): void {
  using scope = newDisposeScope();
  const y = x.relu();
  scope.moveTo(null, y);
  console.log(y.size);
  y.dispose();
}`,
);
program(
  "to a scope that ends before the use",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): Tensor {
  using scope = newDisposeScope();
  using other = newDisposeScope();
  const y = x.relu();
  other.moveTo(scope, y);
  return y; // !
}`,
);
program(
  "to such a scope at once",
  `import { newDisposeScope, type Tensor } from "tenure";
export class F implements Disposable {
  #last: Tensor | null = null;
  f(x: Tensor): void {
    using scope = newDisposeScope();
    using inner = newDisposeScope();
    this.#last = inner.moveTo(scope, x.relu()); // !
  }
  g(): number { return this.#last?.size ?? 0; }
  [Symbol.dispose](): void { this.#last?.dispose(); }
}`,
);
program(
  "attached to the scope itself",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): Tensor {
  using scope = newDisposeScope();
  return scope.attach(x.relu()); // !
}`,
);
program(
  "attached to the scope itself, by name",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): Tensor {
  using scope = newDisposeScope();
  const y = x.relu();
  scope.attach(y);
  return y; // !
}`,
);
program(
  "left in the scope for a while",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): Tensor {
  using scope = newDisposeScope();
  const y = x.relu();
  scope.disposeEverythingBut(y);
  return y; // !
}`,
);
program(
  "attached and moved out",
  `import { newDisposeScope, type Tensor } from "tenure";
export function f(x: Tensor): Tensor {
  using scope = newDisposeScope();
  return scope.attach(x.relu()).moveToOuter();
}
export function g(x: Tensor): Tensor {
  using scope = newDisposeScope();
  return scope.detach(scope.attach(x.relu()));
}`,
);
program(
  "attached from outside",
  `import { newDisposeScope, rand } from "tenure";
export function f(): number {
  const y = rand([2]);
  using scope = newDisposeScope();
  scope.attach(y);
  return y.size;
}`,
);
test.run();
