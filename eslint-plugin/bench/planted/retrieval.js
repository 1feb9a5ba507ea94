/**
 * An index of nearest neighbours in plain JavaScript: vectors are buffered, sealed into shards,
 * removed by name, and shards with too many holes are built again. No `using`: it runs as it is on
 * Node 20.
 */
import { concat, manualSeed, newDisposeScope, noGrad, randn, scoped, stack, tensor } from "tenure";
import { Linear, Sequential, Tanh } from "tenure/nn";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ ids: string[], rows: Tensor, norms: Tensor, holes: Set<string> }} Shard */
/** @typedef {{ id: string, score: number }} Hit */
/** @typedef {{ sealAt?: number, whiten?: Tensor }} Options */

const WIDTH = 6;

/** @param {Shard} shard */
function endShard({ rows, norms }) {
  rows.dispose();
  norms.dispose();
}

/**
 * @param {string[]} ids
 * @param {Tensor} rows which the shard takes
 * @returns {Shard}
 */
function makeShard(ids, rows) {
  const norms = scoped(() => rows.square().sum(1).add(1e-6).sqrt());
  return { ids, rows, norms, holes: new Set() };
}

class Index {
  /** @param {Options} [options] `whiten` stays the caller's */
  constructor({ sealAt = 3, whiten } = {}) {
    this.sealAt = sealAt;
    this.whiten = whiten === undefined ? tensor(1) : whiten.alias();
    /** @type {Shard[]} */
    this.shards = [];
    /** @type {Map<string, Tensor>} Vectors not in a shard yet. */
    this.buffer = new Map();
    /** @type {Tensor | null} The mean of all vectors, while nothing changes. */
    this.centre = null;
  }

  /**
   * @param {string} id
   * @param {Tensor} vector borrowed
   */
  add(id, vector) {
    this.remove(id);
    this.buffer.set(id, vector.mul(this.whiten));
    this.forgetCentre();
    if (this.buffer.size >= this.sealAt) this.seal();
  }

  /** @param {string} id */
  remove(id) {
    this.buffer.get(id)?.dispose();
    this.buffer.delete(id);
    for (const shard of this.shards) if (shard.ids.includes(id)) shard.holes.add(id);
    this.forgetCentre();
  }

  seal() {
    if (this.buffer.size === 0) return;
    const vectors = [...this.buffer.values()];
    this.shards.push(makeShard([...this.buffer.keys()], stack(vectors)));
    for (const vector of vectors) vector.dispose();
    this.buffer.clear();
  }

  /** Builds shards with holes again, without them; what is empty goes. */
  rebuild() {
    const next = [];
    for (const shard of this.shards) {
      if (shard.holes.size === 0) {
        next.push(shard);
        continue;
      }
      const kept = [...shard.ids.keys()].filter((i) => !shard.holes.has(shard.ids[i] ?? ""));
      if (kept.length > 0) {
        const at = tensor(kept, { dtype: "int32" });
        const ids = kept.map((i) => shard.ids[i] ?? "");
        next.push(makeShard(ids, shard.rows.index(at)));
        at.dispose();
      }
      endShard(shard);
    }
    this.shards = next;
  }

  /** Makes one shard of the last two. */
  merge() {
    const b = this.shards.pop();
    const a = this.shards.pop();
    if (a === undefined || b === undefined) {
      if (b !== undefined) this.shards.push(b);
      return;
    }
    const merged = makeShard([...a.ids, ...b.ids], concat([a.rows, b.rows]));
    for (const id of [...a.holes, ...b.holes]) merged.holes.add(id);
    this.shards.push(merged);
    endShard(a);
    endShard(b);
  }

  forgetCentre() {
    this.centre?.dispose();
    this.centre = null;
  }

  /** Borrowed. @returns {Tensor} */
  middle() {
    this.centre ??= scoped(() => {
      const means = this.shards.map(({ rows }) => rows.mean(0));
      return stack(means).mean(0);
    });
    return this.centre;
  }

  /**
   * @param {Tensor} query
   * @param {number} [k]
   * @returns {Promise<Hit[]>} best first
   */
  async search(query, k = 2) {
    const centred = query.sub(this.middle());
    /** @type {Hit[]} */
    const hits = [];
    try {
      for (const shard of this.shards) {
        const { values, indices } = this.scores(shard, centred, Math.min(k, shard.ids.length));
        try {
          const [scores, places] = await Promise.all([values.data(), indices.data()]);
          for (const [i, place] of places.entries()) {
            const id = shard.ids[Number(place)] ?? "";
            if (!shard.holes.has(id)) hits.push({ id, score: Number(scores[i]) });
          }
        } finally {
          values.dispose();
          indices.dispose();
        }
      }
    } finally {
      centred.dispose();
    }
    return hits.sort((x, y) => y.score - x.score).slice(0, k);
  }

  /**
   * @param {Shard} shard
   * @param {Tensor} query
   * @param {number} k
   */
  scores({ rows, norms }, query, k) {
    const scope = newDisposeScope("scores");
    try {
      const found = rows.matmul(query.unsqueeze(1)).squeeze(1).div(norms).topK(k);
      scope.moveToOuter(found.values, found.indices);
      return found;
    } finally {
      scope.dispose();
    }
  }

  dispose() {
    for (const shard of this.shards) endShard(shard);
    this.shards = [];
    for (const vector of this.buffer.values()) vector.dispose();
    this.buffer.clear();
    this.forgetCentre();
    this.whiten.dispose();
  }
}

/** Texts to vectors. */
function createEmbedder() {
  const net = new Sequential(new Linear(4, 8), new Tanh(), new Linear(8, WIDTH));
  return {
    /** @param {string} text */
    embed(text) {
      const codes = [0, 1, 2, 3].map((i) => (text.charCodeAt(i) || 32) / 128);
      return noGrad(() => scoped(() => net.call(tensor([codes])).squeeze(0)));
    },
    dispose: () => net.dispose(),
  };
}

/** Fills an index, changes it, and asks. */
export async function run() {
  manualSeed(2);
  const embedder = createEmbedder();
  const whiten = randn([WIDTH]);
  const index = new Index({ whiten });
  whiten.dispose();
  const answers = [];
  try {
    for (const word of ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "bee", "ibis"]) {
      const vector = embedder.embed(word);
      index.add(word, vector);
      vector.dispose();
    }
    index.remove("ant");
    index.remove("ibis");
    for (const word of ["wolf", "crow"]) {
      const query = embedder.embed(word);
      answers.push(...(await index.search(query)));
      index.rebuild();
      index.merge();
      index.add(word, query);
      query.dispose();
    }
  } finally {
    index.dispose();
    embedder.dispose();
  }
  return answers.length;
}
