/**
 * Random models in training, on the null device: what they compute is zero, what they take is real.
 * Tests only.
 */
import { type Tensor, manualSeed, scoped, tensor } from "tenure";
import {
  CrossEntropyLoss,
  Dropout,
  LayerNorm,
  Linear,
  type Module,
  ReLU,
  Sequential,
  Tanh,
} from "tenure/nn";
import { Adam, type Optimizer, SGD } from "tenure/optim";
import type { SchedulerOptions } from "tenure/scheduler";
import { mulberry } from "../../helpers.ts";

/** A model in training: `step` runs forward, backward and the update, and returns the loss. */
export interface Training extends Disposable {
  readonly text: string;
  step(): Tensor;
}

/** Optimizers by name. */
export const optimizers: Readonly<Record<string, (model: Module) => Optimizer>> = {
  SGD: (model) => new SGD(model.parameters(), { lr: 0.1 }),
  momentum: (model) => new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 }),
  Adam: (model) => new Adam(model.parameters(), { lr: 1e-3 }),
};

/** A model of a few layers, all of whose sizes follow from the seed. */
export function randomTraining(seed: number, optimizerName: string): Training {
  const random = mulberry(seed);
  const below = (n: number): number => Math.floor(random() * n);
  manualSeed(seed);
  const batch = 1 + below(300);
  const layers: Module[] = [];
  const widths = [1 + below(90)];
  const depth = 1 + below(5);
  for (let k = 0; k < depth; k++) {
    const width = 1 + below(120);
    layers.push(new Linear(widths.at(-1) ?? 1, width));
    widths.push(width);
    const extra = below(6);
    if (extra === 0) layers.push(new LayerNorm(width));
    if (extra === 1) layers.push(new Dropout(0.3));
    if (extra < 4) layers.push(new ReLU());
    else layers.push(new Tanh());
  }
  const model = new Sequential(...layers, new Linear(widths.at(-1) ?? 1, 10));
  const make = optimizers[optimizerName];
  if (make === undefined) throw new Error(`no optimizer ${optimizerName}`);
  const optimizer = make(model);
  const loss = new CrossEntropyLoss();
  const outside = random() < 0.5;
  const input = (): Tensor =>
    tensor(new Float32Array(batch * (widths[0] ?? 1)), { shape: [batch, widths[0] ?? 1] });
  const labels = (): Tensor => tensor(new Int32Array(batch), { dtype: "int32" });
  const kept = outside ? [input(), labels()] : [];
  return {
    text: `seed ${seed}, ${optimizerName}, batch ${batch}, widths ${widths.join()}`,
    step: () =>
      scoped(() => {
        optimizer.zeroGrad();
        const [x = input(), y = labels()] = kept;
        const l = loss.call(model.call(x), y);
        l.backward();
        optimizer.step();
        return l;
      }),
    [Symbol.dispose]() {
      for (const thing of [...kept, loss, optimizer, model]) thing.dispose();
    },
  };
}

/** What schedulers may do, in all combinations that exist. */
export const policies: readonly SchedulerOptions[] = [
  { swap: "auto", recompute: "auto" },
  { swap: "off", recompute: "auto" },
  { swap: "auto", recompute: "off" },
  { swap: "off", recompute: "off" },
  { swap: "auto", recompute: "auto", placement: "none" },
  { swap: "off", recompute: { thresholdBytes: 10_000 } },
];
