/**
 * Generates text token by token: every block keeps keys and values of what it has seen, a window
 * bounds them, and the tokens stream to listeners.
 */
import * as tn from "tenure";
import type { Tensor } from "tenure";
import { Embedding, LayerNorm, Linear, Module, ModuleList, functional as F } from "tenure/nn";

const VOCABULARY = 11,
  WIDTH = 8,
  HEADS = 2,
  WINDOW = 6;

/** Keys and values [1, H, S, D] of one block. */
interface Entry {
  keys: Tensor;
  values: Tensor;
}

/** What the blocks have seen. Entries of blocks that saw nothing are null. */
class Cache implements Disposable {
  readonly entries: (Entry | null)[];

  constructor(blocks: number) {
    this.entries = Array.from({ length: blocks }, () => null);
  }

  /** Adds what one block has just seen; takes it over. */
  extend(block: number, keys: Tensor, values: Tensor): Entry {
    const entry = this.entries[block];
    if (!entry) return (this.entries[block] = { keys, values });
    const longerKeys = tn.concat([entry.keys, keys], 2);
    const longerValues = tn.concat([entry.values, values], 2);
    for (const t of [entry.keys, entry.values, keys, values]) t.dispose();
    entry.keys = longerKeys;
    entry.values = longerValues;
    return entry;
  }

  /** Forgets all but the newest `length` positions. */
  trim(length: number): void {
    for (const entry of this.entries) {
      const seen = entry?.keys.shape[2] ?? 0;
      if (!entry || seen <= length) continue;
      const { keys, values } = entry;
      entry.keys = keys.slice(2, seen - length);
      entry.values = values.slice(2, seen - length);
      keys.dispose();
      values.dispose();
    }
  }

  /** Another cache with the same contents, to go on in two ways. */
  fork(): Cache {
    const other = new Cache(this.entries.length);
    this.entries.forEach((entry, i) => {
      if (entry) other.entries[i] = { keys: entry.keys.alias(), values: entry.values.alias() };
    });
    return other;
  }

  [Symbol.dispose](): void {
    for (const entry of this.entries) {
      entry?.keys.dispose();
      entry?.values.dispose();
    }
    this.entries.fill(null);
  }
}

class Block extends Module<[x: Tensor, cache: Cache, index: number]> {
  readonly norm = new LayerNorm(WIDTH);
  readonly project = new Linear(WIDTH, 3 * WIDTH);
  readonly out = new Linear(WIDTH, WIDTH);

  forward(x: Tensor, cache: Cache, index: number): Tensor {
    using scope = tn.newDisposeScope("block");
    const length = x.shape[1] ?? 0;
    const parts = this.project.call(this.norm.call(x)).chunk(3, -1);
    const [query, keys, values] = parts.map((part) =>
      part.reshape(1, length, HEADS, WIDTH / HEADS).transpose(1, 2),
    );
    const seen = cache.extend(index, keys!, values!);
    scope.detach(seen.keys, seen.values);
    const read = F.scaledDotProductAttention(query!, seen.keys, seen.values);
    const joined = read.transpose(1, 2).reshape(1, length, WIDTH);
    return scope.moveToOuter(x.add(this.out.call(joined)));
  }
}

class Model extends Module<[tokens: Tensor, cache: Cache]> {
  readonly tokens = new Embedding(VOCABULARY, WIDTH);
  readonly places = this.buffer("places", tn.zeros([WINDOW, WIDTH]));
  readonly blocks = new ModuleList([new Block(), new Block()]);
  readonly head = new Linear(WIDTH, VOCABULARY);

  /** Logits [V] of the token after the last. */
  forward(tokens: Tensor, cache: Cache): Tensor {
    let x = this.#embed(tokens);
    for (const [i, block] of [...this.blocks].entries()) {
      const next = block.call(x, cache, i);
      x.dispose();
      x = next;
    }
    using last = x.select(1, -1);
    x.dispose();
    using logits = this.head.call(last);
    return logits.squeeze(0);
  }

  #embed(tokens: Tensor): Tensor {
    using positions = tn.arange(0, tokens.shape[1] ?? 0);
    using places = this.places.index(positions);
    using embedded = this.tokens.call(tokens);
    return embedded.add(places);
  }
}

/** Chooses among logits. Takes nothing over; the token is the caller's. */
type Sampler = (logits: Tensor) => Tensor;

const greedy: Sampler = (logits) => logits.argMax(-1, true);

function topSampler(k: number, temperature = 0.8, bias: Tensor = tn.zeros([VOCABULARY])) {
  const sample: Sampler = (logits) =>
    tn.scoped(() => {
      const { values, indices } = tn.topK(logits.add(bias).div(temperature), k);
      return indices.index(tn.multinomial(values.softmax(), 1));
    });
  return { sample, end: () => bias.dispose() };
}

interface Step {
  readonly token: Tensor;
  readonly logits: Tensor;
}

/** Tokens after a prompt, one after the other. What is yielded is the consumer's. */
function* generate(model: Model, prompt: Tensor, cache: Cache, choose: Sampler): Generator<Step> {
  let input = prompt.alias();
  try {
    for (;;) {
      const logits = tn.noGrad(() => model.call(input, cache));
      const token = choose(logits);
      input.dispose();
      input = token.reshape(1, 1);
      cache.trim(WINDOW - 1);
      yield { token, logits };
    }
  } finally {
    input.dispose();
  }
}

/** Lends its listeners the logits. */
class Chat {
  readonly #listeners = new Set<(token: number, logits: Tensor) => void>();
  readonly #cache = new Cache(2);
  readonly #model = new Model().eval();
  #newest?: Tensor;

  onToken(listener: (token: number, logits: Tensor) => void): () => boolean {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async say(prompt: readonly number[], length: number, choose = greedy): Promise<number[]> {
    using start = tn.tensor([[...prompt]], { dtype: "int32" });
    const said: number[] = [];
    for (const { token, logits } of generate(this.#model, start, this.#cache, choose)) {
      const value = await token.item();
      token.dispose();
      said.push(value);
      for (const listener of this.#listeners) listener(value, logits);
      this.#newest?.dispose();
      this.#newest = logits;
      if (said.length >= length) break;
    }
    return said;
  }

  /** How likely a continuation is, without remembering it. */
  async score(tokens: readonly number[]): Promise<number> {
    using fork = this.#cache.fork();
    using input = tn.tensor([[...tokens]], { dtype: "int32" });
    using logits = tn.noGrad(() => this.#model.call(input, fork));
    using before = this.#newest?.alias() ?? tn.ones([VOCABULARY]);
    using both = logits.mul(before);
    using likely = both.logSoftmax();
    using best = likely.max();
    return await best.item();
  }

  close(): void {
    this.#newest?.dispose();
    this.#cache[Symbol.dispose]();
    this.#model.dispose();
  }
}

/** The whole program. */
export async function run(): Promise<number> {
  tn.manualSeed(6);
  const chat = new Chat();
  const sampler = topSampler(3);
  const peaks: Tensor[] = [];
  const stop = chat.onToken((_, logits) => peaks.push(logits.max()));
  try {
    let total = await chat.score([1, 2]);
    total += (await chat.say([1, 2, 3], 4)).length;
    stop();
    total += (await chat.say([4], 3, sampler.sample)).length;
    for (const peak of peaks) total += await peak.item();
    return total + (await chat.score([5]));
  } finally {
    for (const peak of peaks) peak.dispose();
    sampler.end();
    chat.close();
  }
}
