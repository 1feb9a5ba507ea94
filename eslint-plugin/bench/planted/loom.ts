/**
 * Watches cloth as it leaves a loom. For each pattern a small autoencoder learns what is normal;
 * what it cannot repeat is a defect. Patterns can be replaced while the loom runs, the last frames
 * are kept for a panorama, and a gallery shows the worst defects of a shift.
 */
import { type Tensor, concat, manualSeed, newDisposeScope, noGrad, rand } from "tenure";
import { scoped, zeros } from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { Conv2d, ConvTranspose2d, Module, functional as F } from "tenure/nn";
import { AdamW } from "tenure/optim";

const SIDE = 8;
const PANORAMA = 3;
const GALLERY = 2;

class BlurredError extends Error {}

type Frame = Readonly<{ metre: number; image: Tensor }>;
type Defect = Readonly<{ metre: number; score: number; map: Tensor }>;
type Listener = (defect: Defect) => void;

class Autoencoder extends Module<[images: Tensor]> {
  readonly down = new Conv2d(1, 4, 3, { padding: 1, stride: 2 });
  readonly up = new ConvTranspose2d(4, 1, 2, { stride: 2 });

  forward(images: Tensor): Tensor {
    using code = this.down.call(images);
    using active = code.relu();
    return this.up.call(active);
  }
}

/** What is known about a pattern. */
class Pattern implements Disposable {
  readonly name: string;
  readonly #model = new Autoencoder();
  #normal = zeros([1, SIDE, SIDE]);

  constructor(name: string) {
    this.name = name;
  }

  async learn(samples: Float32Array): Promise<void> {
    const data = new ArrayDataset({ image: { data: samples, shape: [1, SIDE, SIDE] } });
    using loader = new DataLoader(data, { batchSize: 4, shuffle: true });
    using optimizer = new AdamW(this.#model.parameters(), { lr: 0.01 });
    for await (const { image } of loader) {
      using scope = newDisposeScope("learn");
      const loss = F.mseLoss(this.#model.call(image), image);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      const usual = noGrad(() => this.#residual(image).mean(0));
      this.#normal = scope.carry(this.#normal, this.#normal.lerp(usual, 0.3));
    }
  }

  #residual(images: Tensor): Tensor {
    return scoped(() => this.#model.call(images).sub(images).abs());
  }

  /** How far each pixel is from what it should be. */
  compare(image: Tensor): Tensor {
    using batch = image.unsqueeze(0);
    using residual = noGrad(() => this.#residual(batch));
    using single = residual.squeeze(0);
    return single.sub(this.#normal);
  }

  [Symbol.dispose](): void {
    this.#model.dispose();
    this.#normal.dispose();
  }
}

/** A line camera. Some pictures are blurred, of which one knows only after they were taken. */
class Camera {
  #shots = 0;

  #shoot(): Tensor {
    const image = rand([1, SIDE, SIDE]);
    if (++this.#shots % 4 === 0) {
      image.dispose();
      throw new BlurredError(`shot ${String(this.#shots)}`);
    }
    return image;
  }

  /** The mean of some shots, the caller's. */
  expose(shots: number): Tensor {
    using scope = newDisposeScope("expose");
    let sum = this.#shoot();
    for (let i = 1; i < shots; i++) sum = sum.add(this.#shoot());
    return scope.moveToOuter(sum.div(shots));
  }

  /** Frames metre by metre. Each is its receiver's. */
  *frames(length: number): Generator<Frame> {
    for (let metre = 0; metre < length; metre++) {
      for (let attempt = 0; attempt < 3; attempt++) {
        try {
          yield { metre, image: this.expose(2) };
          break;
        } catch (error) {
          if (!(error instanceof BlurredError)) throw error;
        }
      }
    }
  }
}

/** The last frames side by side. */
class Panorama implements Disposable {
  readonly #frames: Tensor[] = [];

  /** Takes the image over. */
  push(image: Tensor): void {
    this.#frames.push(image);
    while (this.#frames.length > PANORAMA) this.#frames.shift()!.dispose();
  }

  async read(): Promise<ArrayLike<number>> {
    using wide = concat(this.#frames, 2);
    using bright = wide.mul(255);
    return await bright.data();
  }

  [Symbol.dispose](): void {
    for (const frame of this.#frames.splice(0)) frame.dispose();
  }
}

class Inspector implements Disposable {
  readonly #patterns = new Map<string, Pattern>();
  readonly #listeners = new Set<Listener>();
  readonly panorama = new Panorama();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes the pattern over. */
  install(pattern: Pattern): void {
    this.#patterns.get(pattern.name)?.[Symbol.dispose]();
    this.#patterns.set(pattern.name, pattern);
  }

  /** Learns a pattern; one that cannot be learned is not installed. */
  async teach(name: string, samples: Float32Array): Promise<boolean> {
    const pattern = new Pattern(name);
    try {
      await pattern.learn(samples);
    } catch {
      pattern[Symbol.dispose]();
      return false;
    }
    this.install(pattern);
    return true;
  }

  retire(name: string): void {
    const pattern = this.#patterns.get(name);
    this.#patterns.delete(name);
    pattern?.[Symbol.dispose]();
  }

  /** Maps of defects are lent to the listener. */
  onDefect(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes the frame over. */
  async inspect(name: string, { metre, image }: Frame): Promise<number> {
    const pattern = this.#patterns.get(name);
    if (pattern === undefined) {
      image.dispose();
      return 0;
    }
    using map = pattern.compare(image);
    this.panorama.push(image);
    using worst = map.max();
    const score = await worst.item();
    if (score < this.#limit) return score;
    for (const listener of this.#listeners) listener({ metre, score, map });
    return score;
  }

  [Symbol.dispose](): void {
    for (const pattern of this.#patterns.values()) pattern[Symbol.dispose]();
    this.panorama[Symbol.dispose]();
  }
}

/** The worst defects. */
class Gallery implements Disposable {
  #worst: Defect[] = [];
  readonly #off: () => void;

  constructor(inspector: Inspector) {
    this.#off = inspector.onDefect((defect) => {
      const all = [...this.#worst, { ...defect, map: defect.map.alias() }];
      all.sort((a, b) => b.score - a.score);
      for (const { map } of all.splice(GALLERY)) map.dispose();
      this.#worst = all;
    });
  }

  async report(): Promise<number> {
    let total = 0;
    for (const { map } of this.#worst) {
      using mean = map.mean();
      total += await mean.item();
    }
    return total;
  }

  [Symbol.dispose](): void {
    this.#off();
    for (const { map } of this.#worst) map.dispose();
  }
}

async function shift(inspector: Inspector, camera: Camera, length: number): Promise<number> {
  using gallery = new Gallery(inspector);
  let scored = 0;
  for (const frame of camera.frames(length)) {
    const name = frame.metre % 5 === 3 ? "twill" : "plain";
    scored += (await inspector.inspect(name, frame)) >= 0 ? 1 : 0;
  }
  return scored + (await gallery.report());
}

export async function run(): Promise<number> {
  manualSeed(9);
  using inspector = new Inspector(-1);
  const samples = Float32Array.from({ length: 8 * SIDE * SIDE }, (_, i) => (i % 3) / 3);
  await inspector.teach("plain", samples);
  await inspector.teach("twill", samples);
  await inspector.teach("plain", samples);
  await inspector.teach("satin", new Float32Array(5));
  const camera = new Camera();
  let scored = await shift(inspector, camera, 6);
  inspector.retire("twill");
  scored += await shift(inspector, camera, 5);
  return scored + (await inspector.panorama.read()).length;
}
