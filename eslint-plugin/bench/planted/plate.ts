/**
 * Heat in a metal plate, the functional way: whatever happens to the plate is a function from one
 * field to the next, and big functions are put together out of small ones.
 */
import { type Tensor, full, linspace, scoped, stack, where, zeros } from "tenure";

/** Makes a new field out of one that stays the caller's. */
type Op = (field: Tensor) => Tensor;

/** A function, and how to let go of the tensors that it has closed over. */
interface Held<F> {
  readonly call: F;
  readonly release: () => void;
}

const hold = <F>(call: F, ...tensors: readonly Tensor[]): Held<F> => ({
  call,
  release: () => tensors.forEach((each) => each.dispose()),
});

/** One op after the other; the fields in between are ended here. */
const pipe =
  (...ops: readonly Op[]): Op =>
  (field) =>
    ops.reduce((value, op) => {
      const next = op(value);
      value.dispose();
      return next;
    }, field.alias());

const repeat =
  (op: Op, times: number): Op =>
  (field) => {
    let value = field.alias();
    for (let i = 0; i < times; i++) {
      const next = op(value);
      value.dispose();
      value = next;
    }
    return value;
  };

const tap =
  (look: (field: Tensor) => void): Op =>
  (field) => {
    look(field);
    return field.alias();
  };

/** Runs a function on a tensor that lives as long as the call. */
const during = <T>(made: Tensor, use: (t: Tensor) => T): T => {
  try {
    return use(made);
  } finally {
    made.dispose();
  }
};

/** Remembers what was made for the last few keys; what `get` gives is lent. */
const memo = <K>(make: (key: K) => Tensor, limit: number) => {
  const known = new Map<K, Tensor>();
  const get = (key: K): Tensor => {
    const hit = known.get(key);
    if (hit !== undefined) return hit;
    for (const [old, value] of known) {
      if (known.size < limit) break;
      known.delete(old);
      value.dispose();
    }
    const made = make(key);
    known.set(key, made);
    return made;
  };
  const update = (key: K, change: Op): void => {
    const old = get(key);
    known.set(key, change(old));
    old.dispose();
  };
  const release = (): void => {
    known.forEach((value) => value.dispose());
    known.clear();
  };
  return { get, update, release };
};

const laplacian: Op = (field) =>
  scoped(() =>
    [0, 1]
      .flatMap((axis) => [field.roll(1, axis), field.roll(-1, axis)])
      .reduce((sum, each) => sum.add(each))
      .sub(field.mul(4)),
  );

const diffuse =
  (conductivity: () => Tensor): Op =>
  (field) =>
    during(laplacian(field), (curvature) => curvature.mul(conductivity()));

const euler =
  (slope: Op, dt: number): Op =>
  (field) => {
    using rate = slope(field);
    using change = rate.mul(dt);
    return field.add(change);
  };

const heun =
  (slope: Op, dt: number): Op =>
  (field) => {
    const first = slope(field);
    const guess = scoped(() => field.add(first.mul(dt)));
    const second = slope(guess);
    guess.dispose();
    try {
      return scoped(() => field.add(first.add(second).mul(dt / 2)));
    } finally {
      first.dispose();
      second.dispose();
    }
  };

/** Holds the rim of the plate at one temperature. */
const rim = (n: number, temperature: number): Held<Op> => {
  const inside = scoped(() => {
    const near = linspace(-1, 1, n).abs().lt(0.99);
    return near.unsqueeze(0).logicalAnd(near.unsqueeze(1));
  });
  const edge = full([n, n], temperature);
  return hold((field) => where(inside, field, edge), inside, edge);
};

const burner = (n: number, center: number, power: number): Held<Op> => {
  const flame = scoped(() => {
    const bump = linspace(0, 1, n).sub(center).square().mul(-40).exp();
    return bump.outer(bump).mul(power);
  });
  return hold((field) => field.add(flame), flame);
};

/** Takes several ops in turn. */
const alternate = (parts: readonly Held<Op>[]): Held<Op> => {
  let turn = 0;
  return {
    call: (field) => parts[turn++ % parts.length]!.call(field),
    release: () => parts.forEach((part) => part.release()),
  };
};

const camera = (limit: number) => {
  let frames: readonly Tensor[] = [];
  return {
    shoot(field: Tensor): void {
      frames = [...frames, field.clone()];
      if (frames.length <= limit) return;
      const [oldest, ...rest] = frames;
      oldest?.dispose();
      frames = rest;
    },
    film: (): Tensor | null => (frames.length > 0 ? stack(frames) : null),
    release: () => frames.forEach((frame) => frame.dispose()),
  };
};

/** Applies an op until nothing moves. Takes the start over, hands the end out. */
const settle = async (op: Op, start: Tensor, most: number) => {
  let field = start;
  for (let steps = 1; ; steps++) {
    const next = op(field);
    using moved = scoped(() => next.sub(field).abs().max());
    field.dispose();
    field = next;
    if (steps >= most || (steps > 2 && (await moved.item()) < 1e-5)) return { field, steps };
  }
};

interface Outcome {
  readonly material: string;
  readonly field: Tensor;
  readonly film: Tensor | null;
}

const materials = { copper: 0.2, steel: 0.04, brick: 0.01 };
type Material = keyof typeof materials;

/** Heats plates of all materials, and says how many numbers that took. */
export async function run(n = 6): Promise<number> {
  const table = memo((name: Material) => full([n, n], materials[name]), 2);
  const border = rim(n, 0);
  const stove = alternate([burner(n, 0.3, 2), burner(n, 0.7, 1)]);
  const outcomes: Outcome[] = [];
  for (const material of ["copper", "steel", "brick"] as const) {
    const view = camera(2);
    const slope = diffuse(() => table.get(material));
    const warm = pipe(
      stove.call,
      euler(slope, 0.1),
      border.call,
      tap((field) => view.shoot(field)),
    );
    const cool = repeat(pipe(heun(slope, 0.2), border.call), 2);
    const hot = during(zeros([n, n]), repeat(warm, 3));
    table.update(material, (c) => c.mul(0.9));
    const { field, steps } = await settle(cool, hot, 4);
    outcomes.push({ material: `${material} ${String(steps)}`, field, film: view.film() });
    view.release();
  }
  const size = outcomes.reduce((sum, { field, film }) => sum + field.size + (film?.size ?? 0), 0);
  for (const { field, film } of outcomes) {
    field.dispose();
    film?.dispose();
  }
  for (const { release } of [table, border, stove]) release();
  return size;
}
