/**
 * One random program: tasks beside each other, each in a scope of its own, that make tensors, look
 * at them through views, change them in place, move them between scopes, throw, differentiate, read
 * and run steps of a scheduler. Whatever is done to a tensor is done to its plain twin at the same
 * moment; every read must agree to the bit, every handle must be as alive as the model says. Used
 * by `main.ts`. All tensors belong to the tasks' scopes.
 */
import {
  DisposedError,
  type DisposeScope,
  type Tensor,
  TenureError,
  newDisposeScope,
  scopedAsync,
  tensor,
} from "tenure";
import { BudgetError, type Scheduler, type SchedulerReport } from "tenure/scheduler";
import type { Random } from "../random.ts";
import type { Coverage, Kind } from "./coverage.ts";
import { makeScheduler, randomArray, turn } from "./draw.ts";
import * as P from "./plain.ts";

/** A tensor and its twin. */
interface Twin {
  readonly real: Tensor;
  readonly plain: P.Plain;
}

/** Thrown on purpose. */
class Planned extends Error {}

/** Integers stay below this, so that float32 holds every sum exactly. */
const bound = 2 ** 18;
/** Values a task keeps at hand. */
const kept = 12;

/** Runs tasks beside each other. @returns what was wrong, empty when nothing was */
export async function runProgram(random: Random, coverage: Coverage): Promise<string[]> {
  const problems: string[] = [];
  const schedulers = Array.from({ length: random.int(3) }, () => makeScheduler(random, coverage));
  const count = random.pick([1, 2, 3] as const);
  coverage.count(count === 1 ? "program of 1 task" : `program of ${count} tasks`);
  const tasks = Array.from({ length: count }, (_, k) => {
    const scheduler = schedulers[k % Math.max(1, schedulers.length)];
    return new Task(random.fork(), problems, coverage, scheduler, count === 1);
  });
  const ends = await Promise.allSettled(tasks.map((task) => scopedAsync(() => task.run())));
  for (const end of ends)
    if (end.status === "rejected" && !(end.reason instanceof Planned))
      problems.push(`a task ended with ${String(end.reason).slice(0, 300)}`);
  for (const scheduler of schedulers) scheduler.dispose();
  return problems;
}

class Task {
  readonly #random: Random;
  readonly #problems: string[];
  readonly #coverage: Coverage;
  readonly #scheduler: Scheduler | undefined;
  /** Whether nobody else allocates while its steps run. */
  readonly #alone: boolean;
  #values: Twin[] = [];

  constructor(
    random: Random,
    problems: string[],
    coverage: Coverage,
    scheduler: Scheduler | undefined,
    alone: boolean,
  ) {
    this.#random = random;
    this.#problems = problems;
    this.#coverage = coverage;
    this.#alone = alone;
    this.#scheduler = scheduler;
  }

  async run(): Promise<void> {
    this.#create();
    const length = 3 + this.#random.int(14);
    for (let k = 0; k < length && this.#problems.length === 0; k++) await this.#statement();
    for (const value of this.#values) await this.#compare(value);
  }

  async #statement(): Promise<void> {
    const random = this.#random;
    switch (random.int(10)) {
      case 0:
        return this.#compare(random.pick(this.#values));
      case 1:
        return this.#scope();
      case 2:
        return this.#differentiate();
      case 3:
        return this.#step();
      case 4:
        return this.#dispose();
      case 5: {
        this.#count("turn of the event loop");
        await turn();
        return;
      }
      default:
        this.#op();
    }
  }

  #count(kind: Kind): void {
    this.#coverage.count(kind);
  }

  #keep(kind: Kind, real: Tensor, plain: P.Plain): Twin {
    this.#count(kind);
    const twin = { real, plain };
    this.#values.push(twin);
    if (this.#values.length > kept) this.#values.shift();
    return twin;
  }

  #create(): Twin {
    const { shape, values } = randomArray(this.#random);
    const real = tensor(Float32Array.from(values), { shape });
    return this.#keep("made from numbers", real, P.plain(values, shape));
  }

