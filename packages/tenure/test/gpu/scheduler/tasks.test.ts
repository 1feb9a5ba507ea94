/**
 * Tasks beside each other while a step of a scheduler is under way: what others record is theirs,
 * whether the step runs or throws, and steps wait for each other.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  TenureError,
  type Tensor,
  memory,
  newDisposeScope,
  noGrad,
  sync,
  tensor,
  zeros,
} from "tenure";
import { Linear } from "tenure/nn";
import { SGD } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";
import { gate, rejects, setup } from "../../helpers.ts";

const test = suite("tasks beside a step");
test.before(async () => {
  await setup();
});

const numbersOf = async (t: Tensor): Promise<number[]> => [...(await t.data())];

test("what others record, in place too, stays when the step throws", async () => {
  using scheduler = new Scheduler();
  using counter = tensor([0]);
  using inStep = tensor([5]);
  await sync();
  const begun = gate();
  const end = gate();
  const step = scheduler.step(async () => {
    inStep.add_(1);
    begun.open();
    await end.passed;
    inStep.mul_(10);
    throw new Error("mine");
  });
  await begun.passed;
  counter.add_(1).dispose();
  using made = counter.mul(7);
  using unused = tensor([3]);
  end.open();
  await rejects(() => step, Error, /^mine$/);
  assert.equal(await numbersOf(counter), [1]);
  assert.equal(await numbersOf(made), [7]);
  assert.equal(await numbersOf(unused), [3]);
  assert.equal(await numbersOf(inStep), [5]);
});

test("others read and go on while the step waits", async () => {
  using scheduler = new Scheduler();
  using shared = tensor([2, 3]);
  const begun = gate();
  const end = gate();
  const step = scheduler.step(async () => {
    const y = shared.mul(2);
    begun.open();
    await end.passed;
    return y.add(1);
  });
  await begun.passed;
  using other = tensor([1, 2]);
  using sum = other.add(1);
  assert.equal(await numbersOf(sum), [2, 3]);
  await sync();
  end.open();
  using out = await step;
  assert.equal(await numbersOf(out), [5, 7]);
});

test("what others do with tensors the step writes comes after it", async () => {
  for (const fails of [false, true]) {
    using scheduler = new Scheduler();
    using weight = tensor([1]);
    using read = tensor([4]);
    await sync();
    const begun = gate();
    const end = gate();
    const step = scheduler.step(async () => {
      weight.add_(read); // 5
      begun.open();
      await end.passed;
      weight.mul_(2); // 10
      if (fails) throw new Error("mine");
    });
    await begun.passed;
    using seen = weight.mul(100);
    const direct = weight.data();
    read.fill_(9).dispose(); // overwrites what the step has read
    weight.add_(read).dispose();
    end.open();
    if (fails) await rejects(() => step, Error, /^mine$/);
    else await step;
    const after = fails ? 1 : 10;
    assert.equal([...(await direct)], [after]);
    assert.equal(await numbersOf(seen), [100 * after]);
    assert.equal(await numbersOf(read), [9]);
    assert.equal(await numbersOf(weight), [after + 9]);
  }
});

test("what others have recorded is there when the step needs it", async () => {
  using scheduler = new Scheduler();
  using x = tensor([1]);
  using y = tensor([10]);
  await sync();
  const begun = gate();
  const end = gate();
  const step = scheduler.step(async () => {
    const first = y.add(1);
    begun.open();
    await end.passed;
    x.add_(1);
    return x.add(first); // (1 + 5 + 1) + 11
  });
  await begun.passed;
  using before = x.mul(3);
  x.add_(5).dispose();
  end.open();
  using out = await step;
  assert.equal(await numbersOf(out), [18]);
  assert.equal(await numbersOf(before), [3]);
});

test("a step cannot use what others make of what it has not finished", async () => {
  using scheduler = new Scheduler();
  using weight = tensor([1]);
  await sync();
  const begun = gate();
  const end = gate();
  const theirs: Tensor[] = [];
  const step = scheduler.step(async () => {
    weight.add_(1);
    begun.open();
    await end.passed;
    return weight.add(theirs[0] as Tensor);
  });
  await begun.passed;
  using made = weight.mul(2);
  theirs.push(made);
  end.open();
  await rejects(() => step, TenureError, /add: expected tensors from before the step/);
  assert.equal(await numbersOf(made), [2]);
});

test("what others make of the results of a step that throws says so", async () => {
  using scheduler = new Scheduler();
  using kept = tensor([1]);
  await sync();
  const begun = gate();
  const end = gate();
  let inner: Tensor | undefined;
  const step = scheduler.step(async () => {
    inner = kept.mul(2);
    begun.open();
    await end.passed;
    throw new Error("mine");
  });
  await begun.passed;
  using made = (inner as Tensor).add(1);
  using own = kept.add(1);
  end.open();
  await rejects(() => step, Error, /^mine$/);
  await rejects(() => made.data(), TenureError, /made in a step that threw/);
  assert.equal(await numbersOf(own), [2]);
});

test("steps of two schedulers and of two tasks wait for each other", async () => {
  using a = new Scheduler({ budgetBytes: 100_000 });
  using b = new Scheduler();
  using x = tensor([1]);
  const order: string[] = [];
  const task = async (name: string, scheduler: Scheduler, fails: boolean): Promise<void> => {
    for (let k = 0; k < 3; k++) {
      await scheduler.step(async () => {
        order.push(name);
        x.add_(1);
        await new Promise((resolve) => setTimeout(resolve, 1));
        if (fails) throw new Error("mine");
        x.add_(1);
        order.push(name);
      });
    }
  };
  const results = await Promise.allSettled([
    task("a", a, false),
    task("b", b, false),
    task("c", a, false),
    task("d", b, true),
  ]);
  assert.is(results.filter(({ status }) => status === "rejected").length, 1);
  assert.equal(await numbersOf(x), [19]);
  const done = order.filter((name) => name !== "d");
  for (let k = 0; k < done.length; k += 2) assert.is(done[k], done[k + 1], order.join(""));
});

test("a step inside another is an error, also after an await", async () => {
  using a = new Scheduler();
  using b = new Scheduler();
  using x = tensor([1]);
  await rejects(
    () =>
      a.step(async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return b.step(() => x.add(1));
      }),
    TenureError,
    /expected no step inside another/,
  );
  (await a.step(() => x.add(1))).dispose();
});

test("a step owns what it records in scopes from outside", async () => {
  using scheduler = new Scheduler();
  using outside = newDisposeScope({ name: "outside", root: true });
  using x = tensor([1]);
  const step = scheduler.step(async () => {
    await Promise.resolve();
    const y = outside.enter(() => x.add(1));
    return y.mul(2);
  });
  using out = await step;
  assert.equal(await numbersOf(out), [4]);
});

test("training beside inference computes what each computes alone", async () => {
  const train = async (beside: boolean): Promise<number[]> => {
    using model = new Linear(4, 4, { bias: false });
    noGrad(() => model.weight.fill_(0.5)).dispose();
    using optimizer = new SGD(model.parameters(), { lr: 0.125 });
    using scheduler = new Scheduler();
    using x = tensor([[1, 2, 3, 4]]);
    let training = true;
    const infer = async (): Promise<void> => {
      using other = new Linear(4, 2);
      using input = zeros([1, 4]);
      while (training) {
        using _ = newDisposeScope();
        const own = other.call(input).data();
        const shared = model.call(x).data();
        _.dispose();
        await Promise.all([own, shared]);
      }
    };
    const inference = beside ? infer() : Promise.resolve();
    for (let k = 0; k < 4; k++) {
      using loss = await scheduler.step(async () => {
        optimizer.zeroGrad();
        const out = model.call(x).square().mean();
        out.backward();
        await new Promise((resolve) => setTimeout(resolve, 2));
        optimizer.step();
        await new Promise((resolve) => setTimeout(resolve, 2));
        return out;
      });
      await loss.item();
    }
    training = false;
    await inference;
    return await numbersOf(model.weight);
  };
  assert.equal(await train(true), await train(false));
});

test("nothing leaks", () => {
  memory.verify();
});

test.run();
