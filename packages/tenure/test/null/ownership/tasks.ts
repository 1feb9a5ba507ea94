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

/** What happened in all tasks together. */
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
  const before = memory.stats();
  const tasks = new Tasks(asyncContext, random(seed));
  const worker = async (): Promise<void> => {
    while (tasks.started < count) await tasks.task(tasks.depth());
  };
  await Promise.all(Array.from({ length: together }, worker));
  const after = memory.stats();
  return {
    tasks: tasks.started,
    checks: tasks.checks,
    rejected: tasks.rejected,
    bad: tasks.bad,
    live: after.threadTotalLiveCount - before.threadTotalLiveCount,
    orphaned: after.orphaned - before.orphaned,
  };
}

/** Tasks under way, and what their checks found. */
class Tasks {
  readonly bad: string[] = [];
  checks = 0;
  rejected = 0;
  started = 0;
  readonly #asyncContext: boolean;
  readonly #next: () => number;

  constructor(asyncContext: boolean, next: () => number) {
    this.#asyncContext = asyncContext;
    this.#next = next;
  }

  /** How many tasks the next one nests. */
  depth(): number {
    return Math.floor(this.#next() * 3);
  }

  /** One task of a random kind; it may be rejected on purpose. */
  async task(depth: number): Promise<void> {
    this.started++;
    const ambient = currentDisposeScope();
    const work = this.#begin(depth);
    this.#check(
      currentDisposeScope() === ambient,
      "calling an async function changed the ambient scope",
    );
    try {
      await work;
    } catch (error) {
      if (!(error instanceof Expected)) throw error;
      this.rejected++;
    }
  }

  #begin(depth: number): Promise<void> {
    const r = this.#next();
    if (r < (this.#asyncContext ? 0.3 : 0.5)) return this.#usingAndWait(depth);
    if (r < (this.#asyncContext ? 0.6 : 1)) return this.#generator(depth);
    return this.#contextual(depth);
  }

  #check(good: boolean, what: string): void {
    this.checks++;
    if (!good && this.bad.length < 20) this.bad.push(what);
  }

  #pause(): Promise<void> {
    const r = this.#next();
    if (r < 0.05) return Promise.reject(new Expected("sleep"));
    if (r < 0.5) return Promise.resolve();
    return new Promise((resolve) => {
      setTimeout(resolve, r < 0.9 ? 0 : r * 3);
    });
  }

  /** Makes tensors and sees that they belong to `scope` and nobody else. */
  #make(scope: DisposeScope, mine: Tensor[], what: string): void {
    this.#check(currentDisposeScope() === scope, `${what}: another scope is current`);
    for (let n = 1 + Math.floor(this.#next() * 3); n > 0; n--) {
      const t = zeros([1]);
      this.#check(scope.contains(t), `${what}: a tensor is not in its scope`);
      mine.push(t);
    }
  }

  /** What a scope leaves behind: exactly `kept`. */
  #ended(
    scope: DisposeScope,
    mine: readonly Tensor[],
    kept: ReadonlySet<Tensor>,
    what: string,
  ): void {
    this.#check(scope.disposed && scope.count === 0, `${what}: the scope did not end`);
    for (const t of mine) {
      const fate = kept.has(t) ? "was lost" : "survived";
      this.#check(t.isDisposed !== kept.has(t), `${what}: a tensor ${fate}`);
    }
  }

  async #usingAndWait(depth: number): Promise<void> {
    const mine: Tensor[] = [];
    let scope!: DisposeScope;
    try {
      using s = newDisposeScope();
      scope = s;
      const outside = s.outer;
      this.#make(s, mine, "wait");
      for (let n = Math.floor(this.#next() * 3); n > 0; n--) {
        await s.wait(this.#pause());
        this.#make(s, mine, "wait, resumed");
        this.#check(s.outer === outside || outside?.disposed === true, "wait: another outer scope");
      }
      if (depth > 0) {
        await s.wait(this.task(depth - 1));
        this.#make(s, mine, "wait, after a nested task");
      }
      this.#segment();
    } finally {
      this.#ended(scope, mine, new Set(), "wait");
    }
  }

  async #generator(depth: number): Promise<void> {
    const scope = scoped(() => newDisposeScope().move());
    const mine: Tensor[] = [];
    try {
      await scope.go((s) => this.#steps(s, mine, depth));
    } finally {
      scope.dispose();
      this.#ended(scope, mine, new Set(), "go");
    }
  }

  *#steps(s: DisposeScope, mine: Tensor[], depth: number): Generator<unknown, void> {
    this.#make(s, mine, "go");
    yield this.#pause();
    this.#make(s, mine, "go, resumed");
    using inner = newDisposeScope();
    const own: Tensor[] = [];
    this.#make(inner, own, "go, inner");
    yield this.#pause();
    this.#make(inner, own, "go, inner resumed");
    if (depth > 0) yield this.task(depth - 1);
    this.#check(
      currentDisposeScope() === inner && own.every((t) => inner.contains(t)),
      "go: the inner scope was lost",
    );
  }

  async #contextual(depth: number): Promise<void> {
    const mine: Tensor[] = [];
    let scope!: DisposeScope;
    let kept: Tensor | null = null;
    try {
      kept = await scopedAsync(async (s) => {
        scope = s;
        this.#make(s, mine, "scopedAsync");
        await this.#pause();
        this.#make(s, mine, "scopedAsync, resumed");
        if (depth > 0) await Promise.all([this.task(depth - 1), this.#pause()]);
        this.#make(s, mine, "scopedAsync, after a nested task");
        this.#segment();
        await s.run(async () => {
          await this.#pause();
          this.#make(s, mine, "run");
        });
        return this.#next() < 0.5 ? mine[0]! : null;
      });
    } finally {
      this.#ended(scope, mine, new Set(kept === null ? [] : [kept]), "scopedAsync");
      kept?.dispose();
    }
  }

  /** A synchronous function that uses scopes as it likes. */
  #segment(): void {
    const ambient = currentDisposeScope();
    const t = scoped((s) => {
      const mine: Tensor[] = [];
      this.#make(s, mine, "scoped");
      return mine[0]!;
    });
    this.#check(currentDisposeScope() === ambient, "scoped: another ambient scope afterwards");
    t.dispose();
  }
}
