/**
 * Rain in the next minutes. Radar images come as a stream: filters clean them, advection pushes the
 * rain on along several motions, and a blender weighs those, learning from what came true. What is
 * in the stream belongs to the stage that has it.
 */
import { type Tensor, newDisposeScope, noGrad, ones, stack, tensor, zeros } from "tenure";
import { Module, functional as F } from "tenure/nn";
import { SGD } from "tenure/optim";

const GRID = 8;
const LEADS = 2; // minutes ahead
const MEMBERS = 4;
const SHIFTS = [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => [dy, dx] as const));

type Packet = Readonly<{ minute: number; echoes: readonly number[] }>;
type Stream<T> = AsyncGenerator<T, void, undefined>;
type Stage<I, O> = Disposable & { run(source: AsyncIterable<I>): Stream<O> };

/** What is known of a minute: maps that end together. */
interface Sample<K extends string> extends Disposable {
  readonly minute: number;
  readonly maps: Readonly<Record<K, Tensor>>;
}

function sample<K extends string>(minute: number, maps: Record<K, Tensor>): Sample<K> {
  const end = (): void => Object.values<Tensor>(maps).forEach((map) => map.dispose());
  return { minute, maps, [Symbol.dispose]: end };
}

type Frame = Sample<"rain">; // [GRID, GRID]
type Outlook = Sample<"ahead">; // [LEADS, GRID, GRID]
/** Members are [MEMBERS, LEADS, GRID, GRID], the misfit is one number for each. */
type Ensemble = Sample<"seen" | "members" | "misfit">;

type Filter = Disposable & { apply(rain: Tensor): Tensor };
type FilterSpec = Readonly<
  { kind: "speckle"; least: number } | { kind: "clutter"; memory: number }
>;

function makeFilter(spec: FilterSpec): Filter {
  if (spec.kind === "speckle") {
    const apply = (rain: Tensor): Tensor => {
      using scope = newDisposeScope("speckle");
      const image = rain.reshape(1, 1, GRID, GRID);
      const around = F.avgPool2d(image, 3, { stride: 1, padding: 1 }).reshape(GRID, GRID);
      return scope.moveToOuter(rain.maskedFill(around.lt(spec.least), 0));
    };
    return { apply, [Symbol.dispose]: () => undefined };
  }
  let still = zeros([GRID, GRID]); // hills do not move
  return {
    apply(rain) {
      using scope = newDisposeScope("clutter");
      still = scope.carry(still, rain.lerp(still, spec.memory));
      return scope.moveToOuter(rain.sub(still).clamp(0));
    },
    [Symbol.dispose]: () => still.dispose(),
  };
}

class Intake implements Stage<Packet, Frame> {
  readonly #filters: readonly Filter[];

  constructor(specs: readonly FilterSpec[]) {
    this.#filters = specs.map(makeFilter);
  }

  async *run(source: AsyncIterable<Packet>): Stream<Frame> {
    let last = -Infinity;
    for await (const { minute, echoes } of source) {
      if (minute <= last || echoes.length !== GRID * GRID) continue;
      last = minute;
      let rain = tensor(echoes, { shape: [GRID, GRID] });
      for (const filter of this.#filters) {
        using before = rain;
        rain = filter.apply(before);
      }
      yield sample(minute, { rain });
    }
  }

  [Symbol.dispose](): void {
    for (const filter of this.#filters) filter[Symbol.dispose]();
  }
}

class Advection implements Stage<Frame, Ensemble> {
  readonly #decay: Tensor;

  constructor(decay: number) {
    this.#decay = tensor(Array.from({ length: LEADS }, (_, i) => decay ** (i + 1)));
  }

  async *run(source: AsyncIterable<Frame>): Stream<Ensemble> {
    const window: Frame[] = [];
    try {
      for await (const frame of source) {
        const gap = frame.minute - (window.at(-1)?.minute ?? frame.minute);
        if (gap > 1) for (const stale of window.splice(0)) stale[Symbol.dispose]();
        window.push(frame);
        if (window.length < 2) continue;
        using before = window.shift();
        yield this.#extrapolate(before!.maps.rain, frame);
      }
    } finally {
      for (const frame of window) frame[Symbol.dispose]();
    }
  }

  #extrapolate(before: Tensor, { minute, maps: { rain } }: Frame): Ensemble {
    using scope = newDisposeScope("extrapolation");
    const pushed = SHIFTS.map((shift) => before.roll(shift, [0, 1]));
    const misfits = stack(pushed).sub(rain).square().mean([1, 2]);
    const { values, indices } = misfits.topK(MEMBERS, 0, false);
    const leads = Array.from({ length: LEADS }, (_, i) =>
      stack(SHIFTS.map(([dy, dx]) => rain.roll([dy * (i + 1), dx * (i + 1)], [0, 1]))),
    );
    const fading = stack(leads, 1).mul(this.#decay.reshape(LEADS, 1, 1));
    const maps = { seen: rain.alias(), members: fading.indexSelect(0, indices), misfit: values };
    scope.moveToOuter(...Object.values(maps));
    return sample(minute, maps);
  }

