/**
 * A lighting console. A look is the level of every channel of the rig; cues fade from look to look,
 * effects lie on top, and what the desk sends goes through masters to the dimmers. What the
 * operator changed can be undone.
 */
import { EventEmitter } from "node:events";
import { arange, full, manualSeed, newDisposeScope, ones, rand } from "tenure";
import { scoped, tensor, zeros } from "tenure";

/** @import { Tensor } from "tenure" */

/** @typedef {{ name: string, look: Tensor, steps: number }} Cue */
/** @typedef {(time: number) => Tensor} Effect */

const CHANNELS = 12;
const MOST_UNDO = 3;

/** The levels the operator works on, with what they were before. */
class Programmer {
  #levels = zeros([CHANNELS]);
  /** @type {Tensor[]} */
  #past = [];

  /** A copy of the levels, the caller's. */
  get look() {
    return this.#levels.alias();
  }

  /** @param {Tensor} next taken over */
  #commit(next) {
    this.#past.push(this.#levels);
    if (this.#past.length > MOST_UNDO) this.#past.shift()?.dispose();
    this.#levels = next;
  }

  /** @param {readonly number[]} channels @param {number} level */
  set(channels, level) {
    const next = scoped(() => {
      const chosen = tensor(Array.from({ length: CHANNELS }, (_, i) => channels.includes(i)));
      return this.#levels.maskedFill(chosen, level);
    });
    this.#commit(next);
  }

  /** @param {number} factor */
  scale(factor) {
    using raised = this.#levels.mul(factor);
    this.#commit(raised.clamp(0, 1));
  }

  undo() {
    const last = this.#past.pop();
    if (last === undefined) return false;
    this.#levels.dispose();
    this.#levels = last;
    return true;
  }

