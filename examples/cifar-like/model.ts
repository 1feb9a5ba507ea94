/**
 * A small residual network (He et al. 2016): a convolution, three blocks with batch norm, an
 * average over the image, a linear layer. The modules own their weights, `scoped` frees what is
 * computed on the way. Letters: N images, C channels, H and W pixels.
 */
import { type Tensor, scoped } from "tenure";
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Flatten,
  Linear,
  Module,
  ReLU,
  Sequential,
} from "tenure/nn";

/** 3×3, keeps the image's size unless it strides. */
const conv = (from: number, to: number, stride = 1): Conv2d =>
  new Conv2d(from, to, 3, { stride, padding: 1, bias: false }); // batch norm has the bias

/**
 * Two convolutions whose result is added to the input; with a stride, or other channels, the input
 * goes through a convolution of one pixel first.
 */
export class ResidualBlock extends Module {
  readonly main: Sequential;
  readonly shortcut: Sequential | null;

  constructor(from: number, to: number, stride = 1) {
    super();
    this.main = new Sequential(
      conv(from, to, stride),
      new BatchNorm2d(to),
      new ReLU(),
      conv(to, to),
      new BatchNorm2d(to),
    );
    this.shortcut =
      stride === 1 && from === to
        ? null
        : new Sequential(new Conv2d(from, to, 1, { stride, bias: false }), new BatchNorm2d(to));
  }

  /** [N, from, H, W] → [N, to, H / stride, W / stride] */
  forward(x: Tensor): Tensor {
    return scoped(() =>
      this.main
        .call(x)
        .add(this.shortcut?.call(x) ?? x)
        .relu(),
    );
  }
}

/** [N, 3, 32, 32] → [N, classes] */
export function resnet(classes: number, width: number): Sequential {
  return new Sequential(
    conv(3, width),
    new BatchNorm2d(width),
    new ReLU(), // [N, width, 32, 32]
    new ResidualBlock(width, width),
    new ResidualBlock(width, 2 * width, 2), // [N, 2·width, 16, 16]
    new ResidualBlock(2 * width, 4 * width, 2), // [N, 4·width, 8, 8]
    new AdaptiveAvgPool2d(1),
    new Flatten(),
    new Linear(4 * width, classes),
  );
}
