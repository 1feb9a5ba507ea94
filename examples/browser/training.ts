/**
 * The training itself, as a program with Tenure should look: one dispose scope for each step, reads
 * awaited outside of it, modules, optimizer and loader declared with `using` or owned by a class
 * that is `Disposable`. Runs in the worker; knows neither page nor messages.
 */
import { type Tensor, memory, newDisposeScope, noGrad, tensor } from "tenure";
import { ArrayDataset, DataLoader } from "tenure/data";
import { CrossEntropyLoss, type Sequential } from "tenure/nn";
import { Adam } from "tenure/optim";
import { cnn, mlp, pixels as scale } from "../mnist/models.ts";
import type { Digits } from "./digits.ts";
import type { LeakReport, Network, StepReport } from "./messages.ts";
import { bytesByOwner } from "./owners.ts";

/** What a training tells whoever runs it. */
export interface Listener {
  step(report: StepReport): void;
  tested(step: number, accuracy: number): void;
  leak(report: LeakReport): void;
  full(tensors: number): void;
}

/** Pictures that may be forgotten before that stops by itself: 31 MB. */
const mostForgotten = 200;
const batchSize = 50;

function loaderOf({ images, labels }: Digits, shuffle: boolean): Loader {
  const dataset = new ArrayDataset({
    image: { data: images, shape: [1, 28, 28], ...scale },
    label: { data: labels, shape: [], dtype: "int32" },
  });
  return new DataLoader(dataset, { batchSize, shuffle, seed: 1 });
}
type Loader = DataLoader<Readonly<Record<"image" | "label", Tensor>>>;

/** One network in training. It owns all it made until it is disposed. */
export class Training implements Disposable {
  readonly #model: Sequential;
  readonly #optimizer: Adam;
  readonly #train: Loader;
  readonly #test: Loader;
  readonly #listener: Listener;
  readonly #album: Tensor[] = [];
  #watching: Disposable | undefined;
  #step = 0;
  #go: () => void = () => undefined;
  #turn: Promise<void> | undefined;

  constructor(network: Network, train: Digits, test: Digits, listener: Listener) {
    this.#model = network === "cnn" ? cnn() : mlp();
    this.#optimizer = new Adam(this.#model.parameters(), { lr: 0.002 });
    this.#train = loaderOf(train, true);
    this.#test = loaderOf(test, false);
    this.#listener = listener;
    this.pause();
  }

  /** Holds the loop after its next step. */
  pause(): void {
    this.#turn ??= new Promise((resolve) => {
      this.#go = resolve;
    });
  }

  /** Lets the loop go on. */
  resume(): void {
    this.#turn = undefined;
    this.#go();
  }

  /** Epoch after epoch, each followed by a test. Ends only by an error. */
  async run(): Promise<never> {
    for (let epoch = 1; ; epoch++) {
      await this.#turn;
      await this.#epoch(epoch);
      this.#listener.tested(this.#step, await this.#accuracy());
    }
  }

  async #epoch(epoch: number): Promise<void> {
    using criterion = new CrossEntropyLoss();
    for await (const { image, label } of this.#train) {
      let read: Promise<[number, number]>;
      {
        // everything made in here is freed at its end
        using scope = newDisposeScope("training step");
        const logits = this.#model.call(image);
        const loss = criterion.call(logits, label);
        this.#optimizer.zeroGrad();
        loss.backward();
        this.#optimizer.step();
        const correct = logits.argMax(1).eq(label).sum();
        read = Promise.all([loss.item(), correct.item()]);

        // The switch on the page: pictures from 0 to 1 for an album that nobody ever empties.
        if (this.#watching !== undefined)
          this.#album.push(scope.detach(image.sub(scale.offset).div(255 * scale.scale)));
      }
      const [loss, correct] = await read; // outside of the scope
      this.#step++;
      this.#listener.step({
        step: this.#step,
        epoch,
        loss,
        accuracy: correct / label.size,
        images: label.size,
        tensors: memory.stats().threadTotalLiveCount,
        owners: bytesByOwner(),
      });
      if (this.#album.length >= mostForgotten) {
        this.#listener.full(this.#album.length);
        this.forget(false);
      }
      await this.#turn;
    }
  }

  /** Share of the test images that are recognised. */
  async #accuracy(): Promise<number> {
    let right = 0,
      all = 0;
    this.#model.eval();
    for await (const { image, label } of this.#test) {
      let read: Promise<number>;
      {
        using _scope = newDisposeScope("test step");
        read = noGrad(() => this.#model.call(image).argMax(1).eq(label).sum().item());
      }
      right += await read;
      all += label.size;
    }
    this.#model.train();
    return right / all;
  }

  /** How likely each digit is, for 28×28 values from 0 (paper) to 1 (ink). */
  async classify(pixels: Float32Array): Promise<number[]> {
    let read: Promise<ArrayLike<number>>;
    {
      using _scope = newDisposeScope("classify");
      const image = tensor(pixels, { shape: [1, 1, 28, 28] })
        .mul(255 * scale.scale)
        .add(scale.offset);
      read = noGrad(() => this.#model.call(image).softmax(1).data());
    }
    return Array.from(await read);
  }

  /** Whether steps forget a tensor. Off frees what was forgotten so far. */
  forget(on: boolean): void {
    this.#watching?.[Symbol.dispose]();
    this.#watching = on
      ? memory.watch(({ name, rows: [row], perGeneration }) => {
          if (name === "training step" && row !== undefined)
            this.#listener.leak({
              made: row.made,
              perStep: perGeneration,
              bytesPerStep: (perGeneration * row.bytes) / row.count,
            });
        })
      : undefined;
    if (!on) for (const picture of this.#album.splice(0)) picture.dispose();
  }

  [Symbol.dispose](): void {
    this.forget(false);
    this.#test.dispose();
    this.#train.dispose();
    this.#optimizer.dispose();
    this.#model.dispose();
  }
}
