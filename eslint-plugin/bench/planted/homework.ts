// Homework 3: how many bikes are rented on a day? Linear regression by hand, no autograd.
// The data is made up, the report is in report.pdf
import { concat, randperm, scoped, stack, tensor, zeros, type Tensor } from "tenure";

type Row = { temp: number; wind: number; weekend: boolean; count: number };
type Data = { x: Tensor; y: Tensor };
type Fold = { nr: number; train: Data; test: Data };
type Model = { w: Tensor; b: Tensor; mean: Tensor; std: Tensor; curve: Tensor };
type Result = { lambda: number; score: number; model: Model };

// all models that I want to keep for the report
const saved: Record<string, Model> = {};

function makeRows(n: number): Row[] {
  const rows: Row[] = [];
  for (let i = 0; i < n; i++) {
    const temp = 10 + 15 * Math.sin(i / 3);
    const wind = (i * 7) % 5;
    rows.push({ temp, wind, weekend: i % 7 > 4, count: 100 + 4 * temp - 6 * wind });
  }
  return rows;
}

function toTensors(rows: Row[]): Data {
  const x = tensor(rows.map((r) => [r.temp, r.wind, r.weekend ? 1 : 0]));
  const y = tensor(rows.map((r) => [r.count]));
  return { x, y };
}

function freeData(d: Data) {
  d.x.dispose();
  d.y.dispose();
}

function freeFold(f: Fold) {
  freeData(f.train);
  freeData(f.test);
}

function freeModel(m: Model) {
  m.w.dispose();
  m.b.dispose();
  m.mean.dispose();
  m.std.dispose();
  m.curve.dispose();
}

function shuffle(d: Data): Data {
  const order = randperm(d.x.shape[0]!);
  const result = { x: d.x.indexSelect(0, order), y: d.y.indexSelect(0, order) };
  order.dispose();
  return result;
}

// cuts off crazy values, if there is a limit
function cutOff(y: Tensor, limit: number | null): Tensor {
  return limit === null ? y.alias() : y.clamp(0, limit);
}

function normalize(x: Tensor, mean: Tensor, std: Tensor) {
  const centered = x.sub(mean);
  const safe = std.add(1e-6); // no division by 0
  const out = centered.div(safe);
  centered.dispose();
  safe.dispose();
  return out;
}

function addSquares(x: Tensor) {
  const sq = x.square();
  const out = concat([x, sq], 1);
  sq.dispose();
  return out;
}

function features(x: Tensor, mean: Tensor, std: Tensor) {
  const n = normalize(x, mean, std);
  const f = addSquares(n);
  n.dispose();
  return f;
}

function predict(model: Model, x: Tensor) {
  const f = features(x, model.mean, model.std);
  const fw = f.matmul(model.w);
  f.dispose();
  const out = fw.add(model.b);
  fw.dispose();
  return out;
}

function train(data: Data, lambda: number, steps = 4, lr = 0.05, limit: number | null = null) {
  const y = cutOff(data.y, limit);
  const mean = data.x.mean(0);
  const std = data.x.std(0);
  const f = features(data.x, mean, std);
  let w = zeros([f.shape[1]!, 1]);
  let b = zeros([1]);
  const losses: Tensor[] = [];
  for (let i = 0; i < steps; i++) {
    const step = scoped(() => {
      const err = f.matmul(w).add(b).sub(y);
      const gw = f.transpose().matmul(err).div(f.shape[0]!).add(w.mul(lambda));
      return { w: w.sub(gw.mul(lr)), b: b.sub(err.mean(0).mul(lr)), loss: err.square().mean() };
    });
    w.dispose();
    b.dispose();
    w = step.w;
    b = step.b;
    losses.push(step.loss);
  }
  f.dispose();
  y.dispose();
  const curve = stack(losses);
  for (const l of losses) l.dispose();
  return { w, b, mean, std, curve };
}

async function meanError(guess: Tensor, y: Tensor) {
  const diff = guess.sub(y);
  const abs = diff.abs();
  diff.dispose();
  const m = abs.mean();
  abs.dispose();
  const value = await m.item();
  m.dispose();
  return value;
}

async function test(model: Model, data: Data) {
  const guess = predict(model, data.x);
  const error = await meanError(guess, data.y);
  guess.dispose();
  return error;
}

function makeFolds(data: Data, k: number): Fold[] {
  const xs = data.x.chunk(k);
  const ys = data.y.chunk(k);
  const folds: Fold[] = [];
  for (let nr = 0; nr < k; nr++) {
    const train = {
      x: concat(xs.filter((_, i) => i !== nr)),
      y: concat(ys.filter((_, i) => i !== nr)),
    };
    folds.push({ nr, train, test: { x: xs[nr]!.clone(), y: ys[nr]!.clone() } });
  }
  for (const t of [...xs, ...ys]) t.dispose();
  return folds;
}

// tries all lambdas on a fold, the best model is returned
async function gridSearch(fold: Fold, lambdas: number[]): Promise<Result | null> {
  let best: Result | null = null;
  for (const lambda of lambdas) {
    const model = train(fold.train, lambda);
    const score = await test(model, fold.test);
    if (best !== null && score > best.score) {
      freeModel(model);
    } else {
      if (best !== null) freeModel(best.model);
      best = { lambda, score, model };
    }
  }
  return best;
}

function save(name: string, model: Model) {
  const old = saved[name];
  if (old !== undefined) freeModel(old);
  saved[name] = model;
}

// mean of what several models say
function ensemble(models: Model[], x: Tensor) {
  const guesses = models.map((m) => predict(m, x));
  const all = stack(guesses);
  guesses.forEach((g) => g.dispose());
  const out = all.mean(0);
  all.dispose();
  return out;
}

export async function run() {
  const raw = toTensors(makeRows(12));
  const data = shuffle(raw);
  freeData(raw);
  const folds = makeFolds(data, 3);
  const results: Result[] = [];
  for (const fold of folds) {
    const best = await gridSearch(fold, [0, 0.1, 1]);
    if (best !== null) results.push(best);
    freeFold(fold);
  }
  const together = ensemble(
    results.map((r) => r.model),
    data.x,
  );
  let error = await meanError(together, data.y);
  together.dispose();
  results.sort((a, b) => a.score - b.score);
  // only the best two go into the report
  for (const r of results.splice(2)) freeModel(r.model);
  for (const r of results) save(r.lambda > 0.5 ? "strong" : "weak", r.model);
  save("robust", train(data, 0.1, 2, 0.05, 150));
  for (const name of Object.keys(saved)) {
    error += 1 + (await test(saved[name]!, data));
    freeModel(saved[name]!);
    delete saved[name];
  }
  freeData(data);
  return error;
}
