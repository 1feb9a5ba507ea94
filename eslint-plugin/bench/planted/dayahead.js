/**
 * Forecasts tomorrow's electricity prices, hour by hour and with a band around them. Three models
 * are judged by walking forward: fit on what was known on a day, score on the days after it, move
 * on. The last week of residuals says how wide the band must be.
 */
import { concat, eye, manualSeed, newDisposeScope, noGrad, scoped, stack, tensor } from "tenure";
import { varMean, zeros } from "tenure";
import { Dropout, GRU, Linear } from "tenure/nn";
import { Adam, ReduceLROnPlateau, clipGradValue } from "tenure/optim";

/** @typedef {import("tenure").Tensor} Tensor */
/**
 * Samples, a row per day: prices of the week before, forecasts of load and wind, the day's prices.
 *
 * @typedef {{ past: Tensor; known: Tensor; target: Tensor }} Split
 */
/** @typedef {{ price: number[]; load: number[]; wind: number[] }} Market */
/**
 * A fitted model. What `predict` gives, [N, levels, 24], is the caller's.
 *
 * @typedef {{ name: string; predict: (split: Split) => Tensor; dispose: () => void }} Model
 */

const HOURS = 24;
const WEEK = 7 * HOURS;
const LEVELS = [0.1, 0.5, 0.9];

/** @param {number} days @returns {Market} */
function makeMarket(days) {
  const hours = Array.from({ length: days * HOURS }, (_, t) => t);
  const load = hours.map(
    (t) => 50 + 12 * Math.sin((t / HOURS) * 2 * Math.PI) - (t % 168 > 120 ? 8 : 0),
  );
  const wind = hours.map((t) => 15 + 9 * Math.sin(t / 37) * Math.cos(t / 11));
  return { load, wind, price: load.map((mw, t) => 1.2 * mw - 0.9 * (wind[t] ?? 0) + (t % 5)) };
}

/** @param {Market} market @param {number} from @param {number} to @returns {Split} */
function samples({ price, load, wind }, from, to) {
  const starts = Array.from({ length: to - from }, (_, i) => (from + i) * HOURS);
  if (from < 7) throw new RangeError("samples need a week before them");
  return {
    past: tensor(starts.map((t) => price.slice(t - WEEK, t))),
    known: tensor(starts.map((t) => [...load.slice(t, t + HOURS), ...wind.slice(t, t + HOURS)])),
    target: tensor(starts.map((t) => price.slice(t, t + HOURS))),
  };
}

/** @param {Split} split */
function endSplit(split) {
  split.past.dispose();
  split.known.dispose();
  split.target.dispose();
}

/** Brings columns to mean 0 and deviation 1, and back. @param {Tensor} x */
function makeScaler(x) {
  const [variance, mean] = varMean(x, 0, 0, true);
  const padded = variance.add(1e-3);
  const deviation = padded.sqrt();
  variance.dispose();
  padded.dispose();
  return {
    /** @param {Tensor} y */
    apply(y) {
      const centred = y.sub(mean);
      const scaled = centred.div(deviation);
      centred.dispose();
      return scaled;
    },
    dispose() {
      mean.dispose();
      deviation.dispose();
    },
  };
}

// --- models ---------------------------------------------------------------------------------

/** The same hour a week ago, whatever the level. @returns {Model} */
function lastWeek() {
  return {
    name: "last week",
    predict({ past }) {
      const day = past.slice(1, 0, HOURS);
      const forecast = stack(
        LEVELS.map(() => day),
        1,
      );
      day.dispose();
      return forecast;
    },
    dispose: () => undefined,
  };
}

/**
 * x of `a x = b` for a positive definite a, by conjugate gradients.
 * @param {Tensor} a
 * @param {Tensor} b
 */
