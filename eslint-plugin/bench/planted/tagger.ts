/**
 * Tags the words of short sentences. Sentences are padded to buckets of one length each; a table of
 * masks is made once per length; an LSTM reads, a linear layer scores. Written with plain functions
 * and closures, and a builder for the model.
 */
import {
  type Tensor,
  arange,
  manualSeed,
  newDisposeScope,
  noGrad,
  randint,
  scoped,
  stack,
  tensor,
  zeros,
} from "tenure";
import { Embedding, LSTM, type LSTMState, Linear, functional as F } from "tenure/nn";
import { SGD } from "tenure/optim";

interface Sentence {
  readonly words: readonly number[];
  readonly tags: readonly number[];
}

interface Batch {
  readonly words: Tensor;
  readonly tags: Tensor;
  readonly mask?: Tensor;
}

/** Masks by length and count: ones up to the length. They live until `forget`. */
const masks = new Map<string, Tensor>();

function maskOf(length: number, width: number): Tensor {
  const key = `${String(length)}/${String(width)}`;
  const known = masks.get(key);
  if (known !== undefined) return known;
  using places = arange(0, width);
  using inside = places.lt(length);
  const made = inside.to("float32").detachFromScope();
  masks.set(key, made);
  return made;
}

function forget(): void {
  for (const mask of masks.values()) mask.dispose();
  masks.clear();
}

const padded = (values: readonly number[], width: number): number[] =>
  Array.from({ length: width }, (_, i) => values[i] ?? 0);

/** The batch is the caller's; short sentences bring a mask. */
function collate(sentences: readonly Sentence[], width: number): Batch {
  const words = tensor(
    sentences.map((s) => padded(s.words, width)),
    { dtype: "int32" },
  );
  const tags = tensor(
    sentences.map((s) => padded(s.tags, width)),
    { dtype: "int32" },
  );
  if (sentences.every((s) => s.words.length === width)) return { words, tags };
  return { words, tags, mask: stack(sentences.map((s) => maskOf(s.words.length, width))) };
}

function endBatch({ words, tags, mask }: Batch): void {
  words.dispose();
  tags.dispose();
  mask?.dispose();
}

interface Tagger extends Disposable {
  /** Scores [N, T, tags] and, where asked, the state to go on with. */
  readonly score: (words: Tensor, state?: LSTMState) => { scores: Tensor; state: LSTMState };
  readonly parameters: () => Tensor[];
}

/** `tagger().words(9).hidden(4).build()` */
function tagger() {
  const size = { words: 8, hidden: 4, tags: 3, prior: null as Tensor | null };
  const builder = {
    words: (count: number) => ((size.words = count), builder),
    hidden: (count: number) => ((size.hidden = count), builder),
    /** Is the model's from here on. */
    prior(logits: Tensor) {
      size.prior?.dispose();
      size.prior = logits.detachFromScope();
      return builder;
    },
    build(): Tagger {
      const table = new Embedding(size.words, 5);
      const reader = new LSTM(5, size.hidden, { batchFirst: true });
      const head = new Linear(size.hidden, size.tags);
      const prior = size.prior ?? zeros([size.tags]).detachFromScope();
      size.prior = null;
      return {
        score(words, state) {
          return scoped(() => {
            const { output, hidden, cell } = reader.call(table.call(words), state);
            return { scores: head.call(output).add(prior), state: { hidden, cell } };
          });
        },
        parameters: () => [table, reader, head].flatMap((m) => m.parameters()),
        [Symbol.dispose]() {
          for (const m of [table, reader, head]) m.dispose();
          prior.dispose();
        },
      };
    },
  };
  return builder;
}

/** The mean loss of the words that count. */
function lossOf(scores: Tensor, { tags, mask }: Batch): Tensor {
  return scoped(() => {
    const each = F.crossEntropy(scores.reshape(-1, scores.shape.at(-1)!), tags.flatten(), {
      reduction: "none",
    });
    if (mask === undefined) return each.mean();
    return each.mul(mask.flatten()).sum().div(mask.sum().add(1e-6));
  });
}

function trainWith(model: Tagger, lr = 0.1) {
  const optimizer = new SGD(model.parameters(), { lr, momentum: 0.9 });
  let smooth: Tensor | undefined;
  return {
    step(batch: Batch): void {
      using scope = newDisposeScope("step");
      const { scores } = model.score(batch.words);
      const loss = lossOf(scores, batch);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      const now = loss.detach();
      if (smooth === undefined) smooth = scope.detach(now);
      else smooth = scope.carry(smooth, smooth.lerp(now, 0.2));
    },
    async smoothed(): Promise<number> {
      return (await smooth?.item()) ?? 0;
    },
    stop(): void {
      optimizer.dispose();
      smooth?.dispose();
      smooth = undefined;
    },
  };
}

/** Tags of a long text, read in windows; the state goes on from one to the next. */
async function tagText(model: Tagger, text: Tensor, window = 3): Promise<number[]> {
  const found: number[] = [];
  let state: LSTMState | undefined;
  try {
    for (let at = 0; at + window <= text.size; at += window) {
      using part = text.slice(0, at, at + window);
      using row = part.unsqueeze(0);
      const next = noGrad(() => model.score(row, state));
      state?.hidden.dispose();
      state?.cell.dispose();
      state = next.state;
      using best = next.scores.argMax(-1);
      next.scores.dispose();
      found.push(...(await best.data()).map(Number));
    }
  } finally {
    state?.hidden.dispose();
    state?.cell.dispose();
  }
  return found;
}

const corpus: readonly Sentence[] = [
  { words: [1, 2, 3], tags: [0, 1, 2] },
  { words: [4, 5], tags: [0, 2] },
  { words: [3, 2, 1], tags: [2, 1, 0] },
  { words: [6], tags: [1] },
];

/** Trains for some epochs and tags a text. */
export async function run(epochs = 2): Promise<number> {
  manualSeed(5);
  using flat = zeros([3]);
  using model = tagger().words(9).hidden(4).prior(flat.add(0.1)).build();
  const training = trainWith(model);
  const batches = [corpus.slice(0, 2), corpus.slice(2), [corpus[0]!, corpus[2]!]];
  for (let epoch = 0; epoch < epochs; epoch++)
    for (const sentences of batches) {
      const batch = collate(sentences, 3);
      try {
        training.step(batch);
      } finally {
        endBatch(batch);
      }
    }
  const loss = await training.smoothed();
  training.stop();
  using text = randint(0, 9, [9]);
  const tags = await tagText(model, text);
  forget();
  return loss + tags.length;
}
