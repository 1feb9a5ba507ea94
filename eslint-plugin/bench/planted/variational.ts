/**
 * A variational autoencoder: encoder and decoder as modules, and a trainer that follows the weights
 * with an average, remembers the best ones, and keeps a strip of reconstructions to look at.
 */
import {
  type Tensor,
  concat,
  manualSeed,
  newDisposeScope,
  noGrad,
  rand,
  randn,
  randperm,
  scoped,
} from "tenure";
import { Linear, Module, functional as F } from "tenure/nn";
import { Adam, clipGradNorm } from "tenure/optim";

type Size = Readonly<Record<"width" | "hidden" | "latent", number>>;

interface Posterior {
  readonly mean: Tensor;
  readonly logVar: Tensor;
}

interface Reconstruction extends Posterior {
  readonly logits: Tensor;
}

class Encoder extends Module<[x: Tensor], Posterior> {
  readonly body: Linear;
  readonly toMean: Linear;
  readonly toLogVar: Linear;

  constructor({ width, hidden, latent }: Size) {
    super();
    this.body = new Linear(width, hidden);
    this.toMean = new Linear(hidden, latent);
    this.toLogVar = new Linear(hidden, latent);
  }

  forward(x: Tensor): Posterior {
    return scoped(() => {
      const h = this.body.call(x).relu();
      return { mean: this.toMean.call(h), logVar: this.toLogVar.call(h).clamp(-6, 6) };
    });
  }
}

class Decoder extends Module {
  readonly widen: Linear;
  readonly out: Linear;

  constructor({ width, hidden, latent }: Size) {
    super();
    this.widen = new Linear(latent, hidden);
    this.out = new Linear(hidden, width);
  }

  forward(z: Tensor): Tensor {
    using wide = this.widen.call(z);
    using active = wide.silu();
    return this.out.call(active);
  }
}

class Vae extends Module<[x: Tensor], Reconstruction> {
  readonly encoder: Encoder;
  readonly decoder: Decoder;

  constructor(size: Size) {
    super();
    this.encoder = new Encoder(size);
    this.decoder = new Decoder(size);
  }

  forward(x: Tensor): Reconstruction {
    const { mean, logVar } = this.encoder.call(x);
    using z = this.training ? draw(mean, logVar) : mean.alias();
    return { logits: this.decoder.call(z), mean, logVar };
  }
}

/** A point of each posterior. */
function draw(mean: Tensor, logVar: Tensor): Tensor {
  using _scope = newDisposeScope("draw");
  const spread = logVar.mul(0.5).exp();
  return mean.add(spread.mul(randn(mean.shape))).moveToOuter();
}

interface TrainerOptions {
  readonly lr?: number;
  /** Points to decode for a look. Stays the caller's. */
  readonly probes?: Tensor;
}

class Trainer implements Disposable {
  readonly model: Vae;
  readonly #optimizer: Adam;
  readonly #average: Tensor[];
  readonly #norms: Tensor[] = [];
  readonly #probes: Tensor;
  #best: Tensor[] | null = null;
  #strip: Tensor | null = null;
  #steps = 0;

  constructor(size: Size, options: TrainerOptions = {}) {
    const { lr = 1e-3, probes } = options;
    this.model = new Vae(size);
    this.#optimizer = new Adam(this.model.parameters(), { lr });
    this.#average = noGrad(() => this.model.parameters().map((p) => p.clone()));
    this.#probes = probes?.alias() ?? randn([2, size.latent]);
  }

  step(batch: Tensor): Promise<number> {
    using _scope = newDisposeScope("step");
    const { logits, mean, logVar } = this.model.call(batch);
    const divergence = mean.square().add(logVar.exp()).sub(logVar).sub(1).mean().mul(0.5);
    const weight = Math.min(1, ++this.#steps / 4);
    const loss = F.bceWithLogits(logits, batch).add(divergence.mul(weight));
    this.#optimizer.zeroGrad();
    loss.backward();
    this.#norms.push(clipGradNorm(this.model.parameters(), 5).detachFromScope());
    this.#optimizer.step();
    return loss.item();
  }

  /** Draws the averages nearer to the weights. */
  follow(): void {
    noGrad(() => {
      for (const [i, weight] of this.model.parameters().entries()) {
        const old = this.#average[i]!;
        this.#average[i] = old.lerp(weight, 0.1);
        old.dispose();
      }
    });
  }

  async evaluate(batch: Tensor): Promise<number> {
    this.model.eval();
    const { logits, mean, logVar } = noGrad(() => this.model.call(batch));
    mean.dispose();
    logVar.dispose();
    using loss = F.bceWithLogits(logits, batch);
    logits.dispose();
    this.model.train();
    return await loss.item();
  }

  keepBest(): void {
    for (const t of this.#best ?? []) t.dispose();
    this.#best = noGrad(() => this.#average.map((t) => t.clone()));
  }

  look(): void {
    using still = this.#probes.mul(0);
    using around = draw(this.#probes, still);
    using seen = noGrad(() => this.model.decoder.call(around));
    const shown = seen.sigmoid();
    if (this.#strip === null) {
      this.#strip = shown;
      return;
    }
    const longer = concat([this.#strip, shown]);
    shown.dispose();
    this.#strip.dispose();
    this.#strip = longer;
  }

  /** The largest norm of a gradient since the last call. */
  async largestNorm(): Promise<number> {
    let largest = 0;
    for (let norm = this.#norms.pop(); norm !== undefined; norm = this.#norms.pop()) {
      largest = Math.max(largest, await norm.item());
      norm.dispose();
    }
    return largest;
  }

  [Symbol.dispose](): void {
    for (const list of [this.#average, this.#norms, this.#best ?? []])
      for (const t of list) t.dispose();
    this.#strip?.dispose();
    this.#probes.dispose();
    this.#optimizer.dispose();
    this.model.dispose();
  }
}

function* shuffled(data: Tensor, size: number): Generator<Tensor> {
  using order = randperm(data.shape[0] ?? 0);
  for (let at = 0; at + size <= order.size; at += size) {
    using chosen = order.slice(0, at, at + size);
    using batch = data.indexSelect(0, chosen);
    yield batch;
  }
}

/** Trains for some epochs; the best weights are those of the smallest loss on held out rows. */
export async function run(epochs = 3): Promise<number> {
  manualSeed(11);
  using data = rand([12, 6]);
  using heldOut = rand([4, 6]);
  using trainer = new Trainer({ width: 6, hidden: 5, latent: 2 }, { lr: 3e-3 });
  let least = Infinity,
    total = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (const batch of shuffled(data, 4)) {
      total += await trainer.step(batch);
      trainer.follow();
    }
    const loss = await trainer.evaluate(heldOut);
    if (loss <= least) trainer.keepBest();
    least = Math.min(least, loss);
    trainer.look();
    total += await trainer.largestNorm();
  }
  return total;
}
