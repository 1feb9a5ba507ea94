/**
 * What a function is given for good and keeps on all ways but one: an early way out that asks about
 * it, or a choice that has no last arm.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("left ways");
const finds = marked(test);

const shelf = (method: string, give = "shelf.offer(zeros([n]))"): string => `
import { zeros, type Tensor } from "tenure";
class Shelf implements Disposable {
  readonly #all: Tensor[] = [];
  ${method}
  [Symbol.dispose](): void { for (const x of this.#all) x.dispose(); }
}
export const shelf = new Shelf();
export function run(n: number): void { ${give}; }
`;
const head = "offer(x: Tensor): void {";
finds(
  "an early way out that asks about it",
  shelf(`${head} // !
    if (this.#all.some((y) => y.size < x.size)) return;
    this.#all.push(x);
  }`),
);
finds(
  "which ends it",
  shelf(`${head}
    if (this.#all.some((y) => y.size < x.size)) {
      x.dispose();
      return;
    }
    this.#all.push(x);
  }`),
);
finds(
  "of what a caller keeps",
  shelf(
    `${head}
    if (this.#all.includes(x)) return;
    this.#all.push(x);
  }`,
    "const x = zeros([n]); shelf.offer(x); shelf.offer(x)",
  ),
);
const choice = (last: string): string => `${head}${last === "" ? " // !" : ""}
    const at = this.#all.findIndex((y) => y.size === x.size);
    if (at < 0) this.#all.push(x);
    else if (x.size > 3) {
      this.#all[at]!.dispose();
      this.#all[at] = x;
    }${last}
  }`;
finds("a choice without a last arm", shelf(choice("")));
finds("a choice with one", shelf(choice(" else x.dispose();")));
finds(
  "a choice of kinds, of which there are no others",
  shelf(
    `put(x: Tensor, where: "front" | "back"): void {
    if (where === "front") this.#all.unshift(x);
    else if (where === "back") this.#all.push(x);
  }`,
    'shelf.put(zeros([n]), "front")',
  ),
);
finds(
  "an early way out after a choice of something else",
  shelf(`${head} // !
    if (this.#all.length > 3) console.log("long");
    else console.log("short");
    if (this.#all.length > 5) return;
    this.#all.push(x);
  }`),
);
finds(
  "a part of a record, as it is said",
  `import { type Tensor } from "tenure";
import { Linear } from "tenure/nn";
type Candidate = Readonly<{ model: Linear; loss: number }>;
const better = (a: Candidate, b: Candidate): boolean => a.loss <= b.loss;
export class Archive implements Disposable {
  readonly #all: Candidate[] = [];
  /** Takes a candidate over. */
  offer(candidate: Candidate): boolean { // !
    if (this.#all.some((known) => better(known, candidate))) return false;
    this.#all.push(candidate);
    return true;
  }
  [Symbol.dispose](): void { for (const { model } of this.#all) model.dispose(); }
}
export const size = (x: Tensor): number => x.size;`,
);

test.run();
