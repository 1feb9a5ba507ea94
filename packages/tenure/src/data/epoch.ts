/**
 * One walk through a dataset, as the loader hands it to a `for` loop. It owns the batch it gave
 * last and frees it when the next one is asked for, or when the walk ends.
 */
import { ArgumentError, TenureError, internal } from "../base/errors.ts";
import { checkFunction, describeValue } from "../base/options.ts";
import type { Batch, Dataset } from "./dataset.ts";
import { adopt } from "../tensor/keep.ts";
import { scoped } from "../ownership/scoped.ts";
import { Tensor } from "../tensor/tensor.ts";

/** What would pass for a batch without tensors. */
function isOne(made: object): boolean {
  return made instanceof Promise || made instanceof Tensor;
}

/**
 * One walk through the data: an iterator, not a generator, because a generator's scope would leak
 * into its consumer.
 */
export abstract class Epoch<B extends Batch> {
  protected readonly dataset: Dataset<B>;
  protected readonly batches: readonly (readonly number[])[];
  readonly #onEnd: () => void;
  #current: B | null = null;
  #disposed = false;
  protected ended = false;
  /** Batches of the epoch left out, which were given before a resume. */
  skipped = 0;
  /** Batches the loop has had. */
  given = 0;

  constructor(dataset: Dataset<B>, batches: readonly (readonly number[])[], onEnd: () => void) {
    this.dataset = dataset;
    this.batches = batches;
    this.#onEnd = onEnd;
  }

  /**
   * Makes a batch and takes it for the loop; the one before is gone by now. Whatever else `make`
   * makes, or leaves when it throws, is freed.
   */
  protected take(make: () => B): IteratorYieldResult<B> {
    checkFunction("DataLoader", make, "return () => ({ name: tensor, … }) from load");
    let batch: B | undefined;
    scoped(() => {
      const made = make() as B | null | undefined;
      if (typeof made !== "object" || made === null || isOne(made))
        throw new ArgumentError(
          "DataLoader",
          "batches that are tensors by name",
          describeValue(made),
          "return { name: tensor, … } from the dataset's batch",
        );
      for (const [name, t] of Object.entries(made))
        if (!(t instanceof Tensor))
          throw new ArgumentError(
            "DataLoader",
            `tensors in batches`,
            `${describeValue(t)} as ${name}`,
            "return { name: tensor, … } from the dataset's batch",
          );
      batch = made;
      return Object.values<Tensor>(made);
    }, "DataLoader");
    if (batch === undefined) throw internal("a batch that was not made");
    for (const t of Object.values<Tensor>(batch)) adopt(t, "loader", "DataLoader");
    this.#current = batch;
    this.given++;
    return { done: false, value: batch };
  }

  protected free(): void {
    if (this.#current !== null) for (const t of Object.values(this.#current)) t.dispose();
    this.#current = null;
  }

  /** The loader was disposed: a loop that wants more batches is told so. */
  dispose(): void {
    this.end();
    this.#disposed = true;
  }

  /** What a loop gets that is over. @throws TenureError when the loader ended before its data */
  protected over(): IteratorReturnResult<undefined> {
    if (this.#disposed && this.given < this.batches.length)
      throw new TenureError(
        "DataLoader",
        "expected a live loader until the loop ends, got one that was disposed after " +
          `${this.given} of ${this.batches.length} batches; break out of the loop first`,
      );
    return this.end();
  }

  end(): IteratorReturnResult<undefined> {
    this.free();
    this.ended = true;
    this.#onEnd();
    return { done: true, value: undefined };
  }
}

/** A walk that makes each batch when it is asked for. */
export class SyncEpoch<B extends Batch> extends Epoch<B> implements Iterator<B, undefined> {
  #at = 0;

  next(): IteratorResult<B, undefined> {
    this.free();
    if (this.ended || this.#at >= this.batches.length) return this.over();
    try {
      return this.take(() => this.dataset.batch(this.batches[this.#at++]!));
    } catch (error) {
      this.end();
      throw error;
    }
  }

  return(): IteratorReturnResult<undefined> {
    return this.end();
  }
}

/**
 * A batch's host work: begun by a timer, in a job of its own while the loop waits for the device,
 * or at once when the loop wants it earlier.
 */
class Job<B extends Batch> {
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #work: () => (() => B) | Promise<() => B>;
  #result: Promise<() => B> | null = null;

  constructor(work: () => (() => B) | Promise<() => B>) {
    this.#work = work;
    this.#timer = setTimeout(() => {
      this.begin().catch(() => undefined);
    }, 0); // a failure is told when the batch is asked for
  }

  begin(): Promise<() => B> {
    clearTimeout(this.#timer);
    return (this.#result ??= (async () => this.#work())());
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#result?.catch(() => undefined);
  }
}

/** A walk that loads the next batches while the device computes. */
export class AsyncEpoch<B extends Batch> extends Epoch<B> implements AsyncIterator<B, undefined> {
  readonly #prefetch: number;
  readonly #jobs: Job<B>[] = [];
  #at = 0;

  constructor(
    prefetch: number,
    dataset: Dataset<B>,
    batches: readonly (readonly number[])[],
    onEnd: () => void,
  ) {
    super(dataset, batches, onEnd);
    this.#prefetch = prefetch;
  }

  #enqueue(count: number): void {
    while (this.#jobs.length < count && this.#at < this.batches.length) {
      const indices = this.batches[this.#at++]!,
        { dataset } = this;
      this.#jobs.push(new Job(() => dataset.load?.(indices) ?? (() => dataset.batch(indices))));
    }
  }

  async next(): Promise<IteratorResult<B, undefined>> {
    this.free();
    if (this.ended) return this.over();
    this.#enqueue(1);
    const job = this.#jobs.shift();
    if (job === undefined) return this.end();
    try {
      const loading = job.begin();
      this.#enqueue(this.#prefetch);
      const make = await loading;
      // The loader may have been disposed while this waited.
      return this.ended ? this.over() : this.take(make);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    return this.end();
  }

  override end(): IteratorReturnResult<undefined> {
    for (const job of this.#jobs.splice(0)) job.cancel();
    return super.end();
  }
}
