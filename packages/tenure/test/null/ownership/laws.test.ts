// node: --expose-gc
/**
 * The laws of ownership, checked after every step of random programs against a model that knows
 * nothing but sets.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import {
  type DisposeScope,
  type Tensor,
  currentDisposeScope,
  memory,
  newDisposeScope,
  noGrad,
  scoped,
  scopedAsync,
  zeros,
} from "tenure";
import { HANDLE } from "../../../src/ownership/handle.ts";
import { runtime } from "../../../src/runtime/runtime.ts";
import type { Storage } from "../../../src/runtime/storage.ts";
import { setup, takeWarnings } from "./harness.ts";

const test = suite("laws of ownership");
test.before(setup);
test.after.each(() => {
  assert.is(currentDisposeScope(), null);
  takeWarnings();
});

type Step =
  | {
      readonly kind:
        | "create"
        | "alias"
        | "op"
        | "inplace"
        | "dispose"
        | "moveToOuter"
        | "climb"
        | "detach"
        | "read";
      readonly at: number;
    }
  | {
      readonly kind: "attach" | "moveTo" | "carry" | "disposeBut";
      readonly at: number;
      readonly to: number;
    }
  | { readonly kind: "throw" }
  | { readonly kind: "await" }
  | {
      readonly kind: "scope" | "scoped" | "async" | "segment";
      readonly body: readonly Step[];
      readonly at: number;
    };

const index = fc.nat({ max: 1000 });
const { steps } = fc.letrec<{ steps: Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie("step"), { maxLength: 9, depthIdentifier: "body" }),
  step: fc.oneof(
    { depthIdentifier: "body", maxDepth: 4, withCrossShrink: true },
    {
      weight: 12,
      arbitrary: fc.record({
        kind: fc.constantFrom(
          "create",
          "create",
          "alias",
          "op",
          "inplace",
          "dispose",
          "moveToOuter",
          "climb",
          "detach",
          "read" as const,
        ),
        at: index,
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constantFrom("attach", "moveTo", "carry", "disposeBut" as const),
        at: index,
        to: index,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constantFrom("throw", "await", "await" as const) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constantFrom("scope", "scoped", "async", "segment" as const),
        body: tie("steps"),
        at: index,
      }),
    },
  ),
}));

class Thrown extends Error {}

/** What ought to be: every tensor has one owner (a scope, or nobody) until it is dead. */
class Model {
  readonly tensors: Tensor[] = [];
  readonly owner = new Map<Tensor, DisposeScope | null>();
  readonly scopes: {
    readonly scope: DisposeScope;
    readonly outer: DisposeScope | null;
    open: boolean;
  }[] = [];
  readonly reads: Promise<unknown>[] = [];
  created = 0;
  disposed = 0;
  readonly start = memory.stats();

  add(t: Tensor, scope: DisposeScope | null): Tensor {
    this.created++;
    this.tensors.push(t);
    this.owner.set(t, scope);
    return t;
  }
  pick(at: number): Tensor | undefined {
    const alive = [...this.owner.keys()];
    return alive[at % alive.length];
  }
  kill(t: Tensor): void {
    if (this.owner.delete(t)) this.disposed++;
  }
  membersOf(scope: DisposeScope): Tensor[] {
    return [...this.owner].filter(([, s]) => s === scope).map(([t]) => t);
  }
  end(scope: DisposeScope): void {
    for (const t of this.membersOf(scope)) this.kill(t);
    this.scopes.find((s) => s.scope === scope)!.open = false;
  }
  outerOf(scope: DisposeScope): DisposeScope | null {
    return this.scopes.find((s) => s.scope === scope)!.outer;
  }
  openScope(at: number): DisposeScope | undefined {
    const open = this.scopes.filter((s) => s.open);
    return open[at % open.length]?.scope;
  }

