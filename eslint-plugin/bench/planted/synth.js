// A synthesizer of functions that give small objects. A signal is a tensor of one
// block of samples, and whoever asked for it ends it.
import {
  arange,
  concat,
  manualSeed,
  newDisposeScope,
  rand,
  scoped,
  stack,
  tensor,
  zeros,
} from "tenure";
import { functional } from "tenure/nn";

/** @import { Tensor } from "tenure" */

const RATE = 800;
const BLOCK = 64;
const TABLE = 128;

/**
 * @typedef {{ render(): Tensor, free(): void }} Source
 * @typedef {{ process(block: Tensor): Tensor, free(): void }} Effect
 * @typedef {{ at: number, note: number, on: boolean }} NoteEvent
 * @typedef {ReturnType<typeof createRig>} Rig
 * @typedef {ReturnType<typeof createTables>} Tables
 */

/** One period of each wave form, made when it is first asked for. */
function createTables() {
  /** @type {Map<string, Tensor>} */
  const tables = new Map();
  /** @type {Record<string, (phase: Tensor) => Tensor>} */
  const shapes = {
    sine: (phase) => phase.mul(2 * Math.PI).sin(),
    saw: (phase) => phase.mul(2).sub(1),
  };
  return {
    /** Borrowed. @param {string} shape */
    get(shape) {
      let table = tables.get(shape);
      if (!table) {
        const draw = shapes[shape];
        if (!draw) throw new RangeError(`no wave is called ${shape}`);
        table = scoped(() => draw(arange(0, TABLE).div(TABLE))).detachFromScope();
        tables.set(shape, table);
      }
      return table;
    },
    free() {
      for (const table of tables.values()) table.dispose();
      tables.clear();
    },
  };
}

/** @param {Tables} tables @param {string} shape @param {number} hz @returns {Source} */
function createOscillator(tables, shape, hz) {
  const ramp = arange(0, BLOCK);
  let phase = 0;
  return {
    render() {
      using scope = newDisposeScope(`oscillator ${shape}`);
      const places = ramp
        .mul((hz * TABLE) / RATE)
        .add(phase)
        .mod(TABLE)
        .floor();
      phase = (phase + (hz * TABLE * BLOCK) / RATE) % TABLE;
      return scope.moveToOuter(tables.get(shape).index(places.to("int32")));
    },
    free: () => ramp.dispose(),
  };
}

/** Takes blocks to rise and to fall. @param {number} attack @param {number} release */
function createEnvelope(attack, release) {
  using steps = arange(1, BLOCK + 1);
  const ramp = steps.div(BLOCK);
  let level = 0;
  let slope = 1 / attack;
  return {
    isDone: () => slope < 0 && level === 0,
    off: () => void (slope = -1 / release),
    /** @param {Tensor} block */
    shape(block) {
      using rise = ramp.mul(slope);
      using curve = rise.add(level);
      using gain = curve.clamp(0, 1);
      level = Math.min(1, Math.max(0, level + slope));
      return block.mul(gain);
    },
    free: () => ramp.dispose(),
  };
}

/** The notes that sound. @param {(note: number) => Source} makeSource @param {number} polyphony */
function createVoices(makeSource, polyphony) {
  /** @type {Map<number, { source: Source, envelope: ReturnType<typeof createEnvelope> }>} */
  const voices = new Map();

  /** @param {number} note */
  const stop = (note) => {
    const voice = voices.get(note);
    voice?.source.free();
    voice?.envelope.free();
    voices.delete(note);
  };

  return {
    /** @param {NoteEvent} event */
    play({ note, on }) {
      if (!on) return voices.get(note)?.envelope.off();
      stop(note);
      const [oldest] = voices.keys();
      if (oldest !== undefined && voices.size >= polyphony) stop(oldest);
      voices.set(note, { source: makeSource(note), envelope: createEnvelope(1, 2) });
    },
    render() {
      let sum = zeros([BLOCK]);
      for (const [note, { source, envelope }] of voices) {
        using raw = source.render();
        using shaped = envelope.shape(raw);
        const more = sum.add(shaped);
        sum.dispose();
        sum = more;
        if (envelope.isDone()) stop(note);
      }
      return sum;
    },
    free() {
      for (const note of [...voices.keys()]) stop(note);
    },
  };
}

