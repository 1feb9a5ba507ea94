/**
 * A generator and a discriminator that train against each other, with a fixed noise for previews
 * and a history of fakes.
 */
import {
  type Tensor,
  concat,
  manualSeed,
  newDisposeScope,
  noGrad,
  ones,
  randn,
  scoped,
} from "tenure";
import { LeakyReLU, Linear, Sequential, Tanh, functional as F } from "tenure/nn";
import { Adam } from "tenure/optim";

const LATENT = 4,
  WIDTH = 6,
  BATCH = 5;

/** Fakes of earlier steps, shown to the discriminator again. */
class History {
  readonly #kept: Tensor[] = [];
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  push(fake: Tensor): void {
    this.#kept.push(scoped(() => fake.detach().clone()).detachFromScope());
    if (this.#kept.length > this.#capacity) this.#kept.shift()?.dispose();
  }

  /** The newest fakes with all kept before. The result is the caller's. */
  mixed(fake: Tensor): Tensor {
    if (this.#kept.length === 0) return fake.alias();
    return concat([fake, ...this.#kept]);
  }

  clear(): void {
    for (const t of this.#kept) t.dispose();
    this.#kept.length = 0;
  }
}

class Gan implements Disposable {
  readonly generator = new Sequential(new Linear(LATENT, 8), new LeakyReLU(), new Linear(8, WIDTH));
  readonly discriminator = new Sequential(new Linear(WIDTH, 8), new LeakyReLU(), new Linear(8, 1));
  readonly history = new History(2);
  readonly #forG = new Adam(this.generator.parameters(), { lr: 2e-4 });
  readonly #forD = new Adam(this.discriminator.parameters(), { lr: 2e-4 });
  readonly preview: Tensor = randn([2, LATENT]);

  /** One step of the discriminator: its loss, which is the caller's. */
  stepDiscriminator(real: Tensor): Tensor {
    using scope = newDisposeScope("discriminator");
    const fake = noGrad(() => this.generator.call(randn([BATCH, LATENT])));
    const seen = this.history.mixed(fake);
    this.history.push(fake);
    const onReal = this.discriminator.call(real);
    const onFake = this.discriminator.call(seen);
    const loss = F.bceWithLogits(onReal, onReal.mul(0).add(0.9)).add(
      F.bceWithLogits(onFake, onFake.mul(0)),
    );
    this.#forD.zeroGrad();
    loss.backward();
    this.#forD.step();
    return scope.moveToOuter(loss.detach());
  }

  stepGenerator(): Promise<number> {
    using _scope = newDisposeScope("generator");
    const verdict = this.discriminator.call(this.generator.call(randn([BATCH, LATENT])));
    const loss = F.bceWithLogits(verdict, ones(verdict.shape));
    this.#forG.zeroGrad();
    loss.backward();
    this.#forG.step();
    return loss.item();
  }

  async show(): Promise<number[]> {
    const squash = new Tanh();
    using raw = noGrad(() => this.generator.call(this.preview));
    using images = squash.call(raw);
    return [...(await images.data())];
  }

  [Symbol.dispose](): void {
    this.history.clear();
    this.preview.dispose();
    this.#forG.dispose();
    this.#forD.dispose();
    this.generator.dispose();
    this.discriminator.dispose();
  }
}

function* realBatches(count: number): Generator<Tensor> {
  for (let i = 0; i < count; i++) {
    using batch = randn([BATCH, WIDTH]);
    yield batch;
  }
}

/** Trains for a few steps, and previews after every other one. */
export async function run(steps = 4): Promise<number> {
  manualSeed(3);
  using gan = new Gan();
  let total = 0,
    step = 0;
  for (const real of realBatches(steps)) {
    using lossD = gan.stepDiscriminator(real);
    const lossG = await gan.stepGenerator();
    total += (await lossD.item()) + lossG;
    if (step++ % 2 === 0) total += (await gan.show()).length;
  }
  return total;
}
