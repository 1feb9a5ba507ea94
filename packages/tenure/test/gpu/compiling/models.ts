/**
 * Training steps for the tests of `compile`: the same seeds, the same batches, once as written and
 * once compiled. Each owns what it makes and frees it.
 */
import {
  type Tensor,
  compile,
  manualSeed,
  memory,
  newDisposeScope,
  randn,
  sync,
  tensor,
} from "tenure";
import {
  Conv2d,
  Dropout,
  Embedding,
  Flatten,
  Linear,
  MaxPool2d,
  type Module,
  ReLU,
  Sequential,
  TransformerEncoderLayer,
  functional,
} from "tenure/nn";
import { Adam, type Optimizer, SGD } from "tenure/optim";

/** A model with its loss and data. */
export interface Case {
  readonly make: () => { model: Module; optimizer: Optimizer };
  readonly batch: () => [x: Tensor, y: Tensor];
}

function classes(n: number, of: number): Tensor {
  return tensor(Int32Array.from({ length: n }, (_, i) => i % of));
}

/** A small transformer over token numbers. Dropout fused with a product takes long to compile. */
class Gpt extends Sequential {
  constructor() {
    super(
      new Embedding(11, 8),
      new Dropout(0.1),
      new TransformerEncoderLayer(8, 2, { dimFeedforward: 16, dropout: 0 }),
      new Flatten(),
      new Linear(32, 5),
    );
  }
}

const sgd = (model: Module): Optimizer => new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
const adam = (model: Module): Optimizer => new Adam(model.parameters(), { lr: 0.01 });

const mlp = (): Module => new Sequential(new Linear(6, 12), new ReLU(), new Linear(12, 4));
const cnn = (): Module =>
  new Sequential(
    new Conv2d(1, 3, 3),
    new ReLU(),
    new MaxPool2d(2),
    new Flatten(),
    new Dropout(0.2),
    new Linear(27, 4),
  );

/** The cases, by name. */
export const cases: Readonly<Record<string, Case>> = {
  "MLP, SGD": {
    make: () => made(mlp, sgd),
    batch: () => [randn([5, 6]), classes(5, 4)],
  },
  "CNN, Adam": {
    make: () => made(cnn, adam),
    batch: () => [randn([2, 1, 8, 8]), classes(2, 4)],
  },
  "GPT, SGD": {
    make: () => made(() => new Gpt(), sgd),
    batch: () => [
      tensor(Int32Array.from({ length: 12 }, (_, i) => (i * 7) % 11)).reshape(3, 4),
      classes(3, 5),
    ],
  },
};

function made(
  model: () => Module,
  optimizer: (model: Module) => Optimizer,
): { model: Module; optimizer: Optimizer } {
  const own = model();
  return { model: own, optimizer: optimizer(own) };
}

/** What a run leaves behind. */
export interface Outcome {
  readonly losses: readonly number[];
  readonly values: readonly (readonly number[])[];
  readonly liveBytes: readonly number[];
  readonly tensors: readonly number[];
  readonly replays: number;
  readonly reasons: ReadonlyMap<string, number>;
}

/** Trains for some steps, compiled or not. */
export async function train(
  { make, batch }: Case,
  steps: number,
  compiled: boolean,
): Promise<Outcome> {
  manualSeed(7);
  const { model, optimizer } = make();
  using _model = model;
  using _optimizer = optimizer;
  const losses: number[] = [];
  const liveBytes: number[] = [];
  const tensors: number[] = [];
  const step = (x: Tensor, y: Tensor): Tensor => {
    optimizer.zeroGrad();
    const loss = functional.crossEntropy(model.call(x), y);
    loss.backward();
    optimizer.step();
    return loss;
  };
  using fast = compile(step);
  const before = memory.stats();
  for (let i = 0; i < steps; i++) {
    let loss: Promise<number>;
    {
      using _scope = newDisposeScope();
      const [x, y] = batch();
      loss = (compiled ? fast : step)(x, y).item();
    }
    losses.push(await loss);
    await sync();
    const now = memory.stats();
    liveBytes.push(now.liveBytes - before.liveBytes);
    tensors.push(now.threadTotalLiveCount - before.threadTotalLiveCount);
  }
  const reads: Promise<ArrayLike<number>>[] = [];
  {
    using _scope = newDisposeScope();
    for (const p of model.parameters()) {
      reads.push(p.data());
      const { grad } = p;
      if (grad !== null) reads.push(grad.data());
    }
    reads.push(randn([4]).data()); // where the random stream stands
  }
  const values = (await Promise.all(reads)).map((data) => Array.from(data));
  const { replays, reasons } = fast.report();
  return { losses, values, liveBytes, tensors, replays, reasons };
}
