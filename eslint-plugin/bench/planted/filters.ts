/**
 * A bank of filters over a stream of samples: designs are cached, blocks overlap, and the energies
 * of the bands go to two buffers that change places.
 */
import {
  type Tensor,
  arange,
  concat,
  linspace,
  manualSeed,
  newDisposeScope,
  ones,
  randn,
  scoped,
  stack,
  tensor,
  zeros,
} from "tenure";
import { functional as F } from "tenure/nn";

const BLOCK = 16;

type Band = "low" | "mid" | "high";
type WindowName = "hann" | "box";

interface Design {
  readonly taps: number;
  readonly window?: WindowName;
  /** Applied to the output of the band. */
  readonly gain?: number;
}

const designs: Readonly<Record<Band, Design>> = {
  low: { taps: 5, window: "hann" },
  mid: { taps: 5, gain: 0.5 },
  high: { taps: 3, window: "hann", gain: 2 },
};

const windows = new Map<string, Tensor>();

/** A window from the cache, which keeps it. */
function windowOf(name: WindowName, taps: number): Tensor {
  const key = `${name}/${String(taps)}`;
  let found = windows.get(key);
  if (!found) {
    found =
      name === "box"
        ? ones([taps]).detachFromScope()
        : scoped(() => linspace(0, Math.PI, taps).sin().square()).detachFromScope();
    windows.set(key, found);
  }
  return found;
}

function clearWindows(): void {
  for (const window of windows.values()) window.dispose();
  windows.clear();
}

/** Coefficients [1, 1, taps] of a band around `centre`. */
function coefficients({ taps, window = "box" }: Design, centre: number): Tensor {
  using scope = newDisposeScope("coefficients");
  const wave = arange(0, taps).float().mul(centre).cos();
  return scope.moveToOuter(wave.mul(windowOf(window, taps)).reshape(1, 1, taps));
}

/** One band: keeps the end of a block, where the next begins. */
class Filter implements Disposable {
  readonly gain: number;
  readonly #kernel: Tensor;
  #tail: Tensor;

  constructor(design: Design, centre: number) {
    this.gain = design.gain ?? 1;
    this.#kernel = coefficients(design, centre);
    this.#tail = zeros([1, 1, design.taps - 1]);
  }

  process(block: Tensor): Tensor {
    using whole = concat([this.#tail, block], 2);
    const tail = whole.slice(2, BLOCK);
    this.#tail.dispose();
    this.#tail = tail;
    using filtered = F.conv1d(whole, this.#kernel);
    return this.gain === 1 ? filtered.alias() : filtered.mul(this.gain);
  }

  reset(): void {
    const { shape } = this.#tail;
    this.#tail.dispose();
    this.#tail = zeros(shape);
  }

  [Symbol.dispose](): void {
    this.#kernel.dispose();
    this.#tail.dispose();
  }
}

/** Energies of the newest block and the one before. */
class Meter {
  front: Tensor | null = null;
  back: Tensor | null = null;

  show(energies: Tensor): void {
    this.back?.dispose();
    this.back = this.front;
    this.front = energies;
  }

  /** How much each band has changed; nothing yet after a single block. */
  change(): Tensor | undefined {
    if (!this.front || !this.back) return undefined;
    return this.front.sub(this.back);
  }

  end(): void {
    this.front?.dispose();
    this.back?.dispose();
    this.front = this.back = null;
  }
}

/** Blocks of noise, as they come in. What is yielded is the consumer's. */
async function* microphone(blocks: number): AsyncGenerator<Tensor> {
  for (let i = 0; i < blocks; i++) {
    await Promise.resolve();
    yield randn([1, 1, BLOCK]);
  }
}

/** All bands of each block, by name. The records are the consumer's. */
async function* analyse(
  source: AsyncIterable<Tensor>,
  bank: ReadonlyMap<Band, Filter>,
): AsyncGenerator<Record<Band, Tensor>> {
  for await (const block of source) {
    const outputs: Partial<Record<Band, Tensor>> = {};
    for (const [band, filter] of bank) outputs[band] = filter.process(block);
    block.dispose();
    yield outputs as Record<Band, Tensor>;
  }
}

const energyOf = (signal: Tensor): Tensor => scoped(() => signal.square().mean());

function openBank(): Map<Band, Filter> {
  const bank = new Map<Band, Filter>();
  for (const [i, band] of (["low", "mid", "high"] as const).entries())
    bank.set(band, new Filter(designs[band], 0.4 + i));
  return bank;
}

/** Adds the bands up again, with or without weights of the caller. */
function resynthesize({ low, mid, high }: Record<Band, Tensor>, weights?: Tensor): Tensor {
  const used = weights ?? tensor([1, 1, 1]);
  using bands = concat([low, mid, high], 1);
  using column = used.reshape(1, 3, 1);
  using weighted = bands.mul(column);
  if (weights === undefined) used.dispose();
  return weighted.sum(1);
}

/** The whole program. */
export async function run(blocks = 5): Promise<number> {
  manualSeed(9);
  const bank = openBank();
  const meter = new Meter();
  const peaks: Tensor[] = [];
  let total = 0;
  try {
    for await (const bands of analyse(microphone(blocks), bank)) {
      const { low, mid, high } = bands;
      const energies = [low, mid, high].map(energyOf);
      meter.show(stack(energies));
      for (const energy of energies) energy.dispose();
      using mixed = resynthesize(bands);
      peaks.push(scoped(() => mixed.abs().max()));
      if (peaks.length > 3) peaks.splice(0, 1).forEach((peak) => peak.dispose());
      for (const signal of Object.values(bands)) signal.dispose();
      using change = meter.change();
      if (change === undefined) continue;
      using largest = change.max();
      total += await largest.item();
    }
    bank.get("mid")?.reset();
    using ramp = linspace(0, 1, BLOCK);
    using block = ramp.reshape(1, 1, BLOCK);
    using answer = bank.get("mid")!.process(block);
    for (const peak of peaks) total += await peak.item();
    return total + answer.size;
  } finally {
    for (const peak of peaks) peak.dispose();
    for (const filter of bank.values()) filter[Symbol.dispose]();
    meter.end();
    clearWindows();
  }
}
