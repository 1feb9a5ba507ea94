/**
 * The networks of the memory benchmark, from Tenure's own layers: ResNet-50 as torchvision has it,
 * and residual networks of any depth. Traced, never run.
 */
import { type Tensor, newDisposeScope, scoped, tensor, zeros } from "tenure";
import { BatchNorm2d, Conv2d, Linear, MaxPool2d, Module, Sequential, functional } from "tenure/nn";
import { SGD } from "tenure/optim";
import { type Program, trace } from "tenure/scheduler";

/** Convolution and batch norm. */
const convNorm = (from: number, to: number, kernel: number, stride = 1): Sequential =>
  new Sequential(
    new Conv2d(from, to, kernel, { stride, padding: (kernel - 1) / 2, bias: false }),
    new BatchNorm2d(to),
  );

/** 1×1, 3×3, 1×1 with a shortcut (He et al. 2015), the stride in the 3×3 as torchvision has it. */
class Bottleneck extends Module {
  readonly first: Sequential;
  readonly second: Sequential;
  readonly third: Sequential;
  readonly shortcut: Sequential | null;
  constructor(inChannels: number, width: number, stride: number) {
    super();
    this.first = convNorm(inChannels, width, 1);
    this.second = convNorm(width, width, 3, stride);
    this.third = convNorm(width, 4 * width, 1);
    this.shortcut =
      stride !== 1 || inChannels !== 4 * width ? convNorm(inChannels, 4 * width, 1, stride) : null;
  }
  forward(x: Tensor): Tensor {
    return scoped(() => {
      const y = this.third.call(this.second.call(this.first.call(x).relu()).relu());
      return y.add(this.shortcut === null ? x : this.shortcut.call(x)).relu();
    });
  }
}

class ResNet extends Module {
  readonly stem: Sequential;
  readonly pool = new MaxPool2d(3, { stride: 2, padding: 1 });
  readonly blocks: readonly Bottleneck[];
  readonly head: Linear;
  readonly #pooled: boolean;
  constructor(
    counts: readonly number[],
    options: { readonly imageNet: boolean; readonly width: number; readonly classes: number },
  ) {
    super();
    const { imageNet, width, classes } = options;
    this.#pooled = imageNet;
    this.stem = imageNet ? convNorm(3, 64, 7, 2) : convNorm(3, width, 3);
    const blocks: Bottleneck[] = [];
    let channels = imageNet ? 64 : width;
    counts.forEach((count, stage) => {
      for (let k = 0; k < count; k++) {
        blocks.push(new Bottleneck(channels, width * 2 ** stage, k === 0 && stage > 0 ? 2 : 1));
        channels = 4 * width * 2 ** stage;
      }
    });
    this.blocks = blocks;
    this.head = new Linear(channels, classes);
  }
  override *children(): Generator<[name: string, module: Module]> {
    yield ["stem", this.stem];
    for (const [i, block] of this.blocks.entries()) yield [`blocks.${i}`, block];
    yield ["head", this.head];
  }
  forward(x: Tensor): Tensor {
    return scoped((scope) => {
      let y = this.stem.call(x).relu();
      if (this.#pooled) y = this.pool.call(y);
      for (const block of this.blocks) {
        const next = block.call(y);
        y.dispose();
        y = next;
      }
      const out = this.head.call(y.mean([2, 3]));
      return scope.contains(out) ? out : out.alias();
    });
  }
}

/** One training step with SGD and momentum: forward, backward, update; gradients are freed. */
function stepOf(model: Module, batch: number, size: number): Program {
  using _scope = newDisposeScope("bench");
  using optimizer = new SGD(model.parameters(), { lr: 0.1, momentum: 0.9 });
  const images = zeros([batch, 3, size, size]),
    labels = tensor(new Int32Array(batch));
  // As in every step but the first: the momentum is there.
  for (const p of model.parameters()) p.grad = zeros(p.shape);
  optimizer.step();
  optimizer.zeroGrad();
  const step = (): Tensor =>
    scoped(() => {
      const loss = functional.crossEntropy(model.call(images), labels);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    });
  return trace(step);
}

/** A training step of ResNet-50 on 224×224 images with SGD and momentum, traced. */
export function resnet50(batch: number): Program {
  using model = new ResNet([3, 4, 6, 3], { imageNet: true, width: 64, classes: 1000 });
  return stepOf(model, batch, 224);
}

/**
 * About `layers` convolutions deep: bottlenecks of constant shape, as in the experiment of Chen et
 * al.
 */
export function deepResidual(layers: number, batch: number): Program {
  const per = Math.floor(layers / 9);
  using model = new ResNet(
    [per, per, layers % 9 === 0 ? per : Math.floor((layers - 6 * per) / 3)],
    { imageNet: false, width: 16, classes: 10 },
  );
  return stepOf(model, batch, 32);
}
