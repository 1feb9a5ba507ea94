/**
 * Updates that run side by side in one dispatch have the bits of updates that run alone, for every
 * rule, for sizes that are no multiple of four, for groups with numbers of their own, and beside
 * clipped gradients.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, memory, newDisposeScope, scopedAsync, sync, tensor } from "tenure";
import {
  Adagrad,
  Adam,
  AdamW,
  Lion,
  type Optimizer,
  RMSprop,
  SGD,
  clipGradNorm,
} from "tenure/optim";
import { assertNoLeaks } from "tenure/testing";
import { numbers, setup, unfused } from "../../helpers.ts";

await setup();
const test = suite("updates side by side");

/** One beyond what the invocations of a small launch do in one trip. */
const sizes = [1, 3, 4, 7, 64, 257, 40_001, 8];

type Groups = { readonly parameters: readonly Tensor[]; readonly lr?: number }[];

const rules: Readonly<Record<string, (parameters: Groups) => Optimizer>> = {
  SGD: (p) => new SGD(p, { lr: 0.1, weightDecay: 0.01 }),
  "SGD with momentum": (p) => new SGD(p, { lr: 0.1, momentum: 0.9, nesterov: true }),
  Adam: (p) => new Adam(p, { lr: 0.01 }),
  AMSGrad: (p) => new Adam(p, { lr: 0.01, amsgrad: true }),
  AdamW: (p) => new AdamW(p, { lr: 0.01, weightDecay: 0.1 }),
  RMSprop: (p) => new RMSprop(p, { lr: 0.01, momentum: 0.5, centered: true }),
  Adagrad: (p) => new Adagrad(p, { lr: 0.01 }),
  Lion: (p) => new Lion(p, { lr: 0.01 }),
};

/** Values of all parameters after some steps, and the dispatches of the last one. */
async function trained(
  rule: (parameters: Groups) => Optimizer,
  clip: boolean,
): Promise<{ values: number[][]; dispatches: number }> {
  using _ = newDisposeScope();
  const parameters = sizes.map((n, k) => tensor(numbers(n, k + 1), { requiresGrad: true }));
  const half = sizes.length >> 1;
  using optimizer = rule([
    { parameters: parameters.slice(0, half) },
    { parameters: parameters.slice(half), lr: 0.003 },
  ]);
  let dispatches = 0;
  for (let step = 0; step < 3; step++) {
    parameters.forEach((p, k) => (p.grad = tensor(numbers(sizes[k]!, 50 + 20 * step + k))));
    await sync();
    const before = memory.debug().dispatches;
    if (clip) clipGradNorm(parameters, 0.5).dispose();
    optimizer.step();
    await sync();
    dispatches = memory.debug().dispatches - before;
  }
  const values = await Promise.all(parameters.map((p: Tensor) => p.data()));
  return { values: values.map((v) => [...v]), dispatches };
}

for (const [name, rule] of Object.entries(rules)) {
  const clip = name === "Adam" || name === "SGD";
  test(`${name}${clip ? " of clipped gradients" : ""} has the bits of updates alone`, () =>
    assertNoLeaks(() =>
      scopedAsync(async () => {
        const together = await trained(rule, clip);
        const alone = await unfused(() => trained(rule, clip));
        assert.equal(together.values, alone.values);
        assert.ok(
          together.dispatches < alone.dispatches - sizes.length / 3,
          `${together.dispatches} dispatches of ${alone.dispatches}`,
        );
      }),
    ));
}

test.run();
