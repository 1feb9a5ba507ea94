/**
 * The forecasts of a harbour office: gauges report water levels, the service takes the tide out,
 * and lets a small recurrent net guess the surge.
 */
import {
  arange,
  concat,
  manualSeed,
  newDisposeScope,
  noGrad,
  stack,
  tensor,
  valueAndGrad,
  zeros,
  type Tensor,
} from "tenure";
import { GRU, Linear, Module, functional } from "tenure/nn";
import { RMSprop, clipGradNorm } from "tenure/optim";

const WINDOW = 24;
const HORIZON = 6;
const PERIODS = [12.42, 12, 23.93, 25.82]; // hours per cycle of the tides M2, S2, K1, O1

class Signal<T> {
  private readonly listeners = new Set<(value: T) => void>();

  on(listener: (value: T) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  emit(value: T): void {
    for (const listener of this.listeners) listener(value);
  }
}

/** Sines and cosines of the tides at hours `from` to `from + count`: [count, 2 * tides]. */
function tides(from: number, count: number): Tensor {
  using scope = newDisposeScope("tides");
  const hours = arange(from, from + count).unsqueeze(1);
  const speeds = tensor(PERIODS.map((p) => (2 * Math.PI) / p)).unsqueeze(0);
  const angles = hours.mul(speeds);
  return scope.moveToOuter(concat([angles.sin(), angles.cos()], 1));
}

/** A gauge: its last levels and the tide as it was seen there. */
class Gauge implements Disposable {
  private levels = zeros([WINDOW]);
  private coefficients = zeros([2 * PERIODS.length, 1]);
  private hour = 0;

  get now(): number {
    return this.hour;
  }

  push(readings: readonly number[]): void {
    using fresh = tensor([...readings]);
    using all = concat([this.levels, fresh]);
    this.levels.dispose();
    this.levels = all.slice(0, readings.length, readings.length + WINDOW);
    this.hour += readings.length;
  }

  /** Fits the tide to the window by a few steps downhill; gives the error of the last one. */
  async fitTide(steps: number): Promise<number> {
    using basis = tides(this.hour - WINDOW, WINDOW);
    using levels = this.levels.unsqueeze(1);
    const descend = valueAndGrad((c: Tensor) => basis.matmul(c).sub(levels).square().mean());
    let error = 0;
    for (let i = 0; i < steps; i++) {
      const { value, grads } = descend(this.coefficients);
      const [slope] = grads as [Tensor];
      using step = slope.mul(0.1);
      slope.dispose();
      const better = this.coefficients.sub(step);
      this.coefficients.dispose();
      this.coefficients = better;
      error = await value.item();
      value.dispose();
    }
    return error;
  }

  tide(from: number, count: number): Tensor {
    using basis = tides(from, count);
    using column = basis.matmul(this.coefficients);
    return column.squeeze(1);
  }

  surge(): Tensor {
    using tide = this.tide(this.hour - WINDOW, WINDOW);
    return this.levels.sub(tide);
  }

  [Symbol.dispose](): void {
    this.levels.dispose();
    this.coefficients.dispose();
  }
}

class SurgeNet extends Module<[surges: Tensor]> {
  readonly memory = new GRU(1, 8);
  readonly head = new Linear(8, HORIZON);

  /** [N, WINDOW] to [N, HORIZON] */
  forward(surges: Tensor): Tensor {
    using steps = surges.transpose();
    using input = steps.unsqueeze(2);
    const { output, hidden } = this.memory.call(input);
    output.dispose();
    using state = hidden;
    using last = state.squeeze(0);
    return this.head.call(last);
  }
}

interface Forecast {
  readonly gauge: string;
  readonly issued: number;
  readonly levels: Tensor;
}

/** The forecasts asked for last. It owns their levels; who gets one borrows it. */
class ForecastBook {
  private readonly pages = new Map<string, Forecast>();
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  find(gauge: string, hour: number): Forecast | undefined {
    const page = this.pages.get(gauge);
    return page?.issued === hour ? page : undefined;
  }

  add(forecast: Forecast): void {
    this.drop(forecast.gauge);
    this.pages.set(forecast.gauge, forecast);
    if (this.pages.size <= this.capacity) return;
    const [oldest] = this.pages.keys();
    this.drop(oldest!);
  }

  drop(gauge: string): void {
    this.pages.get(gauge)?.levels.dispose();
    this.pages.delete(gauge);
  }

  clear(): void {
    for (const gauge of [...this.pages.keys()]) this.drop(gauge);
  }
}

/** Listens for forecasts and remembers the highest water of each gauge. */
class Alarm implements Disposable {
  private readonly peaks = new Map<string, Tensor>();
  private readonly stop: () => void;

  constructor(issued: Signal<Forecast>) {
    this.stop = issued.on((forecast) => {
      this.note(forecast);
    });
  }

