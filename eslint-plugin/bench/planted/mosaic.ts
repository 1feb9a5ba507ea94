/**
 * Paints a texture like a swatch: descends on the pixels until the channels of a small random
 * network go together as they do in the swatch (Gatys et al. 2015), from coarse to fine.
 */
import { concat, init, linspace, manualSeed, newDisposeScope, noGrad, rand } from "tenure";
import { scoped, scopedAsync, stack, valueAndGrad, type Tensor } from "tenure";
import { Conv2d, functional as F } from "tenure/nn";
import { Adam, CosineAnnealingLR } from "tenure/optim";

interface Level {
  readonly size: number;
  readonly steps: number;
  readonly lr: number;
}

interface Style {
  readonly grams: readonly Tensor[];
  readonly palette: Tensor;
}

type Extract = (image: Tensor) => Tensor[];
type Loss = (pixels: Tensor) => Tensor;

const weights = { palette: 0.2, smooth: 1e-3 };

/** The stages of a network nobody trained; `extract` gives what each of them sees. */
function makeExtractor(channels: readonly number[]): { extract: Extract } & Disposable {
  const stages = channels.map(
    (out, i) => new Conv2d(channels[i - 1] ?? 3, out, 3, { padding: 1, bias: false }),
  );
  const extract: Extract = (image) =>
    scoped(() => {
      const seen: Tensor[] = [];
      let x = image;
      for (const stage of stages) {
        x = stage.call(x).relu();
        seen.push(x);
        x = F.avgPool2d(x, 2);
      }
      return seen;
    });
  const dispose = (): void => {
    for (const stage of stages) stage.dispose();
  };
  return { extract, [Symbol.dispose]: dispose };
}

/** How channels go together, wherever. */
const gram = (features: Tensor): Tensor =>
  scoped(() => {
    const [n = 1, c = 1, h = 1, w = 1] = features.shape;
    const flat = features.reshape(n, c, h * w);
    return flat.matmul(flat.transpose()).div(c * h * w);
  });

const paletteOf = (image: Tensor): Tensor =>
  scoped(() => stack([image.mean([2, 3]), image.std([2, 3])]));

/** What the swatch looks like at each size, worked out when somebody asks first. */
function makeStyleBook(swatch: Tensor, extract: Extract): { at(size: number): Style } & Disposable {
  const pages = new Map<number, Style>();
  const read = (size: number): Style => {
    using scope = newDisposeScope("style");
    const small = F.adaptiveAvgPool2d(swatch, size);
    const grams = extract(small).map((features) => scope.detach(gram(features)));
    return { grams, palette: scope.detach(paletteOf(small)) };
  };
  const at = (size: number): Style => {
    const page = pages.get(size) ?? noGrad(() => read(size));
    pages.set(size, page);
    return page;
  };
  const dispose = (): void => {
    for (const { grams, palette } of pages.values())
      [...grams, palette].forEach((t) => t.dispose());
    pages.clear();
  };
  return { at, [Symbol.dispose]: dispose };
}

function roughness(image: Tensor): Tensor {
  using _ = newDisposeScope("roughness");
  const right = image.roll(-1, 3).sub(image);
  const down = image.roll(-1, 2).sub(image);
  return right.square().mean().add(down.square().mean()).moveToOuter();
}

/** The last few thumbnails, oldest first, as a strip when somebody asks. */
function makeAlbum(capacity: number) {
  const shots: { readonly label: string; readonly thumbnail: Tensor }[] = [];
  return {
    add(label: string, image: Tensor): void {
      const thumbnail = scoped(() => F.adaptiveAvgPool2d(image.detach().clamp(0, 1), 8));
      shots.push({ label, thumbnail: thumbnail.detachFromScope() });
      while (shots.length > capacity) shots.shift()?.thumbnail.dispose();
    },
    async strip(): Promise<{ labels: string[]; pixels: Uint8ClampedArray }> {
      const labels = shots.map((s) => s.label);
      const thumbnails = shots.map((s) => s.thumbnail);
      using row = concat(thumbnails, 3);
      return { labels, pixels: await toBytes(row) };
    },
    [Symbol.dispose](): void {
      for (const { thumbnail } of shots.splice(0)) thumbnail.dispose();
    },
  };
}

/** Channels last, as a canvas element wants them. */
async function toBytes(image: Tensor): Promise<Uint8ClampedArray> {
  let read: Promise<ArrayLike<number>>;
  {
    using _ = newDisposeScope("bytes");
    read = image.mul(255).round().permute(0, 2, 3, 1).data();
  }
  return Uint8ClampedArray.from(await read);
}

