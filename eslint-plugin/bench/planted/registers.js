/**
 * Transcribes parish registers, for engines without `using`. A recurrent net reads the lines of a
 * page, with an adapter for the hand of its scribe, and corrections teach the adapter. Few of them
 * stay on the device, the others are kept as bytes.
 */
import { concat, manualSeed, noGrad, scoped, stack, tensor } from "tenure";
import { packCheckpoint, unpackCheckpoint } from "tenure/data";
import { Conv2d, GRU, Linear, Module, functional as F } from "tenure/nn";
import { SGD } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ id: string, scribe: string, pixels: Float32Array }} Page */
/** @typedef {[glance: Tensor, target: Tensor]} Lesson */

const HEIGHT = 8;
const WIDTH = 20;
const HIDDEN = 12;
const MOST = { lines: 2, hands: 2, glances: 5 };
const LETTERS = "-abcdefghijklmnopqrstuvwxyz ";

class Hand extends Module {
  down = new Linear(HIDDEN, 2, { bias: false });
  up = new Linear(2, HIDDEN, { bias: false });

  /** @param {Tensor} features [N, WIDTH, HIDDEN] */
  forward(features) {
    return scoped(() => features.add(this.up.call(this.down.call(features))));
  }
}

/** @extends {Module<[glances: Tensor, hand: Hand]>} */
class Reader extends Module {
  conv = new Conv2d(1, 4, 3, { padding: 1 });
  gru = new GRU(4 * HEIGHT, HIDDEN, { batchFirst: true });
  head = new Linear(HIDDEN, LETTERS.length);

  /** @param {Tensor} image [HEIGHT, WIDTH] @returns {Tensor} its columns, [WIDTH, 4 · HEIGHT] */
  glance(image) {
    return scoped(() => {
      const seen = noGrad(() => this.conv.call(image.reshape(1, 1, HEIGHT, WIDTH)).relu());
      return seen.permute(0, 3, 1, 2).reshape(WIDTH, 4 * HEIGHT);
    });
  }

  /** @param {Tensor} glances @param {Hand} hand @returns {Tensor} logits, [N, WIDTH, letters] */
  forward(glances, hand) {
    if ((glances.shape[0] ?? 0) > MOST.lines) throw new RangeError("too many lines at a time");
    const { output, hidden } = this.gru.call(glances);
    const adapted = hand.call(output);
    for (const state of [output, hidden]) state.dispose();
    const logits = this.head.call(adapted);
    adapted.dispose();
    return logits;
  }
}

class Hands {
  /** @type {Map<string, Hand>} */
  #warm = new Map();
  /** @type {Map<string, Uint8Array<ArrayBuffer>>} */
  #parked = new Map();

  /** @param {string} scribe @returns {Promise<Hand>} lent until the next call */
  async of(scribe) {
    const hand = this.#warm.get(scribe) ?? this.#wake(scribe);
    this.#warm.delete(scribe);
    this.#warm.set(scribe, hand);
    for (const [name, oldest] of this.#warm) {
      if (this.#warm.size <= MOST.hands) break;
      this.#parked.set(name, await packCheckpoint({ model: oldest }));
      this.#warm.delete(name);
      oldest.dispose();
    }
    return hand;
  }

  /** @param {string} scribe */
  #wake(scribe) {
    const hand = new Hand();
    const bytes = this.#parked.get(scribe);
    try {
      if (bytes !== undefined) unpackCheckpoint(bytes, { model: hand });
      return hand;
    } catch (error) {
      hand.dispose();
      throw error;
    }
  }

  /** @param {string} scribe @param {Uint8Array<ArrayBuffer>} bytes what another archive knows */
  adopt(scribe, bytes) {
    this.#warm.get(scribe)?.dispose();
    this.#warm.delete(scribe);
    this.#parked.set(scribe, bytes);
  }

  dispose() {
    for (const hand of this.#warm.values()) hand.dispose();
  }
}

/** What the reader saw of late. Results are the caller's. */
class Glances {
  /** @type {Map<string, Tensor>} */
  #byLine = new Map();

