/**
 * The page of a pottery studio. Its kilns send temperatures; a card per kiln follows them, a small
 * GRU says how the firing goes on, and a chart shows how the last firings went. Components are
 * functions with hooks, drawn by the few lines of runtime at the top.
 */
import { EventEmitter } from "node:events";
import { type Tensor, concat, newDisposeScope, noGrad, stack, tensor } from "tenure";
import { GRU, Linear, Module } from "tenure/nn";

type Cleanup = () => void;
type Deps = readonly unknown[];

interface Slot {
  value: unknown;
  deps: Deps | null;
  cleanup: Cleanup | null;
}

let rendering: Fiber;

function begin(fiber: Fiber): void {
  rendering = fiber;
}

/** A mounted component: the slots of its hooks, and the effects that wait for the render's end. */
class Fiber {
  readonly #slots: Slot[] = [];
  readonly effects: Cleanup[] = [];
  #next = 0;

  render(component: () => string): string {
    begin(this);
    this.#next = 0;
    const html = component();
    for (const effect of this.effects.splice(0)) effect();
    return html;
  }

  slot(): Slot {
    return (this.#slots[this.#next++] ??= { value: undefined, deps: null, cleanup: null });
  }

  unmount(): void {
    for (const slot of this.#slots) slot.cleanup?.();
    this.#slots.length = 0;
  }
}

function changed(before: Deps | null, now: Deps): boolean {
  return before === null || now.some((value, i) => !Object.is(value, before[i]));
}

function useState<T>(initial: T): [value: T, set: (next: T) => void] {
  const slot = rendering.slot();
  if (slot.deps === null) Object.assign(slot, { value: initial, deps: [] });
  return [slot.value as T, (next) => (slot.value = next)];
}

function useRef<T>(initial: T): { current: T } {
  return useState({ current: initial })[0];
}

function useEffect(effect: () => Cleanup, deps: Deps): void {
  const owner = rendering;
  const slot = owner.slot();
  if (!changed(slot.deps, deps)) return;
  slot.deps = deps;
  owner.effects.push(() => {
    slot.cleanup?.();
    slot.cleanup = effect();
  });
}

/** Like `useMemo`, for what has to be ended: with the component, or when `deps` change. */
function useResource<T extends Disposable>(make: () => T, deps: Deps): T {
  const slot = rendering.slot();
  if (changed(slot.deps, deps)) {
    slot.cleanup?.();
    const made = make();
    slot.value = made;
    slot.deps = deps;
    slot.cleanup = () => made[Symbol.dispose]();
  }
  return slot.value as T;
}

const WINDOW = 8;
const AHEAD = 2;

interface Kiln {
  readonly id: string;
  readonly recipe: string;
}

class Forecaster extends Module<[window: Tensor]> {
  readonly rnn = new GRU(1, 8, { batchFirst: true });
  readonly head = new Linear(8, AHEAD);

  /** [N, T, 1] → [N, AHEAD] */
  forward(window: Tensor): Tensor {
    const { output, hidden } = this.rnn.call(window);
    output.dispose();
    using state = hidden;
    using last = state.select(0, 0);
    return this.head.call(last);
  }

  async ahead(recent: Tensor): Promise<string> {
    using batch = recent.unsqueeze(0);
    using next = noGrad(() => this.call(batch));
    return Array.from(await next.data(), (v) => `${(v * 1300).toFixed(0)}°`).join(" → ");
  }
}

/** Keeps the traces of the last firings. */
class FiringLog implements Disposable {
  /** Lent to whoever draws them; newest last. */
  readonly firings: Tensor[] = [];
  readonly #feed: EventEmitter;
  version = 0;

  constructor(feed: EventEmitter) {
    this.#feed = feed;
    feed.on("finished", this.#keep);
  }

  /** The trace is the log's from now on. */
  readonly #keep = (trace: Tensor): void => {
    this.firings.push(trace);
    if (this.firings.length > 3) this.firings.shift()?.dispose();
    this.version++;
  };

  [Symbol.dispose](): void {
    this.#feed.off("finished", this.#keep);
    for (const firing of this.firings) firing.dispose();
    this.firings.length = 0;
  }
}

interface Studio {
  readonly feed: EventEmitter;
  readonly model: Forecaster;
  readonly log: FiringLog;
  /** Work that a render began and a later one shows. */
  readonly pending: Set<Promise<void>>;
}

function inBackground({ pending }: Studio, work: () => Promise<void>): void {
  const task: Promise<void> = work().finally(() => pending.delete(task));
  pending.add(task);
}

/** The last readings with the new ones behind them. Ends `recent`. */
function extended(recent: Tensor | null, celsius: readonly number[]): Tensor {
  using fresh = tensor([...celsius], { shape: [celsius.length, 1] });
  using scaled = fresh.div(1300);
  if (recent === null) return scaled.clone();
  using all = concat([recent, scaled]);
  recent.dispose();
  return all.slice(0, Math.max(0, all.shape[0]! - WINDOW));
}

function KilnCard({ studio, kiln }: { studio: Studio; kiln: Kiln }): string {
  const { feed, model } = studio;
  const recent = useRef<Tensor | null>(null);
  const [minutes, setMinutes] = useState(0);
  const [text, setText] = useState("waiting");
  useEffect(() => {
    let seen = 0;
    const follow = (celsius: readonly number[]): void => {
      recent.current = extended(recent.current, celsius);
      setMinutes((seen += celsius.length));
    };
    feed.on(kiln.id, follow);
    return () => {
      feed.off(kiln.id, follow);
      recent.current?.dispose();
      recent.current = null;
    };
  }, [feed, kiln.id]);

  useEffect(() => {
    let stale = false;
    // readings go on while the model thinks: it gets a handle of its own
    const window = recent.current?.alias();
    inBackground(studio, async () => {
      try {
        if (window === undefined || minutes < WINDOW / 2) return;
        const next = await model.ahead(window);
        if (!stale) setText(next);
      } finally {
        window?.dispose();
      }
    });
    return () => {
      stale = true;
    };
  }, [minutes]);

  return `<article><h2>${kiln.id}: ${kiln.recipe}</h2>${minutes} min, ${text}</article>`;
}

function bandOf(firings: readonly Tensor[]) {
  using scope = newDisposeScope("band");
  const all = stack(firings);
  const [middle, spread] = scope.moveToOuter(all.mean(0), all.std(0));
  return {
    middle,
    spread,
    [Symbol.dispose](): void {
      middle.dispose();
      spread.dispose();
    },
  };
}

function History({ studio }: { studio: Studio }): string {
  const { log } = studio;
  const [path, setPath] = useState("");
  const band = useResource(() => bandOf(log.firings), [log.version]);

  useEffect(() => {
    const reads = [band.middle.data(), band.spread.data()] as const;
    inBackground(studio, async () => {
      const [middle, spread] = await Promise.all(reads);
      setPath(Array.from(middle, (m, i) => `L${i} ${m}±${spread[i] ?? 0}`).join(" "));
    });
    return () => setPath("");
  }, [band]);

  return `<svg><path d="${path}"/></svg>`;
}

/** Mounts a card for each kiln and unmounts those of kilns that are gone. */
class Page implements Disposable {
  readonly #studio: Studio;
  readonly #fibers = new Map<string, Fiber>();

  constructor(studio: Studio) {
    this.#studio = studio;
  }

  async draw(kilns: readonly Kiln[]): Promise<string> {
    const studio = this.#studio;
    const shown = new Map<string, () => string>();
    for (const kiln of kilns) shown.set(kiln.id, () => KilnCard({ studio, kiln }));
    if (studio.log.firings.length > 1) shown.set("history", () => History({ studio }));
    for (const [key, fiber] of this.#fibers) {
      if (shown.has(key)) continue;
      fiber.unmount();
      this.#fibers.delete(key);
    }
    const html: string[] = [];
    for (const [key, component] of shown) {
      const fiber = this.#fibers.get(key) ?? new Fiber();
      this.#fibers.set(key, fiber);
      html.push(fiber.render(component));
    }
    await Promise.all(studio.pending);
    return html.join("\n");
  }

  [Symbol.dispose](): void {
    for (const fiber of this.#fibers.values()) fiber.unmount();
    this.#fibers.clear();
  }
}

/** The trace of a firing goes to whoever listens. */
function finish(feed: EventEmitter, celsius: readonly number[]): void {
  using raw = tensor([...celsius], { shape: [celsius.length, 1] });
  const trace = raw.div(1300);
  if (!feed.emit("finished", trace)) trace.dispose();
}

function ramp(from: number, rate: number): number[] {
  return Array.from({ length: WINDOW }, (_, i) => from + rate * i);
}

export async function run(): Promise<string> {
  const feed = new EventEmitter();
  finish(feed, ramp(20, 100)); // yesterday's, before anybody is at work
  using model = new Forecaster();
  using log = new FiringLog(feed);
  using page = new Page({ feed, model, log, pending: new Set() });

  const small: Kiln = { id: "small", recipe: "bisque" };
  const large: Kiln = { id: "large", recipe: "glaze" };
  let html = await page.draw([small, large]);
  for (const start of [20, 300, 580]) {
    feed.emit("small", [start, start + 70, start + 140, start + 210]);
    feed.emit("large", [start, start + 130]);
    html = await page.draw([small, large]);
  }
  for (const rate of [80, 95, 110]) finish(feed, ramp(20, rate));
  const next: Kiln = { id: "small", recipe: "raku" };
  html += await page.draw([next, large]);
  finish(feed, ramp(20, 100)); // one more than the log keeps
  html += await page.draw([next]);
  feed.emit("small", [800, 820]);
  feed.emit("large", [640]); // its sensor does not know that the kiln is sold
  return html + (await page.draw([next]));
}
