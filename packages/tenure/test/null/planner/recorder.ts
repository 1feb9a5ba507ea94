/**
 * Programs of ops with facts: collected by hand, and random ones over views of all kinds. Tests
 * only.
 */
import fc from "fast-check";
import { type Access, type Program } from "tenure/scheduler";
import {
  type Layout,
  broadcastLayout,
  contiguousLayout,
  permuteLayout,
  reshapeLayout,
  sameElements,
  sliceLayout,
} from "../../../src/base/layout.ts";
import { sizeOf } from "../../../src/base/shape.ts";
import { Builder } from "./programs.ts";

/** A view of a storage. */
export interface Tensor {
  readonly storage: number;
  readonly layout: Layout;
}

/**
 * Collects ops with facts. A whole op without `over` reads its inputs anywhere, as a matrix product
 * does; one with `over` reduces the axes marked in `axes`.
 */
export class Recorder extends Builder {
  readonly axes = new Map<number, readonly boolean[]>();

  tensor(role: "input" | "param" | "activation", shape: readonly number[], pinned = false): Tensor {
    return {
      storage: this.storage(role, Math.max(256, 4 * sizeOf(shape)), pinned),
      layout: contiguousLayout(shape),
    };
  }

  access({ storage, layout }: Tensor, shape = layout.shape, type = "float32"): Access {
    const { strides, offset } = broadcastLayout(layout, shape);
    return { storage, type, strides, offset };
  }

  /** An elementwise op into a fresh storage, or in place into `target`. */
  map(
    inputs: readonly Tensor[],
    options: {
      target?: Tensor;
      pinned?: boolean;
      index?: boolean;
      shape?: readonly number[];
      phase?: "forward" | "calcGradient" | "apply";
    } = {},
  ): Tensor {
    const { target } = options,
      shape =
        target?.layout.shape ??
        options.shape ??
        inputs.reduce<readonly number[]>(
          (s, t) => (sizeOf(t.layout.shape) > sizeOf(s) ? t.layout.shape : s),
          [],
        );
    const out = target ?? this.tensor("activation", shape, options.pinned),
      all = target === undefined ? inputs : [target, ...inputs];
    this.op(
      all.map((t) => t.storage),
      [out.storage],
      {
        name: `map${this.ops.length}`,
        phase: options.phase ?? "forward",
        recomputable: target === undefined,
        fuse: {
          shape,
          map: true,
          operands: all.map((t) => this.access(t, shape)),
          results: [this.access(out)],
          ...(options.index === true ? { index: true } : {}),
        },
      },
    );
    return out;
  }

  reduce(x: Tensor, axes: readonly boolean[], pinned = false): Tensor {
    const out = this.tensor(
      "activation",
      x.layout.shape.filter((_, k) => !axes[k]!),
      pinned,
    );
    this.axes.set(
      this.op([x.storage], [out.storage], {
        name: `reduce${this.ops.length}`,
        fuse: {
          shape: out.layout.shape,
          map: false,
          operands: [this.access(x)],
          results: [this.access(out)],
          over: x.layout.shape,
          inputs: 1,
        },
      }),
      axes,
    );
    return out;
  }

  whole(inputs: readonly Tensor[], shape: readonly number[], pinned = false): Tensor {
    const out = this.tensor("activation", shape, pinned);
    this.op(
      inputs.map((t) => t.storage),
      [out.storage],
      {
        name: `whole${this.ops.length}`,
        fuse: {
          shape,
          map: false,
          operands: [],
          results: [this.access(out)],
          inputs: inputs.length,
        },
      },
    );
    return out;
  }
}

const shapes: readonly (readonly number[])[] = [
  [2, 3],
  [6],
  [3, 2],
  [2, 3],
  [2, 1, 3],
  [2, 3],
  [3],
  [1],
  [],
];

type Step = readonly [kind: number, a: number, b: number, c: number, flag: boolean];

