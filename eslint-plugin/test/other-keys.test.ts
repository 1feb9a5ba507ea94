/**
 * Values that leave a table or list beside others that were ended: another key, all but one of
 * them, the first of those a loop goes over, what is detached in a scope.
 */
import { suite } from "uvu";
import { marked } from "./marked.ts";

const test = suite("other keys");
const finds = marked(test);

/** A cache of a closure that drops its oldest entry, and what it makes a new one of. */
const cache = (make: string): string => `
import { type Tensor } from "tenure";
export function forecaster() {
  const said = new Map<number, Tensor>();
  return {
    ask(x: Tensor, from: number): Tensor {
      let answer = said.get(from);
      if (!answer) {
        ${make}
        said.set(from, answer);
      }
      if (said.size > 6) {
        const [oldest = 0] = said.keys();
        said.delete(oldest); // !
      }
      return answer;
    },
    close(): void { said.forEach((a) => { a.dispose(); }); said.clear(); },
  };
}
`;
finds("an entry of another key, a closure", cache("answer = x.neg();"));
finds(
  "beside a value that no table had",
  cache("const window = x.slice(0, from, from + 5); answer = window.neg(); window.dispose();"),
);

/** A table of records that a method adds to, with the oldest dropped. */
const book = (add: string, drop: string, rest = ""): string => `
import { type Tensor } from "tenure";
interface Page { readonly gauge: string; readonly levels: Tensor }
export class Book {
  private readonly pages = new Map<string, Page>();
  ${add}
    if (this.pages.size <= 3) return;
    const [oldest] = this.pages.keys();
    ${drop}
  }
  drop(gauge: string): void {
    this.pages.get(gauge)?.levels.dispose();
    this.pages.delete(gauge);
  }
  clear(): void { for (const gauge of [...this.pages.keys()]) this.drop(gauge); }
}
${rest}`;
const make = `add(gauge: string, x: Tensor): void {
    this.drop(gauge);
    this.pages.set(gauge, { gauge, levels: x.neg() });`;
const given = `add(page: Page): void {
    this.drop(page.gauge);
    this.pages.set(page.gauge, page);`;
const service = `class Service {
  private readonly book = new Book();
  page(name: string, x: Tensor): Page {
    const page = { gauge: name, levels: x.neg() };
    this.book.add(page);
    return page;
  }
  end(): void { this.book.clear(); }
}
export const service = new Service();
`;
const forgets = "this.pages.delete(oldest!); // !";
finds("an entry of another key, by a method", book(make, forgets));
finds("one that a method is given", book(given, forgets, service));
finds("one that ends by its own key", book(make, "this.drop(oldest!);"));
finds(
  "the first of a list alone",
  `
import { type Tensor } from "tenure";
export class Register {
  #now: Tensor;
  readonly #saved: Tensor[] = [];
  constructor(x: Tensor) { this.#now = x.neg(); }
  #become(next: Tensor): void { this.#now.dispose(); this.#now = next; }
  save(): void { this.#saved.push(this.#now.clone()); }
  restore(): void {
    const [first] = this.#saved;
    if (first !== undefined) this.#become(first);
    this.#saved.length = 0; // !
  }
  [Symbol.dispose](): void {
    this.#now.dispose();
    for (const s of this.#saved) s.dispose();
    this.#saved.length = 0;
  }
}
`,
);
finds(
  "all but the first",
  `
import { type Tensor, stack } from "tenure";
export async function evaluate(xs: readonly Tensor[]): Promise<number> {
  const errors: Tensor[] = [];
  for (const x of xs) errors.push(x.neg());
  const all = stack(errors);
  const mean = all.mean();
  try {
    return await mean.item();
  } finally {
    for (const t of [...errors.slice(1), all, mean]) t.dispose(); // !
  }
}
`,
);
finds(
  "all but the first, which goes on",
  `
import { type Tensor } from "tenure";
export function evaluate(x: Tensor): Tensor {
  const levels: Tensor[] = [];
  for (let i = 0; i < 3; i++) levels.push(x.neg());
  for (const t of levels.slice(1)) t.dispose();
  return levels[0]!;
}
`,
);
finds(
  "all but the first, which somebody has",
  `
import { type Tensor, stack } from "tenure";
export async function evaluate(x: Tensor): Promise<number> {
  const levels: Tensor[] = [];
  levels.push(x);
  for (let i = 0; i < 3; i++) levels.push(levels[i]!.neg());
  using all = stack(levels);
  for (const t of levels.slice(1)) t.dispose();
  return all.item();
}
`,
);
finds(
  "a list in a scope, of what is detached",
  `
import { type Tensor, newDisposeScope, stack } from "tenure";
export async function watch(xs: readonly Tensor[]): Promise<number> {
  const recent: Tensor[] = [];
  let last: Promise<number> = Promise.resolve(0);
  for (const x of xs) {
    {
      using scope = newDisposeScope("step");
      recent.push(scope.detach(x.neg()));
      if (recent.length > 3) recent.shift(); // !
      last = stack(recent).mean().item();
    }
    await last;
  }
  for (const old of recent) old.dispose();
  return last;
}
`,
);
test.run();
