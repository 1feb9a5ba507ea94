/**
 * Watches a network of seismometers. Stations send packets of samples in three components, a small
 * net picks the waves that arrive, arrivals at several stations are located as one quake, and the
 * quake is compared with earlier ones. Who listens gets a bulletin.
 */
import { type Tensor, concat, manualSeed, newDisposeScope, noGrad, rand, scoped } from "tenure";
import { stack, tensor, zeros } from "tenure";
import { Conv1d, Module, functional as F } from "tenure/nn";
import { Adam } from "tenure/optim";

const WINDOW = 64;
const PACKET = 16;
const LAG = 4;
const SPEED = 6;
const SPAN = 1;
const QUORUM = 3;
const MOST_TEMPLATES = 2;
const PHASES = ["noise", "P", "S"] as const;

type Packet = Readonly<{ station: string; sequence: number; samples: Float32Array }>;
type Bulletin = Readonly<{ id: string; x: number; y: number; like: string | null }>;
type Listener = (bulletin: Bulletin, traces: Tensor) => void;
/** Whoever holds it ends the trace. */
type Arrival = Readonly<{ station: Station; time: number; score: number; trace: Tensor }>;

class Station implements Disposable {
  readonly place: readonly number[];
  readonly #gain: Tensor;
  #window = zeros([3, WINDOW]);
  #next = 0;

  constructor(place: readonly number[], gains: readonly number[]) {
    this.place = place;
    this.#gain = tensor(gains, { shape: [3, 1] });
  }

