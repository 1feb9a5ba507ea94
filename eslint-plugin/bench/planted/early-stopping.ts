/**
 * Trains a classifier until its validation loss no longer falls, and goes back to the best weights.
 */
import {
  type Tensor,
  linspace,
  newDisposeScope,
  noGrad,
  oneHot,
  randint,
  randn,
  scoped,
  zeros,
} from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { Dropout, Linear, ReLU, Sequential, type StateDict, functional as F } from "tenure/nn";
import { Adam, StepLR, clipGradNorm } from "tenure/optim";

const CLASSES = 3;

interface Metrics {
  readonly loss: number;
  readonly accuracy: number;
}

/** Counts which class was taken for which. */
class Confusion implements Disposable {
  readonly #counts: Tensor = zeros([CLASSES, CLASSES]);

  add(predicted: Tensor, labels: Tensor): void {
    using _scope = newDisposeScope();
    this.#counts.add_(oneHot(labels, CLASSES).transpose().matmul(oneHot(predicted, CLASSES)));
  }

  async recall(): Promise<number[]> {
    using rates = scoped(() => {
      const right = this.#counts.mul(linspace(1, 1, CLASSES)).sum(1);
      return right.div(this.#counts.sum(1).maximum(1));
    });
    return [...(await rates.data())];
  }

  [Symbol.dispose](): void {
    this.#counts.dispose();
  }
}

function blobs(n: number): ArrayDataset<"x" | "y"> {
  return new ArrayDataset({
    x: { data: Float32Array.from({ length: n * 2 }, (_, i) => Math.sin(i)), shape: [2] },
    y: { data: Int32Array.from({ length: n }, (_, i) => i % CLASSES), shape: [], dtype: "int32" },
  });
}

async function validate(model: Sequential, x: Tensor, y: Tensor): Promise<Metrics> {
  model.eval();
  using confusion = new Confusion();
  const scope = newDisposeScope("validation");
  let reads: [Promise<number>, Promise<number>];
  try {
    const logits = noGrad(() => model.call(x));
    const predicted = logits.argMax(1);
    confusion.add(predicted, y);
    reads = [F.crossEntropy(logits, y).item(), predicted.eq(y).float().mean().item()];
  } finally {
    scope.dispose();
  }
  const [loss, accuracy] = await Promise.all(reads);
  const recall = await confusion.recall();
  return { loss, accuracy: recall.length === CLASSES ? accuracy : 0 };
}

async function trainEpoch(
  model: Sequential,
  optimizer: Adam,
  loader: DataLoader<Readonly<Record<"x" | "y", Tensor>>>,
): Promise<number> {
  model.train();
  let total = 0;
  for (const { x, y } of loader) {
    const logits = model.call(x);
    const loss = F.crossEntropy(logits, y);
    optimizer.zeroGrad();
    loss.backward();
    clipGradNorm(model.parameters(), 1).dispose();
    optimizer.step();
    total += await loss.item();
    loss.dispose();
    logits.dispose();
  }
  return total / loader.length;
}

/** Trains for at most `epochs`. */
export async function run(epochs = 4): Promise<void> {
  using model = new Sequential(new Linear(2, 8), new ReLU(), new Dropout(0.1), new Linear(8, 3));
  using optimizer = new Adam(model.parameters(), { lr: 0.01 });
  using loader = new DataLoader(blobs(24), { batchSize: 8, shuffle: true });
  const schedule = new StepLR(optimizer, { stepSize: 2 });
  using x = randn([6, 2]);
  using y = randint(0, CLASSES, [6], { dtype: "int32" });
  let best: StateDict | null = null,
    bestLoss = Infinity,
    patience = 2;
  for (let epoch = 0; epoch < epochs && patience > 0; epoch++) {
    await trainEpoch(model, optimizer, loader);
    schedule.step();
    const { loss } = await validate(model, x, y);
    if (loss < bestLoss || epoch === 2) {
      bestLoss = loss;
      best?.dispose();
      best = model.stateDict();
    } else patience--;
  }
  if (best !== null) {
    model.loadStateDict(best);
    best.dispose();
  }
}
