/**
 * A particle filter that finds a robot between landmarks. Motions are exchangeable; the cloud is a
 * record that is replaced as a whole; estimates come out of an async generator.
 */
import {
  type Tensor,
  full,
  manualSeed,
  multinomial,
  newDisposeScope,
  rand,
  randn,
  scoped,
  stack,
  tensor,
} from "tenure";

abstract class Motion implements Disposable {
  readonly noise: Tensor;

  constructor(noise: number) {
    this.noise = full([2], noise);
  }

  abstract move(states: Tensor): Tensor;

  protected shaken(states: Tensor): Tensor {
    using draws = randn(states.shape);
    using steps = draws.mul(this.noise);
    return states.add(steps);
  }

  [Symbol.dispose](): void {
    this.noise.dispose();
  }
}

class Drift extends Motion {
  readonly #velocity: Tensor;

  constructor(velocity: readonly [number, number], noise = 0.1) {
    super(noise);
    this.#velocity = tensor([...velocity]);
  }

  move(states: Tensor): Tensor {
    using moved = states.add(this.#velocity);
    return this.shaken(moved);
  }

  override [Symbol.dispose](): void {
    this.#velocity.dispose();
    super[Symbol.dispose]();
  }
}

/** Turns around the origin, a little more each time; matrices are made once per angle. */
class Spiral extends Motion {
  readonly #turns = new Map<number, Tensor>();
  #degrees = 0;

  move(states: Tensor): Tensor {
    this.#degrees = (this.#degrees + 15) % 30;
    using turned = states.matmul(this.#turn(this.#degrees));
    return this.shaken(turned);
  }

  #turn(degrees: number): Tensor {
    const known = this.#turns.get(degrees);
    if (known) return known;
    const [c, s] = [Math.cos((degrees / 180) * Math.PI), Math.sin((degrees / 180) * Math.PI)];
    const made = tensor([c, -s, s, c], { shape: [2, 2] });
    this.#turns.set(degrees, made);
    return made;
  }

  override [Symbol.dispose](): void {
    for (const turn of this.#turns.values()) turn.dispose();
    super[Symbol.dispose]();
  }
}

interface Cloud {
  readonly states: Tensor;
  readonly logWeights: Tensor;
}

const even = (count: number): Tensor => full([count], -Math.log(count));

type FilterOptions = Readonly<{ count?: number; start?: Tensor }>;

class Filter implements Disposable {
  readonly #landmarks: Tensor;
  readonly #ancestors: Tensor[] = [];
  #motion: Motion;
  #cloud: Cloud;
  #mark: Cloud | undefined;

  constructor(motion: Motion, landmarks: Tensor, options: FilterOptions = {}) {
    const { count = 8, start } = options;
    this.#motion = motion;
    this.#landmarks = landmarks;
    this.#cloud = { states: start?.clone() ?? rand([count, 2]), logWeights: even(count) };
  }

  predict(): void {
    const states = this.#motion.move(this.#cloud.states);
    this.#cloud.states.dispose();
    this.#cloud = { ...this.#cloud, states };
  }

  update(measured: Tensor): void {
    const { states, logWeights: before } = this.#cloud;
    const logWeights = scoped(() => {
      const misfit = distances(states, this.#landmarks).sub(measured).square().sum(1);
      const raw = before.sub(misfit.mul(0.5));
      return raw.sub(raw.logSumExp());
    });
    before.dispose();
    this.#cloud = { states, logWeights };
  }

  resample(): void {
    const old = this.#cloud;
    const count = old.logWeights.size;
    using weights = old.logWeights.exp();
    const chosen = multinomial(weights, count, { replacement: true });
    this.#cloud = { states: old.states.indexSelect(0, chosen), logWeights: even(count) };
    old.states.dispose();
    old.logWeights.dispose();
    this.#ancestors.push(chosen);
    if (this.#ancestors.length > 2) this.#ancestors.shift()?.dispose();
  }

  estimate(): Tensor {
    using scope = newDisposeScope("estimate");
    const weights = this.#cloud.logWeights.exp().unsqueeze(1);
    return scope.moveToOuter(this.#cloud.states.mul(weights).sum(0));
  }

  steer(motion: Motion): void {
    this.#motion[Symbol.dispose]();
    this.#motion = motion;
  }

  mark(): void {
    if (this.#mark !== undefined) end(this.#mark);
    const { states, logWeights } = this.#cloud;
    this.#mark = { states: states.clone(), logWeights: logWeights.clone() };
  }

  back(): void {
    if (this.#mark === undefined) return;
    end(this.#cloud);
    this.#cloud = this.#mark;
    this.#mark = undefined;
  }

  [Symbol.dispose](): void {
    if (this.#mark !== undefined) end(this.#mark);
    end(this.#cloud);
    for (const chosen of this.#ancestors.splice(0)) chosen.dispose();
    this.#motion[Symbol.dispose]();
  }
}

function end(cloud: Cloud): void {
  cloud.states.dispose();
  cloud.logWeights.dispose();
}

const distances = (points: Tensor, places: Tensor): Tensor =>
  scoped(() => points.unsqueeze(1).sub(places.unsqueeze(0)).square().sum(2).add(1e-9).sqrt());

/** Estimates after each measurement; they are the consumer's. */
async function* track(filter: Filter, measurements: Iterable<Tensor>): AsyncGenerator<Tensor> {
  let step = 0;
  for (const measured of measurements) {
    filter.predict();
    filter.update(measured);
    if (step++ % 2 === 1) filter.resample();
    yield filter.estimate();
  }
}

/** What a robot would measure that starts at the origin. Ends each when the next is asked for. */
function* simulate(motion: Motion, landmarks: Tensor, steps: number): Generator<Tensor> {
  let place = full([1, 2], 0);
  try {
    while (steps-- > 0) {
      const next = motion.move(place);
      place.dispose();
      place = next;
      using measured = distances(place, landmarks);
      yield measured;
    }
  } finally {
    place.dispose();
  }
}

/** The whole program. */
export async function run(steps = 5): Promise<number> {
  manualSeed(21);
  using landmarks = rand([3, 2]);
  using truth = new Drift([0.2, 0.1], 0.01);
  using start = rand([8, 2]);
  using filter = new Filter(new Drift([0.2, 0.1]), landmarks, { start });
  const path: Tensor[] = [];
  for await (const estimate of track(filter, simulate(truth, landmarks, steps))) {
    path.push(estimate);
    if (path.length > 3) path.shift()?.dispose();
    filter.mark();
  }
  filter.steer(new Spiral(0.05));
  for await (const estimate of track(filter, simulate(truth, landmarks, 2))) path.push(estimate);
  filter.back();
  using line = stack(path);
  for (const t of path) t.dispose();
  return (await line.data()).length;
}
