/**
 * Spectrograms of a stream of sound: chunks of any length come in, windows that overlap go through
 * a Fourier matrix and a bank of filters, and columns go to whoever listens.
 */
import {
  type Tensor,
  arange,
  concat,
  linspace,
  manualSeed,
  newDisposeScope,
  outer,
  randn,
  scoped,
  stack,
  zeros,
} from "tenure";

type Settings = Readonly<Record<"size" | "hop" | "bands", number>>;

/** Cosines and sines of a size, each [size, bins]. */
type Basis = Readonly<Record<"cos" | "sin", Tensor>>;

/** Gets a column of bands, which it must end, and when it began. */
type Listener = (column: Tensor, at: number) => void;

const bases = new Map<number, Basis>();

function basisOf(size: number): Basis {
  let basis = bases.get(size);
  if (basis === undefined) {
    basis = scoped(() => {
      const times = arange(size).float();
      const bins = arange(size / 2 + 1).float();
      const angles = outer(times, bins).mul((2 * Math.PI) / size);
      return { cos: angles.cos().detachFromScope(), sin: angles.sin().detachFromScope() };
    });
    bases.set(size, basis);
  }
  return basis;
}

function dropBases(): void {
  for (const { cos, sin } of bases.values()) {
    cos.dispose();
    sin.dispose();
  }
  bases.clear();
}

/** Hann's window. */
const hann = (size: number): Tensor =>
  scoped(() => linspace(0, Math.PI, size).sin().square().contiguous());

/** Triangles over the bins, [bins, bands]. */
function filterBank(bins: number, bands: number): Tensor {
  using _scope = newDisposeScope("filter bank");
  const centres = linspace(0, bins - 1, bands).unsqueeze(0);
  const width = bins / bands + 1;
  const distance = arange(bins).float().unsqueeze(1).sub(centres).abs();
  return distance.div(-width).add(1).relu().moveToOuter();
}

/** Cuts windows, which are the caller's to end. */
function createCutter({ size, hop }: Settings) {
  let rest: Tensor | null = null;
  return {
    *push(chunk: Tensor): Generator<Tensor> {
      const joined = rest === null ? chunk.alias() : concat([rest, chunk]);
      rest?.dispose();
      rest = null;
      let start = 0;
      for (; start + size <= joined.size; start += hop) yield joined.slice(0, start, start + size);
      if (start < joined.size) rest = joined.slice(0, start);
      joined.dispose();
    },
    /** Pads what is left to a last window. */
    flush(): Tensor | null {
      if (rest === null) return null;
      using missing = zeros([Math.max(size - rest.size, 0)]);
      const last = concat([rest, missing]);
      rest.dispose();
      rest = null;
      return last;
    },
    [Symbol.dispose]: () => rest?.dispose(),
  };
}

/** A floor of noise: what is learned in one buffer while the other is in use. */
class NoiseFloor {
  #shown: Tensor;
  #learned: Tensor;
  #seen = 0;

  constructor(bands: number, start?: Tensor) {
    this.#shown = start?.clone() ?? zeros([bands]);
    this.#learned = zeros([bands]);
  }

  subtract(column: Tensor): Tensor {
    using difference = column.sub(this.#shown);
    return difference.relu();
  }

  learn(column: Tensor): void {
    const least = this.#learned.lerp(column, 0.2);
    this.#learned.dispose();
    this.#learned = least;
    if (++this.#seen % 4 > 0) return;
    const before = this.#shown;
    this.#shown = this.#learned;
    this.#learned = zeros(before.shape);
    before.dispose();
  }

  dispose(): void {
    this.#shown.dispose();
    this.#learned.dispose();
  }
}

class Analyser implements AsyncDisposable {
  readonly #listeners: Record<"column" | "raw", Listener[]> = { column: [], raw: [] };
  readonly #settings: Settings;
  readonly #window: Tensor;
  readonly #bank: Tensor;
  readonly #cutter: ReturnType<typeof createCutter>;
  readonly #floor: NoiseFloor;
  #at = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#window = hann(settings.size);
    this.#bank = filterBank(settings.size / 2 + 1, settings.bands);
    this.#cutter = createCutter(settings);
    this.#floor = new NoiseFloor(settings.bands);
  }

  on(event: "column" | "raw", listener: Listener): void {
    this.#listeners[event].push(listener);
  }

  #emit(event: "column" | "raw", column: Tensor): void {
    for (const listener of this.#listeners[event]) listener(column.alias(), this.#at);
  }

  async write(chunk: Tensor): Promise<number> {
    let level = 0;
    for (const samples of this.#cutter.push(chunk)) {
      using part = samples;
      level += await this.#analyse(part);
    }
    return level;
  }

  async #analyse(samples: Tensor): Promise<number> {
    using bands = this.#bandsOf(samples);
    this.#floor.learn(bands);
    using clean = this.#floor.subtract(bands);
    this.#emit("raw", bands);
    this.#emit("column", clean);
    this.#at += this.#settings.hop;
    using loudest = clean.max();
    return await loudest.item();
  }

  #bandsOf(samples: Tensor): Tensor {
    return scoped(() => {
      const { cos, sin } = basisOf(this.#settings.size);
      const row = samples.mul(this.#window).unsqueeze(0);
      const power = row.matmul(cos).square().add(row.matmul(sin).square());
      return power.matmul(this.#bank).log1p().squeeze(0);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const last = this.#cutter.flush();
    if (last !== null) await this.#analyse(last);
    last?.dispose();
    this.#cutter[Symbol.dispose]();
    this.#floor.dispose();
    this.#window.dispose();
    this.#bank.dispose();
  }
}

/** A microphone: each chunk is the consumer's. */
async function* microphone(lengths: readonly number[]): AsyncGenerator<Tensor> {
  for (const length of lengths) {
    await Promise.resolve();
    yield randn([length]);
  }
}

/** Listens for a while, and counts what was heard. */
export async function run(): Promise<number> {
  manualSeed(11);
  const picture: Tensor[] = [];
  let total = 0,
    peak: Tensor | null = null;
  {
    await using analyser = new Analyser({ size: 16, hop: 6, bands: 5 });
    analyser.on("column", (column) => picture.push(column));
    analyser.on("raw", (column) => {
      using loudest = column.max();
      const higher: Tensor = peak === null ? loudest.alias() : peak.maximum(loudest);
      peak?.dispose();
      peak = higher;
      column.dispose();
    });
    for await (const chunk of microphone([20, 9, 31, 14])) {
      total += await analyser.write(chunk);
      chunk.dispose();
    }
  }
  using image = stack(picture, 1);
  for (const column of picture.splice(0)) column.dispose();
  using brightest = image.mean();
  total += await brightest.item();
  (peak as Tensor | null)?.dispose();
  dropBases();
  return total;
}