/** A short sinc. @param {number} cutoff in Hz @param {number} taps @returns {Effect} */
function createLowpass(cutoff, taps) {
  const kernel = scoped(() => {
    const x = arange(0, taps)
      .sub(taps / 2 - 0.4)
      .mul((2 * Math.PI * cutoff) / RATE);
    const sinc = x.sin().div(x);
    return sinc.div(sinc.sum()).reshape(1, 1, taps);
  });
  let tail = zeros([taps - 1]);
  return {
    process(block) {
      using scope = newDisposeScope("lowpass");
      const line = concat([tail, block]);
      tail.dispose();
      tail = scope.detach(line.slice(0, BLOCK, BLOCK + taps - 1));
      const out = functional.conv1d(line.reshape(1, 1, -1), kernel);
      return scope.moveToOuter(out.flatten());
    },
    free() {
      kernel.dispose();
      tail.dispose();
    },
  };
}

/** @param {number} blocks how late it is @param {number} feedback @returns {Effect} */
function createEcho(blocks, feedback) {
  const line = Array.from({ length: blocks }, () => zeros([BLOCK]));
  return {
    process(block) {
      const late = /** @type {Tensor} */ (line.shift());
      using echo = late.mul(feedback);
      late.dispose();
      const wet = block.add(echo);
      line.push(wet.alias());
      return wet;
    },
    free() {
      for (const block of line.splice(0)) block.dispose();
    },
  };
}

/** Keeps the last blocks. @param {Rig} rig @param {number} limit */
function createRecorder(rig, limit) {
  /** @type {Tensor[]} */
  let blocks = [];
  const stop = rig.listen((block) => {
    blocks.push(block.alias());
    while (blocks.length > limit) blocks.shift()?.dispose();
  });
  return {
    /** Samples as 16 bit integers; begins anew. */
    async take() {
      const taken = blocks;
      blocks = [];
      try {
        using all = concat(taken, 1);
        using loud = all.mul(32767);
        return Int16Array.from(await loud.data());
      } finally {
        for (const block of taken) block.dispose();
      }
    },
    free() {
      stop();
      for (const block of blocks) block.dispose();
    },
  };
}

/** A meter that holds the loudest sample of both sides. @param {Rig} rig */
function createMeter(rig) {
  let peak = zeros([2]);
  const stop = rig.listen((stereo) => {
    using scope = newDisposeScope("meter");
    peak = scope.carry(peak, peak.maximum(stereo.abs().max(1)));
  });
  return {
    read: () => peak.toArray(),
    free() {
      stop();
      peak.dispose();
    },
  };
}

/** @param {Tensor} mono @param {number} pan from -1, left, to 1 */
function panned(mono, pan) {
  using sides = tensor([[1 - pan], [1 + pan]]);
  using halved = sides.div(2);
  return mono.mul(halved);
}

/** Puts the parts together. @param {{ shape: string, cutoff: number, polyphony: number }} patch */
function createRig({ shape, cutoff, polyphony }) {
  const tables = createTables();
  const voices = createVoices(
    (note) => createOscillator(tables, shape, 110 * 2 ** (note / 12)),
    polyphony,
  );
  const hiss = scoped(() => rand([BLOCK]).sub(0.5).mul(0.01));
  const effects = [createLowpass(cutoff, 9), createEcho(3, 0.4)];
  /** @type {Set<(block: Tensor) => void>} */
  const listeners = new Set();
  return {
    /** Listeners borrow the blocks. @param {(block: Tensor) => void} listener */
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    /** Its blocks, each until the next one. @param {NoteEvent[]} song @param {number} length */
    *perform(song, length) {
      for (let at = 0; at < length; at++) {
        for (const event of song) if (event.at === at) voices.play(event);
        using dry = voices.render();
        let signal = dry.add(hiss);
        for (const effect of effects) {
          const next = effect.process(signal);
          signal.dispose();
          signal = next;
        }
        using mono = signal;
        using stereo = panned(mono, Math.sin(at));
        for (const listener of listeners) listener(stereo);
        yield stereo;
      }
    },
    free() {
      for (const part of [...effects, voices, tables]) part.free();
      hiss.dispose();
    },
  };
}

export async function run() {
  manualSeed(8);
  const rig = createRig({ shape: "saw", cutoff: 200, polyphony: 3 });
  const recorder = createRecorder(rig, 4);
  const meter = createMeter(rig);
  try {
    const song = [0, 4, 0, 7, 12].flatMap((note, i) => [
      { at: i, note, on: true },
      { at: i + 3, note, on: false },
    ]);
    /** @type {Tensor[]} */
    const energies = [];
    for (const block of rig.perform(song, 9)) {
      using squares = block.square();
      energies.push(squares.mean());
    }
    using curve = stack(energies);
    for (const energy of energies) energy.dispose();
    const samples = await recorder.take();
    for (const { size } of rig.perform(song, 5)) if (size > 0) break;
    return { samples: samples.length, peak: await meter.read(), curve: await curve.toArray() };
  } finally {
    meter.free();
    recorder.free();
    rig.free();
  }
}
