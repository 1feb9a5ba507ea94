/**
 * Random functions over shared parameters, and random things that happen between their calls, for
 * the property that compiling changes nothing. A world owns what its functions use, and writes down
 * all that can be seen of it.
 */
import fc from "fast-check";
import {
  type HostArray,
  type Tensor,
  checkpoint,
  compile,
  enableGrad,
  manualSeed,
  memory,
  newDisposeScope,
  noGrad,
  rand,
  scoped,
  scopedAsync,
  sync,
  tensor,
  where,
} from "tenure";
import { BatchNorm1d, Dropout, Linear, Sequential } from "tenure/nn";
import { Adam, ExponentialLR, SGD, clipGradNorm } from "tenure/optim";
import { Scheduler } from "tenure/scheduler";

const side = 3;
const size = side * side;

/** What a function computes with: a value, another one, and what is outside. */
type Move = (a: Tensor, b: Tensor, world: World) => Tensor;

const moves = {
  add: (a, b) => a.add(b),
  scaled: (a, b) => a.mul(b).mul(0.5),
  tanh: (a) => a.tanh(),
  transposed: (a) => a.transpose().mul(0.5),
  product: (a, b) => a.matmul(b).mul(0.25),
  centred: (a) => a.sub(a.mean()),
  columns: (a) => a.sum(0, true).expand(side, side),
  largest: (a) => a.max([1], true).expand(side, side),
  softmax: (a) => a.softmax(1),
  noise: (a) => a.add(rand([side, side])),
  state: (a, _, { state }) => a.add(state),
  remember(a, _, { state }) {
    noGrad(() => state.mul_(0.5).add_(a));
    return a.neg();
  },
  copied: (a, b) => a.clone().sub_(b),
  row(a, b) {
    const copy = a.clone();
    noGrad(() => copy.slice(0, 1, 2).mul_(b.slice(0, 0, 1)));
    return copy.detach().add(a);
  },
  chosen: (a, b) => where(a.gt(0), a, b),
  layers: (a, _, { model }) => model.call(a),
  again: (a, b, { drop }) => checkpoint((t: Tensor) => drop.call(t.mul(b)).tanh(), a),
  nudge(a, _, { leaves }) {
    noGrad(() => leaves[1].mul_(0.75));
    return a.abs();
  },
  gradient: (a, _, { leaves: [leaf] }) => (leaf.hasGrad ? a.add(leaf.grad!) : a.sub(1)),
  leaf: (a) =>
    enableGrad(() => {
      const t = a.detach();
      t.requiresGrad = true;
      t.square().sum().backward();
      return t.grad!.mul(0.5);
    }),
  view: (a) => a.reshape(size).reshape(side, side),
} satisfies Record<string, Move>;

/** A function, as a list of what it does. */
interface Body {
  readonly moves: readonly (readonly [keyof typeof moves, number, number])[];
  /** What it does only if it is told so. */
  readonly more: readonly (readonly [keyof typeof moves, number, number])[];
  readonly learns: "never" | "backward" | "clip" | "step" | "step and rate";
  readonly clears: "first" | "last" | "never";
  readonly writes: boolean;
  readonly calls: boolean;
  readonly gives: "values" | "nothing" | "a view of the argument" | "containers";
}

/** Something that happens. */
interface Call {
  readonly kind: "call";
  readonly second: boolean;
  readonly x: "fresh" | "kept" | "transposed" | "a leaf" | "the state" | "short" | "the last";
  readonly more: boolean;
  readonly throws: boolean;
  readonly within: "nothing" | "noGrad" | "a step" | "a budget" | "a step that fails";
}

/** Or something else. */
interface Other {
  readonly kind:
    | "mode"
    | "rate"
    | "clear"
    | "share"
    | "write"
    | "replace"
    | "freeze"
    | "compute"
    | "seed"
    | "forget"
    | "starve";
}

type Event = Call | Other | { readonly kind: "read" };

const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

const move = fc.tuple(
  often<keyof typeof moves>("layers", ...(Object.keys(moves) as (keyof typeof moves)[])),
  fc.nat(9),
  fc.nat(9),
);

const body: fc.Arbitrary<Body> = fc.record({
  moves: fc.array(move, { minLength: 1, maxLength: 5 }),
  more: fc.array(move, { maxLength: 2 }),
  learns: fc.constantFrom("never", "backward", "clip", "step", "step and rate"),
  clears: fc.constantFrom("first", "last", "never"),
  writes: fc.boolean(),
  calls: fc.boolean(),
  gives: fc.constantFrom("values", "nothing", "a view of the argument", "containers"),
});

const call: fc.Arbitrary<Call> = fc.record({
  kind: fc.constant("call"),
  second: often(false, true),
  x: often("fresh", "kept", "transposed", "a leaf", "the state", "short", "the last"),
  more: often(false, true),
  throws: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
  within: often("nothing", "noGrad", "a step", "a budget", "a step that fails", "nothing"),
});

