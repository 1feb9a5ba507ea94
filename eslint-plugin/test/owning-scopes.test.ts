/**
 * Scopes in fields: they own what their methods give or run, as long as somebody ends them.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("owning scopes");
const program = marked(test);

program(
  "use, adopt and enter",
  `import { newDisposeScope, randn, type DisposeScope, type Tensor } from "tenure";
export class Particles implements Disposable {
  readonly #scope: DisposeScope = newDisposeScope({ name: "particles", root: true });
  readonly speeds: Tensor = this.#scope.use(randn([8, 2]));
  readonly masses: Tensor = this.#scope.adopt(randn([8]), (t) => t.dispose());
  readonly places: Tensor;
  #lazy: Tensor | null = null;
  constructor() {
    this.places = this.#scope.enter(() => randn([8, 2]));
  }
  get lazy(): Tensor {
    return (this.#lazy ??= this.#scope.enter(() => randn([8, 8]).tril()));
  }
  [Symbol.dispose](): void {
    this.#scope.dispose();
  }
}`,
);
program(
  "fields that are filled inside of enter and run",
  `import { newDisposeScope, randn, type DisposeScope, type Tensor } from "tenure";
export class A implements Disposable {
  readonly #scope: DisposeScope = newDisposeScope({ root: true });
  #a: Tensor | null = null;
  #b: Tensor | null = null;
  constructor() {
    this.#scope.enter(() => {
      this.#a = randn([2]);
      this.#b = randn([2]).mul(2);
    });
    this.#scope.run(() => {
      this.#a = randn([2]);
    });
  }
  size(): number { return (this.#a?.size ?? 0) + (this.#b?.size ?? 0); }
  [Symbol.dispose](): void { this.#scope.dispose(); }
}`,
);
program(
  "a scope that was given",
  `import { randn, type DisposeScope, type Tensor } from "tenure";
export class A {
  readonly #a: Tensor;
  readonly #scope: DisposeScope;
  constructor(scope: DisposeScope) {
    this.#scope = scope;
    this.#a = this.#scope.use(randn([2]));
  }
  size(): number { return this.#a.size; }
}`,
);
program(
  "ended in other ways, or by others",
  `import { newDisposeScope, randn, type DisposeScope, type Tensor } from "tenure";
export class A implements Disposable {
  readonly scope: DisposeScope = newDisposeScope({ root: true });
  readonly a: Tensor = this.scope.use(randn([2]));
  [Symbol.dispose](): void { this.scope[Symbol.dispose](); }
}
export class B implements Disposable {
  readonly #scope: DisposeScope = newDisposeScope({ root: true });
  readonly a: Tensor = this.#scope.use(randn([2]));
  reset(): void { this.#scope.disposeEverything(); }
  [Symbol.dispose](): void { using scope = this.#scope; console.log(scope.count); }
}
export class C implements Disposable {
  readonly #stack = new DisposableStack();
  readonly #scope: DisposeScope = this.#stack.use(newDisposeScope({ root: true }));
  readonly a: Tensor = this.#scope.use(randn([2]));
  [Symbol.dispose](): void { this.#stack.dispose(); }
}
export class D {
  readonly #scope: DisposeScope = newDisposeScope({ root: true });
  readonly a: Tensor = this.#scope.use(randn([2]));
  get scope(): DisposeScope { return this.#scope; }
}`,
);
program(
  "temporaries inside of enter",
  `import { type DisposeScope, type Tensor } from "tenure";
export function f(scope: DisposeScope, x: Tensor): number {
  return scope.enter(() => x.mul(2).add(1).size);
}`,
);
program(
  "a scope that its class opens and never ends",
  `import { newDisposeScope, randn, type DisposeScope, type Tensor } from "tenure";
export class Particles {
  readonly #scope: DisposeScope = newDisposeScope({ name: "particles", root: true });
  readonly speeds: Tensor = this.#scope.use(randn([8, 2])); // !
  readonly masses: Tensor = this.#scope.adopt(randn([8]), (t) => t.dispose()); // !
  #last: Tensor | null = null;
  compute(x: Tensor): Tensor {
    using scope = newDisposeScope();
    this.#last?.dispose();
    this.#last = scope.moveTo(this.#scope, x.relu().mean(0)); // !
    return this.#last.alias().moveToOuter();
  }
  [Symbol.dispose](): void {
    console.log(this.#scope.count);
  }
}`,
);
test.run();
