/**
 * Recommends books to readers: factors of both are kept in stores and learnt from pairs of a liked
 * book and one drawn at random. Closures throughout.
 */
import {
  type Tensor,
  concat,
  dot,
  embedding,
  manualSeed,
  multinomial,
  noGrad,
  randint,
  randn,
  scoped,
  tensor,
  topK,
  valueAndGrad,
  where,
  zeros,
} from "tenure";

const WIDTH = 4,
  CACHED = 3;

/** Ids, all int32 [N]. Whoever holds an event batch ends it. */
interface Events {
  readonly readers: Tensor;
  readonly liked: Tensor;
}

interface TopList {
  readonly books: Tensor;
  readonly scores: Tensor;
}

const endAll = (things: Record<string, Tensor>): void => {
  for (const t of Object.values(things)) t.dispose();
};

/** A table of factors, and a cache of single rows of it. */
function openStore(count: number, width = WIDTH) {
  let table = scoped(() => randn([count, width]).mul(0.1));
  const rows = new Map<number, Tensor>();

  const forget = (): void => {
    for (const row of rows.values()) row.dispose();
    rows.clear();
  };
  const evict = (id: number): void => {
    rows.get(id)?.dispose();
    rows.delete(id);
  };
  const replace = (next: Tensor): void => {
    table.dispose();
    table = next;
    forget();
  };

  return {
    get table() {
      return table;
    },
    /** One row, which stays the store's. */
    row(id: number): Tensor {
      const known = rows.get(id);
      if (known !== undefined) return known;
      const made = table.select(0, id);
      rows.set(id, made);
      const [oldest] = rows.keys();
      if (rows.size > CACHED && oldest !== undefined) evict(oldest);
      return made;
    },
    descend(gradient: Tensor, rate: number): void {
      replace(scoped(() => table.sub(gradient.mul(rate))));
    },
    grow(extra: number): void {
      using more = randn([extra, width]);
      replace(concat([table, more]));
    },
    dispose(): void {
      forget();
      table.dispose();
    },
  };
}
type Store = ReturnType<typeof openStore>;

/** Draws books that were not liked, the popular ones more often. */
function openSampler(popularity: readonly number[], smoothing = 0.75) {
  const weights = scoped(() => tensor([...popularity]).pow(smoothing));
  return {
    draw: (count: number): Tensor => multinomial(weights, count, { replacement: true }),
    close: (): void => {
      weights.dispose();
    },
  };
}

/** The pairwise loss of N events, by the tables of readers and of books. */
const lossOf = ({ readers, liked }: Events, disliked: Tensor, decay: Tensor) =>
  valueAndGrad((ofReaders: Tensor, ofBooks: Tensor) => {
    const who = embedding(readers, ofReaders);
    const better = who.mul(embedding(liked, ofBooks)).sum(1);
    const worse = who.mul(embedding(disliked, ofBooks)).sum(1);
    return better.sub(worse).logSigmoid().mean().neg().add(who.square().mean().mul(decay));
  });

/** Batches of events, each of which the consumer ends. */
function* eventBatches(count: number, readers: number, books: number): Generator<Events> {
  for (let i = 0; i < count; i++)
    yield { readers: randint(0, readers, [4]), liked: randint(0, books, [4]) };
}

function openShop(readerCount: number, popularity: readonly number[], { rate = 0.1 } = {}) {
  const readers = openStore(readerCount);
  const books: Store = openStore(popularity.length);
  const sampler = openSampler(popularity);
  const decay = tensor(0.01);
  const lists: Record<string, TopList> = {};
  let running: Tensor | null = null;

  const drop = (reader: number): void => {
    const list = lists[reader];
    if (list === undefined) return;
    list.books.dispose();
    list.scores.dispose();
    delete lists[reader];
  };

  return {
    /** Learns from a batch, and keeps a running loss. */
    learn(events: Events): void {
      const disliked = sampler.draw(events.liked.size);
      const { value, grads } = lossOf(events, disliked, decay)(readers.table, books.table);
      const [forReaders, forBooks] = grads;
      if (forReaders) readers.descend(forReaders, rate);
      if (forBooks) books.descend(forBooks, rate);
      for (const g of grads) g?.dispose();
      disliked.dispose();
      if (running === null) {
        running = value;
        return;
      }
      const before: Tensor = running;
      running = before.lerp(value, 0.3);
      before.dispose();
      value.dispose();
    },
    /** The best books of a reader, without those in `read`; the list stays the shop's. */
    recommend(reader: number, k = 2, read?: readonly number[]): TopList {
      const row = readers.row(reader).unsqueeze(1);
      const column = books.table.matmul(row);
      let scores = column.squeeze(1);
      endAll({ row, column });
      if (read !== undefined) {
        using hidden = tensor(popularity.map((_, id) => (read.includes(id) ? 1 : 0)));
        using never = zeros([]);
        using mask = hidden.bool();
        const shown = where(mask, never, scores);
        scores.dispose();
        scores = shown;
      }
      const { values, indices } = topK(scores, k);
      scores.dispose();
      drop(reader);
      return (lists[reader] = { books: indices, scores: values });
    },
    /** How near two readers are. */
    async affinity(a: number, b: number): Promise<number> {
      using product = dot(readers.row(a), readers.row(b));
      return await product.item();
    },
    welcome(extra: number): void {
      readers.grow(extra);
      for (const reader of Object.keys(lists)) drop(Number(reader));
    },
    async loss(): Promise<number> {
      return running === null ? 0 : await running.item();
    },
    close(): void {
      for (const list of Object.values(lists)) endAll({ ...list });
      for (const part of [readers, books]) part.dispose();
      sampler.close();
      decay.dispose();
      running?.dispose();
    },
  };
}

/** Learns a few batches, recommends, and lets new readers in. */
export async function run(batches = 3): Promise<number> {
  manualSeed(5);
  const popularity = [9, 4, 1, 6, 2];
  const shop = openShop(4, popularity, { rate: 0.2 });
  let total = 0;
  try {
    for (const events of eventBatches(batches, 4, popularity.length)) {
      shop.learn(events);
      endAll({ ...events });
    }
    for (const reader of [0, 1, 2, 3, 0]) total += shop.recommend(reader).books.size;
    total += await shop.affinity(0, 3);
    shop.welcome(2);
    const { scores } = shop.recommend(5, 3, [1, 4]);
    using best = noGrad(() => scores.max());
    total += (await best.item()) + (await shop.loss());
  } finally {
    shop.close();
  }
  return total;
}
