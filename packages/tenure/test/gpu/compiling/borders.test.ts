/**
 * What a compiled function could miss: values that change behind an argument, tensors that others
 * dispose or share, graphs from outside, numbers of the host. Each gives what the function gives as
 * it is written, or is not repeated.
 */
import { suite } from "uvu";
import * as assert from "uvu/assert";
import { type Tensor, enableGrad, noGrad, ones, tensor } from "tenure";
import { Dropout, Linear } from "tenure/nn";
import { GradScaler, LambdaLR, SGD } from "tenure/optim";
import { setup } from "../../helpers.ts";
import { asWritten, outcome } from "./as-written.ts";

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
    [(y) => [y, , 3], /no plain container/],
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

test("graphs from outside: what they saved is looked at, and what they made", async () => {
  const back = await asWritten(async (way) => {
    const w = tensor([2], { requiresGrad: true });
    const loss = w.square().sum();
    const fast = way(() => {
      w.grad = null;
      loss.backward(undefined, { retainGraph: true });
    });
    const seen: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      if (i === 4) noGrad(() => w.add_(1));
      seen.push(await outcome(fast), await w.grad?.item());
    }
    return seen;
  });
  assert.match(back.lastReason ?? "", /it threw/);
  assert.ok([...back.reasons.keys()].some((why) => why.includes("a graph from outside")));
  const through = await asWritten(async (way) => {
    const w = tensor([2], { requiresGrad: true });
    const fast = way((x: Tensor) => {
      enableGrad(() => x.mul(2).sum().backward());
    });
    for (let i = 0; i < 4; i++) noGrad(() => fast(enableGrad(() => w.mul(i))));
    return await w.grad?.item();
  });
  assert.match(through.lastReason ?? "", /a graph from outside/);
  const written = await asWritten(async (way) => {
    const w = tensor([2], { requiresGrad: true });
    const fast = way((x: Tensor) => void x.mul_(2));
    for (let i = 0; i < 4; i++) {
      const x = w.mul(3);
      noGrad(() => {
        fast(x);
      });
      x.sum().backward();
    }
    return await w.grad?.item();
  });
  assert.match(written.lastReason ?? "", /part of a graph/);
});

test("gradients that share memory, and hasGrad", async () => {
  const shared = await asWritten(async (way) => {
    const a = tensor([1, 2], { requiresGrad: true });
    const b = tensor([3, 4], { requiresGrad: true });
    const fast = way(() => {
      a.mul(2).sum().backward();
      b.mul(3).sum().backward();
      const grad = a.grad!;
      noGrad(() => grad.mul_(2));
    });
    const seen: unknown[] = [];
    for (let i = 0; i < 6; i++) {
      if (i === 4) a.grad = b.grad;
      fast();
      seen.push(await a.grad?.toArray(), await b.grad?.toArray());
    }
    return seen;
  });
  assert.is(shared.replays, 2);
  assert.is(shared.lastReason, "two leaves have one gradient");
  const asked = await asWritten(async (way) => {
    const w = tensor([2], { requiresGrad: true });
    const fast = way((x: Tensor) => x.mul(w.hasGrad ? 2 : 3));
    const seen: number[] = [];
    for (let i = 0; i < 8; i++) {
      if (i === 4) w.square().sum().backward();
      seen.push(await fast(tensor([i])).item());
    }
    return seen;
  });
  assert.is(asked.replays, 4);
});

/** Disposes something before the fifth of seven calls. @returns what the calls did */
function losing(make: () => { use: (x: Tensor) => Tensor; lose: () => void }) {
  return asWritten(async (way) => {
    const { use, lose } = make();
    const fast = way(use);
    const seen: unknown[] = [];
    for (let i = 0; i < 7; i++) {
      if (i === 4) lose();
      seen.push(await outcome(() => fast(ones([2, 2])).toArray()));
    }
    lose();
    return seen;
  });
}

test("a tensor that was disposed is missed, though its memory lives on", async () => {
  const uses: readonly ((c: Tensor, x: Tensor) => Tensor)[] = [
    (c, x) => x.mul(c),
    (c, x) => x.mul(c.detach()),
    (c, x) => x.mul(c.alias()),
    (c, x) => x.mul(c.reshape(2, 1)),
    (c) => c.reshape(2, 1),
  ];
  for (const use of uses) {
    const { replays, lastReason } = await losing(() => {
      const c = ones([2]);
      c.alias();
      return { use: (x) => use(c, x), lose: () => c.dispose() };
    });
    assert.equal([replays, lastReason], [2, "it threw"]);
  }
});

