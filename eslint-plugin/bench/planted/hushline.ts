/**
 * A speech denoiser behind a relay: a recurrent net masks the spectra of what clients stream, and
 * overlap-add makes samples of them again. Each client has its own filter state.
 */
import { EventEmitter } from "node:events";
import { type Tensor, arange, concat, full, newDisposeScope, noGrad } from "tenure";
import { scoped, stack, tensor, zeros } from "tenure";
import { GRU, Linear, Module, functional } from "tenure/nn";
import { Adam, clipGradNorm } from "tenure/optim";

const [hop, frame, width] = [32, 64, 16];
const bins = frame / 2 + 1;

class Stft implements Disposable {
  readonly #window: Tensor;
  readonly #analysis: Tensor;
  readonly #synthesis: Tensor;

  constructor() {
    this.#window = tensor(Float32Array.from({ length: frame }, (_, n) => Math.sin((n + 0.5) / 20)));
    this.#analysis = scoped(() => {
      const angles = arange(frame).float().outer(arange(bins).float());
      const turns = angles.mul((2 * Math.PI) / frame);
      return concat([turns.cos(), turns.sin().neg()], 1);
    });
    using turned = this.#analysis.transpose();
    this.#synthesis = turned.mul(2 / frame);
  }

  analyse(samples: Tensor) {
    return scoped(() => {
      const both = samples.mul(this.#window).matmul(this.#analysis);
      const re = both.slice(1, 0, bins);
      const im = both.slice(1, bins);
      return { re, im, magnitude: re.square().add(im.square()).add(1e-8).sqrt() };
    });
  }

  synthesise(re: Tensor, im: Tensor): Tensor {
    using both = concat([re, im], 1);
    using raw = both.matmul(this.#synthesis);
    return raw.mul(this.#window);
  }

  [Symbol.dispose](): void {
    for (const t of [this.#window, this.#analysis, this.#synthesis]) t.dispose();
  }
}

type Masked = Readonly<Record<"mask" | "hidden", Tensor>>;
class MaskNet extends Module<[magnitude: Tensor, hidden: Tensor], Masked> {
  readonly memory = new GRU(bins, width, { batchFirst: true });
  readonly head = new Linear(width, bins);

  forward(magnitude: Tensor, before: Tensor): Masked {
    using scope = newDisposeScope();
    const { output, hidden } = this.memory.call(magnitude.log1p(), before);
    const mask = this.head.call(output).sigmoid();
    scope.moveToOuter(mask, hidden);
    return { mask, hidden };
  }
}

class FilterState implements Disposable {
  history = zeros([1, frame - hop]);
  tail = zeros([1, frame - hop]);
  hidden = zeros([1, 1, width]);
  floor = full([1, bins], 1e-3);

  [Symbol.dispose](): void {
    for (const t of [this.history, this.tail, this.hidden, this.floor]) t.dispose();
  }
}

type Engine = Readonly<{ stft: Stft; net: MaskNet }>;
class Session implements Disposable {
  readonly outbox: Tensor[] = [];
  readonly #engine: Engine;
  readonly #state: FilterState;
  #lastNoisy: Tensor | null = null;

  constructor(engine: Engine, state = new FilterState()) {
    this.#engine = engine;
    this.#state = state;
  }

  process(samples: Float32Array): void {
    using scope = newDisposeScope("hop");
    const { stft, net } = this.#engine;
    const state = this.#state;
    const block = concat([state.history, tensor(samples, { shape: [1, hop] })], 1);
    const { re, im, magnitude } = stft.analyse(block);
    const { mask, hidden } = noGrad(() => net.call(magnitude.unsqueeze(1), state.hidden));
    const floor = state.floor.lerp(magnitude, 0.05);
    const gain = mask.squeeze(1).maximum(floor.div(magnitude).clamp(0.05, 1));
    const wave = stft.synthesise(re.mul(gain), im.mul(gain));
    this.outbox.push(scope.detach(wave.slice(1, 0, hop).add(state.tail)));
    state.history = scope.carry(state.history, block.slice(1, hop));
    state.tail = scope.carry(state.tail, wave.slice(1, hop));
    state.hidden = scope.carry(state.hidden, hidden);
    state.floor = scope.carry(state.floor, floor);
    this.#lastNoisy?.dispose();
    this.#lastNoisy = scope.detach(magnitude);
  }

  takeNoisy(): Tensor | null {
    const noisy = this.#lastNoisy;
    this.#lastNoisy = null;
    return noisy;
  }

  release(): FilterState {
    for (const chunk of this.outbox) chunk.dispose();
    this.#lastNoisy?.dispose();
    return this.#state;
  }

  [Symbol.dispose](): void {
    this.release()[Symbol.dispose]();
  }
}

/** Learns from rated hops, a few steps at a time, and goes back when that made it worse. */
class Adapter implements Disposable {
  readonly #ring: Tensor[] = [];
  readonly #net: MaskNet;
  readonly #optimizer: Adam;
  #best = new Map<string, Tensor>();

  constructor(net: MaskNet) {
    this.#net = net;
    this.#optimizer = new Adam(net.parameters(), { lr: 2e-3 });
  }

  add(noisy: Tensor): void {
    this.#ring.push(noisy);
    if (this.#ring.length > 4) this.#ring.shift()?.dispose();
  }

  async step(): Promise<number> {
    let loss: Promise<number>;
    {
      using _scope = newDisposeScope("adapt");
      const noisy = stack(this.#ring);
      const target = noisy.sub(noisy.min(0, true)).div(noisy).clamp(0, 1);
      const { mask } = this.#net.call(noisy, zeros([1, this.#ring.length, width]));
      const error = functional.mseLoss(mask, target);
      this.#optimizer.zeroGrad();
      error.backward();
      clipGradNorm(this.#net.parameters(), 1);
      this.#optimizer.step();
      loss = error.item();
    }
    return loss;
  }

  settle(good: boolean): void {
    if (!good && this.#best.size > 0) this.#net.loadStateDict(this.#best);
    using state = this.#net.stateDict();
    for (const t of this.#best.values()) t.dispose();
    this.#best = new Map([...state].map(([name, t]) => [name, t.clone()]));
  }

  [Symbol.dispose](): void {
    for (const t of [...this.#ring, ...this.#best.values()]) t.dispose();
    this.#optimizer.dispose();
  }
}

class Relay extends EventEmitter implements Disposable {
  readonly #engine = { stft: new Stft(), net: new MaskNet() };
  readonly #adapter = new Adapter(this.#engine.net);
  readonly #sessions = new Map<string, Session>();
  readonly #parked = new Map<string, FilterState>();

  join(id: string): void {
    const parked = this.#parked.get(id);
    this.#parked.delete(id);
    this.#sessions.get(id)?.[Symbol.dispose]();
    this.#sessions.set(id, new Session(this.#engine, parked));
  }

  async receive(id: string, samples: Float32Array): Promise<void> {
    const session = this.#sessions.get(id);
    if (!session) throw new Error(`no call ${id}`);
    session.process(samples);
    for (using chunk of session.outbox.splice(0)) this.emit("hop", id, await chunk.data());
  }

  rate(id: string, stars: number): void {
    const noisy = this.#sessions.get(id)?.takeNoisy();
    if (stars < 3 && noisy) this.#adapter.add(noisy);
    else noisy?.dispose();
  }

  async adapt(steps: number): Promise<void> {
    const losses: number[] = [];
    for (let i = 0; i < steps; i++) losses.push(await this.#adapter.step());
    this.#adapter.settle(losses.at(-1)! <= losses[0]!);
  }

  leave(id: string, park = false): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    if (park) this.#parked.set(id, session.release());
    else session[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions.values()) session[Symbol.dispose]();
    for (const state of this.#parked.values()) state[Symbol.dispose]();
    this.#adapter[Symbol.dispose]();
    this.#engine.net.dispose();
    this.#engine.stft[Symbol.dispose]();
  }
}

async function evening(): Promise<number> {
  using relay = new Relay();
  let hops = 0;
  relay.on("hop", () => hops++);
  const speak = (n: number) => Float32Array.from({ length: hop }, (_, i) => Math.sin((n + i) / 5));
  for (const id of ["ann", "bob", "cho"]) relay.join(id);
  for (let n = 0; n < 6; n++) {
    await Promise.all(["ann", "bob", "cho"].map((id) => relay.receive(id, speak(n))));
    relay.rate("ann", 1);
    relay.rate("bob", n);
  }
  for (const id of ["ann", "bob"]) relay.leave(id, true);
  for (const steps of [3, 1]) await relay.adapt(steps);
  relay.join("bob");
  relay.join("bob");
  await relay.receive("bob", speak(9));
  relay.leave("cho");
  return hops;
}

export const hops = await evening();
export const run = (): Promise<number> => Promise.resolve(hops);
