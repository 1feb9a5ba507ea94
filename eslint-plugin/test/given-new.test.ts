/**
 * Fields that a constructor fills with what it is given, or makes where nothing is: the object's
 * own where all who call it give what is made for it, or nothing.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("given new");
const finds = marked(test);

const brain = (fill: string, more = ""): string =>
  `import { randn, type Tensor } from "tenure";
class Brain {
  #weights: Tensor;
  constructor(weights?: Tensor) {
    ${fill}
  }
  copy(): Brain { return new Brain(this.#weights.clone()); }
  mutate(): void {
    this.#weights = this.#weights.neg(); // MARK
  }
  END
}
${more}const b = new Brain();
export function draw(): void {
  b.mutate();
  const c = b.copy();
  c.mutate();
  LAST
}`;
const ended = "dispose(): void { this.#weights.dispose(); }";
/** Ended by the class, which loses one. */
const lost = (code: string): string =>
  code.replace("// MARK", "// !").replace("END", ended).replace("LAST", "c.dispose();");
/** Left to whoever gave it. */
const lent = (code: string): string => code.replace("END", "").replace("LAST", "");
const choice = "this.#weights = weights ?? randn([2]);";

finds("`??`", lost(brain(choice)));
finds("a test", lost(brain("this.#weights = weights ? weights : randn([2]);")));
finds(
  "two ways",
  lost(brain("if (weights) this.#weights = weights; else this.#weights = randn([2]);")),
);
const others = {
  "what somebody else has, too":
    "const shared = randn([2]);\nexport const other = new Brain(shared);\n",
  "what a spread gives": "export const of = (all: [Tensor]) => new Brain(...all);\n",
  "what is new and has a name":
    "export function make(): Brain { const w = randn([2]); return new Brain(w); }\n",
  "a class that another extends":
    "export class Bird extends Brain { constructor(w: Tensor) { super(w); } }\n",
};
for (const [name, more] of Object.entries(others)) finds(name, lent(brain(choice, more)));
finds(
  "what is made for another field",
  `import { zeros, type Tensor } from "tenure";
export class Kept {
  readonly #shown: Tensor;
  #own?: Tensor;
  constructor(given?: Tensor) { this.#shown = given ?? (this.#own = zeros([1])); }
  size(): number { return this.#shown.size; }
  dispose(): void { this.#own?.dispose(); }
}`,
);

test.run();
