/**
 * Plain JavaScript with types in comments: metrics of a classifier over batches, collected on the
 * device and read once an epoch.
 */
import { manualSeed, newDisposeScope, oneHot, randint, randn, scoped, stack, zeros } from "tenure";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ logits: Tensor, labels: Tensor }} Outcome */
/** @typedef {{ name: string, value: number }} Reading */

const CLASSES = 3;

/** Ends what it is given, also lists; nothing is fine. */
const endAll = (/** @type {(Tensor | null | undefined)[]} */ ...given) => {
  for (const t of given) t?.dispose();
};

/** A number that adds up over batches. */
class Mean {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    this.sum = zeros([]);
    this.count = 0;
  }

  /** Takes over `value`. @param {Tensor} value */
  add(value) {
    const sum = this.sum.add(value);
    this.sum.dispose();
    this.sum = sum;
    value.dispose();
    this.count++;
  }

  async read() {
    const mean = this.sum.div(Math.max(1, this.count));
    try {
      return { name: this.name, value: await mean.item() };
    } finally {
      mean.dispose();
    }
  }

  reset() {
    this.sum.dispose();
    this.sum = zeros([]);
    this.count = 0;
  }

  dispose() {
    this.sum.dispose();
  }
}

/** Counts of what was said and what was right. */
class Confusion {
  counts = zeros([CLASSES, CLASSES]);
  /** @type {Tensor | null} */
  normalized = null;

  /** @param {Outcome} outcome */
  update({ logits, labels }) {
    const said = logits.argMax(1);
    const rows = oneHot(labels, CLASSES),
      columns = oneHot(said, CLASSES);
    const more = scoped(() => this.counts.add(rows.transpose().matmul(columns)));
    endAll(said, rows, columns, this.counts);
    this.counts = more;
    this.normalized?.dispose();
    this.normalized = null;
  }

  /** Shares of each row: kept until the next update. */
  shares() {
    this.normalized ??= scoped(() => this.counts.div(this.counts.sum(1, true).add(1e-6)));
    return this.normalized;
  }

  async recall() {
    const shares = this.shares();
    const own = scoped(() => shares.unbind(0).map((row, i) => row.select(0, i)));
    const all = stack(own);
    const least = all.min();
    endAll(all, ...own);
    return least.item().finally(() => least.dispose());
  }

  dispose() {
    endAll(this.counts, this.normalized);
  }
}

/** A smoothed value, and the values it had. */
class Smoothed {
  /** @param {number} rate @param {number} kept */
  constructor(rate = 0.5, kept = 3) {
    this.rate = rate;
    this.kept = kept;
    /** @type {Tensor | undefined} */
    this.value = undefined;
    /** @type {Tensor[]} */
    this.history = [];
  }

  /** @param {Tensor} next stays the caller's */
  push(next) {
    const before = this.value;
    this.value = before === undefined ? next.alias() : before.lerp(next, this.rate);
    before?.dispose();
    this.history.push(this.value.alias());
    while (this.history.length > this.kept) this.history.shift()?.dispose();
  }

  async spread() {
    if (this.history.length < 2) return 0;
    const all = stack(this.history);
    const spread = all.std();
    all.dispose();
    return spread.item().finally(() => spread.dispose());
  }

  dispose() {
    endAll(this.value, ...this.history);
    this.history = [];
  }
}

/** Loss and share of hits. @param {Outcome} outcome */
function score({ logits, labels }) {
  const scope = newDisposeScope("score");
  try {
    const logs = logits.logSoftmax(1);
    const loss = logs.mul(oneHot(labels, CLASSES)).sum(1).mean().neg();
    const hits = logits.argMax(1).eq(labels).float().mean();
    scope.moveToOuter(loss);
    return { loss, hits: hits.detachFromScope() };
  } finally {
    scope.dispose();
  }
}

class Tracker {
  /** @type {Map<string, Mean>} */
  means = new Map();
  confusion = new Confusion();
  loss = new Smoothed();
  /** @type {((reading: Reading) => void)[]} */
  listeners = [];

  /** @param {string} name @param {Tensor} value which is taken over */
  log(name, value) {
    let mean = this.means.get(name);
    if (!mean) this.means.set(name, (mean = new Mean(name)));
    mean.add(value);
  }

  /** @param {string} name */
  drop(name) {
    this.means.get(name)?.dispose();
    this.means.delete(name);
  }

  /** @param {Outcome} outcome */
  update(outcome) {
    this.confusion.update(outcome);
    const { loss, hits } = score(outcome);
    this.loss.push(loss);
    this.log("loss", loss);
    this.log("accuracy", hits);
  }

  async flush() {
    const readings = [];
    for (const mean of this.means.values()) {
      readings.push(await mean.read());
      mean.reset();
    }
    readings.push({ name: "recall", value: await this.confusion.recall() });
    for (const reading of readings) for (const listener of this.listeners) listener(reading);
    return readings;
  }

  dispose() {
    for (const mean of this.means.values()) mean.dispose();
    this.confusion.dispose();
    this.loss.dispose();
  }
}

/** @param {number} size @returns {Outcome} */
function predict(size) {
  return { logits: randn([size, CLASSES]), labels: randint(0, CLASSES, [size]) };
}

/** The whole program. */
export async function run(epochs = 2) {
  manualSeed(4);
  const tracker = new Tracker();
  let total = 0;
  tracker.listeners.push(({ value }) => (total += value));
  try {
    for (let epoch = 0; epoch < epochs; epoch++) {
      for (let i = 0; i < 3; i++) {
        const outcome = predict(5);
        tracker.update(outcome);
        tracker.log("size", outcome.logits.norm());
        endAll(outcome.logits, outcome.labels);
      }
      await tracker.flush();
      if (epoch === 0) tracker.drop("size");
    }
    return total + (await tracker.loss.spread());
  } finally {
    tracker.dispose();
  }
}
