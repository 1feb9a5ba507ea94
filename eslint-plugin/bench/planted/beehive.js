/**
 * How heavy will the hive be tomorrow? Reads the log of a scale under a beehive, trains a few small
 * networks on windows of it, keeps the best weights of each, and reports forecasts with a range and
 * the days that surprised all of them (a swarm, or a beekeeper with a honey jar).
 */
import { concat, manualSeed, newDisposeScope, noGrad, rand, scoped, stack, tensor } from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { Dropout, Flatten, Linear, ReLU, Sequential, functional } from "tenure/nn";
import { Adam, StepLR, clipGradNorm } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/** @typedef {{ model: Sequential, best: Map<string, Tensor>, error: number }} Member */

const DAYS = 5; // that a network looks at
const COLUMNS = 3; // weight, warmth, rain

/** What the scale sends, a line per day; here a summer that never was. */
function readLog() {
  const lines = ["kg,celsius,mm"];
  for (let day = 0; day < 40; day++) {
    const rain = day % 6 === 0 ? 8 : 0;
    lines.push(`${30 + day * 0.4 - rain / 10},${18 + (day % 9)},${rain}`);
  }
  return lines.join("\n");
}

/**
 * The days as a table [days, COLUMNS]. The caller's.
 * @param {string} csv
 */
function parse(csv) {
  const rows = csv.trim().split("\n").slice(1);
  const table = tensor(rows.flatMap((row) => row.split(",").map(Number)));
  try {
    if (table.size % COLUMNS !== 0) throw new Error("a line of the log is short");
    return table.reshape(-1, COLUMNS);
  } finally {
    table.dispose();
  }
}

/** Mean and deviation of each column, to go to what a network likes and back to kilograms. */
class Scaler {
  /** @param {Tensor} table */
  constructor(table) {
    this.mean = table.mean(0);
    this.deviation = scoped(() => table.std(0).add(1e-6));
  }

  /** @param {Tensor} table */
  apply(table) {
    const centred = table.sub(this.mean);
    const scaled = centred.div(this.deviation);
    centred.dispose();
    return scaled;
  }

  /**
   * Of weights only.
   * @param {Tensor} scaled
   */
  toKilograms(scaled) {
    return scoped(() => scaled.mul(this.deviation.select(0, 0)).add(this.mean.select(0, 0)));
  }

  dispose() {
    this.mean.dispose();
    this.deviation.dispose();
  }
}

/**
 * Windows of DAYS days, and the weight on the day after each.
 * @param {Tensor} scaled
 */
async function windowsOf(scaled) {
  const values = await scaled.data();
  /** @type {number[]} */
  const days = [],
    /** @type {number[]} */
    next = [];
  for (let at = 0; at + DAYS * COLUMNS < values.length; at += COLUMNS) {
    const after = at + DAYS * COLUMNS;
    days.push(...values.subarray(at, after));
    next.push(...values.subarray(after, after + 1));
  }
  return new ArrayDataset({
    days: { data: days, shape: [DAYS, COLUMNS] },
    next: { data: next, shape: [1] },
  });
}

function buildModel() {
  return new Sequential(
    new Flatten(),
    new Linear(DAYS * COLUMNS, 16),
    new ReLU(),
    new Dropout(0.1),
    new Linear(16, 1),
  );
}

/** @param {Map<string, Tensor>} weights */
function forget(weights) {
  for (const weight of weights.values()) weight.dispose();
  weights.clear();
}

/** @param {Member} member */
function remember(member) {
  forget(member.best);
  const state = member.model.stateDict();
  for (const [name, weight] of state) member.best.set(name, weight.clone());
  state.dispose();
}

/**
 * Days and the weight after, a little off: the scale is no better than that.
 * @param {Tensor} days
 */
function jitter(days) {
  const noise = rand(days.shape);
  const small = noise.sub(0.5).mul(0.02);
  return days.add(small);
}

/**
 * @param {Member} member
 * @param {DataLoader<{ days: Tensor, next: Tensor }>} loader
 * @param {number} epochs
 */
