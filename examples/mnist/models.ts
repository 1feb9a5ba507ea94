/**
 * The two networks of the example, and how pixels reach them. Images come in as [N, 1, 28, 28],
 * logits go out as [N, 10].
 */
import { Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential } from "tenure/nn";

/** Mean and standard deviation of the training pixels, in 0…1. */
const mean = 0.1307,
  std = 0.3081;
/** Bytes of pixels become `value * scale + offset`, which the networks expect. */
export const pixels = { scale: 1 / 255 / std, offset: -mean / std } as const;

/** 784 → 256 → 10. */
export function mlp(): Sequential {
  return new Sequential(new Flatten(), new Linear(784, 256), new ReLU(), new Linear(256, 10));
}

/** Two convolutions with pooling, then two linear layers. */
export function cnn(): Sequential {
  return new Sequential(
    new Conv2d(1, 8, 5, { padding: 2 }),
    new ReLU(),
    new MaxPool2d(2), // [N, 8, 14, 14]
    new Conv2d(8, 16, 5, { padding: 2 }),
    new ReLU(),
    new MaxPool2d(2), // [N, 16, 7, 7]
    new Flatten(),
    new Linear(16 * 7 * 7, 64),
    new ReLU(),
    new Linear(64, 10),
  );
}
