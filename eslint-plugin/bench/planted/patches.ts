/**
 * A small vision transformer: images are cut into patches, attention maps of all layers are
 * collected on demand and rolled out to what the class token has looked at.
 */
import {
  type Tensor,
  concat,
  eye,
  manualSeed,
  newDisposeScope,
  noGrad,
  randn,
  scoped,
  zeros,
} from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { GELU, LayerNorm, Linear, Module, MultiheadAttention, Sequential } from "tenure/nn";
import { functional as F } from "tenure/nn";
import { AdamW } from "tenure/optim";

const SIZE = 4,
  PATCH = 2,
  WIDTH = 4,
  CLASSES = 3,
  TOKENS = (SIZE / PATCH) ** 2 + 1;

/** Hears the map [N, TOKENS, TOKENS] of a layer, which is lent to it. */
type MapListener = (layer: number, map: Tensor) => void;

/** Squares of images [N, SIZE, SIZE] as rows: [N, TOKENS - 1, PATCH²]. */
function cut(images: Tensor): Tensor {
  const n = images.shape[0] ?? 0,
    side = SIZE / PATCH;
  using _scope = newDisposeScope("cut");
  const squares = images.reshape(n, side, PATCH, side, PATCH).transpose(2, 3);
  return squares.reshape(n, side * side, PATCH * PATCH).moveToOuter();
}

class Block extends Module<[x: Tensor, onMap?: (map: Tensor) => void]> {
  readonly norm = new LayerNorm(WIDTH);
  readonly attention = new MultiheadAttention(WIDTH, 2, { batchFirst: true });
  readonly mlp = new Sequential(new Linear(WIDTH, 8), new GELU(), new Linear(8, WIDTH));

  override forward(x: Tensor, onMap?: (map: Tensor) => void): Tensor {
    using normed = this.norm.call(x);
    using mixed = this.#attend(normed, onMap);
    using sum = x.add(mixed);
    using deep = this.mlp.call(sum);
    return sum.add(deep);
  }

  #attend(x: Tensor, onMap?: (map: Tensor) => void): Tensor {
    if (onMap === undefined) return this.attention.call(x, x, x);
    const { output, weights } = this.attention.call(x, x, x, { needWeights: true });
    onMap(weights);
    weights.dispose();
    return output;
  }
}

class VisionTransformer extends Module<[images: Tensor]> {
  readonly embed = new Linear(PATCH * PATCH, WIDTH);
  readonly blocks = [new Block(), new Block()];
  readonly head = new Linear(WIDTH, CLASSES);
  readonly token = this.parameter("token", zeros([1, 1, WIDTH]));
  readonly positions = this.parameter("positions", zeros([TOKENS, WIDTH]));
  readonly #listeners = new Set<MapListener>();

  /** Calls `listener` with the maps of every pass. @returns what ends that */
  listen(listener: MapListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #tokens(images: Tensor): Tensor {
    using rows = cut(images);
    using embedded = this.embed.call(rows);
    using first = this.token.expand(rows.shape[0]!, 1, WIDTH);
    using all = concat([first, embedded], 1);
    return all.add(this.positions);
  }

  override forward(images: Tensor): Tensor {
    let x = this.#tokens(images);
    for (const [i, block] of this.blocks.entries()) {
      const tell = (map: Tensor): void => {
        for (const listener of this.#listeners) listener(i, map);
      };
      const next = block.call(x, this.#listeners.size > 0 ? tell : undefined);
      x.dispose();
      x = next;
    }
    using last = x.select(1, 0);
    x.dispose();
    return this.head.call(last);
  }
}

/** Collects maps by layer, and the newest rollout. */
class Atlas implements Disposable {
  readonly #maps: Tensor[][];
  readonly #subscription: Disposable;
  rollout?: Tensor;

  constructor(model: VisionTransformer) {
    this.#maps = model.blocks.map(() => []);
    this.#subscription = model.listen((layer, map) => {
      this.#maps[layer]!.push(map.detach().detachFromScope());
    });
  }

  /** The mean map of a layer, [TOKENS, TOKENS]: the caller's. */
  mean(layer: number): Tensor {
    return scoped(() => concat(this.#maps[layer]!).mean(0));
  }

  /** Multiplies the maps of all layers, each with its residual. */
  roll(residual?: Tensor): Tensor {
    const share = residual?.alias() ?? eye(TOKENS);
    let product = eye(TOKENS);
    for (const layer of this.#maps.keys()) {
      using map = this.mean(layer);
      const next = scoped(() => map.add(share).mul(0.5).matmul(product));
      product.dispose();
      product = next;
    }
    share.dispose();
    this.rollout?.dispose();
    this.rollout = product;
    return product;
  }

  /** Forgets the oldest maps. */
  trim(keep = 1): void {
    for (const maps of this.#maps)
      for (const map of maps.splice(0, maps.length - keep)) map.dispose();
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    for (const map of this.#maps.flat()) map.dispose();
    this.rollout?.dispose();
  }
}

/** How often each class is confused with each other one. */
function count(confusion: Tensor, logits: Tensor, labels: Tensor): Tensor {
  return scoped(() => {
    const guessed = logits.argMax(1).unsqueeze(1).eq(labels.unsqueeze(0));
    return confusion.add(guessed.float().sum());
  });
}

const samples = new ArrayDataset({
  image: { data: new Float32Array(6 * SIZE * SIZE).fill(0.5), shape: [SIZE, SIZE] },
  label: { data: [0, 1, 2, 0, 1, 2], shape: [], dtype: "int32" },
});

/** Trains for an epoch, then looks at what the model looks at. */
export async function run(): Promise<number> {
  manualSeed(21);
  using model = new VisionTransformer();
  using loader = new DataLoader(samples, { batchSize: 2, shuffle: true });
  let total = 0;
  {
    using optimizer = new AdamW(model.parameters(), { lr: 1e-3 });
    for await (const { image, label } of loader) {
      const logits = model.call(image);
      using loss = F.crossEntropy(logits, label);
      logits.dispose();
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      total += await loss.item();
    }
  }

  model.eval();
  using atlas = new Atlas(model);
  let confusion = zeros([]);
  for (const { image, label } of loader) {
    using logits = noGrad(() => model.call(image));
    const counted = count(confusion, logits, label);
    confusion.dispose();
    confusion = counted;
    atlas.trim(2);
  }
  const seen = atlas.roll().select(0, 0);
  using even = scoped(() => randn([TOKENS, TOKENS]).softmax());
  total += atlas.roll(even).size + (await seen.data()).length + (await confusion.item());
  confusion.dispose();
  seen.dispose();
  return total;
}
