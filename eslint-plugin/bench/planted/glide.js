/**
 * A keyboard for gliding fingers, for engines without `using`. A path over the keys is encoded and
 * compared with the words of a lexicon; what a user confirms teaches an adapter of the user's own,
 * while the keyboard is idle. Adapters of users who are away are kept as bytes.
 */
import { concat, noGrad, randn, scoped, tensor, zeros } from "tenure";
import { ArrayDataset, DataLoader, packCheckpoint, unpackCheckpoint } from "tenure/data";
import { GRU, Linear, Module, functional as F } from "tenure/nn";
import { Adam } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ path: number[], word: number }} Sample */
/** @typedef {{ word: string, path: number[], code: Tensor }} Stroke */

const WIDTH = 12;
const STEPS = 6;
const RANK = 2;
const KEYS = "qwertyuiopasdfghjkl;zxcvbnm";

/** @param {string} word @returns {number[]} its path over the keys, STEPS points of x and y */
function pathOf(word) {
  return Array.from({ length: STEPS }, (_, step) => {
    const key = KEYS.indexOf(word.charAt(Math.floor((step * word.length) / STEPS)));
    return [(key % 10) / 10, Math.floor(key / 10) / 3];
  }).flat();
}

class Encoder extends Module {
  gru = new GRU(2, WIDTH, { batchFirst: true });
  head = new Linear(WIDTH, WIDTH);

  /** @param {Tensor} paths [N, STEPS · 2] */
  forward(paths) {
    return scoped(() => {
      const { hidden } = this.gru.call(paths.reshape(-1, STEPS, 2));
      return this.head.call(hidden.squeeze(0)).tanh();
    });
  }
}

class Adapter extends Module {
  constructor() {
    super();
    const down = scoped(() => randn([WIDTH, RANK]).mul(0.1));
    this.down = this.parameter("down", down);
    this.up = this.parameter("up", zeros([RANK, WIDTH]));
  }

  /** @param {Tensor} codes [N, WIDTH] */
  forward(codes) {
    return scoped(() => codes.matmul(this.down).matmul(this.up).add(codes));
  }
}

class Lexicon {
  /** @param {Encoder} encoder @param {string[]} words */
  constructor(encoder, words) {
    this.encoder = encoder;
    this.words = words;
    this.codes = this.encode(words.map(pathOf)); // [words, WIDTH]
  }

  /** @param {number[][]} paths */
  encode(paths) {
    return noGrad(() => scoped(() => this.encoder.call(tensor(paths))));
  }

  /** @param {Tensor} codes */
  scores(codes) {
    return scoped(() => codes.matmul(this.codes.transpose()));
  }

  /** @param {string} word */
  add(word) {
    const fresh = this.encode([pathOf(word)]);
    const before = this.codes;
    this.codes = concat([before, fresh]);
    before.dispose();
    fresh.dispose();
    this.words.push(word);
  }

  /** @param {Tensor} code @param {Adapter} adapter @returns the most likely words */
  async rank(code, adapter) {
    const best = scoped(() => this.scores(adapter.call(code)).topK(3).indices);
    const places = best.data();
    best.dispose();
    return Array.from(await places, (place) => this.words[place] ?? "");
  }

  dispose() {
    this.codes.dispose();
  }
}

class Shelf {
  /** @type {Map<string, Adapter>} the least recently used first */
  #open = new Map();
  /** @type {Map<string, Uint8Array>} */
  packed = new Map();

  /** @param {string} user */
  async borrow(user) {
    const adapter = this.#open.get(user) ?? this.#unpack(user);
    this.#open.delete(user);
    this.#open.set(user, adapter);
    for (const [other, idle] of this.#open) {
      if (this.#open.size <= 2) break;
      this.#open.delete(other);
      const bytes = packCheckpoint({ model: idle });
      idle.dispose();
      this.packed.set(other, await bytes);
    }
    return adapter;
  }

  /** @param {string} user */
  #unpack(user) {
    const adapter = new Adapter();
    const bytes = this.packed.get(user);
    if (bytes === undefined) return adapter;
    try {
      unpackCheckpoint(bytes, { model: adapter });
      return adapter;
    } catch {
      adapter.dispose();
      return new Adapter(); // the user begins anew
    }
  }

