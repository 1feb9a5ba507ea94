/**
 * A front page that learns what its readers click on, while they read: a Bayesian linear bandit per
 * reader on top of article vectors that all of them share and that clicks keep training.
 */
import { eye, init, manualSeed, newDisposeScope, noGrad, randn } from "tenure";
import { stack, tensor, zeros, type HostArray, type Tensor } from "tenure";
import { Linear, ReLU, Sequential, Tanh, functional } from "tenure/nn";
import { Adagrad, clipGradNorm } from "tenure/optim";

const defaults = { width: 4, exploration: 0.4, forgetting: 0.98, capacity: 3, batch: 10 };
type Settings = Readonly<typeof defaults>;

type SavedReader = readonly [precision: HostArray, response: HostArray, visits: number];

/** Ridge regression of clicks on article vectors, in which old clicks fade. */
class Reader implements Disposable {
  readonly id: string;
  visits: number;
  #precision: Tensor;
  #response: Tensor;

  constructor(id: string, width: number, saved?: SavedReader) {
    this.id = id;
    this.visits = saved?.[2] ?? 0;
    this.#precision = saved ? tensor(saved[0], { shape: [width, width] }) : eye(width);
    this.#response = saved ? tensor(saved[1], { shape: [width, 1] }) : zeros([width, 1]);
  }

  /** Solves precision · w = response in a few steps of Richardson's iteration. */
  taste(steps = 4): Tensor {
    using scope = newDisposeScope("taste");
    let w = this.#response.mul(0.5);
    for (let i = 0; i < steps; i++) {
      const residual = this.#response.sub(this.#precision.matmul(w));
      w = w.add(residual.mul(0.5));
    }
    return scope.moveToOuter(w);
  }

  /** Thompson sampling: one draw of tastes, applied to all candidates. */
  score(candidates: Tensor, exploration: number): Tensor {
    using mean = this.taste();
    using noise = randn(mean.shape);
    using spread = noise.mul(exploration / Math.sqrt(1 + this.visits));
    using drawn = mean.add(spread);
    using column = candidates.matmul(drawn);
    return column.squeeze(1);
  }

  observe(vector: Tensor, reward: number, forgetting: number): void {
    using scope = newDisposeScope("observe");
    const x = vector.reshape(-1, 1);
    const precision = this.#precision.mul(forgetting).add(x.matmul(x.transpose()));
    const response = this.#response.mul(forgetting).add(x.mul(reward));
    this[Symbol.dispose]();
    this.#precision = scope.detach(precision);
    this.#response = scope.detach(response);
    this.visits++;
  }

  async save(): Promise<SavedReader> {
    const reads = [this.#precision.data(), this.#response.data()] as const;
    const [precision, response] = await Promise.all(reads);
    return [precision, response, this.visits];
  }

  [Symbol.dispose](): void {
    this.#precision.dispose();
    this.#response.dispose();
  }
}

/** The readers seen last, as a cache in front of what is saved on the host. */
class ReaderPool implements Disposable {
  readonly #width: number;
  readonly #capacity: number;
  readonly #active = new Map<string, Reader>();
  readonly #saved = new Map<string, SavedReader>();

  constructor({ width, capacity }: Settings) {
    this.#width = width;
    this.#capacity = capacity;
  }

  async get(id: string): Promise<Reader> {
    const reader = this.#active.get(id) ?? new Reader(id, this.#width, this.#saved.get(id));
    this.#active.delete(id);
    this.#active.set(id, reader); // now the last in order
    if (this.#active.size > this.#capacity) await this.#retire();
    return reader;
  }

  async #retire(): Promise<void> {
    const [oldest] = this.#active.values();
    if (oldest === undefined) return;
    this.#active.delete(oldest.id);
    const saved = oldest.save(); // has what it needs
    oldest[Symbol.dispose]();
    this.#saved.set(oldest.id, await saved);
  }

  /** What the law asks for. */
  forget(id: string): void {
    this.#active.get(id)?.[Symbol.dispose]();
    this.#active.delete(id);
    this.#saved.delete(id);
  }

  [Symbol.dispose](): void {
    for (const reader of this.#active.values()) reader[Symbol.dispose]();
    this.#active.clear();
  }
}

interface Impression {
  readonly topics: readonly number[];
  readonly taste: Tensor;
  readonly clicked: boolean;
}

class Concierge implements Disposable {
  readonly #settings: Settings;
  readonly #articles = new Map<string, readonly number[]>();
  readonly #vectors = new Map<string, Tensor>();
  readonly readers: ReaderPool;
  readonly #tower: Sequential;
  readonly #optimizer: Adagrad;
  readonly listeners = new Set<(loss: number) => void>();
  #impressions: Impression[] = [];

