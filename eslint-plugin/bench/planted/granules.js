/**
 * Grains in a box, under forces that can be changed while it runs. A small network learns what a
 * coarse step gets wrong. The past can be replayed and gone back to.
 */
import { concat, manualSeed, noGrad, rand, scoped, tensor, zeros } from "tenure";
import { packCheckpoint, unpackCheckpoint } from "tenure/data";
import { Linear, Sequential, Tanh, functional } from "tenure/nn";
import { Adam } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ pos: Tensor, vel: Tensor }} State */
/** @typedef {{ apply(state: State): Tensor, dispose?(): void }} Force */

/** @param {State} state */
const copyState = (state) => ({ pos: state.pos.clone(), vel: state.vel.clone() });

/** @param {State} state */
function freeState(state) {
  state.pos.dispose();
  state.vel.dispose();
}

/** @param {number} strength @returns {Force} */
function gravity(strength) {
  const pull = tensor([[0, -strength]]);
  return { apply: (state) => pull.expand(state.pos.shape), dispose: () => pull.dispose() };
}

/** @param {number} k @returns {Force} */
const drag = (k) => ({ apply: (state) => state.vel.mul(-k) });

/** What was, at most `capacity` frames of it. */
class History {
  /** @param {number} capacity */
  constructor(capacity) {
    this.capacity = capacity;
    /** @type {{ frame: number, state: State }[]} */
    this.entries = [];
  }
  /** @param {number} frame @param {State} state */
  record(frame, state) {
    this.entries.push({ frame, state: copyState(state) });
    if (this.entries.length > this.capacity) {
      const oldest = this.entries.shift();
      if (oldest) freeState(oldest.state);
    }
  }
  /** The last state not after `frame`; what came later is forgotten. @param {number} frame */
  rewind(frame) {
    const later = this.entries.filter((entry) => entry.frame > frame);
    this.entries = this.entries.filter((entry) => entry.frame <= frame);
    for (const { state } of later) freeState(state);
    return this.entries.at(-1);
  }
  /** Positions half way between each frame and the next. */
  *replay() {
    for (const [i, { state }] of this.entries.entries()) {
      const next = this.entries[i + 1];
      if (!next) return;
      const sum = state.pos.add(next.state.pos);
      yield sum.mul(0.5);
      sum.dispose();
    }
  }
  clear() {
    for (const { state } of this.entries) freeState(state);
    this.entries = [];
  }
}

/** Learns the difference between one coarse step and several fine ones. */
class Corrector {
  /** @param {number} width */
  constructor(width) {
    this.net = new Sequential(new Linear(4, width), new Tanh(), new Linear(width, 2));
    this.optimizer = new Adam(this.net.parameters(), { lr: 0.01 });
    /** @type {[input: Tensor, target: Tensor][]} */
    this.pairs = [];
  }
  /** @param {State} state */
  correction(state) {
    const input = concat([state.pos, state.vel], 1);
    const out = noGrad(() => this.net.call(input));
    input.dispose();
    return out;
  }
  /** @param {State} before @param {State} coarse @param {State} fine */
  observe(before, coarse, fine) {
    const input = concat([before.pos, before.vel], 1);
    const target = fine.vel.sub(coarse.vel);
    this.pairs.push([input, target]);
    if (this.pairs.length > 4) for (const old of this.pairs.shift() ?? []) old.dispose();
  }
  async fit() {
    const losses = [];
    for (const [input, target] of this.pairs) {
      const guess = this.net.call(input);
      const loss = functional.mseLoss(guess, target);
      this.optimizer.zeroGrad();
      loss.backward();
      this.optimizer.step();
      losses.push(await loss.item());
      guess.dispose();
      loss.dispose();
    }
    return losses;
  }
  save() {
    return packCheckpoint({ model: this.net, optimizer: this.optimizer });
  }
  dispose() {
    this.optimizer.dispose();
    this.net.dispose();
    for (const value of this.pairs.flat()) value.dispose();
  }
}

/** @param {Uint8Array} bytes */
function restore(bytes) {
  const corrector = new Corrector(12);
  try {
    unpackCheckpoint(bytes, { model: corrector.net, optimizer: corrector.optimizer });
    return corrector;
  } catch {
    corrector.dispose();
    return null;
  }
}

class Box {
  /** @param {number} grains */
  constructor(grains) {
    /** @type {State} */
    this.front = { pos: rand([grains, 2]), vel: zeros([grains, 2]) };
    this.back = copyState(this.front);
    /** @type {Map<string, Force>} */
    this.forces = new Map();
    this.corrector = new Corrector(12);
    this.history = new History(5);
    this.frame = 0;
  }
  /** @param {string} name @param {Force} force */
  setForce(name, force) {
    this.forces.get(name)?.dispose?.();
    this.forces.set(name, force);
  }
  /** @param {State} state */
  acceleration(state) {
    const total = zeros(state.pos.shape);
    for (const force of this.forces.values()) {
      const part = force.apply(state);
      total.add_(part).dispose();
      part.dispose();
    }
    return total;
  }
  /** @param {State} state @param {number} dt @returns {State} */
  advance(state, dt) {
    const push = this.acceleration(state);
    const vel = scoped(() => state.vel.add(push.mul(dt)));
    const pos = scoped(() => state.pos.add(vel.mul(dt)).clamp(0, 1));
    push.dispose();
    return { pos, vel };
  }
  step(dt = 0.1) {
    const next = this.advance(this.front, dt);
    if (this.frame % 3 === 0) this.compare(next, dt);
    scoped(() => {
      next.vel.add_(this.corrector.correction(this.front));
      this.back.pos.copy_(next.pos);
      this.back.vel.copy_(next.vel);
    });
    freeState(next);
    [this.front, this.back] = [this.back, this.front];
    this.history.record(this.frame++, this.front);
  }
  /** Does the step again in four, to learn from. @param {State} coarse @param {number} dt */
  compare(coarse, dt) {
    let fine = copyState(this.front);
    for (let i = 0; i < 4; i++) {
      const finer = this.advance(fine, dt / 4);
      freeState(fine);
      fine = finer;
    }
    this.corrector.observe(this.front, coarse, fine);
    freeState(fine);
  }
  /** @param {number} frame */
  goBack(frame) {
    const entry = this.history.rewind(frame);
    if (!entry) return;
    freeState(this.front);
    this.front = copyState(entry.state);
    this.frame = entry.frame + 1;
  }
  dispose() {
    freeState(this.front);
    freeState(this.back);
    for (const force of this.forces.values()) force.dispose?.();
    this.corrector.dispose();
    this.history.clear();
  }
}

manualSeed(8);
const box = new Box(16);
box.setForce("gravity", gravity(9.8));
box.setForce("drag", drag(0.2));
/** @type {Map<number, Uint8Array>} */
const saves = new Map();

for (let i = 0; i < 24; i++) {
  if (i === 6) box.setForce("gravity", gravity(1.6));
  box.step();
  if (i % 6 === 5) {
    await box.corrector.fit();
    saves.set(i, await box.corrector.save());
  }
  if (i === 12) {
    box.goBack(9);
    const older = restore(saves.get(5) ?? new Uint8Array());
    if (older) {
      box.corrector.dispose();
      box.corrector = older;
    }
  }
}

let seen = 0;
for (const pos of box.history.replay()) {
  seen += (await pos.data()).length;
  pos.dispose();
}
const damaged = restore(new Uint8Array([1, 2, 3]));
const report = { seen, intact: damaged !== null };
damaged?.dispose();
box.dispose();

/** What was seen. */
export const run = () => Promise.resolve(report);
