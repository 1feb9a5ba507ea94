/**
 * Spots keywords in what a microphone hears: frames of features go through a ring, the ring through
 * an encoder, and what comes out is compared with words spoken before. Corrections train it.
 */
import { init, manualSeed, noGrad, scoped, stack, tensor, zeros } from "tenure";
import { GRU, Linear, functional } from "tenure/nn";
import { Adam } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ word: string, window: Tensor }} Example */

const [HOP, BINS, FRAMES] = [64, 12, 5];

/** Plays recordings as if somebody spoke. */
class Microphone extends EventTarget {
  /** @param {Iterable<Float32Array>} chunks */
  async play(chunks) {
    for (const samples of chunks) {
      await new Promise((resolve) => setTimeout(resolve));
      this.dispatchEvent(new CustomEvent("chunk", { detail: samples }));
    }
  }
}

/** Log energies by frequency, over a slowly learned noise floor. */
class FrontEnd {
  constructor() {
    this.cosines = tensor(waves(Math.cos));
    this.sines = tensor(waves(Math.sin));
    this.floor = zeros([BINS]);
  }

  /** @param {Float32Array} samples */
  frame(samples) {
    const energies = scoped(() => {
      const chunk = tensor(samples);
      const real = chunk.matmul(this.cosines).square();
      return real.add(chunk.matmul(this.sines).square()).add(1e-6).log();
    });
    const floor = this.floor.lerp(energies, 0.05);
    this.floor.dispose();
    this.floor = floor;
    const above = energies.sub(floor);
    energies.dispose();
    return above;
  }

  dispose() {
    [this.cosines, this.sines, this.floor].forEach((t) => t.dispose());
  }
}

/** @param {(angle: number) => number} wave */
function waves(wave) {
  return Array.from({ length: HOP }, (_, t) =>
    Array.from({ length: BINS }, (_, bin) => wave((2 * Math.PI * (bin + 1) * t) / HOP)),
  );
}

/** The last frames. Owns them. */
class FeatureRing {
  constructor() {
    /** @type {(Tensor | undefined)[]} */
    this.slots = new Array(FRAMES).fill(undefined);
    this.next = 0;
  }

  /** @param {Tensor} frame */
  push(frame) {
    this.slots[this.next]?.dispose();
    this.slots[this.next] = frame;
    this.next = (this.next + 1) % this.slots.length;
  }

  /** Frames in the order they came in, [T, 1, BINS], or null while there are too few. */
  window() {
    const slots = [...this.slots.slice(this.next), ...this.slots.slice(0, this.next)];
    const frames = slots.filter((frame) => frame !== undefined);
    if (frames.length < slots.length) return null;
    const stacked = stack(frames);
    const window = stacked.unsqueeze(1);
    stacked.dispose();
    return window;
  }

  clear() {
    for (const frame of this.slots) frame?.dispose();
    this.slots.fill(undefined);
  }
}

class Spotter extends EventTarget {
  constructor(options = {}) {
    super();
    this.options = { threshold: 0.4, patience: 2, batch: 4, ...options };
    this.frontEnd = new FrontEnd();
    this.ring = new FeatureRing();
    this.gru = new GRU(BINS, 16);
    this.head = new Linear(16, 8);
    this.optimizer = new Adam([...this.gru.parameters(), ...this.head.parameters()], { lr: 1e-3 });
    /** @type {Map<string, Tensor>} */
    this.prototypes = new Map();
    /** @type {Example[]} */
    this.examples = [];
    /** @type {Tensor | null} what was compared last, in case the user corrects us */
    this.heard = null;
    this.busy = Promise.resolve();
    this.clock = this.quietUntil = 0;
  }

  /** @param {Tensor} window [T, 1, BINS] @returns {Tensor} [8] */
  embed(window) {
    const { output, hidden } = this.gru.call(window);
    output.dispose();
    const flat = hidden.reshape(1, -1);
    hidden.dispose();
    const out = this.head.call(flat);
    flat.dispose();
    const vector = out.squeeze(0);
    out.dispose();
    return vector;
  }

