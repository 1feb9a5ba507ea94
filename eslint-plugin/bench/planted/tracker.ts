/**
 * Follows objects through frames of detections: a Kalman filter per track, greedy matching, and a
 * gallery of the looks of those that went out of sight, by which they are known when they return.
 */
import {
  type Tensor,
  concat,
  eye,
  manualSeed,
  newDisposeScope,
  rand,
  scoped,
  stack,
  zeros,
} from "tenure";

/** What is believed of a track: the mean [4] of place and speed, and how sure that is. */
type Belief = Readonly<Record<"mean" | "cov", Tensor>>;

/** An object seen in a frame: where [2], and what like. */
type Detection = Readonly<Record<"at" | "looks", Tensor>>;

class Motion implements Disposable {
  readonly step: Tensor;
  readonly watch: Tensor;
  readonly #drift: Tensor;

  constructor(dt: number, drift = 0.05) {
    this.step = scoped(() => eye(4).add(eye(4).roll(2, 1).triu().mul(dt)));
    this.watch = eye(2, 4);
    this.#drift = scoped(() => eye(4).mul(drift));
  }

  predict({ mean, cov }: Belief): Belief {
    return scoped(() => ({
      mean: this.step.matmul(mean),
      cov: this.step.matmul(cov).matmul(this.step.transpose()).add(this.#drift),
    }));
  }

  /** Inverse of the covariance of what would be seen, [2, 2]. */
  precision(cov: Tensor): Tensor {
    using scope = newDisposeScope("precision");
    const seen = this.watch.matmul(cov).matmul(this.watch.transpose()).add(eye(2).mul(0.2));
    const [a, b, c, d] = seen.reshape(4).unbind() as [Tensor, Tensor, Tensor, Tensor];
    const adjugate = stack([d, b.neg(), c.neg(), a]).reshape(2, 2);
    return scope.moveToOuter(adjugate.div(a.mul(d).sub(b.mul(c))));
  }

  correct({ mean, cov }: Belief, at: Tensor): Belief {
    using inverse = this.precision(cov);
    return scoped(() => {
      const gain = cov.matmul(this.watch.transpose()).matmul(inverse);
      const miss = at.sub(this.watch.matmul(mean));
      const known = gain.matmul(this.watch).matmul(cov);
      return { mean: mean.add(gain.matmul(miss)), cov: cov.sub(known) };
    });
  }

  [Symbol.dispose](): void {
    for (const t of [this.step, this.watch, this.#drift]) t.dispose();
  }
}

class Track implements Disposable {
  misses = 0;
  readonly id: number;
  #belief: Belief;
  #looks: Tensor;
  readonly #path: Tensor[] = [];

  /** Takes the looks over; the place stays the caller's. */
  constructor(id: number, at: Tensor, looks: Tensor) {
    this.id = id;
    using rest = zeros([2]);
    this.#belief = { mean: concat([at, rest]), cov: eye(4) };
    this.#looks = looks;
  }

  advance(motion: Motion): void {
    const { mean, cov } = this.#belief;
    this.#belief = motion.predict(this.#belief);
    mean.dispose();
    cov.dispose();
    this.misses++;
  }

  absorb({ at, looks }: Detection, motion: Motion, memory = 4): void {
    const before = this.#belief;
    this.#belief = motion.correct(before, at);
    for (const part of [before.mean, before.cov]) part.dispose();
    const blended = this.#looks.lerp(looks, 0.3);
    this.#looks.dispose();
    this.#looks = blended;
    this.misses = 0;
    this.#path.push(this.#belief.mean.slice(0, 0, 2));
    if (this.#path.length > memory) this.#path.shift()?.dispose();
  }

  /** Distance in spreads, plus how different it looks: a scalar of the caller's. */
  cost({ at, looks }: Detection, motion: Motion): Tensor {
    using precision = motion.precision(this.#belief.cov);
    return scoped(() => {
      const miss = at.sub(motion.watch.matmul(this.#belief.mean));
      return miss.dot(precision.matmul(miss)).add(looks.sub(this.#looks).norm());
    });
  }

  path(): Tensor | undefined {
    return this.#path.length < 1 ? undefined : stack(this.#path);
  }

  /** The looks, which are the caller's from now on; the track is over. */
  retire(): Tensor {
    const looks = this.#looks.alias();
    this[Symbol.dispose]();
    return looks;
  }

  [Symbol.dispose](): void {
    this.#belief.mean.dispose();
    this.#belief.cov.dispose();
    this.#looks.dispose();
    for (const point of this.#path.splice(0)) point.dispose();
  }
}

class Tracker implements Disposable {
  #tracks: Track[] = [];
  readonly #gallery = new Map<number, Tensor>();
  readonly #motion = new Motion(0.1);
  #born = 0;

  async update(detections: readonly Detection[], gate = 9): Promise<void> {
    for (const track of this.#tracks) track.advance(this.#motion);
    const free = new Set(this.#tracks);
    for (const seen of detections) {
      const found = await this.#closest(seen, free, gate);
      if (found !== undefined) {
        found.absorb(seen, this.#motion);
        free.delete(found);
        continue;
      }
      const { id = this.#born++, looks = seen.looks.alias() } = this.#recall();
      this.#tracks.push(new Track(id, seen.at, looks));
    }
    this.#prune();
  }

  async #closest(seen: Detection, free: Set<Track>, gate: number): Promise<Track | undefined> {
    if (free.size === 0) return undefined;
    const tracks = [...free];
    const costs = tracks.map((track) => track.cost(seen, this.#motion));
    using all = stack(costs);
    for (const cost of costs) cost.dispose();
    using best = all.argMin();
    using least = all.min();
    return (await least.item()) > gate ? undefined : tracks[await best.item()];
  }

  /** The one longest out of sight; its looks are the caller's. */
  #recall(): { id?: number; looks?: Tensor } {
    const [first] = this.#gallery;
    if (first === undefined) return {};
    const [id, looks] = first;
    this.#gallery.delete(id);
    return { id, looks };
  }

  #prune(patience = 2, places = 2): void {
    for (const track of this.#tracks)
      if (track.misses >= patience) this.#gallery.set(track.id, track.retire());
    this.#tracks = this.#tracks.filter((track) => track.misses < patience);
    for (const [id, looks] of this.#gallery) {
      if (this.#gallery.size <= places) break;
      looks.dispose();
      this.#gallery.delete(id);
    }
  }

  async length(): Promise<number> {
    let sum = 0;
    for (const track of this.#tracks) {
      using path = track.path();
      if (path === undefined) continue;
      using steps = path.slice(0, 1);
      using way = steps.norm();
      sum += 1 + (await way.item());
    }
    return sum;
  }

  [Symbol.dispose](): void {
    for (const track of this.#tracks) track[Symbol.dispose]();
    for (const looks of this.#gallery.values()) looks.dispose();
    this.#motion[Symbol.dispose]();
  }
}

/** Frames of a camera; what is in them is the consumer's. */
function* camera(counts: readonly number[]): Generator<Detection[]> {
  for (const count of counts)
    yield Array.from({ length: count }, () => ({ at: rand([2]), looks: rand([6]) }));
}

/** Follows what a camera sees, and leaves no tensor. */
export async function run(counts = [2, 3, 3, 1, 1, 4, 4, 1, 0, 3]): Promise<number> {
  manualSeed(4);
  using tracker = new Tracker();
  let length = 0;
  for (const frame of camera(counts)) {
    try {
      await tracker.update(frame);
      length += await tracker.length();
    } finally {
      for (const seen of frame) for (const part of [seen.at, seen.looks]) part.dispose();
    }
  }
  return length;
}
