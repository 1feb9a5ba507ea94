/**
 * What a compiled function could miss: values that change behind an argument, tensors that others
 * dispose or share, graphs from outside, numbers of the host. Each gives what the function gives as
 * it is written, or is not repeated.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, ones } from "tenure";
import { setup } from "../../helpers.ts";
import { asWritten } from "./as-written.ts";

const test = suite("borders of compile");
test.before(async () => {
  await setup();
});

class Settings {
  scale = 2;
  offset: Tensor | null = null;
}

test("values that change inside an argument", async () => {
  const changing = <T>(of: T, change: (of: T, to: number) => void, value: (of: T) => number) =>
    asWritten(async (way) => {
      const fast = way((x: Tensor, given: T) => x.mul(value(given)));
      const seen: number[] = [];
      for (let i = 0; i < 6; i++) {
        change(of, i < 3 ? 2 : 3);
        seen.push(await fast(ones([1]), of).item());
      }
      return seen;
    });
  const data = await changing(
    new Float32Array(1),
    (of, to) => of.fill(to),
    ([of = 0]) => of,
  );
  assert.match(data.lastReason ?? "", /data of the host/);
  const settings = await changing(
    new Settings(),
    (of, to) => (of.scale = to),
    (of) => of.scale,
  );
  assert.is(settings.replays, 2);
  const date = await changing(
    new Date(),
    (of, to) => of.setTime(to),
    (of) => of.getTime(),
  );
  assert.is(date.replays, 2);
  const list = await changing(
    [{ k: 0 }],
    (of, to) => (of[0]!.k = to),
    ([of]) => of!.k,
  );
  assert.is(list.replays, 2);
});

test("a tensor in a field of an object is an argument", async () => {
  const { replays } = await asWritten(async (way) => {
    const settings = new Settings();
    const fast = way((x: Tensor, { offset }: Settings) => x.add(offset!));
    const seen: number[] = [];
    for (let i = 0; i < 5; i++) {
      settings.offset = ones([1]).mul(i);
      seen.push(await fast(ones([1]), settings).item());
    }
    return seen;
  });
  assert.is(replays, 3);
});

test("symbols with one description are two", async () => {
  const [one, two] = [Symbol("same"), Symbol("same")];
  const { lastReason } = await asWritten(async (way) => {
    const fast = way((x: Tensor, s: symbol) => x.mul(s === one ? 2 : 3));
    const seen: number[] = [];
    for (const s of [one, one, one, two]) seen.push(await fast(ones([1]), s).item());
    return seen;
  });
  assert.match(lastReason ?? "", /symbol/);
});

test("results that only look alike, and a function that asks for this", async () => {
  const key = Symbol("key");
  const cases: readonly [make: (y: Tensor) => unknown, why: RegExp | null][] = [
    [(y) => [y, , 3], /no plain container/], // eslint-disable-line no-sparse-arrays
    [(y) => Object.assign([y], { name: "list" }), /no plain container/],
    [(y) => ({ y, [key]: 4 }), /no plain container/],
    [
      (y) => {
        const both = [y];
        return [both, both];
      },
      /one container in two places/,
    ],
    [(y) => Object.assign(Object.create(null) as object, { y }), null],
  ];
  for (const [make, why] of cases) {
    const report = await asWritten((way) => {
      const fast = way(function (this: unknown, x: Tensor) {
        assert.is(this, undefined);
        return make(x.mul(2));
      });
      const seen: unknown[] = [];
      for (let i = 0; i < 4; i++) {
        const made = fast(ones([1])) as Record<PropertyKey, unknown>;
        const keys = Reflect.ownKeys(made).map(String);
        seen.push(keys, Object.getPrototypeOf(made) === null, made[0] === made[1], made[key]);
      }
      return Promise.resolve(seen);
    });
    if (why === null) assert.is(report.replays, 2);
    else assert.match(report.lastReason ?? "", why);
  }
});

test.run();
