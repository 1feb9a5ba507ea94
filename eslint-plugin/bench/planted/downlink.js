// Watches the telemetry of a satellite: rolling statistics, sliding windows, an autoencoder whose
// error says how odd a window is, snapshots to go back to after a gap, and a report at the end.
import { concat, noGrad, ones, scoped as tidy, stack, tensor, varMean, zeros } from "tenure";
import { packCheckpoint, unpackCheckpoint } from "tenure/data";
import { Conv1d, Sequential, Tanh, functional as F } from "tenure/nn";
import { Adam, clipGradNorm } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ phase: string, gap: boolean, values: Float32Array }} Packet */
/** @typedef {{ start: number, score: number, window: Tensor }} Finding */
/** @typedef {{ start: number, weights: Map<string, Tensor>, mean: Tensor }} Snapshot */

const [CHANNELS, PACKET, LENGTH, STRIDE, HISTORY] = [4, 20, 16, 8, 10];

/** @param {...(Tensor | null | undefined)} tensors */
function free(...tensors) {
  for (const t of tensors) t?.dispose();
}

class RollingStats {
  /** @param {number} rate */
  constructor(rate) {
    this.rate = rate;
    this.mean = zeros([CHANNELS, 1]);
    this.variance = ones([CHANNELS, 1]);
  }

  /** @param {Tensor} chunk [channels, n] */
  update(chunk) {
    const next = tidy(() => {
      const [variance, mean] = varMean(chunk, 1, 0, true);
      const { rate } = this;
      return { mean: this.mean.lerp(mean, rate), variance: this.variance.lerp(variance, rate) };
    });
    free(this.mean, this.variance);
    ({ mean: this.mean, variance: this.variance } = next);
  }

  /** @param {Tensor} chunk */
  normalize(chunk) {
    const centred = chunk.sub(this.mean);
    const deviation = this.variance.sqrt();
    const scaled = centred.div(deviation);
    free(centred, deviation);
    return scaled;
  }

  dispose() {
    free(this.mean, this.variance);
  }
}

class Windows {
  constructor() {
    /** @type {Tensor | null} */
    this.rest = null;
    this.position = 0;
  }

  /** @param {Tensor} chunk */
  push(chunk) {
    const all = this.rest === null ? chunk.alias() : concat([this.rest, chunk], 1);
    const cuts = [];
    for (let at = 0; at + LENGTH <= (all.shape[1] ?? 0); at += STRIDE) cuts.push(at);
    const windows = cuts.map((at) => all.slice(1, at, at + LENGTH));
    const start = this.position;
    free(this.rest);
    this.rest = all.slice(1, cuts.length * STRIDE);
    this.position += cuts.length * STRIDE;
    all.dispose();
    return { start, windows };
  }

  reset() {
    free(this.rest);
    this.rest = null;
  }
}

class Findings {
  /** @param {number} most */
  constructor(most) {
    this.most = most;
    /** @type {Finding[]} */
    this.list = [];
  }

  /** @param {Finding} finding */
  add(finding) {
    this.list.push(finding);
    this.list.sort((a, b) => b.score - a.score);
    for (const { window } of this.list.splice(this.most)) window.dispose();
  }

  async report() {
    const lines = [];
    for (const { start, score, window } of this.list) {
      const size = window.abs();
      const peaks = size.max(1);
      const channel = peaks.argMax();
      const [values, worst] = await Promise.all([peaks.data(), channel.item()]);
      free(size, peaks, channel);
      lines.push(`${start}: ${score.toFixed(3)}, channel ${worst}, peaks ${values.join(" ")}`);
    }
    return lines;
  }

  dispose() {
    for (const { window } of this.list) window.dispose();
  }
}

class Detector {
  constructor(hidden = 8) {
    this.stats = new RollingStats(0.1);
    this.windows = new Windows();
    this.findings = new Findings(5);
    this.model = new Sequential(
      new Conv1d(CHANNELS, hidden, 5, { padding: 2 }),
      new Tanh(),
      new Conv1d(hidden, CHANNELS, 5, { padding: 2 }),
    );
    this.optimizer = new Adam(this.model.parameters(), { lr: 1e-3 });
    /** @type {Tensor[]} */
    this.errors = [];
    /** @type {Snapshot | null} */
    this.snapshot = null;
  }