  /** @param {string} id @param {() => Tensor} look */
  get(id, look) {
    const known = this.peek(id);
    if (known !== undefined) return known;
    const seen = look();
    this.#byLine.set(id, seen);
    for (const [oldest, glance] of this.#byLine) {
      if (this.#byLine.size <= MOST.glances) break;
      this.#byLine.delete(oldest);
      glance.dispose();
    }
    return seen.alias();
  }

  /** @param {string} id */
  peek(id) {
    return this.#byLine.get(id)?.alias();
  }

  dispose() {
    for (const glance of this.#byLine.values()) glance.dispose();
  }
}

/** The lines of a page, without its heading. @param {Page} page */
function cut({ pixels }) {
  const page = tensor(pixels, { shape: [pixels.length / WIDTH, WIDTH] });
  const [heading, ...lines] = page.split(HEIGHT);
  heading?.dispose();
  page.dispose();
  return lines;
}

/** @param {ArrayLike<number>} best the letter of each column @returns {string} */
function spell(best) {
  const letters = Array.from(best, (letter) => LETTERS[letter]);
  return letters.filter((letter, i) => letter !== "-" && letter !== letters[i - 1]).join("");
}

class Scriptorium {
  #reader = new Reader();
  hands = new Hands();
  #glances = new Glances();
  /** @type {Map<string, Lesson[]>} */
  #lessons = new Map();
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  #inTurn(work) {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** @param {Page} page @param {AbortSignal} [signal] @returns {Promise<string[]>} */
  transcribe(page, signal) {
    return this.#inTurn(async () => {
      const hand = await this.hands.of(page.scribe);
      const lines = cut(page);
      /** @type {Tensor[]} */
      const glances = [];
      try {
        for (const [i, line] of lines.entries()) {
          signal?.throwIfAborted();
          glances.push(this.#glances.get(`${page.id}/${i}`, () => this.#reader.glance(line)));
        }
        return await this.#read(glances, hand);
      } finally {
        for (const owned of [...lines, ...glances]) owned.dispose();
      }
    });
  }

  /** @param {Tensor[]} glances @param {Hand} hand @returns {Promise<string[]>} */
  async #read(glances, hand) {
    const batch = stack(glances);
    let logits;
    try {
      logits = noGrad(() => this.#reader.call(batch, hand));
    } catch (error) {
      if (glances.length === 1) throw error;
      const half = glances.length >> 1;
      const first = await this.#read(glances.slice(0, half), hand);
      return [...first, ...(await this.#read(glances.slice(half), hand))];
    } finally {
      batch.dispose();
    }
    const best = logits.argMax(2);
    logits.dispose();
    const letters = await best.data().finally(() => best.dispose());
    return glances.map((_, i) => spell(letters.subarray(i * WIDTH, (i + 1) * WIDTH)));
  }

  /** Two teach the hand. @param {Page} page @param {number} i @param {string} text */
  async correct({ id, scribe }, i, text) {
    const glance = this.#glances.peek(`${id}/${i}`);
    if (glance === undefined) return;
    const letters = Array.from({ length: WIDTH }, (_, x) => LETTERS.indexOf(text[x] ?? "-"));
    const lessons = this.#lessons.get(scribe) ?? [];
    this.#lessons.set(scribe, lessons);
    lessons.push([glance, tensor(letters, { dtype: "int32" })]);
    if (lessons.length < 2) return;
    const taken = lessons.splice(0);
    await this.#inTurn(async () => this.#teach(await this.hands.of(scribe), taken));
  }

  /** Takes the lessons over. @param {Hand} hand @param {Lesson[]} lessons */
  async #teach(hand, lessons) {
    const optimizer = new SGD(hand.parameters(), { lr: 0.1, momentum: 0.9 });
    const glances = stack(lessons.map(([glance]) => glance));
    const targets = concat(lessons.map(([, target]) => target));
    try {
      for (let step = 0; step < 5; step++) {
        const loss = scoped(() => {
          const logits = this.#reader.call(glances, hand);
          return F.crossEntropy(logits.reshape(-1, LETTERS.length), targets);
        });
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        if ((await loss.item().finally(() => loss.dispose())) < 0.01) return;
      }
    } finally {
      for (const owned of [optimizer, glances, targets, ...lessons.flat()]) owned.dispose();
    }
  }

  async close() {
    await this.#last;
    for (const lesson of [...this.#lessons.values()].flat(2)) lesson.dispose();
    for (const owned of [this.#reader, this.hands, this.#glances]) owned.dispose();
  }
}

export async function run() {
  manualSeed(11);
  const desk = new Scriptorium();
  const pixels = Float32Array.from({ length: 4 * HEIGHT * WIDTH }, (_, i) => Math.sin(i));
  const anna = { id: "1743-1", scribe: "anna", pixels };
  const bruno = { id: "1743-2", scribe: "bruno", pixels };
  const cord = { id: "1743-3", scribe: "cord", pixels };
  const late = { id: "1744-1", scribe: "anna", pixels };
  try {
    const read = await Promise.all([anna, bruno, cord, late, late].map((p) => desk.transcribe(p)));
    for (const i of [0, 1, 2]) await desk.correct(late, i, "anno domini");
    await desk.transcribe(bruno, AbortSignal.abort()).catch(() => []);
    desk.hands.adopt("bruno", await packCheckpoint({})); // of no use
    await desk.transcribe(bruno).catch(() => []);
    return read.flat().length;
  } finally {
    await desk.close();
  }
}