  /** Says whether the packet was news. */
  push({ sequence, samples }: Packet): boolean {
    if (sequence < this.#next) return false;
    if (sequence > this.#next) {
      this.#window.dispose(); // what was missed would lie in it
      this.#window = zeros([3, WINDOW]);
    }
    using counts = tensor(samples, { shape: [3, PACKET] });
    using ground = counts.div(this.#gain);
    using kept = this.#window.slice(1, PACKET);
    const shifted = concat([kept, ground], 1);
    this.#window.dispose();
    this.#window = shifted;
    this.#next = sequence + 1;
    return true;
  }

  /** What the ground did of late, each component with mean 0 and deviation 1. The caller's. */
  recent(): Tensor {
    return scoped(() => {
      const centred = this.#window.sub(this.#window.mean(1, true));
      return centred.div(centred.square().mean(1, true).sqrt().add(1e-6));
    });
  }

  [Symbol.dispose](): void {
    this.#window.dispose();
    this.#gain.dispose();
  }
}

class Picker extends Module<[traces: Tensor]> {
  readonly stem = new Conv1d(3, 8, 5, { padding: 2 });
  readonly head = new Conv1d(8, PHASES.length, 5, { padding: 2 });

  forward(traces: Tensor): Tensor {
    return scoped(() => this.head.call(this.stem.call(traces).relu()));
  }
}

class Templates implements Disposable {
  readonly #byId = new Map<string, Tensor>();
  #bank: Tensor | null = null;

  /** Takes the trace over. */
  add(id: string, trace: Tensor): void {
    this.#byId.set(id, trace);
    for (const [oldest, template] of this.#byId) {
      if (this.#byId.size <= MOST_TEMPLATES) break;
      this.#byId.delete(oldest);
      template.dispose();
    }
    this.#bank?.dispose();
    this.#bank = null;
  }

  /** The quake most like a trace, whatever the lag. */
  async closest(trace: Tensor): Promise<string | null> {
    const ids = [...this.#byId.keys()];
    if (ids.length === 0) return null;
    const bank = (this.#bank ??= stack([...this.#byId.values()]));
    using closest = scoped(() => {
      const padded = F.pad(trace.unsqueeze(0), [LAG, LAG]);
      return F.conv1d(padded, bank).squeeze(0).max(1).argMax();
    });
    return ids[await closest.item()]!;
  }

  [Symbol.dispose](): void {
    for (const template of this.#byId.values()) template.dispose();
    this.#bank?.dispose();
  }
}

class Associator implements Disposable {
  #waiting: Arrival[] = [];

  /** Takes an arrival over; gives a group away as soon as it is complete. */
  offer(arrival: Arrival): Arrival[] | null {
    const isStale = ({ time }: Arrival): boolean => time < arrival.time - SPAN;
    for (const stale of this.#waiting.filter(isStale)) stale.trace.dispose();
    this.#waiting = this.#waiting.filter((waiting) => !isStale(waiting));
    const i = this.#waiting.findIndex(({ station }) => station === arrival.station);
    if (i < 0) this.#waiting.push(arrival);
    else if (this.#waiting[i]!.score < arrival.score) {
      this.#waiting[i]!.trace.dispose();
      this.#waiting[i] = arrival;
    } else arrival.trace.dispose();
    return this.#waiting.length < QUORUM ? null : this.#waiting.splice(0);
  }

  [Symbol.dispose](): void {
    for (const { trace } of this.#waiting) trace.dispose();
  }
}

async function descend(source: Tensor, places: Tensor, times: Tensor): Promise<number> {
  using adam = new Adam([source], { lr: 0.05 });
  let residual = Infinity;
  for (let step = 0; step < 8; step++) {
    using scope = newDisposeScope("locate");
    const distance = places.sub(source.slice(0, 0, 2)).norm(2, 1);
    const loss = F.huberLoss(distance.div(SPEED).add(source.slice(0, 2)), times);
    adam.zeroGrad();
    loss.backward();
    adam.step();
    residual = await scope.wait(loss.item());
  }
  return residual;
}

/** [x, y, time], the best from several starts. The caller's. */
async function locate(arrivals: readonly Arrival[], starts: number): Promise<Tensor> {
  using places = tensor(arrivals.map(({ station }) => station.place));
  using times = tensor(arrivals.map(({ time }) => time - arrivals[0]!.time));
  let best: { source: Tensor; residual: number } | null = null;
  for (let start = 0; start < starts; start++) {
    const source = rand([3], { requiresGrad: true });
    const residual = await descend(source, places, times);
    if (best !== null && residual >= best.residual) {
      source.dispose();
      continue;
    }
    best?.source.dispose();
    best = { source, residual };
  }
  if (best === null) throw new RangeError("no start to locate from");
  return best.source;
}

class Monitor implements Disposable {
  threshold = 0.5;
  readonly #stations = new Map<string, Station>();
  readonly #picker = new Picker().eval();
  readonly #templates = new Templates();
  readonly #associator = new Associator();
  readonly #listeners = new Set<Listener>();
  #quakes = 0;

  /** Takes a station over; it replaces one of that name. */
  install(name: string, station: Station): void {
    this.#stations.get(name)?.[Symbol.dispose]();
    this.#stations.set(name, station);
  }

  /** Listeners borrow the traces. Call the result to hear no more. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async ingest(packet: Packet): Promise<Bulletin | null> {
    const station = this.#stations.get(packet.station);
    if (station === undefined) throw new RangeError(`no station ${packet.station}`);
    if (!station.push(packet)) return null;
    const arrival = await this.#pick(station, packet.sequence);
    const group = arrival === null ? null : this.#associator.offer(arrival);
    return group === null ? null : await this.#publish(group);
  }

  async #pick(station: Station, time: number): Promise<Arrival | null> {
    const trace = station.recent();
    using batch = trace.unsqueeze(0);
    using logits = noGrad(() => this.#picker.call(batch));
    using best = scoped(() => logits.softmax(1).select(1, PHASES.indexOf("P")).max());
    const score = await best.item();
    if (score >= this.threshold) return { station, time, score, trace };
    trace.dispose();
    return null;
  }

  async #publish(arrivals: Arrival[]): Promise<Bulletin> {
    using traces = stack(arrivals.map(({ trace }) => trace));
    try {
      const id = `quake-${String(++this.#quakes)}`;
      using source = await locate(arrivals, 3);
      using typical = traces.mean(0);
      const [x = 0, y = 0] = await source.data();
      const like = await this.#templates.closest(typical);
      this.#templates.add(id, typical.alias());
      const bulletin = { id, x, y, like };
      for (const listener of this.#listeners) listener(bulletin, traces);
      return bulletin;
    } finally {
      for (const { trace } of arrivals) trace.dispose();
    }
  }

  [Symbol.dispose](): void {
    for (const station of this.#stations.values()) station[Symbol.dispose]();
    for (const owned of [this.#templates, this.#associator, this.#picker]) owned[Symbol.dispose]();
  }
}

function* recorded(names: readonly string[], count: number): Generator<Packet> {
  for (let i = 0; i < count; i++) {
    const sequence = Math.floor(i / names.length) - (i === 6 ? 1 : 0);
    const samples = Float32Array.from({ length: 3 * PACKET }, (_, t) => Math.sin(t + i));
    yield { station: names[i % names.length]!, sequence, samples };
  }
}

export async function run(): Promise<number> {
  manualSeed(8);
  using monitor = new Monitor();
  const names = ["ALPE", "BREN", "COGN", "DOLO"];
  for (const [i, name] of names.entries())
    monitor.install(name, new Station([i % 2, i >> 1], [2, 2, 1.5]));
  monitor.install("DOLO", new Station([1, 1], [1, 1, 1]));
  let located = 0;
  const shown: Tensor[] = [];
  const leave = monitor.listen(({ id }, traces) => {
    shown.pop()?.dispose();
    shown.push(traces.alias());
    if (id === "quake-2") throw new Error("the wall is off line");
  });
  for (const packet of recorded(names, 30)) {
    monitor.threshold = packet.sequence % 3 === 0 || packet.station < "B" ? 0.9 : 0;
    if ((await monitor.ingest(packet).catch(() => null)) !== null) located++;
    if (located === 2) leave();
  }
  for (const traces of shown) traces.dispose();
  return located;
}
