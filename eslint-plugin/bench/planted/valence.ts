/** Learns the solubility of molecules from their graphs: message passing, readout, a trainer. */
import { concat, newDisposeScope, noGrad, stack, tensor, zeros, type Tensor } from "tenure";
import { Embedding, Linear, Module, ModuleList, ReLU, Sequential, functional } from "tenure/nn";
import { AdamW, clipGradNorm } from "tenure/optim";

interface Molecule {
  readonly name: string;
  readonly atoms: readonly number[];
  readonly bonds: readonly (readonly [a: number, b: number, order: number])[];
  readonly solubility: number;
}

const width = 16;

/** Several molecules as one graph without edges between them. */
class GraphBatch implements Disposable {
  readonly atoms: Tensor;
  readonly edges: Tensor; // [E, 3]: from, to, order
  readonly graph: Tensor;
  readonly sizes: Tensor;
  readonly targets: Tensor;

  constructor(molecules: readonly Molecule[]) {
    const edges: number[][] = [];
    let first = 0;
    for (const { name, atoms, bonds } of molecules) {
      for (const [a, b, order] of bonds) {
        if (Math.max(a, b) >= atoms.length) throw new RangeError(`${name}: a bond to no atom`);
        edges.push([first + a, first + b, order], [first + b, first + a, order]);
      }
      first += atoms.length;
    }
    const ints = (values: number[] | number[][]): Tensor => tensor(values, { dtype: "int32" });
    this.atoms = ints(molecules.flatMap((m) => m.atoms));
    this.edges = ints(edges);
    this.graph = ints(molecules.flatMap((m, i) => m.atoms.map(() => i)));
    this.sizes = tensor(molecules.map((m) => [m.atoms.length]));
    this.targets = tensor(molecules.map((m) => [m.solubility]));
  }

  [Symbol.dispose](): void {
    for (const t of [this.atoms, this.edges, this.graph, this.sizes, this.targets]) t.dispose();
  }
}

/** Adds up the rows of `values` that have the same index. */
function sumRows(values: Tensor, index: Tensor, rows: number): Tensor {
  using scope = newDisposeScope("sumRows");
  const wide = index.unsqueeze(1).expand(values.shape);
  return scope.moveToOuter(zeros([rows, values.shape[1]!]).scatterAdd(0, wide, values));
}

class MessageLayer extends Module<[nodes: Tensor, edges: Tensor]> {
  readonly bond = new Embedding(4, width);
  readonly message = new Linear(2 * width, width);
  readonly update = new Linear(2 * width, width);

  forward(nodes: Tensor, edges: Tensor): Tensor {
    using scope = newDisposeScope("message");
    const [from, to, order] = [0, 1, 2].map((i) => edges.select(1, i)) as [Tensor, Tensor, Tensor];
    const sent = concat([nodes.index(from), this.bond.call(order)], 1);
    const received = sumRows(this.message.call(sent).relu(), to, nodes.shape[0]!);
    const change = this.update.call(concat([nodes, received], 1)).relu();
    return scope.moveToOuter(nodes.add(change));
  }
}

class MoleculeNet extends Module<[batch: GraphBatch]> {
  readonly embed = new Embedding(16, width);
  readonly layers = new ModuleList([new MessageLayer(), new MessageLayer()]);
  readonly head = new Sequential(new Linear(width, width), new ReLU(), new Linear(width, 1));

  /** One row per molecule: the mean of its atoms after the last round of messages. */
  readout(batch: GraphBatch): Tensor {
    let nodes = this.embed.call(batch.atoms);
    for (const layer of this.layers) {
      const next = layer.call(nodes, batch.edges);
      nodes.dispose();
      nodes = next;
    }
    using last = nodes;
    using sums = sumRows(last, batch.graph, batch.sizes.size);
    return sums.div(batch.sizes);
  }

  forward(batch: GraphBatch): Tensor {
    using pooled = this.readout(batch);
    return this.head.call(pooled);
  }

  /** The readout of one molecule, with length 1. */
  fingerprint(molecule: Molecule): Tensor {
    using batch = new GraphBatch([molecule]);
    return noGrad(() => {
      using scope = newDisposeScope("fingerprint");
      const row = this.readout(batch).select(0, 0);
      return scope.moveToOuter(row.div(row.norm().add(1e-6)));
    });
  }
}

/** The batches used last, collated once. */
class BatchCache implements Disposable {
  readonly #batches = new Map<string, GraphBatch>();