  /** @param {Tensor} window */
  learn(window) {
    const batch = window.unsqueeze(0);
    const output = this.model.call(batch);
    const loss = F.mseLoss(output, batch);
    this.optimizer.zeroGrad();
    loss.backward();
    clipGradNorm(this.model.parameters(), 1).dispose();
    this.optimizer.step();
    const error = loss.detach();
    free(batch, output, loss);
    return error;
  }

  async limit() {
    if (this.errors.length < 4) return Infinity;
    const all = stack(this.errors);
    const limit = tidy(() => all.std().mul(3).add(all.mean()));
    all.dispose();
    return limit.item().finally(() => limit.dispose());
  }

  /** @param {Packet} packet */
  async process({ gap, values }) {
    if (gap) this.rollback();
    const chunk = tensor(values, { shape: [CHANNELS, PACKET] });
    this.stats.update(chunk);
    const scaled = this.stats.normalize(chunk);
    const { start, windows } = this.windows.push(scaled);
    free(chunk, scaled);
    for (const [i, window] of windows.entries()) {
      const error = this.learn(window);
      const [score, limit] = await Promise.all([error.item(), this.limit()]);
      this.errors.push(error);
      if (this.errors.length > HISTORY) free(this.errors.shift());
      if (score >= limit) this.findings.add({ start: start + i * STRIDE, score, window });
      else window.dispose();
    }
  }

  save() {
    const state = this.model.stateDict();
    const weights = new Map([...state].map(([name, value]) => [name, value.clone()]));
    state.dispose();
    this.forget();
    this.snapshot = { start: this.windows.position, weights, mean: this.stats.mean.clone() };
  }

  rollback() {
    this.windows.reset();
    if (this.snapshot === null) return;
    this.model.loadStateDict(this.snapshot.weights);
    this.stats.mean.copy_(this.snapshot.mean).dispose();
  }

  forget() {
    free(...(this.snapshot?.weights.values() ?? []), this.snapshot?.mean);
    this.snapshot = null;
  }

  dispose() {
    free(...this.errors);
    this.forget();
    for (const part of [this.stats, this.findings, this.optimizer, this.model]) part.dispose();
    this.windows.reset();
  }
}

/** @param {number} count @returns {AsyncGenerator<Packet>} */
async function* downlink(count) {
  for (let i = 0; i < count; i++) {
    const values = Float32Array.from({ length: CHANNELS * PACKET }, (_, k) => Math.sin(k + i));
    const phase = i % 6 < 4 ? "sun" : "shade";
    yield { phase, gap: i % 9 === 8, values };
  }
}

/** @param {Uint8Array} bytes @param {Detector} detector */
async function verify(bytes, detector) {
  const other = new Detector();
  unpackCheckpoint(bytes, { model: other.model, optimizer: other.optimizer });
  const probe = ones([1, CHANNELS, LENGTH]);
  const [a, b] = noGrad(() => [detector.model.call(probe), other.model.call(probe)]);
  const distance = F.l1Loss(a, b);
  const value = await distance.item();
  free(probe, a, b, distance);
  other.dispose();
  return value;
}

async function main() {
  const detector = new Detector();
  /** @type {Map<string, Tensor>} */
  const profiles = new Map();
  let seen = 0;
  for await (const packet of downlink(24)) {
    await detector.process(packet);
    const old = profiles.get(packet.phase);
    profiles.set(packet.phase, old?.lerp(detector.stats.mean, 0.2) ?? detector.stats.mean.clone());
    old?.dispose();
    if (++seen % 6 === 0) detector.save();
  }
  const { model, optimizer } = detector;
  const bytes = await packCheckpoint({ model, optimizer }, { extra: { seen } });
  console.log(`${bytes.length} bytes, off by ${await verify(bytes, detector)}`);
  console.log((await detector.findings.report()).join("\n"));
  for (const [phase, mean] of profiles) console.log(phase, (await mean.data()).join(" "));
  free(...profiles.values());
  detector.dispose();
}
await main();
