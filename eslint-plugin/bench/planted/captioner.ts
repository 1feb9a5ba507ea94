/**
 * Captions for images by beam search: an encoder whose features are cached, a recurrent decoder,
 * and a search in
 * which every beam owns its state.
 */
import {
  type Tensor,
  concat,
  manualSeed,
  noGrad,
  randn,
  scoped,
  stack,
  tensor,
  zeros,
} from "tenure";
import {
  Conv2d,
  Embedding,
  LSTM,
  type LSTMState,
  Linear,
  Module,
  functional as F,
} from "tenure/nn";

const WORDS = ["<end>", "<begin>", "a", "cat", "dog", "on", "grass"],
  END = 0,
  BEGIN = 1,
  WIDTH = 6,
  LEAST = 3,
  LIMIT = 7;

interface Beam {
  readonly tokens: readonly number[];
  readonly score: number;
  readonly state: LSTMState;
  /** How much of the image was looked at so far. */
  readonly seen?: Tensor;
}

/** `summary`: what the decoder knew at the end. */
type Caption = Readonly<{ text: string; summary: Tensor; seen: Tensor | undefined }>;

type Candidate = Record<"parent" | "token" | "score", number>;

class Encoder extends Module {
  readonly conv = new Conv2d(3, 4, 3, { padding: 1 });
  readonly out = new Linear(4, WIDTH);

  forward(image: Tensor): Tensor {
    return scoped(() => {
      const maps = this.conv.call(image.unsqueeze(0)).relu();
      return this.out.call(F.adaptiveAvgPool2d(maps, 1).flatten(1));
    });
  }
}

type Step = Readonly<{ logits: Tensor; state: LSTMState }>;

class Decoder extends Module<[tokens: Tensor, state: LSTMState], Step> {
  readonly embed = new Embedding(WORDS.length, WIDTH);
  readonly cell = new LSTM(WIDTH, WIDTH);
  readonly out = new Linear(WIDTH, WORDS.length);

  forward(tokens: Tensor, before: LSTMState): Step {
    using words = this.embed.call(tokens);
    using steps = words.unsqueeze(0);
    const { output, hidden, cell } = this.cell.call(steps, before);
    using last = output.squeeze(0);
    output.dispose();
    return { logits: this.out.call(last), state: { hidden, cell } };
  }
}

const endState = ({ hidden, cell }: LSTMState): void => {
  hidden.dispose();
  cell.dispose();
};

function endBeam(beam: Beam): void {
  endState(beam.state);
  beam.seen?.dispose();
}

const isDone = ({ tokens }: Beam): boolean =>
  tokens.length > LIMIT || (tokens.length > LEAST && tokens.at(-1) === END);

/** The features of the images that were new last. */
class FeatureCache {
  readonly #entries = new Map<string, Tensor>();

  /** Borrowed: the cache keeps them. */
  get(id: string, make: () => Tensor): Tensor {
    const known = this.#entries.get(id);
    if (known !== undefined) return known;
    const features = make();
    this.#entries.set(id, features);
    const [[oldest, last] = []] = this.#entries;
    if (oldest !== undefined && this.#entries.size > 2) {
      last?.dispose();
      this.#entries.delete(oldest);
    }
    return features;
  }

  [Symbol.dispose](): void {
    for (const features of this.#entries.values()) features.dispose();
    this.#entries.clear();
  }
}

class BeamSearch implements Disposable {
  readonly #decoder: Decoder;
  readonly #width: number;
  /** Added to the logits of every step. */
  readonly #bias: Tensor | null;

  constructor(decoder: Decoder, width = 2, bias: Tensor | null = null) {
    this.#decoder = decoder;
    this.#width = width;
    this.#bias = bias?.alias() ?? null;
  }

  #begin(features: Tensor): Beam {
    const hidden = features.reshape(1, 1, WIDTH);
    const state = { hidden, cell: zeros(hidden.shape) };
    return { tokens: [BEGIN], score: 0, state, seen: zeros([WIDTH]) };
  }

