/**
 * A night at the telescope: exposures come in from an async generator, a crew of workers takes them
 * off a channel, cleans them with dark frames that are loaded once, and stacks them.
 */
import { type Tensor, full, rand, randn, scoped, zeros } from "tenure";

const SHAPE = [4, 4];

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

interface Frame {
  readonly id: number;
  readonly seconds: number;
  /** Goes along with the frame: whoever has the frame ends it. */
  readonly raw: Tensor;
}

/** The sky, frame by frame. The consumer owns the frames. */
async function* expose(times: readonly number[], signal: AbortSignal): AsyncGenerator<Frame> {
  let sky = rand(SHAPE);
  try {
    for (const [id, seconds] of times.entries()) {
      await sleep(0);
      if (signal.aborted) return;
      const drift = randn(SHAPE);
      const next = sky.lerp(drift, 0.05);
      drift.dispose();
      sky.dispose();
      sky = next;
      yield { id, seconds, raw: sky.mul(seconds) };
    }
  } finally {
    sky.dispose();
  }
}

class Channel<T> {
  #items: T[] = [];
  #takers: ((item: T | undefined) => void)[] = [];
  #closed = false;

  /** False when nobody will ever take the item. */
  send(item: T): boolean {
    if (this.#closed) return false;
    const taker = this.#takers.shift();
    if (taker === undefined) this.#items.push(item);
    else taker(item);
    return true;
  }

  async receive(): Promise<T | undefined> {
    if (this.#items.length > 0 || this.#closed) return this.#items.shift();
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Sends the takers home. What nobody has taken is the caller's. */
  close(): T[] {
    this.#closed = true;
    for (const taker of this.#takers.splice(0)) taker(undefined);
    return this.#items.splice(0);
  }
}

/** Dark frames by exposure time; each is taken once, and lent. */
class Darks {
  readonly #library = new Map<number, Promise<Tensor>>();

  get(seconds: number): Promise<Tensor> {
    let dark = this.#library.get(seconds);
    if (dark === undefined) {
      dark = this.#take(seconds);
      this.#library.set(seconds, dark);
    }
    return dark;
  }

  async #take(seconds: number): Promise<Tensor> {
    await sleep(1);
    using bias = full(SHAPE, 0.01);
    using noise = randn(SHAPE);
    return bias.addcmul(noise, bias, seconds);
  }

  /** Forgets what was taken at another temperature of the sensor. */
  async retake(seconds: number): Promise<void> {
    const old = this.#library.get(seconds);
    this.#library.set(seconds, this.#take(seconds));
    (await old)?.dispose();
  }

  async close(): Promise<void> {
    const darks = await Promise.all(this.#library.values());
    darks.forEach((dark) => dark.dispose());
    this.#library.clear();
  }
}

class Stacker {
  #sum = zeros(SHAPE);
  #best: { image: Tensor; sharpness: number } | null = null;
  #weight = 0;

  /** Takes the image. */
  add(image: Tensor, weight: number, sharpness: number): void {
    const sum = this.#sum.add(image);
    this.#sum.dispose();
    this.#sum = sum;
    this.#weight += weight;
    if (this.#best === null || sharpness >= this.#best.sharpness) {
      this.#best?.image.dispose();
      this.#best = { image, sharpness };
    } else {
      image.dispose();
    }
  }

  mean(): Tensor {
    return this.#sum.mul(1 / Math.max(1, this.#weight));
  }

  /** Previews as they are asked for; the reader ends them. */
  previews(): ReadableStream<Tensor> {
    return new ReadableStream<Tensor>(
      { pull: (controller) => controller.enqueue(this.mean()) },
      { highWaterMark: 0 },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await sleep(0);
    this.#sum.dispose();
    this.#best?.image.dispose();
  }
}

async function sharpness(image: Tensor): Promise<number> {
  const edges = scoped(() => image.sub(image.roll(1, 0)).square().mean());
  try {
    return await edges.item();
  } finally {
    edges.dispose();
  }
}

async function work(queue: Channel<Frame>, darks: Darks, stacker: Stacker): Promise<number> {
  let done = 0;
  for (;;) {
    const frame = await queue.receive();
    if (frame === undefined) return done;
    const dark = await darks.get(frame.seconds);
    const clean = frame.raw.sub(dark);
    frame.raw.dispose();
    const sharp = await sharpness(clean);
    if (sharp < 0 || frame.id % 4 === 3) {
      clean.dispose(); // clouds
      continue;
    }
    stacker.add(clean, frame.seconds, sharp);
    done++;
  }
}

/** The result if it comes in time. What comes too late is ended. */
async function inTime(slow: Promise<Tensor>, ms: number): Promise<Tensor | null> {
  const first = await Promise.race([slow, sleep(ms).then(() => null)]);
  if (first === null) void slow.then((late) => late.dispose());
  return first;
}

async function solve(image: Tensor, ms: number): Promise<Tensor> {
  const rows = image.sum(1);
  await sleep(ms);
  using columns = image.sum(0);
  try {
    if (ms < 0) throw new Error("no stars");
    return rows.outer(columns);
  } finally {
    rows.dispose();
  }
}

/** Looks at the sky for a while. */
export async function run(): Promise<number> {
  const darks = new Darks();
  await using stacker = new Stacker();
  const queue = new Channel<Frame>();
  const crew = [1, 2].map(() => work(queue, darks, stacker));
  for await (const frame of expose([1, 2, 1, 2, 1, 2, 1], new AbortController().signal)) {
    if (frame.id === 5) {
      frame.raw.dispose();
      break;
    }
    queue.send(frame);
  }
  for (let id = 10; id < 14; id++) queue.send({ id, seconds: 2, raw: rand(SHAPE) });
  for (const { raw } of queue.close()) raw.dispose();
  const extra = { id: 20, seconds: 1, raw: rand(SHAPE) };
  if (!queue.send(extra)) extra.raw.dispose();
  const counts = await Promise.all(crew);
  await darks.retake(1);
  const reader = stacker.previews().getReader();
  for (let i = 0; i < 2; i++) {
    const { value } = await reader.read();
    value?.dispose();
    await sleep(0);
  }
  await reader.cancel();
  using mean = stacker.mean();
  const solved = await Promise.all([inTime(solve(mean, 0), 50), inTime(solve(mean, 4), 1)]);
  await solve(mean, -1).catch(() => null);
  await sleep(5);
  for (const field of solved) field?.dispose();
  await darks.close();
  return counts.reduce((a, b) => a + b);
}
