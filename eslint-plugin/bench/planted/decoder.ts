/**
 * Decodes text one token at a time, with a cache of keys and values for attention, an LSTM beside
 * it, and a beam of the best continuations.
 */
import { type Tensor, concat, newDisposeScope, noGrad, scoped, tensor, topK, zeros } from "tenure";
import { Embedding, LSTM, type LSTMState, Linear, functional as F } from "tenure/nn";

const WIDTH = 8,
  VOCABULARY = 12;

/** Keys and values of the steps so far: [1, 1, T, WIDTH] each. */
class KeyValueCache {
  #keys: Tensor | null = null;
  #values: Tensor | null = null;

  /** Appends a step, and lends all. */
  append(key: Tensor, value: Tensor): { keys: Tensor; values: Tensor } {
    if (this.#keys === null || this.#values === null) {
      this.#keys = key.clone();
      this.#values = value.clone();
    } else {
      const keys = concat([this.#keys, key], 2);
      this.#keys.dispose();
      this.#keys = keys;
      const values = concat([this.#values, value], 2);
      this.#values.dispose();
      this.#values = values;
    }
    return { keys: this.#keys, values: this.#values };
  }

  /** Forgets all but the last `length` steps. */
  trim(length: number): void {
    if (this.#keys === null || this.#values === null) return;
    const from = Math.max(0, this.#keys.shape[2]! - length);
    const keys = scoped(() => this.#keys!.slice(2, from).contiguous());
    const values = scoped(() => this.#values!.slice(2, from).contiguous());
    this.reset();
    this.#keys = keys;
    this.#values = values;
  }

  reset(): void {
    this.#keys?.dispose();
    this.#values?.dispose();
    this.#keys = this.#values = null;
  }
}

class AttentionDecoder implements Disposable {
  readonly embedding = new Embedding(VOCABULARY, WIDTH);
  readonly project = new Linear(WIDTH, 3 * WIDTH);
  readonly head = new Linear(WIDTH, VOCABULARY);
  readonly cache = new KeyValueCache();

  /** Logits after one more token; the caller's. */
  step(token: number): Tensor {
    using scope = newDisposeScope("decode");
    const x = this.embedding.call(tensor(Int32Array.of(token)));
    const [q, k, v] = this.project
      .call(x)
      .reshape(1, 1, 1, 3 * WIDTH)
      .chunk(3, 3);
    const { keys, values } = this.#extend(k!, v!);
    const mixed = F.scaledDotProductAttention(q!, keys, values);
    return scope.moveToOuter(this.head.call(mixed.reshape(1, WIDTH)).squeeze(0));
  }

  #extend(key: Tensor, value: Tensor): { keys: Tensor; values: Tensor } {
    const extended = this.cache.append(key, value);
    extended.keys.detachFromScope();
    extended.values.detachFromScope();
    return extended;
  }

  async generate(start: number, length: number): Promise<number[]> {
    const out = [start];
    try {
      while (out.length < length) {
        using logits = noGrad(() => this.step(out.at(-1)!));
        using best = logits.argMax();
        out.push(await best.item());
        if (out.length % 3 === 0) this.cache.trim(2);
      }
    } finally {
      this.cache.reset();
    }
    return out;
  }

  [Symbol.dispose](): void {
    this.cache.reset();
    this.embedding.dispose();
    this.project.dispose();
    this.head.dispose();
  }
}

/** Carries the state of an LSTM from word to word. */
async function recur(lstm: LSTM, head: Linear, words: readonly number[]): Promise<number[]> {
  let state: LSTMState = { hidden: zeros([1, 1, WIDTH]), cell: zeros([1, 1, WIDTH]) };
  const picks: number[] = [];
  for (const word of words) {
    using x = zeros([1, 1, WIDTH]);
    using shifted = x.add(word);
    const { output, hidden, cell } = lstm.call(shifted, state);
    state.hidden.dispose();
    state.cell.dispose();
    state = { hidden, cell };
    using scores = scoped(() => head.call(output.reshape(1, WIDTH)));
    output.dispose();
    const { values, indices } = topK(scores, 2);
    values.dispose();
    picks.push(...(await indices.data()));
    indices.dispose();
  }
  state.hidden.dispose();
  state.cell.dispose();
  return picks;
}

/** Decodes with both. */
export async function run(): Promise<number> {
  using decoder = new AttentionDecoder();
  const text = await decoder.generate(1, 6);
  using lstm = new LSTM(WIDTH, WIDTH);
  const picks = await recur(lstm, decoder.head, text.slice(0, 3));
  return text.length + picks.length;
}
