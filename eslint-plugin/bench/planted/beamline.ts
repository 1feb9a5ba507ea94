/**
 * Tomography at a beamline. Scans wait in a queue and are reconstructed one after the other by SIRT
 * with momentum. What an operator rejects is tried again, more gently. Geometries are shared.
 */
import { EventEmitter } from "node:events";
import { type Tensor, concat, newDisposeScope, ones, rand, scoped, tensor, zeros } from "tenure";
import { functional as F } from "tenure/nn";

const SIDE = 8; // pixels along a side of the slice, and bins of the detector
const PIXELS = SIDE * SIDE;
const MOST_TRIES = 3;

type Accept = (residual: number, attempt: number) => boolean;
type Settings = Readonly<{ iterations: number; startFrom?: string; accept?: Accept }>;

type Outcome = Readonly<{ state: "done" | "cancelled" | "rejected" | "failed"; residual?: number }>;

type Job = Readonly<{
  id: string;
  angles: number;
  measured: Tensor; // the job's own, a column
  settings: Settings;
  signal: AbortSignal | undefined;
  resolve: (outcome: Outcome) => void;
}>;

/** Which rays cross which pixels, and how much of each there is. */
class Geometry implements Disposable {
  readonly system: Tensor; // [angles · SIDE, PIXELS]
  readonly perRay: Tensor;
  readonly perPixel: Tensor;

  constructor(angles: number) {
    const crossings = new Float32Array(angles * SIDE * PIXELS);
    for (let i = 0; i < angles * PIXELS; i++) {
      const [angle, x, y] = [Math.floor(i / PIXELS), i % SIDE, Math.floor((i % PIXELS) / SIDE)];
      const turn = (angle * Math.PI) / angles;
      const bin = Math.round((x - 4) * Math.cos(turn) + (y - 4) * Math.sin(turn) + 4);
      if (bin >= 0 && bin < SIDE) crossings[(angle * SIDE + bin) * PIXELS + (i % PIXELS)] = 1;
    }
    this.system = tensor(crossings, { shape: [angles * SIDE, PIXELS] });
    this.perRay = scoped(() => this.system.sum(1, true).clamp(1).reciprocal());
    this.perPixel = scoped(() => this.system.sum(0).clamp(1).reciprocal().unsqueeze(1));
  }

  gap(measured: Tensor, volume: Tensor): Tensor {
    return scoped(() => measured.sub(this.system.matmul(volume)));
  }

  backproject(rays: Tensor): Tensor {
    return scoped(() => this.system.transpose().matmul(rays.mul(this.perRay)).mul(this.perPixel));
  }

  [Symbol.dispose](): void {
    for (const part of [this.system, this.perRay, this.perPixel]) part.dispose();
  }
}

/** One attempt at a slice. Borrows what it is given. */
class Solver implements Disposable {
  readonly #geometry: Geometry;
  readonly #measured: Tensor;
  readonly #kernel = ones([1, 1, 3, 3]);
  #volume: Tensor;
  #speed = zeros([PIXELS, 1]);
  #best: Readonly<{ volume: Tensor; residual: number }> | null = null;

  constructor(geometry: Geometry, measured: Tensor, start?: Tensor) {
    this.#geometry = geometry;
    this.#measured = measured;
    this.#kernel.div_(9).dispose(); // that handle, not the kernel
    this.#volume = start?.alias() ?? zeros([PIXELS, 1]);
  }

  async step(relax: number): Promise<number> {
    const residual = await this.#advance(relax);
    if (this.#best === null || residual <= this.#best.residual) {
      this.#best?.volume.dispose();
      this.#best = { volume: this.#volume.alias(), residual };
    }
    return residual;
  }

  #advance(relax: number): Promise<number> {
    using scope = newDisposeScope("iteration");
    const push = this.#geometry.backproject(this.#geometry.gap(this.#measured, this.#volume));
    this.#speed = scope.carry(this.#speed, this.#speed.mul(0.3).add(push.mul(relax)));
    const moved = this.#volume.add(this.#speed).clamp(0);
    const blurred = F.conv2d(moved.reshape(1, 1, SIDE, SIDE), this.#kernel, null, { padding: 1 });
    const next = moved.lerp(blurred.reshape(PIXELS, 1), 0.1);
    this.#volume = scope.carry(this.#volume, next);
    return this.#geometry.gap(this.#measured, next).square().mean().item();
  }

  image(): Tensor {
    return this.#volume.reshape(SIDE, SIDE);
  }

