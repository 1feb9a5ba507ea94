/**
 * Forecasts the levels of rivers: an LSTM that carries its state from one chunk of a series to the
 * next, and a naive predictor to compare it with.
 */
import {
  type Tensor,
  concat,
  manualSeed,
  newDisposeScope,
  noGrad,
  rand,
  scoped,
  stack,
  zeros,
} from "tenure";
import { LSTM, type LSTMState, Linear, Module, functional as F } from "tenure/nn";
import { Adam, clipGradNorm } from "tenure/optim";

const HIDDEN = 4;

/** A station: its levels [T], and the rain upstream where somebody measures it. */
interface Gauge {
  readonly name: string;
  readonly levels: Tensor;
  readonly rain?: Tensor;
}

interface ForecastOptions {
  readonly horizon?: number;
  /** The level to go on from, [1]; the last one measured unless given. */
  readonly from?: Tensor;
}

interface Step extends LSTMState {
  readonly prediction: Tensor;
}

class LevelNet extends Module<[x: Tensor, state?: LSTMState], Step> {
  readonly lstm = new LSTM(2, HIDDEN);
  readonly head = new Linear(HIDDEN, 1);

  forward(x: Tensor, state?: LSTMState): Step {
    const { output, hidden, cell } = this.lstm.call(x, state);
    const prediction = this.head.call(output);
    output.dispose();
    return { prediction, hidden, cell };
  }
}

class Carry implements Disposable {
  #state: LSTMState | undefined;

  get state(): LSTMState | undefined {
    return this.#state;
  }

  /** Remembers a state; what is given stays the caller's. */
  advance({ hidden, cell }: LSTMState): void {
    const before = this.#state;
    this.#state = {
      hidden: hidden.detach().detachFromScope(),
      cell: cell.detach().detachFromScope(),
    };
    before?.hidden.dispose();
    before?.cell.dispose();
  }

  [Symbol.dispose](): void {
    this.#state?.hidden.dispose();
    this.#state?.cell.dispose();
    this.#state = undefined;
  }
}

function inputsOf({ levels, rain }: Gauge): Tensor {
  using other = rain?.alias() ?? zeros(levels.shape);
  using pairs = stack([levels, other], 1);
  return pairs.unsqueeze(1);
}

/** Inputs [L, 1, 2] and the levels [L, 1, 1] one step later, lent until the next pair. */
function* chunks(gauge: Gauge, length = 3): Generator<{ x: Tensor; y: Tensor }> {
  using inputs = inputsOf(gauge);
  for (let at = 0; at + length < gauge.levels.size; at += length) {
    using x = inputs.slice(0, at, at + length);
    using later = inputs.slice(0, at + 1, at + length + 1);
    using y = later.slice(2, 0, 1);
    yield { x, y };
  }
}

abstract class Predictor implements Disposable {
  readonly #issued = new Map<string, Tensor>();

  protected abstract predict(gauge: Gauge, options: ForecastOptions): Tensor;

  /** The newest forecast for a gauge, which stays the predictor's. */
  issue(gauge: Gauge, options: ForecastOptions = {}): Tensor {
    const fresh = this.predict(gauge, options);
    this.#issued.get(gauge.name)?.dispose();
    this.#issued.set(gauge.name, fresh);
    return fresh;
  }

  withdraw(name: string): boolean {
    this.#issued.get(name)?.dispose();
    return this.#issued.delete(name);
  }

  [Symbol.dispose](): void {
    for (const forecast of this.#issued.values()) forecast.dispose();
    this.#issued.clear();
  }
}

class Persistence extends Predictor {
  protected override predict({ levels }: Gauge, options: ForecastOptions): Tensor {
    const { horizon = 3, from } = options;
    using last = from?.alias() ?? levels.slice(0, -1);
    return last.repeat(horizon);
  }
}

class Recurrent extends Predictor {
  readonly #net = new LevelNet();
  readonly #optimizer = new Adam(this.#net.parameters(), { lr: 0.01 });
  readonly #losses: Tensor[] = [];

  fit(gauge: Gauge, epochs = 2): void {
    for (let epoch = 0; epoch < epochs; epoch++) {
      using carry = new Carry();
      for (const { x, y } of chunks(gauge)) this.#losses.push(this.#learn(x, y, carry));
    }
  }

  #learn(x: Tensor, y: Tensor, carry: Carry): Tensor {
    using scope = newDisposeScope("chunk");
    const step = this.#net.call(x, carry.state);
    const loss = F.mseLoss(step.prediction, y);
    this.#optimizer.zeroGrad();
    loss.backward();
    clipGradNorm(this.#net.parameters(), 1);
    this.#optimizer.step();
    carry.advance(step);
    return scope.detach(loss.detach());
  }

  #warm(gauge: Gauge): Carry {
    const carry = new Carry();
    for (const { x } of chunks(gauge)) {
      using _scope = newDisposeScope("warm");
      carry.advance(noGrad(() => this.#net.call(x, carry.state)));
    }
    return carry;
  }

  protected override predict(gauge: Gauge, { horizon = 3, from }: ForecastOptions): Tensor {
    using carry = this.#warm(gauge);
    using dry = zeros([1, 1, 1]);
    using first = scoped(() => (from ?? gauge.levels.slice(0, -1)).reshape(1, 1, 1));
    const made: Tensor[] = [];
    try {
      for (let i = 0; i < horizon; i++) {
        using x = concat([made.at(-1) ?? first, dry], 2);
        const { prediction, hidden, cell } = noGrad(() => this.#net.call(x, carry.state));
        carry.advance({ hidden, cell });
        hidden.dispose();
        cell.dispose();
        made.push(prediction);
      }
      using whole = concat(made);
      return whole.reshape(-1);
    } finally {
      for (const t of made) t.dispose();
    }
  }

  async meanLoss(): Promise<number> {
    using all = stack(this.#losses);
    using mean = all.mean();
    return await mean.item();
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    for (const loss of this.#losses.splice(0)) loss.dispose();
    this.#optimizer.dispose();
    this.#net.dispose();
  }
}

/** Does all of it, and leaves no tensor. */
export async function run(): Promise<number> {
  manualSeed(11);
  const gauges: Gauge[] = [
    { name: "weir", levels: rand([10]), rain: rand([10]) },
    { name: "bridge", levels: rand([8]) },
  ];
  let total = 0;
  try {
    using net = new Recurrent();
    using naive = new Persistence();
    for (const gauge of gauges) {
      net.fit(gauge);
      using truth = rand([3]);
      for (const predictor of [net, naive]) {
        using error = F.l1Loss(predictor.issue(gauge), truth);
        total += await error.item();
      }
      using from = gauge.levels.slice(0, 0, 1);
      total += naive.issue(gauge, { from, horizon: 2 }).size;
    }
    if (net.withdraw("bridge")) total += await net.meanLoss();
  } finally {
    for (const { levels, rain } of gauges) {
      levels.dispose();
      rain?.dispose();
    }
  }
  return total;
}
