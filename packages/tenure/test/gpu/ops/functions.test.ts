/**
 * The functions composed from ops, with TF.js on the CPU as the oracle for values and gradients.
 * Both sides compute in float32: tolerances are 1e-4 of the largest sums, exact for what only moves
 * elements.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { newDisposeScope, tensor } from "tenure";
import { assertClose, gradcheck } from "tenure/testing";
import { count, numbers, setup } from "../../helpers.ts";
import { layerOracles } from "./oracles/layers.ts";
import { movingOracles } from "./oracles/moving.ts";
import type { Oracle } from "./oracles/oracle.ts";
import { reductionOracles } from "./oracles/reductions.ts";
import { tf } from "./oracles/tfjs.ts";

await setup();
const test = suite("functions against TF.js");

const weight = (i: number): number => Math.sin(1.3 * i + 0.2) + 1.1;

/** Values, and gradients of a weighted sum for every input. */
async function compare(
  label: string,
  { shapes, ours, theirs, rel = 1e-4, without }: Oracle,
): Promise<void> {
  const data = shapes.map((s, k) => numbers(count(s), 700 + k));
  const expected = tf.tidy(() => {
    const inputs = shapes.map((s, k) => tf.tensor(data[k]!, [...s])),
      value = theirs(...inputs),
      w = tf.tensor(
        Array.from({ length: value.size }, (_, i) => weight(i)),
        value.shape,
      );
    const grads =
      without === undefined
        ? tf.grads((...x: tf.Tensor[]) =>
            theirs(...x)
              .mul(w)
              .sum(),
          )(inputs)
        : [];
    return {
      shape: value.shape,
      value: [...value.dataSync()],
      grads: grads.map((g) => [...g.dataSync()]),
    };
  });
  const checks: Promise<unknown>[] = [];
  {
    using _ = newDisposeScope(label);
    const inputs = shapes.map((s, k) => tensor(data[k]!, { shape: s, requiresGrad: true })),
      value = ours(...inputs);
    assert.equal([...value.shape], expected.shape, label);
    checks.push(assertClose(value, expected.value, rel));
    value
      .mul(
        tensor(
          Array.from({ length: value.size }, (_x, i) => weight(i)),
          { shape: value.shape },
        ),
      )
      .sum()
      .backward();
    if (without === undefined)
      inputs.forEach((x, k) => checks.push(assertClose(x.grad!, expected.grads[k]!, rel)));
  }
  for (const r of await Promise.allSettled(checks))
    if (r.status === "rejected") throw new Error(`${label}: ${(r.reason as Error).message}`);
  if (without !== undefined)
    await gradcheck(
      ours,
      shapes.map((shape, k) => ({ shape, values: data[k]! })),
      { step: 2e-3, tolerance: 2e-2 },
    );
}

const oracles = { ...movingOracles, ...reductionOracles, ...layerOracles };
for (const [label, oracle] of Object.entries(oracles)) test(label, () => compare(label, oracle));

test.run();
