/**
 * The places that hold a value longer than the function that makes it: fields, closure variables,
 * variables of a module, objects; and where the values come from that they are given. Used by
 * `rules/held-values.test.ts`.
 */

/** What is held, and the code that fills and ends it. `HELD` and `OTHER` stand for two values. */
export interface Held {
  type: string;
  init: string;
  /** What happens again and again; `VALUE` is a new value, `n` a number. */
  feed: string;
  /** What happens at the end. */
  end: string;
}

/** One place; each `$` in a name is replaced by a number. */
export interface Holder {
  name: string;
  code: (held: Held, from: Source) => string;
  /** Every loss is tried in it. */
  thorough?: true;
}

/** Where a holder's values come from. */
export interface Source {
  name: string;
  /** How a new value is written. */
  value: string;
  /** What `feed` takes, and what it is given where it is called. */
  parameters: string;
  given: string;
}

/** Every source. */
export const sources: Source[] = [
  { name: "made", value: "a.add(1)", parameters: "a: Tensor, n: number", given: "a, 3" },
  { name: "cloned", value: "a.clone()", parameters: "a: Tensor, n: number", given: "a, 3" },
  { name: "taken", value: "t", parameters: "t: Tensor, n: number", given: "a.add(1), 3" },
];

const put = (text: string, held: string, other: string, { value }: Source): string =>
  text
    .replaceAll("HELD", () => held)
    .replaceAll("OTHER", () => other)
    .replaceAll("VALUE", value);

const user = (make: string, { given }: Source): string => `
export function use$(a: Tensor, times: number): void {
  const h = ${make};
  for (let i = 0; i < times; i++) h.feed(${given});
  h.dispose();
}`;

/** A class with two fields. */
const inClass =
  (field: (type: string, init: string) => string, held: string) =>
  ({ type, init, feed, end }: Held, from: Source): string =>
    put(
      `export class H$ {
  ${field(type, init)}
  #other = zeros([2]);
  feed(${from.parameters}): void { ${feed} }
  dispose(): void { ${end} }
}
${user("new H$()", from)}`,
      held,
      "this.#other",
      from,
    );

/** Every place; the first stands for the others where a loss is tried in one alone. */
export const holders: Holder[] = [
  {
    name: "private field",
    thorough: true,
    code: inClass((type, init) => `#held: ${type} = ${init};`, "this.#held"),
  },
  {
    name: "field that TypeScript calls private",
    code: inClass((type, init) => `private held: ${type} = ${init};`, "this.held"),
  },
  { name: "public field", code: inClass((type, init) => `held: ${type} = ${init};`, "this.held") },
  {
    name: "field of a record in a field",
    code: inClass(
      (type, init) =>
        `readonly #state: { held: ${type}; step: number } = { held: ${init}, step: 0 };`,
      "this.#state.held",
    ),
  },
  {
    name: "field given in the constructor",
    code: inClass(
      (type, init) => `#held: ${type};\n  constructor() { this.#held = ${init}; }`,
      "this.#held",
    ),
  },
  {
    name: "field of a subclass",
    code: ({ type, init, feed, end }, from) =>
      put(
        `abstract class B$ {
  protected other = zeros([2]);
  dispose(): void { this.other.dispose(); }
}
export class H$ extends B$ {
  #held: ${type} = ${init};
  feed(${from.parameters}): void { ${feed} }
  override dispose(): void { ${end.replaceAll("OTHER.dispose();", "super.dispose();")} }
}
${user("new H$()", from)}`,
        "this.#held",
        "this.other",
        from,
      ),
  },
  {
    name: "variable of a closure",
    thorough: true,
    code: ({ type, init, feed, end }, from) =>
      put(
        `export function makeH$() {
  let held: ${type} = ${init};
  const other = zeros([2]);
  return {
    feed(${from.parameters}): void { ${feed} },
    dispose(): void { ${end} },
  };
}
${user("makeH$()", from)}`,
        "held",
        "other",
        from,
      ),
  },
  {
    name: "variable of the module",
    code: ({ type, init, feed, end }, from) =>
      put(
        `let held$: ${type} = ${init};
const other$ = zeros([2]);
export function feedHeld$(${from.parameters}): void { ${feed} }
export function disposeHeld$(): void { ${end} }
export function use$(a: Tensor, times: number): void {
  for (let i = 0; i < times; i++) feedHeld$(${from.given});
  disposeHeld$();
}`,
        "held$",
        "other$",
        from,
      ),
  },
  {
    name: "static field",
    code: ({ type, init, feed, end }, from) =>
      put(
        `export class H$ {
  static #held: ${type} = ${init};
  static #other = zeros([2]);
  static feed(${from.parameters}): void { ${feed} }
  static dispose(): void { ${end} }
}
export function use$(a: Tensor, times: number): void {
  for (let i = 0; i < times; i++) H$.feed(${from.given});
  H$.dispose();
}`,
        "H$.#held",
        "H$.#other",
        from,
      ),
  },
  {
    name: "property of an object with methods",
    code: ({ type, init, feed, end }, from) =>
      put(
        `const h$ = {
  held: ${init} as ${type},
  other: zeros([2]),
  feed(${from.parameters}): void { ${feed} },
  dispose(): void { ${end} },
};
export function use$(a: Tensor, times: number): void {
  for (let i = 0; i < times; i++) h$.feed(${from.given});
  h$.dispose();
}`,
        "this.held",
        "this.other",
        from,
      ),
  },
  {
    name: "property of a closure's object",
    code: ({ type, init, feed, end }, from) =>
      put(
        `export function makeH$() {
  const state: { held: ${type}; other: Tensor } = { held: ${init}, other: zeros([2]) };
  const feed = (${from.parameters}): void => { ${feed} };
  const dispose = (): void => { ${end} };
  return { feed, dispose };
}
${user("makeH$()", from)}`,
        "state.held",
        "state.other",
        from,
      ),
  },
  {
    name: "record that functions are handed",
    code: ({ type, init, feed, end }, from) =>
      put(
        `interface H$ { held: ${type}; other: Tensor }
export const makeH$ = (): H$ => ({ held: ${init}, other: zeros([2]) });
export function feedH$(h: H$, ${from.parameters}): void { ${feed} }
export function disposeH$(h: H$): void { ${end} }
export function use$(a: Tensor, times: number): void {
  const h = makeH$();
  for (let i = 0; i < times; i++) feedH$(h, ${from.given});
  disposeH$(h);
}`,
        "h.held",
        "h.other",
        from,
      ),
  },
  {
    name: "local of a generator",
    code: ({ type, init, feed, end }, from) =>
      put(
        `export function* run$(a: Tensor, n: number): Generator<number> {
  let held: ${type} = ${init};
  const other = zeros([2]);
  try {
    for (let i = 0; i < n; i++) {
      ${from.value === "t" ? "const t = a.mul(3);" : ""}
      ${feed.replaceAll("return;", "continue;")}
      yield other.size;
    }
  } finally {
    ${end}
  }
}`,
        "held",
        "other",
        from,
      ),
  },
];
