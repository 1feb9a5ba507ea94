/**
 * In-place ops and views: a tensor may be its own operand, under any view; all views of a storage
 * see a change; what cannot be meant is refused.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { GradError, ShapeError, type Tensor, noGrad, scoped, tensor } from "tenure";
import { assertClose } from "tenure/testing";
import { rejects, setup } from "../../helpers.ts";

await setup();
const test = suite("in place and aliases");

/** Reads all tensors a function returns; everything it made is freed. */
async function read(fn: () => readonly Tensor[]): Promise<number[][]> {
  return Promise.all(
    scoped(() => fn().map((t) => t.data())).map(async (data) => [...(await data)]),
  );
}
const square = (): Tensor =>
  tensor([
    [1, 2],
    [3, 4],
  ]);

test("a tensor as its own operand", async () => {
  assert.equal(
    await read(() => {
      const t = square();
      return [t.add_(t), t];
    }),
    [
      [2, 4, 6, 8],
      [2, 4, 6, 8],
    ],
  );
  assert.equal(
    await read(() => {
      const t = square();
      return [t.mul_(t).sub_(t), t];
    }),
    [
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ],
  );
  assert.equal(
    await read(() => {
      const t = square();
      t.div_(t.alias());
      return [t];
    }),
    [[1, 1, 1, 1]],
  );
});

test("a tensor and its own transposed, shifted or broadcast view", async () => {
  assert.equal(
    await read(() => {
      const t = square();
      return [t.add_(t.transpose()), t];
    }),
    [
      [2, 5, 5, 8],
      [2, 5, 5, 8],
    ],
  );
  assert.equal(
    await read(() => {
      const t = square();
      t.copy_(t.transpose());
      return [t];
    }),
    [[1, 3, 2, 4]],
  );
  assert.equal(
    await read(() => {
      const t = tensor([1, 2, 3, 4, 5]);
      t.slice(0, 1).copy_(t.slice(0, 0, 4));
      return [t];
    }),
    [[1, 1, 2, 3, 4]],
  );
  assert.equal(
    await read(() => {
      const t = tensor([1, 2, 3, 4, 5]);
      t.slice(0, 0, 4).add_(t.slice(0, 1));
      return [t];
    }),
    [[3, 5, 7, 9, 5]],
  );
  assert.equal(
    await read(() => {
      const t = square();
      t.mul_(t.select(0, 1));
      return [t];
    }),
    [[3, 8, 9, 16]],
  );
  assert.equal(
    await read(() => {
      const t = square();
      t.transpose().sub_(t);
      return [t];
    }),
    [[0, -1, 1, 0]],
  );
  assert.equal(
    await read(() => {
      const t = tensor([1, 2, 3, 4, 5, 6]);
      t.slice(0, 0, 6, 2).add_(t.slice(0, 1, 6, 2));
      return [t];
    }),
    [[3, 2, 7, 4, 11, 6]],
  );
});

test("views and their base see each other's changes; copies don't", async () => {
  const seen = await read(() => {
    const t = square(),
      row = t.select(0, 1),
      turned = t.transpose(),
      flat = t.reshape(4),
      alias = t.alias(),
      detached = t.detach(),
      clone = t.clone();
    t.add_(10);
    row.fill_(7);
    return [t, row, turned, flat, alias, detached, clone];
  });
  assert.equal(seen, [
    [11, 12, 7, 7],
    [7, 7],
    [11, 7, 12, 7],
    [11, 12, 7, 7],
    [11, 12, 7, 7],
    [11, 12, 7, 7],
    [1, 2, 3, 4],
  ]);
  assert.equal(
    await read(() => {
      const t = tensor([1, 2, 3, 4, 5, 6], { shape: [2, 3] });
      t.transpose().slice(0, 1).zero_();
      return [t];
    }),
    [[1, 0, 0, 4, 0, 0]],
  );
  assert.equal(
    await read(() => {
      const t = square(),
        made = t.transpose().reshape(4);
      t.zero_();
      return [made];
    }),
    [[1, 3, 2, 4]],
    "a reshape that had to copy is no view",
  );
});

test("the view outlives its base", async () => {
  assert.equal(
    await read(() => {
      const t = square(),
        row = t.select(0, 1);
      t.dispose();
      row.add_(1);
      return [row];
    }),
    [[4, 5]],
  );
});

test("in-place ops convert to the target's dtype", async () => {
  assert.equal(
    await read(() => {
      const t = tensor([1, 2, 3], { dtype: "int32" });
      t.add_(tensor([1.0, 2.0, 3.0]).int());
      t.mul_(2);
      return [t];
    }),
    [[4, 8, 12]],
  );
  assert.equal(
    await read(() => {
      const t = tensor([true, false, true]);
      t.copy_(tensor([0, 2, 0.5]));
      return [t];
    }),
    [[0, 1, 1]],
  );
  assert.equal(
    await read(() => {
      const t = tensor([1.5, 2.5]);
      t.copy_(tensor([-3.7, 9], { dtype: "int32" }));
      return [t];
    }),
    [[-3, 9]],
  );
});

test("reads see the values of the moment they were asked for", async () => {
  const [before, between, after] = scoped(() => {
    const t = tensor([1, 2]),
      out = [t.data()];
    t.add_(1);
    out.push(t.slice(0, 1).data());
    t.mul_(10);
    out.push(t.data());
    t.zero_();
    return out;
  });
  assert.equal([...(await before!)], [1, 2]);
  assert.equal([...(await between!)], [3]);
  assert.equal([...(await after!)], [20, 30]);
});

test("an expanded view has no place for each element", async () => {
  using t = tensor([1, 2]),
    wide = t.expand(3, 2);
  assert.throws(
    () => wide.add_(1),
    (e: Error) =>
      e instanceof ShapeError &&
      new RegExp(
        ": expected a target with a place for every element, got an expanded " +
          String.raw`view \[3,2\]; clone\(\) it first`,
      ).test(e.message),
  );
  using one = scoped(() => t.slice(0, 0, 1).expand(1));
  one.add_(5).dispose();
  await assertClose(t, [6, 2], 0);
});

test("a leaf is changed inside noGrad only, and its graph then uses the new values", async () => {
  using w = tensor([1, 2], { requiresGrad: true, name: "w" });
  await rejects(
    () => w.add_(1),
    GradError,
    new RegExp(
      "^add.*: expected a tensor that is not a leaf of the graph, got tensor " +
        String.raw`"w" float32 \[2\] with requiresGrad; update it inside noGrad`,
    ),
  );
  noGrad(() => {
    w.add_(1).dispose();
  });
  using other = w.alias();
  noGrad(() => {
    using d = w.detach();
    d.mul_(2).dispose();
  });
  using loss = scoped(() => other.square().sum());
  loss.backward();
  using g = w.grad!;
  await assertClose(g, [8, 12], 0);
});

test("a result changed through another view cannot be differentiated by its old name", async () => {
  using x = tensor([1, 2, 3], { requiresGrad: true });
  using y = x.mul(2),
    part = y.slice(0, 0, 1);
  using changed = part.zero_();
  await rejects(
    () => y.sum(),
    GradError,
    new RegExp(
      String.raw`^sum: expected tensor float32 \[3\] as it was recorded, got one whose ` +
        "storage another alias has changed in place; use the tensor the " +
        "in-place op returned",
    ),
  );
  using sum = changed.sum();
  sum.backward();
  using g = x.grad!;
  await assertClose(g, [0, 0, 0], 0);
});

test.run();
