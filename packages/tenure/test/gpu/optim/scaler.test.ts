/**
 * Loss scaling, in float32: gradients are divided again, steps with infinities are left out, and
 * the scale follows.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { TenureError, memory, scopedAsync, tensor } from "tenure";
import { Adam, GradScaler, SGD, clipGradNorm } from "tenure/optim";
import { assertClose } from "tenure/testing";
import { pattern, rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("loss scaling");
const { assertNoLeaks } = memory;

test("scaled gradients are divided again: the step is the plain one", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      const results: number[][] = [];
      for (const scaled of [false, true]) {
        const p = tensor([1, -2, 3], { requiresGrad: true });
        using optimizer = new SGD([p], { lr: 0.5 });
        using scaler = new GradScaler({ initialScale: 1024, enabled: scaled });
        const loss = p.square().sum();
        const big = scaler.scale(loss);
        await assertClose(big, 14 * scaler.currentScale);
        big.backward();
        assert.is(await scaler.step(optimizer), true);
        scaler.update();
        results.push([...(await p.data())]);
      }
      assert.equal(results[1], results[0]);
      assert.equal(results[0], [0, 0, 0]);
    }),
  ));

test("a step with an infinite gradient is left out and counted, and the scale follows", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      const p = tensor([1, 2], { requiresGrad: true }),
        q = tensor([5], { requiresGrad: true }),
        idle = tensor([7], { requiresGrad: true });
      using optimizer = new Adam([p, q, idle], { lr: 0.1 });
      using scaler = new GradScaler({ initialScale: 8, growthInterval: 2 });
      const scales: number[] = [],
        taken: boolean[] = [];
      for (const value of [1, Infinity, 1, NaN, 1, 1, 1]) {
        p.grad = tensor([1, 1]);
        q.grad = tensor([value]);
        taken.push(await scaler.step(optimizer));
        scaler.update();
        scales.push(scaler.currentScale);
      }
      assert.equal(taken, [true, false, true, false, true, true, true]);
      assert.equal(scales, [8, 4, 4, 2, 2, 4, 4]);
      assert.equal([scaler.takenSteps, scaler.skippedSteps, optimizer.steps], [5, 2, 5]);
      assert.ok((await q.data()).every(Number.isFinite));
      assert.equal([...(await idle.data())], [7]);
      const copied = new GradScaler();
      copied.loadStateDict(
        JSON.parse(JSON.stringify(scaler.stateDict())) as ReturnType<GradScaler["stateDict"]>,
      );
      assert.equal(copied.stateDict(), { scale: 4, growthTracker: 1, taken: 5, skipped: 2 });
      await rejects(
        () => copied.loadStateDict({ ...scaler.stateDict(), scale: NaN }),
        TenureError,
        /^GradScaler: expected a scale/,
      );
      await rejects(
        () => copied.loadStateDict({ ...scaler.stateDict(), taken: -1 }),
        TenureError,
        /taken/,
      );
    }),
  ));

test("gradients are unscaled once; options are checked", () =>
  assertNoLeaks(() =>
    scopedAsync(async () => {
      const p = tensor([3, 4], { requiresGrad: true });
      using optimizer = new SGD([p], { lr: 1 });
      using scaler = new GradScaler({ initialScale: 16 });
      scaler.scale(p.square().sum()).backward();
      scaler.unscale(optimizer);
      await assertClose(p.grad!, [6, 8]);
      await rejects(
        () => scaler.unscale(optimizer),
        TenureError,
        pattern`^GradScaler: expected gradients that are still scaled, got ones that unscale\(\)
          has divided`,
      );
      await assertClose(clipGradNorm([p], 5), 10);
      await scaler.step(optimizer);
      await assertClose(p, [0, 0], 1e-5);
      for (const options of [
        { initialScale: 0 },
        { growthFactor: 0.5 },
        { backoffFactor: 1 },
        { growthInterval: 0 },
        { enabled: 1 },
        { scale: 3 },
      ])
        await rejects(() => new GradScaler(options as never), TenureError, /^GradScaler: /);
    }),
  ));

test.run();
