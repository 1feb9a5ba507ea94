/**
 * Trains a small GPT on tales made by a grammar, then lets it tell some of its own and counts how
 * many of its words exist. The whole run is checked by `assertNoLeaks`. `node --import tsx
 * --conditions=tenure:source examples/char-transformer/main.ts [steps] [seed] [characters]`.
 */
import { init, manualSeed, memory, newDisposeScope, noGrad, tensor } from "tenure";
import { functional as F } from "tenure/nn";
import { AdamW } from "tenure/optim";
import { Progress } from "../progress.ts";
import { GPT } from "./model.ts";
import { randomFrom, tales, words } from "./text.ts";

const size = { context: 48, channels: 64, heads: 4, blocks: 2 } as const,
  batch = 16;
const [steps, seed, told] = [
  Number(process.argv[2] ?? 400),
  Number(process.argv[3] ?? 1),
  Number(process.argv[4] ?? 300),
];
if (![steps, seed, told].every(Number.isSafeInteger) || steps < 1 || seed < 0 || told < 1) {
  console.error(
    "char-transformer: expected a positive number of steps, a seed and a number of " +
      `characters to tell, got ${process.argv.slice(2).join(" ")}`,
  );
  process.exit(1);
}

const text = tales(60_000, seed),
  characters = [...new Set(text)].sort(),
  code = new Map(characters.map((c, i) => [c, i]));
const encoded = Int32Array.from(text, (c) => code.get(c)!);

/** One training step on random windows of the text; resolves to the loss. */
function step(model: GPT, optimizer: AdamW, random: () => number): Promise<number> {
  using _scope = newDisposeScope("training step");
  const starts = Array.from({ length: batch }, () =>
    Math.floor(random() * (encoded.length - size.context - 1)),
  );
  const windows = (shift: number): Int32Array =>
    Int32Array.from(
      starts.flatMap((s) => [...encoded.subarray(s + shift, s + shift + size.context)]),
    );
  const input = tensor(windows(0), { shape: [batch, size.context] }),
    target = tensor(windows(1));
  const loss = F.crossEntropy(model.call(input).reshape(-1, characters.length), target);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
  return loss.item();
}

/**
 * Continues `start` by `length` characters, drawn from the model's distribution sharpened by
 * `temperature`.
 */
async function sample(
  model: GPT,
  start: string,
  length: number,
  temperature: number,
  random: () => number,
): Promise<string> {
  let out = start;
  for (let i = 0; i < length; i++) {
    // Always a full window, padded in front, so that every character runs the same plan.
    const window = Array.from({ length: size.context }, (_, k) =>
      code.get(out[out.length - size.context + k] ?? "\n")!,
    );
    let read: Promise<ArrayLike<number>>;
    {
      using _scope = newDisposeScope("sampling step");
      read = noGrad(() =>
        model
          .call(tensor(Int32Array.from(window), { shape: [1, size.context] }))
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
    out += characters[pick]!;
  }
  return out;
}

async function run(): Promise<void> {
  using model = new GPT({ ...size, vocabulary: characters.length });
  using optimizer = new AdamW(model.parameters(), { lr: 3e-3, betas: [0.9, 0.99] });
  const random = randomFrom(seed + 1),
    progress = new Progress("training", steps);
  for (let i = 1; i <= steps; i++) {
    const loss = await step(model, optimizer, random);
    progress.show(i, `loss ${loss.toFixed(3)}`);
  }
  const tale = (await sample(model, "\n", told, 0.6, random)).trim();
  const spelled = tale.split(/[\s.]+/).slice(0, -1),
    known = spelled.filter((w) => words.has(w)).length;
  console.log(`\n${tale}\n\n${known} of ${spelled.length} words exist`);
}

await init();
manualSeed(seed);
console.log(
  `a GPT of ${size.blocks} blocks, ${size.channels} channels, on ${text.length} characters ` +
    "of tales",
);
await memory.assertNoLeaks(run);
console.log("0 tensors leaked");