  get(key: string, molecules: readonly Molecule[]): GraphBatch {
    const batch = this.#batches.get(key) ?? new GraphBatch(molecules);
    this.#batches.delete(key);
    this.#batches.set(key, batch);
    for (const [oldest, old] of this.#batches) {
      if (this.#batches.size <= 3) break;
      this.#batches.delete(oldest);
      old[Symbol.dispose]();
    }
    return batch;
  }

  [Symbol.dispose](): void {
    for (const batch of this.#batches.values()) batch[Symbol.dispose]();
    this.#batches.clear();
  }
}

class Trainer implements Disposable {
  readonly #model: MoleculeNet;
  readonly #optimizer: AdamW;
  readonly #cache = new BatchCache();
  readonly #best = new Map<string, Tensor>();
  #bestError = Infinity;

  constructor(model: MoleculeNet) {
    this.#model = model;
    this.#optimizer = new AdamW(model.parameters(), { lr: 3e-3 });
  }

  async *fit(train: readonly Molecule[][], valid: readonly Molecule[][], epochs: number) {
    for (let epoch = 1; epoch <= epochs; epoch++) {
      let total = zeros([]);
      for (const group of train) {
        using batch = new GraphBatch(group);
        using loss = this.#step(batch);
        const next = total.add(loss);
        total.dispose();
        total = next;
      }
      const loss = (await total.item()) / train.length;
      total.dispose();
      const error = await this.evaluate(valid, "valid");
      if (error <= this.#bestError) this.#keep(error);
      yield { epoch, loss, error };
    }
  }

  #step(batch: GraphBatch): Tensor {
    using scope = newDisposeScope("step");
    this.#optimizer.zeroGrad();
    const loss = functional.huberLoss(this.#model.call(batch), batch.targets);
    loss.backward();
    clipGradNorm(this.#model.parameters(), 1);
    this.#optimizer.step();
    return scope.moveToOuter(loss.detach());
  }

  /** Mean absolute error over all molecules of a split. */
  async evaluate(groups: readonly Molecule[][], split: string): Promise<number> {
    const sums = groups.map((group, i) => {
      const batch = this.#cache.get(`${split} ${String(i)}`, group);
      using predicted = noGrad(() => this.#model.call(batch));
      using error = functional.l1Loss(predicted, batch.targets, "sum");
      return error.item();
    });
    return (await Promise.all(sums)).reduce((a, b) => a + b, 0) / groups.flat().length;
  }

  #keep(error: number): void {
    this.#forget();
    using state = this.#model.stateDict();
    for (const [name, value] of state) this.#best.set(name, value.clone());
    this.#bestError = error;
  }

  restore(): void {
    this.#model.loadStateDict(this.#best);
    this.#forget();
  }

  #forget(): void {
    for (const value of this.#best.values()) value.dispose();
    this.#best.clear();
  }

  [Symbol.dispose](): void {
    this.#forget();
    this.#cache[Symbol.dispose]();
    this.#optimizer.dispose();
  }
}

/** Finds molecules that the model takes for alike. */
class Fingerprints implements Disposable {
  readonly #rows = new Map<string, Tensor>();

  add(name: string, row: Tensor): void {
    this.#rows.get(name)?.dispose();
    this.#rows.set(name, row);
  }

  async nearest(query: Tensor, k: number): Promise<string[]> {
    using table = stack([...this.#rows.values()]);
    using likeness = table.matmul(query);
    using order = likeness.argSort(0, true);
    const names = [...this.#rows.keys()];
    return Array.from((await order.data()).subarray(0, k), (i) => names[i]!);
  }

  [Symbol.dispose](): void {
    for (const row of this.#rows.values()) row.dispose();
  }
}

function example(i: number): Molecule {
  const size = 5 + (i % 5);
  const atoms = Array.from({ length: size }, (_, k) => (k * i) % 7);
  const bonds = atoms.slice(0, size - 1 + (i % 2)).map((_, k) => [k, (k + 1) % size, 1] as const);
  return { name: `C${String(size)}-${String(i % 20)}`, atoms, bonds, solubility: (i % 9) / 3 - 1 };
}

const molecules = Array.from({ length: 48 }, (_, i) => example(i));
const groups = Array.from({ length: 12 }, (_, i) => molecules.slice(4 * i, 4 * i + 4));
const [train, valid, test] = [groups.slice(0, 7), groups.slice(7, 10), groups.slice(10)];
using model = new MoleculeNet();
using trainer = new Trainer(model);
for await (const { epoch, loss, error } of trainer.fit(train, valid, 3))
  console.log(`epoch ${String(epoch)}: loss ${loss.toFixed(3)}, error ${error.toFixed(3)}`);
trainer.restore();
console.log("test", await trainer.evaluate(test, "test"));
using index = new Fingerprints();
for (const molecule of train.flat()) index.add(molecule.name, model.fingerprint(molecule));
using query = model.fingerprint(molecules[40]!);
console.log("like the first of the test:", await index.nearest(query, 3));
