/**
 * The plain interpreter that random programs are judged by: arrays in host memory, every op done at
 * once, gradients by one closure an op. Numbers stay small integers, for which float32 arithmetic
 * is exact in any order, so that results must agree to the bit. Owns nothing but arrays.
 */

/** Elements of a tensor and where they are in what it shares. */
export class Plain {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  /** Shared by all views. */
  readonly store: Float64Array;
  /** Sends a gradient to whatever this was computed from; null for values outside the graph. */
  readonly pull: ((gradient: Plain) => void) | null;
  /** Of leaves. */
  gradient: Plain | null = null;

  constructor(
    shape: readonly number[],
    store: Float64Array,
    strides: readonly number[] = rowMajor(shape),
    offset = 0,
    pull: Plain["pull"] = null,
  ) {
    this.shape = shape;
    this.store = store;
    this.strides = strides;
    this.offset = offset;
    this.pull = pull;
  }

  get size(): number {
    return count(this.shape);
  }

  /** Whether elements lie in row-major order without gaps. */
  get isContiguous(): boolean {
    return rowMajor(this.shape).every((s, d) => s === this.strides[d] || this.shape[d] === 1);
  }

  /** Place of every element in `store`, row-major. */
  *places(): Generator<number> {
    const index = this.shape.map(() => 0);
    for (let k = 0; k < this.size; k++) {
      yield index.reduce((at, i, d) => at + i * (this.strides[d] ?? 0), this.offset);
      for (let d = index.length - 1; d >= 0; d--) {
        const next = (index[d] ?? 0) + 1;
        index[d] = next < (this.shape[d] ?? 0) ? next : 0;
        if (index[d] !== 0) break;
      }
    }
  }

  /** All elements, row-major. */
  values(): number[] {
    return Array.from(this.places(), (at) => this.store[at] ?? 0);
  }

  /** Largest magnitude. */
  bound(): number {
    return this.values().reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  }
}

/** Strides of a row-major layout. */
export function rowMajor(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  for (let d = shape.length - 2; d >= 0; d--)
    strides[d] = (strides[d + 1] ?? 1) * (shape[d + 1] ?? 1);
  return strides;
}

function count(shape: readonly number[]): number {
  return shape.reduce((n, d) => n * d, 1);
}

/** A value of its own from row-major numbers. */
export function plain(
  values: readonly number[],
  shape: readonly number[],
  pull: Plain["pull"] = null,
): Plain {
  return new Plain(shape, Float64Array.from(values), rowMajor(shape), 0, pull);
}

/** A leaf that collects gradients. */
export function leaf(values: readonly number[], shape: readonly number[]): Plain {
  const made: Plain = plain(values, shape, (gradient) => {
    made.gradient = made.gradient === null ? copy(gradient) : add(made.gradient, gradient);
  });
  return made;
}

function copy(x: Plain): Plain {
  return plain(x.values(), x.shape);
}

/** Sends gradients only where somebody wants them. */
function pulls(
  inputs: readonly Plain[],
  send: (gradient: Plain) => readonly Plain[],
): Plain["pull"] {
  if (inputs.every(({ pull }) => pull === null)) return null;
  return (gradient) => {
    for (const [k, part] of send(gradient).entries()) inputs[k]?.pull?.(part);
  };
}

// === Elementwise ===

/** The shape that both broadcast to, or null. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[] | null {
  const rank = Math.max(a.length, b.length);
  const out: number[] = [];
  for (let k = 0; k < rank; k++) {
    const x = a[k - rank + a.length] ?? 1;
    const y = b[k - rank + b.length] ?? 1;
    if (x !== y && x !== 1 && y !== 1) return null;
    out.push(x === 1 ? y : x);
  }
  return out;
}

function broadcast(x: Plain, shape: readonly number[]): Plain {
  const pad = shape.length - x.shape.length;
  const strides = shape.map((_, d) =>
    (x.shape[d - pad] ?? 1) === 1 ? 0 : (x.strides[d - pad] ?? 0),
  );
  return new Plain(shape, x.store, strides, x.offset);
}

/** Sums a gradient over what was broadcast. */
function unbroadcast(gradient: Plain, shape: readonly number[]): Plain {
  const out = new Float64Array(count(shape));
  const target = broadcast(new Plain(shape, out), gradient.shape);
  const values = gradient.values();
  let k = 0;
  for (const at of target.places()) out[at] = (out[at] ?? 0) + (values[k++] ?? 0);
  return new Plain(shape, out);
}

function zip(a: Plain, b: Plain, fn: (x: number, y: number) => number): Plain {
  const shape = broadcastShape(a.shape, b.shape);
  if (shape === null) throw new Error("shapes do not broadcast");
  const ys = broadcast(b, shape).values();
  return plain(
    broadcast(a, shape)
      .values()
      .map((x, k) => fn(x, ys[k] ?? 0)),
    shape,
  );
}

