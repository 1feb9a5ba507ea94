/**
 * Trains a small GPT on tales made by a grammar, then lets it tell some of its own and counts how
 * many of its words exist. The whole run is checked by `assertNoLeaks`. `npm run
 * example:char-transformer -- --help` lists the options.
 */
import { type Tensor, manualSeed, memory, newDisposeScope, noGrad, tensor } from "tenure";
import { DataLoader } from "tenure/data";
import { functional as F } from "tenure/nn";
import { AdamW } from "tenure/optim";
import type { Command, OptionTable, Values } from "../command.ts";
import { Progress } from "../progress.ts";
import { randomFrom } from "../random.ts";
import { type Run, runExample, standing } from "../run.ts";
import { GPT } from "./model.ts";
import { Alphabet, tales, windows, words } from "./text.ts";

const options = {
  steps: { kind: "whole", least: 1, usual: 400, help: "training steps" },
  batch: { kind: "whole", least: 1, usual: 16, help: "windows of text per step" },
  seed: { kind: "whole", least: 0, usual: 1, help: "text, initial weights and what is told" },
  tell: { kind: "whole", least: 1, usual: 300, help: "characters to tell" },
} as const satisfies OptionTable;
const command: Command<typeof options> = {
  name: "char-transformer",
  script: "npm run example:char-transformer",
  about: "Trains a small GPT on tales, and lets it tell one.",
  options,
};

const size = { context: 48, channels: 64, heads: 4, blocks: 2 } as const;

interface Parts {
  readonly model: GPT;
  readonly optimizer: AdamW;
  readonly loader: DataLoader<Readonly<Record<"input" | "target", Tensor>>>;
}

/** True after so many steps in all, false when Ctrl-C was pressed. */
async function train(parts: Parts, steps: number, run: Run): Promise<boolean> {
  const { model, optimizer, loader } = parts,
    { epoch, step: within } = standing(loader);
  let step = (epoch - 1) * loader.length + within;
  const progress = new Progress("training", steps, step);
  while (step < steps)
    for (const { input, target } of loader) {
      let read: Promise<number>;
      {
        using _scope = newDisposeScope("training step");
        const logits = model.call(input); // [B, T, V]
        const loss = F.crossEntropy(logits.reshape(target.size, -1), target.reshape(-1));
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        read = loss.item();
      }
      const loss = await read;
      progress.show(++step, `loss ${loss.toFixed(3)}`);
      if (await run.paused(parts)) return false;
      if (step >= steps) break;
    }
  return true;
}

/**
 * Continues `start` by `length` characters, drawn from the model's distribution sharpened by
 * `temperature`.
 */
async function sample(
  model: GPT,
  alphabet: Alphabet,
  start: string,
  length: number,
  temperature: number,
  random: () => number,
): Promise<string> {
  let out = start;
  for (let i = 0; i < length; i++) {
    // Always a full window, padded in front, so that every character runs the same plan.
    const window = alphabet.encode(out.slice(-size.context).padStart(size.context, "\n"));
    let read: Promise<ArrayLike<number>>;
    {
      using _scope = newDisposeScope("sampling step");
      read = noGrad(() =>
        model
          .call(tensor(window, { shape: [1, size.context] }))
          .slice(1, -1)
          .div(temperature)
          .softmax(-1)
          .data(),
      );
    }
    const probabilities = await read;
    let rest = random(),
      pick = 0;
    while (pick < probabilities.length - 1 && (rest -= probabilities[pick]!) > 0) pick++;
    out += alphabet.characters[pick];
  }
  return out;
}

async function work({ steps, batch, seed, tell }: Values<typeof options>, run: Run): Promise<void> {
  manualSeed(seed);
  const text = tales(60_000, seed),
    alphabet = new Alphabet(text);
  console.log(
    `a GPT of ${size.blocks} blocks, ${size.channels} channels, on ${text.length} characters ` +
      "of tales",
  );
  using model = new GPT({ ...size, vocabulary: alphabet.characters.length });
  using optimizer = new AdamW(model.parameters(), { lr: 3e-3, betas: [0.9, 0.99] });
  using loader = new DataLoader(windows(alphabet.encode(text), size.context), {
    batchSize: batch,
    shuffle: true,
    seed,
    dropLast: true,
  });
  const parts = { model, optimizer, loader };
  run.begin(parts);
  if (!(await train(parts, steps, run))) return;
  await run.finish(model);
  const tale = (await sample(model, alphabet, "\n", tell, 0.6, randomFrom(seed + 1))).trim();
  const spelled = tale.split(/[\s.]+/).slice(0, -1),
    known = spelled.filter((w) => words.has(w)).length;
  console.log(`\n${tale}\n\n${known} of ${spelled.length} words exist`);
}

await runExample(command, async (options, run) => {
  await memory.assertNoLeaks(() => work(options, run));
  if (!run.stopped) console.log("0 tensors leaked");
  return true;
});
