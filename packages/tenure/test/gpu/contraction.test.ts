/**
 * Chains of elementwise ops in one kernel against the same ops one by one, bit by bit. Compilers
 * may contract a product and a sum, or drop what cancels: they must not see where they could.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, scoped, sync, tensor } from "tenure";
import type { DeviceCaps } from "../../src/kernels/kernel.ts";
import { buildProgram } from "../../src/runtime/build-program.ts";
import { fused } from "../../src/runtime/fusion.ts";
import { lower } from "../../src/runtime/lower.ts";
import { runtime } from "../../src/runtime/runtime.ts";
import { everyKernel } from "../every-kernel.ts";
import { numbers, setup, unfused } from "../helpers.ts";

await setup();
const test = suite("contraction");

const bits = (v: Float32Array): string => new Uint32Array(v.buffer).join();

/** How often the one kernel of what `fn` records holds a value. */
function holds(adapter: Partial<DeviceCaps>, fn: () => Tensor): number {
  const { recorder, device } = runtime();
  if (device === null) throw new Error("expected a device");
  const caps: DeviceCaps = { ...device.caps, contracts: true, ...adapter };
  const mark = recorder.program.mark();
  using _kept = scoped(fn);
  const program = buildProgram(recorder.program, (bytes) => bytes);
  const { ops } = fused(recorder.program.ops, program, caps);
  assert.is(ops.length, 1);
  const text = lower(ops[0]!, caps, everyKernel).kernel.wgsl;
  recorder.program.rollback(mark);
  return text.replace(/^fn hold.*$/m, "").split("hold(").length - 1;
}

/** One op of a chain, of its value `p`, one from before and an input. */
const links: readonly ((p: Tensor, q: Tensor, x: Tensor) => Tensor)[] = [
  (p, q) => p.add(q),
  (p, _, x) => p.add(x),
  (p, _, x) => p.mul(x),
  (p, q) => p.mul(q),
  (p) => p.mul(0.3),
  (p) => p.add(0.7),
  (p, q) => q.sub(p),
  (p, _, x) => p.sub(x),
  (p) => p.neg(),
  (p) => p.square(),
  (p, _, x) => p.div(x),
  (p) => p.abs().sqrt(),
  (p) => p.abs().add(1).log(),
  (p) => p.clamp(-4, 4).exp(),
  (p) => p.relu(),
  (p) => p.abs().pow(0.5),
  (p) => p.reciprocal(),
];

test("random chains of sums, products and roots have the same bits", async () => {
  const x = numbers(64, 11, 0.5, 2),
    start = numbers(64, 12, -3, 3);
  type Link = readonly [kind: number, back: number];
  const run = async (all: readonly (readonly Link[])[]): Promise<Float32Array[]> => {
    const reads = scoped(() => {
      const input = tensor(x);
      return all.map((chain) => {
        const values = [tensor(start)];
        for (const [kind, back] of chain)
          values.push(links[kind]!(values.at(-1)!, values.at(-1 - (back % values.length))!, input));
        return values.at(-1)!.data();
      });
    });
    return (await Promise.all(reads)) as Float32Array[];
  };
  const chains = fc
    // sums and products twice as often as the rest
    .sample(fc.array(fc.tuple(fc.nat(links.length + 7), fc.nat(3)), { minLength: 4 }), {
      numRuns: 60,
      seed: 7,
    })
    .map((chain) => chain.map(([kind, back]): Link => [kind % links.length, back]));
  const one = await unfused(() => run(chains));
  const all = await run(chains);
  for (const [k, chain] of chains.entries())
    assert.is(bits(all[k]!), bits(one[k]!), JSON.stringify(chain));
});

test("a sum of sums and what a product takes pass values on, on software adapters", async () => {
  using x = tensor(numbers(64, 1, -1, 1)),
    y = tensor(numbers(64, 2, -1, 1));
  await sync();
  const sums = (): Tensor => x.add(y).add(1).add(y);
  const products = (): Tensor => x.mul(y).mul(2).mul(y);
  const software = { software: true };
  assert.is(holds(software, sums), 0);
  assert.is(holds(software, products), 0);
  assert.is(holds({ software: false }, sums), 2);
  assert.is(holds({ software: false }, products), 2);
  const mixed = (): Tensor => x.mul(y).add(y).mul(x);
  assert.is(holds(software, mixed), 1);
  assert.is(holds({ software: false }, mixed), 2);
  const cancels = (): Tensor => x.add(y).sub(y);
  assert.is(holds(software, cancels), 1);
});

test("a product and a sum pass values on where nothing is contracted", async () => {
  using x = tensor(numbers(64, 1, -1, 1)),
    y = tensor(numbers(64, 2, -1, 1));
  await sync();
  const swiftShader = { software: true, contracts: false };
  assert.is(
    holds(swiftShader, () => x.mul(y).add(y).mul(x)),
    0,
  );
  assert.is(
    holds(swiftShader, () => x.mul(y).add(x.mul(3))),
    2,
    "what two products have in common may be taken out",
  );
  assert.is(
    holds(swiftShader, () => x.mul(y).sub(y)),
    1,
  );
});

test("x - x is not taken for 0, which it is not where x is infinite", async () => {
  using x = tensor([Infinity, -Infinity, NaN, 2]);
  await sync();
  assert.is(
    holds({ software: true }, () => x.sub(x).relu()),
    2,
  );
  using y = scoped(() => x.sub(x).relu());
  assert.equal([...(await y.data())], [NaN, NaN, NaN, 0]);
});

test.run();
