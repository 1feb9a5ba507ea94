/**
 * Simulates networks of spiking neurons: populations are wired by synapses with delays, probes
 * watch them, and weights learn from who fires with whom.
 */
import { type Tensor, bernoulli, full, newDisposeScope, scoped, stack, zeros } from "tenure";

/** Neurons of one kind. The spikes [n] of the newest step stay the population's. */
abstract class Population implements Disposable {
  readonly size: number;
  spikes: Tensor;
  #current: Tensor | null = null;

  constructor(size: number) {
    this.size = size;
    this.spikes = zeros([size]);
  }

  /** Adds to what flows in at the next step; takes the current over. */
  receive(current: Tensor): void {
    const before = this.#current;
    this.#current = before === null ? current.alias() : before.add(current);
    before?.dispose();
    current.dispose();
  }

  step(): void {
    const current = this.#current ?? zeros([this.size]);
    const fired = this.fire(current);
    current.dispose();
    this.#current = null;
    this.spikes.dispose();
    this.spikes = fired;
  }

  /** Who fires, given what flows in, which stays the caller's. */
  protected abstract fire(current: Tensor): Tensor;

  [Symbol.dispose](): void {
    this.#current?.dispose();
    this.spikes.dispose();
  }
}

class Noise extends Population {
  readonly #rates: Tensor;

  constructor(size: number, rate = 0.2) {
    super(size);
    this.#rates = full([size], rate);
  }

  protected override fire(): Tensor {
    return bernoulli(this.#rates);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#rates.dispose();
  }
}

/** Leaky integrators with a threshold that rises with every spike. */
class Adaptive extends Population {
  #voltage = zeros([this.size]);
  #threshold = full([this.size], 1);

  protected override fire(current: Tensor): Tensor {
    using scope = newDisposeScope("fire");
    const charged = this.#voltage.mul(0.9).add(current);
    const fired = charged.ge(this.#threshold).float();
    const voltage = charged.mul(fired.neg().add(1));
    const threshold = this.#threshold.lerp(fired.mul(0.5).add(1), 0.1);
    this.#voltage.dispose();
    this.#threshold.dispose();
    [this.#voltage, this.#threshold] = scope.detach(voltage, threshold);
    return scope.moveToOuter(fired);
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#voltage.dispose();
    this.#threshold.dispose();
  }
}

/** Spikes on their way: a ring with a place per step. */
class Delay implements Disposable {
  readonly #ring: (Tensor | undefined)[];
  #at = 0;

  constructor(steps: number) {
    this.#ring = Array.from({ length: steps }, () => undefined);
  }

  /** Puts spikes in, which stay the caller's; what has arrived is the caller's too. */
  push(spikes: Tensor): Tensor | undefined {
    const arrived = this.#ring[this.#at];
    this.#ring[this.#at] = spikes.alias();
    this.#at = (this.#at + 1) % this.#ring.length;
    return arrived;
  }

  [Symbol.dispose](): void {
    for (const spikes of this.#ring) spikes?.dispose();
  }
}

/** Connects two populations; weights [pre, post] grow where both fire. */
class Synapse implements Disposable {
  readonly from: Population;
  readonly to: Population;
  #weights: Tensor;
  #trace: { pre: Tensor; post: Tensor };
  readonly #delay: Delay;

  constructor(from: Population, to: Population, delay: number) {
    this.from = from;
    this.to = to;
    this.#weights = scoped(() => bernoulli(full([from.size, to.size], 0.6)).mul(0.3));
    this.#trace = { pre: zeros([from.size]), post: zeros([to.size]) };
    this.#delay = new Delay(delay);
  }

  transmit(): void {
    const arrived = this.#delay.push(this.from.spikes);
    if (arrived === undefined) return;
    this.to.receive(arrived.matmul(this.#weights));
    this.#learn(arrived);
    arrived.dispose();
  }

  #learn(pre: Tensor, rate = 0.01): void {
    const before = this.#trace;
    this.#trace = scoped(() => ({
      pre: before.pre.mul(0.8).add(pre),
      post: before.post.mul(0.8).add(this.to.spikes),
    }));
    before.pre.dispose();
    before.post.dispose();
    const weights = scoped(() => {
      const change = this.#trace.pre.outer(this.to.spikes).sub(pre.outer(this.#trace.post));
      return this.#weights.add(change.mul(rate)).clamp(0, 1);
    });
    this.#weights.dispose();
    this.#weights = weights;
  }

  [Symbol.dispose](): void {
    this.#weights.dispose();
    this.#trace.pre.dispose();
    this.#trace.post.dispose();
    this.#delay[Symbol.dispose]();
  }
}

function probe(of: Population, window = 3) {
  const kept: Tensor[] = [];
  return {
    sample(): void {
      kept.push(of.spikes.alias());
      if (kept.length > window) kept.shift()?.dispose();
    },
    async rate(): Promise<number> {
      using raster = stack(kept);
      using mean = raster.mean();
      return await mean.item();
    },
    [Symbol.dispose]: () => kept.forEach((spikes) => spikes.dispose()),
  };
}

class Network implements Disposable {
  readonly #populations: Population[] = [];
  #synapses: Synapse[] = [];

  add<P extends Population>(population: P): P {
    this.#populations.push(population);
    return population;
  }

  wire(from: Population, to: Population, delay = 2): void {
    this.#synapses.push(new Synapse(from, to, delay));
  }

  /** Cuts what leads from one population to another. */
  cut(from: Population, to: Population): void {
    const at = this.#synapses.findIndex((each) => each.from === from && each.to === to);
    if (at >= 0) for (const cut of this.#synapses.splice(at, 1)) cut[Symbol.dispose]();
  }

  *simulate(steps: number): Generator<number> {
    for (let step = 0; step < steps; step++) {
      for (const synapse of this.#synapses) synapse.transmit();
      for (const population of this.#populations) population.step();
      yield step;
    }
  }

  [Symbol.dispose](): void {
    for (const owned of [...this.#synapses, ...this.#populations]) owned[Symbol.dispose]();
  }
}

/** Simulates for a while, and leaves no tensor. */
export async function run(steps = 8): Promise<number> {
  using network = new Network();
  const input = network.add(new Noise(6)),
    cells = network.add(new Adaptive(4));
  for (const to of [cells, input]) network.wire(cells, to);
  network.wire(input, cells, 3);
  using watched = probe(cells);
  let rates = 0;
  for (const step of network.simulate(steps)) {
    watched.sample();
    if (step % 2 === 1) rates += 1 + (await watched.rate());
    if (step === 5) network.cut(cells, input);
  }
  return rates;
}