/** Whether `t` broadcasts to `shape`. */
function fits(t: Tensor, shape: readonly number[]): boolean {
  return (
    t.layout.shape.length <= shape.length &&
    t.layout.shape.every((d, i) => d === 1 || d === shape[i + shape.length - t.layout.shape.length])
  );
}

/** The other shape, the transposed or a slice of `x`, where it has one. */
function viewsOf(x: Tensor, kind: 4 | 5 | 6, c: number, flag: boolean): Tensor[] {
  const { shape, size } = x.layout;
  if (kind === 4) {
    const to = shapes.filter((d) => sizeOf(d) === size)[c % 2] ?? [size];
    const layout = reshapeLayout(x.layout, to);
    return layout === undefined ? [] : [{ ...x, layout }];
  }
  if (kind === 5) {
    const order = shape.map((_, i) => i).reverse();
    return shape.length > 1 ? [{ ...x, layout: permuteLayout(x.layout, order) }] : [];
  }
  const [rows = 0] = shape;
  if (rows <= 1) return [];
  const [start, end] = flag ? [1, rows] : [0, 1];
  return [{ ...x, layout: sliceLayout("test", x.layout, 0, start, end, 1) }];
}

/** Records one step on the newest values mostly, so that chains are long. */
function record(r: Recorder, live: Tensor[], [kind, a, b, c, flag]: Step, n: number): void {
  const pick = (k: number): Tensor =>
    live[live.length - 1 - Math.min((k % 7) % live.length, k % live.length)]!;
  const x = pick(a),
    y = pick(b),
    pinned = c % 5 === 0;
  switch (kind) {
    case 0:
      live.push(r.map([x], { pinned, index: flag }));
      break;
    case 1:
    case 2:
    case 3: {
      const [big, small] = sizeOf(x.layout.shape) >= sizeOf(y.layout.shape) ? [x, y] : [y, x];
      live.push(r.map(fits(small, big.layout.shape) ? [big, small] : [big], { pinned }));
      break;
    }
    case 4:
    case 5:
    case 6:
      live.push(...viewsOf(x, kind, c, flag));
      break;
    case 7:
      if (fits(y, x.layout.shape) && (y.storage !== x.storage || sameElements(x.layout, y.layout)))
        r.map([y], { target: x, index: flag && n % 3 === 0 });
      break;
    case 8:
      r.map([], { target: x });
      break;
    case 9:
      live.push(r.map([], { shape: shapes[c % shapes.length]!, pinned: false }));
      break;
    case 10:
      live.push(
        r.reduce(
          x,
          x.layout.shape.map((_, k) => (c >> k) % 2 === 0),
          pinned,
        ),
      );
      break;
    case 11:
      live.push(r.whole([x, y], shapes[c % 4]!, pinned));
      break;
    default: {
      const s = [2, ...x.layout.shape];
      if (x.layout.size <= 3)
        live.push(r.map([{ ...x, layout: broadcastLayout(x.layout, s) }], { shape: s, pinned }));
    }
  }
}

/**
 * Random programs over small tensors: views, broadcasts, writes in place through views, reductions,
 * products.
 */
export const programs: fc.Arbitrary<{
  program: Program;
  axes: ReadonlyMap<number, readonly boolean[]>;
}> = fc
  .array(fc.tuple(fc.nat(12), fc.nat(99), fc.nat(99), fc.nat(99), fc.boolean()), {
    minLength: 2,
    maxLength: 24,
  })
  .map((steps) => {
    const r = new Recorder(),
      live: Tensor[] = [
        r.tensor("input", [2, 3]),
        r.tensor("param", [2, 3], true),
        r.tensor("input", [3]),
      ];
    for (const [n, step] of steps.entries()) record(r, live, step, n);
    // Somebody owns the last value.
    const last = live.at(-1)!;
    r.map([last], { pinned: true });
    return { program: r.build(), axes: r.axes };
  });
