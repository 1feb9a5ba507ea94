/**
 * Watches the metrics of hosts: windows of samples are scored by named detectors, which are trained
 * again and replaced while requests come in.
 */
import { EventEmitter } from "node:events";
import { concat, manualSeed, newDisposeScope, noGrad, randn } from "tenure";
import { scoped, stack, tensor, zeros, type Tensor } from "tenure";
import { Linear, Module, Sequential, Tanh } from "tenure/nn";
import { Adam } from "tenure/optim";

const WINDOW = 12;
const WIDTH = WINDOW * 3;

interface Job {
  readonly host: string;
  readonly window: Tensor;
  readonly settle: (verdict: string | null) => void;
  readonly fail: (reason: unknown) => void;
}

/** Gives the error of the reconstruction, row by row. */
class WindowAutoencoder extends Module {
  readonly encoder = new Sequential(new Linear(WIDTH, 16), new Tanh(), new Linear(16, 4));
  readonly decoder = new Sequential(new Linear(4, 16), new Tanh(), new Linear(16, WIDTH));

  override forward(x: Tensor): Tensor {
    return scoped(() => this.decoder.call(this.encoder.call(x)).sub(x).square().mean(1));
  }
}

interface Spec {
  readonly name: string;
  readonly version: number;
  readonly model: WindowAutoencoder;
  readonly limit: Tensor;
}

/** A model in service. It goes when it is retired and nobody is using it any more. */
class Detector {
  readonly spec: Spec;
  #leases = 0;
  #retired = false;

  constructor(spec: Spec) {
    this.spec = spec;
  }

  lease(): Disposable & { readonly detector: Detector } {
    this.#leases++;
    return { detector: this, [Symbol.dispose]: () => this.#settle(-1) };
  }
  score(windows: readonly Tensor[]): { errors: Tensor; over: Tensor } {
    return scoped(() => {
      const errors = noGrad(() => this.spec.model.call(stack(windows)));
      return { errors, over: errors.gt(this.spec.limit).to("int32") };
    });
  }
  retire(): void {
    this.#retired = true;
    this.#settle();
  }
  #settle(change = 0): void {
    this.#leases += change;
    if (!this.#retired || this.#leases > 0) return;
    this.spec.model.dispose();
    this.spec.limit.dispose();
  }
}

/** What is in service by name, and the version before for the case that it is no good. */
class Registry extends EventEmitter implements Disposable {
  readonly #live = new Map<string, Detector>();
  readonly #standby = new Map<string, Detector>();