  /** Learns a word. @param {string} word @param {Float32Array[][]} recordings */
  enrol(word, recordings) {
    const ring = new FeatureRing();
    const vectors = [];
    for (const chunks of recordings) {
      for (const samples of chunks) ring.push(this.frontEnd.frame(samples));
      const window = ring.window();
      ring.clear();
      if (!window) continue; // too short
      vectors.push(noGrad(() => this.embed(window)));
      window.dispose();
    }
    if (vectors.length === 0) return;
    const all = stack(vectors);
    for (const vector of vectors) vector.dispose();
    this.prototypes.get(word)?.dispose();
    this.prototypes.set(word, all.mean(0));
    all.dispose();
  }

  /** @param {Microphone} microphone @returns a function that stops listening */
  listen(microphone) {
    /** @param {Event} event */
    const onChunk = (event) => {
      const { detail } = /** @type {CustomEvent<Float32Array>} */ (event);
      this.busy = this.busy.then(() => this.hear(detail));
    };
    microphone.addEventListener("chunk", onChunk);
    return () => microphone.removeEventListener("chunk", onChunk);
  }

  /** @param {Float32Array} samples */
  async hear(samples) {
    this.clock++;
    this.ring.push(this.frontEnd.frame(samples));
    if (this.clock < this.quietUntil || this.prototypes.size === 0) return;
    const window = this.ring.window();
    if (window === null) return;
    this.heard?.dispose();
    this.heard = window;
    const { word, distance } = await this.nearest(window);
    if (distance > this.options.threshold) return;
    this.quietUntil = this.clock + this.options.patience;
    this.dispatchEvent(new CustomEvent("keyword", { detail: word }));
  }

  /** @param {Tensor} window */
  async nearest(window) {
    const words = [...this.prototypes.keys()];
    const vector = noGrad(() => this.embed(window));
    const known = stack([...this.prototypes.values()]);
    const distances = scoped(() => known.sub(vector).norm(2, 1));
    vector.dispose();
    known.dispose();
    const values = await distances.data();
    distances.dispose();
    const best = values.indexOf(Math.min(...values));
    return { word: words[best] ?? "", distance: values[best] ?? Infinity };
  }

  /** The user says which word that was. @param {string} word */
  correct(word) {
    if (!this.heard || !this.prototypes.has(word)) return;
    this.examples.push({ word, window: this.heard });
    this.heard = null;
    if (this.examples.length >= this.options.batch) this.train();
  }

  train() {
    const batch = this.examples.splice(0, this.options.batch);
    const windows = batch.map(({ window }) => window);
    const targets = stack(batch.flatMap(({ word }) => this.prototypes.get(word) ?? []));
    const loss = scoped(() => {
      const vectors = stack(windows.map((window) => this.embed(window)));
      return functional.mseLoss(vectors, targets);
    });
    this.optimizer.zeroGrad();
    loss.backward();
    this.optimizer.step();
    for (const t of [loss, targets, ...windows]) t.dispose();
  }

  dispose() {
    this.heard?.dispose();
    for (const prototype of this.prototypes.values()) prototype.dispose();
    for (const { window } of this.examples) window.dispose();
    this.ring.clear();
    [this.frontEnd, this.optimizer, this.head, this.gru].forEach((part) => part.dispose());
  }
}

/** @param {number} pitch @param {number} count */
const hum = (pitch, count) =>
  Array.from({ length: count }, (_, i) =>
    Float32Array.from({ length: HOP }, (_, t) => Math.sin(pitch * (i * HOP + t))),
  );

await init();
manualSeed(5);
const microphone = new Microphone();
const spotter = new Spotter({ batch: 3 });
spotter.enrol("lamp", [hum(0.3, 5), hum(0.32, 6), hum(0.31, 3)]);
spotter.enrol("radio", [hum(0.7, 5)]);
spotter.enrol("lamp", [hum(0.29, 7)]);

/** @type {string[]} */
export const heard = [];
spotter.addEventListener("keyword", (event) => {
  heard.push(/** @type {CustomEvent<string>} */ (event).detail);
  if (heard.length % 3 < 2) spotter.correct(heard.length % 2 ? "radio" : "lamp");
});
const stop = spotter.listen(microphone);
await microphone.play(hum(0.3, 25));
await spotter.busy;
stop();
spotter.dispose();
export const run = () => Promise.resolve(heard);
