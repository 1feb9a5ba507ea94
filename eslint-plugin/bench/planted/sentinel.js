/**
 * Plain JavaScript with types in comments: watches a stream of sensor windows, learns what is usual
 * with an autoencoder, and tells listeners what is not.
 */
import { EventEmitter } from "node:events";
import { manualSeed, newDisposeScope, noGrad, rand, scoped, stack, zeros } from "tenure";
import { Linear, ReLU, Sequential, functional as F } from "tenure/nn";
import { SGD } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ mean: Tensor, spread: Tensor }} Usual */
/** @typedef {{ at: number, window: Tensor, error: Tensor }} Alarm */

const LENGTH = 4;

/** The newest windows, in a ring. */
class Ring {
  /** @param {number} capacity */
  constructor(capacity) {
    this.capacity = capacity;
    this.next = 0;
    /** @type {Tensor[]} */
    this.slots = [];
  }

  /** @param {Tensor} window stays the caller's */
  put(window) {
    this.slots[this.next]?.dispose();
    this.slots[this.next] = window.clone();
    this.next = (this.next + 1) % this.capacity;
  }

  /** All windows, [n, LENGTH]: the caller's; null when there are none. */
  batch() {
    return this.slots.length === 0 ? null : stack(this.slots);
  }

  clear() {
    for (const window of this.slots.splice(0)) window.dispose();
    this.next = 0;
  }
}

/** Running mean and spread of errors. */
class Running {
  constructor() {
    /** @type {Usual | null} */
    this.usual = null;
  }

  /**
   * @param {Tensor} error stays the caller's
   * @param {number} weight
   */
  update(error, weight = 0.2) {
    const before = this.usual;
    if (before === null) {
      this.usual = { mean: error.clone(), spread: zeros([]) };
      return;
    }
    this.usual = scoped(() => {
      const far = error.sub(before.mean);
      return {
        mean: before.mean.add(far.mul(weight)),
        spread: before.spread.lerp(far.abs(), weight),
      };
    });
    before.mean.dispose();
    before.spread.dispose();
  }

  /**
   * How unusual an error is; the caller's.
   * @param {Tensor} error
   * @param {Tensor} [floor] least spread
   */
  rate(error, floor) {
    const { usual } = this;
    if (usual === null) return error.alias();
    const least = floor?.alias() ?? zeros([]);
    try {
      return scoped(() => error.sub(usual.mean).div(usual.spread.maximum(least).add(1)));
    } finally {
      least.dispose();
    }
  }

  reset() {
    this.usual?.mean.dispose();
    this.usual?.spread.dispose();
    this.usual = null;
  }
}

class Watcher extends EventEmitter {
  /** @param {{ capacity?: number, every?: number }} [options] */
  constructor({ capacity = 3, every = 2 } = {}) {
    super();
    this.every = every;
    this.seen = 0;
    this.ring = new Ring(capacity);
    this.running = new Running();
    this.model = new Sequential(new Linear(LENGTH, 2), new ReLU(), new Linear(2, LENGTH));
    this.optimizer = new SGD(this.model.parameters(), { lr: 0.05 });
    /** @type {Alarm[]} */
    this.alarms = [];
    /** @type {Tensor | null} */
    this.last = null;
  }

  /** @param {Tensor} window */
  errorOf(window) {
    return noGrad(() => {
      const restored = this.model.call(window);
      const error = F.mseLoss(restored, window);
      restored.dispose();
      return error;
    });
  }

  learn() {
    const batch = this.ring.batch();
    if (batch === null) return;
    const scope = newDisposeScope("learn");
    try {
      const loss = F.mseLoss(this.model.call(batch), batch);
      this.optimizer.zeroGrad();
      loss.backward();
      this.optimizer.step();
    } finally {
      scope.dispose();
      batch.dispose();
    }
  }

  /**
   * Sees a window, which stays the caller's.
   * @param {Tensor} window
   */
  async see(window) {
    const error = this.errorOf(window);
    const rating = this.running.rate(error);
    try {
      this.emit("rating", rating);
      this.running.update(error);
      this.ring.put(window);
      if ((await rating.item()) < 3) this.raise(window, error);
      this.last?.dispose();
      this.last = error.alias();
    } finally {
      error.dispose();
      rating.dispose();
    }
    if (++this.seen % this.every === 0) this.learn();
  }

  /**
   * @param {Tensor} window
   * @param {Tensor} error
   */
  raise(window, error) {
    this.alarms.push({ at: this.seen, window: window.clone(), error: error.alias() });
    if (this.alarms.length > 2) this.settle(this.alarms[0]?.at ?? 0);
    this.emit("alarm", this.alarms.at(-1));
  }

  /** @param {number} at the alarm that somebody has dealt with */
  settle(at) {
    for (const { window, error } of this.alarms.filter((alarm) => alarm.at === at)) {
      window.dispose();
      error.dispose();
    }
    this.alarms = this.alarms.filter((alarm) => alarm.at !== at);
  }

  dispose() {
    this.removeAllListeners();
    for (const { at } of [...this.alarms]) this.settle(at);
    this.ring.clear();
    this.running.reset();
    this.last?.dispose();
    this.optimizer.dispose();
    this.model.dispose();
  }
}

/**
 * Windows of a sensor, which are whose loop it is.
 * @param {number} count
 */
async function* sensor(count) {
  for (let i = 0; i < count; i++) {
    await Promise.resolve();
    yield rand([LENGTH]);
  }
}

/** Watches a stream, and sums up what listeners heard. */
export async function run(count = 7) {
  manualSeed(2);
  const watcher = new Watcher();
  /** @type {Map<number, Tensor>} */
  const kept = new Map();
  let heard = 0;
  watcher.on("rating", (/** @type {Tensor} */ rating) => {
    heard += rating.rank + 1;
  });
  watcher.on("alarm", (/** @type {Alarm} */ { at, window }) => kept.set(at, window.mean()));
  try {
    for await (const window of sensor(count)) {
      await watcher.see(window);
      window.dispose();
    }
    for (const mean of kept.values()) heard += (await mean.item()) + 1;
  } finally {
    for (const mean of kept.values()) mean.dispose();
    watcher.dispose();
  }
  return heard;
}
