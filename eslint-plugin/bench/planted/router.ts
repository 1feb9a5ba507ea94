/**
 * Routes requests between variants of a model: most go to the stable one, some to a candidate, a
 * shadow answers without being heard. Requests wait in an async queue, answers stay in a cache.
 */
import { type Tensor, manualSeed, noGrad, rand, scoped, stack, zeros } from "tenure";
import { Linear, type Module, ReLU, Sequential } from "tenure/nn";

const [IN, OUT] = [6, 3] as const;

/** What somebody asks. The features go to whoever takes the request off the queue. */
interface Request {
  readonly user: string;
  readonly features: Tensor;
  readonly resolve: (label: number) => void;
  readonly reject: (reason: unknown) => void;
}

/** Requests that wait; what is left at the end is refused. */
class Queue implements AsyncIterable<Request>, Disposable {
  readonly #waiting: Request[] = [];
  #wake: (() => void) | undefined;
  #isClosed = false;

  /** Copies the features, which stay the caller's. */
  ask(user: string, features: Tensor): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new Error("closed"));
      this.#waiting.push({ user, features: features.clone(), resolve, reject });
      this.#wake?.();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Request> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#isClosed) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#wake?.();
    for (const { features, reject } of this.#waiting.splice(0)) {
      features.dispose();
      reject(new Error("closed"));
    }
  }
}

/** Tensors by key; those not asked for longest go first. */
class Cache implements Disposable {
  readonly #kept = new Map<string, Tensor>();
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Stays the cache's. */
  get(key: string): Tensor | undefined {
    const value = this.#kept.get(key);
    this.#kept.delete(key);
    if (value !== undefined) this.#kept.set(key, value);
    return value;
  }

  /** Takes the value over. */
  put(key: string, value: Tensor): void {
    this.#kept.get(key)?.dispose();
    this.#kept.set(key, value);
    for (const [oldest, stale] of this.#kept) {
      if (this.#kept.size <= this.#capacity) return;
      stale.dispose();
      this.#kept.delete(oldest);
    }
  }

  [Symbol.dispose](): void {
    for (const value of this.#kept.values()) value.dispose();
    this.#kept.clear();
  }
}

class Variant implements Disposable {
  readonly model: Module;
  readonly #scores: Tensor[] = [];

  constructor(hidden: number) {
    this.model = new Sequential(new Linear(IN, hidden), new ReLU(), new Linear(hidden, OUT));
  }

  /** Logits [OUT], which are the caller's. */
  answer(features: Tensor): Tensor {
    return noGrad(() => this.model.call(features));
  }

  score(logits: Tensor, window = 3): void {
    this.#scores.push(scoped(() => logits.softmax().max()));
    if (this.#scores.length > window) this.#scores.shift()?.dispose();
  }

  async confidence(): Promise<number> {
    if (this.#scores.length === 0) return 0;
    using all = stack(this.#scores);
    using mean = all.mean();
    return await mean.item();
  }

  [Symbol.dispose](): void {
    for (const score of this.#scores.splice(0)) score.dispose();
    this.model.dispose();
  }
}

class Router implements Disposable {
  #variants: Variant[];
  readonly #shadow: Variant | undefined;
  readonly #cache: Cache;
  /** How far the shadow is from what is answered; a running mean. */
  #gap: Tensor = zeros([]);
  #turn = 0;

  /** Takes the variants over. */
  constructor(variants: readonly Variant[], capacity: number, shadow?: Variant) {
    this.#variants = [...variants];
    this.#cache = new Cache(capacity);
    this.#shadow = shadow;
  }

  async serve(queue: Queue, most: number): Promise<void> {
    for await (const { user, features, resolve, reject } of queue) {
      try {
        resolve(await this.#label(user, features));
      } catch (error) {
        reject(error);
      } finally {
        features.dispose();
      }
      if (--most === 0) break;
    }
  }

  async #label(user: string, features: Tensor): Promise<number> {
    let logits = this.#cache.get(user);
    if (logits === undefined) {
      const variant = this.#variants[this.#turn++ % this.#variants.length]!;
      logits = variant.answer(features);
      variant.score(logits);
      this.#compare(logits, features);
      this.#cache.put(user, logits);
    }
    using label = logits.argMax();
    return await label.item();
  }

  #compare(logits: Tensor, features: Tensor): void {
    if (this.#shadow === undefined) return;
    using other = this.#shadow.answer(features);
    const gap = scoped(() => this.#gap.lerp(other.sub(logits).abs().mean(), 0.1));
    this.#gap.dispose();
    this.#gap = gap;
  }

  /** Lets go of all variants that are less sure than some. */
  async retire(least: number): Promise<void> {
    for (const variant of this.#variants.slice(1)) {
      if ((await variant.confidence()) > least) continue;
      this.#variants = this.#variants.filter((each) => each !== variant);
      variant[Symbol.dispose]();
    }
  }

  [Symbol.dispose](): void {
    for (const variant of this.#variants) variant[Symbol.dispose]();
    this.#shadow?.[Symbol.dispose]();
    this.#cache[Symbol.dispose]();
    this.#gap.dispose();
  }
}

class RouterBuilder {
  readonly #variants: Variant[] = [];
  #shadow: Variant | undefined;

  variant(hidden: number): this {
    this.#variants.push(new Variant(hidden));
    return this;
  }

  /** Has a variant answer everything unheard, instead of the one given before. */
  shadowedBy(hidden: number): this {
    this.#shadow?.[Symbol.dispose]();
    this.#shadow = new Variant(hidden);
    return this;
  }

  build(capacity = 3): Router {
    return new Router(this.#variants.splice(0), capacity, this.#shadow);
  }
}

/** Answers some requests, and leaves no tensor. */
export async function run(requests = 24): Promise<number> {
  manualSeed(3);
  using queue = new Queue();
  using router = new RouterBuilder().variant(8).variant(4).shadowedBy(8).shadowedBy(16).build();
  const serving = router.serve(queue, requests);
  let sum = 0;
  for (let i = 0; i < requests; i++) {
    using features = rand([IN]);
    sum += 1 + (await queue.ask(`user ${String(Math.floor(i / 3) % 5)}`, features));
  }
  await serving;
  using late = rand([IN]);
  void queue.ask("nobody", late).catch(() => sum++);
  await router.retire(0.5);
  return sum;
}
