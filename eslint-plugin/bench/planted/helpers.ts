/**
 * A library of small functions on images and boxes, as a package would export them, and a program
 * that uses it. What they return is the caller's; what they take stays the caller's.
 */
import {
  type Tensor,
  arange,
  concat,
  linspace,
  newDisposeScope,
  noGrad,
  ones,
  rand,
  scoped,
  sort,
  stack,
  tensor,
  topK,
  zeros,
} from "tenure";
import { functional as F } from "tenure/nn";

/** How far, and how strongly. */
export interface BlurOptions {
  readonly sigma?: number;
  readonly radius?: number;
}

/** What was found, best first. */
export interface Detection {
  readonly boxes: Tensor;
  readonly scores: Tensor;
}

/** A normalized kernel of a Gauss curve. */
export function gaussian(radius: number, sigma: number): Tensor {
  return scoped(() => {
    const curve = linspace(-radius, radius, 2 * radius + 1)
      .square()
      .div(-2 * sigma * sigma)
      .exp();
    return curve.div(curve.sum());
  });
}

/** Blurs images [N, 1, H, W] along both axes. */
export function blur(images: Tensor, { sigma = 1, radius = 2 }: BlurOptions = {}): Tensor {
  using kernel = gaussian(radius, sigma);
  const k = kernel.size;
  using across = kernel.reshape(1, 1, 1, k);
  using down = kernel.reshape(1, 1, k, 1);
  using half = F.conv2d(images, across, null, { padding: [0, radius] });
  return F.conv2d(half, down, null, { padding: [radius, 0] });
}

/** Values in [0, 1]. Where all are equal: zeros. */
export function stretch(image: Tensor, low?: Tensor, high?: Tensor): Tensor {
  return scoped(() => {
    const least = low ?? image.min();
    const range = (high ?? image.max()).sub(least);
    return image.sub(least).div(range.add(1e-6)).clamp(0, 1);
  });
}

/** Applies steps one after the other; each intermediate ends when the next is made. */
export function pipe(image: Tensor, ...steps: readonly ((x: Tensor) => Tensor)[]): Tensor {
  let current = image.alias();
  for (const step of steps) {
    const next = step(current);
    current.dispose();
    current = next;
  }
  return current;
}

/** Areas of boxes [N, 4]. */
export function areas(boxes: Tensor): Tensor {
  using _scope = newDisposeScope();
  const [x0, y0, x1, y1] = boxes.unbind(1);
  return x1!.sub(x0!).mul(y1!.sub(y0!)).moveToOuter();
}

/** The `k` best detections. */
export function best(boxes: Tensor, scores: Tensor, k = 3): Detection {
  const { values, indices } = topK(scores, k);
  const chosen = boxes.index(indices);
  indices.dispose();
  return { boxes: chosen, scores: values };
}

/** Lends a grid of places to `fn`. */
export function withGrid<T>(size: number, fn: (grid: Tensor) => T): T {
  const steps = arange(0, size);
  const grid = stack([steps, steps], 1);
  try {
    return fn(grid);
  } finally {
    grid.dispose();
    steps.dispose();
  }
}

/** Rows of a border above the image. */
export function pad(image: Tensor, rows: number, fill: Tensor | null = null): Tensor {
  const width = image.shape.at(-1) ?? 0;
  using border = fill === null ? zeros([rows, width]) : fill.expand(rows, width);
  return concat([border, image]);
}

/** Median of all elements. */
export async function median(x: Tensor): Promise<number> {
  using flat = x.reshape(-1);
  const { values, indices } = sort(flat);
  indices.dispose();
  using middle = values.select(0, Math.floor(x.size / 2));
  values.dispose();
  return await middle.item();
}

/** An alias of what is given, or ones. */
export const tensorOr = (given: Tensor | undefined, shape: readonly number[]): Tensor =>
  given?.alias() ?? ones(shape);

/** Cosine distances of rows to a centre. */
export function distances(rows: Tensor, centre: Tensor, eps: number = 1e-6): Tensor {
  return noGrad(() =>
    scoped(() => {
      const dots = rows.matmul(centre.unsqueeze(1)).squeeze(1);
      return dots.div(rows.norm(2, 1).mul(centre.norm()).add(eps)).neg().add(1);
    }),
  );
}

/** Uses all of them. */
export async function run(): Promise<number> {
  using images = rand([2, 1, 6, 6]);
  using soft = pipe(
    images,
    (x) => blur(x),
    (x) => stretch(x),
    (x) => blur(x, { sigma: 2 }),
  );
  let total = await median(soft);
  using boxes = tensor(Array.from({ length: 5 }, (_, i) => [0, 0, i + 1, i + 2]));
  using sizes = areas(boxes);
  const found = best(boxes, sizes);
  using padded = pad(found.boxes, 2);
  total += padded.size;
  found.boxes.dispose();
  found.scores.dispose();
  total += withGrid(4, (grid) => grid.size);
  using centre = tensorOr(undefined, [4]);
  using apart = distances(boxes, centre);
  using sum = apart.sum();
  total += await sum.item();
  return total;
}