  dispose() {
    for (const adapter of this.#open.values()) adapter.dispose();
  }
}

/** @type {(l: Lexicon, a: Adapter, samples: Sample[], touched: AbortSignal) => Promise<boolean>} */
async function study(lexicon, adapter, samples, touched) {
  if (samples.length < 2) return false;
  const data = new ArrayDataset({
    path: { data: samples.flatMap(({ path }) => path), shape: [STEPS * 2] },
    word: { data: samples.map(({ word }) => word), shape: [], dtype: "int32" },
  });
  const loader = new DataLoader(data, { batchSize: 2, shuffle: true });
  const optimizer = new Adam(adapter.parameters(), { lr: 0.02 });
  const weights = [...adapter.namedParameters()];
  const before = noGrad(() => new Map(weights.map(([name, weight]) => [name, weight.clone()])));
  try {
    for (const { path, word } of loader) {
      const codes = noGrad(() => lexicon.encoder.call(path));
      const logits = scoped(() => lexicon.scores(adapter.call(codes)));
      const loss = F.crossEntropy(logits, word);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      const read = loss.item();
      for (const t of [codes, logits, loss]) t.dispose();
      if (Number.isFinite(await read) && !touched.aborted) continue;
      adapter.loadStateDict(before);
      return false;
    }
    return true;
  } finally {
    for (const weight of before.values()) weight.dispose();
    optimizer.dispose();
    loader.dispose();
  }
}

/** @param {Lexicon} lexicon @param {Shelf} shelf @param {string} user */
function openField(lexicon, shelf, user) {
  /** @type {Stroke[]} */
  const strokes = [];
  /** @type {Stroke[]} */
  const undone = [];
  /** @type {Stroke | null} */
  let pending = null;

  /** @param {Stroke} stroke */
  async function offer({ code }) {
    const own = code.alias(); // the field may go on before the adapter is there
    try {
      return await lexicon.rank(own, await shelf.borrow(user));
    } finally {
      own.dispose();
    }
  }

  return {
    /** @param {number[]} path */
    async glide(path) {
      pending?.code.dispose();
      pending = { path, code: lexicon.encode([path]), word: "" };
      return await offer(pending);
    },
    /** @param {string} word */
    confirm(word) {
      if (pending !== null) strokes.push({ ...pending, word });
      pending = null;
      for (const { code } of undone.splice(0)) code.dispose();
    },
    /** Takes the last word back and offers others. */
    async undo() {
      const last = strokes.pop();
      if (last === undefined) return [];
      undone.push(last);
      if (undone.length > 2) undone.shift()?.code.dispose();
      return (await offer(last)).filter((word) => word !== last.word);
    },
    redo() {
      strokes.push(...undone.splice(-1));
    },
    samples() {
      return strokes.map(({ path, word }) => ({ path, word: lexicon.words.indexOf(word) }));
    },
    close() {
      for (const { code } of [...strokes, ...undone]) code.dispose();
      pending?.code.dispose();
    },
  };
}

/** @param {ReturnType<typeof openField>} field @param {string} name */
async function write(field, name) {
  try {
    for (const word of ["the", "fox", "jumps"]) {
      await field.glide(pathOf(word));
      field.confirm(word);
    }
    for (let i = 0; i < 3; i++) await field.undo();
    field.redo();
    await field.glide(pathOf(name)); // a slip of the finger
    await field.glide(pathOf("quick"));
    if (name !== "eve") field.confirm("quick");
    await field.glide(pathOf("brown"));
    return field.samples();
  } finally {
    field.close();
  }
}

export async function run() {
  const encoder = new Encoder();
  const lexicon = new Lexicon(encoder, ["the", "quick", "brown", "fox", "jumps"]);
  const shelf = new Shelf();
  shelf.packed.set("eve", new Uint8Array(9)); // damaged
  let count = 0;
  try {
    for (const user of ["ann", "bob", "eve", "ann"]) {
      lexicon.add(`${user}s`);
      const samples = await write(openField(lexicon, shelf, user), user);
      const touched = user === "bob" ? AbortSignal.abort() : new AbortController().signal;
      if (await study(lexicon, await shelf.borrow(user), samples, touched)) count++;
    }
  } finally {
    shelf.dispose();
    lexicon.dispose();
    encoder.dispose();
  }
  return count;
}