const other: fc.Arbitrary<Event> = fc.record({
  kind: fc.constantFrom(
    "mode",
    "rate",
    "clear",
    "share",
    "write",
    "replace",
    "freeze",
    "compute",
    "seed",
    "forget",
    "starve",
    "read",
    "read",
  ),
});

/** Two functions, and what happens. */
export interface Scenario {
  readonly bodies: readonly [Body, Body];
  readonly events: readonly Event[];
}

export const scenarios: fc.Arbitrary<Scenario> = fc
  .record({
    bodies: fc.tuple(body, body),
    // few calls, some times each and between other things, so that they are repeated
    calls: fc.tuple(call, call),
    events: fc.array(
      fc.oneof(
        fc.record({ which: fc.nat(1), times: fc.integer({ min: 1, max: 4 }) }),
        other.map((event) => ({ event })),
      ),
      { minLength: 8, maxLength: 16 },
    ),
  })
  .map(({ bodies, calls, events }) => ({
    bodies,
    events: events.flatMap((it): Event[] =>
      "event" in it ? [it.event] : Array<Event>(it.times).fill(calls[it.which] ?? calls[0]),
    ),
  }));

type Fn = (x: Tensor, more: boolean, throws: boolean) => unknown;

/** What the functions use. */
class World implements Disposable {
  readonly leaves = [
    rand([side, side], { requiresGrad: true }),
    rand([side, side], { requiresGrad: true }),
  ] as const;
  state: Tensor = rand([side, side]);
  /** Keeps the memory of the state before, which is disposed. */
  former: Tensor | null = null;
  readonly kept: Tensor = rand([side, side]);
  last: Tensor | null = null;
  readonly model = new Sequential(new Linear(side, side), new BatchNorm1d(side), new Dropout(0.25));
  readonly drop = new Dropout(0.5);
  readonly optimizer: SGD | Adam;
  readonly schedule: ExponentialLR;
  readonly scheduler = new Scheduler();
  readonly budget = new Scheduler({ budgetBytes: 2 ** 18 });

  constructor(seed: number) {
    const parameters = [...this.leaves, ...this.model.parameters()];
    this.optimizer =
      seed % 2 === 0
        ? new SGD(parameters, { lr: 0.05, momentum: 0.9 })
        : new Adam(parameters, { lr: 0.05 });
    this.schedule = new ExponentialLR(this.optimizer, { gamma: 0.9 });
    for (const t of [...this.leaves, this.state, this.kept]) t.detachFromScope();
  }

  [Symbol.dispose](): void {
    for (const t of [...this.leaves, this.state, this.former, this.kept, this.last]) t?.dispose();
    for (const it of [this.model, this.optimizer, this.scheduler, this.budget]) it.dispose();
  }

  /** Makes a function. `inner` is what it may call. */
  function(it: Body, inner: Fn | null): Fn {
    return (x, more, throws) => {
      if (it.clears === "first") this.optimizer.zeroGrad();
      const values: Tensor[] = [x, ...this.leaves];
      for (const [name, a, b] of more ? [...it.moves, ...it.more] : it.moves)
        values.push(moves[name](values[a % values.length]!, values[b % values.length]!, this));
      if (throws) throw new RangeError("as it was told");
      if (it.calls) inner?.(x.detach(), more, false);
      if (it.writes) noGrad(() => x.mul_(0.5));
      const last = values.at(-1)!;
      this.#learn(it, last);
      if (it.clears === "last") this.optimizer.zeroGrad();
      const free = last.detach();
      if (it.gives === "nothing") return undefined;
      if (it.gives === "a view of the argument") return x.detach().transpose();
      if (it.gives === "values") return [free.add(1), values[3]!.detach().mul(2)];
      return { free, all: new Map([["sum", [free.sum(), free]]]), more };
    };
  }

