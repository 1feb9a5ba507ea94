/**
 * A recommender by matrix factorisation in plain JavaScript: users and items get a vector each,
 * and the product of two says how much a user will like an item. No `using`: it runs as it is on
 * Node 20.
 */
import {
  embedding,
  manualSeed,
  newDisposeScope,
  noGrad,
  randn,
  scoped,
  tensor,
  topK,
  zeros,
} from "tenure";
import { functional as F } from "tenure/nn";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {[user: number, item: number, stars: number]} Rating */
/** @typedef {{ users: Tensor, items: Tensor, stars: Tensor }} Batch */
/** @typedef {{ rank?: number, lr?: number, decay?: number, mean?: Tensor }} Options */

/** @type {readonly Rating[]} */
const RATINGS = [
  [0, 0, 5],
  [1, 1, 4],
  [1, 3, 2],
  [2, 0, 4],
  [2, 4, 5],
  [3, 2, 3],
];

/** @type {Map<number, Tensor>} Items like an item, best first. */
const neighbours = new Map();

class Factors {
  /**
   * @param {number} users
   * @param {number} items
   * @param {Options} [options] `mean` stays the caller's
   */
  constructor(users, items, { rank = 3, lr = 0.1, decay = 0.01, mean } = {}) {
    this.lr = lr;
    this.decay = decay;
    this.users = randn([users, rank], { requiresGrad: true });
    this.items = randn([items, rank], { requiresGrad: true });
    this.bias = zeros([items], { requiresGrad: true });
    this.mean = mean === undefined ? tensor(3) : mean.alias();
    /** @type {Tensor | null} Of all users and items, while nothing is learned. */
    this.scores = null;
    /** @type {{ users: Tensor, items: Tensor, bias: Tensor } | null} */
    this.saved = null;
  }

  /**
   * @param {Pick<Batch, "users" | "items">} pairs
   * @returns {Tensor} stars, which are the caller's
   */
  predict({ users, items }) {
    return scoped(() => {
      const liked = embedding(users, this.users).mul(embedding(items, this.items)).sum(1);
      return liked.add(this.bias.index(items)).add(this.mean);
    });
  }

  /**
   * @param {Batch} batch
   * @returns {Promise<number>}
   */
  step(batch) {
    const scope = newDisposeScope("step");
    /** @type {Promise<number>} */
    let read;
    try {
      const loss = F.mseLoss(this.predict(batch), batch.stars);
      loss.backward();
      read = loss.item();
    } finally {
      scope.dispose();
    }
    for (const p of [this.users, this.items, this.bias]) this.descend(p);
    this.scores?.dispose();
    this.scores = null;
    return read;
  }

  /** @param {Tensor} p */
  descend(p) {
    const slope = p.grad;
    if (slope === null) return;
    noGrad(() => {
      const pull = p.mul(this.decay);
      const move = slope.add(pull);
      const scaled = move.mul(this.lr);
      p.sub_(scaled).dispose();
      scaled.dispose();
      pull.dispose();
      move.dispose();
    });
    slope.dispose();
    p.grad = null;
  }

  all() {
    this.scores ??= noGrad(() => scoped(() => this.users.matmul(this.items.transpose())));
    return this.scores;
  }

  /**
   * @param {number} user
   * @param {Iterable<number>} [known] items not to name
   */
  async recommend(user, known = [], k = 2) {
    const row = this.all().select(0, user);
    let open = row.alias();
    for (const item of known) {
      const mask = tensor(Array.from({ length: open.size }, (_, i) => (i === item ? 1e3 : 0)));
      const hidden = open.sub(mask);
      mask.dispose();
      open.dispose();
      open = hidden;
    }
    row.dispose();
    try {
      const { values, indices } = topK(open, k);
      values.dispose();
      const found = await indices.data();
      indices.dispose();
      return [...found].map(Number);
    } finally {
      open.dispose();
    }
  }

  save() {
    this.forget();
    this.saved = noGrad(() => ({
      users: this.users.clone(),
      items: this.items.clone(),
      bias: this.bias.clone(),
    }));
  }

  forget() {
    if (this.saved === null) return;
    this.saved.users.dispose();
    this.saved.items.dispose();
    this.saved.bias.dispose();
    this.saved = null;
  }

  dispose() {
    this.forget();
    this.scores?.dispose();
    for (const t of [this.users, this.items, this.bias, this.mean]) t.dispose();
  }
}

/**
 * @param {Factors} model
 * @param {number} item
 * @param {number} [most] how many items to remember
 */
function similar(model, item, most = 2) {
  const known = neighbours.get(item);
  if (known !== undefined) return known;
  const found = noGrad(() =>
    scoped(() => model.items.matmul(model.items.select(0, item)).argSort(0, true)),
  );
  neighbours.set(item, found);
  for (const [oldest, indices] of neighbours) {
    if (neighbours.size <= most) break;
    indices.dispose();
    neighbours.delete(oldest);
  }
  return found;
}

/**
 * @param {readonly Rating[]} ratings
 * @param {number} size
 * @returns {Generator<Batch, void>} batches, which are the consumer's
 */
function* batches(ratings, size) {
  for (let at = 0; at < ratings.length; at += size) {
    const part = ratings.slice(at, at + size);
    const [users, items] = [0, 1].map((i) =>
      tensor(
        part.map((r) => r[i] ?? 0),
        { dtype: "int32" },
      ),
    );
    if (users && items) yield { users, items, stars: tensor(part.map((r) => r[2])) };
  }
}

/** Learns for some epochs, and recommends. */
export async function run(epochs = 2) {
  manualSeed(17);
  const mean = tensor(3.5);
  const model = new Factors(4, 5, { mean });
  mean.dispose();
  let total = 0;
  try {
    for (let epoch = 0; epoch < epochs; epoch++) {
      for (const batch of batches(RATINGS, 3)) {
        total += await model.step(batch);
        for (const t of Object.values(batch)) t.dispose();
      }
      total += (await model.recommend(1, [1, 3])).length;
      model.save();
    }
    for (const item of [0, 1, 2, 1]) total += similar(model, item).size;
  } finally {
    model.dispose();
    for (const indices of neighbours.values()) indices.dispose();
    neighbours.clear();
  }
  return total;
}