  /** The laws, now. */
  check(): void {
    memory.verify();
    const { tensor } = memory.stats(),
      was = this.start.tensor;
    const created =
      tensor.createdInScopeCount +
      tensor.createdOutsideScopeCount -
      was.createdInScopeCount -
      was.createdOutsideScopeCount;
    const disposed =
      tensor.disposedInScopeCount +
      tensor.disposedOutsideScopeCount -
      was.disposedInScopeCount -
      was.disposedOutsideScopeCount;
    assert.equal(
      [
        created,
        disposed,
        tensor.threadTotalLiveCount - was.threadTotalLiveCount,
        tensor.finalized - was.finalized,
      ],
      [this.created, this.disposed, this.owner.size, 0],
      "conservation of handles",
    );
    for (const t of this.tensors)
      assert.is(t.isDisposed, !this.owner.has(t), "alive exactly when the model says so");
    for (const { scope, open } of this.scopes) {
      assert.is(scope.disposed, !open);
      const members = this.membersOf(scope);
      assert.is(scope.count, members.length, "a scope owns what the model says");
      for (const t of members) assert.ok(scope.contains(t));
    }
    const storages = new Map<Storage, number>();
    for (const [t, scope] of this.owner) {
      const owners = this.scopes.filter((s) => s.scope.contains(t));
      assert.equal(
        owners.map((s) => s.scope),
        scope === null ? [] : [scope],
        "one owner",
      );
      const { storage } = t[HANDLE];
      storages.set(storage, (storages.get(storage) ?? 0) + 1);
    }
    let bytes = 0;
    for (const [storage, handles] of storages) {
      bytes += storage.bytes;
      assert.is(
        storage.refs,
        handles + runtime().reads.pinning(storage),
        "a storage's count is its handles and pins",
      );
    }
    const now = memory.stats(),
      pinned = now.storages - this.start.storages - storages.size;
    assert.ok(pinned >= 0 && pinned <= this.reads.length, "conservation of storages");
    if (pinned === 0)
      assert.is(now.liveBytes - this.start.liveBytes, bytes, "conservation of bytes");
  }
}

/** One leaf step. */
function act(m: Model, step: Exclude<Step, { body: unknown }>): void {
  const here = currentDisposeScope();
  if (step.kind === "throw") throw new Thrown("thrown");
  if (step.kind === "await") return;
  if (step.kind === "create") {
    m.add(zeros([1 + (step.at % 7)]), here);
    return;
  }
  const t = m.pick(step.at);
  if (t === undefined) return;
  const owner = m.owner.get(t)!;
  switch (step.kind) {
    case "alias":
      m.add(t.alias(), here);
      break;
    case "op":
      m.add(t.add(1), here);
      break;
    case "inplace":
      m.add(
        noGrad(() => t.mul_(2)),
        here,
      );
      break;
    case "dispose":
      t.dispose();
      m.kill(t);
      t.dispose();
      break;
    case "climb":
      t.moveToOuter();
      if (owner !== null) m.owner.set(t, m.outerOf(owner));
      break;
    case "read":
      m.reads.push(t.data());
      break;
    case "moveToOuter":
      if (owner === null) break;
      owner.moveToOuter(t);
      m.owner.set(t, m.outerOf(owner));
      break;
    case "detach":
      owner?.detach(t);
      m.owner.set(t, null);
      break;
    case "attach": {
      const to = m.openScope(step.to);
      if (to === undefined) break;
      assert.is(to.attach(t), t);
      m.owner.set(t, to);
      break;
    }
    case "moveTo": {
      const to = step.to % 4 === 0 ? null : (m.openScope(step.to) ?? null);
      if (owner === null) break;
      owner.moveTo(to, t);
      m.owner.set(t, to);
      break;
    }
    case "disposeBut": {
      const scope = m.openScope(step.to);
      if (scope === undefined) break;
      scope.disposeEverythingBut(t);
      for (const other of m.membersOf(scope)) if (other !== t) m.kill(other);
      break;
    }
    case "carry": {
      const next = m.pick(step.to)!;
      if (here === null) break;
      here.carry(t, next);
      if (next === t) break;
      m.owner.set(next, owner);
      m.kill(t);
      break;
    }
  }
}

