/**
 * Layers of one's own: buffers made when the first input comes, a setter that replaces a mask, a
 * cached table, and weights that are swapped.
 */
import {
  type Tensor,
  arange,
  manualSeed,
  newDisposeScope,
  noGrad,
  ones,
  randn,
  scoped,
  stack,
  zeros,
} from "tenure";
import { LayerNorm, Linear, Module, ModuleList, functional as F } from "tenure/nn";

/** Rotary positions, whose table grows with the longest input seen. */
class Rotary extends Module {
  #table: Tensor | null = null;
  readonly #width: number;

  constructor(width: number) {
    super();
    this.#width = width;
  }

  #tableFor(length: number): Tensor {
    if (this.#table !== null && this.#table.shape[0]! >= length) return this.#table;
    this.#table?.dispose();
    this.#table = scoped((scope) => {
      const speeds = arange(0, this.#width).mul(-0.1).exp();
      const angles = arange(0, length).unsqueeze(1).mul(speeds.unsqueeze(0));
      return scope.detach(angles.cos());
    });
    return this.#table;
  }

  forward(x: Tensor): Tensor {
    const length = x.shape.at(-2)!;
    using part = this.#tableFor(length).slice(0, 0, length);
    return x.mul(part);
  }

  override dispose(): void {
    this.#table?.dispose();
    this.#table = null;
    super.dispose();
  }
}

/** Normalizes with running statistics, which are buffers made lazily. */
class Running extends Module {
  #mean: Tensor | null = null;
  readonly momentum: number;

  constructor(momentum = 0.1) {
    super();
    this.momentum = momentum;
  }

  forward(x: Tensor): Tensor {
    this.#mean ??= this.buffer("mean", zeros([x.shape.at(-1)!]));
    const mean = this.#mean;
    if (this.training) {
      using now = noGrad(() => x.mean(0));
      mean.lerp_(now, this.momentum).dispose();
    }
    return x.sub(mean);
  }
}

/** Attention over rows with a mask that can be changed. */
class Masked extends Module {
  readonly query: Linear;
  readonly value: Linear;
  readonly gate: Tensor;
  #mask: Tensor | null = null;

  constructor(width: number) {
    super();
    this.query = new Linear(width, width);
    this.value = new Linear(width, width, { bias: false });
    this.gate = this.parameter("gate", ones([width]));
  }

  /** Takes the mask: it is ended with the layer, or when another comes. */
  set mask(mask: Tensor | null) {
    if (this.#mask !== mask) this.#mask?.dispose();
    this.#mask = mask;
  }

  forward(x: Tensor): Tensor {
    using _scope = newDisposeScope("masked");
    const q = this.query.call(x);
    let weights = q.matmul(x.transpose()).div(Math.sqrt(x.shape.at(-1)!));
    if (this.#mask !== null) weights = weights.add(this.#mask);
    const mixed = weights.softmax(-1).matmul(this.value.call(x));
    return mixed.mul(this.gate).moveToOuter();
  }

  override dispose(): void {
    this.mask = null;
    super.dispose();
  }
}

class Stack extends Module<[x: Tensor, keep?: boolean], { out: Tensor; states: Tensor[] }> {
  readonly rotary = new Rotary(4);
  readonly running = new Running();
  readonly layers = new ModuleList([new Masked(4), new Masked(4)]);
  readonly norm = new LayerNorm(4);

  forward(x: Tensor, keep = false): { out: Tensor; states: Tensor[] } {
    const states: Tensor[] = [];
    using placed = this.rotary.call(x);
    let h = this.running.call(placed);
    for (const layer of this.layers) {
      const next = scoped(() => this.norm.call(h.add(layer.call(h))));
      if (keep) states.push(h);
      else h.dispose();
      h = next;
    }
    return { out: h, states };
  }
}

/** A mask that hides what comes later. */
function causal(length: number): Tensor {
  return scoped(() => ones([length, length]).triu(1).mul(-1e9));
}

/** Runs inputs of growing length through the layers. */
export async function run(): Promise<number> {
  manualSeed(1);
  using model = new Stack();
  let total = 0;
  for (const length of [2, 3, 5]) {
    using x = randn([length, 4]);
    for (const layer of model.layers) layer.mask = causal(length);
    const { out, states } = model.call(x, length === 3);
    if (states.length > 0) {
      using all = stack(states);
      total += all.size;
      for (const state of states) state.dispose();
    }
    using target = zeros(out.shape);
    using loss = F.l1Loss(out, target);
    out.dispose();
    loss.backward();
    total += await loss.item();
  }
  model.zeroGrad();
  return total;
}
