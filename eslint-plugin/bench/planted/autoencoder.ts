/**
 * A variational autoencoder as a class with its own fit, encode and generate.
 */
import { type Tensor, newDisposeScope, noGrad, ones, randn, scoped, tensor } from "tenure";
import { Linear, Module, functional as F } from "tenure/nn";
import { RMSprop } from "tenure/optim";

interface Latent {
  readonly mean: Tensor;
  readonly logVariance: Tensor;
}

class Encoder extends Module<[x: Tensor], Latent> {
  readonly hidden = new Linear(8, 6);
  readonly mean = new Linear(6, 2);
  readonly spread = new Linear(6, 2);

  forward(x: Tensor): Latent {
    using h = scoped(() => this.hidden.call(x).relu());
    return { mean: this.mean.call(h), logVariance: this.spread.call(h) };
  }
}

class Decoder extends Module {
  readonly hidden: Linear;
  readonly out: Linear;

  constructor(latent: number, width: number) {
    super();
    this.hidden = new Linear(latent, 6);
    this.out = new Linear(6, width);
  }

  forward(z: Tensor): Tensor {
    return scoped(() => this.out.call(this.hidden.call(z).relu()).sigmoid());
  }
}

/** Encoder, decoder and what trains them; it owns all. */
export class Autoencoder {
  private readonly encoder = new Encoder();
  private readonly decoder = new Decoder(2, 8);
  private readonly optimizer: RMSprop;
  private mean: Tensor | null = null;
  private scale: Tensor;

  constructor() {
    this.optimizer = new RMSprop([...this.encoder.parameters(), ...this.decoder.parameters()]);
    this.scale = ones([8]);
  }

  /** Remembers mean and spread of the data, in place of those from before. */
  adapt(data: Tensor): void {
    this.mean?.dispose();
    this.mean = data.mean(0);
    const spread = scoped(() => data.std(0).add(1e-6));
    this.scale.dispose();
    this.scale = spread;
  }

  private normalize(data: Tensor): Tensor {
    if (this.mean === null) return data.alias();
    using centred = data.sub(this.mean);
    return centred.div(this.scale);
  }

  private loss(x: Tensor): Tensor {
    return scoped(() => {
      const { mean, logVariance } = this.encoder.call(x);
      const z = mean.add(logVariance.mul(0.5).exp().mul(randn(mean.shape)));
      const kl = logVariance.add(1).sub(mean.square()).sub(logVariance.exp()).sum().mul(-0.5);
      return F.mseLoss(this.decoder.call(z), x, "sum").add(kl);
    });
  }

  async fit(data: Tensor, epochs: number): Promise<number[]> {
    const losses: number[] = [];
    using x = this.normalize(data);
    for (let epoch = 0; epoch < epochs; epoch++) {
      using loss = this.loss(x);
      this.optimizer.zeroGrad();
      loss.backward();
      this.optimizer.step();
      losses.push(await loss.item());
    }
    return losses;
  }

  /** The place of each sample, which the caller ends. */
  encode(data: Tensor): Tensor {
    using x = this.normalize(data);
    const { mean, logVariance } = noGrad(() => this.encoder.call(x));
    logVariance.dispose();
    return mean;
  }

  async generate(places: readonly (readonly [number, number])[]): Promise<number[][]> {
    const images: number[][] = [];
    for (const place of places) {
      using z = tensor([[...place]]);
      using image = noGrad(() => this.decoder.call(z));
      const data = await image.data();
      images.push([...data]);
    }
    return images;
  }

  dispose(): void {
    this.optimizer.dispose();
    this.encoder.dispose();
    this.decoder.dispose();
    this.mean?.dispose();
    this.mean = null;
    this.scale.dispose();
  }
}

async function errorOf(model: Autoencoder, data: Tensor): Promise<number> {
  let read: Promise<number>;
  {
    using scope = newDisposeScope();
    const places = model.encode(data);
    const [centre] = scope.attach(places.mean(0), places);
    read = places.sub(centre).square().mean().item();
  }
  return read;
}

/** Fits twice and generates. */
export async function run(): Promise<number> {
  const model = new Autoencoder();
  try {
    using data = randn([10, 8]);
    model.adapt(data);
    await model.fit(data, 2);
    model.adapt(data);
    const losses = await model.fit(data, 1);
    const images = await model.generate([
      [0, 0],
      [1, -1],
    ]);
    using places = model.encode(data);
    return losses.length + images.length + places.size + (await errorOf(model, data));
  } finally {
    model.dispose();
  }
}