async function fit(member, loader, epochs) {
  const optimizer = new Adam(member.model.parameters(), { lr: 0.01 });
  const schedule = new StepLR(optimizer, { stepSize: 2, gamma: 0.5 });
  let longest = 0;
  try {
    for (let epoch = 0; epoch < epochs; epoch++) {
      member.model.train();
      const reads = [];
      for (const { days, next } of loader) {
        const scope = newDisposeScope("step");
        try {
          const loss = functional.smoothL1Loss(member.model.call(jitter(days)), next);
          optimizer.zeroGrad();
          loss.backward();
          reads.push(clipGradNorm(member.model.parameters(), 1).item());
          optimizer.step();
        } finally {
          scope.dispose();
        }
      }
      longest = Math.max(longest, ...(await Promise.all(reads)));
      schedule.step();
      const error = await evaluate(member.model, loader);
      if (error <= member.error) {
        member.error = error;
        remember(member);
      }
    }
  } finally {
    optimizer.dispose();
  }
  return longest;
}

/** @param {Member[]} members @param {Tensor} scaled */
async function fitAll(members, scaled) {
  const loader = new DataLoader(await windowsOf(scaled), { batchSize: 12, shuffle: true });
  try {
    for (const member of members) await fit(member, loader, 3);
  } finally {
    loader.dispose();
  }
}

/**
 * Mean absolute error over a loader.
 * @param {Sequential} model
 * @param {DataLoader<{ days: Tensor, next: Tensor }>} loader
 */
async function evaluate(model, loader) {
  model.eval();
  const errors = [];
  for (const { days, next } of loader) {
    const guess = noGrad(() => model.call(days));
    const error = functional.l1Loss(guess, next);
    guess.dispose();
    errors.push(error);
  }
  const all = stack(errors);
  const mean = all.mean();
  try {
    return await mean.item();
  } finally {
    for (const t of [...errors, all, mean]) t.dispose();
  }
}

/** Asks all members, and caches what they say of a window. */
function createForecaster(/** @type {Member[]} */ members, /** @type {Scaler} */ scaler) {
  /** @type {Map<number, Tensor>} */
  const said = new Map();

  return {
    /**
     * What each member expects after the days from `from` on, in kilograms: lent.
     * @param {Tensor} scaled
     * @param {number} from
     */
    ask(scaled, from) {
      let answer = said.get(from);
      if (!answer) {
        const window = scaled.slice(0, from, from + DAYS);
        const guesses = noGrad(() =>
          scoped(() => concat(members.map(({ model }) => model.call(window.unsqueeze(0))))),
        );
        answer = scaler.toKilograms(guesses);
        guesses.dispose();
        window.dispose();
        said.set(from, answer);
      }
      if (said.size > 6) {
        const [oldest = 0] = said.keys();
        said.get(oldest)?.dispose();
        said.delete(oldest);
      }
      return answer;
    },

    close() {
      said.forEach((answer) => answer.dispose());
      said.clear();
    },
  };
}

/**
 * Days on which all members are off by more than `limit` kilograms.
 * @param {ReturnType<typeof createForecaster>} forecaster
 * @param {Tensor} table
 * @param {Tensor} scaled
 * @param {number} limit
 */
async function surprises(forecaster, table, scaled, limit) {
  const found = [];
  const [days = 0] = table.shape;
  for (let from = 25; from + DAYS < days; from++) {
    const said = forecaster.ask(scaled, from);
    const least = scoped(() => {
      const weight = table.select(0, from + DAYS).select(0, 0);
      return said.sub(weight).abs().min();
    });
    const off = await least.item();
    least.dispose();
    if (off > limit) found.push(from + DAYS);
  }
  return found;
}

/** @returns {Member} */
function createMember() {
  return { model: buildModel(), best: new Map(), error: Infinity };
}

/** @param {Member} member */
function endMember({ model, best }) {
  forget(best);
  model.dispose();
}

export async function run() {
  manualSeed(5);
  const table = parse(readLog());
  const scaler = new Scaler(table);
  const scaled = scaler.apply(table);
  const members = [createMember(), createMember(), createMember()];
  const forecaster = createForecaster(members, scaler);
  try {
    await fitAll(members, scaled);
    members.sort((a, b) => a.error - b.error);
    const worst = members.pop();
    if (worst) endMember(worst);
    for (const { model, best } of members) model.loadStateDict(best);

    const strange = await surprises(forecaster, table, scaled, 1.5);
    const tomorrow = forecaster.ask(scaled, 35);
    const low = tomorrow.min();
    const high = tomorrow.max();
    const range = await Promise.all([low.item(), high.item()]);
    low.dispose();
    high.dispose();
    return `${range.map((kg) => kg.toFixed(1)).join(" to ")} kg, strange days: ${strange.join()}`;
  } finally {
    forecaster.close();
    members.forEach(endMember);
    scaler.dispose();
    scaled.dispose();
    table.dispose();
  }
}
