/**
 * Maps a hall from the laser scans of a small robot. Scans are filtered, aligned with the submap
 * under construction by descent on the pose, and collected; scans that do not fit wait in a queue
 * to be compared with submaps that were finished.
 */
import { type Tensor, concat, manualSeed, newDisposeScope, noGrad, ones, rand } from "tenure";
import { stack, tensor, zeros } from "tenure";
import { Adam } from "tenure/optim";

const BEAMS = 24;
const OFFSETS = [0, 0.4, -0.4];
const MOST_JOBS = 2;
const MOST_SUBMAPS = 2;

class NoMatch extends Error {}

/** Points [N, 2] in the robot's frame and how much each counts, [N]. */
class Scan implements Disposable {
  readonly points: Tensor;
  readonly weights: Tensor;

  /** Takes both over. */
  constructor(points: Tensor, weights: Tensor) {
    this.points = points;
    this.weights = weights;
  }

  alias(): Scan {
    return new Scan(this.points.alias(), this.weights.alias());
  }

  [Symbol.dispose](): void {
    this.points.dispose();
    this.weights.dispose();
  }
}

type Filter = (scan: Scan) => Scan;

function range(most: number): Filter {
  return ({ points, weights }) => {
    using scope = newDisposeScope("range");
    const near = points.norm(2, 1).lt(most);
    const kept = weights.mul(near.to("float32"));
    return new Scan(scope.detach(points.alias()), scope.detach(kept));
  };
}

function mount(x: number, y: number): Filter {
  return ({ points, weights }) => {
    using offset = tensor([x, y]);
    return new Scan(points.add(offset), weights.alias());
  };
}

function pipeline(...filters: readonly Filter[]): Filter {
  return (raw) => {
    let scan = raw.alias();
    for (const filter of filters) {
      using before = scan;
      scan = filter(before);
    }
    return scan;
  };
}

/** Points as seen from a pose [x, y, heading]. */
function place(points: Tensor, pose: Tensor): Tensor {
  using scope = newDisposeScope("place");
  const heading = pose.slice(0, 2, 3);
  const [cos, sin] = [heading.cos(), heading.sin()];
  const rotation = stack([concat([cos, sin]), concat([sin.neg(), cos])]);
  return scope.moveToOuter(points.matmul(rotation).add(pose.slice(0, 0, 2)));
}

function misfit({ points, weights }: Scan, pose: Tensor, reference: Tensor): Tensor {
  using scope = newDisposeScope("misfit");
  const placed = place(points, pose);
  const squares = placed.square().sum(1, true).add(reference.square().sum(1));
  const distances = squares.sub(placed.matmul(reference.transpose()).mul(2));
  const nearest = distances.mul(-4).logSumExp(1).neg();
  return scope.moveToOuter(nearest.mul(weights).mean());
}

/** The best pose near `guess`, the caller's. Starts again elsewhere while it fits too badly. */
async function align(scan: Scan, cloud: Tensor, guess: Tensor, limit: number): Promise<Tensor> {
  for (const offset of OFFSETS) {
    using fixed = guess.detach();
    const pose = fixed.add(offset);
    try {
      pose.requiresGrad = true;
      if ((await descend(pose, scan, cloud)) <= limit) return pose;
    } catch (error) {
      pose.dispose();
      throw error;
    }
    pose.dispose();
  }
  throw new NoMatch("fits nowhere");
}

async function descend(pose: Tensor, scan: Scan, cloud: Tensor): Promise<number> {
  using optimizer = new Adam([pose], { lr: 0.05 });
  let score = Infinity;
  for (let step = 0; step < 2; step++) {
    using loss = misfit(scan, pose, cloud);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    score = await loss.item();
  }
  return score;
}

/** Scans with their poses, and the cloud of all their points. */
class Submap implements Disposable {
  readonly #scans: Scan[] = [];
  readonly #poses: Tensor[] = [];
  #cloud: Tensor | null = null;

  get isEmpty(): boolean {
    return this.#scans.length === 0;
  }

  /** Lent until the next scan is added. */
  get cloud(): Tensor {
    this.#cloud ??= noGrad(() => this.#join());
    return this.#cloud;
  }

  /** Takes both over. */
  add(scan: Scan, pose: Tensor): void {
    this.#scans.push(scan);
    this.#poses.push(pose);
    this.#cloud?.dispose();
    this.#cloud = null;
  }

