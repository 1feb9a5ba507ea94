/**
 * What the libraries are compared on: sizes, and the numbers that all of them start from. Read by
 * the programs of each library, by `main.ts` and by the test. Plain arrays; nobody owns a device
 * here.
 */

/** What one row computes. Shapes are in the comments of `startOf`. */
export type Spec =
  | { readonly kind: "matmul"; readonly size: number }
  | {
      readonly kind: "chain";
      readonly elements: number;
      readonly ops: number;
      /** Every other op multiplies. */
      readonly multiply: boolean;
    }
  | {
      readonly kind: "softmax" | "layerNorm";
      readonly rows: number;
      readonly columns: number;
    }
  | {
      readonly kind: "mlp";
      readonly widths: readonly [number, number, number];
      readonly batch: number;
      readonly optimizer: "SGD" | "Adam";
    }
  | { readonly kind: "lenet"; readonly side: number; readonly batch: number };

/** A row of the table. `first`: the first step of a process, with nothing compiled before. */
export interface Row {
  readonly name: string;
  readonly about: string;
  readonly spec: Spec;
  readonly first?: boolean;
}

/** Learning rates of the training rows. */
export const rates = { SGD: 0.05, Adam: 0.001 } as const;

/** Adam's other constants: PyTorch's defaults. */
export const adam = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const;

const mlp = (optimizer: "SGD" | "Adam"): Spec => ({
  kind: "mlp",
  widths: [784, 256, 10],
  batch: 128,
  optimizer,
});
const lenet: Spec = { kind: "lenet", side: 28, batch: 64 };
const chain = (multiply: boolean): Spec => ({
  kind: "chain",
  elements: 1 << 20,
  ops: 50,
  multiply,
});

/** All rows, in the order of the table. */
export const rows: readonly Row[] = [
  { name: "matmul-1024", about: "matmul 1024", spec: { kind: "matmul", size: 1024 } },
  { name: "matmul-512", about: "matmul 512", spec: { kind: "matmul", size: 512 } },
  { name: "adds", about: "50 additions, 1 Mi elements", spec: chain(false) },
  { name: "products", about: "25 products and 25 sums, 1 Mi elements", spec: chain(true) },
  {
    name: "softmax",
    about: "softmax 4096×1024",
    spec: { kind: "softmax", rows: 4096, columns: 1024 },
  },
  {
    name: "layernorm",
    about: "layerNorm 4096×1024",
    spec: { kind: "layerNorm", rows: 4096, columns: 1024 },
  },
  { name: "mlp-sgd", about: "MLP 784-256-10, batch 128, SGD step", spec: mlp("SGD") },
  { name: "mlp-adam", about: "MLP 784-256-10, batch 128, Adam step", spec: mlp("Adam") },
  { name: "lenet", about: "LeNet, batch 64, SGD step", spec: lenet },
  { name: "first-mlp", about: "first MLP step", spec: mlp("SGD"), first: true },
  { name: "first-lenet", about: "first LeNet step", spec: lenet, first: true },
];

/** A row as one library runs it, set up and waiting. Owns its tensors until `dispose`. */
export interface Program {
  /** One computation or step; settles when the device has finished. */
  run(): Promise<void>;
  /** Some elements of the result, or the losses of three steps from the start. */
  values(): Promise<readonly number[]>;
  dispose(): void;
}

/** One library, set up on the adapter. */
export interface Peer {
  /** What the adapter calls itself; undefined where the library does not say. */
  readonly adapter: string | undefined;
  /** The row's program; undefined for what the library cannot do. */
  make(spec: Spec): Promise<Program | undefined>;
}

/** Numbers with a shape. */
export interface Values {
  readonly shape: readonly number[];
  readonly data: Float32Array<ArrayBuffer>;
}

