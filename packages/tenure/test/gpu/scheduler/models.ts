/**
 * Training steps that the scheduler's tests run: an MLP with dropout, a CNN with batch norm, a
 * ResNet block network, a GPT block. Small, with activations that dominate.
 */
import { type Tensor, manualSeed, tensor } from "tenure";
import {
  BatchNorm2d,
  Conv2d,
  CrossEntropyLoss,
  Dropout,
  Embedding,
  Flatten,
  GELU,
  LayerNorm,
  Linear,
  MaxPool2d,
  Module,
  MultiheadAttention,
  ReLU,
  Sequential,
} from "tenure/nn";
import { Adam, type Optimizer, SGD } from "tenure/optim";
import { scoped } from "tenure";
import { numbers } from "../../helpers.ts";

/** A model in training: `step` runs forward, backward and the update, and returns the loss. */
export interface Training extends Disposable {
  readonly model: Module;
  step(): Tensor;
}

/** Conv, norm, ReLU, conv, norm, plus the input. */
class Block extends Module {
  readonly body: Sequential;
  constructor(channels: number) {
    super();
    this.body = new Sequential(
      new Conv2d(channels, channels, 3, { padding: 1, bias: false }),
      new BatchNorm2d(channels),
      new ReLU(),
      new Conv2d(channels, channels, 3, { padding: 1, bias: false }),
      new BatchNorm2d(channels),
    );
  }
  forward(x: Tensor): Tensor {
    return scoped(() => this.body.call(x).add(x).relu());
  }
}

/** Attention and MLP, each with a norm before and the input added after. */
class Transformer extends Module {
  readonly embed: Embedding;
  readonly norm1: LayerNorm;
  readonly attention: MultiheadAttention;
  readonly norm2: LayerNorm;
  readonly mlp: Sequential;
  readonly head: Linear;
  constructor(vocabulary: number, width: number) {
    super();
    this.embed = new Embedding(vocabulary, width);
    this.norm1 = new LayerNorm(width);
    this.attention = new MultiheadAttention(width, 2, { dropout: 0.1 });
    this.norm2 = new LayerNorm(width);
    this.mlp = new Sequential(
      new Linear(width, 4 * width),
      new GELU(),
      new Linear(4 * width, width),
      new Dropout(0.1),
    );
    this.head = new Linear(width, vocabulary);
  }
  forward(ids: Tensor): Tensor {
    return scoped(() => {
      const x = this.embed.call(ids),
        y = this.norm1.call(x),
        z = x.add(this.attention.call(y, y, y, { causal: true }));
      return this.head.call(z.add(this.mlp.call(this.norm2.call(z))));
    });
  }
}

function training(
  model: Module,
  optimizer: Optimizer,
  x: Tensor,
  y: Tensor,
  logits: (x: Tensor) => Tensor,
): Training {
  const loss = new CrossEntropyLoss();
  return {
    model,
    step: () =>
      scoped(() => {
        optimizer.zeroGrad();
        const l = loss.call(logits(x), y);
        l.backward();
        optimizer.step();
        return l;
      }),
    [Symbol.dispose]() {
      for (const thing of [x, y, loss, optimizer, model]) thing.dispose();
    },
  };
}

const floats = (shape: number[], seed: number): Tensor =>
  tensor(
    numbers(
      shape.reduce((a, b) => a * b),
      seed,
      -1,
      1,
    ),
    { shape },
  );
const labels = (n: number, classes: number): Tensor =>
  tensor(
    Array.from({ length: n }, (_, i) => (7 * i + 3) % classes),
    { dtype: "int32" },
  );

/** Every model by name, made anew from the same seed. */
export const models: Readonly<Record<string, () => Training>> = {
  MLP: () => {
    manualSeed(7);
    const layers: Module[] = [new Linear(32, 64), new ReLU(), new Dropout(0.2)];
    for (let k = 0; k < 4; k++) layers.push(new Linear(64, 64), new ReLU());
    const model = new Sequential(...layers, new Linear(64, 10));
    return training(
      model,
      new Adam(model.parameters(), { lr: 1e-3 }),
      floats([256, 32], 1),
      labels(256, 10),
      (x) => model.call(x),
    );
  },
  CNN: () => {
    manualSeed(7);
    const model = new Sequential(
      new Conv2d(1, 8, 3, { padding: 1 }),
      new BatchNorm2d(8),
      new ReLU(),
      new MaxPool2d(2),
      new Conv2d(8, 8, 3, { padding: 1 }),
      new ReLU(),
      new Flatten(),
      new Linear(8 * 36, 10),
    );
    return training(
      model,
      new SGD(model.parameters(), { lr: 0.05, momentum: 0.9 }),
      floats([16, 1, 12, 12], 2),
      labels(16, 10),
      (x) => model.call(x),
    );
  },
  ResNet: () => {
    manualSeed(7);
    const model = new Sequential(
      new Conv2d(3, 8, 3, { padding: 1 }),
      new Block(8),
      new Block(8),
      new Flatten(),
      new Linear(8 * 64, 10),
    );
    return training(
      model,
      new SGD(model.parameters(), { lr: 0.05, momentum: 0.9 }),
      floats([16, 3, 8, 8], 3),
      labels(16, 10),
      (x) => model.call(x),
    );
  },
  GPT: () => {
    manualSeed(7);
    const model = new Transformer(31, 32),
      ids = tensor(
        Array.from({ length: 8 * 16 }, (_, i) => (5 * i + 1) % 31),
        { shape: [8, 16], dtype: "int32" },
      );
    return training(
      model,
      new Adam(model.parameters(), { lr: 1e-3 }),
      ids,
      labels(8 * 16, 31),
      (x) => model.forward(x).reshape([8 * 16, 31]),
    );
  },
};
