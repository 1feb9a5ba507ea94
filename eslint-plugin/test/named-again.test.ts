/**
 * Tables that are filled under names which come again each time: the last ones are lost where
 * nothing ends them first.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("named again");
const finds = marked(test);

const imports = `import { tensor, type Tensor } from "tenure";
import { Linear, Module } from "tenure/nn";
`;
const keeper = (keep: string): string => `${imports}
const names = ["a", "b"] as const;
export class Keeper {
  readonly #best = new Map<string, Tensor>();
  readonly #pending = new Map<string, () => Tensor>();
  readonly #model: Module<[Tensor]> = new Linear(2, 2);
  fit(losses: number[]): void {
    for (const loss of losses) if (loss < 1) this.#keep();
  }
  #keep(): void {
    ${keep}
  }
  restore(): void {
    this.#model.loadStateDict(this.#best);
    this.clear();
  }
  clear(): void {
    for (const t of this.#best.values()) t.dispose();
    this.#best.clear();
  }
  dispose(): void {
    this.clear();
    this.#model.dispose();
    console.log(names, this.#pending, tensor);
  }
}`;
const parameters = "for (const [name, p] of this.#model.namedParameters())";
const put = "this.#best.set(name, p.clone());";

finds(
  "by a method, from a state",
  keeper(`using state = this.#model.stateDict();
    for (const [name, value] of state) this.#best.set(name, value.clone()); // !`),
);
finds(
  "by a method, from parameters",
  keeper(`${parameters} {
      const copy = p.clone();
      this.#best.set(name, copy); // !
    }`),
);
finds(
  "by a method, from a constant list",
  keeper("for (const name of names) this.#best.set(name, tensor([name.length])); // !"),
);
finds("cleared before", keeper(`this.clear();\n    ${parameters} ${put}`));
finds("only new names", keeper(`${parameters} if (!this.#best.has(name)) ${put}`));
finds(
  "names that are gone afterwards",
  keeper(`for (const [id, run] of this.#pending) this.#best.set(id, run());
    this.#pending.clear();`),
);
finds(
  "filled once, by the constructor",
  `${imports}
export class Frozen {
  readonly #first = new Map<string, Tensor>();
  constructor(readonly model: Module<[Tensor]>) {
    this.#fill();
  }
  #fill(): void {
    for (const [name, p] of this.model.namedParameters()) this.#first.set(name, p.clone());
  }
  dispose(): void {
    for (const t of this.#first.values()) t.dispose();
  }
}`,
);
finds(
  "by a closure",
  `${imports}
export function snapshots(model: Module<[Tensor]>) {
  const best = new Map<string, Tensor>();
  const keep = (): void => {
    for (const [name, p] of model.namedParameters()) best.set(name, p.clone()); // !
  };
  for (let i = 0; i < 9; i++) if (i % 3) keep();
  return { end: (): void => { for (const t of best.values()) t.dispose(); } };
}`,
);

const turns = (body: string, over = "let i = 0; i < 9; i++"): string => `${imports}
export function train(model: Module<[Tensor]>, others: Module<[Tensor]>[]): void {
  const best = new Map<string, Tensor>();
  for (${over}) {
    ${body}
  }
  model.loadStateDict(best);
  for (const t of best.values()) t.dispose();
  console.log(others.length);
}`;
const all = "for (const [name, p] of model.namedParameters())";
finds("in a loop", turns(`if (i % 2) continue;\n    ${all} best.set(name, p.clone()); // !`));
finds(
  "in a loop, cleared before",
  turns(`for (const t of best.values()) t.dispose();\n    ${all} best.set(name, p.clone());`),
);
finds(
  "in a loop, ended one by one",
  turns(`${all} {
      best.get(name)?.dispose();
      best.set(name, p.clone());
    }`),
);
finds("in a loop, once", turns(`if (best.size === 0) ${all} best.set(name, p.clone());`));
finds("in a loop that ends", turns(`${all} best.set(name, p.clone());\n    break;`));
finds(
  "in a loop over models",
  turns(
    "for (const [name, p] of other.namedParameters()) best.set(name, p.clone());",
    "const other of others",
  ),
);

test.run();
