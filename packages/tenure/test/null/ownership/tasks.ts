/**
 * Thousands of interleaved asynchronous tasks that nest scopes, sleep, reject and check at every
 * step that what they made is theirs. Runs in Node and, bundled, in a browser: where the host has
 * no async context, tasks keep to `wait`, `go` and synchronous segments. Tests only.
 */
import {
  type DisposeScope,
  type Tensor,
  currentDisposeScope,
  memory,
  newDisposeScope,
  scoped,
  scopedAsync,
  zeros,
} from "tenure";

export interface TaskResult {
  readonly tasks: number;
  readonly checks: number;
  readonly rejected: number;
  /** What went wrong; the first few. */
  readonly bad: string[];
  readonly live: number;
  readonly orphaned: number;
}

/** A small generator of numbers, the same on every host. */
export function random(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
}

class Expected extends Error {}

/** Runs `count` tasks and a few more, nested ones included, some hundreds at a time. */
export async function runTasks(
  count: number,
  asyncContext: boolean,
  seed = 1,
  together = 500,
): Promise<TaskResult> {
  const next = random(seed),
    bad: string[] = [];
  const before = memory.stats();
  let checks = 0,
    rejected = 0,
    started = 0;

  const check = (good: boolean, what: string): void => {
    checks++;
    if (!good && bad.length < 20) bad.push(what);
  };
  const pause = (): Promise<void> => {
    const r = next();
    if (r < 0.05) return Promise.reject(new Expected("sleep"));
    if (r < 0.5) return Promise.resolve();
    return new Promise((resolve) => {
      setTimeout(resolve, r < 0.9 ? 0 : r * 3);
    });
  };
  /** Makes tensors and sees that they belong to `scope` and nobody else. */
  const make = (scope: DisposeScope, mine: Tensor[], what: string): void => {
    check(currentDisposeScope() === scope, `${what}: another scope is current`);
    for (let n = 1 + Math.floor(next() * 3); n > 0; n--) {
      const t = zeros([1]);
      check(scope.contains(t), `${what}: a tensor is not in its scope`);
      mine.push(t);
    }
  };
  /** What a scope leaves behind: exactly `kept`. */
  const ended = (
    scope: DisposeScope,
    mine: readonly Tensor[],
    kept: ReadonlySet<Tensor>,
    what: string,
  ): void => {
    check(scope.disposed && scope.count === 0, `${what}: the scope did not end`);
    for (const t of mine)
      check(
        t.isDisposed !== kept.has(t),
        `${what}: a tensor ${kept.has(t) ? "was lost" : "survived"}`,
      );
  };

  async function usingAndWait(depth: number): Promise<void> {
    const mine: Tensor[] = [];
    let scope!: DisposeScope;
    try {
      using s = newDisposeScope();
      scope = s;
      const outside = s.outer;
      make(s, mine, "wait");
      for (let n = Math.floor(next() * 3); n > 0; n--) {
        await s.wait(pause());
        make(s, mine, "wait, resumed");
        check(s.outer === outside || outside?.disposed === true, "wait: another outer scope");
      }
      if (depth > 0) {
        await s.wait(task(depth - 1));
        make(s, mine, "wait, after a nested task");
      }
      segment();
    } finally {
      ended(scope, mine, new Set(), "wait");
    }
  }

  async function generator(depth: number): Promise<void> {
    const scope = scoped(() => newDisposeScope().move()),
      mine: Tensor[] = [];
    try {
      await scope.go(function* (s) {
        make(s, mine, "go");
        yield pause();
        make(s, mine, "go, resumed");
        using inner = newDisposeScope();
        const own: Tensor[] = [];
        make(inner, own, "go, inner");
        yield pause();
        make(inner, own, "go, inner resumed");
        if (depth > 0) yield task(depth - 1);
        check(
          currentDisposeScope() === inner && own.every((t) => inner.contains(t)),
          "go: the inner scope was lost",
        );
      });
    } finally {
      scope.dispose();
      ended(scope, mine, new Set(), "go");
    }
  }

  async function contextual(depth: number): Promise<void> {
    const mine: Tensor[] = [];
    let scope!: DisposeScope,
      kept: Tensor | null = null;
    try {
      kept = await scopedAsync(async (s) => {
        scope = s;
        make(s, mine, "scopedAsync");
        await pause();
        make(s, mine, "scopedAsync, resumed");
        if (depth > 0) await Promise.all([task(depth - 1), pause()]);
        make(s, mine, "scopedAsync, after a nested task");
        segment();
        await s.run(async () => {
          await pause();
          make(s, mine, "run");
        });
        return next() < 0.5 ? mine[0]! : null;
      });
    } finally {
      ended(scope, mine, new Set(kept === null ? [] : [kept]), "scopedAsync");
      kept?.dispose();
    }
  }

  /** A synchronous function that uses scopes as it likes. */
  function segment(): void {
    const ambient = currentDisposeScope();
    const t = scoped((s) => {
      const mine: Tensor[] = [];
      make(s, mine, "scoped");
      return mine[0]!;
    });
    check(currentDisposeScope() === ambient, "scoped: another ambient scope afterwards");
    t.dispose();
  }

  async function task(depth: number): Promise<void> {
    started++;
    const ambient = currentDisposeScope(),
      r = next();
    const work =
      r < (asyncContext ? 0.3 : 0.5)
        ? usingAndWait(depth)
        : r < (asyncContext ? 0.6 : 1)
          ? generator(depth)
          : contextual(depth);
    check(currentDisposeScope() === ambient, "calling an async function changed the ambient scope");
    try {
      await work;
    } catch (error) {
      if (!(error instanceof Expected)) throw error;
      rejected++;
    }
  }

  const worker = async (): Promise<void> => {
    while (started < count) await task(Math.floor(next() * 3));
  };
  await Promise.all(Array.from({ length: together }, worker));
  const after = memory.stats();
  return {
    tasks: started,
    checks,
    rejected,
    bad,
    live: after.threadTotalLiveCount - before.threadTotalLiveCount,
    orphaned: after.orphaned - before.orphaned,
  };
}