  [Symbol.dispose](): void {
    this.#decay.dispose();
  }
}

class Blend extends Module<[members: Tensor, misfit: Tensor]> {
  readonly trust = this.parameter("trust", zeros([MEMBERS, LEADS]));
  readonly doubt = this.parameter("doubt", ones([]));

  forward(members: Tensor, misfit: Tensor): Tensor {
    using scope = newDisposeScope("blend");
    const weights = this.trust.sub(misfit.mul(this.doubt).unsqueeze(1)).softmax(0);
    return scope.moveToOuter(members.mul(weights.reshape(MEMBERS, LEADS, 1, 1)).sum(0));
  }
}

class Blender implements Stage<Ensemble, Outlook> {
  readonly #model = new Blend();
  readonly #pending: Ensemble[] = [];
  #optimizer: SGD;
  #good: ReadonlyMap<string, Tensor>;
  #best = Infinity;
  #patience = 2;

  constructor(lr: number) {
    this.#optimizer = new SGD(this.#model.parameters(), { lr, momentum: 0.9 });
    this.#good = this.#copy();
  }

  async *run(source: AsyncIterable<Ensemble>): Stream<Outlook> {
    for await (const ensemble of source) {
      while (this.#pending[0] !== undefined && ensemble.minute - this.#pending[0].minute > LEADS)
        this.#pending.shift()?.[Symbol.dispose]();
      const lesson = this.#pending.length > 0 ? this.#learn(ensemble) : null;
      this.#pending.push(ensemble);
      if (lesson !== null) this.#judge(await lesson);
      const { members, misfit } = ensemble.maps;
      yield sample(ensemble.minute, { ahead: noGrad(() => this.#model.call(members, misfit)) });
    }
  }

  #learn(truth: Ensemble): Promise<number> {
    using _scope = newDisposeScope("learning");
    const losses = this.#pending.map(({ minute, maps }) => {
      const ahead = this.#model.call(maps.members, maps.misfit);
      return F.mseLoss(ahead.select(0, truth.minute - minute - 1), truth.maps.seen);
    });
    const loss = stack(losses).mean();
    this.#optimizer.zeroGrad();
    loss.backward();
    this.#optimizer.step();
    return loss.item();
  }

  #judge(loss: number): void {
    if (loss < this.#best) {
      for (const old of this.#good.values()) old.dispose();
      this.#good = this.#copy();
      [this.#best, this.#patience] = [loss, 2];
    } else if (--this.#patience === 0) {
      this.#model.loadStateDict(this.#good);
      using stale = this.#optimizer;
      this.#optimizer = new SGD(this.#model.parameters(), { lr: stale.lr / 2, momentum: 0.9 });
      this.#best = Infinity;
    }
  }

  /** The weights as they are now; an alias would follow them. */
  #copy(): ReadonlyMap<string, Tensor> {
    const weights = [...this.#model.namedParameters()];
    return noGrad(() => new Map(weights.map(([name, weight]) => [name, weight.clone()])));
  }

  [Symbol.dispose](): void {
    for (const ensemble of this.#pending.splice(0)) ensemble[Symbol.dispose]();
    for (const weight of this.#good.values()) weight.dispose();
    this.#optimizer.dispose();
    this.#model.dispose();
  }
}

class Archive implements Disposable {
  readonly #maps = new Map<number, Tensor>();

  add({ minute: now, maps }: Outlook): void {
    for (const [i, map] of maps.ahead.unbind(0).entries()) {
      this.#maps.get(now + i + 1)?.dispose();
      this.#maps.set(now + i + 1, map);
    }
    for (const [minute, map] of this.#maps) {
      if (minute > now) continue;
      this.#maps.delete(minute);
      map.dispose();
    }
  }

  async wettest(): Promise<number> {
    using all = stack([...this.#maps.values()]);
    using most = all.max();
    return await most.item();
  }

  [Symbol.dispose](): void {
    for (const map of this.#maps.values()) map.dispose();
  }
}

async function follow(outlooks: Stream<Outlook>, archive: Archive, until: number): Promise<void> {
  for await (using outlook of outlooks) {
    if (outlook.minute >= until) break;
    archive.add(outlook);
  }
}

async function* radar(from: number, to: number): Stream<Packet> {
  for (let minute = from; minute < to; minute++) {
    const size = minute === 4 ? 5 : GRID * GRID; // one is cut short
    const echoes = Array.from({ length: size }, (_, i) => (i * minute * 7) % 11);
    yield* [
      { minute, echoes },
      { minute, echoes },
    ]; // senders repeat themselves
  }
}

export async function run(): Promise<number> {
  const hills = { kind: "clutter", memory: 0.9 } as const;
  using intake = new Intake([hills, { kind: "speckle", least: 0.2 }]);
  using advection = new Advection(0.95);
  using blender = new Blender(0.1);
  using archive = new Archive();
  for (const begin of [0, 11]) {
    const outlooks = blender.run(advection.run(intake.run(radar(begin, begin + 9))));
    await follow(outlooks, archive, 14);
  }
  return await archive.wettest();
}
