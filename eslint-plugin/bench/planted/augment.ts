/**
 * Augments batches of small images before training. A builder puts transforms together, each with
 * constants of its own; the pipeline that it builds owns them.
 */
import {
  type Tensor,
  concat,
  full,
  manualSeed,
  newDisposeScope,
  rand,
  randn,
  scoped,
  stack,
  tensor,
  varMean,
  where,
} from "tenure";
import { functional as F } from "tenure/nn";

const SIDE = 8;

/** A step of a pipeline. `images` stay the caller's, and so is what `apply` returns. */
abstract class Transform implements Disposable {
  abstract readonly label: string;
  abstract apply(images: Tensor): Tensor;

  /** Most have nothing to end. */
  [Symbol.dispose](): void {}
}

class Flip extends Transform {
  readonly label = "flip";
  readonly #columns = scoped(() => tensor([1, 0, 1, 0]).reshape(4, 1, 1, 1).gt(0));

  apply(images: Tensor): Tensor {
    using mirrored = images.flip(3);
    return where(this.#columns, mirrored, images);
  }

  override [Symbol.dispose](): void {
    this.#columns.dispose();
  }
}

class Blur extends Transform {
  readonly label = "blur";
  readonly #kernels = new Map<number, Tensor>();
  readonly #radii: readonly number[];
  #turn = 0;

  constructor(radii: readonly number[] = [1, 2]) {
    super();
    this.#radii = radii;
  }

  #kernel(radius: number): Tensor {
    const known = this.#kernels.get(radius);
    if (known !== undefined) return known;
    const side = 2 * radius + 1;
    const kernel = full([1, 1, side, side], 1 / side ** 2).detachFromScope();
    this.#kernels.set(radius, kernel);
    return kernel;
  }

  apply(images: Tensor): Tensor {
    const radius = this.#radii[this.#turn++ % this.#radii.length] ?? 1;
    return F.conv2d(images, this.#kernel(radius), null, { padding: radius });
  }

  override [Symbol.dispose](): void {
    for (const kernel of this.#kernels.values()) kernel.dispose();
    this.#kernels.clear();
  }
}

class Jitter extends Transform {
  readonly label = "jitter";
  readonly #strength: number;
  readonly #bias: Tensor | undefined;

  /** `bias` is added to every image, and stays the caller's. */
  constructor({ strength = 0.1, bias }: { strength?: number; bias?: Tensor } = {}) {
    super();
    this.#strength = strength;
    this.#bias = bias;
  }

  apply(images: Tensor): Tensor {
    using noise = randn(images.shape);
    using scaled = noise.mul(this.#strength);
    if (this.#bias === undefined) return images.add(scaled);
    using shifted = images.add(this.#bias);
    return shifted.add(scaled);
  }
}

/** Hides random pixels, and remembers which. */
class Cutout extends Transform {
  readonly label = "cutout";
  last: Tensor | null = null;

  apply(images: Tensor): Tensor {
    this.last?.dispose();
    this.last = scoped(() => rand(images.shape).lt(0.2)).detachFromScope();
    return images.maskedFill(this.last, 0);
  }

  override [Symbol.dispose](): void {
    this.last?.dispose();
    this.last = null;
  }
}

/** Mixes each batch with the one before it. */
class Mixup extends Transform {
  readonly label = "mixup";
  #before: Tensor | undefined;

  apply(images: Tensor): Tensor {
    using before = this.#before;
    this.#before = images.clone().detachFromScope();
    return before === undefined ? images.alias() : images.lerp(before, 0.3);
  }

  override [Symbol.dispose](): void {
    this.#before?.dispose();
  }
}

class Pipeline implements Disposable {
  readonly #steps: readonly Transform[];

  constructor(steps: readonly Transform[]) {
    this.#steps = steps;
  }

  apply(images: Tensor, onStage?: (label: string, stage: Tensor) => void): Tensor {
    let current = images.alias();
    for (const step of this.#steps) {
      const next = step.apply(current);
      current.dispose();
      onStage?.(step.label, next);
      current = next;
    }
    return current;
  }

  [Symbol.dispose](): void {
    for (const step of this.#steps) step[Symbol.dispose]();
  }
}

class PipelineBuilder {
  readonly #steps: Transform[] = [];

  add(step: Transform): this {
    this.#steps.push(step);
    return this;
  }

  build(): Pipeline {
    return new Pipeline(this.#steps.splice(0));
  }
}

/** Zero mean and unit variance for each image of the batch. */
function standardize(images: Tensor, eps = 1e-5): Tensor {
  using _scope = newDisposeScope("standardize");
  const [variance, mean] = varMean(images, [1, 2, 3], 1, true);
  return images.sub(mean).mul(variance.add(eps).rsqrt()).moveToOuter();
}

/** A contact sheet: a row for each stage, with a border of ones. */
function contactSheet(stages: ReadonlyMap<string, Tensor>): Tensor {
  using border = full([1, SIDE], 1);
  const rows = [...stages.values()].map((stage) => scoped(() => stage.select(0, 0).squeeze(0)));
  try {
    return concat([border, ...rows]);
  } finally {
    for (const row of rows) row.dispose();
  }
}

function* batches(count: number): Generator<Tensor> {
  for (let i = 0; i < count; i++) yield rand([4, 1, SIDE, SIDE]);
}

/** The mean over several views of the same images. */
function averagedViews(pipeline: Pipeline, images: Tensor, views: number): Tensor {
  const made: Tensor[] = [];
  for (let i = 0; i < views; i++) made.push(pipeline.apply(images));
  using all = stack(made);
  for (const view of made) view.dispose();
  return all.mean(0);
}

/** The whole program. */
export async function run(): Promise<number> {
  manualSeed(11);
  using bias = full([1, SIDE, SIDE], 0.05);
  const builder = new PipelineBuilder().add(new Flip()).add(new Blur());
  using pipeline = builder.add(new Jitter({ bias })).add(new Cutout()).add(new Mixup()).build();
  let total = 0;
  for (const batch of batches(3)) {
    const stages = new Map<string, Tensor>();
    using augmented = pipeline.apply(batch, (label, stage) => stages.set(label, stage.alias()));
    using ready = standardize(augmented);
    batch.dispose();
    using sheet = contactSheet(stages);
    for (const stage of stages.values()) stage.dispose();
    using brightest = sheet.max();
    total += (await brightest.item()) + ready.size;
  }
  using probe = rand([4, 1, SIDE, SIDE]);
  using smooth = averagedViews(pipeline, probe, 3);
  using mean = smooth.mean();
  return total + (await mean.item());
}