/** Uniform numbers in [-scale, scale), the same for the same seed. */
function noise(seed: number, shape: readonly number[], scale = 1): Values {
  let s = seed;
  const next = (): number => {
    s = (Math.imul(1103515245, s) + 12345) >>> 0;
    return scale * ((s >>> 8) / 8388608 - 1);
  };
  return { shape, data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, next) };
}

/** A layer's weights [in, out] or [out, in, height, width], and its bias [out]. */
function layer(seed: number, shape: readonly number[], out: number, fanIn: number): Values[] {
  const scale = 1 / Math.sqrt(fanIn);
  return [noise(seed, shape, scale), noise(seed + 1, [out], scale)];
}

/** What a row starts from. */
export interface Start {
  readonly inputs: readonly Values[];
  /** Weights and biases, layer by layer; `[]` for rows without training. */
  readonly weights: readonly Values[];
  /** Class of each example. */
  readonly labels: Int32Array<ArrayBuffer>;
}

/** Height of the image that LeNet's linear layers see. */
export const lenetSide = (side: number): number => (side / 2 - 4) / 2;

/**
 * matmul: a, b [n, n] · chain: x, b, c [n] · softmax: x [r, c] · layerNorm: x [r, c], γ, β [c] ·
 * mlp: x [batch, in] · lenet: x [batch, 1, side, side].
 */
export function startOf(spec: Spec): Start {
  const labels = (batch: number): Int32Array<ArrayBuffer> =>
    Int32Array.from({ length: batch }, (_, i) => (7 * i + 3) % 10);
  const only = (...inputs: Values[]): Start => ({ inputs, weights: [], labels: labels(0) });
  switch (spec.kind) {
    case "matmul":
      return only(noise(1, [spec.size, spec.size]), noise(2, [spec.size, spec.size]));
    case "chain":
      return only(...[1, 2, 3].map((seed) => noise(seed, [spec.elements])));
    case "softmax":
      return only(noise(1, [spec.rows, spec.columns], 4));
    case "layerNorm":
      return only(
        noise(1, [spec.rows, spec.columns], 4),
        noise(2, [spec.columns]),
        noise(3, [spec.columns]),
      );
    case "mlp": {
      const [input, hidden, output] = spec.widths;
      return {
        inputs: [noise(1, [spec.batch, input])],
        weights: [
          ...layer(2, [input, hidden], hidden, input),
          ...layer(4, [hidden, output], output, hidden),
        ],
        labels: labels(spec.batch),
      };
    }
    case "lenet": {
      const flat = 16 * lenetSide(spec.side) ** 2;
      return {
        inputs: [noise(1, [spec.batch, 1, spec.side, spec.side])],
        weights: [
          ...layer(2, [6, 1, 5, 5], 6, 25),
          ...layer(4, [16, 6, 5, 5], 16, 150),
          ...layer(6, [flat, 120], 120, flat),
          ...layer(8, [120, 84], 84, 120),
          ...layer(10, [84, 10], 10, 84),
        ],
        labels: labels(spec.batch),
      };
    }
  }
}

/** Up to 64 elements, spread over all of them. */
export function spread(values: ArrayLike<number>): number[] {
  const count = Math.min(64, values.length);
  return Array.from(
    { length: count },
    (_, i) => values[Math.floor((i * values.length) / count)] ?? Number.NaN,
  );
}

/** The values at `axes` order: a transposed copy. */
export function transposed({ shape, data }: Values, axes: readonly number[]): Values {
  const stride = shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
  const result = axes.map((axis) => shape[axis] ?? 1);
  const out = new Float32Array(data.length);
  const place = result.map(() => 0);
  for (let i = 0; i < out.length; i++) {
    out[i] = data[place.reduce((sum, p, d) => sum + p * (stride[axes[d] ?? 0] ?? 0), 0)] ?? 0;
    for (let d = place.length - 1; d >= 0; d--) {
      const next = (place[d] ?? 0) + 1;
      place[d] = next === result[d] ? 0 : next;
      if (place[d] !== 0) break;
    }
  }
  return { shape: result, data: out };
}
