/**
 * Groups of parameters: hyperparameters of their own, and groups that are refused.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ArgumentError, GradError, scopedAsync, tensor } from "tenure";
import { Adam, SGD } from "tenure/optim";
import { assertClose } from "tenure/testing";
import { rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("groups");

test("groups have hyperparameters of their own", () =>
  scopedAsync(async () => {
    const a = tensor([1, 2], { requiresGrad: true }),
      b = tensor([3], { requiresGrad: true }),
      c = tensor([5], { requiresGrad: true });
    using optimizer = new SGD(
      [
        { parameters: [a], lr: 0.5 },
        { parameters: [b], weightDecay: 0.1 },
      ],
      { lr: 0.1 },
    );
    optimizer.addGroup({ parameters: [c], momentum: 0.9 });
    assert.equal(
      optimizer.groups.map((g) => [g.lr, g.weightDecay, g.momentum]),
      [
        [0.5, 0, 0],
        [0.1, 0.1, 0],
        [0.1, 0, 0.9],
      ],
    );
    assert.is(optimizer.lr, 0.5);
    a.grad = tensor([1, 1]);
    b.grad = tensor([1]);
    c.grad = tensor([1]);
    optimizer.step();
    await Promise.all([
      assertClose(a, [0.5, 1.5]),
      assertClose(b, [3 - 0.1 * 1.3]),
      assertClose(c, [4.9]),
    ]);
    optimizer.groups[1]!.lr = 1;
    a.grad = c.grad = null; // no gradient: no step, no count
    optimizer.step();
    await Promise.all([
      assertClose(a, [0.5, 1.5]),
      assertClose(b, [3 - 0.13 - (1 + 0.1 * (3 - 0.13))]),
      assertClose(c, [4.9]),
    ]);
    assert.equal(optimizer.stateDict().counts, [1, 2, 1]);
    optimizer.lr = 0.2;
    assert.equal(
      optimizer.groups.map((g) => g.lr),
      [0.2, 0.2, 0.2],
    );
  }));

test("groups that are refused", () =>
  scopedAsync(async () => {
    const a = tensor([1, 2], { requiresGrad: true });
    using optimizer = new SGD([a], { lr: 0.1 });
    await rejects(
      () => optimizer.addGroup({ parameters: [a] }),
      ArgumentError,
      /each parameter in one group/,
    );
    await rejects(
      () => optimizer.addGroup({ parameters: [tensor([1])] }),
      GradError,
      /requiresGrad/,
    );
    await rejects(
      () => new SGD([{ parameters: [] }], { lr: 1 }),
      ArgumentError,
      /at least one parameter in every group/,
    );
    await rejects(
      () => new SGD(3 as never, { lr: 1 }),
      ArgumentError,
      /^SGD: expected a list of parameters, or of groups, got 3; pass module\.parameters\(\)/,
    );
    await rejects(() => new SGD([3 as never], { lr: 1 }), ArgumentError, /pass module\.parameters/);
    await rejects(
      () => new Adam([a], { amsgrad: "yes" as never }),
      ArgumentError,
      /^Adam: expected amsgrad to be true or false, got "yes"/,
    );
    await rejects(
      () => new SGD([a], { lr: 1, maximize: 1 as never }),
      ArgumentError,
      /^SGD: expected maximize to be true or false, got 1/,
    );
    await rejects(
      () => new SGD([{ parameters: [a], lr: -1 }], { lr: 1 }),
      ArgumentError,
      /learning rate/,
    );
  }));

test.run();
