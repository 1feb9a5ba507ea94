/**
 * Entries of tables that are made of what was there: the old one is lost where nothing ends it.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("summed entries");
const finds = marked(test);

const sum = (body: string, more = ""): string =>
  `import { zeros, type Tensor } from "tenure";
export function sum(all: [string, Tensor][]${more}): Map<string, Tensor> {
  const sums = new Map<string, Tensor>();
  for (const [k, g] of all) {
    ${body}
  }
  return sums;
}`;
finds(
  "asked for inside",
  sum(`if (!sums.has(k)) sums.set(k, zeros(g.shape));
    sums.set(k, sums.get(k)!.add(g)); // !`),
);
finds(
  "asked for before",
  sum(`const old = sums.get(k);
    sums.set(k, old ? old.add(g) : g.clone()); // !`),
);
finds(
  "ended after that",
  sum(`const old = sums.get(k);
    sums.set(k, old ? old.add(g) : g.clone());
    old?.dispose();`),
);
finds(
  "ended before that",
  sum(`const next = sums.get(k)?.add(g) ?? g.clone();
    sums.get(k)?.dispose();
    sums.set(k, next);`),
);
finds(
  "kept elsewhere",
  sum(
    `const old = sums.get(k);
    if (old) log.push(old);
    sums.set(k, old ? old.add(g) : g.clone());`,
    ", log: Tensor[]",
  ),
);
finds(
  "another key",
  sum(`const old = sums.get("first");
    if (!sums.has(k)) sums.set(k, old ? old.add(g) : g.clone());`),
);
finds(
  "inside, of a field",
  `import { type Tensor } from "tenure";
export class Sums {
  #sums = new Map<string, Tensor>();
  start(k: string, g: Tensor): void {
    this.#sums.get(k)?.dispose();
    this.#sums.set(k, g.clone());
  }
  add(k: string, g: Tensor): void {
    this.#sums.set(k, this.#sums.get(k)!.add(g)); // !
  }
  dispose(): void {
    for (const t of this.#sums.values()) t.dispose();
  }
}`,
);
finds(
  "in a scope",
  `import { scoped, type Tensor } from "tenure";
export const total = (all: [string, Tensor][]): Tensor =>
  scoped(() => {
    const sums = new Map<string, Tensor>();
    for (const [k, g] of all) {
      const old = sums.get(k);
      sums.set(k, old ? old.add(g) : g.clone());
    }
    return [...sums.values()].reduce((a, b) => a.add(b));
  });`,
);

test.run();