function withPull(x: Plain, pull: Plain["pull"]): Plain {
  return new Plain(x.shape, x.store, x.strides, x.offset, pull);
}

/** a + b, broadcast. */
export function add(a: Plain, b: Plain): Plain {
  return withPull(
    zip(a, b, (x, y) => x + y),
    pulls([a, b], (g) => [unbroadcast(g, a.shape), unbroadcast(g, b.shape)]),
  );
}

/** a - b, broadcast. */
export function sub(a: Plain, b: Plain): Plain {
  return withPull(
    zip(a, b, (x, y) => x - y),
    pulls([a, b], (g) => [unbroadcast(g, a.shape), unbroadcast(neg(g), b.shape)]),
  );
}

/** a · b, broadcast. */
export function mul(a: Plain, b: Plain): Plain {
  const x = copy(a);
  const y = copy(b);
  return withPull(
    zip(a, b, (p, q) => p * q),
    pulls([a, b], (g) => [
      unbroadcast(
        zip(g, y, (p, q) => p * q),
        a.shape,
      ),
      unbroadcast(
        zip(g, x, (p, q) => p * q),
        b.shape,
      ),
    ]),
  );
}

/** -x. */
export function neg(x: Plain): Plain {
  return plain(
    x.values().map((v) => 0 - v),
    x.shape,
    pulls([x], (g) => [neg(g)]),
  );
}

/** max(x, 0). */
export function relu(x: Plain): Plain {
  const positive = plain(
    x.values().map((v) => (v > 0 ? 1 : 0)),
    x.shape,
  );
  return plain(
    x.values().map((v) => Math.max(v, 0)),
    x.shape,
    pulls([x], (g) => [zip(g, positive, (p, q) => p * q)]),
  );
}

// === Views ===

/** Dimensions `a` and `b` change places. */
export function transpose(x: Plain, a: number, b: number): Plain {
  const swap = <T>(list: readonly T[]): T[] => {
    const order = list.map((_, k) => (k === a ? b : k === b ? a : k));
    return order.map((k) => list[k] as T);
  };
  return new Plain(
    swap(x.shape),
    x.store,
    swap(x.strides),
    x.offset,
    pulls([x], (g) => [transpose(g, a, b)]),
  );
}

/** Elements from `start` to before `end` along an axis. */
export function slice(x: Plain, axis: number, start: number, end: number): Plain {
  const shape = x.shape.map((d, k) => (k === axis ? end - start : d));
  const offset = x.offset + start * (x.strides[axis] ?? 0);
  const pull = pulls([x], (g) => {
    const whole = new Plain(x.shape, new Float64Array(x.size));
    const part = slice(whole, axis, start, end);
    const values = g.values();
    let k = 0;
    for (const at of part.places()) whole.store[at] = values[k++] ?? 0;
    return [whole];
  });
  return new Plain(shape, x.store, x.strides, offset, pull);
}

/** The same elements in another shape; `x` is contiguous. */
export function reshape(x: Plain, shape: readonly number[]): Plain {
  return new Plain(
    shape,
    x.store,
    rowMajor(shape),
    x.offset,
    pulls([x], (g) => [plain(g.values(), x.shape)]),
  );
}

// === Reductions and products ===

/** Sum over one axis, which goes. */
export function sum(x: Plain, axis: number): Plain {
  const kept = x.shape.map((d, k) => (k === axis ? 1 : d));
  const shape = x.shape.filter((_, k) => k !== axis);
  const sums = unbroadcast(x, kept);
  const pull = pulls([x], (g) => [copy(broadcast(plain(g.values(), kept), x.shape))]);
  return new Plain(shape, sums.store, rowMajor(shape), 0, pull);
}

/** Matrix product of [m, k] and [k, n]. */
export function matmul(a: Plain, b: Plain): Plain {
  const [m = 0, inner = 0] = a.shape;
  const n = b.shape[1] ?? 0;
  const x = a.values();
  const y = b.values();
  const out = new Float64Array(m * n);
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n; j++)
      for (let k = 0; k < inner; k++)
        out[i * n + j] = (out[i * n + j] ?? 0) + (x[i * inner + k] ?? 0) * (y[k * n + j] ?? 0);
  const left = copy(a);
  const right = copy(b);
  const pull = pulls([a, b], (g) => [
    matmul(g, transpose(right, 0, 1)),
    matmul(transpose(left, 0, 1), g),
  ]);
  return new Plain([m, n], out, [n, 1], 0, pull);
}

// === In place ===

/** Overwrites elements, also for every view that shares them. */
export function write(target: Plain, values: readonly number[]): void {
  let k = 0;
  for (const at of target.places()) target.store[at] = values[k++] ?? 0;
}