  #learn({ learns }: Body, last: Tensor): void {
    if (learns === "never" || !last.requiresGrad) return;
    last.square().mean().backward();
    if (learns === "clip") clipGradNorm(this.optimizer.parameters, 0.5);
    if (learns.startsWith("step")) this.optimizer.step();
    if (learns === "step and rate") this.schedule.step();
  }

  /** What a call is given. */
  argument(x: Call["x"], count: number): Tensor {
    const fresh = (n: number): Tensor =>
      tensor(Array.from({ length: n }, (_, i) => ((i * 7 + count) % 11) / 8 - 0.5));
    switch (x) {
      case "fresh":
        return fresh(size).reshape(side, side);
      case "transposed":
        return fresh(size).reshape(side, side).transpose();
      case "short":
        return fresh(side).reshape(1, side);
      case "kept":
        return this.kept;
      case "a leaf":
        return this.leaves[0];
      case "the state":
        return this.state;
      case "the last":
        return this.last ?? this.kept;
    }
  }

  /** Something else happens. */
  happen(kind: Other["kind"], count: number): void {
    const [a, b] = this.leaves;
    switch (kind) {
      case "mode":
        this.model.train(!this.model.training);
        return;
      case "rate":
        this.optimizer.lr = 0.1 / (count + 1);
        return;
      case "clear":
        a.grad = null;
        return;
      case "share":
        if (a.requiresGrad && b.requiresGrad) a.grad = b.grad;
        return;
      case "write":
        noGrad(() => void b.add_(0.125));
        return;
      case "replace":
        this.former?.dispose();
        this.former = this.state.alias().detachFromScope();
        this.state.dispose();
        this.state = rand([side, side]).detachFromScope();
        return;
      case "freeze":
        b.requiresGrad = !b.requiresGrad;
        return;
      case "compute":
        a.detach().exp().add(this.state);
        return;
      case "seed":
        manualSeed(count);
        return;
      case "starve":
        memory.setBudget(memory.stats().deviceBytes + 40, "throw"); // until the next reads
        return;
      case "forget":
        this.optimizer.loadStateDict({ steps: this.optimizer.steps, tensors: new Map() });
    }
  }

  /** Reads all that can be seen. */
  reads(): Promise<unknown>[] {
    const { leaves, state, kept, optimizer, model } = this;
    const grads = optimizer.parameters.map((p) => p.grad?.data());
    const states = [...optimizer.stateDict().tensors.values()].map((t) => t.data());
    const buffers = [...model.namedBuffers()].map(([, t]) => t.data());
    const values = [...leaves, state, kept, ...model.parameters()].map((t) => t.data());
    const random = rand([2]).data();
    return [...values, ...grads, ...states, ...buffers, random].map(async (read) => {
      try {
        return bitsOf(await read);
      } catch (error) {
        return words(error);
      }
    });
  }
}

/** The tensors of a result. */
function tensorsIn(result: unknown): Tensor[] {
  if (Array.isArray(result)) return result.flatMap(tensorsIn);
  if (result instanceof Map)
    return [...(result as Map<unknown, unknown>).values()].flatMap(tensorsIn);
  if (typeof result !== "object" || result === null) return [];
  return "shape" in result ? [result as Tensor] : Object.values(result).flatMap(tensorsIn);
}

/** What a scenario gives. */
export interface Seen {
  readonly seen: readonly unknown[];
  readonly replays: number;
  readonly atOnce: number;
}

/** NaN is no value, but has bits. */
const bitsOf = (data: HostArray | undefined): unknown =>
  data && [...new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];

const words = (error: unknown): string =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).replace(
    / \(.*/s,
    "",
  );

/** Lets a scenario happen, with its functions compiled or as they are. */
export async function happen(
  { bodies, events }: Scenario,
  seed: number,
  compiled: boolean,
): Promise<Seen> {
  manualSeed(seed);
  using _scope = newDisposeScope({ root: true });
  using world = new World(seed);
  const plain =
    (fn: Fn): Fn =>
    (...args) =>
      scoped(() => fn(...args));
  const first = world.function(bodies[0], null);
  using fast = compile(first);
  const inner: Fn = compiled ? fast : plain(first);
  const second = world.function(bodies[1], inner);
  using faster = compile(second);
  const fns = [inner, compiled ? faster : plain(second)] as const;
  const before = memory.stats();
  const seen: unknown[] = [];
  let pending: Promise<unknown>[] = [];
  for (const [count, event] of [...events, { kind: "read" } as const].entries()) {
    if (event.kind === "read") {
      pending.push(...scoped(() => world.reads()));
      seen.push(await Promise.all(pending));
      pending = [];
      await sync().catch((error: unknown) => seen.push(words(error)));
      memory.setBudget(Infinity, "report");
      const now = memory.stats();
      seen.push(now.liveBytes - before.liveBytes);
      seen.push(now.threadTotalLiveCount - before.threadTotalLiveCount);
    } else if (event.kind === "call") {
      pending.push(...(await called(world, fns[event.second ? 1 : 0], event, count)));
    } else {
      scoped(() => {
        world.happen(event.kind, count);
      });
    }
  }
  memory.verify();
  const [one, two] = [fast.report(), faster.report()];
  return { seen, replays: one.replays + two.replays, atOnce: one.atOnce + two.atOnce };
}

/** One call. @returns the reads of its results */
async function called(
  world: World,
  fn: Fn,
  { x, more, throws, within }: Call,
  count: number,
): Promise<Promise<unknown>[]> {
  const run = (): unknown => fn(world.argument(x, count), more, throws);
  try {
    return await scopedAsync(async (scope) => {
      let result: unknown;
      if (within === "a step") result = await world.scheduler.step(run);
      else if (within === "a budget") result = await world.budget.step(run);
      else if (within === "a step that fails")
        await world.scheduler.step(() => {
          run();
          throw new RangeError("the step fails");
        });
      else result = within === "noGrad" ? noGrad(run) : run();
      const found = tensorsIn(result);
      const [last] = found;
      if (last?.shape.join() === `${side},${side}`) {
        world.last?.dispose();
        world.last = scope.detach(last.alias());
      }
      return [found.map((t) => t.data().then(bitsOf, words))] as const;
    }).then(([reads]) => reads);
  } catch (error) {
    return [Promise.resolve(words(error))];
  }
}
