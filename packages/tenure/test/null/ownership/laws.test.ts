// node: --expose-gc
/**
 * The laws of ownership, checked after every step of random programs against a model that knows
 * nothing but sets.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, currentDisposeScope, memory, newDisposeScope, zeros } from "tenure";
import { setup, takeWarnings } from "./harness.ts";
import { Model, Thrown, index, steps } from "./model.ts";
import { finish, runAsync, runSync } from "./programs.ts";

const test = suite("laws of ownership");
test.before(setup);
test.after.each(() => {
  assert.is(currentDisposeScope(), null);
  takeWarnings();
});

test("random programs of create, alias, op, scope, move, detach, dispose, throw", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (program) => {
      const m = new Model();
      try {
        runSync(m, program);
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
      await finish(m);
    }),
    { numRuns: 600, seed: 1 },
  );
});

test("the same with awaits", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (program) => {
      const m = new Model();
      try {
        await runAsync(m, program);
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
      await finish(m);
      assert.equal(
        takeWarnings().filter((w) => w.includes("await")),
        [],
      );
    }),
    { numRuns: 400, seed: 2 },
  );
});

test("with gradients on, every reference on every storage is explained", () => {
  const kinds = fc.array(
    fc.record({
      kind: fc.constantFrom(
        "leaf",
        "exp",
        "mul",
        "reshape",
        "sum",
        "alias",
        "detach",
        "dispose",
        "backward",
        "clear" as const,
      ),
      at: index,
      to: index,
    }),
    { maxLength: 25 },
  );
  fc.assert(
    fc.property(kinds, (program) => {
      const before = memory.stats().storages;
      {
        using s = newDisposeScope();
        for (const { kind, at, to } of program) {
          const alive = s.tensors(),
            t = alive[at % alive.length],
            u = alive[to % alive.length];
          if (kind === "leaf" || t === undefined || u === undefined) {
            zeros([1], { requiresGrad: true });
            continue;
          }
          if (kind === "exp") t.exp();
          else if (kind === "mul") t.mul(u);
          else if (kind === "reshape") t.reshape(1, 1).reshape(1);
          else if (kind === "sum") t.sum().reshape(1);
          else if (kind === "alias") t.alias();
          else if (kind === "detach") t.detach();
          else if (kind === "dispose") t.dispose();
          else if (kind === "clear") {
            if (t.requiresGrad) t.grad = null;
          } else {
            try {
              t.backward(undefined, { retainGraph: to % 2 === 0 });
            } catch (error) {
              assert.is((error as Error).name, "GradError");
            }
          }
          for (const x of s.tensors())
            assert.equal(
              memory.why(x).filter((r) => r.kind === "unknown"),
              [],
            );
          memory.verify();
        }
      }
      assert.is(memory.stats().storages, before, "the graph is gone with its handles");
    }),
    { numRuns: 150, seed: 4 },
  );
});

test("whatever a disposer throws, a scope that ends leaves exactly what had left it", () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom("tensor", "defer", "throw", "moved", "detached" as const), {
        maxLength: 20,
      }),
      (entries) => {
        using outer = newDisposeScope();
        const s = newDisposeScope(),
          order: number[] = [],
          stay: Tensor[] = [],
          go: Tensor[] = [];
        entries.forEach((entry, i) => {
          if (entry === "tensor") stay.push(zeros([1]));
          else if (entry === "defer") s.defer(() => order.push(i));
          else if (entry === "throw")
            s.defer(() => {
              order.push(i);
              throw new Error(String(i));
            });
          else go.push(entry === "moved" ? s.moveToOuter(zeros([1])) : s.detach(zeros([1])));
        });
        let error: (Error & { error?: Error; suppressed?: Error }) | undefined;
        try {
          s.dispose();
        } catch (e) {
          error = e as Error;
        }
        const expected = entries
          .map((e, i) => [e, i] as const)
          .filter(([e]) => e === "defer" || e === "throw")
          .map(([, i]) => i)
          .reverse();
        assert.equal(order, expected);
        const thrown: string[] = [];
        for (let e = error; e !== undefined; e = e.suppressed) thrown.push((e.error ?? e).message);
        assert.equal(
          thrown,
          entries
            .map((e, i) => [e, i] as const)
            .filter(([e]) => e === "throw")
            .map(([, i]) => String(i)),
        );
        assert.ok(stay.every((t) => t.isDisposed) && go.every((t) => !t.isDisposed));
        assert.is(currentDisposeScope(), outer);
        for (const t of go) t.dispose();
        memory.verify();
      },
    ),
    { numRuns: 200, seed: 3 },
  );
});

test.run();
