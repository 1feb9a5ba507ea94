/**
 * A learned codec for images: an encoder, a quantiser with a hyperprior, a decoder, and a control
 * of the rate that moves the weight of the rate after every image. Put together by a builder.
 */
import { type Tensor, manualSeed, newDisposeScope, noGrad, ones } from "tenure";
import { rand, randn, scoped, zeros } from "tenure";
import { Conv2d, ConvTranspose2d, Module, ReLU, Sequential } from "tenure/nn";
import { Adam } from "tenure/optim";

const CHANNELS = 4;

/** What is sent for an image. */
class Packet implements Disposable {
  readonly codes: Tensor;
  readonly side: Tensor;
  readonly mask?: Tensor;

  constructor(codes: Tensor, side: Tensor, mask?: Tensor) {
    this.codes = codes;
    this.side = side;
    if (mask !== undefined) this.mask = mask;
  }

  [Symbol.dispose](): void {
    this.codes.dispose();
    this.side.dispose();
    this.mask?.dispose();
  }
}

abstract class Quantiser {
  abstract quantise(latent: Tensor): Tensor;
}

/** Noise in place of rounding, so that gradients pass. */
class NoisyQuantiser extends Quantiser {
  override quantise(latent: Tensor): Tensor {
    using noise = rand(latent.shape);
    using centred = noise.sub(0.5);
    return latent.add(centred);
  }
}

class StepQuantiser extends Quantiser implements Disposable {
  #step: Tensor;

  constructor(step?: Tensor) {
    super();
    this.#step = step?.alias() ?? ones([1]);
  }

  /** Coarser or finer from now on. */
  scale(by: number): void {
    const before = this.#step;
    this.#step = before.mul(by);
    before.dispose();
  }

  override quantise(latent: Tensor): Tensor {
    return scoped(() => latent.div(this.#step).round().mul(this.#step));
  }

  [Symbol.dispose](): void {
    this.#step.dispose();
  }
}

class Network extends Module<[image: Tensor, quantiser: Quantiser]> {
  readonly encoder = new Sequential(new Conv2d(1, CHANNELS, 3, { stride: 2, padding: 1 }));
  readonly prior = new Sequential(new Conv2d(CHANNELS, 2, 1), new ReLU());
  readonly decoder = new Sequential(new ConvTranspose2d(CHANNELS, 1, 2, { stride: 2 }));

  forward(image: Tensor, quantiser: Quantiser): Tensor {
    using latent = this.encoder.call(image);
    using codes = quantiser.quantise(latent);
    return this.decoder.call(codes);
  }
}

class RateControl {
  weight: Tensor = ones([]);
  readonly #history: Tensor[] = [];
  readonly #target: number;

  constructor(target: number) {
    this.#target = target;
  }

  /** Takes the rate, and moves the weight. */
  note(rate: Tensor): void {
    this.#history.push(rate);
    while (this.#history.length > 3) this.#history.shift()?.dispose();
    const moved = scoped(() => {
      const recent = this.#history.reduce((sum, r) => sum.add(r), zeros([]));
      return this.weight.add(recent.sub(this.#target).mul(0.01)).clamp(0.1, 10);
    });
    this.weight.dispose();
    this.weight = moved;
  }

  end(): void {
    for (const rate of this.#history.splice(0)) rate.dispose();
    this.weight.dispose();
  }
}

class Codec implements Disposable {
  readonly network = new Network();
  readonly #optimizer = new Adam(this.network.parameters());
  readonly #noisy = new NoisyQuantiser();
  readonly #control: RateControl;
  #quantiser: StepQuantiser;
  #preview: Tensor | undefined;

  constructor(rate: number, quantiser: StepQuantiser) {
    this.#control = new RateControl(rate);
    this.#quantiser = quantiser;
  }

  /** One step of training. The distortion is the caller's. */
  train(image: Tensor): Tensor {
    const { distortion, rate } = scoped(() => {
      const latent = this.network.encoder.call(image);
      const codes = this.#noisy.quantise(latent);
      const error = this.network.decoder.call(codes).sub(image).square().mean();
      const bits = this.network.prior.call(codes).add(1).log().mean();
      this.#optimizer.zeroGrad();
      error.add(bits.mul(this.#control.weight)).backward();
      this.#optimizer.step();
      return { distortion: error.detach(), rate: bits.detach() };
    });
    this.#control.note(rate);
    return distortion;
  }

  encode(image: Tensor, withMask = false): Packet {
    using scope = newDisposeScope("encode");
    const latent = noGrad(() => this.network.encoder.call(image));
    const codes = this.#quantiser.quantise(latent);
    const side = noGrad(() => this.network.prior.call(codes)).mean([2, 3]);
    scope.moveToOuter(codes, side);
    if (!withMask) return new Packet(codes, side);
    return new Packet(codes, side, scope.moveToOuter(codes.abs().gt(0)));
  }

  decode({ codes, mask }: Packet): Tensor {
    using shown = mask === undefined ? codes.alias() : codes.mul(mask);
    const image = noGrad(() => this.network.decoder.call(shown));
    this.#preview?.dispose();
    this.#preview = image.alias();
    return image;
  }

  replaceQuantiser(next: StepQuantiser): void {
    this.#quantiser[Symbol.dispose]();
    this.#quantiser = next;
  }

  /** How much it matters that codes are rounded. */
  async gap(image: Tensor): Promise<number> {
    using rough = noGrad(() => this.network.call(image, this.#noisy));
    using exact = noGrad(() => this.network.call(image, this.#quantiser));
    using difference = rough.sub(exact);
    return (await difference.data()).length;
  }

  finer(): void {
    this.#quantiser.scale(0.5);
  }

  [Symbol.dispose](): void {
    this.#preview?.dispose();
    this.#quantiser[Symbol.dispose]();
    this.#control.end();
    this.#optimizer.dispose();
    this.network.dispose();
  }
}

class CodecBuilder {
  #rate = 1;
  #step: Tensor | undefined;

  rate(rate: number): this {
    this.#rate = rate;
    return this;
  }

  /** Takes the step. */
  step(step: Tensor): this {
    this.#step?.dispose();
    this.#step = step;
    return this;
  }

  build(): Codec {
    using step = this.#step ?? ones([1]);
    this.#step = undefined;
    return new Codec(this.#rate, new StepQuantiser(step));
  }
}

/** Trains, then sends a few images there and back. */
export async function run(): Promise<number> {
  manualSeed(7);
  using codec = new CodecBuilder()
    .rate(0.5)
    .step(ones([1]))
    .step(rand([1]))
    .build();
  let total = 0;
  for (let i = 0; i < 5; i++) {
    using image = randn([1, 1, 8, 8]);
    using distortion = codec.train(image);
    total += await distortion.item();
    if (i % 2 === 0) codec.finer();
    else total += await codec.gap(image);
  }
  using quarter = rand([1]);
  codec.replaceQuantiser(new StepQuantiser(quarter));
  for (const withMask of [false, true, true]) {
    using image = randn([1, 1, 8, 8]);
    using packet = codec.encode(image, withMask);
    using back = codec.decode(packet);
    total += (await back.data()).length;
  }
  return total;
}
