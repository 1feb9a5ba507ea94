/**
 * Plain JavaScript with types in comments: neural style transfer by optimizing pixels.
 */
import { newDisposeScope, noGrad, rand, randn, scoped, tensor, zeros } from "tenure";
import { Conv2d, MaxPool2d, ReLU, Sequential, functional as F } from "tenure/nn";
import { Adam } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ content: Tensor, style: Tensor[] }} Targets */

const WEIGHTS = { content: 1, style: 10 };

class FeatureExtractor {
  constructor() {
    this.first = new Sequential(new Conv2d(1, 2, 3, { padding: 1 }), new ReLU());
    this.second = new Sequential(new MaxPool2d(2), new Conv2d(2, 3, 3, { padding: 1 }));
    /** @type {Tensor | null} */
    this.mean = null;
  }

  /** @param {number} value */
  setMean(value) {
    this.mean?.dispose();
    this.mean = tensor([value]);
  }

  /**
   * The maps of both layers, which are the caller's.
   * @param {Tensor} image
   * @returns {[Tensor, Tensor]}
   */
  features(image) {
    const centred = this.mean === null ? image.alias() : image.sub(this.mean);
    const low = this.first.call(centred);
    centred.dispose();
    const high = this.second.call(low);
    return [low, high];
  }

  dispose() {
    this.first.dispose();
    this.second.dispose();
    this.mean?.dispose();
  }
}

/**
 * How channels go together.
 * @param {Tensor} features
 * @returns {Tensor}
 */
function gram(features) {
  const [n = 1, c = 1, h = 1, w = 1] = features.shape;
  return scoped(() => {
    const flat = features.reshape(n * c, h * w);
    return flat.matmul(flat.transpose()).div(c * h * w);
  });
}

/**
 * @param {FeatureExtractor} extractor
 * @param {Tensor} content
 * @param {Tensor} style
 * @returns {Targets}
 */
function targetsOf(extractor, content, style) {
  return noGrad(() => {
    const [low, high] = extractor.features(content);
    low.dispose();
    const layers = extractor.features(style);
    const grams = layers.map((layer) => gram(layer));
    for (const layer of layers) layer.dispose();
    return { content: high, style: grams };
  });
}

/**
 * @param {FeatureExtractor} extractor
 * @param {Tensor} image
 * @param {Targets} targets
 * @returns {Tensor}
 */
function lossOf(extractor, image, targets) {
  return scoped(() => {
    const layers = extractor.features(image);
    let loss = F.mseLoss(layers[1], targets.content).mul(WEIGHTS.content);
    layers.forEach((layer, i) => {
      const wanted = targets.style[i];
      if (wanted) loss = loss.add(F.mseLoss(gram(layer), wanted).mul(WEIGHTS.style));
    });
    return loss;
  });
}

/**
 * @param {Tensor} image
 * @param {(image: Tensor) => Tensor} fn
 */
async function report(image, fn) {
  const shown = fn(image);
  const text = await shown.print();
  shown.dispose();
  return text.length;
}

/**
 * @param {number} size
 * @param {() => Tensor} [make]
 */
function canvas(size, make = () => randn([1, 1, size, size])) {
  const image = make();
  image.requiresGrad = true;
  return image;
}

/** Transfers a style in some steps. */
export async function run(steps = 3) {
  const extractor = new FeatureExtractor();
  extractor.setMean(0.4);
  extractor.setMean(0.5);
  const content = rand([1, 1, 4, 4]);
  const style = zeros([1, 1, 4, 4]);
  const targets = targetsOf(extractor, content, style);
  content.dispose();
  style.dispose();
  const image = canvas(4);
  const optimizer = new Adam([image], { lr: 0.1 });
  const losses = [];
  try {
    for (let step = 0; step < steps; step++) {
      const scope = newDisposeScope("style");
      let read;
      try {
        const loss = lossOf(extractor, image, targets);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        noGrad(() => image.clamp_(0, 1));
        read = loss.item();
      } finally {
        scope.dispose();
      }
      losses.push(await read);
      if (step % 2 === 1) losses.push(await report(image, (x) => x.clamp(0, 1)));
    }
  } finally {
    optimizer.dispose();
    image.dispose();
    targets.content.dispose();
    for (const g of targets.style) g.dispose();
    extractor.dispose();
  }
  return losses.length;
}