  thin(most: number): void {
    const excess = Math.max(0, this.#scans.length - most);
    for (const scan of this.#scans.splice(0, excess)) scan[Symbol.dispose]();
    for (const pose of this.#poses.splice(0, excess)) pose.dispose();
  }

  #join(): Tensor {
    using scope = newDisposeScope("join");
    const placed = this.#scans.map(({ points }, i) => place(points, this.#poses[i]!));
    return scope.detach(concat(placed, 0));
  }

  [Symbol.dispose](): void {
    this.thin(0);
    this.#cloud?.dispose();
  }
}

type Job = Readonly<{ scan: Scan; guess: Tensor }>;

class Mapper {
  readonly #filter: Filter;
  readonly #finished: Submap[] = [];
  readonly #jobs: Job[] = [];
  #working: Promise<void> | null = null;
  #submap = new Submap();
  #pose = zeros([3]);
  #drift = zeros([3]);

  constructor(filter: Filter) {
    this.#filter = filter;
  }

  /** Borrows the scan. Whether it found its place in the map. */
  async ingest(raw: Scan, limit: number): Promise<boolean> {
    using scan = this.#filter(raw);
    if (!this.#submap.isEmpty) {
      try {
        using found = await align(scan, this.#submap.cloud, this.#pose, limit);
        this.#pose.dispose();
        this.#pose = found.detach();
      } catch (error) {
        if (!(error instanceof NoMatch)) throw error;
        this.#submit({ scan: scan.alias(), guess: this.#pose.alias() });
        return false;
      }
    }
    this.#submap.add(scan.alias(), this.#pose.alias());
    this.#submap.thin(3);
    return true;
  }

  /** Begins another submap. The oldest gives way. */
  turnOver(): void {
    this.#finished.push(this.#submap);
    if (this.#finished.length > MOST_SUBMAPS) this.#finished.shift()![Symbol.dispose]();
    this.#submap = new Submap();
  }

  /** Takes the job over. What has waited longest is given up for it. */
  #submit(job: Job): void {
    if (this.#jobs.length >= MOST_JOBS) {
      const { scan, guess } = this.#jobs.shift()!;
      scan[Symbol.dispose]();
      guess.dispose();
    }
    this.#jobs.push(job);
    this.#working ??= this.#work().finally(() => (this.#working = null));
  }

  async #work(): Promise<void> {
    for (let job = this.#jobs.shift(); job !== undefined; job = this.#jobs.shift()) {
      using scan = job.scan;
      using guess = job.guess;
      await this.#close(scan, guess);
    }
  }

  async #close(scan: Scan, guess: Tensor): Promise<void> {
    const clouds = this.#finished.map(({ cloud }) => cloud.alias());
    try {
      for (const [rank, cloud] of clouds.entries()) {
        using pose = await align(scan, cloud, guess, 1 - 2 * rank);
        using scope = newDisposeScope("closed");
        const error = pose.detach().sub(guess);
        this.#drift = scope.carry(this.#drift, this.#drift.lerp(error, 0.2));
      }
    } catch (error) {
      if (!(error instanceof NoMatch)) throw error;
    } finally {
      for (const cloud of clouds) cloud.dispose();
    }
  }

  async close(): Promise<ArrayLike<number>> {
    await this.#working;
    using corrected = this.#pose.add(this.#drift);
    for (const submap of [...this.#finished, this.#submap]) submap[Symbol.dispose]();
    this.#pose.dispose();
    this.#drift.dispose();
    return await corrected.data();
  }
}

function sense(): Scan {
  using noise = rand([BEAMS, 2]);
  using wall = tensor(Array.from({ length: BEAMS }, (_, i) => [i % 2 ? i / 6 : 0, i % 3]));
  return new Scan(wall.add(noise), ones([BEAMS]));
}

export async function run(): Promise<number> {
  manualSeed(4);
  const mapper = new Mapper(pipeline(mount(0.1, 0), range(4)));
  let found = 0;
  for (let turn = 0; turn < 20; turn++) {
    using scan = sense();
    if (await mapper.ingest(scan, turn % 5 > 2 ? -9 : 1)) found++;
    if (turn % 4 === 3) mapper.turnOver();
  }
  return found + (await mapper.close()).length;
}