  lease(name: string) {
    return this.#live.get(name)!.lease();
  }
  has(name: string): boolean {
    return this.#live.has(name);
  }
  deploy(detector: Detector): void {
    const { name, version } = detector.spec;
    const current = this.#live.get(name);
    if (current) {
      this.#standby.get(name)?.retire();
      this.#standby.set(name, current);
    }
    this.#live.set(name, detector);
    this.emit("deployed", name, version);
  }
  rollback(name: string): void {
    const previous = this.#standby.get(name);
    if (!previous) return;
    this.#live.get(name)?.retire();
    this.#live.set(name, previous);
    this.#standby.delete(name);
  }
  [Symbol.dispose](): void {
    for (const detector of this.#live.values()) detector.retire();
    for (const detector of this.#standby.values()) detector.retire();
  }
}

/** The last samples of one host. */
class Feed implements Disposable {
  #window = zeros([WINDOW, 3]);

  push(values: number[]): void {
    using row = tensor([values]);
    using rest = this.#window.slice(0, 1);
    const next = concat([rest, row]);
    this.#window.dispose();
    this.#window = next;
  }
  snapshot(): Tensor {
    return this.#window.flatten();
  }
  [Symbol.dispose](): void {
    this.#window.dispose();
  }
}

/** Windows without alarm, to train the next version on. */
class Reservoir implements Disposable {
  readonly #windows = Array.from({ length: 8 }, () => randn([WIDTH]));

  keep(window: Tensor): void {
    this.#windows.push(window.alias());
    if (this.#windows.length > 16) this.#windows.shift()?.dispose();
  }
  batch(): Tensor {
    return stack(this.#windows);
  }
  [Symbol.dispose](): void {
    for (const window of this.#windows.splice(0)) window.dispose();
  }
}

/** Collects requests by detector, and runs them together. */
function startBatcher(registry: Registry, reservoir: Reservoir) {
  const queues = new Map<string, Job[]>();
  const running: Promise<void>[] = [];

  async function flush(name: string, jobs: readonly Job[]): Promise<void> {
    try {
      using lease = registry.lease(name);
      const { errors, over } = lease.detector.score(jobs.map((job) => job.window));
      const reads = Promise.all([errors.data(), over.data()]);
      errors.dispose();
      over.dispose();
      const [scores, alarms] = await reads;
      for (const [i, { host, window, settle }] of jobs.entries()) {
        if (alarms[i] === 0) reservoir.keep(window);
        settle(`${host} v${lease.detector.spec.version}: ${scores[i]?.toFixed(3)}`);
      }
    } catch (error) {
      for (const job of jobs) job.fail(error);
    } finally {
      for (const job of jobs) job.window.dispose();
    }
  }

  return {
    submit(name: string, host: string, window: Tensor): Promise<string | null> {
      if (!registry.has(name)) {
        window.dispose();
        return Promise.resolve(null);
      }
      return new Promise((settle, fail) => {
        const queue = queues.get(name) ?? [];
        queue.push({ host, window, settle, fail });
        queues.set(name, queue);
        if (queue.length >= 4) running.push(flush(name, queue.splice(0)));
      });
    },
    async drain(): Promise<void> {
      for (const [name, queue] of queues) running.push(flush(name, queue.splice(0)));
      await Promise.all(running);
    },
  };
}

function train(name: string, version: number, windows: Tensor): Detector {
  const model = new WindowAutoencoder();
  using optimizer = new Adam(model.parameters(), { lr: 0.01 });
  for (let epoch = 0; epoch < 4; epoch++) {
    using _scope = newDisposeScope();
    optimizer.zeroGrad();
    model.call(windows).mean().backward();
    optimizer.step();
  }
  using errors = noGrad(() => model.call(windows));
  const limit = scoped(() => errors.mean().add(errors.std().mul(3)));
  return new Detector({ name, version, model, limit });
}

/** Trains a new version on what came in, and takes it if it judges much like the one in service. */
async function renew(registry: Registry, reservoir: Reservoir, name: string, tolerance: number) {
  using lease = registry.lease(name);
  using windows = reservoir.batch();
  const candidate = train(name, lease.detector.spec.version + 1, windows);
  using drift = scoped(() => {
    const [before, after] = [lease.detector, candidate].map(({ spec }) => spec.model.call(windows));
    return before!.sub(after!).abs().mean();
  });
  if ((await drift.item()) >= tolerance) candidate.retire();
  else registry.deploy(candidate);
}

async function main(): Promise<string[]> {
  manualSeed(5);
  using registry = new Registry();
  using reservoir = new Reservoir();
  const log: string[] = [];
  registry.on("deployed", (name: string, version: number) => log.push(`${name} v${version}`));
  using history = reservoir.batch();
  for (const name of ["cpu", "disk", "net"]) registry.deploy(train(name, 1, history));
  const batcher = startBatcher(registry, reservoir);
  const feeds = new Map(["a1", "a2", "b1"].map((host) => [host, new Feed()]));
  const verdicts: Promise<string | null>[] = [];
  for (let tick = 0; tick < 24; tick++) {
    for (const [host, feed] of feeds) {
      feed.push([Math.sin(tick / 4), host.length, tick % 5]);
      const name = ["cpu", "disk", "net", "gpu"][(tick >> 1) % 4] ?? "cpu";
      if (tick % 2 === 1) verdicts.push(batcher.submit(name, host, feed.snapshot()));
    }
    if (tick % 8 === 7) await renew(registry, reservoir, "cpu", 0.5);
    if (tick === 12) registry.rollback("cpu");
    if (tick === 17) await renew(registry, reservoir, "disk", 0);
  }
  await batcher.drain();
  for (const verdict of await Promise.all(verdicts)) if (verdict) log.push(verdict);
  for (const feed of feeds.values()) feed[Symbol.dispose]();
  return log;
}

const log = await main();

/** What happened, line by line. */
export const run = (): Promise<string[]> => Promise.resolve(log);
