/**
 * A pipeline of async generators whose batches are records, through which tensors change hands.
 */
import { type Tensor, concat, newDisposeScope, scoped, tensor } from "tenure";

interface Sample {
  readonly features: readonly number[];
  readonly label: number;
}

interface Batch {
  readonly features: Tensor;
  readonly labels: Tensor;
  readonly size: number;
}

function free({ features, labels }: Batch): void {
  features.dispose();
  labels.dispose();
}

async function* read(files: readonly string[]): AsyncGenerator<Sample> {
  for (const [i, file] of files.entries()) {
    await Promise.resolve();
    for (const letter of file)
      yield { features: [letter.charCodeAt(0) / 128, i, 1], label: file.length % 2 };
  }
}

/** Each batch is the consumer's. */
async function* batched(source: AsyncIterable<Sample>, size: number): AsyncGenerator<Batch> {
  let rows: Sample[] = [];
  for await (const sample of source) {
    rows.push(sample);
    if (rows.length === size) {
      yield toBatch(rows);
      rows = [];
    }
  }
  if (rows.length > 0) yield toBatch(rows);
}

function toBatch(rows: readonly Sample[]): Batch {
  return {
    features: tensor(rows.map((r) => [...r.features])),
    labels: tensor(Int32Array.from(rows, (r) => r.label)),
    size: rows.length,
  };
}

/** Takes each batch and yields a normalized one in its place. */
async function* normalized(source: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  for await (const batch of source) {
    const features = scoped(() => {
      const mean = batch.features.mean(0, true);
      const spread = batch.features.std(0, 1, true).add(1e-5);
      return batch.features.sub(mean).div(spread);
    });
    batch.features.dispose();
    yield { ...batch, features };
  }
}

/** Leaves out batches that are too small. */
async function* atLeast(source: AsyncIterable<Batch>, size: number): AsyncGenerator<Batch> {
  for await (const batch of source) {
    if (batch.size < size) {
      free(batch);
      continue;
    }
    yield batch;
  }
}

async function* withNoise(source: AsyncIterable<Batch>, rate: number): AsyncGenerator<Batch> {
  let step = 0;
  for await (const { features, labels, size } of source) {
    if (step++ % 2 === 0) {
      yield { features, labels, size };
      continue;
    }
    using noise = features.mul(rate);
    yield { features: concat([features, noise]), labels: concat([labels, labels]), size: 2 * size };
    features.dispose();
    labels.dispose();
  }
}

class Statistics {
  #sum: Tensor | null = null;
  #count = 0;

  add(batch: Batch): void {
    const sum = batch.features.sum(0);
    if (this.#sum === null) this.#sum = sum;
    else {
      const total = this.#sum.add(sum);
      this.#sum.dispose();
      sum.dispose();
      this.#sum = total;
    }
    this.#count += batch.size;
  }

  async mean(): Promise<number[]> {
    if (this.#sum === null) return [];
    using mean = this.#sum.div(Math.max(1, this.#count));
    return [...(await mean.data())];
  }

  [Symbol.dispose](): void {
    this.#sum?.dispose();
    this.#sum = null;
  }
}

async function first(source: AsyncIterable<Batch>): Promise<Batch | null> {
  for await (const batch of source) return batch;
  return null;
}

/** Counts what comes out of the pipeline. */
export async function run(): Promise<number> {
  const files = ["tenure", "owns", "every", "byte"];
  using statistics = new Statistics();
  let total = 0;
  for await (const batch of withNoise(atLeast(normalized(batched(read(files), 4)), 4), 0.1)) {
    let read: Promise<number>;
    {
      using _scope = newDisposeScope("batch");
      read = batch.labels.float().sum().add(batch.features.mean()).item();
    }
    total += await read;
    statistics.add(batch);
    free(batch);
  }
  const head = await first(batched(read(files), 2));
  if (head !== null) {
    total += head.size;
    free(head);
  }
  return total + (await statistics.mean()).length;
}
