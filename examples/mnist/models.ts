/**
 * The two networks of the example. Images come in as [N, 1, 28, 28], logits go out as [N, 10].
 */
import { Conv2d, Flatten, Linear, MaxPool2d, ReLU, Sequential } from "tenure/nn";

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