function solve(a, b, steps = 8) {
  const scope = newDisposeScope("solve");
  try {
    let x = b.mul(0);
    let residual = b.clone();
    let direction = b.clone();
    let energy = residual.square().sum(0, true);
    for (let i = 0; i < steps; i++) {
      const pushed = a.matmul(direction);
      const pace = energy.div(direction.mul(pushed).sum(0, true).add(1e-9));
      x = x.add(direction.mul(pace));
      residual = residual.sub(pushed.mul(pace));
      const next = residual.square().sum(0, true);
      direction = residual.add(direction.mul(next.div(energy.add(1e-9))));
      energy = next;
      scope.disposeEverythingBut(x, residual, direction, energy);
    }
    return scope.moveToOuter(x);
  } finally {
    scope.dispose();
  }
}

/** Linear regression on the known forecasts and yesterday. @param {Split} train @returns {Model} */
function ridge(train, strength = 0.5) {
  const scaler = makeScaler(train.known);
  /** @param {Split} split */
  const inputs = ({ past, known }) =>
    scoped(() => concat([scaler.apply(known), past.slice(1, WEEK - HOURS).mul(0.01)], 1));
  const x = inputs(train);
  const weights = scoped(() => {
    const across = x.transpose();
    const gram = across.matmul(x).add(eye(3 * HOURS).mul(strength));
    return solve(gram, across.matmul(train.target));
  });
  const spread = scoped(() => x.matmul(weights).sub(train.target).std(0, 0, true));
  x.dispose();
  return {
    name: "ridge",
    predict: (split) =>
      scoped(() => {
        const middle = inputs(split).matmul(weights);
        const away = spread.mul(1.28);
        return stack([middle.sub(away), middle, middle.add(away)], 1);
      }),
    dispose() {
      scaler.dispose();
      weights.dispose();
      spread.dispose();
    },
  };
}

/** How bad forecasts of quantiles are. @param {Tensor} forecast @param {Tensor} target */
function pinball(forecast, target) {
  return scoped(() => {
    const levels = tensor(LEVELS, { shape: [1, LEVELS.length, 1] });
    const miss = target.unsqueeze(1).sub(forecast);
    return miss
      .mul(levels)
      .maximum(miss.mul(levels.sub(1)))
      .mean();
  });
}

/**
 * A recurrent net over the days of the week before.
 * @param {Split} train
 * @param {number} epochs
 * @returns {Promise<Model>}
 */
async function recurrent(train, epochs) {
  const gru = new GRU(HOURS, 10, { batchFirst: true });
  const drop = new Dropout(0.1);
  const head = new Linear(10 + 2 * HOURS, LEVELS.length * HOURS);
  const scaler = makeScaler(train.known);
  const optimizer = new Adam([...gru.parameters(), ...head.parameters()], { lr: 0.01 });
  const plateau = new ReduceLROnPlateau(optimizer, { patience: 1 });
  /** @param {Split} split */
  const forward = ({ past, known }) => {
    const days = past.reshape(-1, 7, HOURS);
    const { output, hidden } = gru.call(days);
    output.dispose();
    days.dispose();
    const week = hidden.squeeze(0);
    hidden.dispose();
    const scaled = scaler.apply(known);
    const joined = concat([week, scaled], 1);
    for (const t of [week, scaled]) t.dispose();
    const dropped = drop.call(joined);
    joined.dispose();
    const flat = head.call(dropped);
    dropped.dispose();
    const forecast = flat.reshape(-1, LEVELS.length, HOURS);
    flat.dispose();
    return forecast;
  };
  try {
    for (let epoch = 0; epoch < epochs; epoch++) {
      optimizer.zeroGrad();
      const forecast = forward(train);
      const loss = pinball(forecast, train.target);
      forecast.dispose();
      loss.backward();
      clipGradValue(head.parameters(), 1);
      optimizer.step();
      const value = await loss.item();
      loss.dispose();
      plateau.step(value);
    }
  } finally {
    optimizer.dispose();
  }
  for (const layer of [gru, drop, head]) layer.eval();
  return {
    name: "recurrent",
    predict: (split) => noGrad(() => forward(split)),
    dispose() {
      for (const part of [gru, drop, head, scaler]) part.dispose();
    },
  };
}

