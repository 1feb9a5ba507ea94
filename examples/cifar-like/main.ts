/**
 * Trains a residual network with batch norm on images it draws itself, and tests it on others. The
 * whole run is checked by `assertNoLeaks`. `npm run example:cifar-like -- --help` lists the
 * options.
 */
import { type Tensor, manualSeed, memory, newDisposeScope, noGrad } from "tenure";
import { DataLoader } from "tenure/data";
import { CrossEntropyLoss, type Module } from "tenure/nn";
import { AdamW, OneCycleLR } from "tenure/optim";
import type { Command, OptionTable, Values } from "../command.ts";
import { Progress, counted } from "../progress.ts";
import { type Run, runExample, standing } from "../run.ts";
import { dataset, names } from "./images.ts";
import { resnet } from "./model.ts";

const options = {
  epochs: { kind: "whole", least: 1, usual: 3, help: "passes over the training images" },
  limit: { kind: "whole", least: 2, usual: 2000, help: "training images" },
  tests: { kind: "whole", least: 1, usual: 500, help: "test images" },
  batch: { kind: "whole", least: 2, usual: 50, help: "images per step" },
  width: { kind: "whole", least: 1, usual: 8, help: "channels of the first block" },
  lr: { kind: "positive", usual: 0.02, help: "largest learning rate" },
  seed: { kind: "whole", least: 0, usual: 1, help: "images, initial weights and order" },
} as const satisfies OptionTable;
const command: Command<typeof options> = {
  name: "cifar-like",
  script: "npm run example:cifar-like",
  about: `Trains a small ResNet on images it draws, of ${names.length} kinds.`,
  options,
};

type Images = DataLoader<Readonly<Record<"image" | "label", Tensor>>>;
interface Parts {
  readonly model: Module;
  readonly optimizer: AdamW;
  readonly schedule: OneCycleLR;
  readonly loader: Images;
}

/** True at the end of the epoch, false when Ctrl-C was pressed. */
async function trainEpoch(parts: Parts, run: Run): Promise<boolean> {
  const { model, optimizer, schedule, loader } = parts;
  using criterion = new CrossEntropyLoss({ labelSmoothing: 0.05 });
  const { epoch, step: before } = standing(loader),
    progress = new Progress(`epoch ${epoch}`, loader.length, before),
    { means } = run;
  if (before === 0) means.restart();
  let step = before,
    images = 0;
  for (const { image, label: truth } of loader) {
    let read: Promise<[number, number]>;
    {
      using _scope = newDisposeScope("training step");
      const logits = model.call(image),
        loss = criterion.call(logits, truth);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      schedule.step();
      const correct = logits.argMax(1).eq(truth).sum();
      read = Promise.all([loss.item(), correct.item()]);
    }
    const [loss, correct] = await read;
    if (!Number.isFinite(loss))
      throw new Error(
        `training: expected a finite loss, got ${loss} at step ${step + 1}; ` +
          "use a smaller --lr",
      );
    step++;
    images += truth.size;
    means.add({ loss, accuracy: correct / truth.size });
    progress.show(
      step,
      `loss ${means.of("loss").toFixed(3)}`,
      `accuracy ${(100 * means.of("accuracy")).toFixed(1)} %`,
      `${(images / progress.seconds).toFixed(0)} images/s`,
    );
    if (await run.paused(parts)) return false;
  }
  return true;
}

/** Share of test images whose kind is recognised, by kind. */
async function evaluate(model: Module, loader: Images): Promise<number[]> {
  const right = names.map(() => 0),
    all = names.map(() => 0);
  model.eval(); // batch norm uses the statistics it has gathered
  for (const { image, label } of loader) {
    let read: Promise<[ArrayLike<number>, ArrayLike<number>]>;
    {
      using _scope = newDisposeScope("evaluation step");
      read = noGrad(() => Promise.all([model.call(image).argMax(1).data(), label.data()]));
    }
    const [said, truth] = await read;
    for (let i = 0; i < said.length; i++) {
      all[truth[i]!]!++;
      if (said[i] === truth[i]) right[truth[i]!]!++;
    }
  }
  model.train();
  return right.map((n, k) => n / Math.max(1, all[k]!));
}

async function work(options: Values<typeof command.options>, run: Run): Promise<void> {
  const { epochs, limit, tests, batch, width, seed, lr } = options;
  manualSeed(seed);
  using model = resnet(names.length, width);
  const parameters = model.parameters().reduce((n, p) => n + p.size, 0);
  console.log(
    `a ResNet of ${parameters} parameters, ${limit} training and ${tests} test images of ` +
      `${names.length} kinds, ${counted(epochs, "epoch")} in batches of ${batch}`,
  );
  using optimizer = new AdamW(model.parameters(), { lr, weightDecay: 1e-3 });
  using training = new DataLoader(dataset(limit, seed), {
    batchSize: Math.min(batch, limit),
    shuffle: true,
    seed,
    dropLast: true,
  });
  using testing = new DataLoader(dataset(tests, seed + 1_000_003), { batchSize: 100 });
  const schedule = new OneCycleLR(optimizer, { maxLr: lr, totalSteps: epochs * training.length });
  const parts = { model, optimizer, schedule, loader: training };
  run.begin(parts);
  while (standing(training).epoch <= epochs) if (!(await trainEpoch(parts, run))) return;
  await run.finish(model);
  const accuracy = await evaluate(model, testing);
  const bars = names.map((name, k) => {
    const bar = "█".repeat(Math.round(20 * accuracy[k]!)).padEnd(20, "·");
    return `${name.padEnd(10)} ${bar} ${(100 * accuracy[k]!).toFixed(0)} %`;
  });
  console.log(`\n${bars.join("\n")}`);
  console.log(
    `\ntest accuracy ${(100 * accuracy.reduce((n, a) => n + a / names.length, 0)).toFixed(1)} %`,
  );
}

await runExample(command, async (options, run) => {
  await memory.assertNoLeaks(() => work(options, run));
  const { createdInScopeCount, createdOutsideScopeCount } = memory.stats();
  if (!run.stopped)
    console.log(`0 tensors leaked, ${createdInScopeCount + createdOutsideScopeCount} created`);
  return true;
});