  constructor(topics: number, settings: Partial<Settings> = {}) {
    this.#settings = { ...defaults, ...settings };
    this.readers = new ReaderPool(this.#settings);
    const hidden = [new Linear(topics, 16), new ReLU()];
    this.#tower = new Sequential(...hidden, new Linear(16, this.#settings.width), new Tanh());
    this.#optimizer = new Adagrad(this.#tower.parameters(), { lr: 0.05 });
  }

  publish(id: string, topics: readonly number[]): void {
    this.withdraw(id);
    this.#articles.set(id, topics);
  }

  withdraw(id: string): void {
    this.#vectors.get(id)?.dispose();
    this.#vectors.delete(id);
    this.#articles.delete(id);
  }

  async recommend(id: string, slots: number): Promise<string[]> {
    const reader = await this.readers.get(id);
    const ids = [...this.#articles.keys()];
    using candidates = stack(ids.map((article) => this.#vectorOf(article)));
    using scores = reader.score(candidates, this.#settings.exploration);
    const { values, indices } = scores.topK(Math.min(slots, ids.length));
    values.dispose();
    using order = indices;
    return [...(await order.data())].map((i) => ids[i] ?? "");
  }

  async feedback(id: string, shown: readonly string[], clicked: string): Promise<void> {
    const reader = await this.readers.get(id);
    for (const article of shown) {
      const topics = this.#articles.get(article);
      if (topics === undefined) continue; // withdrawn since
      const isClick = article === clicked;
      this.#impressions.push({ topics, taste: reader.taste(), clicked: isClick });
      reader.observe(this.#vectorOf(article), Number(isClick), this.#settings.forgetting);
    }
    while (this.#impressions.length >= this.#settings.batch) {
      const loss = await this.#train();
      for (const listener of this.listeners) listener(loss);
    }
  }

  /** The tower's weights, for the nightly job. */
  async weights(): Promise<Map<string, HostArray>> {
    using state = this.#tower.stateDict();
    const reads = [...state].map(async ([name, t]) => [name, await t.data()] as const);
    return new Map(await Promise.all(reads));
  }

  #vectorOf(id: string): Tensor {
    const known = this.#vectors.get(id);
    if (known !== undefined) return known;
    using topics = tensor([this.#articles.get(id) ?? []]);
    using row = noGrad(() => this.#tower.call(topics));
    const vector = row.squeeze(0);
    this.#vectors.set(id, vector);
    return vector;
  }

  #train(): Promise<number> {
    using scope = newDisposeScope("train");
    const batch = this.#impressions.splice(0, this.#settings.batch);
    const tastes = stack(batch.map(({ taste }) => scope.attach(taste))).squeeze(2);
    const topics = tensor(batch.map((impression) => impression.topics));
    const clicks = tensor(batch.map(({ clicked }) => Number(clicked)));
    const logits = this.#tower.call(topics).mul(tastes).sum(1);
    const loss = functional.bceWithLogits(logits, clicks);
    this.#optimizer.zeroGrad();
    loss.backward();
    clipGradNorm(this.#tower.parameters(), 1);
    this.#optimizer.step();
    for (const vector of this.#vectors.values()) vector.dispose();
    this.#vectors.clear();
    return loss.item();
  }

  [Symbol.dispose](): void {
    for (const vector of this.#vectors.values()) vector.dispose();
    for (const { taste } of this.#impressions) taste.dispose();
    this.readers[Symbol.dispose]();
    this.#optimizer.dispose();
    this.#tower.dispose();
  }
}

/** What happens on the page: visits, and now and then the newsroom or a reader who leaves. */
async function* traffic(days: number): AsyncGenerator<{ reader: string; hour: number }> {
  for (let hour = 0; hour < 24 * days; hour += 3) {
    await new Promise((resolve) => setTimeout(resolve));
    yield { reader: `reader-${String((hour * 7) % 5)}`, hour };
  }
}

await init();
manualSeed(11);
const losses: number[] = [];
using concierge = new Concierge(6, { exploration: 0.3 });
concierge.listeners.add((loss) => losses.push(loss));
for (let i = 0; i < 8; i++) concierge.publish(`story-${String(i)}`, [1, i, i % 2, i % 3, 0, 1]);
for await (const { reader, hour } of traffic(2)) {
  const page = await concierge.recommend(reader, 4);
  await concierge.feedback(reader, page, page[hour % 4] ?? "");
  if (hour % 12 === 0) concierge.publish(`story-${String(hour % 8)}`, [0, hour, 1, 0, 1, 1]);
  if (hour === 30) concierge.readers.forget(reader);
}
export const report = { losses, weights: await concierge.weights() };
export const run = (): Promise<typeof report> => Promise.resolve(report);