// --- walking forward ------------------------------------------------------------------------

/** Residuals of the last days, for the width of the band. @param {number} most */
function residualWindow(most) {
  /** @type {Tensor[]} */
  const kept = [];
  return {
    /** Takes it over. @param {Tensor} residual */
    push(residual) {
      kept.push(residual);
      if (kept.length > most) kept.shift()?.dispose();
    },
    /** The width per hour that covers a share of the residuals. @param {number} share */
    width(share) {
      if (kept.length === 0) return zeros([HOURS]);
      const all = concat(kept);
      const { values, indices } = all.sort(0);
      indices.dispose();
      const width = values.select(0, Math.floor(share * ((values.shape[0] ?? 1) - 1)));
      values.dispose();
      all.dispose();
      return width;
    },
    clear() {
      for (const residual of kept.splice(0)) residual.dispose();
    },
  };
}

/**
 * The mean of forecasts, those with small losses before others.
 * @param {Tensor[]} forecasts
 * @param {number[]} losses
 */
function blend(forecasts, losses) {
  const merits = losses.map((loss) => 1 / (loss + 1e-3));
  const total = merits.reduce((a, b) => a + b, 0);
  let sum = zeros([1]);
  for (const [i, forecast] of forecasts.entries()) {
    const part = forecast.mul((merits[i] ?? 0) / total);
    const next = sum.add(part);
    part.dispose();
    sum.dispose();
    sum = next;
  }
  return sum;
}

/**
 * Fits and scores fold after fold. The models of a fold live until the next one.
 *
 * @param {Market} market
 * @param {{ first: number; stride: number; days: number }} plan
 */
async function* walkForward(market, { first, stride, days }) {
  const residuals = residualWindow(2);
  /** @type {Model[]} */
  let models = [];
  try {
    for (let origin = first; origin + stride <= days; origin += stride) {
      const train = samples(market, 7, origin);
      const test = samples(market, origin, origin + stride);
      for (const model of models) model.dispose();
      models = [lastWeek(), ridge(train), await recurrent(train, 2)];
      endSplit(train);

      const forecasts = models.map((model) => model.predict(test));
      const scores = forecasts.map((forecast) => pinball(forecast, test.target));
      const losses = await Promise.all(scores.map((score) => score.item()));
      for (const score of scores) score.dispose();

      const blended = blend(forecasts, losses);
      const overall = pinball(blended, test.target);
      losses.push(await overall.item());
      overall.dispose();
      residuals.push(scoped(() => blended.select(1, 1).sub(test.target).abs()));
      for (const forecast of [...forecasts, blended]) forecast.dispose();
      endSplit(test);

      const best =
        models[losses.indexOf(Math.min(...losses.slice(0, models.length)))] ?? lastWeek();
      yield { origin, losses, best, width: residuals.width(0.8) };
    }
  } finally {
    residuals.clear();
    for (const model of models) model.dispose();
  }
}

/** @param {Model} model @param {Split} split @param {Tensor} width */
async function bands(model, split, width) {
  const forecast = model.predict(split);
  const middle = forecast.select(1, 1);
  forecast.dispose();
  try {
    const edges = [middle.sub(width), middle.add(width)];
    const read = await Promise.all(edges.map((edge) => edge.data()));
    for (const edge of edges) edge.dispose();
    return read;
  } finally {
    middle.dispose();
  }
}

export async function run() {
  manualSeed(24);
  const days = 22;
  const market = makeMarket(days + 1);
  const report = [];
  for await (const fold of walkForward(market, { first: 12, stride: 3, days })) {
    const { origin, losses, best, width } = fold;
    const tomorrow = samples(market, days, days + 1);
    const edges = await bands(best, tomorrow, width);
    const noon = edges.map((edge) => edge[12]).join(" to ");
    endSplit(tomorrow);
    width.dispose();
    report.push(`day ${origin}: ${losses.map((l) => l.toFixed(2)).join(" ")}, noon ${noon}`);
    if (report.length === 3) break;
  }
  return report;
}
