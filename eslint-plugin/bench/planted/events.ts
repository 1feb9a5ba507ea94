/**
 * An app driven by events: frames of a camera come in, are smoothed and classified when a pause
 * comes, and listeners hear of it.
 */
import { type Tensor, newDisposeScope, noGrad, rand, scoped, stack, tensor } from "tenure";
import { BatchNorm1d, Linear, Sequential, SiLU } from "tenure/nn";

type Listener<T> = (value: T) => void;

class Emitter<Events extends Record<string, unknown>> {
  readonly #listeners = new Map<keyof Events, Set<Listener<never>>>();

  on<K extends keyof Events>(event: K, listener: Listener<Events[K]>): () => void {
    const all = this.#listeners.get(event) ?? new Set();
    all.add(listener);
    this.#listeners.set(event, all);
    return () => all.delete(listener);
  }
  emit<K extends keyof Events>(event: K, value: Events[K]): void {
    for (const listener of this.#listeners.get(event) ?? [])
      (listener as Listener<Events[K]>)(value);
  }
}

/** Calls `fn` once when calls have paused. */
function debounce<A extends readonly unknown[]>(
  fn: (...args: A) => void,
  ms: number,
  drop: (...args: A) => void,
): ((...args: A) => void) & { cancel: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined, pending: A | undefined;
  const cancel = (): void => {
    clearTimeout(timer);
    if (pending !== undefined) drop(...pending);
    pending = undefined;
  };
  return Object.assign(
    (...args: A): void => {
      cancel();
      pending = args;
      timer = setTimeout(() => {
        pending = undefined;
        fn(...args);
      }, ms);
    },
    { cancel },
  );
}

interface AppEvents extends Record<string, unknown> {
  /** Lent until the listener returns. */
  readonly frame: Tensor;
  readonly label: number;
}

class Camera {
  readonly events = new Emitter<AppEvents>();
  #background: Tensor | null = null;
  readonly #recent: Tensor[] = [];

  calibrate(): void {
    this.#background?.dispose();
    this.#background = scoped(() => rand([6]).mul(0.1));
  }

  shoot(): void {
    using raw = rand([6]);
    using frame = this.#background === null ? raw.alias() : raw.sub(this.#background);
    this.#recent.push(frame.clone());
    if (this.#recent.length > 3) {
      const [old] = this.#recent.splice(0, 1);
      old?.dispose();
    }
    this.events.emit("frame", frame);
  }

  /** Frames of late in one tensor; the caller's. */
  window(): Tensor | null {
    if (this.#recent.length === 0) return null;
    return stack(this.#recent);
  }

  stop(): void {
    this.#background?.dispose();
    this.#background = null;
    for (const frame of this.#recent.splice(0)) frame.dispose();
  }
}

class App {
  readonly camera = new Camera();
  readonly #model = new Sequential(new Linear(6, 4), new BatchNorm1d(4), new SiLU());
  #average: Tensor | null = null;
  readonly #off: (() => void)[] = [];
  readonly labels: number[] = [];
  readonly #classify = debounce(
    (window: Tensor) => {
      void this.classify(window);
    },
    1,
    (window: Tensor) => window.dispose(),
  );

  start(): void {
    this.#model.eval();
    this.camera.calibrate();
    this.#off.push(
      this.camera.events.on("frame", (frame) => this.#smooth(frame)),
      this.camera.events.on("frame", () => {
        const window = this.camera.window();
        if (window !== null) this.#classify(window);
      }),
      this.camera.events.on("label", (label) => this.labels.push(label)),
    );
  }

  #smooth(frame: Tensor): void {
    if (this.#average === null) {
      this.#average = frame.clone();
      return;
    }
    using part = frame.mul(0.1);
    const average = this.#average.mul(0.9);
    average.add_(part).dispose();
    this.#average.dispose();
    this.#average = average;
  }

  /** Takes the window. */
  async classify(window: Tensor): Promise<void> {
    let label: Promise<number>;
    {
      using scope = newDisposeScope("classify");
      scope.attach(window);
      label = noGrad(() => this.#model.call(window).argMax(1).max().item());
    }
    this.camera.events.emit("label", await label);
  }

  async distance(): Promise<number> {
    using origin = tensor([0, 0, 0, 0, 0, 0]);
    if (this.#average === null) return 0;
    using apart = this.#average.sub(origin);
    using far = apart.norm();
    return await far.item();
  }

  stop(): void {
    for (const off of this.#off.splice(0)) off();
    this.#classify.cancel();
    this.camera.stop();
    this.#average?.dispose();
    this.#average = null;
    this.#model.dispose();
  }
}

/** Runs the app for some frames. */
export async function run(): Promise<number> {
  const app = new App();
  app.start();
  for (let i = 0; i < 5; i++) {
    app.camera.shoot();
    if (i === 2) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const far = await app.distance();
  app.stop();
  return far + app.labels.length;
}
