/**
 * One trunk and a head per task, trained along a curriculum: stages bring tasks in and take them
 * out, losses are weighed by their running means, and the trunk is held near an anchor.
 */
import { type Tensor, linspace, manualSeed, newDisposeScope, noGrad } from "tenure";
import { randn, scoped, stack, tensor, zeros } from "tenure";
import { Linear, Sequential, Tanh, functional as F } from "tenure/nn";
import { Adam, type Optimizer, SGD } from "tenure/optim";

const WIDTH = 6,
  BATCH = 4;

type TaskName = "sum" | "sign" | "shape";

interface Batch {
  readonly x: Tensor;
  readonly y: Tensor;
}

interface Head {
  readonly layer: Linear;
  readonly optimizer: Optimizer;
  /** Mean of the losses so far. */
  running: Tensor;
  readonly difficulty?: Tensor;
}

interface Stage {
  readonly tasks: readonly TaskName[];
  readonly steps: number;
  readonly noise: number;
}

const STAGES: readonly Stage[] = [
  { tasks: ["sum"], steps: 2, noise: 0 },
  { tasks: ["sum", "sign"], steps: 3, noise: 0.1 },
  { tasks: ["sign", "shape"], steps: 3, noise: 0.2 },
];

/** What a task asks for; lent examples stay the caller's. */
const answers: Record<TaskName, (x: Tensor) => Tensor> = {
  sum: (x) => x.sum(1, true),
  sign: (x) => scoped(() => x.mean(1, true).gt(0).float()),
  shape: (x) => scoped(() => x.square().sum(1, true).sqrt()),
};

/** Examples kept for tests, by task. Made once. */
const held = new Map<TaskName, Batch>();

function heldOut(task: TaskName): Batch {
  const known = held.get(task);
  if (known) return known;
  const batch = draw(task, 0);
  held.set(task, batch);
  return batch;
}

function releaseHeld(): void {
  held.forEach(endBatch);
  held.clear();
}

function endBatch({ x, y }: Batch): void {
  x.dispose();
  y.dispose();
}

function draw(task: TaskName, noise: number): Batch {
  const clean = randn([BATCH, WIDTH]);
  const y = answers[task](clean);
  if (noise === 0) return { x: clean, y };
  using added = randn(clean.shape);
  using scaled = added.mul(noise);
  const x = clean.add(scaled);
  clean.dispose();
  return { x, y };
}

function* schedule(stage: Stage): Generator<readonly [TaskName, Batch]> {
  for (let step = 0; step < stage.steps; step++)
    for (const task of stage.tasks) yield [task, draw(task, stage.noise)];
}

class MultiTask {
  readonly #trunk = new Sequential(new Linear(WIDTH, WIDTH), new Tanh());
  readonly #optimizer = new SGD(this.#trunk.parameters(), { lr: 0.05 });
  readonly #heads: Partial<Record<TaskName, Head>> = {};
  #anchor: Tensor[] = [];

  /** Brings in the tasks of a stage and takes the others out. */
  enter({ tasks }: Stage): void {
    for (const task of Object.keys(this.#heads) as TaskName[])
      if (!tasks.includes(task)) this.#retire(task);
    for (const task of tasks) this.#heads[task] ??= this.#makeHead(task);
    this.#moveAnchor();
  }

  #makeHead(task: TaskName): Head {
    const layer = new Linear(WIDTH, 1);
    const optimizer = new Adam(layer.parameters());
    const head = { layer, optimizer, running: zeros([]) };
    return task === "shape" ? { ...head, difficulty: linspace(0.5, 1, BATCH) } : head;
  }

  #retire(task: TaskName): void {
    const head = this.#heads[task];
    if (head === undefined) return;
    head.optimizer.dispose();
    head.layer.dispose();
    head.running.dispose();
    head.difficulty?.dispose();
    delete this.#heads[task];
  }

  #moveAnchor(): void {
    const next = this.#trunk.parameters().map((p) => noGrad(() => p.clone()));
    for (const old of this.#anchor) old.dispose();
    this.#anchor = next;
  }

  #pull(): Tensor {
    return this.#trunk
      .parameters()
      .map((p, i) => p.sub(this.#anchor[i]!).square().sum())
      .reduce((a, b) => a.add(b));
  }

  /** The loss of each example; the result is the caller's. */
  #losses(head: Head, { x, y }: Batch): Tensor {
    using seen = this.#trunk.call(x);
    using guess = head.layer.call(seen);
    using each = F.mseLoss(guess, y, "none");
    if (head.difficulty === undefined) return each.squeeze(1);
    using row = each.squeeze(1);
    return row.mul(head.difficulty);
  }

  step(task: TaskName, batch: Batch): Promise<number> {
    const head = this.#heads[task];
    if (head === undefined) throw new Error(`curriculum: expected a head for ${task}`);
    const loss = scoped(() => {
      const plain = this.#losses(head, batch).mean();
      const weighed = plain.div(head.running.add(1)).add(this.#pull().mul(0.01));
      this.#optimizer.zeroGrad();
      head.optimizer.zeroGrad();
      weighed.backward();
      this.#optimizer.step();
      head.optimizer.step();
      return plain.detach();
    });
    const running = head.running.lerp(loss, 0.1);
    head.running.dispose();
    head.running = running;
    const read = loss.item();
    loss.dispose();
    return read;
  }

  /** Mean loss of the heads there are, on examples held out. */
  async evaluate(weights?: Tensor): Promise<number> {
    const entries = Object.entries(this.#heads) as [TaskName, Head][];
    const losses = entries.map(([task, head]) =>
      noGrad(() => {
        using each = this.#losses(head, heldOut(task));
        return each.mean();
      }),
    );
    using all = stack(losses);
    losses.forEach((loss) => loss.dispose());
    using share = weights?.alias() ?? tensor(1 / entries.length);
    using weighed = all.mul(share);
    using total = weighed.sum();
    return await total.item();
  }

  dispose(): void {
    for (const task of Object.keys(this.#heads) as TaskName[]) this.#retire(task);
    for (const old of this.#anchor.splice(0)) old.dispose();
    this.#optimizer.dispose();
    this.#trunk.dispose();
  }
}

/** Goes through the stages. */
export async function run(stages = STAGES): Promise<number> {
  manualSeed(6);
  const model = new MultiTask();
  let total = 0;
  try {
    for (const stage of stages) {
      model.enter(stage);
      for (const [task, batch] of schedule(stage)) {
        total += await model.step(task, batch);
        endBatch(batch);
      }
      let weights: Tensor | undefined;
      if (stage.tasks.length > 1) {
        using scope = newDisposeScope("weights");
        weights = scope.detach(randn([stage.tasks.length]).softmax());
      }
      total += await model.evaluate(weights);
      weights?.dispose();
    }
  } finally {
    model.dispose();
    releaseHeld();
  }
  return total;
}
