/**
 * Trains a network on the real MNIST images and shows that not one tensor leaks. The heart is
 * `trainEpoch`: one dispose scope per step, the read awaited outside of it. Run with `npm start --
 * --help`.
 */
import { type Tensor, manualSeed, newDisposeScope, noGrad } from "tenure";
import { DataLoader, unpackCheckpoint } from "tenure/data";
import { CrossEntropyLoss, type Module } from "tenure/nn";
import { Adam } from "tenure/optim";
import type { Command, OptionTable, Values } from "../command.ts";
import { Progress, counted } from "../progress.ts";
import { type Run, runExample, standing } from "../run.ts";
import { mnist } from "./data.ts";
import { cnn, mlp } from "./models.ts";
import { confusionTable, leakReport } from "./report.ts";

const options = {
  model: { kind: "choice", of: ["mlp", "cnn"], usual: "mlp", help: "which network" },
  epochs: { kind: "whole", least: 0, usual: 2, help: "passes over the training images" },
  batch: { kind: "whole", least: 1, usual: 128, help: "images per step" },
  lr: { kind: "positive", usual: 0.002, help: "learning rate" },
  limit: { kind: "whole", least: 1, usual: 60_000, help: "use only the first N training images" },
  tests: { kind: "whole", least: 1, usual: 10_000, help: "use only the first N test images" },
  seed: { kind: "whole", least: 0, usual: 1, help: "initial weights and order of images" },
  load: { kind: "input", help: "weights to start from; --epochs 0 only tests" },
} as const satisfies OptionTable;
const command: Command<typeof options> = {
  name: "mnist",
  script: "npm start",
  about: "Trains a network on MNIST.",
  options,
};

type Digits = DataLoader<Readonly<Record<"image" | "label", Tensor>>>;
interface Parts {
  readonly model: Module;
  readonly optimizer: Adam;
  readonly loader: Digits;
}

/** True at the end of the epoch, false when Ctrl-C was pressed. */
async function trainEpoch(parts: Parts, run: Run): Promise<boolean> {
  const { model, optimizer, loader } = parts;
  using criterion = new CrossEntropyLoss();
  const { epoch, step: before } = standing(loader),
    progress = new Progress(`epoch ${epoch}`, loader.length, before),
    { means } = run;
  if (before === 0) means.restart();
  let step = before,
    images = 0;
  for (const { image, label } of loader) {
    let read: Promise<[number, number]>;
    {
      // everything made in here is freed at its end
      using _scope = newDisposeScope("training step");
      const logits = model.call(image);
      const loss = criterion.call(logits, label);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      const correct = logits.argMax(1).eq(label).sum();
      read = Promise.all([loss.item(), correct.item()]);
    }
    const [loss, correct] = await read;
    if (!Number.isFinite(loss))
      throw new Error(
        `training: expected a finite loss, got ${loss} at step ${step + 1}; use a smaller --lr`,
      );
    step++;
    images += label.size;
    means.add({ loss, accuracy: correct / label.size }, 0.95);
    progress.show(
      step,
      `loss ${means.of("loss").toFixed(4)}`,
      `accuracy ${(100 * means.of("accuracy")).toFixed(2)} %`,
      `${(images / progress.seconds).toFixed(0)} images/s`,
    );
    if (await run.paused(parts)) return false;
  }
  return true;
}

/** How often digit `d` was taken for `p`: table[d][p]. */
async function evaluate(model: Module, loader: Digits): Promise<number[][]> {
  const table = Array.from({ length: 10 }, () => new Array<number>(10).fill(0));
  model.eval();
  for (const { image, label } of loader) {
    let read: Promise<[ArrayLike<number>, ArrayLike<number>]>;
    {
      using _scope = newDisposeScope("evaluation step");
      read = noGrad(() => Promise.all([model.call(image).argMax(1).data(), label.data()]));
    }
    const [said, truth] = await read;
    for (let i = 0; i < said.length; i++) table[truth[i]!]![said[i]!]!++;
  }
  model.train();
  return table;
}

async function train(options: Values<typeof command.options>, run: Run): Promise<boolean> {
  const { load, epochs, batch, seed } = options,
    weights = run.input("load");
  manualSeed(seed);
  const [training, testing] = await Promise.all([
    mnist("train", options.limit),
    mnist("t10k", options.tests),
  ]);
  console.log(
    `MNIST: ${training.length} training images, ${testing.length} test images; ` +
      `${options.model}, ${counted(epochs, "epoch")}, batches of ${batch}`,
  );
  {
    using model = options.model === "cnn" ? cnn() : mlp();
    if (weights !== undefined) unpackCheckpoint(weights, { model, random: false }, load);
    using optimizer = new Adam(model.parameters(), { lr: options.lr });
    using loader = new DataLoader(training, {
      batchSize: batch,
      shuffle: true,
      seed,
      dropLast: training.length >= batch,
    });
    using tests = new DataLoader(testing, { batchSize: 500 });
    const parts = { model, optimizer, loader };
    run.begin(parts);
    while (standing(loader).epoch <= epochs) if (!(await trainEpoch(parts, run))) return true;
    await run.finish(model);

    const table = await evaluate(model, tests);
    const correct = table.reduce((n, row, d) => n + row[d]!, 0);
    console.log(
      `\ntest accuracy ${((100 * correct) / testing.length).toFixed(2)} %\n\n` +
        `${confusionTable(table)}\n`,
    );
  }
  return leakReport();
}

await runExample(command, train);
