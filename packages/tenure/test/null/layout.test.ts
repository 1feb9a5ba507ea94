/**
 * Layouts as pure arithmetic: every view is compared with the list of storage positions it must
 * visit, on random chains of views.
 */
import fc from "fast-check";
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { ShapeError } from "../../src/base/errors.ts";
import {
  type Layout,
  broadcastLayout,
  collapse,
  contiguousLayout,
  permuteLayout,
  reshapeLayout,
  rowMajor,
  sliceLayout,
  stridedLayout,
} from "../../src/base/layout.ts";
import { sizeOf } from "../../src/base/shape.ts";
import { indices } from "../helpers.ts";

const test = suite("layout");

/** Storage positions in row-major order of the view. */
function positions(l: Layout): number[] {
  return [...indices(l.shape)].map((i) => i.reduce((at, v, k) => at + v * l.strides[k]!, l.offset));
}

const shapes = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 });
/** A layout reached by permuting, slicing and broadcasting a fresh one. */
const views = fc
  .tuple(
    shapes,
    fc.array(fc.tuple(fc.nat(2), fc.nat(), fc.nat(), fc.integer({ min: 1, max: 3 })), {
      maxLength: 4,
    }),
  )
  .map(([shape, changes]) => {
    let l = contiguousLayout(shape);
    for (const [kind, a, b, step] of changes) {
      const rank = l.shape.length;
      if (rank === 0) continue;
      if (kind === 0)
        l = permuteLayout(
          l,
          Array.from({ length: rank }, (_, i) => (i + a) % rank),
        );
      else if (kind === 1) {
        const axis = a % rank,
          d = l.shape[axis]!;
        l = sliceLayout("t", l, axis, b % (d + 1), d, step);
      } else if (sizeOf(l.shape) < 100) l = broadcastLayout(l, [2, ...l.shape]);
    }
    return l;
  });

test("fresh layouts count up", () => {
  fc.assert(
    fc.property(shapes, (shape) => {
      const l = contiguousLayout(shape);
      assert.equal(
        positions(l),
        Array.from({ length: sizeOf(shape) }, (_, i) => i),
      );
      assert.ok(l.contiguous);
      assert.equal([...l.strides], rowMajor(shape));
    }),
  );
});

test("contiguous means exactly the positions from offset on", () => {
  fc.assert(
    fc.property(views, (l) => {
      const p = positions(l);
      assert.is(l.size, p.length);
      assert.is(
        l.contiguous,
        p.every((at, i) => at === l.offset + i),
      );
    }),
    { numRuns: 2000 },
  );
});

test("reshape keeps the order of elements, and gives up only when strides cannot say it", () => {
  fc.assert(
    fc.property(views, fc.nat(), fc.nat(), (l, a, b) => {
      const size = l.size,
        divisors = Array.from({ length: size }, (_, i) => i + 1).filter((d) => size % d === 0);
      const shape =
        size === 0
          ? [0, 3]
          : (() => {
              const x = divisors[a % divisors.length]!,
                rest = size / x,
                ds = divisors.filter((d) => rest % d === 0),
                y = ds[b % ds.length]!;
              return b % 2 === 0 ? [x, y, 1, rest / y] : [1, x, rest / y, y];
            })();
      const reshaped = reshapeLayout(l, shape);
      if (reshaped === undefined) {
        // No strides at all visit these positions in this order.
        const p = positions(l),
          strides = shape.map((d, k) => (d === 1 ? 0 : p[sizeOf(shape.slice(k + 1))]! - p[0]!));
        assert.not.equal(positions(stridedLayout(shape, strides, l.offset)), p);
        return;
      }
      assert.equal([...reshaped.shape], shape);
      assert.equal(positions(reshaped), positions(l));
    }),
    { numRuns: 2000 },
  );
});

test("slice picks start, start + step, … and clamps", () => {
  fc.assert(
    fc.property(
      views,
      fc.nat(),
      fc.integer({ min: -6, max: 6 }),
      fc.integer({ min: -6, max: 6 }),
      fc.integer({ min: 1, max: 3 }),
      (l, a, start, end, step) => {
        if (l.shape.length === 0) return;
        const axis = a % l.shape.length,
          d = l.shape[axis]!,
          clamp = (p: number): number => Math.min(Math.max(p < 0 ? p + d : p, 0), d);
        const wanted = new Set<number>();
        for (let i = clamp(start); i < clamp(end); i += step) wanted.add(i);
        const want = [...indices(l.shape)].flatMap((i, k) =>
          wanted.has(i[axis]!) ? [positions(l)[k]!] : [],
        );
        assert.equal(positions(sliceLayout("t", l, axis, start, end, step)), want);
      },
    ),
    { numRuns: 500 },
  );
  assert.throws(
    () => sliceLayout("slice", contiguousLayout([3]), 0, 0, 3, -1),
    (e: Error) =>
      e instanceof ShapeError &&
      /^slice: expected a step that is a positive integer, got -1/.test(e.message),
  );
});

test("collapse visits the same elements of all operands with fewer dimensions", () => {
  fc.assert(
    fc.property(views, fc.boolean(), (l, transposed) => {
      const other = contiguousLayout(l.shape),
        pair =
          transposed && l.shape.length > 1
            ? [
                l,
                permuteLayout(
                  contiguousLayout([...l.shape].reverse()),
                  [...l.shape.keys()].reverse(),
                ),
              ]
            : [l, other];
      const { shape, strides } = collapse(pair);
      assert.ok(shape.length >= 1 && shape.length <= Math.max(1, l.shape.length));
      pair.forEach((p, k) => {
        assert.equal(positions(stridedLayout(shape, strides[k]!, p.offset)), positions(p));
      });
    }),
    { numRuns: 1000 },
  );
  assert.equal(collapse([contiguousLayout([2, 3, 4])]).shape, [24]);
  assert.equal(collapse([contiguousLayout([])]).shape, [1]);
});

test.run();
