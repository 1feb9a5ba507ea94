/**
 * A live dashboard: sensors publish readings on topics, widgets subscribe and draw from what they
 * keep. A reading belongs to the topic that publishes it and is lent to its listeners.
 */
import { type Tensor, concat, full, manualSeed, rand, randn, scoped, stack, zeros } from "tenure";

type Listener<T> = (value: T) => void;
type Unsubscribe = () => void;

/** Hands values to its listeners, and the newest one to those who come later. */
class Topic implements Disposable {
  readonly #listeners = new Set<Listener<Tensor>>();
  #latest: Tensor | undefined;

  get latest(): Tensor | undefined {
    return this.#latest;
  }

  /** Takes the reading over. */
  publish(reading: Tensor): void {
    this.#latest?.dispose();
    this.#latest = reading;
    for (const listener of this.#listeners) listener(reading);
  }

  subscribe(listener: Listener<Tensor>): Unsubscribe {
    this.#listeners.add(listener);
    if (this.#latest !== undefined) listener(this.#latest);
    return () => void this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#listeners.clear();
    this.#latest?.dispose();
    this.#latest = undefined;
  }
}

/** Draws from what it receives. */
abstract class Widget implements Disposable {
  readonly title: string;
  readonly #unsubscribe: Unsubscribe;

  constructor(title: string, topic: Topic) {
    this.title = title;
    this.#unsubscribe = topic.subscribe((reading) => this.receive(reading));
  }

  protected abstract receive(reading: Tensor): void;
  abstract draw(): Promise<string>;

  [Symbol.dispose](): void {
    this.#unsubscribe();
  }
}

/** The last readings, one below the other. */
class Chart extends Widget {
  declare private rows: Tensor[] | undefined;
  declare private capacity: number | undefined;

  protected override receive(reading: Tensor): void {
    this.rows ??= [];
    this.rows.push(reading.clone().detachFromScope());
    while (this.rows.length > (this.capacity ?? 3)) this.rows.shift()?.dispose();
  }

  async draw(): Promise<string> {
    if (this.rows === undefined || this.rows.length === 0) return `${this.title}: no data`;
    using picture = stack(this.rows);
    using flipped = picture.flip(0);
    return `${this.title}: ${String((await flipped.data()).length)} points`;
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    for (const row of this.rows ?? []) row.dispose();
    this.rows = undefined;
  }
}

/** A needle that follows the mean; two buffers take turns. */
class Gauge extends Widget {
  declare private front: Tensor | undefined;
  declare private back: Tensor | undefined;

  protected override receive(reading: Tensor): void {
    const mean = reading.mean();
    this.back?.dispose();
    this.back = this.front;
    this.front = mean;
  }

  async draw(): Promise<string> {
    if (this.front === undefined) return `${this.title}: -`;
    if (this.back === undefined) return `${this.title}: ${String(await this.front.item())}`;
    using change = this.front.sub(this.back);
    const [now, by] = await Promise.all([this.front.item(), change.item()]);
    return `${this.title}: ${String(now)} (${String(by)})`;
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.front?.dispose();
    this.back?.dispose();
  }
}

interface Alarm {
  readonly at: number;
  readonly excess: Tensor;
  readonly context: Tensor;
}

/** Collects alarms of readings above a limit. */
function alarms(topic: Topic, limit: Tensor) {
  let raised: Alarm[] = [];
  let count = 0;
  const stop = topic.subscribe((reading) => {
    const alarm = scoped(() => {
      const excess = reading.sub(limit).clamp(0).max();
      return { at: count++, excess, context: reading.slice(0, 0, 2).clone() };
    });
    raised.push(alarm);
  });
  const drop = (alarm: Alarm): void => {
    alarm.excess.dispose();
    alarm.context.dispose();
  };
  return {
    /** Alarms since a time; older ones are dropped. */
    since(at: number): readonly Alarm[] {
      for (const alarm of raised) if (alarm.at < at) drop(alarm);
      raised = raised.filter((alarm) => alarm.at >= at);
      return raised;
    },
    acknowledge(): void {
      const [first] = raised.splice(0, 1);
      if (first !== undefined) drop(first);
    },
    close(): void {
      stop();
      raised.forEach(drop);
      raised = [];
    },
  };
}

class Dashboard implements Disposable {
  readonly topics = new Map<string, Topic>();
  readonly #widgets = new Map<string, Widget>();

  topic(name: string): Topic {
    let topic = this.topics.get(name);
    if (topic === undefined) this.topics.set(name, (topic = new Topic()));
    return topic;
  }

  /** Puts a widget in a place, instead of the one there. */
  place(at: string, widget: Widget): void {
    this.#widgets.get(at)?.[Symbol.dispose]();
    this.#widgets.set(at, widget);
  }

  remove(at: string): void {
    this.#widgets.get(at)?.[Symbol.dispose]();
    this.#widgets.delete(at);
  }

  async draw(): Promise<string> {
    const lines: string[] = [];
    for (const widget of this.#widgets.values()) lines.push(await widget.draw());
    return lines.join("\n");
  }

  [Symbol.dispose](): void {
    for (const widget of this.#widgets.values()) widget[Symbol.dispose]();
    for (const topic of this.topics.values()) topic[Symbol.dispose]();
  }
}

/** A topic of both topics' newest readings. */
function joined(left: Topic, right: Topic, into: Topic): Unsubscribe {
  const join = (): void => {
    const { latest: a } = left,
      { latest: b } = right;
    if (a !== undefined && b !== undefined) into.publish(concat([a, b]));
  };
  const stops = [left.subscribe(join), right.subscribe(join)];
  return () => stops.forEach((stop) => stop());
}

/** Ticks some times, and draws after each. */
export async function run(ticks = 5): Promise<number> {
  manualSeed(8);
  using board = new Dashboard();
  using limit = full([4], 0.7);
  const heat = board.topic("heat"),
    load = board.topic("load");
  const unjoin = joined(heat, load, board.topic("both"));
  const watched = alarms(heat, limit);
  board.place("left", new Chart("heat", heat));
  board.place("right", new Gauge("load", load));
  board.place("below", new Chart("both", board.topic("both")));
  let drawn = 0;
  for (let tick = 0; tick < ticks; tick++) {
    heat.publish(rand([4]));
    using noise = randn([4]);
    load.publish(tick === 0 ? zeros([4]) : noise.abs());
    drawn += (await board.draw()).length;
    if (tick === 2) board.place("left", new Gauge("heat", heat));
    if (tick === 3) board.remove("below");
  }
  watched.acknowledge();
  for (const { excess } of watched.since(2)) drawn += await excess.item();
  watched.close();
  unjoin();
  return drawn;
}
