/**
 * Random functions, compiled and not: values, gradients, what is updated in place, random draws and
 * live bytes are the same in every call.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type Tensor,
  compile,
  manualSeed,
  memory,
  newDisposeScope,
  noGrad,
  rand,
  tensor,
} from "tenure";
import { Random } from "../../../../reliability/random.ts";
import { setup } from "../../helpers.ts";

const test = suite("random compiled functions");
test.before(async () => {
  await setup();
});

/** One thing a random function does to one or two of its values. */
type Move = (a: Tensor, b: Tensor, state: Tensor) => Tensor;

const moves: readonly Move[] = [
  (a, b) => a.add(b),
  (a, b) => a.mul(b).mul(0.5),
  (a) => a.tanh(),
  (a) => a.transpose().mul(0.5),
  (a, b) => a.matmul(b).mul(0.25),
  (a) => a.sub(a.mean()),
  (a) => a.sum(0, true).expand(3, 3),
  (a) => a.add(rand([3, 3])),
  (a, _, state) => a.add(state),
  (a, _, state) => {
    noGrad(() => state.mul_(0.5).add_(a));
    return a.neg();
  },
  (a, b) => a.clone().sub_(b),
];

/** A function that makes some random moves, with a backward pass in most cases. */
function drawn(random: Random, leaf: Tensor, state: Tensor): (x: Tensor, y: Tensor) => Tensor[] {
  const steps = Array.from({ length: 2 + random.int(8) }, () => ({
    move: random.pick(moves),
    a: random.int(1000),
    b: random.int(1000),
  }));
  const learns = random.chance(0.7);
  const drops = random.chance(0.7);
  return (x, y) => {
    if (drops) leaf.grad = null;
    const values: Tensor[] = [x, y, leaf];
    for (const { move, a, b } of steps)
      values.push(move(values[a % values.length]!, values[b % values.length]!, state));
    const last = values.at(-1)!;
    if (learns && last.requiresGrad) last.square().mean().backward();
    return [last.detach().add(0), values[3]!.detach().mul(2)];
  };
}

/** What some calls give, and how many were repeated. */
async function run(seed: number, compiled: boolean): Promise<{ seen: unknown[]; replays: number }> {
  manualSeed(seed);
  using _scope = newDisposeScope({ root: true });
  const leaf = rand([3, 3], { requiresGrad: true });
  const state = rand([3, 3]);
  const plain = drawn(new Random(seed), leaf, state);
  using fast = compile(plain);
  const bytes = memory.stats().liveBytes;
  const seen: unknown[] = [];
  for (let call = 0; call < 5; call++) {
    const reads: Promise<ArrayLike<number>>[] = [];
    {
      using _call = newDisposeScope();
      const x = tensor([1, 2, 3, 4, 5, 6, 7, 8, 9].map((v) => (v + call) / 8)).reshape(3, 3);
      for (const t of (compiled ? fast : plain)(x, rand([3, 3]))) reads.push(t.data());
      reads.push(state.data(), rand([2]).data());
      if (leaf.hasGrad) reads.push(leaf.grad!.data());
    }
    for (const read of reads) seen.push(Array.from(await read));
    seen.push(memory.stats().liveBytes - bytes);
  }
  return { seen, replays: fast.report().replays };
}

test("twelve of them", async () => {
  let replays = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const [plain, fast] = [await run(seed, false), await run(seed, true)];
    assert.equal(fast.seen, plain.seen, `seed ${seed}`);
    replays += fast.replays;
  }
  assert.ok(replays >= 24, `only ${replays} calls were repeated`);
});

test.run();