  dispose() {
    for (const levels of [...this.#past, this.#levels]) levels.dispose();
  }
}

/** A list of cues and the fade from the one to the next. */
class CueList {
  /** @type {Cue[]} */
  #cues = [];

  /** @param {Cue} cue taken over; it replaces one of its name */
  record(cue) {
    const at = this.#cues.findIndex(({ name }) => name === cue.name);
    if (at < 0) this.#cues.push(cue);
    else {
      this.#cues[at]?.look.dispose();
      this.#cues[at] = cue;
    }
  }

  /** @param {string} name */
  remove(name) {
    const gone = this.#cues.filter((cue) => cue.name === name);
    this.#cues = this.#cues.filter((cue) => cue.name !== name);
    for (const { look } of gone) look.dispose();
  }

  /** @param {number} index @param {Tensor} from borrowed until the first step */
  *fade(index, from) {
    const cue = this.#cues[index];
    if (cue === undefined) return;
    const start = from.alias();
    const target = cue.look.alias();
    try {
      for (let step = 1; step <= cue.steps; step++) yield start.lerp(target, step / cue.steps);
    } finally {
      start.dispose();
      target.dispose();
    }
  }

  dispose() {
    for (const { look } of this.#cues) look.dispose();
    this.#cues = [];
  }
}

/** Effects by name, made of what the show file says. Each keeps what it needs. */
class EffectRack {
  /** @type {Map<string, { effect: Effect, end: () => void }>} */
  #effects = new Map();

  /** @param {string} name @param {{ kind: "chase" | "flicker", depth: number }} config */
  start(name, { kind, depth }) {
    this.stop(name);
    if (kind === "chase") {
      const phase = scoped(() => arange(CHANNELS).to("float32").div(CHANNELS));
      const effect = (/** @type {number} */ time) =>
        scoped(() => phase.add(time).mul(6.28).sin().mul(depth));
      this.#effects.set(name, { effect, end: () => phase.dispose() });
    } else {
      const amount = full([CHANNELS], depth);
      const effect = () => {
        using noise = rand([CHANNELS]);
        return noise.mul(amount);
      };
      this.#effects.set(name, { effect, end: () => amount.dispose() });
    }
  }

  /** @param {string} name */
  stop(name) {
    this.#effects.get(name)?.end();
    this.#effects.delete(name);
  }

  /** @param {Tensor} levels borrowed @param {number} time */
  apply(levels, time) {
    using scope = newDisposeScope("effects");
    let sum = levels.alias();
    for (const { effect } of this.#effects.values()) sum = sum.add(effect(time));
    return scope.moveToOuter(sum.clamp(0, 1));
  }

  dispose() {
    for (const name of [...this.#effects.keys()]) this.stop(name);
  }
}

/** Sends "frame" with the levels of the dimmers, which are lent to the listener. */
class Desk extends EventEmitter {
  programmer = new Programmer();
  cues = new CueList();
  rack = new EffectRack();
  #master = ones([CHANNELS]);
  #stage = zeros([CHANNELS]);
  #time = 0;

  /** @param {string} name @param {number} steps */
  store(name, steps) {
    this.cues.record({ name, look: this.programmer.look, steps });
  }

  /** @param {readonly number[]} limits one for each channel */
  limit(limits) {
    const next = tensor([...limits]);
    if (next.size !== CHANNELS) {
      next.dispose();
      throw new RangeError(`expected ${CHANNELS} limits, got ${limits.length}`);
    }
    this.#master.dispose();
    this.#master = next;
  }

  /** @param {number} index @param {AbortSignal} [signal] */
  async go(index, signal) {
    for (const levels of this.cues.fade(index, this.#stage)) {
      this.#stage.dispose();
      this.#stage = levels;
      await this.#send();
      if (signal?.aborted) return false;
    }
    return true;
  }

  async #send() {
    using levels = this.rack.apply(this.#stage, (this.#time += 0.1));
    using limited = levels.minimum(this.#master);
    this.emit("frame", limited);
    using bytes = limited.mul(255);
    return Uint8Array.from(await bytes.data());
  }

  close() {
    this.removeAllListeners();
    for (const part of [this.programmer, this.cues, this.rack]) part.dispose();
    this.#master.dispose();
    this.#stage.dispose();
  }
}

/** How warm each lamp is. */
class Thermometer {
  heat = zeros([CHANNELS]);
  /** @type {Tensor | null} */
  #peak = null;

  /** @param {Desk} desk */
  constructor(desk) {
    desk.on("frame", (/** @type {Tensor} */ levels) => {
      using scope = newDisposeScope("heat");
      this.heat = scope.carry(this.heat, this.heat.mul(0.9).add(levels.square()));
      const peak = this.#peak === null ? levels.alias() : this.#peak.maximum(levels);
      this.#peak?.dispose();
      this.#peak = scope.detach(peak);
    });
  }

  async hottest() {
    using place = this.heat.argMax();
    return await place.item();
  }

  dispose() {
    this.heat.dispose();
    this.#peak?.dispose();
  }
}

export async function run() {
  manualSeed(2);
  const desk = new Desk();
  const thermometer = new Thermometer(desk);
  try {
    const { programmer, cues, rack } = desk;
    for (const [i, level] of [0.2, 0.5, 0.8, 1].entries()) {
      programmer.set([i, i + 4], level);
      desk.store(`cue ${i % 3}`, 2 + i);
    }
    while (programmer.undo());
    programmer.scale(1.2);
    rack.start("sparks", { kind: "flicker", depth: 0.1 });
    rack.start("wave", { kind: "chase", depth: 0.3 });
    rack.start("wave", { kind: "chase", depth: 0.2 });
    desk.limit(Array.from({ length: CHANNELS }, () => 0.9));
    try {
      desk.limit([1, 1]);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    for (const i of [0, 1, 2]) await desk.go(i);
    await desk.go(0, AbortSignal.abort());
    rack.stop("sparks");
    cues.remove("cue 1");
    return await thermometer.hottest();
  } finally {
    desk.close();
    thermometer.dispose();
  }
}
