/**
 * Beam search and a tree of embeddings: recursion, generic helpers, and lists of tensors that are
 * sorted, filtered and cut.
 */
import { type Tensor, concat, newDisposeScope, noGrad, randn, scoped, stack, tensor } from "tenure";
import { Bilinear } from "./bilinear.ts";

type Tree = { readonly word: string } | { readonly left: Tree; readonly right: Tree };

interface Hypothesis {
  readonly state: Tensor;
  readonly score: number;
  readonly tokens: readonly number[];
}

/** Ends everything in a list. */
function disposeAll(list: Iterable<{ dispose(): void }>): void {
  for (const item of list) item.dispose();
}

/** Maps values to things, and ends what was made when one of them fails. */
function mapOwned<T, R extends { dispose(): void }>(list: readonly T[], make: (t: T) => R): R[] {
  const made: R[] = [];
  try {
    for (const item of list) made.push(make(item));
    return made;
  } catch (error) {
    disposeAll(made);
    throw error;
  }
}

function withAll<T extends Disposable, R>(list: readonly T[], fn: (list: readonly T[]) => R): R {
  try {
    return fn(list);
  } finally {
    for (const item of list) item[Symbol.dispose]();
  }
}

class Composer implements Disposable {
  readonly #words = new Map<string, Tensor>();
  readonly #mix = new Bilinear();

  #word(word: string): Tensor {
    let vector = this.#words.get(word);
    if (vector === undefined) {
      vector = randn([4]);
      this.#words.set(word, vector);
    }
    return vector;
  }

  /** The embedding of a tree, which is the caller's. */
  embed(tree: Tree): Tensor {
    if ("word" in tree) return this.#word(tree.word).alias();
    using left = this.embed(tree.left);
    using right = this.embed(tree.right);
    return noGrad(() => this.#mix.call(left, right));
  }

  depth(tree: Tree): number {
    return "word" in tree ? 1 : 1 + Math.max(this.depth(tree.left), this.depth(tree.right));
  }

  [Symbol.dispose](): void {
    disposeAll(this.#words.values());
    this.#mix.dispose();
  }
}

/** All that a hypothesis can become. */
function expand({ state, score, tokens }: Hypothesis): Hypothesis[] {
  return [0, 1, 2].map((token) => ({
    state: scoped(() => state.mul(0.5).add(token)),
    score: score - token,
    tokens: [...tokens, token],
  }));
}

function beamSearch(start: Tensor, width: number, length: number): Hypothesis {
  let beam: Hypothesis[] = [{ state: start.alias(), score: 0, tokens: [] }];
  for (let i = 0; i < length; i++) {
    const candidates = beam.flatMap((h) => expand(h));
    for (const h of beam) h.state.dispose();
    candidates.sort((a, b) => b.score - a.score);
    const dropped = candidates.splice(width);
    dropped.forEach((h) => h.state.dispose());
    beam = candidates;
  }
  const [best, ...others] = beam;
  others.forEach(({ state }) => state.dispose());
  return best!;
}

/** Tensors with some size, of which small ones are ended. */
function filterLarge(list: readonly Tensor[], least: number): Tensor[] {
  return list.filter((t) => {
    if (t.size >= least) return true;
    t.dispose();
    return false;
  });
}

/** Joins neighbours until one tensor is left. Takes the list. */
function reducePairs(list: Tensor[]): Tensor {
  while (list.length > 1) {
    const a = list.pop()!,
      b = list.pop()!;
    list.unshift(scoped(() => concat([a, b]).mul(0.5)));
    a.dispose();
    b.dispose();
  }
  return list[0]!;
}

function sumOf(list: readonly Tensor[]): Tensor {
  return list.slice(1).reduce((sum, t) => {
    const next = sum.add(t);
    sum.dispose();
    return next;
  }, list[0]!.clone());
}

/** Searches and composes. */
export async function run(): Promise<number> {
  using composer = new Composer();
  const tree: Tree = {
    left: { word: "every" },
    right: { left: { word: "byte" }, right: { word: "every" } },
  };
  using embedded = composer.embed(tree);
  const best = beamSearch(embedded, 2, 3);
  let total = best.tokens.length + composer.depth(tree);
  best.state.dispose();
  const rows = mapOwned([1, 2, 3, 4], (n) => tensor(Array.from({ length: n }, () => n)));
  const large = filterLarge(rows, 2);
  using joined = reducePairs(large);
  total += joined.size;
  using sum = withAll(
    mapOwned([1, 2], (n) => tensor([n, n])),
    (pair) => sumOf(pair),
  );
  let read: Promise<number>;
  {
    using _scope = newDisposeScope();
    read = stack([sum, sum]).sum().item();
  }
  return total + (await read);
}
