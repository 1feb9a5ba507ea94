/**
 * Trains a residual network with batch norm on images it draws itself, and tests it on others. The
 * whole run is checked by `assertNoLeaks`. `npm run example:cifar-like -- --help` lists the
 * options.
 */
import { parseArgs } from "node:util";
import { type Tensor, init, manualSeed, memory, newDisposeScope, noGrad } from "tenure";
import { DataLoader } from "tenure/data";
import { CrossEntropyLoss, type Module } from "tenure/nn";
import { AdamW, OneCycleLR } from "tenure/optim";
import { Progress } from "../progress.ts";
import { dataset, names } from "./images.ts";
import { resnet } from "./model.ts";

const usage = `Trains a small ResNet on images it draws: ${names.join(", ")}.

  npm run example:cifar-like -- [options]

  --epochs N   passes over the training images (3)
  --limit N    training images (2000)
  --tests N    test images (500)
  --batch N    images per step (50)
  --width N    channels of the first block (8)
  --lr X       largest learning rate (0.02)
  --seed N     images, initial weights and order (1)
  --help       this text`;

type Images = DataLoader<Readonly<Record<"image" | "label", Tensor>>>;

async function trainEpoch(
  label: string,
  model: Module,
  optimizer: AdamW,
  schedule: OneCycleLR,
  loader: Images,
): Promise<void> {
  using criterion = new CrossEntropyLoss({ labelSmoothing: 0.05 });
  const progress = new Progress(label, loader.length);
  let step = 0,
    images = 0,
    hits = 0,
    losses = 0;
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
        `training: expected a finite loss, got ${loss} at step ${step + 1}; use a smaller --lr`,
      );
    step++;
    images += truth.size;
    losses += loss;
    hits += correct;
    progress.show(
      step,
      `loss ${(losses / step).toFixed(3)}`,
      `accuracy ${((100 * hits) / images).toFixed(1)} %`,
      `${(images / progress.seconds).toFixed(0)} images/s`,
    );
  }
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

interface Options {
  readonly epochs: number;
  readonly limit: number;
  readonly tests: number;
  readonly batch: number;
  readonly width: number;
  readonly seed: number;
  readonly lr: number;
}

/** @throws Error that names the option */
function parseOptions(args: readonly string[]): Options | "help" {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      epochs: text,
      limit: text,
      tests: text,
      batch: text,
      width: text,
      seed: text,
      lr: text,
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return "help";
  const whole = (
    name: "epochs" | "limit" | "tests" | "batch" | "width" | "seed",
    usual: number,
    least: number,
  ): number => {
    const value = Number(values[name] ?? usual);
    if (!Number.isSafeInteger(value) || value < least)
      throw new Error(
        `--${name}: expected a whole number of ${least} or more, got ${values[name]}`,
      );
    return value;
  };
  const lr = Number(values.lr ?? 0.02);
  if (!(lr > 0) || !Number.isFinite(lr))
    throw new Error(`--lr: expected a positive number, got ${values.lr}`);
  return {
    epochs: whole("epochs", 3, 1),
    limit: whole("limit", 2000, 2),
    tests: whole("tests", 500, 1),
    batch: whole("batch", 50, 2),
    width: whole("width", 8, 1),
    seed: whole("seed", 1, 0),
    lr,
  };
}

async function run({ epochs, limit, tests, batch, width, seed, lr }: Options): Promise<void> {
  manualSeed(seed);
  using model = resnet(names.length, width);
  const parameters = model.parameters().reduce((n, p) => n + p.size, 0);
  console.log(
    `a ResNet of ${parameters} parameters, ${limit} training and ${tests} test images of ` +
      `${names.length} kinds, ${epochs} epochs in batches of ${batch}`,
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
  for (let epoch = 1; epoch <= epochs; epoch++)
    await trainEpoch(`epoch ${epoch}`, model, optimizer, schedule, training);
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

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === "help") console.log(usage);
  else {
    await init();
    await memory.assertNoLeaks(() => run(options));
    const { createdInScopeCount, createdOutsideScopeCount } = memory.stats();
    console.log(`0 tensors leaked, ${createdInScopeCount + createdOutsideScopeCount} created`);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
