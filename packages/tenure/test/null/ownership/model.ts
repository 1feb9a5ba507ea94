/**
 * Random programs of scopes and tensors, and a model of what they ought to own that knows nothing
 * but sets. Used by the laws of ownership. Tests only.
 */
import fc from "fast-check";
import * as assert from "uvu/assert";
import { type DisposeScope, type Tensor, memory } from "tenure";
import { HANDLE } from "../../../src/ownership/handle.ts";
import { runtime } from "../../../src/runtime/runtime.ts";
import type { Storage } from "../../../src/runtime/storage.ts";

/** A step of a random program. */
export type Step =
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

/** Picks something from a list of any length. */
export const index = fc.nat({ max: 1000 });
/** Programs, nested a few levels deep. */
export const { steps } = fc.letrec<{ steps: Step[]; step: Step }>((tie) => ({
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

/** What programs throw on purpose. */
export class Thrown extends Error {}

/** What ought to be: every tensor has one owner (a scope, or nobody) until it is dead. */
export class Model {
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
