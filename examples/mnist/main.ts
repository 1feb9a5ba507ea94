/**
 * Trains a network on the real MNIST images and shows that not one tensor leaks. The heart is
 * `trainEpoch`: one dispose scope per step, the read awaited outside of it. Run with `npm start --
 * --help`.
 */
import { readFile, rename, writeFile } from "node:fs/promises";
import { type Tensor, init, manualSeed, newDisposeScope, noGrad } from "tenure";
import { DataLoader, fromSafetensors, toSafetensors } from "tenure/data";
import { CrossEntropyLoss, type Module } from "tenure/nn";
import { Adam } from "tenure/optim";
import { Progress } from "../progress.ts";
import { mnist } from "./data.ts";
import { cnn, mlp } from "./models.ts";
import { type Options, parseOptions, usage } from "./options.ts";
import { confusionTable, leakReport } from "./report.ts";

type Digits = DataLoader<Readonly<Record<"image" | "label", Tensor>>>;

async function trainEpoch(
  model: Module,
  optimizer: Adam,
  loader: Digits,
  progress: Progress,
): Promise<void> {
  using criterion = new CrossEntropyLoss();
  let step = 0,
    images = 0,
    seen = 0,
    lossSum = 0,
    hits = 0;
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
    seen = 0.95 * seen + 0.05;
    lossSum = 0.95 * lossSum + 0.05 * loss;
    hits = 0.95 * hits + (0.05 * correct) / label.size;
    progress.show(
      step,
      `loss ${(lossSum / seen).toFixed(4)}`,
      `accuracy ${((100 * hits) / seen).toFixed(2)} %`,
      `${(images / progress.seconds).toFixed(0)} images/s`,
    );
  }
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

async function readWeights(file: string): Promise<ReturnType<typeof fromSafetensors>> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const missing = (error as { code?: string }).code === "ENOENT";
    const why = missing
      ? "there is none of that name: write one with --save first"
      : (error as Error).message;
    throw new Error(`--load: expected a readable file, got ${file}; ${why}`, { cause: error });
  }
  return fromSafetensors(bytes, file);
}

async function run(options: Options): Promise<boolean> {
  // before the device starts
  const weights = options.load === undefined ? undefined : await readWeights(options.load);
  await init(options.device === undefined ? {} : { device: options.device });
  manualSeed(options.seed);
  const [training, testing] = await Promise.all([mnist("train", options.limit), mnist("t10k")]);
  console.log(
    `MNIST: ${training.length} training images, ${testing.length} test images; ` +
      `${options.model}, ${options.epochs} epochs, batches of ${options.batch}`,
  );
  {
    using model = options.model === "cnn" ? cnn() : mlp();
    if (weights !== undefined) model.loadStateDict(weights);
    using optimizer = new Adam(model.parameters(), { lr: options.lr });
    using loader = new DataLoader(training, {
      batchSize: options.batch,
      shuffle: true,
      seed: options.seed,
      dropLast: training.length >= options.batch,
    });
    using tests = new DataLoader(testing, { batchSize: 500 });
    for (let epoch = 1; epoch <= options.epochs; epoch++)
      await trainEpoch(model, optimizer, loader, new Progress(`epoch ${epoch}`, loader.length));

    const table = await evaluate(model, tests);
    const correct = table.reduce((n, row, d) => n + row[d]!, 0);
    console.log(
      `\ntest accuracy ${((100 * correct) / testing.length).toFixed(2)} %\n\n` +
        `${confusionTable(table)}\n`,
    );
    if (options.save !== undefined) {
      let bytes: ReturnType<typeof toSafetensors>;
      {
        using _scope = newDisposeScope("saving");
        bytes = toSafetensors(model.stateDict());
      }
      await writeFile(`${options.save}.part`, await bytes);
      await rename(`${options.save}.part`, options.save);
      console.log(`weights written to ${options.save}`);
    }
  }
  return leakReport();
}

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === "help") console.log(usage);
  else if (!(await run(options))) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