  /** One op on values at hand, recorded in the current scope. */
  #op(): void {
    const random = this.#random;
    const x = random.pick(this.#values);
    switch (random.int(8)) {
      case 0:
        this.#create();
        return;
      case 1:
      case 2:
        this.#binary(x, random.pick(this.#values));
        return;
      case 3:
        this.#view(x);
        return;
      case 4:
        this.#inPlace(x);
        return;
      case 5:
        if (random.chance(0.5)) this.#keep("neg", x.real.neg(), P.neg(x.plain));
        else this.#keep("relu", x.real.relu(), P.relu(x.plain));
        return;
      case 6:
        this.#keep("alias", x.real.alias(), x.plain);
        return;
      default:
        this.#reduce(x, random.pick(this.#values));
    }
  }

  #binary(x: Twin, y: Twin): void {
    if (P.broadcastShape(x.plain.shape, y.plain.shape) === null) return;
    if (String(x.plain.shape) !== String(y.plain.shape)) this.#count("broadcast");
    switch (this.#random.int(3)) {
      case 0:
        if (x.plain.bound() + y.plain.bound() < bound)
          this.#keep("add", x.real.add(y.real), P.add(x.plain, y.plain));
        return;
      case 1:
        if (x.plain.bound() + y.plain.bound() < bound)
          this.#keep("sub", x.real.sub(y.real), P.sub(x.plain, y.plain));
        return;
      default:
        if (x.plain.bound() * y.plain.bound() < bound)
          this.#keep("mul", x.real.mul(y.real), P.mul(x.plain, y.plain));
    }
  }

  #view({ real, plain }: Twin): void {
    const random = this.#random;
    const rank = plain.shape.length;
    if (rank === 0) return;
    const axis = random.int(rank);
    const dim = plain.shape[axis] ?? 0;
    switch (random.int(3)) {
      case 0: {
        const other = random.int(rank);
        this.#keep("transpose", real.transpose(axis, other), P.transpose(plain, axis, other));
        return;
      }
      case 1: {
        const start = random.int(dim);
        const end = start + 1 + random.int(dim - start);
        this.#keep("slice", real.slice(axis, start, end), P.slice(plain, axis, start, end));
        return;
      }
      default:
        if (plain.isContiguous)
          this.#keep("reshape", real.reshape(plain.size), P.reshape(plain, [plain.size]));
    }
  }

  #inPlace({ real, plain }: Twin): void {
    const random = this.#random;
    const other = random.pick(this.#values);
    const shape = P.broadcastShape(plain.shape, other.plain.shape);
    const fits = shape !== null && String(shape) === String(plain.shape);
    switch (random.int(3)) {
      case 0: {
        const value = random.int(9) - 4;
        this.#count("fill_");
        real.fill_(value);
        P.write(
          plain,
          plain.values().map(() => value),
        );
        return;
      }
      case 1:
        if (!fits || plain.bound() + other.plain.bound() >= bound) return;
        this.#count("add_");
        real.add_(other.real);
        P.write(plain, P.add(plain, other.plain).values());
        return;
      default:
        if (!fits || plain.bound() * other.plain.bound() >= bound) return;
        this.#count("mul_");
        real.mul_(other.real);
        P.write(plain, P.mul(plain, other.plain).values());
    }
  }

  #reduce(x: Twin, y: Twin): void {
    const [rows, inner] = x.plain.shape;
    const product = x.plain.shape.length === 2 && y.plain.shape.length === 2;
    if (product && inner === y.plain.shape[0] && rows !== undefined) {
      if (x.plain.bound() * y.plain.bound() * (inner ?? 1) < bound)
        this.#keep("matmul", x.real.matmul(y.real), P.matmul(x.plain, y.plain));
      return;
    }
    const rank = x.plain.shape.length;
    if (rank === 0 || x.plain.bound() * x.plain.size >= bound) return;
    const axis = this.#random.int(rank);
    this.#keep("sum", x.real.sum(axis), P.sum(x.plain, axis));
  }

  async #compare({ real, plain }: Twin): Promise<void> {
    // What is read is what it is now, whatever happens before the bytes arrive.
    const wanted = plain.values();
    this.#count(plain.isContiguous ? "read" : "read of a view");
    const got = [...(await real.data())];
    if (wanted.some((v, k) => v !== got[k] && !(v === 0 && got[k] === 0)))
      this.#problems.push(`read [${got.join()}] where [${wanted.join()}] was meant`);
  }

  // === Scopes ===

  /** A nested scope: some values leave it, others end with it; sometimes a throw leaves it. */
  #scope(): void {
    const random = this.#random;
    const before = [...this.#values];
    const moved: Twin[] = [];
    let made: Twin[] = [];
    const fails = random.chance(0.2);
    this.#count(fails ? "scope left by a throw" : "scope");
    try {
      using scope = newDisposeScope("nested");
      made = this.#ops(before);
      for (const twin of made) if (random.chance(0.4)) this.#moveOut(scope, twin, moved);
      if (fails) throw new Planned();
    } catch (error) {
      if (!(error instanceof Planned)) throw error;
    }
    for (const twin of made)
      if (twin.real.isDisposed === moved.includes(twin))
        this.#problems.push(`a tensor that ${moved.includes(twin) ? "was" : "was not"} moved out`);
    this.#values = [...before, ...moved].slice(-kept);
  }

  /** A few ops. @returns the values they made */
  #ops(before: readonly Twin[]): Twin[] {
    const made = new Set<Twin>();
    const count = 1 + this.#random.int(5);
    for (let k = 0; k < count; k++) {
      this.#op();
      for (const twin of this.#values) if (!before.includes(twin)) made.add(twin);
    }
    return [...made];
  }

  #moveOut(scope: DisposeScope, twin: Twin, moved: Twin[]): void {
    this.#count("moved out of a scope");
    scope.moveToOuter(twin.real);
    moved.push(twin);
  }

  #dispose(): void {
    if (this.#values.length < 3) return;
    const at = this.#random.int(this.#values.length);
    const [twin] = this.#values.splice(at, 1);
    if (twin === undefined) return;
    this.#count("dispose");
    twin.real.dispose();
    try {
      twin.real.neg();
      this.#problems.push("a disposed tensor could be used");
    } catch (error) {
      if (!(error instanceof DisposedError)) throw error;
    }
  }

  // === Gradients ===

  async #differentiate(): Promise<void> {
    let compared: Promise<void> | undefined;
    {
      using _ = newDisposeScope("gradients");
      const gradient = this.#gradient(1 + this.#random.int(4));
      if (gradient !== null) compared = this.#compare(gradient);
    }
    await compared;
  }

  /** The gradient of a random expression at a fresh leaf; null where numbers grow too large. */
  #gradient(depth: number): Twin | null {
    const { shape, values } = randomArray(this.#random);
    const real = tensor(Float32Array.from(values), { shape, requiresGrad: true });
    const twin = { real, plain: P.leaf(values, shape) };
    const total = total1(this.#expression(twin, depth));
    if (total.plain.pull === null || total.plain.bound() >= bound) return null;
    total.real.backward();
    total.plain.pull(P.plain([1], []));
    const { grad } = real;
    const gradient = twin.plain.gradient;
    if (grad === null || gradient === null) {
      if ((grad === null) !== (gradient === null)) this.#problems.push("a gradient is missing");
      return null;
    }
    this.#count("gradient");
    return gradient.bound() < bound ? { real: grad, plain: gradient } : null;
  }

  #expression(leaf: Twin, depth: number): Twin {
    let x = leaf;
    for (let k = 0; k < depth; k++) {
      const next = this.#differentiable(x, leaf);
      if (next.plain.bound() * next.plain.size < 2 ** 12) x = next;
    }
    return x;
  }

  #differentiable(x: Twin, leaf: Twin): Twin {
    const random = this.#random;
    const rank = x.plain.shape.length;
    const other = P.broadcastShape(x.plain.shape, leaf.plain.shape) === null ? x : leaf;
    switch (random.int(rank > 0 ? 7 : 5)) {
      case 0:
        return { real: x.real.add(other.real), plain: P.add(x.plain, other.plain) };
      case 1:
        return { real: x.real.sub(other.real), plain: P.sub(x.plain, other.plain) };
      case 2:
        return { real: x.real.mul(other.real), plain: P.mul(x.plain, other.plain) };
      case 3:
        return { real: x.real.relu(), plain: P.relu(x.plain) };
      case 4:
        return { real: x.real.neg(), plain: P.neg(x.plain) };
      case 5: {
        const axis = random.int(rank);
        return { real: x.real.sum(axis), plain: P.sum(x.plain, axis) };
      }
      default:
        return { real: x.real.transpose(0, rank - 1), plain: P.transpose(x.plain, 0, rank - 1) };
    }
  }

  // === Steps ===

  /** Ops inside a scheduler's step; when it throws, nothing has happened. */
  async #step(): Promise<void> {
    const scheduler = this.#scheduler;
    if (scheduler === undefined) return;
    const before = [...this.#values];
    const stores = before.map(
      ({ plain }) => [plain.store, Float64Array.from(plain.store)] as const,
    );
    try {
      const moved = await scheduler.step(() => this.#stepBody(before));
      this.#count("step");
      this.#lookAt(scheduler);
      const made = this.#values.filter((v) => !before.includes(v) && moved.includes(v.real));
      for (const { real } of made)
        if (real.isDisposed) this.#problems.push("a result of a step was disposed");
      this.#values = [...before, ...made].slice(-kept);
    } catch (error) {
      if (!(error instanceof Planned) && !(error instanceof BudgetError)) throw error;
      this.#count(error instanceof Planned ? "step left by a throw" : "step refused by its budget");
      for (const [store, former] of stores) store.set(former);
      this.#values = before;
    }
  }

  /** What a step does. @returns the tensors that leave it */
  async #stepBody(before: readonly Twin[]): Promise<Tensor[]> {
    const random = this.#random;
    const fails = random.chance(0.2);
    const made = this.#ops(before);
    if (random.chance(0.3)) {
      this.#count("step that waits");
      await turn();
      if (random.chance(0.5)) made.push(...this.#ops(before));
    }
    if (random.chance(0.5)) {
      const gradient = this.#gradient(3 + random.int(10));
      if (gradient !== null)
        made.push(this.#keep("gradient in a step", gradient.real.alias(), gradient.plain));
    }
    if (fails) throw new Planned();
    return made.filter(() => random.chance(0.6)).map(({ real }) => real);
  }

  /** The figures of a step; there are none when nothing it did was needed. */
  #lookAt(scheduler: Scheduler): void {
    const ran = figures(scheduler);
    if (ran === null) return;
    const { ops, recomputedOps, swapIns, measuredPeakBytes, budgetBytes } = ran;
    if (recomputedOps > 0) this.#count("step that recomputed");
    if (swapIns > 0) this.#count("step that swapped");
    // a step in which nothing runs takes nothing: what is there is that of others
    if (ops > 0 && measuredPeakBytes > budgetBytes && this.#alone)
      this.#problems.push(`a step took ${measuredPeakBytes} bytes of ${budgetBytes}`);
  }
}

/** The report of a scheduler, or null before its first step that ran. */
function figures(scheduler: Scheduler): SchedulerReport | null {
  try {
    return scheduler.report();
  } catch (error) {
    if (error instanceof TenureError) return null;
    throw error;
  }
}

/** The sum of all elements. */
function total1({ real, plain }: Twin): Twin {
  let x: P.Plain = plain;
  while (x.shape.length > 0) x = P.sum(x, 0);
  return { real: real.sum(), plain: x };
}
