/**
 * Evolves small networks in plain JavaScript: genomes are scored on a task, the best of each
 * species breed, and a hall of fame keeps the best of all. No `using`: it runs as it is on Node 20.
 */
import { bernoulli, full, manualSeed, newDisposeScope, rand, randn, scoped, where } from "tenure";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ hidden: Tensor, bias: Tensor, out: Tensor }} Genome */
/** @typedef {{ genome: Genome, fitness: number, trace: Tensor }} Individual */
/** @typedef {{ x: Tensor, y: Tensor }} Task */

const [IN, HIDDEN] = [3, 4];

/** @returns {Genome} the caller's */
const random = () => ({
  hidden: randn([IN, HIDDEN]),
  bias: randn([HIDDEN]),
  out: randn([HIDDEN]),
});

/** @param {Genome} genome */
function end({ hidden, bias, out }) {
  hidden.dispose();
  bias.dispose();
  out.dispose();
}

/** @param {Individual} individual */
function bury({ genome, trace }) {
  end(genome);
  trace.dispose();
}

/**
 * A copy with some noise, which is the caller's.
 * @param {Genome} genome
 * @param {number} [strength]
 * @returns {Genome}
 */
function mutated({ hidden, bias, out }, strength = 0.1) {
  const shaken = (/** @type {Tensor} */ t) => t.add(randn(t.shape).mul(strength));
  return scoped(() => ({ hidden: shaken(hidden), bias: shaken(bias), out: shaken(out) }));
}

/**
 * Each weight from one of two parents.
 * @param {Genome} mother
 * @param {Genome} father
 * @returns {Genome} the caller's
 */
function crossed(mother, father) {
  const scope = newDisposeScope("cross");
  try {
    const mix = (/** @type {keyof Genome} */ part) => {
      const coin = bernoulli(full(mother[part].shape, 0.5)).bool();
      return where(coin, mother[part], father[part]);
    };
    const child = { hidden: mix("hidden"), bias: mix("bias"), out: mix("out") };
    scope.moveToOuter(child.hidden, child.bias, child.out);
    return child;
  } finally {
    scope.dispose();
  }
}

/**
 * What a network answers, [n]: the caller's.
 * @param {Genome} genome
 * @param {Tensor} x
 */
function answer({ hidden, bias, out }, x) {
  const before = x.matmul(hidden);
  const inner = before.add(bias);
  before.dispose();
  const active = inner.tanh();
  inner.dispose();
  try {
    return active.matmul(out);
  } finally {
    active.dispose();
  }
}

/** Individuals that are alike; it owns them. */
class Species {
  /** @param {Individual} founder */
  constructor(founder) {
    this.members = [founder];
    this.centre = founder.genome.hidden.clone();
  }

  /**
   * @param {Individual} one
   * @param {number} radius of how alike they must be
   */
  async adopts(one, radius) {
    const apart = scoped(() => one.genome.hidden.sub(this.centre).norm());
    const far = await apart.item();
    apart.dispose();
    if (far > radius || this.members.length > 3) return false;
    this.members.push(one);
    return true;
  }

  recentre() {
    const [best] = this.members;
    if (best === undefined) return;
    const centre = this.centre.lerp(best.genome.hidden, 0.5);
    this.centre.dispose();
    this.centre = centre;
  }

  /** @param {number} most how many live on */
  cull(most) {
    this.members.sort((a, b) => b.fitness - a.fitness);
    for (const one of this.members.splice(most)) bury(one);
  }

  dispose() {
    for (const one of this.members) bury(one);
    this.members = [];
    this.centre.dispose();
  }
}

class World {
  /**
   * @param {Task} task stays the caller's
   * @param {{ size?: number, radius?: number, fame?: number }} [options]
   */
  constructor(task, { size = 6, radius = 1, fame = 2 } = {}) {
    this.task = task;
    this.size = size;
    this.radius = radius;
    this.fame = fame;
    /** @type {Species[]} */
    this.species = [];
    /** @type {Genome[]} Best first. */
    this.hall = [];
  }

  /** @param {Genome} genome goes to the individual */
  async born(genome) {
    const trace = answer(genome, this.task.x);
    const error = scoped(() => trace.sub(this.task.y).square().mean());
    const fitness = -(await error.item());
    error.dispose();
    /** @type {Individual} */
    const one = { genome, fitness, trace };
    for (const kind of this.species) if (await kind.adopts(one, this.radius)) return;
    this.species.push(new Species(one));
  }

  /** The best individual, which stays the world's. */
  async generation() {
    const children = [...this.offspring()];
    for (const child of children) await this.born(child);
    for (const kind of this.species) {
      kind.cull(3);
      kind.recentre();
    }
    if (this.species.length > 2) this.species.shift()?.dispose();
    const [best] = this.species.flatMap(({ members }) => members[0] ?? []);
    if (best === undefined) return undefined;
    this.hall.unshift(mutated(best.genome, 0));
    for (const genome of this.hall.splice(this.fame)) end(genome);
    return best;
  }

  /** @returns {Generator<Genome, void>} genomes, which are the consumer's */
  *offspring() {
    for (let i = 0; i < this.size; i++) {
      const [mother, father] = this.species[i % this.species.length]?.members ?? [];
      if (mother === undefined || father === undefined) {
        yield random();
        continue;
      }
      const child = crossed(mother.genome, father.genome);
      yield mutated(child);
      end(child);
    }
  }

  dispose() {
    for (const kind of this.species) kind.dispose();
    for (const genome of this.hall.splice(0)) end(genome);
  }
}

/** Evolves for some generations, and leaves no tensor. */
export async function run(generations = 4) {
  manualSeed(19);
  const task = { x: rand([8, IN]), y: rand([8]) };
  const world = new World(task);
  /** @type {Map<number, Tensor>} The newest best answers by how good they are. */
  const journal = new Map();
  let sum = 0;
  try {
    for (let at = 0; at < generations; at++) {
      const best = await world.generation();
      if (best === undefined) continue;
      journal.get(best.fitness)?.dispose();
      journal.set(best.fitness, best.trace.abs());
    }
    for (const trace of journal.values()) {
      const least = trace.min();
      sum += trace.size + (await least.item());
      least.dispose();
    }
  } finally {
    for (const trace of journal.values()) trace.dispose();
    world.dispose();
    task.x.dispose();
    task.y.dispose();
  }
  return sum;
}
