/**
 * Classifies papers by who cites whom: a graph network over blocks of the adjacency matrix, most of
 * which are empty. Graphs are put together by a builder.
 */
import {
  type Tensor,
  concat,
  manualSeed,
  newDisposeScope,
  noGrad,
  oneHot,
  randint,
  randn,
  scoped,
  tensor,
  zeros,
} from "tenure";
import { Linear, Module, functional as F } from "tenure/nn";
import { RMSprop } from "tenure/optim";

const BLOCK = 3,
  FEATURES = 4,
  CLASSES = 3;

type Edge = readonly [from: number, to: number];
/** Rows of blocks [BLOCK, BLOCK]; null where nobody cites anybody. */
type Blocks = (Tensor | null)[][];

class Graph implements Disposable {
  readonly blocks: Blocks;
  /** Features by row of blocks. */
  readonly parts: readonly Tensor[];
  readonly labels: Tensor;

  constructor(blocks: Blocks, parts: readonly Tensor[], labels: Tensor) {
    this.blocks = blocks;
    this.parts = parts;
    this.labels = labels;
  }

  /** Empties the block that fewest papers are in, and says whether there was one. */
  thin(row: number, column: number): boolean {
    const block = this.blocks[row]?.[column] ?? null;
    if (block === null) return false;
    this.blocks[row]![column] = null;
    block.dispose();
    return true;
  }

  [Symbol.dispose](): void {
    for (const block of this.blocks.flat()) block?.dispose();
    for (const part of this.parts) part.dispose();
    this.labels.dispose();
  }
}

class GraphBuilder {
  readonly #edges: Edge[] = [];
  #features: Tensor | null = null;
  #labels: Tensor | null = null;

  cite(...edges: readonly Edge[]): this {
    this.#edges.push(...edges);
    return this;
  }

  /** Takes the features [papers, FEATURES]. */
  features(given: Tensor): this {
    this.#features?.dispose();
    this.#features = given;
    return this;
  }

  /** Takes the labels; without them all papers are of class 0. */
  labels(given: Tensor): this {
    this.#labels?.dispose();
    this.#labels = given;
    return this;
  }

  build(): Graph {
    const features = this.#features;
    if (features === null) throw new Error("citations: a graph needs features");
    const count = Math.ceil(features.shape[0]! / BLOCK);
    const blocks = Array.from({ length: count }, (_, row) =>
      Array.from({ length: count }, (_, column) => this.#block(row, column)),
    );
    const parts = features.split(BLOCK);
    const labels = this.#labels ?? zeros([count * BLOCK], { dtype: "int32" });
    features.dispose();
    this.#features = this.#labels = null;
    return new Graph(blocks, parts, labels);
  }

  #block(row: number, column: number): Tensor | null {
    const cells = new Float32Array(BLOCK * BLOCK);
    for (const [from, to] of this.#edges)
      if (Math.floor(from / BLOCK) === row && Math.floor(to / BLOCK) === column)
        cells[(from % BLOCK) * BLOCK + (to % BLOCK)] = 1;
    if (!cells.includes(1)) return null;
    using raw = tensor(cells, { shape: [BLOCK, BLOCK] });
    return scoped(() => raw.div(raw.sum(1, true).add(1)));
  }
}

/** Sums what neighbours have into `back`, row of blocks by row; what was there before is ended. */
function spread(blocks: Blocks, front: readonly Tensor[], back: Tensor[]): void {
  for (const [row, line] of blocks.entries()) {
    let sum = front[row]!.clone();
    for (const [column, block] of line.entries()) {
      if (block === null) continue;
      using message = block.matmul(front[column]!);
      const next = sum.add(message);
      sum.dispose();
      sum = next;
    }
    back[row]?.dispose();
    back[row] = sum;
  }
}

class GraphConv extends Module<[graph: Graph, parts: readonly Tensor[]], Tensor[]> {
  readonly mix: Linear;
  readonly #last: boolean;

  constructor(inputs: number, outputs: number, { last = false } = {}) {
    super();
    this.mix = new Linear(inputs, outputs);
    this.#last = last;
  }

  override forward({ blocks }: Graph, parts: readonly Tensor[]): Tensor[] {
    const gathered: Tensor[] = [];
    spread(blocks, parts, gathered);
    const results = gathered.map((part) => {
      const mixed = this.mix.call(part);
      if (this.#last) return mixed;
      const active = mixed.relu();
      mixed.dispose();
      return active;
    });
    for (const part of gathered) part.dispose();
    return results;
  }
}

class Classifier extends Module<[graph: Graph]> {
  readonly layers = [new GraphConv(FEATURES, 5), new GraphConv(5, CLASSES, { last: true })];

  override forward(graph: Graph): Tensor {
    let parts: readonly Tensor[] = graph.parts;
    for (const layer of this.layers) {
      const next = layer.call(graph, parts);
      if (parts !== graph.parts) for (const part of parts) part.dispose();
      parts = next;
    }
    const logits = concat(parts);
    for (const part of parts) part.dispose();
    return logits;
  }
}

/** Labels that spread along citations, in two buffers that change places: [papers, CLASSES]. */
function propagate(graph: Graph, rounds: number): Tensor {
  using hot = oneHot(graph.labels, CLASSES);
  using start = hot.float();
  let front = start.split(BLOCK),
    back: Tensor[] = [];
  for (let i = 0; i < rounds; i++) {
    spread(graph.blocks, front, back);
    [front, back] = [back, front];
  }
  const result = concat(front);
  for (const t of [...front, ...back]) t.dispose();
  return result;
}

function train(model: Classifier, graph: Graph, steps: number, onLoss: (loss: Tensor) => void) {
  using optimizer = new RMSprop(model.parameters(), { lr: 0.01 });
  for (let step = 0; step < steps; step++) {
    using _scope = newDisposeScope("train");
    const loss = F.crossEntropy(model.call(graph), graph.labels);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    onLoss(loss.detach());
  }
}

/** Trains, thins the graph, and compares with labels that spread. */
export async function run(): Promise<number> {
  manualSeed(8);
  const builder = new GraphBuilder()
    .cite([0, 1], [1, 2], [2, 4], [5, 0])
    .features(randn([6, FEATURES]))
    .labels(randint(0, CLASSES, [6]));
  using graph = builder.build();
  using plain = builder.features(randn([3, FEATURES])).build();
  using model = new Classifier();
  const losses: Promise<number>[] = [];
  train(model, graph, 3, (loss) => losses.push(loss.item()));
  let total = (await Promise.all(losses)).length;
  if (graph.thin(1, 0)) total++;
  for (const each of [graph, plain]) {
    using spreadOut = propagate(each, 3);
    using guess = noGrad(() => model.call(each));
    using agree = scoped(() => guess.argMax(1).eq(spreadOut.argMax(1)).float().mean());
    total += await agree.item();
  }
  return total;
}
