/**
 * A drawing game: one player draws what the card says, a small net guesses along. Strokes can be
 * undone, guesses are cached per picture, and the net learns from finished rounds when the page has
 * nothing better to do.
 */
import { concat, manualSeed, noGrad, scoped, tensor, zeros } from "tenure";
import { Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential, functional } from "tenure/nn";
import { Adam } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ image: Tensor, label: number }} Example */

const SIZE = 16;
const LABELS = ["cat", "house", "tree", "fish"];

function buildModel() {
  return new Sequential(
    new Conv2d(1, 4, 3, { padding: 1 }),
    new ReLU(),
    new MaxPool2d(2),
    new Flatten(),
    new Linear(4 * (SIZE / 2) ** 2, LABELS.length),
  );
}

/** @param {readonly { x: number, y: number }[]} points */
function rasterise(points) {
  const pixels = new Float32Array(SIZE * SIZE);
  for (const { x, y } of points) pixels[Math.floor(y) * SIZE + Math.floor(x)] = 1;
  return tensor(pixels, { shape: [1, 1, SIZE, SIZE] });
}

/** Pictures before and after the one shown. */
class History {
  constructor() {
    /** @type {Tensor[]} */
    this.past = [];
    /** @type {Tensor[]} */
    this.future = [];
    this.current = zeros([1, 1, SIZE, SIZE]);
  }

  /** @param {Tensor} next */
  push(next) {
    this.past.push(this.current);
    this.current = next;
    for (const image of this.future) image.dispose();
    this.future = [];
    if (this.past.length > 5) this.past.shift()?.dispose();
  }

  undo() {
    const image = this.past.pop();
    if (!image) return;
    this.future.push(this.current);
    this.current = image;
  }

  redo() {
    const image = this.future.pop();
    if (!image) return;
    this.past.push(this.current);
    this.current = image;
  }

  dispose() {
    for (const image of [...this.past, this.current, ...this.future]) image.dispose();
  }
}

/** Scores by picture; what was not asked for longest goes first. */
class LabelCache {
  constructor() {
    /** @type {Map<string, Tensor>} */
    this.entries = new Map();
  }

  /** @param {string} key @param {() => Tensor} compute */
  get(key, compute) {
    const scores = this.entries.get(key) ?? compute();
    this.entries.delete(key);
    this.entries.set(key, scores);
    for (const [old, dropped] of this.entries) {
      if (this.entries.size <= 3) break;
      dropped.dispose();
      this.entries.delete(old);
    }
    return scores;
  }

  clear() {
    this.entries.forEach((scores) => scores.dispose());
    this.entries.clear();
  }
}

/** Trains between frames, one batch per turn. */
class BackgroundTrainer {
  /** @param {Sequential} model @param {(loss: number) => void} onStep */
  constructor(model, onStep) {
    this.model = model;
    this.onStep = onStep;
    this.optimizer = new Adam(model.parameters(), { lr: 0.01 });
    /** @type {Example[]} */
    this.examples = [];
    /** @type {Map<string, Tensor>} */
    this.average = new Map();
    /** @type {Promise<void>} */
    this.idle = Promise.resolve();
    this.stopped = false;
  }

  /** @param {Tensor} image @param {number} label */
  learn(image, label) {
    const mirrored = image.flip(3);
    this.examples.push({ image: image.alias(), label }, { image: mirrored, label });
    while (this.examples.length > 4) this.examples.shift()?.image.dispose();
    this.idle = this.idle.then(() => this.turn());
  }

  async turn() {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (this.stopped) return;
    const images = concat(this.examples.map(({ image }) => image));
    const labels = tensor(Int32Array.from(this.examples, ({ label }) => label));
    const logits = this.model.call(images);
    const loss = functional.crossEntropy(logits, labels);
    this.optimizer.zeroGrad();
    loss.backward();
    this.optimizer.step();
    for (const t of [images, labels, logits]) t.dispose();
    this.track();
    this.onStep(await loss.item());
    loss.dispose();
  }

  /** Keeps a moving average of the weights: it guesses better than the last ones. */
  track() {
    noGrad(() => {
      for (const [name, p] of this.model.namedParameters()) {
        const before = this.average.get(name);
        this.average.set(name, before ? before.lerp(p, 0.1) : p.clone());
        before?.dispose();
      }
    });
  }

  adopt() {
    if (this.average.size > 0) this.model.loadStateDict(this.average);
  }

  async stop() {
    this.stopped = true;
    await this.idle;
    this.examples.forEach(({ image }) => image.dispose());
    for (const weights of this.average.values()) weights.dispose();
    this.optimizer.dispose();
  }
}

class Game extends EventTarget {
  constructor() {
    super();
    this.model = buildModel();
    this.history = new History();
    this.cache = new LabelCache();
    this.trainer = new BackgroundTrainer(this.model, (loss) => log.push(loss));
    /** @type {string[]} */
    this.strokes = [];
  }

  /** @param {readonly { x: number, y: number }[]} points */
  draw(points) {
    const stroke = rasterise(points);
    const ink = stroke.mul(0.9);
    this.history.push(this.history.current.maximum(ink));
    ink.dispose();
    stroke.dispose();
    this.strokes.push(points.map(({ x, y }) => `${x},${y}`).join(";"));
  }

  undo() {
    this.history.undo();
    this.strokes.pop();
  }

  async guess() {
    const scores = this.cache.get(this.strokes.join("|"), () =>
      scoped(() => noGrad(() => this.model.call(this.history.current).softmax(1))),
    );
    const { values, indices } = scores.topK(2, 1);
    const [sure, best] = await Promise.all([values.data(), indices.data()]);
    values.dispose();
    indices.dispose();
    return { label: LABELS[best[0] ?? 0], sure: sure[0] ?? 0 };
  }

  /** @param {number} label */
  finish(label) {
    this.trainer.learn(this.history.current, label);
    this.history.dispose();
    this.history = new History();
    this.cache.clear();
    this.strokes = [];
    this.dispatchEvent(new Event("round"));
  }

  async close() {
    await this.trainer.stop();
    this.cache.clear();
    this.history.dispose();
    this.model.dispose();
  }
}

manualSeed(3);
/** @type {unknown[]} */
const log = [];
const game = new Game();
game.addEventListener("round", (event) => log.push(event));
for (const label of [0, 2, 1]) {
  for (let i = 0; i < 7; i++) {
    game.draw(Array.from({ length: 8 }, (_, j) => ({ x: (i * 2 + j) % SIZE, y: j * 2 })));
    log.push(await game.guess());
  }
  game.undo();
  log.push(await game.guess());
  game.undo();
  game.history.redo();
  game.draw([{ x: 1, y: label }]);
  game.undo();
  game.finish(label);
}
game.draw([{ x: 3, y: 3 }]);
await game.trainer.idle;
game.trainer.adopt();
log.push(await game.guess());
await game.close();

export const run = () => Promise.resolve(log);