/** A program without async parts. */
function runSync(m: Model, steps: readonly Step[]): void {
  for (const step of steps) {
    const ambient = currentDisposeScope();
    if (!("body" in step)) act(m, step);
    else if (step.kind === "scoped") {
      const outer = currentDisposeScope();
      let scope!: DisposeScope, result: Tensor | undefined;
      try {
        scoped((s) => {
          scope = s;
          m.scopes.push({ scope: s, outer, open: true });
          runSync(m, step.body);
          result = m.pick(step.at);
          return { result };
        });
        if (result !== undefined && m.owner.get(result) === scope) m.owner.set(result, outer);
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
      m.end(scope);
    } else if (step.kind === "segment" && m.openScope(step.at) !== undefined) {
      try {
        m.openScope(step.at)!.run(() => {
          runSync(m, step.body);
        });
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
    } else {
      let scope!: DisposeScope;
      try {
        using s = newDisposeScope();
        scope = s;
        m.scopes.push({ scope, outer: ambient, open: true });
        runSync(m, step.body);
      } catch (error) {
        if (!(error instanceof Thrown)) throw error;
      }
      m.end(scope);
    }
    assert.is(currentDisposeScope(), ambient, "the ambient scope is the same after any step");
    m.check();
  }
}

/**
 * The same with awaits: raw ones where scopedAsync made the scope, `scope.wait` where `using` did.
 */
async function runAsync(m: Model, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const ambient = currentDisposeScope();
    if (step.kind === "await") await Promise.resolve();
    else if (step.kind === "async") await runScopedAsync(m, step.body, step.at);
    else if (step.kind === "scope") await runWaiting(m, step.body);
    else runSync(m, [step]);
    assert.is(currentDisposeScope(), ambient, "the ambient scope is the same after any await");
    m.check();
  }
}

function runScopedAsync(m: Model, body: readonly Step[], at: number): Promise<void> {
  const ambient = currentDisposeScope();
  let scope!: DisposeScope, result: Tensor | undefined;
  const work = scopedAsync(async (s) => {
    scope = s;
    m.scopes.push({ scope: s, outer: ambient, open: true });
    await runAsync(m, body);
    result = m.pick(at);
    return [result];
  });
  assert.is(currentDisposeScope(), ambient, "the caller's ambient scope");
  return work.then(
    () => {
      if (result !== undefined && m.owner.get(result) === scope) m.owner.set(result, ambient);
      m.end(scope);
    },
    (error: unknown) => {
      m.end(scope);
      if (!(error instanceof Thrown)) throw error;
    },
  );
}

async function runWaiting(m: Model, body: readonly Step[]): Promise<void> {
  const outer = currentDisposeScope();
  let scope!: DisposeScope;
  try {
    using s = newDisposeScope();
    scope = s;
    m.scopes.push({ scope, outer, open: true });
    for (const step of body) {
      if (step.kind === "await") await s.wait(Promise.resolve());
      else if (step.kind === "async") await s.wait(runScopedAsync(m, step.body, step.at));
      else runSync(m, [step]);
      assert.is(currentDisposeScope(), s, "the scope is current again after wait");
      m.check();
    }
  } catch (error) {
    if (!(error instanceof Thrown)) throw error;
  }
  m.end(scope);
}

async function finish(m: Model): Promise<void> {
  for (const t of [...m.owner.keys()]) {
    t.dispose();
    m.kill(t);
  }
  await Promise.all(m.reads);
  m.reads.length = 0;
  m.check();
}

test("random programs of create, alias, op, in-place, scope, move, detach, dispose, throw", async () => {
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

test("with gradients on, every reference on every storage is a handle, a saved value, a gradient or a read", () => {
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
