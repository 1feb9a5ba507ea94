/**
 * An inference server: models by name, a cache of embeddings that evicts the oldest, and handlers
 * that wait.
 */
import { type Tensor, newDisposeScope, noGrad, scopedAsync, tensor } from "tenure";
import { Embedding, LayerNorm, Linear, Sequential, Tanh } from "tenure/nn";

type Request =
  | { readonly kind: "embed"; readonly id: string; readonly tokens: readonly number[] }
  | { readonly kind: "compare"; readonly a: string; readonly b: string }
  | { readonly kind: "score"; readonly id: string; readonly weights?: readonly number[] }
  | { readonly kind: "forget"; readonly id: string };

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

class EmbeddingCache {
  readonly #entries = new Map<string, Tensor>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Borrowed: the cache ends it. */
  get(id: string): Tensor | undefined {
    const found = this.#entries.get(id);
    if (found !== undefined) {
      this.#entries.delete(id);
      this.#entries.set(id, found);
    }
    return found;
  }

  /** Takes the tensor. */
  set(id: string, value: Tensor): void {
    this.#entries.get(id)?.dispose();
    this.#entries.delete(id);
    this.#entries.set(id, value);
    if (this.#entries.size > this.#limit) {
      const [oldest, evicted] = this.#entries.entries().next().value!;
      this.#entries.delete(oldest);
      evicted.dispose();
    }
  }

  remove(id: string): boolean {
    this.#entries.get(id)?.dispose();
    return this.#entries.delete(id);
  }

  close(): void {
    for (const [, value] of this.#entries) value.dispose();
    this.#entries.clear();
  }
}

class Server {
  readonly #embedder = new Embedding(50, 8);
  readonly #head = new Sequential(new LayerNorm(8), new Linear(8, 4), new Tanh());
  readonly #cache = new EmbeddingCache(2);
  #served = 0;

  #embed(tokens: readonly number[]): Tensor {
    using ids = tensor(Int32Array.from(tokens));
    using vectors = noGrad(() => this.#embedder.call(ids));
    return vectors.mean(0);
  }

  async #compare(a: Tensor, b: Tensor): Promise<number> {
    let read: Promise<number>;
    {
      using _scope = newDisposeScope("compare");
      read = a.mul(b).sum().div(a.norm().mul(b.norm()).add(1e-6)).item();
    }
    return read;
  }

  async #score(place: Tensor, weights?: readonly number[]): Promise<number[]> {
    return scopedAsync(async () => {
      const out = noGrad(() => this.#head.call(place.unsqueeze(0)));
      const weighted = weights === undefined ? out : out.mul(tensor([...weights]));
      return [...(await weighted.data())];
    });
  }

  async handle(request: Request): Promise<Reply> {
    this.#served++;
    switch (request.kind) {
      case "embed": {
        const place = this.#embed(request.tokens);
        this.#cache.set(request.id, place);
        return { status: 200, body: place.shape };
      }
      case "compare": {
        const a = this.#cache.get(request.a),
          b = this.#cache.get(request.b);
        if (a === undefined || b === undefined) return { status: 404, body: null };
        return { status: 200, body: await this.#compare(a, b) };
      }
      case "score": {
        const place = this.#cache.get(request.id);
        if (!place) return { status: 404, body: null };
        return { status: 200, body: await this.#score(place, request.weights) };
      }
      case "forget":
        return { status: this.#cache.remove(request.id) ? 200 : 404, body: null };
    }
  }

  async warm(): Promise<void> {
    using probe = this.#embed([0]);
    const scores = await this.#score(probe);
    if (scores.length !== 4) throw new Error("the head is broken");
  }

  close(): number {
    this.#cache.close();
    this.#embedder.dispose();
    this.#head.dispose();
    return this.#served;
  }
}

/** Serves some requests, several at once. */
export async function run(): Promise<number> {
  const server = new Server();
  await server.warm();
  for (const [i, id] of ["a", "b", "a", "c"].entries())
    await server.handle({ kind: "embed", id, tokens: [i, i + 1] });
  await Promise.all([
    server.handle({ kind: "compare", a: "a", b: "c" }),
    server.handle({ kind: "score", id: "c", weights: [1, 0, 0, 1] }),
    server.handle({ kind: "score", id: "b" }),
  ]);
  await server.handle({ kind: "forget", id: "a" });
  return server.close();
}
