/**
 * A hierarchy of things that own tensors: sources of images, augmentations around them, a pool that
 * lends, and a store that loads several at once.
 */
import { type Tensor, concat, newDisposeScope, rand, stack, tensor, zeros } from "tenure";

abstract class Resource implements Disposable {
  #disposed = false;

  /** Ends what the subclass owns. */
  protected abstract release(): void;

  get disposed(): boolean {
    return this.#disposed;
  }
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.release();
  }
}

abstract class Source extends Resource {
  /** The image at a place, which the caller ends. */
  abstract read(i: number): Tensor;

  *images(count: number): Generator<Tensor> {
    for (let i = 0; i < count; i++) {
      const image = this.read(i);
      try {
        yield image;
      } finally {
        image.dispose();
      }
    }
  }
}

class Gallery extends Source {
  readonly #images: Tensor[];

  constructor(count: number) {
    super();
    this.#images = Array.from({ length: count }, () => rand([2, 2]));
  }
  read(i: number): Tensor {
    return this.#images[i % this.#images.length]!.alias();
  }
  replace(i: number, image: Tensor): void {
    this.#images[i]?.dispose();
    this.#images[i] = image;
  }
  protected release(): void {
    for (const image of this.#images) image.dispose();
  }
}

class Brightened extends Source {
  readonly #inner: Source;
  readonly #gain: Tensor;

  constructor(inner: Source, gain: number) {
    super();
    this.#inner = inner;
    this.#gain = tensor([gain]);
  }
  read(i: number): Tensor {
    using image = this.#inner.read(i);
    return image.mul(this.#gain);
  }
  protected release(): void {
    this.#gain.dispose();
    this.#inner[Symbol.dispose]();
  }
}

class Cached extends Source {
  readonly #inner: Source;
  readonly #seen = new Map<number, Tensor>();

  constructor(inner: Source) {
    super();
    this.#inner = inner;
  }
  read(i: number): Tensor {
    const seen = this.#seen.get(i);
    if (seen !== undefined) return seen.alias();
    const image = this.#inner.read(i);
    this.#seen.set(i, image);
    return image.alias();
  }
  invalidate(i: number): void {
    const old = this.#seen.get(i);
    if (old === undefined) return;
    this.#seen.delete(i);
    old.dispose();
  }
  protected release(): void {
    for (const image of this.#seen.values()) image.dispose();
    this.#seen.clear();
    this.#inner[Symbol.dispose]();
  }
}

/** Lends scratch tensors, and takes them back. */
class Pool extends Resource {
  readonly #free: Tensor[] = [];

  borrow(): Tensor {
    return this.#free.pop() ?? zeros([2, 2]);
  }
  giveBack(scratch: Tensor): void {
    if (this.disposed || this.#free.length >= 2) scratch.dispose();
    else this.#free.push(scratch);
  }
  protected release(): void {
    this.#free.splice(0).forEach((t) => t.dispose());
  }
}

async function load(name: string): Promise<Tensor> {
  await Promise.resolve();
  if (name === "") throw new Error("no name");
  return tensor(Array.from(name, (c) => c.charCodeAt(0)));
}

/** Loads all, or none. */
async function loadAll(names: readonly string[]): Promise<Tensor> {
  const results = await Promise.allSettled(names.map((name) => load(name)));
  const loaded = results.flatMap((r) => (r.status === "fulfilled" ? [r.value] : []));
  try {
    if (loaded.length < names.length) throw new Error("some are missing");
    return concat(loaded);
  } finally {
    for (const t of loaded) t.dispose();
  }
}

async function pairs(a: string, b: string): Promise<number> {
  const [first, second] = await Promise.all([load(a), load(b)]);
  let read: Promise<number>;
  {
    using scope = newDisposeScope("pair");
    scope.attach(first, second);
    read = concat([first, second]).max().item();
  }
  return read;
}

/** Reads through all the layers. */
export async function run(): Promise<number> {
  const gallery = new Gallery(3);
  gallery.replace(1, rand([2, 2]));
  using source = new Cached(new Brightened(gallery, 2));
  using pool = new Pool();
  let total = 0;
  for (const image of source.images(4)) {
    const scratch = pool.borrow();
    using sum = scratch.add(image);
    total += sum.size;
    pool.giveBack(scratch);
  }
  source.invalidate(0);
  const some = [source.read(0), source.read(1)];
  using both = stack(some);
  some.forEach((t) => t.dispose());
  total += both.size + (await pairs("ab", "c"));
  using all = await loadAll(["x", "yz"]);
  await loadAll(["x", ""]).catch(() => undefined);
  return total + all.size;
}