test("a module that was disposed is missed, though others have its weights", async () => {
  for (const make of [() => new Linear(2, 2), () => new Dropout(0)]) {
    const { replays, lastReason } = await losing(() => {
      const module = make();
      module.stateDict();
      return { use: (x) => noGrad(() => module.call(x)), lose: () => module.dispose() };
    });
    assert.equal([replays, lastReason], [2, "it threw"]);
  }
});

test("numbers of optimizers and schedules are not taken for constants", async () => {
  const uses: readonly ((optimizer: SGD, schedule: LambdaLR) => number)[] = [
    (optimizer) => optimizer.lr,
    (optimizer) => optimizer.groups[0]!.lr,
    (optimizer) => optimizer.steps,
    (_, schedule) => schedule.steps,
    (_, schedule) => schedule.rates[0]!,
    (optimizer) => (optimizer.lr = 0.25),
  ];
  for (const number of uses) {
    const { replays, lastReason } = await asWritten(async (way) => {
      const w = tensor([2], { requiresGrad: true });
      using optimizer = new SGD([w], { lr: 0.125 });
      const schedule = new LambdaLR(optimizer, (k) => (k < 4 ? 1 : 0.5));
      const fast = way(() => {
        w.grad = null;
        w.mul(number(optimizer, schedule)).sum().backward();
        optimizer.step();
        schedule.step();
      });
      const seen: number[] = [];
      for (let i = 0; i < 7; i++) {
        fast();
        seen.push(await w.item(), optimizer.lr);
      }
      return seen;
    });
    assert.is(replays, 0, String(number));
    assert.match(lastReason ?? "", /of an optimizer|of a schedule/);
  }
});

test("another scale of a gradient scaler is noticed", async () => {
  const { replays } = await asWritten(async (way) => {
    const w = tensor([2], { requiresGrad: true });
    using optimizer = new SGD([w], { lr: 0.125 });
    using scaler = new GradScaler({ initialScale: 4, growthInterval: 4, growthFactor: 2 });
    const fast = way(() => {
      w.grad = null;
      scaler.scale(w.square().sum()).backward();
    });
    const seen: unknown[] = [];
    for (let i = 0; i < 12; i++) {
      fast();
      seen.push(await scaler.step(optimizer), await w.item());
      scaler.update();
    }
    return seen;
  });
  assert.is(replays, 6);
});

test("whether an optimizer writes to a leaf decides what may follow", async () => {
  const { replays, reasons } = await asWritten(async (way) => {
    const w = tensor([2], { requiresGrad: true });
    using optimizer = new SGD([w], { lr: 0.125 });
    const fast = way((x: Tensor) => {
      const view = w.reshape(1, 1);
      optimizer.step();
      optimizer.zeroGrad();
      view.mul(x).sum().backward();
    });
    const seen: unknown[] = [];
    for (let i = 0; i < 8; i++) {
      if (i < 4) w.grad = null;
      seen.push(await outcome(() => fast(ones([1]))), await w.item(), await w.grad?.item());
    }
    return seen;
  });
  assert.is(replays, 4);
  assert.ok(reasons.has("it threw"));
});

test("a tensor from outside that becomes a leaf in it", async () => {
  const switching = (use: (x: Tensor, other: Tensor) => Tensor) =>
    asWritten(async (way) => {
      const other = ones([1]);
      const fast = way((x: Tensor) => {
        const leaf = use(x, other);
        leaf.requiresGrad = !leaf.requiresGrad;
        if (leaf.requiresGrad) leaf.square().sum().backward();
        return leaf.grad?.alias();
      });
      const seen: unknown[] = [];
      for (let i = 0; i < 5; i++) {
        const x = ones([1]).mul(i);
        seen.push(await fast(x)?.item(), x.requiresGrad, other.requiresGrad);
      }
      return seen;
    });
  for (const use of [(x: Tensor) => x, (_: Tensor, other: Tensor) => other])
    assert.match((await switching(use)).lastReason ?? "", /sets requiresGrad/);
  assert.is((await switching((x) => x.detach())).replays, 3, "an alias of its own is none");
});

test.run();
