/**
 * The images the network learns: 32×32 in colour, a shape or a texture of one of ten kinds,
 * anywhere, of any size and in any two colours, under noise. Colours say nothing about the kind, so
 * the network has to look at form. Deterministic for a seed. Host memory only.
 */
import { ArrayDataset } from "tenure/data";
import { randomFrom } from "../random.ts";

/** Width and height. */
export const side = 32;

/**
 * Whether the point (u, v) is painted, in units of the shape's radius from its centre; textures
 * ignore where the shape ends.
 */
const kinds: Readonly<Record<string, (u: number, v: number) => boolean>> = {
  disc: (u, v) => u * u + v * v < 1,
  square: (u, v) => Math.max(Math.abs(u), Math.abs(v)) < 0.85,
  triangle: (u, v) => v < 0.8 && v > -0.9 && Math.abs(u) < (v + 0.9) * 0.58,
  cross: (u, v) =>
    Math.max(Math.abs(u), Math.abs(v)) < 1 && Math.min(Math.abs(u), Math.abs(v)) < 0.3,
  ring: (u, v) => Math.abs(Math.hypot(u, v) - 0.8) < 0.22,
  bars: (_, v) => wave(v) > 0,
  columns: (u) => wave(u) > 0,
  diagonals: (u, v) => wave((u + v) / Math.SQRT2) > 0,
  chessboard: (u, v) => wave(u) * wave(v) > 0,
  dots: (u, v) => wave(u) + wave(v) > 1.1,
};
function wave(x: number): number {
  return Math.sin(x * 4);
}

/** Their names; the label is the position. */
export const names: readonly string[] = Object.keys(kinds);

/** Pixels [count, 3, 32, 32] of 0…255 and labels [count]; every ten images hold each kind once. */
export function draw(count: number, seed: number): { pixels: Uint8Array; labels: Uint8Array } {
  const random = randomFrom(seed),
    area = side * side,
    pixels = new Uint8Array(count * 3 * area),
    labels = Uint8Array.from({ length: count }, (_, i) => i % names.length);
  for (const [n, label] of labels.entries()) {
    const painted = kinds[names[label]!]!,
      [x, y, radius] = [11 + 10 * random(), 11 + 10 * random(), 6 + 4 * random()];
    const background = [random(), random(), random()],
      brighter = random() < 0.5;
    // Two colours that differ, in every channel, by a third of the range or more.
    const colour = background.map(
        (b) => (brighter ? 1 : -1) * (0.35 + 0.3 * random()) + (b * 0.35 + (brighter ? 0 : 0.65)),
      ),
      ground = background.map((b) => b * 0.35 + (brighter ? 0 : 0.65));
    for (let i = 0; i < area; i++) {
      const inside = painted(((i % side) - x) / radius, (Math.floor(i / side) - y) / radius);
      for (let c = 0; c < 3; c++)
        pixels[(n * 3 + c) * area + i] = Math.round(
          255 * Math.min(1, Math.max(0, (inside ? colour : ground)[c]! + 0.2 * (random() - 0.5))),
        );
    }
  }
  return { pixels, labels };
}

/** `count` images as [3, 32, 32] floats around 0, with int32 labels. */
export function dataset(count: number, seed: number): ArrayDataset<"image" | "label"> {
  const { pixels, labels } = draw(count, seed);
  return new ArrayDataset({
    image: { data: pixels, shape: [3, side, side], scale: 1 / 64, offset: -2 },
    label: { data: labels, shape: [], dtype: "int32" },
  });
}