  /** The beams of one step further, which take the place of those given. */
  async #advance(beams: readonly Beam[]): Promise<Beam[]> {
    const ends = beams.map((b) => b.tokens.at(-1) ?? BEGIN);
    using tokens = tensor(ends, { dtype: "int32" });
    const [hiddens, cells] = [beams.map((b) => b.state.hidden), beams.map((b) => b.state.cell)];
    const joined = { hidden: concat(hiddens, 1), cell: concat(cells, 1) };
    const { logits, state } = noGrad(() => this.#decoder.call(tokens, joined));
    endState(joined);
    try {
      const candidates = await this.#rank(logits, beams);
      return candidates.map(({ parent, token, score }) => {
        const hidden = state.hidden.slice(1, parent, parent + 1);
        const cell = state.cell.slice(1, parent, parent + 1);
        const from = beams[parent]!;
        const beam = { tokens: [...from.tokens, token], score, state: { hidden, cell } };
        return from.seen === undefined ? beam : { ...beam, seen: this.#look(from.seen, hidden) };
      });
    } finally {
      logits.dispose();
      endState(state);
      beams.forEach(endBeam);
    }
  }

  #look(seen: Tensor, hidden: Tensor): Tensor {
    using flat = hidden.reshape(WIDTH);
    using weight = flat.sigmoid();
    return seen.add(weight);
  }

  async #rank(logits: Tensor, beams: readonly Beam[]): Promise<Candidate[]> {
    using biased = this.#bias === null ? logits.alias() : logits.add(this.#bias);
    using scores = tensor(beams.map((b) => [b.score]));
    using logProbs = biased.logSoftmax();
    using sums = logProbs.add(scores);
    using flat = sums.reshape(-1);
    const { values, indices } = flat.topK(this.#width);
    const [best, where] = await Promise.all([values.data(), indices.data()]);
    values.dispose();
    indices.dispose();
    return Array.from(where, Number).map((place, i) => {
      const parent = Math.floor(place / WORDS.length);
      return { parent, token: place % WORDS.length, score: Number(best[i]) };
    });
  }

  /** The best caption. */
  async find(features: Tensor): Promise<Caption> {
    let open: Beam[] = [this.#begin(features)];
    const done: Beam[] = [];
    while (open.length > 0 && done.length < this.#width) {
      const next = await this.#advance(open);
      open = [];
      for (const beam of next) (isDone(beam) ? done : open).push(beam);
    }
    open.forEach(endBeam);
    const [best, ...others] = done.sort((a, b) => b.score - a.score);
    for (const beam of others) endBeam(beam);
    return captionOf(best!);
  }

  [Symbol.dispose](): void {
    this.#bias?.dispose();
  }
}

/** Takes the beam apart: what is not in the caption ends. */
function captionOf({ tokens, state, seen }: Beam): Caption {
  const summary = state.hidden.reshape(WIDTH);
  endState(state);
  return { text: tokens.map((t) => WORDS[t]).join(" "), summary, seen };
}

async function* captions(
  images: ReadonlyMap<string, Tensor>,
  order: readonly string[],
): AsyncGenerator<Caption> {
  using encoder = new Encoder();
  using decoder = new Decoder();
  using cache = new FeatureCache();
  using bias = tensor(WORDS.map((_, i) => (i === BEGIN ? -9 : 0)));
  using search = new BeamSearch(decoder, 2, bias);
  for (const id of order) {
    const image = images.get(id);
    if (image === undefined) continue;
    const features = cache.get(id, () => noGrad(() => encoder.call(image)));
    yield await search.find(features);
  }
}

/** Captions three images, one of them twice. */
export async function run(): Promise<string[]> {
  manualSeed(8);
  const images = new Map(["cat", "dog", "lawn"].map((id) => [id, randn([3, 5, 5])]));
  const texts: string[] = [];
  const summaries: Tensor[] = [];
  for await (const { text, summary, seen } of captions(images, ["cat", "dog", "cat", "lawn"])) {
    texts.push(text);
    summaries.push(summary);
    seen?.dispose();
  }
  using all = stack(summaries);
  using spread = all.std();
  texts.push((await spread.item()).toFixed(3));
  for (const t of [...summaries, ...images.values()]) t.dispose();
  return texts;
}