  best(): Tensor {
    return (this.#best?.volume ?? this.#volume).alias();
  }

  [Symbol.dispose](): void {
    for (const own of [this.#kernel, this.#volume, this.#speed]) own.dispose();
    this.#best?.volume.dispose();
  }
}

class Beamline extends EventEmitter<{ preview: [image: Tensor, id: string] }> {
  readonly #geometries: { angles: number; geometry: Geometry }[] = []; // the last used first
  readonly #queue: Job[] = [];
  readonly #slices = new Map<string, Tensor>();
  #bright = ones([SIDE]);
  #working: Promise<void> | undefined;

  /** Lamps age slowly: a new reading without a sample counts for half. */
  recalibrate(counts: readonly number[]): void {
    using old = this.#bright;
    using fresh = tensor(counts);
    this.#bright = old.lerp(fresh, 0.5);
  }

  /** Takes over what the detector counted, a row for each angle. */
  submit(id: string, rows: Tensor[], settings: Settings, signal?: AbortSignal): Promise<Outcome> {
    const measured = this.#attenuation(rows);
    return new Promise((resolve) => {
      const job = { id, angles: rows.length, measured, settings, signal, resolve };
      this.#queue.push(job);
      signal?.addEventListener("abort", () => this.#cancel(job), { once: true });
      this.#working ??= this.#work();
    });
  }

  #attenuation(rows: readonly Tensor[]): Tensor {
    using scope = newDisposeScope();
    const shares = rows.map((row) => scope.attach(row).div(this.#bright));
    return scope.moveToOuter(concat(shares).clamp(1e-4, 1).log().neg().unsqueeze(1));
  }

  #cancel(job: Job): void {
    const place = this.#queue.indexOf(job);
    if (place < 0) return; // under way: stops before its next iteration
    this.#queue.splice(place, 1);
    this.#finish(job, { state: "cancelled" });
  }

  #finish(job: Job, outcome: Outcome): void {
    job.measured.dispose();
    job.resolve(outcome);
  }

  async #work(): Promise<void> {
    for (let job = this.#queue.shift(); job !== undefined; job = this.#queue.shift()) {
      this.#finish(job, await this.#reconstruct(job).catch((): Outcome => ({ state: "failed" })));
    }
    this.#working = undefined;
  }

  #geometry(angles: number): Geometry {
    const place = this.#geometries.findIndex((known) => known.angles === angles);
    const [known] = place < 0 ? [] : this.#geometries.splice(place, 1);
    const geometry = known?.geometry ?? new Geometry(angles);
    this.#geometries.unshift({ angles, geometry });
    for (const unused of this.#geometries.splice(2)) unused.geometry[Symbol.dispose]();
    return geometry;
  }

  async #reconstruct({ id, settings, signal, ...job }: Job): Promise<Outcome> {
    const geometry = this.#geometry(job.angles);
    for (let attempt = 1; attempt <= MOST_TRIES; attempt++) {
      using start = settings.startFrom === undefined ? undefined : this.slice(settings.startFrom);
      using solver = new Solver(geometry, job.measured, start);
      let residual = Infinity;
      for (let i = 0; i < settings.iterations; i++) {
        if (signal?.aborted === true) return { state: "cancelled" };
        residual = await solver.step(2 ** -attempt);
        using image = solver.image();
        this.emit("preview", image, id);
      }
      if (settings.accept !== undefined && !settings.accept(residual, attempt)) continue;
      this.#slices.get(id)?.dispose();
      this.#slices.set(id, solver.best());
      return { state: "done", residual };
    }
    return { state: "rejected" };
  }

  slice(id: string): Tensor {
    const slice = this.#slices.get(id);
    if (slice === undefined) throw new RangeError(`no slice ${id}`);
    return slice.alias();
  }

  async peak(id: string): Promise<number> {
    using slice = this.slice(id);
    using highest = slice.max();
    return await highest.item();
  }

  async close(): Promise<void> {
    for (const job of this.#queue.splice(0)) this.#finish(job, { state: "cancelled" });
    await this.#working;
    for (const { geometry } of this.#geometries) geometry[Symbol.dispose]();
    for (const own of [...this.#slices.values(), this.#bright]) own.dispose();
  }
}

/** The last previews side by side. */
class Filmstrip implements Disposable {
  readonly #beamline: Beamline;
  readonly #frames: Tensor[] = [];
  readonly #add = (image: Tensor): void => {
    this.#frames.push(image.alias());
    if (this.#frames.length > 3) this.#frames.shift()?.dispose();
  };

  constructor(beamline: Beamline) {
    this.#beamline = beamline.on("preview", this.#add);
  }

  async render(): Promise<ArrayLike<number>> {
    using strip = concat(this.#frames, 1);
    return await strip.data();
  }

  [Symbol.dispose](): void {
    this.#beamline.off("preview", this.#add);
    for (const frame of this.#frames) frame.dispose();
  }
}

function turn(angles: number): Tensor[] {
  return Array.from({ length: angles }, () => scoped(() => rand([SIDE]).mul(80).add(10)));
}

export async function run(): Promise<number> {
  const beamline = new Beamline();
  beamline.recalibrate(Array<number>(SIDE).fill(100));
  const quick = { iterations: 2 };
  const stop = new AbortController();
  let done = 0;
  {
    using strip = new Filmstrip(beamline);
    beamline.once("preview", () => stop.abort());
    const jobs = [
      beamline.submit("tooth", turn(9), quick, stop.signal),
      beamline.submit("shell", turn(6), quick),
      beamline.submit("shell", turn(6), { ...quick, startFrom: "shell" }),
      beamline.submit("bone", turn(4), { ...quick, accept: (_, attempt) => attempt > 1 }),
      beamline.submit("fibre", turn(9), quick, stop.signal),
    ];
    for (const { state } of await Promise.all(jobs)) done += state === "done" ? 1 : 0;
    done += (await strip.render()).length;
  }
  await beamline.submit("leaf", turn(3), { ...quick, startFrom: "stem" }, stop.signal);
  done += await beamline.peak("bone");
  for (const id of ["seed", "root"]) void beamline.submit(id, turn(3), quick);
  await beamline.close();
  return done;
}