function makeLoss(style: Style, extract: Extract): Loss {
  return (pixels) =>
    scoped(() => {
      const seen = extract(pixels);
      const parts = style.grams.map((wanted, i) => F.mseLoss(gram(seen[i]!), wanted));
      parts.push(F.mseLoss(paletteOf(pixels), style.palette).mul(weights.palette));
      parts.push(roughness(pixels).mul(weights.smooth));
      return stack(parts).sum();
    });
}

/** Descends at one size, and gives the average of the last pixels. */
function paint(
  start: Tensor,
  level: Level,
  loss: Loss,
  onStep: (step: number, loss: number, pixels: Tensor) => void,
): Promise<Tensor> {
  return scopedAsync(async () => {
    const pixels = noGrad(() => start.clone());
    pixels.requiresGrad = true;
    using optimizer = new Adam([pixels], { lr: level.lr });
    const schedule = new CosineAnnealingLR(optimizer, { tMax: level.steps });
    let average = pixels.detach();
    for (let step = 0; step < level.steps; step++) {
      let read: Promise<number>;
      {
        using scope = newDisposeScope("step");
        const now = loss(pixels);
        optimizer.zeroGrad();
        now.backward();
        optimizer.step();
        noGrad(() => pixels.clamp_(0, 1));
        const mixed = noGrad(() => average.lerp(pixels, 0.2));
        average = scope.carry(average, mixed);
        read = now.item();
      }
      schedule.step();
      onStep(step, await read, pixels);
    }
    return average;
  });
}

/** A few plain steps, as long as the last number in the gradient's direction. */
function polish(image: Tensor, loss: Loss, rates: readonly number[]): Tensor {
  const slope = valueAndGrad(loss);
  return scoped((scope) => {
    let x = image.alias();
    for (const rate of rates) {
      const [direction] = slope(x).grads;
      if (!direction) break;
      x = scope.carry(x, x.sub(direction.sign().mul(rate)).clamp(0, 1));
    }
    return x;
  });
}

/** The texture as it is and mirrored, for a wall of tiles. */
function* tiles(image: Tensor): Generator<Tensor> {
  yield image.alias();
  yield image.flip(3);
  yield image.flip(2);
  yield image.flip(2, 3);
}

interface Result {
  readonly losses: number[];
  readonly labels: string[];
  readonly wall: Uint8ClampedArray[];
}

async function synthesise(swatch: Tensor, levels: readonly Level[]): Promise<Result> {
  using network = makeExtractor([8, 12]);
  using styles = makeStyleBook(swatch, network.extract);
  using album = makeAlbum(4);
  const losses: number[] = [];
  let canvas = rand([1, 3, 4, 4]);
  let finest = makeLoss(styles.at(4), network.extract);
  for (const level of levels) {
    using larger = F.upsample(canvas, { size: level.size, mode: "bilinear" });
    finest = makeLoss(styles.at(level.size), network.extract);
    const painted = await paint(larger, level, finest, (step, loss, pixels) => {
      losses.push(loss);
      if (step % 3 === 0) album.add(`${String(level.size)}/${String(step)}`, pixels);
    });
    canvas.dispose();
    canvas = painted;
  }
  using polished = polish(canvas, finest, [0.02, 0.01, 0.005]);
  canvas.dispose();
  const { labels } = await album.strip();
  const wall: Uint8ClampedArray[] = [];
  for (using tile of tiles(polished)) wall.push(await toBytes(tile));
  return { losses, labels, wall };
}

/** Threads over and under each other. */
function weave(size: number, threads: number): Tensor {
  using _ = newDisposeScope("weave");
  const wave = linspace(0, threads * 2 * Math.PI, size).sin();
  const warp = wave.reshape(1, size).expand(size, size);
  const weft = warp.transpose();
  const channels = [warp.mul(weft), warp.maximum(weft), weft.abs()];
  return stack(channels).unsqueeze(0).add(1).div(2).moveToOuter();
}

await init();
manualSeed(4);
using swatch = weave(32, 5);
export const result = await synthesise(swatch, [
  { size: 8, steps: 6, lr: 0.05 },
  { size: 16, steps: 4, lr: 0.03 },
  { size: 24, steps: 3, lr: 0.02 },
]);
export const run = (): Promise<Result> => Promise.resolve(result);