  private note({ gauge, levels }: Forecast): void {
    using peak = levels.max();
    const before = this.peaks.get(gauge);
    this.peaks.set(gauge, before ? before.maximum(peak) : peak.alias());
    before?.dispose();
  }

  async raised(quay: number): Promise<string[]> {
    const names = [...this.peaks.keys()];
    if (names.length === 0) return [];
    using all = stack([...this.peaks.values()]);
    using above = all.gt(quay);
    const flags = await above.data();
    return names.filter((_, i) => flags[i]);
  }

  [Symbol.dispose](): void {
    this.stop();
    for (const peak of this.peaks.values()) peak.dispose();
    this.peaks.clear();
  }
}

class TideService implements AsyncDisposable {
  readonly issued = new Signal<Forecast>();
  private readonly gauges = new Map<string, Gauge>();
  private readonly net = new SurgeNet();
  private readonly optimizer = new RMSprop(this.net.parameters(), { lr: 1e-3 });
  private readonly book = new ForecastBook(2);
  private queue: Promise<unknown> = Promise.resolve();

  async ingest(name: string, readings: readonly number[]): Promise<void> {
    let gauge = this.gauges.get(name);
    if (!gauge) this.gauges.set(name, (gauge = new Gauge()));
    gauge.push(readings);
    await gauge.fitTide(2);
  }

  /** Requests are answered one after the other. */
  private enqueue<T>(job: () => Promise<T>): Promise<T> {
    const answer = this.queue.then(job);
    this.queue = answer.catch(() => undefined);
    return answer;
  }

  forecast(name: string): Promise<number[]> {
    return this.enqueue(async () => [...(await this.page(name).levels.data())]);
  }

  difference(a: string, b: string): Promise<number[]> {
    return this.enqueue(async () => {
      const first = this.page(a).levels.alias();
      try {
        using difference = first.sub(this.page(b).levels);
        return [...(await difference.data())];
      } finally {
        first.dispose();
      }
    });
  }

  /** Belongs to the book. */
  private page(name: string): Forecast {
    const gauge = this.gauges.get(name);
    if (!gauge) throw new RangeError(`no gauge is called ${name}`);
    const known = this.book.find(name, gauge.now);
    if (known) return known;
    using surge = gauge.surge();
    using row = surge.unsqueeze(0);
    using guess = noGrad(() => this.net.call(row));
    using rise = guess.squeeze(0);
    using tide = gauge.tide(gauge.now, HORIZON);
    const forecast = { gauge: name, issued: gauge.now, levels: tide.add(rise) };
    this.book.add(forecast);
    this.issued.emit(forecast);
    return forecast;
  }

  async train(rounds: number): Promise<number[]> {
    const losses: number[] = [];
    const surges = [...this.gauges.values()].map((gauge) => gauge.surge());
    using all = stack(surges);
    for (const surge of surges) surge.dispose();
    for (let round = 0; round < rounds; round++) {
      let loss: Promise<number>;
      {
        using _scope = newDisposeScope("train");
        const seen = all.slice(1, 0, WINDOW - HORIZON);
        const wanted = all.slice(1, WINDOW - HORIZON, WINDOW);
        this.optimizer.zeroGrad();
        const error = functional.smoothL1Loss(this.net.call(seen), wanted);
        error.backward();
        clipGradNorm(this.net.parameters(), 0.5);
        this.optimizer.step();
        loss = error.item();
      }
      losses.push(await loss);
    }
    return losses;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.queue;
    this.book.clear();
    for (const gauge of this.gauges.values()) gauge[Symbol.dispose]();
    this.optimizer.dispose();
    this.net.dispose();
  }
}

/** Levels as a gauge would send them. */
function* readings(phase: number, hours: number): Generator<number[]> {
  for (let h = 0; h < hours; h += 8)
    yield Array.from({ length: 8 }, (_, i) => 2 + Math.sin((h + i + phase) / 2) + (h + i) / 50);
}

export async function run(): Promise<string[]> {
  manualSeed(5);
  await using service = new TideService();
  using alarm = new Alarm(service.issued);
  const names = ["mole", "lock", "island"];
  for (const [i, name] of names.entries())
    for (const levels of readings(i, 32)) await service.ingest(name, levels);

  const losses = await service.train(3);
  const answers = await Promise.all([
    ...names.map((name) => service.forecast(name)),
    service.forecast("island"),
    service.difference("mole", "lock"),
  ]);
  const refused = await service.difference("mole", "dyke").catch(String);
  await service.ingest("lock", [2.5, 2.75, 3]);
  answers.push(await service.forecast("lock"));
  const raised = await alarm.raised(3.5);
  return [losses, ...answers, [refused], raised].map((row) => row.join(" "));
}
