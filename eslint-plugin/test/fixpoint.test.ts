/**
 * Tests of the fixpoint solver: answers that depend on each other must be the least ones, must not
 * depend on which is asked for first, and must be "unknown" where no answer settles.
 */
import { suite } from "uvu";
import { Fixpoint } from "../src/analysis/program/fixpoint.ts";
import { assert } from "./tester.ts";

const test = suite("fixpoint");

interface Key {
  name: string;
  /** What the key itself contributes. */
  own: number;
  calls: string[];
}

/** Keys by name: what each adds to a set of bits, and which others it reaches. */
function graph(rows: Record<string, [number, ...string[]]>): Map<string, Key> {
  return new Map(
    Object.entries(rows).map(([name, [own, ...calls]]) => [name, { name, own, calls }]),
  );
}

/** Asks for every key in the given order; each answer is the union over what it reaches. */
function unions(keys: Map<string, Key>, order: readonly string[]): Record<string, number> {
  const solver: Fixpoint<Key, number> = new Fixpoint({
    bottom: () => 0,
    compute: (key) => key.calls.reduce((bits, c) => bits | solver.get(keys.get(c)!), key.own),
    same: (a, b) => a === b,
    unknown: () => -1,
  });
  const found = order.map((name) => [name, solver.get(keys.get(name)!)] as const);
  return Object.fromEntries([...found].sort(([a], [b]) => a.localeCompare(b)));
}

/** Every order of a few names. */
function orders(names: readonly string[]): string[][] {
  if (names.length === 0) return [[]];
  return names.flatMap((first) =>
    orders(names.filter((n) => n !== first)).map((rest) => [first, ...rest]),
  );
}

test("a chain and a circle give the same in every order", () => {
  const keys = graph({ a: [1, "b"], b: [2, "c"], c: [4, "a", "d"], d: [8, "e"], e: [16] });
  for (const order of orders([...keys.keys()]))
    assert.equal(unions(keys, order), { a: 31, b: 31, c: 31, d: 24, e: 16 });
});

test("two circles that share a key, and one inside the other", () => {
  const keys = graph({ a: [1, "b", "a"], b: [2, "a", "c"], c: [4, "d"], d: [8, "c", "e"], e: [0] });
  for (const order of orders([...keys.keys()]))
    assert.equal(unions(keys, order), { a: 15, b: 15, c: 12, d: 12, e: 0 });
});

test("what a key asks for may depend on an answer", () => {
  for (const order of [
    ["a", "b", "c"],
    ["c", "b", "a"],
    ["b", "a", "c"],
  ]) {
    const key = { a: { n: "a" }, b: { n: "b" }, c: { n: "c" } };
    const solver: Fixpoint<{ n: string }, number> = new Fixpoint({
      bottom: () => 0,
      compute: ({ n }) => {
        if (n === "a") return 1 | solver.get(key.b);
        if (n === "c") return 4 | solver.get(key.a);
        return solver.get(key.a) === 0 ? 0 : 2 | solver.get(key.c); // looks at c later only
      },
      same: (a, b) => a === b,
      unknown: () => -1,
    });
    const found = Object.fromEntries(order.map((n) => [n, solver.get(key[n as keyof typeof key])]));
    assert.equal([found["a"], found["b"], found["c"]], [7, 7, 7], order.join());
  }
});

test("what never settles is unknown, and what depends on it is solved", () => {
  const key = { liar: { n: "liar" }, asks: { n: "asks" } };
  const solver: Fixpoint<{ n: string }, number> = new Fixpoint({
    bottom: () => 0,
    compute: ({ n }) => (n === "liar" ? 1 - solver.get(key.liar) : 10 + solver.get(key.liar)),
    same: (a, b) => a === b,
    unknown: () => 99,
  });
  assert.is(solver.get(key.asks), 109);
  assert.is(solver.get(key.liar), 99);
});

test("an error leaves nothing half solved", () => {
  const key = { a: { n: "a" }, b: { n: "b" } };
  let broken = true;
  const solver: Fixpoint<{ n: string }, number> = new Fixpoint({
    bottom: () => 0,
    compute: ({ n }) => {
      if (n === "a") return 1 | solver.get(key.b);
      if (broken) throw new RangeError("too deep");
      return 2 | solver.get(key.a);
    },
    same: (a, b) => a === b,
    unknown: () => -1,
  });
  assert.throws(() => solver.get(key.a), RangeError);
  broken = false;
  assert.is(solver.get(key.b), 3);
  assert.is(solver.get(key.a), 3);
});

test.run();
