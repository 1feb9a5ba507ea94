/**
 * From a drawing to what MNIST's images are: the ink scaled into 20×20 pixels, placed in 28×28 so
 * that its centre of mass lies in the middle. Pure functions; the results belong to the caller.
 */

const side = 28,
  box = 20;

/** First and last row and column that hold ink, or undefined for a blank drawing. */
function bounds(ink: ArrayLike<number>, width: number): [number, number, number, number] | null {
  let [left, right, top, bottom] = [Infinity, -1, Infinity, -1];
  for (let i = 0; i < ink.length; i++) {
    if ((ink[i] ?? 0) < 0.05) continue;
    const x = i % width,
      y = Math.floor(i / width);
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  return right < 0 ? null : [left, right, top, bottom];
}

/** The mean of `ink` over the rectangle from (x0, y0) to (x1, y1), in pixels and parts of them. */
function mean(
  ink: ArrayLike<number>,
  width: number,
  [x0, x1]: readonly [number, number],
  [y0, y1]: readonly [number, number],
): number {
  const height = ink.length / width;
  let sum = 0;
  for (let y = Math.max(0, Math.floor(y0)); y < Math.min(height, y1); y++)
    for (let x = Math.max(0, Math.floor(x0)); x < Math.min(width, x1); x++)
      sum +=
        (ink[y * width + x] ?? 0) *
        (Math.min(x1, x + 1) - Math.max(x0, x)) *
        (Math.min(y1, y + 1) - Math.max(y0, y));
  return sum / ((x1 - x0) * (y1 - y0));
}

/**
 * 28×28 values from 0 (paper) to 1 (ink) from a drawing of `width` pixels a row with values in the
 * same range; all zeros for a blank one.
 */
export function centred(ink: ArrayLike<number>, width: number): Float32Array {
  const found = bounds(ink, width),
    image = new Float32Array(side * side);
  if (found === null) return image;
  const [left, right, top, bottom] = found;
  const step = Math.max(right - left + 1, bottom - top + 1) / box,
    [midX, midY] = [(left + right + 1) / 2, (top + bottom + 1) / 2];
  // Scaled about the middle of the box first, to find where the weight lies.
  const at = (x: number, y: number): number =>
    mean(
      ink,
      width,
      [midX + (x - side / 2) * step, midX + (x + 1 - side / 2) * step],
      [midY + (y - side / 2) * step, midY + (y + 1 - side / 2) * step],
    );
  let [weight, sumX, sumY] = [0, 0, 0];
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) {
      const value = at(x, y);
      weight += value;
      sumX += value * (x + 0.5);
      sumY += value * (y + 0.5);
    }
  const shiftX = Math.round(sumX / weight - side / 2),
    shiftY = Math.round(sumY / weight - side / 2);
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) image[y * side + x] = Math.min(1, at(x + shiftX, y + shiftY));
  return image;
}
