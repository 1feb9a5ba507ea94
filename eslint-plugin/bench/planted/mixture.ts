/**
 * A clustering service: jobs wait in a queue, each is fitted as a mixture of round Gauss curves,
 * and the models stay in a cache that forgets what was not asked for.
 */
import {
  type Tensor,
  manualSeed,
  ones,
  randn,
  randperm,
  scoped,
  scopedAsync,
  topK,
  zeros,
} from "tenure";

interface FitOptions {
  readonly clusters?: number;
  readonly rounds?: number;
  /** Where to begin, [clusters, D]; stays the caller's. */
  readonly init?: Tensor;
  /** How much each point counts, [N]; stays the caller's. */
  readonly weights?: Tensor;
}

interface Job {
  readonly id: string;
  readonly points: Tensor;
  readonly options: FitOptions;
  readonly resolve: (model: Mixture) => void;
  readonly reject: (reason: unknown) => void;
}

interface Parameters {
  readonly means: Tensor;
  readonly shares: Tensor;
  readonly variance: Tensor;
}

/** Squared distances [N, K] of points [N, D] and centres [K, D]. */
function squaredDistances(points: Tensor, centres: Tensor): Tensor {
  return scoped(() => {
    const cross = points.matmul(centres.transpose()).mul(-2);
    return cross.add(points.square().sum(1, true)).add(centres.square().sum(1));
  });
}

/** `count` different points. */
function pick(points: Tensor, count: number): Tensor {
  using order = randperm(points.shape[0] ?? 0);
  using first = order.slice(0, 0, count);
  return points.index(first);
}

/** A mixture that was fitted. Owns its parameters. */
class Mixture implements Disposable {
  readonly #parameters: Parameters;
  #entropy: Tensor | undefined;

  constructor(parameters: Parameters) {
    this.#parameters = parameters;
  }

  static fit(points: Tensor, options: FitOptions = {}): Mixture {
    const { clusters = 3, rounds = 4, init, weights } = options;
    const count = points.shape[0] ?? 0;
    const counted = weights ?? ones([count]);
    let means = init?.clone() ?? pick(points, clusters);
    let shares = zeros([clusters]);
    let variance = ones([]);
    for (let round = 0; round < rounds; round++) {
      const next = Mixture.#round(points, counted, { means, shares, variance });
      means.dispose();
      shares.dispose();
      variance.dispose();
      ({ means, shares, variance } = next);
    }
    if (weights === undefined) counted.dispose();
    return new Mixture({ means, shares, variance });
  }

  static #round(points: Tensor, weights: Tensor, now: Parameters): Parameters {
    return scoped(() => {
      const distances = squaredDistances(points, now.means);
      const logits = distances.div(now.variance.add(1e-3)).mul(-0.5).add(now.shares);
      const belongs = logits.softmax(1).mul(weights.unsqueeze(1));
      const sizes = belongs.sum(0).add(1e-6);
      return {
        means: belongs.transpose().matmul(points).div(sizes.unsqueeze(1)),
        shares: sizes.div(sizes.sum()).log(),
        variance: belongs.mul(distances).mean(),
      };
    });
  }

  /** The nearest cluster of each point. */
  assign(points: Tensor): Tensor {
    using distances = squaredDistances(points, this.#parameters.means);
    return distances.argMin(1);
  }

  /** Kept once it was computed; stays the model's. */
  entropy(): Tensor {
    const { shares } = this.#parameters;
    return (this.#entropy ??= scoped(() => shares.exp().mul(shares).sum().neg()));
  }

  [Symbol.dispose](): void {
    const { means, shares, variance } = this.#parameters;
    for (const t of [means, shares, variance]) t.dispose();
    this.#entropy?.dispose();
  }
}

/** Models by name, the least used first. */
class ModelCache {
  readonly #models = new Map<string, Mixture>();
  readonly #limit: number = 2;

  get(id: string): Mixture | undefined {
    const model = this.#models.get(id);
    if (model === undefined) return undefined;
    this.#models.delete(id);
    this.#models.set(id, model);
    return model;
  }

  put(id: string, model: Mixture): void {
    this.#models.get(id)?.[Symbol.dispose]();
    this.#models.set(id, model);
    for (const [oldest, old] of this.#models) {
      if (this.#models.size <= this.#limit) break;
      old[Symbol.dispose]();
      this.#models.delete(oldest);
    }
  }

  clear(): void {
    for (const model of this.#models.values()) model[Symbol.dispose]();
    this.#models.clear();
  }
}

/** Fits one job after the other. */
class ClusterService implements AsyncDisposable {
  readonly #cache = new ModelCache();
  readonly #queue: Job[] = [];
  #working: Promise<void> | null = null;

  /** The model of a name, fitted if need be; it stays the service's. `points` are taken over. */
  request(id: string, points: Tensor, options: FitOptions = {}): Promise<Mixture> {
    const known = this.#cache.get(id);
    if (known !== undefined) {
      points.dispose();
      return Promise.resolve(known);
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ id, points, options, resolve, reject });
      this.#working ??= this.#work();
    });
  }

  async #work(): Promise<void> {
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      await Promise.resolve();
      const { id, points, options } = job;
      try {
        if (points.rank !== 2) throw new RangeError(`job ${id}: expected rows of points`);
        const model = Mixture.fit(points, options);
        this.#cache.put(id, model);
        job.resolve(model);
      } catch (error) {
        job.reject(error);
      } finally {
        points.dispose();
      }
    }
    this.#working = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#working;
    this.#cache.clear();
  }
}

/** Mean distance of the `k` points that lie farthest out. */
async function outliers(points: Tensor, centre: Tensor | null = null, k = 2): Promise<number> {
  const origin = centre ?? points.mean(0);
  try {
    return await scopedAsync(async () => {
      const apart = points.sub(origin).norm(2, 1);
      const { values } = topK(apart, k);
      return await values.mean().item();
    });
  } finally {
    if (centre === null) origin.dispose();
  }
}

/** The whole program. */
export async function run(): Promise<number> {
  manualSeed(8);
  await using service = new ClusterService();
  using init = randn([3, 2]);
  using shared = randn([10, 2]);
  const models = await Promise.allSettled([
    service.request("a", shared.clone(), { init }),
    service.request("b", shared.add(1), { clusters: 2 }),
    service.request("flat", shared.reshape(20)),
  ]);
  let total = models.filter(({ status }) => status === "fulfilled").length;
  const model = await service.request("a", randn([4, 2]));
  using labels = model.assign(shared);
  total += labels.size + (await model.entropy().item());
  await service.request("c", randn([6, 2]), { clusters: 2, rounds: 2 });
  total += await outliers(shared);
  using middle = zeros([2]);
  return total + (await outliers(shared, middle, 3));
}
