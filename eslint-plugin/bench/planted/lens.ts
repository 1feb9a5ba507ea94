/**
 * Designs lenses by descent: fans of rays go through surfaces to the film, and their spots shall be
 * small. Designers go back and forth in a history; an archive keeps what no other lens beats.
 */
import { type Tensor, linspace, manualSeed, newDisposeScope, noGrad, randn, scoped } from "tenure";
import { full, stack, tensor } from "tenure";
import { Module, ModuleList } from "tenure/nn";
import { Adam, clipGradNorm } from "tenure/optim";

const ANGLES = [0, 0.1, 0.2];

type Rays = Readonly<{ height: Tensor; slope: Tensor }>;
type Spec = Readonly<{ curvature: number; gap: number; index: number }>;
type Prescription = Readonly<{ film: number; surfaces: readonly Spec[] }>;

class Surface extends Module<[rays: Rays]> {
  readonly curvature: Tensor;
  readonly gap: Tensor;
  readonly #index: number;

  constructor({ curvature, gap, index }: Spec) {
    super();
    this.curvature = this.parameter("curvature", tensor(curvature));
    this.gap = this.parameter("gap", tensor(gap));
    this.#index = index;
  }

  forward({ height, slope }: Rays): Tensor {
    using bent = scoped(() => height.mul(this.curvature).mul(1 - this.#index));
    return slope.add(bent);
  }
}

class Lens extends Module<[rays: Rays]> {
  readonly prescription: Prescription;
  readonly surfaces: ModuleList<Surface>;

  constructor(prescription: Prescription) {
    super();
    this.prescription = prescription;
    this.surfaces = new ModuleList(prescription.surfaces.map((spec) => new Surface(spec)));
  }

  forward(rays: Rays): Tensor {
    let height = rays.height.alias();
    let slope = rays.slope.alias();
    for (const surface of this.surfaces) {
      const bent = surface.call({ height, slope });
      slope.dispose();
      slope = bent;
      using rise = slope.mul(surface.gap);
      const next = height.add(rise);
      height.dispose();
      height = next;
    }
    using last = slope.mul(this.prescription.film);
    slope.dispose();
    using start = height;
    return start.add(last);
  }

  copy(): Lens {
    const twin = new Lens(this.prescription);
    using state = this.stateDict();
    twin.loadStateDict(state);
    return twin;
  }
}

function fanFrom(angle: number): Rays {
  return { height: linspace(-1, 1, 9), slope: full([9], Math.tan(angle)) };
}

/** The mean size of the spots; the caller's. */
function merit(lens: Lens, fans: readonly Rays[]): Tensor {
  const spot = (fan: Rays): Tensor => lens.call(fan).var();
  return scoped(() => stack(fans.map(spot)).mean().sqrt());
}

async function* descend(lens: Lens, fans: readonly Rays[]): AsyncGenerator<number> {
  const optimizer = new Adam(lens.parameters(), { lr: 0.01 });
  try {
    for (;;) {
      let read: Promise<number>;
      {
        using _scope = newDisposeScope("descend");
        const loss = merit(lens, fans);
        optimizer.zeroGrad();
        loss.backward();
        clipGradNorm(lens.parameters(), 1);
        optimizer.step();
        read = loss.item();
      }
      yield await read;
    }
  } finally {
    optimizer.dispose();
  }
}

async function polish(lens: Lens, fans: readonly Rays[], steps: number): Promise<number> {
  const sizes: number[] = [];
  for await (const size of descend(lens, fans)) {
    sizes.push(size);
    if (sizes.length >= steps || size > 2 * sizes[0]!) break;
  }
  return Math.min(...sizes);
}

class Values implements Disposable {
  readonly #values: ReadonlyMap<string, Tensor>;

  constructor(lens: Lens) {
    using state = lens.stateDict();
    this.#values = new Map([...state].map(([name, value]) => [name, value.clone()]));
  }

  into(lens: Lens): void {
    lens.loadStateDict(this.#values);
  }

  [Symbol.dispose](): void {
    for (const value of this.#values.values()) value.dispose();
  }
}

/** What a designer did to a lens, to be undone and done again. */
class History implements Disposable {
  readonly #lens: Lens;
  readonly #past: Values[] = [];
  readonly #future: Values[] = [];

  constructor(lens: Lens) {
    this.#lens = lens;
  }

  mark(): void {
    this.#past.push(new Values(this.#lens));
    if (this.#past.length > 2) this.#past.shift()![Symbol.dispose]();
    for (const undone of this.#future.splice(0)) undone[Symbol.dispose]();
  }

  go(where: "back" | "forth"): void {
    const [from, to] = where === "back" ? [this.#past, this.#future] : [this.#future, this.#past];
    using values = from.pop();
    if (values === undefined) return;
    to.push(new Values(this.#lens));
    values.into(this.#lens);
  }

  [Symbol.dispose](): void {
    for (const values of [...this.#past, ...this.#future]) values[Symbol.dispose]();
  }
}

type Candidate = Readonly<{ lens: Lens; size: number; price: number }>;

class Archive implements Disposable {
  #front: Candidate[] = [];

  /** Takes the lens over. */
  offer(candidate: Candidate): boolean {
    if (this.#front.some((known) => beats(known, candidate))) {
      candidate.lens.dispose();
      return false;
    }
    const beaten = this.#front.filter((known) => beats(candidate, known));
    for (const { lens } of beaten) lens.dispose();
    this.#front = this.#front.filter((known) => !beaten.includes(known));
    this.#front.push(candidate);
    return true;
  }

  [Symbol.dispose](): void {
    for (const { lens } of this.#front) lens.dispose();
  }
}

function beats(a: Candidate, b: Candidate): boolean {
  return a.size <= b.size && a.price <= b.price;
}

/** How large the spots are in the worst of several specimens, each a bit off. */
async function worstOf(lens: Lens, fans: readonly Rays[], specimens: number): Promise<number> {
  using specimen = lens.copy();
  using exact = new Values(lens);
  const sizes: Promise<number>[] = [];
  for (let i = 0; i < specimens; i++) {
    using _scope = newDisposeScope("specimen");
    exact.into(specimen);
    noGrad(() => specimen.parameters().forEach((p) => p.add_(randn(p.shape).mul(0.01))));
    sizes.push(merit(specimen, fans).item());
  }
  return Math.max(...(await Promise.all(sizes)));
}

class Studio implements Disposable {
  readonly #fans = ANGLES.map(fanFrom);
  readonly #archive = new Archive();
  #desk: { lens: Lens; history: History } | null = null;

  open(prescription: Prescription): void {
    this.close();
    const lens = new Lens(prescription);
    this.#desk = { lens, history: new History(lens) };
  }

  close(): void {
    this.#desk?.history[Symbol.dispose]();
    this.#desk?.lens.dispose();
    this.#desk = null;
  }

  get desk(): { lens: Lens; history: History } {
    if (this.#desk === null) throw new Error("open a prescription first");
    return this.#desk;
  }

  async improve(steps: number): Promise<number> {
    this.desk.history.mark();
    return await polish(this.desk.lens, this.#fans, steps);
  }

  /** Where the rays of a fan meet the film, for the drawing. */
  async spots(fan: number): Promise<number[]> {
    using heights = noGrad(() => this.desk.lens.call(this.#fans[fan]!));
    return Array.from(await heights.data());
  }

  async submit(price: number): Promise<boolean> {
    if (!(price > 0)) throw new RangeError("nothing is free");
    const size = await worstOf(this.desk.lens, this.#fans, 3);
    return this.#archive.offer({ lens: this.desk.lens.copy(), size, price });
  }

  [Symbol.dispose](): void {
    this.close();
    this.#archive[Symbol.dispose]();
    for (const { height, slope } of this.#fans) {
      height.dispose();
      slope.dispose();
    }
  }
}

export async function run(): Promise<number> {
  manualSeed(3);
  using studio = new Studio();
  let drawn = 0;
  for (const elements of [2, 3]) {
    const spec = { curvature: 0.2, gap: 0.5, index: 1.5 };
    studio.open({ film: 4, surfaces: Array.from({ length: elements }, () => spec) });
    for (const steps of [2, 3, 1]) await studio.improve(steps);
    for (const where of ["back", "back", "back", "forth"] as const) studio.desk.history.go(where);
    await studio.improve(2);
    for (const fan of ANGLES.keys()) drawn += (await studio.spots(fan)).length;
    for (const price of [5, 3, 0, 4]) await studio.submit(price).catch(() => 0);
  }
  return drawn;
}
